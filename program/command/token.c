// SPDX-License-Identifier: MIT
//
// A token is made of random octets, so that a hash that is fast keeps it as well as a slow one would: nobody can try
// them all. "skua_" lets those who look for secrets in texts find it.

#include "command/token.h"

#include "command/names.h"
#include "conf/users.h"
#include "common/say.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { TOKEN_RANDOM_OCTETS = 30, TOKEN_OCTETS = 5 + TOKEN_RANDOM_OCTETS / 3 * 4 };

// base64 of RFC 4648 §5; three octets at a time make four digits.
static void token_write(const unsigned char random[TOKEN_RANDOM_OCTETS], char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < TOKEN_RANDOM_OCTETS; i += 3) {
        unsigned bits = (unsigned)random[i] << 16 | (unsigned)random[i + 1] << 8 | random[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *text++ = digits[bits >> shift & 63];
    }
    *text = '\0';
}

bool conf_token(const char *file, const char *name)
{
    unsigned char random[TOKEN_RANDOM_OCTETS];
    char token[TOKEN_OCTETS + 1] = "skua_", hash[CONF_DIGEST_OCTETS + 1];
    if (!conf_names_is_name(name)) return false;
    if (getentropy(random, sizeof random) != 0) {
        say_error("this system has no random octets");
        return false;
    }
    token_write(random, token + strlen(token));
    conf_token_hash(skua_slice_of(token), hash);
    if (conf_names_put(file, name, hash)) return puts(token) >= 0;
    say_error("%s cannot be written", file);
    return false;
}
