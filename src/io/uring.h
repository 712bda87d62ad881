// SPDX-License-Identifier: MIT
//
// The io_uring backend: what its streams call.
#ifndef SKUA_IO_URING_H
#define SKUA_IO_URING_H

#include "io/io.h"

// A descriptor has become free: listeners that wait for one go on.
void uring_retry_accepts(io_loop *loop);

// Submits what is queued, sends too, and waits for nothing. Nothing is called back.
void uring_submit(io_loop *loop);

#endif
