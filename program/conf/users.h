// SPDX-License-Identifier: MIT
//
// Users and the hashes of their passwords, from a file of lines "name:hash", as htpasswd -B writes it; or names and
// the hashes of tokens, as skua token does.
#ifndef PROGRAM_CONF_USERS_H
#define PROGRAM_CONF_USERS_H

#include "conf/findings.h"

#include <skua/skua.h>

enum {
    CONF_HASH_OCTETS = 60,   // of bcrypt: "$2b$10$", a salt of 22 characters, and 31
    CONF_DIGEST_OCTETS = 64, // of SHA-256, in hexadecimal digits
    CONF_USERS_OCTETS_MAX = 1 << 20,
    CONF_PASSWORD_OCTETS_MAX = 1024
};

// The kind of secret whose hashes a file has.
typedef enum conf_secret { CONF_PASSWORD, CONF_TOKEN } conf_secret;

typedef struct conf_user {
    const char *name;
    char hash[CONF_DIGEST_OCTETS + 1]; // the longer one
    struct conf_user *next;
} conf_user;

// Whether passwords can be checked by this program.
bool conf_users_are_built(void);

// Users of a file's octets. Faults have the place in that file. Returns: the first; NULL: there is none.
conf_user *conf_users_read(skua_slice octets, conf_secret secret, const char *file,
                           conf_findings *findings);

// NULL: there is no user of that name.
const conf_user *conf_users_find(const conf_user *first, skua_slice name);

// The hash of a password by a setting, "$2b$10$" and a salt. Returns: false when this system has no bcrypt.
bool conf_password_hash(const char *setting, const char *password, char hash[CONF_HASH_OCTETS + 1]);

// Takes long, on purpose: not on a worker.
bool conf_password_fits(const char hash[CONF_HASH_OCTETS + 1], skua_slice password);

// The hash of a token, and whether it is that of one of the users.
void conf_token_hash(skua_slice token, char hash[CONF_DIGEST_OCTETS + 1]);
bool conf_token_fits(const conf_user *first, const char hash[CONF_DIGEST_OCTETS + 1]);

#endif
