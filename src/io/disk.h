// SPDX-License-Identifier: MIT
//
// Disk: keeps a loop from waiting for one. What the kernel has in memory is used at once; the rest
// is opened, read or loaded elsewhere, by io_loop.elsewhere, while the loop goes on.
#ifndef SKUA_IO_DISK_H
#define SKUA_IO_DISK_H

#include "io/io.h"

// Starts FILE_OPEN, FILE_STAT or FILE_READ; completes it at once or later.
void disk_start(io_loop *loop, io_op *op);

// How many octets, at most most, of the file at the front of what stream sends can be sent without
// waiting. 0: none; they are being loaded, and IO_COLD is set until the stream is pending again.
uint64_t disk_ready(io_loop *loop, io_stream *stream, uint64_t most);

// stream is being closed: what it waits for need not be loaded.
void disk_abandon(io_loop *loop, const io_stream *stream);

// fd is about to be closed, and may soon name something else.
void disk_forget(io_loop *loop, int fd);

// Does a FILE operation, however long the disk takes.  Thread: any.
void io_perform(io_op *op);

// Completes an operation that io_perform has done.
void io_complete(io_op *op);

#endif
