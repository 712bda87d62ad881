// SPDX-License-Identifier: MIT
//
// Forms. A decoded text is never longer than the encoded one, so that one piece of memory does for
// all.

#include "http/form.h"

#include "http/query.h"

unsigned form_count(slice encoded, unsigned max)
{
    unsigned count = 0;
    slice name, value;
    while (count < max && query_next(&encoded, &name, &value))
        count++;
    return count;
}

static slice form_text(slice encoded, char **text)
{
    slice decoded = slice_make(*text, query_decode(encoded, *text));
    *text += decoded.len;
    return decoded;
}

void form_decode(slice encoded, skua_field *pairs, unsigned count, char *text)
{
    slice name, value;
    for (unsigned i = 0; i < count && query_next(&encoded, &name, &value); i++) {
        pairs[i].name = form_text(name, &text);
        pairs[i].value = form_text(value, &text);
    }
}
