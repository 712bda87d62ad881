// SPDX-License-Identifier: MIT
//
// Names of requests, from traceparent and X-Request-Id. A trace-id that is taken is 32 octets of the
// value, of hexadecimal digits that are not all zero, and as a value of X-Request-Id it is safe.

#include "http/request_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void require_sound(slice value, slice id)
{
    require(id.ptr == value.ptr + 3 && id.len == REQUEST_ID_TRACE_OCTETS);
    require(value.len >= 55);
    bool any = false;
    for (size_t i = 0; i < id.len; i++) {
        require(memchr("0123456789abcdef", id.ptr[i], 16) != NULL);
        any |= id.ptr[i] != '0';
    }
    require(any);
    require(request_id_is_safe(id));
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    slice value = slice_make((const char *)octets, len), id = { 0 };
    if (request_id_of_trace(value, &id)) require_sound(value, id);
    else require(!id.ptr);
    if (!request_id_is_safe(value)) return 0;
    require(len >= 1 && len <= REQUEST_ID_OCTETS_MAX);
    for (size_t i = 0; i < len; i++)
        require(octets[i] > ' ' && octets[i] < 127 && octets[i] != '"' && octets[i] != '\\');
    return 0;
}
