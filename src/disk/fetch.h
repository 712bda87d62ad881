// SPDX-License-Identifier: MIT
//
// Fetch: operations on files that may wait for the disk. Threads of their own do them, which only
// open and read, so that they and the work of handlers do not delay each other.
#ifndef SKUA_DISK_FETCH_H
#define SKUA_DISK_FETCH_H

#include "io/io.h"

// The io_loop.elsewhere of a worker's loop.
bool fetch_elsewhere(io_loop *loop, io_op *op);

#endif
