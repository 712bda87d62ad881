// SPDX-License-Identifier: MIT
//
// Content that is kept.

#include "files/kept.h"

#include "base/memory.h"

kept_file *kept_new(skua_worker *worker, size_t len)
{
    kept_file *k = memory_alloc(sizeof *k + len);
    if (!k) return NULL;
    k->worker = worker;
    k->len = len;
    skua_memory_count(worker, (int64_t)(sizeof *k + len));
    return k;
}

void kept_free(void *user)
{
    kept_file *k = user;
    skua_memory_count(k->worker, -(int64_t)(sizeof *k + k->len));
    memory_free(k);
}
