// SPDX-License-Identifier: MIT
//
// Streams over io_uring: what the turn calls.
#ifndef SKUA_IO_URING_STREAM_H
#define SKUA_IO_URING_STREAM_H

#include "io/uring_kernel.h"

// A completion of a stream's.
void uring_stream_completed(io_loop *loop, uring_kind kind, const uring_cqe *cqe);

// Makes submissions of the sends that are queued. They point to what the streams have to send, so
// nothing is called back before the kernel has them.
void uring_stream_submit_sends(io_loop *loop);

// Does what the stream's flags ask for and the kernel may grant.
void uring_stream_run(io_loop *loop, io_stream *stream);

// Of io_backend.
bool uring_stream_has_input(const io_loop *loop, const io_stream *stream);

// Closes the sockets whose closing waits for the next submission, of which there will be none.
void uring_close_unsubmitted(uring_kernel *kernel);

// Frees every stream from what the kernel has of it.
void uring_release_streams(io_loop *loop);

#endif
