// SPDX-License-Identifier: MIT
//
// Known credentials: those that have been checked recently, so that the next request need not wait
// for a hash. It keeps a keyed hash of name and password, not these themselves.
#ifndef PROGRAM_CONF_KNOWN_H
#define PROGRAM_CONF_KNOWN_H

#include "conf/siphash.h"

#include <skua/skua.h>

enum { CONF_KNOWN_MAX = 256 };

typedef struct conf_known_tag {
    uint64_t halves[2];
} conf_known_tag;

// Not locked: the caller sees to that.
typedef struct conf_known {
    uint64_t key[2]; // random
    conf_known_tag tags[CONF_KNOWN_MAX];
} conf_known;

// Empty, with a key. Returns: false when no random octets can be had.
bool conf_known_begin(conf_known *known);

conf_known_tag conf_known_tag_of(const conf_known *known, skua_slice name, skua_slice secret);
bool conf_known_has(const conf_known *known, conf_known_tag tag);
void conf_known_add(conf_known *known, conf_known_tag tag);
void conf_known_forget(conf_known *known);

#endif
