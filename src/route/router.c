// SPDX-License-Identifier: MIT
//
// Router. A search goes from left to right, most specific child first, and turns back when a branch
// comes to nothing, so that each node is seen at most once. Since no two routes are in doubt over a
// request (route_conflict.c), the first one found is the most specific.

#include "route/router.h"

#include "base/inline.h"
#include "base/assert.h"
#include "base/memory.h"
#include "http/syntax.h"
#include "route/conflicts.h"
#include "route/tree.h"

#include <stdio.h>

typedef struct router_entry router_entry;

struct router_entry {
    route route;
    router_entry *next;
    char text[]; // the pattern
};

// The routes of a host name, or of every name with one label before it.
typedef struct router_host {
    slice name;
    bool param;
    route_tree tree;
} router_host;

struct router {
    route_tree any_host;
    router_host **hosts; // a hash table, at most half full
    unsigned host_room, host_count;
    router_entry *entries;
    slice methods[ROUTE_METHODS_MAX];
    unsigned method_count;
    bool every_method; // some route takes them all
};

router *router_new(void)
{
    return memory_zeroed(sizeof(router));
}

void router_free(router *r)
{
    if (!r) return;
    for (unsigned i = 0; i < r->host_room; i++) {
        if (!r->hosts[i]) continue;
        route_tree_deinit(&r->hosts[i]->tree);
        memory_free(r->hosts[i]);
    }
    memory_free((void *)r->hosts);
    route_tree_deinit(&r->any_host);
    while (r->entries) {
        router_entry *entry = r->entries;
        r->entries = entry->next;
        memory_free(entry);
    }
    memory_free(r);
}

// ---- Hosts ----

// Where a host is, or belongs; not to be called while the table has no room.
static router_host **router_host_slot(router_host **hosts, unsigned room, slice name, bool param)
{
    unsigned i = slice_hash_nocase(name) & (room - 1);
    while (hosts[i] && !(hosts[i]->param == param && slice_equal_nocase(hosts[i]->name, name))) {
        i = (i + 1) & (room - 1);
    }
    return &hosts[i];
}

static bool router_hosts_grow(router *r)
{
    if (r->host_count * 2 < r->host_room) return true;
    unsigned room = r->host_room ? r->host_room * 2 : 8;
    router_host **grown = memory_array(room, sizeof *grown);
    if (!grown) return false;
    for (unsigned i = 0; i < r->host_room; i++) {
        router_host *host = r->hosts[i];
        if (host) *router_host_slot(grown, room, host->name, host->param) = host;
    }
    memory_free((void *)r->hosts);
    r->hosts = grown;
    r->host_room = room;
    return true;
}

// The tree for a pattern's host, made if need be; NULL when memory ran out.
static route_tree *router_tree(router *r, const route_pattern *p)
{
    if (p->host.len == 0) return &r->any_host;
    if (!router_hosts_grow(r)) return NULL;
    router_host **slot = router_host_slot(r->hosts, r->host_room, p->host, p->host_param);
    if (*slot) return &(*slot)->tree;
    router_host *host = memory_zeroed(sizeof *host);
    if (!host) return NULL;
    host->name = p->host;
    host->param = p->host_param;
    *slot = host;
    r->host_count++;
    return &host->tree;
}

// ---- Adding ----

static bool router_method_known(const router *r, slice method)
{
    for (unsigned i = 0; i < r->method_count; i++) {
        if (slice_equal(r->methods[i], method)) return true;
    }
    return false;
}

static skua_status router_refuse(skua_status status, char *why, size_t room, slice text,
                                 const char *reason)
{
    int len = text.len > 200 ? 200 : (int)text.len;
    (void)snprintf(why, room, "route \"%.*s\": %s", len, len ? text.ptr : "", reason);
    return status;
}

static skua_status router_refuse_conflict(const route *there, bool same, char *why, size_t room,
                                          slice text)
{
    char reason[300];
    slice other = there->pattern.text;
    int len = other.len > 200 ? 200 : (int)other.len;
    (void)snprintf(reason, sizeof reason, "\"%.*s\" matches %s", len, other.ptr,
                   same ? "the same requests"
                        : "some of the same requests, and neither is more specific");
    return router_refuse(SKUA_EEXIST, why, room, text, reason);
}

static router_entry *router_entry_new(const router_desc *desc)
{
    slice text = desc->pattern, name = desc->name ? slice_of(desc->name) : slice_make(NULL, 0);
    router_entry *entry = memory_zeroed(sizeof *entry + text.len + 1 + name.len + 1);
    if (!entry) return NULL;
    memcpy(entry->text, text.ptr, text.len);
    if (name.len) entry->route.name = memcpy(entry->text + text.len + 1, name.ptr, name.len);
    entry->route.handler = desc->handler;
    entry->route.user = desc->user;
    return entry;
}

// The entry outlives a failure, since the tree's literals point into its text.
static skua_status router_insert(router *r, const route *rt, char *why, size_t room)
{
    const route_pattern *p = &rt->pattern;
    bool fresh = p->method.len && !router_method_known(r, p->method), same;
    if (fresh && r->method_count == ROUTE_METHODS_MAX) {
        return router_refuse(SKUA_EINVAL, why, room, p->text, "too many different methods");
    }
    route_tree *tree = router_tree(r, p);
    if (!tree) return router_refuse(SKUA_ENOMEM, why, room, p->text, "memory ran out");
    const route *there = route_conflict_find(tree, rt, &same);
    if (there) return router_refuse_conflict(there, same, why, room, p->text);
    route_end *end = route_place(tree, p->path);
    if (!end || !route_end_put(end, rt)) {
        return router_refuse(SKUA_ENOMEM, why, room, p->text, "memory ran out");
    }
    if (fresh) r->methods[r->method_count++] = p->method;
    if (p->method.len == 0) r->every_method = true;
    return SKUA_OK;
}

skua_status router_add(router *r, const router_desc *desc, char *why, size_t room)
{
    SKUA_ASSERT(desc->handler);
    slice text = desc->pattern;
    router_entry *entry = text.len ? router_entry_new(desc) : NULL;
    if (text.len && !entry) return router_refuse(SKUA_ENOMEM, why, room, text, "memory ran out");
    char fault[PATTERN_FAULT_OCTETS] = "";
    if (!entry || !pattern_read(slice_make(entry->text, text.len), &entry->route.pattern, fault)) {
        memory_free(entry);
        const char *reason = *fault ? fault : "is not \"[METHOD ][HOST]/PATH\"";
        return router_refuse(SKUA_EINVAL, why, room, text, reason);
    }
    entry->next = r->entries;
    r->entries = entry;
    return router_insert(r, &entry->route, why, room);
}

size_t router_method_octets_max(const router *r)
{
    size_t longest = strlen("UPDATEREDIRECTREF"); // of IANA's registry
    for (unsigned i = 0; i < r->method_count; i++) {
        if (r->methods[i].len > longest) longest = r->methods[i].len;
    }
    return longest;
}

bool router_knows_method(const router *r, slice method)
{
    if (r->every_method || router_method_known(r, method)) return true;
    return route_method_is_head(method) && router_method_known(r, SKUA_SLICE("GET"));
}

// ---- Finding ----

typedef enum router_verb {
    VERB_GET,
    VERB_HEAD,
    VERB_OTHER,
    VERB_EVERY // for Allow: look at every route that has the path, and take none
} router_verb;

typedef struct router_search {
    slice method;
    router_verb verb;
    bool path_seen; // some route has the path, if not the method
    unsigned steps;
    unsigned method_count;
    slice *methods; // VERB_EVERY: sorted
    slice *values;
} router_search;

// Routes of one path may repeat methods of another, less specific one. Past the last the list is
// cut: more than fit can only come from a program with that many methods.
static void router_collect(router_search *s, slice method)
{
    unsigned i = 0;
    for (; i < s->method_count; i++) {
        size_t len = s->methods[i].len < method.len ? s->methods[i].len : method.len;
        int order = memcmp(s->methods[i].ptr, method.ptr, len);
        if (order == 0 && s->methods[i].len == method.len) return;
        if (order > 0 || (order == 0 && s->methods[i].len > method.len)) break;
    }
    if (s->method_count == ROUTE_METHODS_MAX) return;
    memmove(&s->methods[i + 1], &s->methods[i], (s->method_count - i) * sizeof *s->methods);
    s->methods[i] = method;
    s->method_count++;
}

static void router_collect_end(router_search *s, const route_end *end)
{
    if (end->get) router_collect(s, SKUA_SLICE("GET"));
    if (end->get || end->head) router_collect(s, SKUA_SLICE("HEAD"));
    for (unsigned i = 0; i < end->other_count; i++)
        router_collect(s, end->others[i]->pattern.method);
}

// A route that takes everything below a path with every method would hide that a more specific path has
// only other methods, which is 405.
static const route *router_pick_every(const router_search *s, const route_end *end)
{
    if (!end->any || !s->path_seen) return end->any;
    slice path = end->any->pattern.path;
    bool takes_all_below = path.ptr[path.len - 1] == '/' ||
                           (path.len > 4 && memcmp(path.ptr + path.len - 4, "...}", 4) == 0);
    return takes_all_below ? NULL : end->any;
}

static const route *router_pick_any(router_search *s, const route_end *end)
{
    const route *found = NULL;
    switch (s->verb) {
    case VERB_GET: found = end->get; break;
    case VERB_HEAD: found = end->head ? end->head : end->get; break;
    case VERB_OTHER: found = route_end_other(end, s->method); break;
    case VERB_EVERY: router_collect_end(s, end); return NULL;
    }
    if (!found) found = router_pick_every(s, end);
    if (!found && (end->get || end->head || end->other_count)) s->path_seen = true;
    return found;
}

// Most places are the end of no route, and most requests are GET.
static inline const route *router_pick(router_search *s, const route_end *end)
{
    if (!end->used) return NULL;
    return s->verb == VERB_GET && end->get ? end->get : router_pick_any(s, end);
}

static const route *router_seek(router_search *s, const route_node *node, slice rest,
                                unsigned count);

// One segment and what follows it: literal before parameter.
static const route *router_seek_below(router_search *s, const route_node *node, slice rest,
                                      unsigned count)
{
    bool last;
    slice segment = pattern_segment(&rest, &last);
    const route_node *child = route_child(node, segment, &s->steps);
    const route *found = child ? router_seek(s, child, rest, count) : NULL;
    if (found || !node->param || segment.len == 0) return found;
    if (s->verb != VERB_EVERY) s->values[count] = segment;
    return router_seek(s, node->param, rest, count + 1);
}

// rest: what of the path comes after node, empty or from its slash on. count: values so far.
static const route *router_seek(router_search *s, const route_node *node, slice rest,
                                unsigned count)
{
    s->steps++;
    if (rest.len == 0) return router_pick(s, &node->exact);
    const route *found =
        rest.len == 1 ? router_pick(s, &node->slash) : router_seek_below(s, node, rest, count);
    if (found) return found;
    found = router_pick(s, &node->tail);
    if (found && found->pattern.param_count > count) s->values[count] = slice_from(rest, 1);
    return found;
}

// The trees of the host itself, and of those that take any first label.
__attribute__((noinline)) static const route *router_seek_hosts(router_search *s, const router *r,
                                                                const router_query *query)
{
    slice name = syntax_host_name(query->authority);
    if (name.len == 0) return NULL;
    const router_host *host = *router_host_slot(r->hosts, r->host_room, name, false);
    const route *found = host ? router_seek(s, &host->tree.root, query->path, 0) : NULL;
    const char *dot = memchr(name.ptr, '.', name.len);
    if (found || !dot || dot == name.ptr) return found;
    slice label = slice_make(name.ptr, (size_t)(dot - name.ptr));
    host = *router_host_slot(r->hosts, r->host_room, slice_from(name, label.len + 1), true);
    if (!host) return NULL;
    if (s->verb != VERB_EVERY) s->values[0] = label;
    return router_seek(s, &host->tree.root, query->path, 1);
}

static const route *router_seek_all(router_search *s, const router *r, const router_query *query)
{
    const route *found = r->host_count ? router_seek_hosts(s, r, query) : NULL;
    return found ? found : router_seek(s, &r->any_host.root, query->path, 0);
}

static void router_write_allow(const router_search *s, router_match *match)
{
    size_t at = 0;
    for (unsigned i = 0; i < s->method_count; i++) {
        slice method = s->methods[i];
        size_t comma = i ? 2 : 0;
        if (method.len + comma > sizeof match->allow - at) break;
        if (comma) memcpy(match->allow + at, ", ", 2);
        memcpy(match->allow + at + comma, method.ptr, method.len);
        at += comma + method.len;
    }
    match->allow_len = at;
}

__attribute__((noinline)) static void router_allow(const router *r, const router_query *query,
                                                   router_match *match)
{
    slice methods[ROUTE_METHODS_MAX + 1];
    router_search s = { .verb = VERB_EVERY, .methods = methods };
    (void)router_seek_all(&s, r, query);
    router_write_allow(&s, match);
}

BASE_INLINE_ALWAYS router_outcome router_find(const router *r, const router_query *query,
                                              router_match *match)
{
    match->steps = 0;
    if (query->path.len == 0 || query->path.ptr[0] != '/') return ROUTER_NO_PATH;
    slice method = query->method;
    router_search s = {
        .method = method,
        .verb = route_method_is_get(method)    ? VERB_GET
                : route_method_is_head(method) ? VERB_HEAD
                                               : VERB_OTHER,
        .values = match->values,
    };
    const route *found = router_seek_all(&s, r, query);
    match->steps = s.steps;
    if (found) {
        match->route = found;
        match->count = found->pattern.param_count;
        return ROUTER_FOUND;
    }
    if (!s.path_seen) return ROUTER_NO_PATH;
    router_allow(r, query, match);
    return ROUTER_NO_METHOD;
}
