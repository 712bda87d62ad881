// SPDX-License-Identifier: MIT
//
// Parts that the ready middleware has in common. It uses only the public interface, so each file can be copied and
// changed. The description of a middleware is the user pointer of its functions.
#ifndef SKUA_MIDDLEWARE_WORDS_H
#define SKUA_MIDDLEWARE_WORDS_H

#ifndef SKUA_H
#include <skua/skua.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Whether a word is in a list, with spaces between them. list: NULL is none.
static inline bool skua_words_have(const char *list, skua_slice word)
{
    const char *at = list ? list : "";
    while (*at) {
        size_t len = strcspn(at, " ");
        if (len == word.len && len && memcmp(at, word.ptr, len) == 0) return true;
        at += len;
        at += strspn(at, " ");
    }
    return false;
}

// A description as a user, which is never written to.
static inline void *skua_words_user(const void *description)
{
    return (void *)(uintptr_t)description;
}

// Whether two are equal, in a time that tells nothing about where they differ.
static inline bool skua_words_equal(skua_slice a, skua_slice b)
{
    unsigned differs = a.len != b.len;
    for (size_t i = 0; i < a.len; i++)
        differs |= (unsigned)(unsigned char)a.ptr[i] ^
                   (unsigned)(unsigned char)(b.len ? b.ptr[i % b.len] : 0);
    return differs == 0;
}

#endif
