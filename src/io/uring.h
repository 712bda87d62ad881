// SPDX-License-Identifier: MIT
//
// The io_uring backend: what its streams call.
#ifndef SKUA_IO_URING_H
#define SKUA_IO_URING_H

#include "io/io.h"

// A descriptor has become free: listeners that wait for one go on.
void uring_retry_accepts(io_loop *loop);

#endif
