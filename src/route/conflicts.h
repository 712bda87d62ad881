// SPDX-License-Identifier: MIT
//
// Conflicts: patterns of which neither is more specific than the other.
#ifndef SKUA_ROUTE_CONFLICTS_H
#define SKUA_ROUTE_CONFLICTS_H

#include "route/tree.h"

// A route of the tree that makes it doubtful which of it and rt is to have some request, or that
// has the very same ones; NULL if there is none. *same: the latter.
const route *route_conflict_find(const route_tree *tree, const route *rt, bool *same);

#endif
