// SPDX-License-Identifier: MIT
//
// Names of fields.

#include "http/field.h"
#include "http/syntax.h"

field_id field_identify(slice name)
{
    return syntax_is_token(name) ? field_match(name.ptr, name.len) : FIELD_OTHER;
}
