// SPDX-License-Identifier: MIT
//
// The ring's own table of files.
// Invariant: kernel->file_sends has for each slot below ring.files how often its stream has sent, up
// to URING_FILE_SENDS, which means that its socket is in the table; or that the kernel refused it.

#include "io/uring_files.h"

#ifdef __linux__

#include <string.h>

enum { URING_FILE_REFUSED = URING_FILE_SENDS + 1 };

void uring_files_put(uring_kernel *kernel, const io_stream *stream)
{
    if (uring_ring_set_file(&kernel->ring, stream->item.slot, stream->fd)) return;
    kernel->file_sends[stream->item.slot] = URING_FILE_REFUSED;
}

// By a submission the socket leaves the table before its descriptor is closed by the next.
static bool uring_files_submit_drop(uring_kernel *kernel, uint32_t slot)
{
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) return false;
    sqe->opcode = URING_CLOSE;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->file_index = slot + 1;
    return true;
}

void uring_files_drop(uring_kernel *kernel, const io_stream *stream, bool at_once)
{
    uint32_t slot = stream->item.slot;
    if (slot >= kernel->ring.files) return;
    if (uring_files_have(kernel, stream) && (at_once || !uring_files_submit_drop(kernel, slot)))
        (void)uring_ring_set_file(&kernel->ring, slot, -1);
    kernel->file_sends[slot] = 0;
}

void uring_files_drop_all(uring_kernel *kernel)
{
    uring_ring_drop_files(&kernel->ring);
    memset(kernel->file_sends, 0, sizeof kernel->file_sends);
}

#endif
