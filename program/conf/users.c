// SPDX-License-Identifier: MIT
//
// bcrypt alone is taken, by the names that its repaired forms have. A library that does not know a form may take
// the text for one of DES, and let in whoever knows the first two characters, so the form is looked at here.

#include "conf/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SKUA_CRYPT
#include <crypt.h>
#endif

typedef struct users_form {
    const char *begin, *name;
} users_form;

static const users_form users_others[] = {
    { "$apr1$", "MD5 (of Apache)" },
    { "$1$", "MD5" },
    { "$2$", "bcrypt of 1999" },
    { "$2x$", "bcrypt with a known fault" },
    { "$5$", "SHA-256" },
    { "$6$", "SHA-512" },
    { "$7$", "scrypt" },
    { "$y$", "yescrypt" },
    { "$gy$", "yescrypt" },
    { "$argon2", "Argon2" },
    { "{SHA}", "SHA-1" },
    { "{SSHA}", "SHA-1" },
};

bool conf_users_are_built(void)
{
#ifdef SKUA_CRYPT
    return true;
#else
    return false;
#endif
}

// ---- Reading ----

static bool users_is_bcrypt(skua_slice hash)
{
    static const char alphabet[] =
        "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *at = hash.ptr;
    if (hash.len != CONF_HASH_OCTETS || memcmp(at, "$2", 2) != 0 || !strchr("aby", at[2]))
        return false;
    bool has_cost = at[3] == '$' && at[4] >= '0' && at[4] <= '3' && at[5] >= '0' && at[5] <= '9' &&
                    at[6] == '$';
    for (size_t i = 7; has_cost && i < CONF_HASH_OCTETS; i++) {
        if (!memchr(alphabet, at[i], sizeof alphabet - 1)) return false;
    }
    int cost = has_cost ? (at[4] - '0') * 10 + at[5] - '0' : 0;
    return cost >= 4 && cost <= 31;
}

static const char *users_form_of(skua_slice hash)
{
    for (size_t i = 0; i < sizeof users_others / sizeof *users_others; i++) {
        if (skua_slice_starts(hash, users_others[i].begin)) return users_others[i].name;
    }
    return hash.len == 13 ? "DES" : "an unknown method";
}

static bool users_is_digest(conf_findings *findings, conf_place at, skua_slice name,
                            skua_slice hash)
{
    size_t digits = 0;
    while (digits < hash.len && memchr("0123456789abcdef", hash.ptr[digits], 16))
        digits++;
    if (digits == hash.len && digits == CONF_DIGEST_OCTETS) return true;
    conf_find(findings, at,
              "%.*s has no hash of a token, %d digits of 0 to 9 and a to f; skua token makes both",
              (int)name.len, name.ptr, CONF_DIGEST_OCTETS);
    return false;
}

static bool users_is_right(conf_findings *findings, conf_place at, conf_secret secret,
                           skua_slice name, skua_slice hash)
{
    if (!name.len) conf_find(findings, at, "a line is NAME:HASH, with both of them");
    else if (secret == CONF_TOKEN) return users_is_digest(findings, at, name, hash);
    else if (skua_slice_starts(hash, "$2") && hash.len != CONF_HASH_OCTETS)
        conf_find(findings, at,
                  "the hash of %.*s is incomplete: a hash of bcrypt has %d characters",
                  (int)name.len, name.ptr, CONF_HASH_OCTETS);
    else if (!users_is_bcrypt(hash))
        conf_find(findings, at,
                  "the password of %.*s is hashed by %s; only bcrypt is accepted: skua passwd",
                  (int)name.len, name.ptr, users_form_of(hash));
    else return true;
    return false;
}

const conf_user *conf_users_find(const conf_user *first, skua_slice name)
{
    for (const conf_user *at = first; at; at = at->next) {
        if (skua_slice_is(name, at->name)) return at;
    }
    return NULL;
}

static conf_user *users_read_line(conf_findings *findings, conf_place at, conf_secret secret,
                                  skua_slice line)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    size_t name_len = colon ? (size_t)(colon - line.ptr) : 0;
    const skua_slice name = { line.ptr, name_len };
    const skua_slice hash = { line.ptr + name_len + 1, colon ? line.len - name_len - 1 : 0 };
    if (!users_is_right(findings, at, secret, name, hash)) return NULL;
    conf_user *user = conf_take(findings->memory, sizeof *user);
    if (!user) return NULL;
    memcpy(user->hash, hash.ptr, hash.len);
    user->name = conf_copy(findings->memory, name.ptr, name_len);
    return user->name ? user : NULL;
}

conf_user *conf_users_read(skua_slice octets, conf_secret secret, const char *file,
                           conf_findings *findings)
{
    conf_user *first = NULL, **end = &first;
    conf_place at = { file, 1, 1 };
    for (; octets.len; at.line++) {
        const char *lf = memchr(octets.ptr, '\n', octets.len);
        skua_slice line = { octets.ptr, lf ? (size_t)(lf - octets.ptr) : octets.len };
        size_t taken = line.len + (lf != NULL);
        octets.ptr += taken;
        octets.len -= taken;
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        if (!line.len || line.ptr[0] == '#') continue;
        conf_user *user = users_read_line(findings, at, secret, line);
        if (!user) continue;
        if (conf_users_find(first, skua_slice_of(user->name)))
            conf_find(findings, at, "%s has a line before this one", user->name);
        *end = user;
        end = &user->next;
    }
    return first;
}

// ---- Checking ----

bool conf_password_hash(const char *setting, const char *password, char hash[CONF_HASH_OCTETS + 1])
{
    bool hashed = false;
#ifdef SKUA_CRYPT
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *found = data ? crypt_r(password, setting, data) : NULL;
    hashed = found && users_is_bcrypt(skua_slice_of(found));
    if (hashed) memcpy(hash, found, CONF_HASH_OCTETS + 1);
    free(data);
#else
    (void)setting, (void)password, (void)hash;
#endif
    return hashed;
}

static bool users_same(const char *a, const char *b, size_t len)
{
    unsigned differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned)(unsigned char)(a[i] ^ b[i]);
    return !differs;
}

bool conf_password_fits(const char hash[CONF_HASH_OCTETS + 1], skua_slice password)
{
    char text[CONF_PASSWORD_OCTETS_MAX + 1], found[CONF_HASH_OCTETS + 1];
    if (password.len > CONF_PASSWORD_OCTETS_MAX || memchr(password.ptr, '\0', password.len))
        return false;
    memcpy(text, password.ptr, password.len);
    text[password.len] = '\0';
    if (!conf_password_hash(hash, text, found)) return false;
    return users_same(found, hash, CONF_HASH_OCTETS);
}

void conf_token_hash(skua_slice token, char hash[CONF_DIGEST_OCTETS + 1])
{
    unsigned char digest[SKUA_SHA256_OCTETS];
    skua_sha256(token, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(hash + 2 * i, 3, "%02x", digest[i]);
}

bool conf_token_fits(const conf_user *first, const char hash[CONF_DIGEST_OCTETS + 1])
{
    bool fits = false;
    for (const conf_user *at = first; at; at = at->next)
        fits = users_same(at->hash, hash, CONF_DIGEST_OCTETS) || fits;
    return fits;
}
