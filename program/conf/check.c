// SPDX-License-Identifier: MIT
//
// Defaults are read before sites, and sites before their paths, so that the order in the file does not
// matter and each scope begins as a copy of the one around it.

#include "conf/check.h"

#include "conf/method.h"
#include "conf/sites.h"
#include "conf/table.h"

#include <string.h>

// ---- One directive ----

static const char *check_name_of(unsigned where)
{
    switch (where) {
    case CONF_IN_FILE: return "outside of blocks";
    case CONF_IN_DEFAULTS: return "in defaults";
    case CONF_IN_SITE: return "directly in a site";
    case CONF_IN_METHOD: return "in a block of methods";
    default: return "in the block of a path";
    }
}

static void check_say_misplaced(conf_checker *c, const conf_kind *kind, const conf_directive *d,
                                unsigned where)
{
    const char *right = "";
    for (unsigned place = CONF_IN_FILE; place <= CONF_IN_METHOD && right; place *= 2) {
        bool is_last = !(kind->where & ~(2 * place - 1));
        const char *between = !*right ? "" : is_last ? " or " : ", ";
        if (kind->where & place)
            right = conf_print(c->findings->memory, "%s%s%s", right, between, check_name_of(place));
    }
    conf_find(c->findings, d->words[0].at, "%s does not stand %s, but %s", kind->name,
              check_name_of(where), right ? right : "elsewhere");
}

// In other languages a block of a host has no word before it, as in the Caddyfile.
static bool check_is_host(const conf_directive *d, unsigned where)
{
    return where == CONF_IN_FILE && d->has_block && d->count == 1 &&
           strpbrk(d->words[0].text, ".:");
}

static void check_say_unknown(conf_checker *c, const conf_directive *d, unsigned where)
{
    const char *near = conf_kind_nearest(d->words[0].text);
    if (check_is_host(d, where))
        conf_find(c->findings, d->words[0].at,
                  "there is no directive \"%.200s\"; a site is written: site %.200s {",
                  d->words[0].text, d->words[0].text);
    else
        conf_find(c->findings, d->words[0].at, "there is no directive \"%.200s\"%s%s%s",
                  d->words[0].text, near ? "; did you mean " : "", near ? near : "",
                  near ? "?" : "");
}

static bool check_is_right(conf_checker *c, const conf_kind *kind, const conf_directive *d,
                           unsigned where)
{
    unsigned arguments = d->count - 1;
    if (!(kind->where & where)) {
        check_say_misplaced(c, kind, d, where);
    } else if (arguments < kind->least || arguments > kind->most) {
        conf_find(c->findings, d->words[0].at, "it is written %s %s, as in: %s%s", kind->name,
                  kind->arguments, kind->example,
                  arguments > kind->most ? "; a word with spaces needs quotation marks" : "");
    } else if (kind->has_block && !d->has_block) {
        conf_find(c->findings, d->words[0].at,
                  "%s has a block: a \"{\" is missing at the end of the line", kind->name);
    } else if (!kind->has_block && d->has_block) {
        conf_find(c->findings, d->words[0].at, "%s has no block; leave the \"{\" out", kind->name);
    } else {
        return true;
    }
    return false;
}

static bool check_is_first(conf_checker *c, const conf_kind *kind, const conf_directive *d,
                           const conf_directive *first)
{
    const conf_directive *at = first;
    while (at != d && strcmp(at->words[0].text, kind->name) != 0)
        at = at->next;
    if (at == d) return true;
    conf_find(c->findings, d->words[0].at, "%s stands here once, and is in line %u of %s already",
              kind->name, at->words[0].at.line, at->words[0].at.file);
    return false;
}

void conf_check_block(conf_checker *c, const conf_directive *first, unsigned where)
{
    for (const conf_directive *d = first; d; d = d->next) {
        const conf_kind *kind = conf_kind_find(d->words[0].text);
        if (!kind) check_say_unknown(c, d, where);
        else if (check_is_right(c, kind, d, where) &&
                 (kind->repeats || check_is_first(c, kind, d, first)) && kind->take)
            kind->take(c, kind, d);
    }
}

bool conf_is(const conf_directive *d, const char *name)
{
    return d->has_block && strcmp(d->words[0].text, name) == 0;
}

// ---- The whole ----

static void check_defaults(conf_checker *c, const conf_directive *first)
{
    for (const conf_directive *d = first; d; d = d->next) {
        if (!conf_is(d, "defaults")) continue;
        c->scope = &c->conf->defaults;
        conf_check_block(c, d->inner, CONF_IN_DEFAULTS);
        conf_check_methods(c, d->inner);
        c->scope = NULL;
    }
}

static void check_tls(conf_checker *c)
{
    const conf *to = c->conf;
    const conf_listen *speaks = NULL;
    for (unsigned i = 0; i < to->listen_count && !speaks; i++)
        speaks = to->listens[i].tls ? &to->listens[i] : NULL;
    if (speaks && !to->certificate_count)
        conf_find(c->findings, speaks->at, "TLS needs a certificate, and no site has one");
    if (!speaks && to->certificate_count)
        conf_find(c->findings, to->certificates_at[0],
                  "a certificate is for TLS, and no address speaks it: listen :443 tls");
}

void conf_check(conf *to, const conf_directive *first, const char *file, conf_findings *findings)
{
    conf_checker c = { .conf = to, .findings = findings };
    const conf_place begin = { file, 1, 1 };
    to->grace_ns = (int64_t)10 * 1000000000;
    to->start_timeout_ns = (int64_t)30 * 1000000000;
    to->server.log = SKUA_LOG_SHORT;
    to->defaults.path = "/";
    to->defaults.directory.precompressed = true;
    to->defaults.compresses = true;
    check_defaults(&c, first);
    conf_check_block(&c, first, CONF_IN_FILE);
    for (const conf_directive *d = first; d; d = d->next) {
        if (conf_is(d, "site")) conf_check_site(&c, d);
    }
    if (findings->count) return; // what follows may be only their consequence
    if (!to->listen_count)
        conf_find(findings, begin, "there is no address to listen on: listen :80");
    if (!to->site_count) conf_find(findings, begin, "there is no site; site * { has every host");
    check_tls(&c);
}
