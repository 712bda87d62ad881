// SPDX-License-Identifier: MIT
//
// Names of fields.

#include "http/field.h"

// field_match takes a CR for a "-". Only a name that it has found is looked at for one.
field_id field_identify(slice name)
{
    field_id id = field_match(name.ptr, name.len);
    return id != FIELD_OTHER && memchr(name.ptr, '\r', name.len) ? FIELD_OTHER : id;
}
