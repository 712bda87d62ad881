// SPDX-License-Identifier: MIT
//
// Router. A node is what a path has led to; three kinds of routes can end at it: "…" exactly, "…/" exactly
// ("{$}"), and "…/" with everything below. A search goes from left to right, most specific child first,
// and turns back when a branch comes to nothing, so that each node is seen at most once.
// Invariant: names of parameters are the routes', not the tree's: patterns that differ in names only share
// their nodes, and so their conflicts are found.

#include "server/router.h"

#include "base/assert.h"
#include "http/syntax.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUTER_DEPTH_MAX = 64, ROUTER_SCAN_MAX = 8, ROUTER_PATTERN_MAX = 4096 };

// The routes that end at one place, by method.
typedef struct router_end {
    const route *any, *get, *head;
    const route **others;
    unsigned other_count;
} router_end;

typedef struct router_node router_node;

// Children by their literal: a list while they are few, a hash table of twice their number later. Keys
// are the program's own, so nobody can aim at a slot.
typedef struct router_children {
    router_node **slots;
    unsigned room, count;
} router_children;

struct router_node {
    slice literal;
    router_children literals;
    router_node *param;
    router_end exact, slash, tail;
    router_node *all_next; // of the router, to be freed
};

typedef struct router_entry router_entry;

struct router_entry {
    route route;
    router_entry *next;
    char text[]; // the pattern
};

struct router {
    router_node root;
    router_node *nodes;
    router_entry *entries;
    slice methods[ROUTE_METHODS_MAX];
    unsigned method_count;
    bool every_method; // some route takes them all
};

router *router_new(void)
{
    return calloc(1, sizeof(router));
}

static void router_node_clear(router_node *node)
{
    free(node->literals.slots);
    free((void *)node->exact.others);
    free((void *)node->slash.others);
    free((void *)node->tail.others);
}

void router_free(router *r)
{
    if (!r) return;
    while (r->nodes) {
        router_node *node = r->nodes;
        r->nodes = node->all_next;
        router_node_clear(node);
        free(node);
    }
    while (r->entries) {
        router_entry *entry = r->entries;
        r->entries = entry->next;
        free(entry);
    }
    router_node_clear(&r->root);
    free(r);
}

// ---- Children ----

static unsigned router_hash(slice text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++) hash = (hash ^ (unsigned char)text.ptr[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool router_children_are_list(const router_children *children)
{
    return children->room <= ROUTER_SCAN_MAX;
}

static router_node *router_child(const router_children *children, slice literal)
{
    if (router_children_are_list(children)) {
        for (unsigned i = 0; i < children->count; i++) {
            if (slice_equal(children->slots[i]->literal, literal)) return children->slots[i];
        }
        return NULL;
    }
    unsigned i = router_hash(literal) & (children->room - 1);
    for (; children->slots[i]; i = (i + 1) & (children->room - 1)) {
        if (slice_equal(children->slots[i]->literal, literal)) return children->slots[i];
    }
    return NULL;
}

static void router_children_put(router_children *children, router_node *child)
{
    unsigned i = children->count;
    if (!router_children_are_list(children)) {
        i = router_hash(child->literal) & (children->room - 1);
        while (children->slots[i]) i = (i + 1) & (children->room - 1);
    }
    children->slots[i] = child;
    children->count++;
}

static bool router_children_grow(router_children *children)
{
    bool full = router_children_are_list(children) ? children->count == children->room
                                                   : children->count * 2 >= children->room;
    if (!full) return true;
    router_children grown = { .room = children->room ? children->room * 4 : 2 };
    grown.slots = calloc(grown.room, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (unsigned i = 0; i < children->room; i++) {
        if (children->slots[i]) router_children_put(&grown, children->slots[i]);
    }
    free(children->slots);
    *children = grown;
    return true;
}

static router_node *router_node_new(router *r)
{
    router_node *node = calloc(1, sizeof *node);
    if (!node) return NULL;
    node->all_next = r->nodes;
    r->nodes = node;
    return node;
}

// The child for a literal, made if need be; NULL when memory ran out.
static router_node *router_literal(router *r, router_node *node, slice literal)
{
    router_node *child = router_child(&node->literals, literal);
    if (child) return child;
    if (!router_children_grow(&node->literals)) return NULL;
    child = router_node_new(r);
    if (!child) return NULL;
    child->literal = literal;
    router_children_put(&node->literals, child);
    return child;
}

static router_node *router_param(router *r, router_node *node)
{
    if (!node->param) node->param = router_node_new(r);
    return node->param;
}

// ---- Patterns ----

typedef enum router_piece {
    PIECE_LITERAL,
    PIECE_PARAM, // {name}
    PIECE_TAIL,  // {name...}, or nothing after the last slash
    PIECE_SLASH, // {$}
    PIECE_WRONG
} router_piece;

static bool router_is_name(slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = octet_lower(name.ptr[i]);
        bool digit = c >= '0' && c <= '9';
        if (!(c >= 'a' && c <= 'z') && c != '_' && !(digit && i > 0)) return false;
    }
    return name.len > 0;
}

// What stands in a literal is compared with decoded, normalised paths: what could never match is a mistake.
static bool router_is_literal(slice text)
{
    if (slice_equal(text, SKUA_SLICE(".")) || slice_equal(text, SKUA_SLICE(".."))) return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f || strchr("{}?#", c)) return false;
    }
    return text.len > 0;
}

static bool router_ends_in(slice text, slice end)
{
    return text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

// Tells what a segment of a pattern is, and what is in it.
static router_piece router_piece_read(slice segment, bool last, slice *inside)
{
    if (last && segment.len == 0) {
        *inside = (slice){ NULL, 0 };
        return PIECE_TAIL;
    }
    if (segment.len == 0 || segment.ptr[0] != '{') {
        *inside = segment;
        return router_is_literal(segment) ? PIECE_LITERAL : PIECE_WRONG;
    }
    if (segment.ptr[segment.len - 1] != '}') return PIECE_WRONG;
    slice name = slice_make(segment.ptr + 1, segment.len - 2);
    if (slice_equal(name, SKUA_SLICE("$"))) return last ? PIECE_SLASH : PIECE_WRONG;
    bool tail = router_ends_in(name, SKUA_SLICE("..."));
    if (tail) name.len -= 3;
    *inside = name;
    if (!router_is_name(name) || (tail && !last)) return PIECE_WRONG;
    return tail ? PIECE_TAIL : PIECE_PARAM;
}

// Cuts the next segment off rest, which begins with "/". *last: it was the last.
static slice router_segment(slice *rest, bool *last)
{
    *rest = slice_from(*rest, 1);
    const char *slash = rest->len ? memchr(rest->ptr, '/', rest->len) : NULL;
    size_t len = slash ? (size_t)(slash - rest->ptr) : rest->len;
    slice segment = slice_make(rest->ptr, len);
    *rest = slice_from(*rest, len);
    *last = !slash;
    return segment;
}

static bool router_name_add(route *rt, slice name)
{
    if (name.len == 0) return true;
    if (rt->param_count == ROUTE_PARAMS_MAX) return false;
    for (unsigned i = 0; i < rt->param_count; i++) {
        if (slice_equal(rt->params[i], name)) return false;
    }
    rt->params[rt->param_count++] = name;
    return true;
}

// Reads the path of a pattern: names into the route. False if it is not a pattern.
static bool router_check_path(route *rt, slice path)
{
    if (path.len == 0 || path.ptr[0] != '/') return false;
    bool last = false;
    for (unsigned depth = 0; !last; depth++) {
        slice inside = { NULL, 0 };
        slice segment = router_segment(&path, &last);
        router_piece piece = router_piece_read(segment, last, &inside);
        if (piece == PIECE_WRONG || depth == ROUTER_DEPTH_MAX) return false;
        if ((piece == PIECE_PARAM || piece == PIECE_TAIL) && !router_name_add(rt, inside)) return false;
    }
    return true;
}

// Goes along a checked path and makes what is missing. Where it ends, or NULL when memory ran out.
static router_end *router_place(router *r, slice path)
{
    router_node *node = &r->root;
    for (bool last = false; node;) {
        slice inside = { NULL, 0 };
        slice segment = router_segment(&path, &last);
        router_piece piece = router_piece_read(segment, last, &inside);
        SKUA_ASSERT(piece != PIECE_WRONG);
        if (piece == PIECE_TAIL) return &node->tail;
        if (piece == PIECE_SLASH) return &node->slash;
        node = piece == PIECE_PARAM ? router_param(r, node) : router_literal(r, node, inside);
        if (node && last) return &node->exact;
    }
    return NULL;
}

// ---- Ends ----

static bool router_is_get(slice method)
{
    return method.len == 3 && memcmp(method.ptr, "GET", 3) == 0;
}

static bool router_is_head(slice method)
{
    return method.len == 4 && memcmp(method.ptr, "HEAD", 4) == 0;
}

static const route *router_end_other(const router_end *end, slice method)
{
    for (unsigned i = 0; i < end->other_count; i++) {
        if (slice_equal(end->others[i]->method, method)) return end->others[i];
    }
    return NULL;
}

// The route registered for exactly this method; {NULL, 0}: for every method.
static const route *router_end_same(const router_end *end, slice method)
{
    if (method.len == 0) return end->any;
    if (router_is_get(method)) return end->get;
    if (router_is_head(method)) return end->head;
    return router_end_other(end, method);
}

static bool router_end_put(router_end *end, const route *rt)
{
    if (rt->method.len == 0) {
        end->any = rt;
    } else if (router_is_get(rt->method)) {
        end->get = rt;
    } else if (router_is_head(rt->method)) {
        end->head = rt;
    } else {
        const route **others =
            realloc((void *)end->others, (end->other_count + 1) * sizeof *others);
        if (!others) return false;
        others[end->other_count++] = rt;
        end->others = others;
    }
    return true;
}

// ---- Adding ----

static bool router_method_known(const router *r, slice method)
{
    for (unsigned i = 0; i < r->method_count; i++) {
        if (slice_equal(r->methods[i], method)) return true;
    }
    return false;
}

static skua_status router_refuse(skua_status status, char *why, size_t room, slice pattern,
                                 const char *reason)
{
    int len = pattern.len > 200 ? 200 : (int)pattern.len;
    (void)snprintf(why, room, "route \"%.*s\": %s", len, len ? pattern.ptr : "", reason);
    return status;
}

// Splits "[METHOD ]PATH" and checks both.
static bool router_read(route *rt, slice pattern)
{
    slice path = pattern;
    const char *space = pattern.len && pattern.ptr[0] != '/' ? memchr(pattern.ptr, ' ', pattern.len) : NULL;
    if (space) {
        rt->method = slice_make(pattern.ptr, (size_t)(space - pattern.ptr));
        if (!syntax_is_token(rt->method)) return false;
        path = slice_from(pattern, rt->method.len + 1);
    }
    return router_check_path(rt, path);
}

static router_entry *router_entry_new(slice pattern, skua_handler *handler, void *user)
{
    router_entry *entry = calloc(1, sizeof *entry + pattern.len + 1);
    if (!entry) return NULL;
    memcpy(entry->text, pattern.ptr, pattern.len);
    entry->route.pattern = slice_make(entry->text, pattern.len);
    entry->route.handler = handler;
    entry->route.user = user;
    return entry;
}

// The entry outlives a failure, since the tree's literals point into its text.
static skua_status router_insert(router *r, route *rt, char *why, size_t room)
{
    slice path = rt->method.len ? slice_from(rt->pattern, rt->method.len + 1) : rt->pattern;
    bool fresh = rt->method.len && !router_method_known(r, rt->method);
    if (fresh && r->method_count == ROUTE_METHODS_MAX) {
        return router_refuse(SKUA_EINVAL, why, room, rt->pattern, "too many different methods");
    }
    router_end *end = router_place(r, path);
    if (!end) return router_refuse(SKUA_ENOMEM, why, room, rt->pattern, "memory ran out");
    const route *same = router_end_same(end, rt->method);
    if (same) {
        char reason[256];
        int len = same->pattern.len > 200 ? 200 : (int)same->pattern.len;
        (void)snprintf(reason, sizeof reason, "\"%.*s\" matches the same requests", len, same->pattern.ptr);
        return router_refuse(SKUA_EEXIST, why, room, rt->pattern, reason);
    }
    if (!router_end_put(end, rt)) return router_refuse(SKUA_ENOMEM, why, room, rt->pattern, "memory ran out");
    if (fresh) r->methods[r->method_count++] = rt->method;
    if (rt->method.len == 0) r->every_method = true;
    return SKUA_OK;
}

skua_status router_add(router *r, slice pattern, skua_handler *handler, void *user, char *why,
                       size_t room)
{
    SKUA_ASSERT(handler);
    if (pattern.len == 0 || pattern.len > ROUTER_PATTERN_MAX) {
        return router_refuse(SKUA_EINVAL, why, room, pattern, "is not \"[METHOD ]/PATH\"");
    }
    router_entry *entry = router_entry_new(pattern, handler, user);
    if (!entry) return router_refuse(SKUA_ENOMEM, why, room, pattern, "memory ran out");
    if (!router_read(&entry->route, entry->route.pattern)) {
        free(entry);
        return router_refuse(SKUA_EINVAL, why, room, pattern, "is not \"[METHOD ]/PATH\"");
    }
    entry->next = r->entries;
    r->entries = entry;
    return router_insert(r, &entry->route, why, room);
}

bool router_knows_method(const router *r, slice method)
{
    if (r->every_method || router_method_known(r, method)) return true;
    return router_is_head(method) && router_method_known(r, SKUA_SLICE("GET"));
}

// ---- Finding ----

typedef enum router_verb { VERB_GET, VERB_HEAD, VERB_OTHER } router_verb;

typedef struct router_search {
    slice method;
    router_verb verb;
    bool path_seen;  // some route has the path, if not the method
    bool collecting; // for Allow: look at every route that has the path, and take none
    unsigned method_count;
    slice *methods; // collecting: sorted
    slice *values;
} router_search;

// Routes of one path may repeat methods of another, less specific one. Past the last the list is cut: more
// than fit can only come from a program with that many methods.
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

static void router_collect_end(router_search *s, const router_end *end)
{
    if (end->get) router_collect(s, SKUA_SLICE("GET"));
    if (end->get || end->head) router_collect(s, SKUA_SLICE("HEAD"));
    for (unsigned i = 0; i < end->other_count; i++) router_collect(s, end->others[i]->method);
}

static const route *router_pick(router_search *s, const router_end *end)
{
    const route *found = NULL;
    if (s->collecting) {
        router_collect_end(s, end);
        return NULL;
    }
    switch (s->verb) {
    case VERB_GET: found = end->get; break;
    case VERB_HEAD: found = end->head ? end->head : end->get; break;
    case VERB_OTHER: found = router_end_other(end, s->method); break;
    }
    if (!found) found = end->any;
    if (!found && (end->get || end->head || end->other_count)) s->path_seen = true;
    return found;
}

static const route *router_seek(router_search *s, const router_node *node, slice rest, unsigned count);

// One segment and what follows it: literal before parameter.
static const route *router_seek_below(router_search *s, const router_node *node, slice rest, unsigned count)
{
    bool last;
    slice segment = router_segment(&rest, &last);
    const router_node *child = router_child(&node->literals, segment);
    const route *found = child ? router_seek(s, child, rest, count) : NULL;
    if (found || !node->param || segment.len == 0) return found;
    if (!s->collecting) s->values[count] = segment;
    return router_seek(s, node->param, rest, count + 1);
}

// rest: what of the path comes after node, empty or from its slash on. count: values so far.
static const route *router_seek(router_search *s, const router_node *node, slice rest, unsigned count)
{
    if (rest.len == 0) return router_pick(s, &node->exact);
    const route *found = rest.len == 1 ? router_pick(s, &node->slash)
                                       : router_seek_below(s, node, rest, count);
    if (found) return found;
    found = router_pick(s, &node->tail);
    if (found && found->param_count > count) s->values[count] = slice_from(rest, 1);
    return found;
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

__attribute__((noinline)) static void router_allow(const router *r, slice path, router_match *match)
{
    slice methods[ROUTE_METHODS_MAX + 1];
    router_search s = { .collecting = true, .methods = methods };
    (void)router_seek(&s, &r->root, path, 0);
    router_write_allow(&s, match);
}

router_outcome router_find(const router *r, slice method, slice path, router_match *match)
{
    if (path.len == 0 || path.ptr[0] != '/') return ROUTER_NO_PATH;
    router_search s = {
        .method = method,
        .verb = router_is_get(method) ? VERB_GET : router_is_head(method) ? VERB_HEAD : VERB_OTHER,
        .values = match->values,
    };
    const route *found = router_seek(&s, &r->root, path, 0);
    if (found) {
        match->route = found;
        match->count = found->param_count;
        return ROUTER_FOUND;
    }
    if (!s.path_seen) return ROUTER_NO_PATH;
    router_allow(r, path, match);
    return ROUTER_NO_METHOD;
}
