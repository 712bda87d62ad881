// SPDX-License-Identifier: MIT
//
// Shorthands: the responses that programs give most, and Set-Cookie.

#include "base/sized.h"
#include "exchange/complaint.h"
#include "exchange/fields.h"
#include "exchange/request.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "http/cookie.h"
#include "http/target.h"

#include <stdio.h>

skua_status skua_respond_text(skua_request *r, int status, const char *text)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(text);
    return skua_respond(r, status, "text/plain; charset=utf-8", slice_of(text));
}

skua_status skua_respond_html(skua_request *r, int status, const char *html)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(html);
    return skua_respond(r, status, "text/html; charset=utf-8", slice_of(html));
}

// Twice: short text is made on the stack, longer text in memory of the request.
skua_status skua_respond_vformat(skua_request *r, int status, const char *type, const char *format,
                                 va_list arguments)
{
    enum { STACK_OCTETS = 1024 };
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(format);
    if (!type) type = "text/plain; charset=utf-8";
    char near[STACK_OCTETS];
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(near, sizeof near, format, arguments);
    skua_status given;
    if (len < 0) {
        given =
            respond_decline(r, __func__, SKUA_EINVAL, "a format failed; the response is 500 now");
    } else if ((size_t)len < sizeof near) {
        given = skua_respond(r, status, type, slice_make(near, (size_t)len));
    } else {
        char *far = skua_request_alloc(r, (size_t)len + 1);
        if (far) (void)vsnprintf(far, (size_t)len + 1, format, again);
        given = far ? skua_respond(r, status, type, slice_make(far, (size_t)len))
                    : respond_decline_words(r, SKUA_ENOMEM, RESPOND_NO_MEMORY);
    }
    va_end(again);
    return given;
}

skua_status skua_respond_format(skua_request *r, int status, const char *type, const char *format,
                                ...)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(format);
    va_list arguments;
    va_start(arguments, format);
    skua_status given = skua_respond_vformat(r, status, type, format, arguments);
    va_end(arguments);
    return given;
}

// The type has no charset parameter: JSON between systems is UTF-8 (RFC 8259 §8.1, §11).
skua_status skua_respond_json(skua_request *r, int status, slice json)
{
    request_expect_reader(r, __func__);
    CONTRACT_SLICE(json);
    return skua_respond(r, status, "application/json", json);
}

// ---- Redirects ----

static bool shorthand_is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// A path of this site that is put together from a request must not become an address of another site
// (open redirect).
static skua_status shorthand_check_location(const skua_request *r, slice to)
{
    if (to.len == 0 || (to.len >= 2 && to.ptr[0] == '/' && to.ptr[1] == '/')) return SKUA_EINVAL;
    return to.len > worker_config(r->worker)->target_octets_max ? SKUA_ELIMIT : SKUA_OK;
}

// A location may be a client's words, and so never stops the process.
static skua_status shorthand_decline_location(skua_request *r, skua_status why)
{
    return respond_decline_words(r, why,
                                 why == SKUA_ELIMIT
                                     ? "a redirect's location is too long; the response is 500 now"
                                     : "a redirect's location is empty or begins with \"//\"; the "
                                       "response is 500 now");
}

skua_status skua_redirect(skua_request *r, int status, const char *location)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(location);
    if (request_is_here(r) && r->responding != RESPONSE_NONE)
        return complain_of_late(r, __func__, RESPOND_SECOND);
    slice to = slice_of(location);
    if (!shorthand_is_redirect(status))
        return respond_decline(r, __func__, SKUA_EINVAL,
                               "a redirect's status is 301, 302, 303, 307 or 308; the response is "
                               "500 now");
    skua_status checked = shorthand_check_location(r, to);
    if (checked) return shorthand_decline_location(r, checked);
    size_t room = 3 * to.len, used;
    char *escaped = arena_alloc(request_decoding_here(r)->memory, room);
    if (!escaped) return respond_decline_words(r, SKUA_ENOMEM, RESPOND_NO_MEMORY);
    size_t len = target_escape(to, escaped, room, &used);
    (void)skua_field_add(r, "Location", slice_make(escaped, len));
    return skua_respond(r, status, NULL, (slice){ 0 });
}

// ---- Cookies ----

skua_status skua_cookie_set_sized(skua_request *r, const skua_cookie *cookie,
                                  const skua_sizes *sizes)
{
    request_expect_reader(r, __func__);
    CONTRACT_GIVEN(cookie);
    CONTRACT_SIZES(sizes);
    skua_cookie own;
    cookie = SIZED_GIVEN(cookie, sizes->cookie, &own);
    CONTRACT_SLICE(cookie->value);
    if (request_is_here(r) && r->responding > RESPONSE_HEADING)
        return complain_of_late(r, __func__, "a cookie was set behind the response, and dropped");
    skua_status checked = cookie_check(cookie);
    if (checked) return fields_lose(r, checked);
    char *value = arena_alloc(request_decoding_here(r)->memory, cookie_room(cookie));
    if (!value) return fields_lose(r, SKUA_ENOMEM);
    return skua_field_add(r, "Set-Cookie", slice_make(value, cookie_write(cookie, value)));
}
