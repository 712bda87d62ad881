// SPDX-License-Identifier: MIT

#include "conf/advice.h"

#include "conf/pattern.h"
#include "conf/sites.h"

#include <string.h>

enum { ADVICE_MAPPED_BITS = 96 }; // of a network of IPv4 that has all addresses

// ---- Redirects ----

// Whether a rule of its own, which is for less, has the target of a redirect.
static bool advice_has_other(const conf_site *site, const conf_redirect *of, const char *target,
                             size_t len)
{
    size_t literal = strcspn(of->pattern, "{");
    for (const conf_redirect *at = site->redirects; at; at = at->next)
        if (at != of && conf_pattern_has(at->pattern, target, len)) return true;
    for (const conf_rewrite *at = site->rewrites; at; at = at->next)
        if (conf_pattern_has(at->pattern, target, len)) return true;
    for (const conf_scope *at = site->paths; at; at = at->next)
        if (at->root && strlen(at->path) > literal && conf_scope_has(at, target, len)) return true;
    return false;
}

// The query makes no difference: it is no part of a pattern.
static void advice_look_at_redirect(conf *from, const conf_site *site, const conf_redirect *at)
{
    size_t len = strcspn(at->to, "?#");
    bool is_same = strlen(at->pattern) == len && memcmp(at->pattern, at->to, len) == 0;
    if (is_same) conf_find(&from->findings, at->at, "this redirect leads to itself");
    else if (conf_pattern_has(at->pattern, at->to, len) && !advice_has_other(site, at, at->to, len))
        conf_find(&from->notes, at->at,
                  "%s is one of the paths that this redirect is for, so that clients go round for "
                  "ever",
                  at->to);
}

// ---- The rest ----

static bool advice_is_host_of(const conf_site *site, const char *host)
{
    size_t len = strlen(host);
    for (const char *at = site->hosts; *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == len && strncmp(at, host, len) == 0) return true;
        at += here;
    }
    return false;
}

static void advice_look_at_canonical(conf *from, const conf_site *site)
{
    static const char https[] = "https://";
    bool is_https = site->canonical && strncmp(site->canonical, https, sizeof https - 1) == 0;
    bool can_be = from->trusted_count > 0;
    for (unsigned i = 0; i < from->listen_count; i++)
        can_be = can_be || from->listens[i].tls;
    if (!is_https || can_be || !advice_is_host_of(site, site->canonical + sizeof https - 1)) return;
    conf_find(&from->notes, site->at,
              "requests are sent to %s, and no address here speaks TLS: a proxy in front that does "
              "is to be named by trusted_proxies, or they go round for ever",
              site->canonical);
}

static void advice_look_at_proxies(conf *from)
{
    for (unsigned i = 0; i < from->trusted_count; i++) {
        const conf_network *network = &from->trusted[i];
        bool is_all = !network->is_unix &&
                      (network->bits == 0 ||
                       (network->bits == ADVICE_MAPPED_BITS && network->octets[10] == 0xff));
        if (!is_all) continue;
        conf_find(
            &from->notes, from->trusted_at,
            "everyone is trusted as a proxy, and so chooses the address that logs, limits and "
            "allow go by");
        return;
    }
}

void conf_advise(conf *from)
{
    advice_look_at_proxies(from);
    for (const conf_site *site = from->sites; site; site = site->next) {
        advice_look_at_canonical(from, site);
        for (const conf_redirect *at = site->redirects; at; at = at->next)
            advice_look_at_redirect(from, site, at);
        for (const conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
            if (at->root && strcmp(at->root, "/") == 0)
                conf_find(&from->notes, at->root_at,
                          "the root is the whole file system: each file that the server may read "
                          "is sent");
    }
}
