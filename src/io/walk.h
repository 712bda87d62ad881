// SPDX-License-Identifier: MIT
//
// Resolves a path beneath a directory one component at a time, for kernels without openat2 and for
// sandboxes that forbid it.
#ifndef SKUA_IO_WALK_H
#define SKUA_IO_WALK_H

#include <stdbool.h>

// The number of links that the kernel follows, too (ELOOP beyond).
enum { WALK_LINKS_MAX = 40 };

// openat, close-on-exec, which goes on after signals and uses the reserve of descriptors.
// Returns: the descriptor, or a negated errno.
int walk_openat(int at, const char *name, int flags);

// Opens path beneath root with flags, to which O_NOFOLLOW is added: links are read and followed
// here. A link may have any text that ends inside root, an absolute one too.
// follows: else a link is refused.
// Returns: the descriptor, or a negated errno; -EXDEV when path or a link leads out of root, -ELOOP
// when there is a link that is not followed, or too many.
int walk_open(int root, const char *path, int flags, bool follows);

#endif
