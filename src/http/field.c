// SPDX-License-Identifier: MIT
//
// Names of fields.

#include "http/field.h"

field_id field_identify(slice name)
{
    return field_match(name.ptr, name.len);
}
