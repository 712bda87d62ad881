// SPDX-License-Identifier: MIT
//
// Route tree: the paths of one host's patterns, segment by segment. A node is reached by a path.
// Three kinds of routes can end at it: "…" exactly, "…/" exactly ("{$}"), and "…/" with everything
// below.
// Invariant: names of parameters belong to the routes, not to the tree. Patterns that differ only
// in names share their nodes, and so their conflicts are found.
#ifndef SKUA_ROUTE_TREE_H
#define SKUA_ROUTE_TREE_H

#include "route/router.h"

// The routes that end at one place, by method.
typedef struct route_end {
    const route *any, *get, *head;
    const route **others;
    unsigned other_count;
    bool used; // some route ends here
} route_end;

typedef struct route_node route_node;

// Children by their literal: a list while they are few, a hash table of twice their number later.
// Keys are the program's own, so nobody can aim at a slot.
typedef struct route_children {
    route_node **slots;
    unsigned room, count;
} route_children;

struct route_node {
    slice literal;
    route_children literals;
    route_node *param;
    route_end exact, slash, tail;
    route_node *parent; // NULL: the root
    bool wild;          // a parameter or a tail is in it or below
    // segments to the deepest route below; UINT8_MAX: a tail is in it or below
    uint8_t reach;
    route_node *wilds;     // those of literals that are wild
    route_node *wild_next; // of the parent's wilds
};

typedef struct route_tree {
    route_node root;
} route_tree;

void route_tree_deinit(route_tree *tree);

// The child for a literal segment, or NULL. *steps grows by the children that were looked at.
const route_node *route_child(const route_node *node, slice literal, unsigned *steps);

// Goes along the path of a pattern and makes what is missing. Where it ends, or NULL when memory
// ran out.
route_end *route_place(route_tree *tree, slice path);

// Whether method is exactly GET, or HEAD.
bool route_method_is_get(slice method);
bool route_method_is_head(slice method);

// The route of a method that is neither GET nor HEAD.
const route *route_end_other(const route_end *end, slice method);

// The route registered for exactly this method; empty: for every method.
const route *route_end_same(const route_end *end, slice method);

// A route that takes some request of this method (empty: of any), or NULL.
const route *route_end_sharing(const route_end *end, slice method);

// False when memory ran out.
bool route_end_put(route_end *end, const route *rt);

#endif
