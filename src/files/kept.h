// SPDX-License-Identifier: MIT
//
// Kept: the content of a file in memory that responses share. It counts as the worker's memory until the
// last of them has left, which may be long after the cache has dropped it.
#ifndef SKUA_FILES_KEPT_H
#define SKUA_FILES_KEPT_H

#include "skua/skua.h"

enum { KEPT_HEADROOM_OCTETS = 1024 };

typedef struct kept_file {
    skua_worker *worker;
    size_t len;
    char headroom[KEPT_HEADROOM_OCTETS]; // for the head of a response
    char octets[];
} kept_file;

// Room for len octets, which are not set yet. NULL when memory ran out.
kept_file *kept_new(skua_worker *worker, size_t len);

// user: the kept. Of type skua_release_fn.
void kept_free(void *user);

#endif
