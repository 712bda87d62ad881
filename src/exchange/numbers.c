// SPDX-License-Identifier: MIT
//
// Parameters that are numbers: a client that sends none gets 400, so that no handler has to say so.

#include "exchange/request.h"

#include "base/contract.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBER_SENTENCE_OCTETS = 160 };

static bool number_refuse(skua_request *r, const char *name, int64_t min, int64_t max)
{
    char text[NUMBER_SENTENCE_OCTETS];
    int len =
        snprintf(text, sizeof text,
                 "%.60s is to be a whole number from %" PRId64 " to %" PRId64 ".", name, min, max);
    skua_refuse(r, 400, slice_make(text, (size_t)len));
    return false;
}

static bool number_read(skua_request *r, const char *name, slice text, int64_t min, int64_t max,
                        int64_t *value)
{
    int64_t number;
    if (!skua_slice_i64(text, &number) || number < min || number > max)
        return number_refuse(r, name, min, max);
    *value = number;
    return true;
}

bool skua_request_param_i64(skua_request *r, const char *name, int64_t min, int64_t max,
                            int64_t *value)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_GIVEN(value);
    return number_read(r, name, skua_request_param(r, name), min, max, value);
}

bool skua_request_query_i64(skua_request *r, const char *name, int64_t otherwise, int64_t min,
                            int64_t max, int64_t *value)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(name);
    CONTRACT_GIVEN(value);
    slice text = skua_request_query_param(r, name);
    if (text.ptr) return number_read(r, name, text, min, max, value);
    *value = otherwise;
    return true;
}
