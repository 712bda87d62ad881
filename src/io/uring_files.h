// SPDX-License-Identifier: MIT
//
// The ring's own table of files. A send to a socket in it does without a reference to the file,
// which is two locked instructions less. Putting it there is a system call, so that is done for
// streams that have sent often.
#ifndef SKUA_IO_URING_FILES_H
#define SKUA_IO_URING_FILES_H

#include "io/uring_kernel.h"

#ifdef __linux__

// Whether the stream's socket is in the table, at the number of its slot.
static inline bool uring_files_have(const uring_kernel *kernel, const io_stream *stream)
{
    uint32_t slot = stream->item.slot;
    return slot < kernel->ring.files && kernel->file_sends[slot] == URING_FILE_SENDS;
}

// Puts the stream's socket into the table, if the kernel lets it.
void uring_files_put(uring_kernel *kernel, const io_stream *stream);

// The ring has sent for the stream.
static inline void uring_files_count(uring_kernel *kernel, const io_stream *stream)
{
    uint32_t slot = stream->item.slot;
    if (slot >= kernel->ring.files || kernel->file_sends[slot] >= URING_FILE_SENDS) return;
    if (++kernel->file_sends[slot] == URING_FILE_SENDS) uring_files_put(kernel, stream);
}

// Takes the stream's socket out of the table before its descriptor is closed. A connection whose
// socket is in the table does not end with its descriptor.
// at_once: by a system call, and not with the next submission.
void uring_files_drop(uring_kernel *kernel, const io_stream *stream, bool at_once);

// The ring has failed: the table lets go of all of them.
void uring_files_drop_all(uring_kernel *kernel);

#endif

#endif
