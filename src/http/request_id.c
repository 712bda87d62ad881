// SPDX-License-Identifier: MIT
//
// Names of requests.

#include "http/request_id.h"

// version "-" trace-id "-" parent-id "-" trace-flags
enum { TRACE_AT = 3, PARENT_AT = 36, PARENT_OCTETS = 16, FLAGS_AT = 53, TRACEPARENT_OCTETS = 55 };

static bool request_id_is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// Lower case only, and not all zero: that stands for none.
static bool request_id_is_number(slice text)
{
    bool any = false;
    for (size_t i = 0; i < text.len; i++) {
        if (!request_id_is_hex(text.ptr[i])) return false;
        any |= text.ptr[i] != '0';
    }
    return any;
}

// Version ff is forbidden. Those that are not known yet may have more behind the flags (§3.2.4).
bool request_id_of_trace(slice value, slice *id)
{
    if (value.len < TRACEPARENT_OCTETS) return false;
    const char *p = value.ptr;
    bool is_known = p[0] == '0' && p[1] == '0';
    bool has_more = value.len > TRACEPARENT_OCTETS;
    if (!request_id_is_hex(p[0]) || !request_id_is_hex(p[1]) || (p[0] == 'f' && p[1] == 'f'))
        return false;
    if (has_more && (is_known || p[TRACEPARENT_OCTETS] != '-')) return false;
    if (p[TRACE_AT - 1] != '-' || p[PARENT_AT - 1] != '-' || p[FLAGS_AT - 1] != '-') return false;
    if (!request_id_is_hex(p[FLAGS_AT]) || !request_id_is_hex(p[FLAGS_AT + 1])) return false;
    slice trace = slice_make(p + TRACE_AT, REQUEST_ID_TRACE_OCTETS);
    if (!request_id_is_number(trace)) return false;
    if (!request_id_is_number(slice_make(p + PARENT_AT, PARENT_OCTETS))) return false;
    *id = trace;
    return true;
}

bool request_id_is_safe(slice value)
{
    if (value.len == 0 || value.len > REQUEST_ID_OCTETS_MAX) return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = octet_lower(value.ptr[i]);
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_plain && (c == 0 || !strchr("-_.:+/=@", c))) return false;
    }
    return true;
}

void request_id_write(uint64_t high, uint64_t low, char text[REQUEST_ID_TRACE_OCTETS])
{
    for (unsigned i = 0; i < 16; i++) {
        text[i] = "0123456789abcdef"[high >> (60 - 4 * i) & 15];
        text[i + 16] = "0123456789abcdef"[low >> (60 - 4 * i) & 15];
    }
}
