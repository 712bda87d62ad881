// SPDX-License-Identifier: MIT
//
// Route conflicts. Two patterns that share requests are in order when the paths of one are among
// those of the other, or, their paths being the same, the methods. Otherwise nobody could say who
// is to have the shared ones:
// "/a/{x}" and "/{y}/b" both match "/a/b", and neither is the narrower. A new pattern is walked
// along the tree with every node that it shares paths with, and what was narrower on the way is
// remembered. Since doubt needs one of each, a subtree of literals alone is not looked at while the
// new pattern is nowhere narrower, nor one that is not deep enough: that keeps adding thousands of
// routes quick.

#include "route/conflicts.h"

#include "route/tree.h"
#include "base/assert.h"

typedef enum conflict_narrower {
    NARROWER_NONE = 0, // so far the same
    NARROWER_NEW = 1,  // the new pattern, somewhere
    NARROWER_OLD = 2,  // the tree's, somewhere
    NARROWER_BOTH = 3
} conflict_narrower;

typedef struct conflict_segment {
    pattern_piece piece;
    slice literal;
} conflict_segment;

typedef struct conflict_search {
    const route *rt; // the new one, and its path's segments
    unsigned count;
    conflict_segment segments[PATTERN_DEPTH_MAX];
    const route *found;
    bool same;
} conflict_search;

static void conflict_walk(conflict_search *s, const route_node *node, unsigned depth,
                          unsigned narrower);

static void conflict_at(conflict_search *s, const route_end *end, unsigned narrower)
{
    slice method = s->rt->pattern.method;
    if (s->found) return;
    if (narrower == NARROWER_BOTH) s->found = route_end_sharing(end, method);
    if (narrower == NARROWER_NONE) {
        s->found = route_end_same(end, method);
        s->same = s->found != NULL;
    }
}

// Everything below a node, of which the new pattern takes all.
static void conflict_below(conflict_search *s, const route_node *node, unsigned narrower)
{
    if (s->found || narrower != NARROWER_BOTH) return;
    conflict_at(s, &node->exact, narrower);
    conflict_at(s, &node->slash, narrower);
    conflict_at(s, &node->tail, narrower);
    if (node->param) conflict_below(s, node->param, narrower);
    for (unsigned i = 0; i < node->literals.room && !s->found; i++) {
        if (node->literals.slots[i]) conflict_below(s, node->literals.slots[i], narrower);
    }
}

static void conflict_tail(conflict_search *s, const route_node *node, unsigned narrower)
{
    unsigned below = narrower | NARROWER_OLD;
    conflict_at(s, &node->tail, narrower);
    conflict_at(s, &node->slash, below);
    if (below != NARROWER_BOTH) return;
    if (node->param) conflict_below(s, node->param, below);
    for (unsigned i = 0; i < node->literals.room && !s->found; i++) {
        if (node->literals.slots[i]) conflict_below(s, node->literals.slots[i], below);
    }
}

static void conflict_literal(conflict_search *s, const route_node *node, unsigned depth,
                             unsigned narrower)
{
    unsigned steps = 0;
    const route_node *child = route_child(node, s->segments[depth].literal, &steps);
    if (child) conflict_walk(s, child, depth + 1, narrower);
    if (node->param) conflict_walk(s, node->param, depth + 1, narrower | NARROWER_NEW);
}

// Whether routes below a child are deep enough to share paths with what is left of the new pattern.
static bool conflict_is_reached(const conflict_search *s, const route_node *child, unsigned depth)
{
    unsigned left = s->count - depth;
    bool open = s->segments[s->count - 1].piece == PIECE_TAIL ||
                s->segments[s->count - 1].piece == PIECE_SLASH;
    return child->reach >= left - (open && left ? 1 : 0);
}

static void conflict_param(conflict_search *s, const route_node *node, unsigned depth,
                           unsigned narrower)
{
    if (node->param) conflict_walk(s, node->param, depth + 1, narrower);
    unsigned below = narrower | NARROWER_OLD;
    if (below != NARROWER_BOTH) {
        for (const route_node *child = node->wilds; child && !s->found; child = child->wild_next) {
            if (conflict_is_reached(s, child, depth + 1)) conflict_walk(s, child, depth + 1, below);
        }
        return;
    }
    for (unsigned i = 0; i < node->literals.room && !s->found; i++) {
        const route_node *child = node->literals.slots[i];
        if (child && conflict_is_reached(s, child, depth + 1))
            conflict_walk(s, child, depth + 1, below);
    }
}

// depth: how many segments of the new pattern have led to node.
static void conflict_walk(conflict_search *s, const route_node *node, unsigned depth,
                          unsigned narrower)
{
    if (s->found) return;
    if (depth == s->count) {
        conflict_at(s, &node->exact, narrower);
        return;
    }
    switch (s->segments[depth].piece) {
    case PIECE_TAIL: conflict_tail(s, node, narrower); return;
    case PIECE_SLASH: conflict_at(s, &node->slash, narrower); break;
    case PIECE_LITERAL: conflict_literal(s, node, depth, narrower); break;
    case PIECE_PARAM: conflict_param(s, node, depth, narrower); break;
    case PIECE_WRONG: SKUA_ASSERT(false); return;
    }
    conflict_at(s, &node->tail, narrower | NARROWER_NEW);
}

__attribute__((cold)) const route *route_conflict_find(const route_tree *tree, const route *rt,
                                                       bool *same)
{
    conflict_search s = { .rt = rt };
    slice rest = rt->pattern.path;
    for (bool last = false; !last; s.count++) {
        SKUA_ASSERT(s.count < PATTERN_DEPTH_MAX);
        conflict_segment *segment = &s.segments[s.count];
        segment->piece = pattern_next(&rest, &last, &segment->literal);
    }
    conflict_walk(&s, &tree->root, 0, NARROWER_NONE);
    *same = s.same;
    return s.found;
}
