// SPDX-License-Identifier: MIT
//
// Judging fields. Each is judged once: when it comes as a literal.

#include "http/hpack_field.h"

#ifndef SKUA_NO_HTTP2

#include "http/octets.h"
#include "http/syntax.h"

static hpack_token hpack_field_token(slice name)
{
    static const struct {
        slice name;
        hpack_token token;
    } known[] = {
        { { ":path", 5 }, HPACK_TOKEN_PATH },
        { { ":method", 7 }, HPACK_TOKEN_METHOD },
        { { ":scheme", 7 }, HPACK_TOKEN_SCHEME },
        { { ":status", 7 }, HPACK_TOKEN_STATUS },
        { { ":protocol", 9 }, HPACK_TOKEN_PROTOCOL },
        { { ":authority", 10 }, HPACK_TOKEN_AUTHORITY },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (slice_equal(name, known[i].name)) return known[i].token;
    }
    return HPACK_TOKEN_PSEUDO_OTHER;
}

static bool hpack_field_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// RFC 9113 §8.2.1 refuses NUL, CR and LF, and white space at the ends; other controls are refused
// as they are in HTTP/1.
static bool hpack_field_value_is_valid(slice value)
{
    if (value.len == 0) return true;
    if (hpack_field_is_blank(value.ptr[0]) || hpack_field_is_blank(value.ptr[value.len - 1]))
        return false;
    return syntax_is_field_value(value);
}

void hpack_field_judge_name(hpack_field *field)
{
    slice name = field->name;
    field->token = HPACK_TOKEN_FIELD;
    field->id = FIELD_OTHER;
    field->flags = 0;
    if (name.len && name.ptr[0] == ':') {
        field->token = (uint8_t)hpack_field_token(name);
        if (field->token != HPACK_TOKEN_PSEUDO_OTHER) field->flags |= HPACK_NAME_IS_VALID;
    } else if (syntax_is_token(name) && !octets_have_upper(name)) {
        field->id = (uint8_t)field_match(name.ptr, name.len);
        field->flags |= HPACK_NAME_IS_VALID;
    }
}

static bool hpack_field_is_scheme(slice value)
{
    return slice_equal_nocase(value, SKUA_SLICE("https")) ||
           slice_equal_nocase(value, SKUA_SLICE("http"));
}

// Whether a value that is valid is sound.
static bool hpack_field_value_is_sound(const hpack_field *field)
{
    slice value = field->value;
    switch ((hpack_token)field->token) {
    case HPACK_TOKEN_METHOD: return syntax_is_token(value);
    case HPACK_TOKEN_SCHEME: return hpack_field_is_scheme(value);
    case HPACK_TOKEN_AUTHORITY: return syntax_is_host(value);
    case HPACK_TOKEN_PATH:
        return value.len > 0 && (value.ptr[0] == '/' || slice_equal(value, SKUA_SLICE("*")));
    case HPACK_TOKEN_FIELD: return field->id == FIELD_HOST && syntax_is_host(value);
    case HPACK_TOKEN_PROTOCOL: return syntax_is_protocol(value);
    case HPACK_TOKEN_STATUS:
    case HPACK_TOKEN_PSEUDO_OTHER: return false;
    }
    return false;
}

void hpack_field_judge_value(hpack_field *field)
{
    field->octets = (uint32_t)(field->name.len + field->value.len + HPACK_ENTRY_OVERHEAD);
    field->flags &= HPACK_NAME_IS_VALID;
    if (!hpack_field_value_is_valid(field->value)) return;
    field->flags |= HPACK_VALUE_IS_VALID;
    if (hpack_field_value_is_sound(field)) field->flags |= HPACK_VALUE_IS_SOUND;
}

#endif
