// SPDX-License-Identifier: MIT
//
// Directives are compared word by word.

#include "conf/difference.h"

#include <string.h>

static const conf_directive *difference_next(const conf_directive *at, const char *name)
{
    while (at && strcmp(at->words[0].text, name) != 0)
        at = at->next;
    return at;
}

static bool difference_same_words(const conf_directive *a, const conf_directive *b)
{
    bool same = a->count == b->count;
    for (unsigned i = 0; i < a->count && same; i++)
        same = strcmp(a->words[i].text, b->words[i].text) == 0;
    return same;
}

// Returns: the first line of now that differs from before's of that name, or else the first of before's that is
// missing now. NULL: all are the same.
static const conf_directive *difference_of(const conf *before, const conf *now, const char *name)
{
    const conf_directive *a = difference_next(before->first, name),
                         *b = difference_next(now->first, name);
    while (a && b && difference_same_words(a, b)) {
        a = difference_next(a->next, name);
        b = difference_next(b->next, name);
    }
    return b ? b : a;
}

static bool difference_speaks_tls(const conf *c)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        if (c->listens[i].tls) return true;
    }
    return false;
}

static bool difference_same_tls(const conf_listen *at, const conf *now)
{
    for (unsigned i = 0; i < now->listen_count; i++) {
        const conf_listen *same = &now->listens[i];
        if (strcmp(same->address, at->address) == 0 && same->tls != at->tls) return false;
    }
    return true;
}

// A server that speaks no TLS has nothing to speak it by, and clients of an address must not meet both.
static bool difference_in_tls(const conf *before, const conf *now)
{
    bool same = difference_speaks_tls(before) == difference_speaks_tls(now);
    for (unsigned i = 0; i < before->listen_count && same; i++)
        same = difference_same_tls(&before->listens[i], now);
    return !same;
}

static bool difference_is_live(const conf *before, const conf *now, const conf_kind *kind)
{
    bool is_listen = strcmp(kind->name, "listen") == 0;
    return kind->is_live && !(is_listen && difference_in_tls(before, now));
}

// The directive of that kind that differs. NULL: none, or a reload changes it.
static const conf_directive *difference_of_kind(const conf *before, const conf *now,
                                                const conf_kind *kind)
{
    if (kind->where != CONF_IN_FILE || kind->has_block) return NULL;
    if (difference_is_live(before, now, kind)) return NULL;
    return difference_of(before, now, kind->name);
}

const conf_kind *conf_difference(const conf *before, const conf *now, conf_place *at)
{
    const conf_kind *kind;
    for (unsigned i = 0; (kind = conf_kind_at(i)) != NULL; i++) {
        const conf_directive *d = difference_of_kind(before, now, kind);
        if (!d) continue;
        *at = d->words[0].at;
        return kind;
    }
    return NULL;
}

void conf_difference_each(const conf *before, const conf *now,
                          void (*told)(const conf_kind *kind, conf_place at))
{
    const conf_kind *kind;
    for (unsigned i = 0; (kind = conf_kind_at(i)) != NULL; i++) {
        const conf_directive *d = difference_of_kind(before, now, kind);
        if (d) told(kind, d->words[0].at);
    }
}
