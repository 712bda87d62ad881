// SPDX-License-Identifier: MIT
//
// Route tree: its nodes and what ends at them.

#include "route/tree.h"

#include "base/assert.h"
#include "base/memory.h"

enum { ROUTE_SCAN_MAX = 8 };

// ---- Life ----

static void route_node_deinit(route_node *node)
{
    memory_free(node->literals.slots);
    memory_free((void *)node->exact.others);
    memory_free((void *)node->slash.others);
    memory_free((void *)node->tail.others);
}

// Patterns are at most PATTERN_DEPTH_MAX segments deep, and so is this.
static void route_node_free_below(route_node *node)
{
    if (node->param) {
        route_node_free_below(node->param);
        route_node_deinit(node->param);
        memory_free(node->param);
    }
    for (unsigned i = 0; i < node->literals.room; i++) {
        route_node *child = node->literals.slots[i];
        if (!child) continue;
        route_node_free_below(child);
        route_node_deinit(child);
        memory_free(child);
    }
}

void route_tree_deinit(route_tree *tree)
{
    route_node_free_below(&tree->root);
    route_node_deinit(&tree->root);
}

// ---- Children ----

static unsigned route_hash(slice text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool route_children_are_list(const route_children *children)
{
    return children->room <= ROUTE_SCAN_MAX;
}

const route_node *route_child(const route_node *node, slice literal, unsigned *steps)
{
    const route_children *children = &node->literals;
    if (route_children_are_list(children)) {
        for (unsigned i = 0; i < children->count; i++) {
            ++*steps;
            if (slice_equal(children->slots[i]->literal, literal)) return children->slots[i];
        }
        return NULL;
    }
    unsigned i = route_hash(literal) & (children->room - 1);
    for (; children->slots[i]; i = (i + 1) & (children->room - 1)) {
        ++*steps;
        if (slice_equal(children->slots[i]->literal, literal)) return children->slots[i];
    }
    return NULL;
}

static void route_children_put(route_children *children, route_node *child)
{
    unsigned i = children->count;
    if (!route_children_are_list(children)) {
        i = route_hash(child->literal) & (children->room - 1);
        while (children->slots[i])
            i = (i + 1) & (children->room - 1);
    }
    children->slots[i] = child;
    children->count++;
}

static bool route_children_grow(route_children *children)
{
    bool full = route_children_are_list(children) ? children->count == children->room
                                                  : children->count * 2 >= children->room;
    if (!full) return true;
    route_children grown = { .room = children->room ? children->room * 4 : 2 };
    grown.slots = memory_array(grown.room, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (unsigned i = 0; i < children->room; i++) {
        if (children->slots[i]) route_children_put(&grown, children->slots[i]);
    }
    memory_free(children->slots);
    *children = grown;
    return true;
}

static route_node *route_node_new(route_node *parent)
{
    route_node *node = memory_zeroed(sizeof *node);
    if (node) node->parent = parent;
    return node;
}

static route_node *route_place_literal(route_node *node, slice literal)
{
    unsigned steps = 0;
    const route_node *there = route_child(node, literal, &steps);
    if (there) return (route_node *)(uintptr_t)there;
    if (!route_children_grow(&node->literals)) return NULL;
    route_node *child = route_node_new(node);
    if (!child) return NULL;
    child->literal = literal;
    route_children_put(&node->literals, child);
    return child;
}

static void route_node_set_wild(route_node *node)
{
    for (; node && !node->wild; node = node->parent) {
        node->wild = true;
        bool is_literal = node->parent && node->parent->param != node;
        if (!is_literal) continue;
        node->wild_next = node->parent->wilds;
        node->parent->wilds = node;
    }
}

static void route_node_set_reach(route_node *node, uint8_t reach)
{
    for (; node && node->reach < reach; node = node->parent) {
        node->reach = reach;
        if (reach < UINT8_MAX) reach++;
    }
}

static route_node *route_place_param(route_node *node)
{
    if (!node->param) node->param = route_node_new(node);
    if (node->param) route_node_set_wild(node);
    return node->param;
}

route_end *route_place(route_tree *tree, slice path)
{
    route_node *node = &tree->root;
    for (bool last = false; !last;) {
        slice inside;
        pattern_piece piece = pattern_next(&path, &last, &inside);
        SKUA_ASSERT(piece != PIECE_WRONG);
        if (piece == PIECE_SLASH) return &node->slash;
        if (piece == PIECE_TAIL) {
            route_node_set_wild(node);
            route_node_set_reach(node, UINT8_MAX);
            return &node->tail;
        }
        node = piece == PIECE_PARAM ? route_place_param(node) : route_place_literal(node, inside);
        if (!node) return NULL;
        route_node_set_reach(node->parent, 1);
    }
    return &node->exact;
}

// ---- Ends ----

bool route_method_is_get(slice method)
{
    return method.len == 3 && memcmp(method.ptr, "GET", 3) == 0;
}

bool route_method_is_head(slice method)
{
    return method.len == 4 && memcmp(method.ptr, "HEAD", 4) == 0;
}

const route *route_end_other(const route_end *end, slice method)
{
    for (unsigned i = 0; i < end->other_count; i++) {
        if (slice_equal(end->others[i]->pattern.method, method)) return end->others[i];
    }
    return NULL;
}

const route *route_end_same(const route_end *end, slice method)
{
    if (method.len == 0) return end->any;
    if (route_method_is_get(method)) return end->get;
    if (route_method_is_head(method)) return end->head;
    return route_end_other(end, method);
}

// GET takes HEAD too, so each shares requests with the other.
const route *route_end_sharing(const route_end *end, slice method)
{
    if (end->any) return end->any;
    bool reading = route_method_is_get(method) || route_method_is_head(method);
    if (reading || method.len == 0) {
        if (end->get) return end->get;
        if (end->head) return end->head;
    }
    if (method.len == 0) return end->other_count ? end->others[0] : NULL;
    return reading ? NULL : route_end_other(end, method);
}

bool route_end_put(route_end *end, const route *rt)
{
    slice method = rt->pattern.method;
    if (method.len == 0) {
        end->any = rt;
    } else if (route_method_is_get(method)) {
        end->get = rt;
    } else if (route_method_is_head(method)) {
        end->head = rt;
    } else {
        const route **others =
            memory_resize((void *)end->others, (end->other_count + 1) * sizeof *others);
        if (!others) return false;
        others[end->other_count++] = rt;
        end->others = others;
    }
    end->used = true;
    return true;
}
