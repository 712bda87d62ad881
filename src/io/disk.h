// SPDX-License-Identifier: MIT
//
// Disk: keeps a loop from waiting for one. What the kernel has in memory is used at once; the rest
// is opened, read or loaded elsewhere, by io_loop.elsewhere, while the loop goes on.
#ifndef SKUA_IO_DISK_H
#define SKUA_IO_DISK_H

#include "io/io.h"

#include <sys/types.h>
#include <sys/uio.h>

// Starts FILE_OPEN, FILE_STAT or FILE_READ; completes it at once or later.
void disk_start(io_loop *loop, io_op *op);

// How many octets, at most most, of the file at the front of what stream sends can be sent without
// waiting. 0: none; they are being loaded, and IO_COLD is set until the stream is pending again.
uint64_t disk_ready(io_loop *loop, io_stream *stream, uint64_t most);

// Reads octets of a file to several places, of len octets in all, if the kernel has all of them in its
// memory.
bool disk_read_cached(io_loop *loop, int file, const struct iovec *places, unsigned count,
                      size_t len, uint64_t offset);

// Reads octets of a file, however long the disk takes. Returns: how many; 0 at its end; -1: it cannot
// be read.
ssize_t disk_read_waiting(int file, const struct iovec *places, unsigned count, uint64_t offset);

// Loads part of a file elsewhere, for a stream that does not send it from its queue. IO_COLD is set
// until that is done, and the stream is kicked then. Where nobody can do that, IO_COLD is not set.
// length: at least 1.
// Returns: the offset to which the file can be read now, or as soon as IO_COLD is not set.
uint64_t disk_load_for(io_loop *loop, io_stream *stream, int file, uint64_t offset,
                       uint64_t length);

// stream is being closed: what it waits for need not be loaded.
void disk_abandon(io_loop *loop, const io_stream *stream);

// fd is about to be closed, and may soon name something else.
void disk_forget(io_loop *loop, int fd);

// Does a FILE operation, however long the disk takes.  Thread: any.
void io_perform(io_op *op);

// Completes an operation that io_perform has done.
void io_complete(io_op *op);

#endif
