// SPDX-License-Identifier: MIT
//
// basic_auth and bearer_auth.

#include "conf/lock.h"

#include "conf/files.h"
#include "conf/guard.h"
#include "conf/method.h"
#include "conf/take.h"

#include <string.h>

// ---- What holds ----

// The innermost lock of that kind; NULL: there is none, or it is taken away.
static const conf_lock *lock_innermost(const conf_lock *at, conf_secret secret, skua_slice method)
{
    while (at && (at->secret != secret || !conf_method_is_of(at->methods, method)))
        at = at->outer;
    return at && at->guard ? at : NULL;
}

bool conf_lock_holds(const conf_lock *first, const conf_guard *guard, skua_slice method)
{
    const conf_lock *at = lock_innermost(first, guard->secret, method);
    while (at && at->guard != guard)
        at = lock_innermost(at->outer, guard->secret, method);
    return at != NULL;
}

bool conf_lock_is_open(const conf_lock *own, const conf_lock *locks, skua_slice method)
{
    for (const conf_lock *at = locks; at; at = at->outer) {
        bool holds = at->guard && conf_lock_holds(locks, at->guard, method);
        if (holds && !conf_lock_holds(own, at->guard, method)) return false;
    }
    return true;
}

static bool lock_is_among(const conf_lock *first, const conf_lock *lock)
{
    while (first && first != lock)
        first = first->outer;
    return first != NULL;
}

// Locks of outer blocks are shared by both: whatever own makes of them was meant for what it is answered by.
bool conf_lock_adds_none(const conf_scope *own, const conf_scope *scope, skua_slice method)
{
    for (const conf_lock *at = scope->locks; at && !lock_is_among(own->locks, at); at = at->outer) {
        bool holds = at->guard && conf_lock_holds(scope->locks, at->guard, method);
        if (holds && !conf_lock_holds(own->locks, at->guard, method)) return false;
    }
    return true;
}

static void lock_check_method(conf_checker *c, const conf_lock *first, skua_slice method)
{
    const conf_lock *password = lock_innermost(first, CONF_PASSWORD, method);
    const conf_lock *token = lock_innermost(first, CONF_TOKEN, method);
    if (!password || !token) return;
    conf_find(c->findings, token->at,
              "a request has one Authorization field, and basic_auth in line %u of %s uses it; "
              "basic_auth off takes that away here",
              password->at.line, password->at.file);
}

// One of each set of methods speaks for it, and a name that none has for all others.
void conf_check_locks(conf_checker *c, const conf_scope *scope)
{
    unsigned before = c->findings->count;
    lock_check_method(c, scope->locks, SKUA_SLICE("-"));
    for (const conf_lock *at = scope->locks; at; at = at->outer) {
        for (const char *name = at->methods; name && *name; name += strspn(name, " ")) {
            size_t len = strcspn(name, " ");
            if (c->findings->count == before)
                lock_check_method(c, scope->locks, (skua_slice){ name, len });
            name += len;
        }
    }
}

// ---- The directives ----

// A realm stands between quotation marks in a field.
static bool lock_is_realm(const char *realm)
{
    size_t len = 0;
    for (; realm[len]; len++) {
        unsigned char c = (unsigned char)realm[len];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') return false;
    }
    return len > 0 && len <= CONF_REALM_OCTETS_MAX;
}

// guard: NULL: those of outer blocks are taken away.
static void lock_add(conf_checker *c, const conf_directive *d, conf_secret secret,
                     conf_guard *guard)
{
    conf_lock *added = conf_take(c->findings->memory, sizeof *added);
    if (!added) return;
    *added = (conf_lock){ secret, guard, c->methods, d->words[0].at, c->scope->locks };
    c->scope->locks = added;
}

// Outside of a site there is nothing to take away. Nobody else would notice that a path is open.
static void lock_open(conf_checker *c, const conf_directive *d, conf_secret secret)
{
    lock_add(c, d, secret, NULL);
    if (!c->site) return;
    conf_find(&c->conf->notes, d->words[0].at, "%s of %s needs no %s of outer blocks%s%s",
              c->scope->path, c->site->hosts, secret == CONF_TOKEN ? "token" : "password",
              c->methods ? " for " : "", c->methods ? c->methods : "");
}

// Never served without: a guard that could not be had is a fault, whatever was the reason.
static void lock_guard(conf_checker *c, const conf_directive *d, conf_secret secret)
{
    const conf_word *word = &d->words[2];
    const char *file = conf_files_resolve(c->findings->memory, word->text, word->at.file);
    unsigned before = c->findings->count;
    conf_guard *added = conf_guard_new(secret, d->words[1].text, file, word->at, c->findings);
    if (added) lock_add(c, d, secret, added);
    else if (c->findings->count == before)
        conf_find(c->findings, word->at, "the users of %s could not be kept: %s", word->text,
                  skua_status_text(SKUA_ENOMEM));
}

void conf_take_guard(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *realm = &d->words[1];
    conf_secret secret = strcmp(kind->name, "bearer_auth") == 0 ? CONF_TOKEN : CONF_PASSWORD;
    if (d->count == 2 && strcmp(realm->text, "off") == 0) lock_open(c, d, secret);
    else if (d->count == 2)
        conf_find(c->findings, realm->at, "it is written %s %s, as in: %s", kind->name,
                  kind->arguments, kind->example);
    else if (!lock_is_realm(realm->text))
        conf_find(c->findings, realm->at,
                  "a realm has 1 to %d characters of ASCII, no quotation marks and no \"\\\"",
                  CONF_REALM_OCTETS_MAX);
    else lock_guard(c, d, secret);
}
