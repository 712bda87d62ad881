// SPDX-License-Identifier: MIT

#include "conf/conf.h"

#include <stdlib.h>

conf *conf_new(void)
{
    conf *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->findings.memory = &c->memory;
    c->notes.memory = &c->memory;
    atomic_init(&c->shared.refs, 1);
    return c;
}

conf *conf_hold(conf *c)
{
    (void)atomic_fetch_add_explicit(&c->shared.refs, 1, memory_order_relaxed);
    return c;
}

void conf_drop(void *user)
{
    conf *c = user;
    if (!c || atomic_fetch_sub_explicit(&c->shared.refs, 1, memory_order_acq_rel) != 1) return;
    conf_memory_free(&c->memory);
    free(c);
}
