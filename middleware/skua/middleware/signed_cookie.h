// SPDX-License-Identifier: MIT
//
// Signed cookies: values that clients keep and can read, but cannot change, use in another cookie, or use after they
// have expired.
//
//     static skua_signing signing; // { .key = … }, of 32 random octets or more
//     skua_signed_cookie_set(request, &signing, &(skua_cookie){ .name = "cart", .value = …,
//                                                               .max_age_s = 3600 });
//     skua_slice cart = skua_signed_cookie(request, &signing, "cart");
#ifndef SKUA_MIDDLEWARE_SIGNED_COOKIE_H
#define SKUA_MIDDLEWARE_SIGNED_COOKIE_H

#include "signature.h"

enum { SKUA_SIGNED_COOKIE_AGE_S = 86400 };

// Sets a cookie, as skua_cookie_set does, to a signed value of any octets, at most SKUA_SIGNED_OCTETS_MAX. One
// that ends with the browser is good for a day. Errors: those of skua_cookie_set; SKUA_EINVAL also for a key
// that is too short, SKUA_ELIMIT for a value that is too long.
static inline skua_status skua_signed_cookie_set(skua_request *request, const skua_signing *s,
                                                 const skua_cookie *cookie)
{
    skua_cookie made = *cookie;
    int64_t age_s = cookie->max_age_s > 0 ? cookie->max_age_s : (int64_t)SKUA_SIGNED_COOKIE_AGE_S;
    if (cookie->max_age_s < 0) return skua_cookie_set(request, cookie);
    if (s->key.len < SKUA_SIGNING_KEY_OCTETS_MIN) return SKUA_EINVAL;
    made.value = skua_sign(request, s, cookie->name, cookie->value, (int64_t)time(NULL) + age_s);
    return made.value.ptr ? skua_cookie_set(request, &made) : SKUA_ELIMIT;
}

// The value of a cookie that was set so; {NULL, 0} when there is none that is good.
static inline skua_slice skua_signed_cookie(skua_request *request, const skua_signing *s,
                                            const char *name)
{
    skua_signed found;
    const skua_slice none = { NULL, 0 };
    skua_slice text = skua_request_cookie(request, name);
    return text.ptr && skua_signed_read(request, s, name, text, &found) ? found.content : none;
}

#endif
