// SPDX-License-Identifier: MIT
//
// Fetch: file operations that may wait for the disk are done by threads of their own, which open
// and read and do nothing else, so that no handler's work is in their way, nor they in its.
#ifndef SKUA_DISK_FETCH_H
#define SKUA_DISK_FETCH_H

#include "io/io.h"

// The io_loop.elsewhere of a worker's loop.
bool fetch_elsewhere(io_loop *loop, io_op *op);

#endif
