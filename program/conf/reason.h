// SPDX-License-Identifier: MIT
//
// The reasons for a response: the lines of a configuration that cause it.
#ifndef PROGRAM_CONF_REASON_H
#define PROGRAM_CONF_REASON_H

#include "conf/conf.h"

#include <skua/skua.h>

// A request whose configuration is looked through. Everything in it is borrowed.
typedef struct conf_reason {
    const conf *from;
    const conf_site *site; // NULL: none has its host
    const char *origin;    // "https://example.org", as the client wrote it
    const char *path;      // decoded
    size_t path_len;       // octets
} conf_reason;

// A place without a file stands for none: no directive is the reason, and the server did it by itself.

// Where the directive of a name is that holds for the path: the last one of the innermost block that has one.
conf_place conf_reason_holds(const conf_reason *why, const char *name);

// Where the directive is that gave a field of a response with that status. tag: the value of its ETag, empty where it
// has none.
conf_place conf_reason_field(const conf_reason *why, int status, skua_slice field, skua_slice value,
                             skua_slice tag);

// Where the directive is that a status, or the content beside it, is owed to.
conf_place conf_reason_status(const conf_reason *why, int status);

// The rewrite that takes the path; NULL: none does.
const conf_rewrite *conf_reason_rewrite(const conf_reason *why);

#endif
