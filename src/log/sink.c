// SPDX-License-Identifier: MIT
//
// Writing to a descriptor that may be anything: a file, a pipe, a terminal, or nothing at all.

#include "log/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SINK_LOOK_MS = 50,
    SINK_STALL_MS = 1000 // how long an ending writer waits in all for a reader that does not read
};

static bool sink_is_file(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

void sink_init(sink *s, int fd)
{
    *s = (sink){ .fd = fd };
}

// Whether the descriptor takes PIPE_BUF octets. A reader that has stalled must not keep the process
// from ending, and not once for each block of lines, nor by taking a little now and then.
static bool sink_is_ready(sink *s, const atomic_bool *ends)
{
    struct pollfd poll_fd = { .fd = s->fd, .events = POLLOUT };
    while (s->waited_ms < SINK_STALL_MS) {
        if (poll(&poll_fd, 1, SINK_LOOK_MS) != 0) return true;
        if (atomic_load(ends)) s->waited_ms += SINK_LOOK_MS;
    }
    return poll(&poll_fd, 1, 0) != 0;
}

// Writes from the front of *octets. Returns 0, or the errno of what stopped it.
static int sink_try(sink *s, slice *octets, const atomic_bool *ends)
{
    while (octets->len) {
        if (!s->keeps && !sink_is_ready(s, ends)) return ETIMEDOUT;
        size_t piece = !s->keeps && octets->len > PIPE_BUF ? PIPE_BUF : octets->len;
        ssize_t n = write(s->fd, octets->ptr, piece);
        if (n >= 0) *octets = slice_from(*octets, (size_t)n);
        else if (errno == EAGAIN && !sink_is_ready(s, ends)) return ETIMEDOUT;
        else if (errno != EAGAIN && errno != EINTR) return errno;
    }
    return 0;
}

static uint64_t sink_count_lines(slice octets)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < octets.len; i++)
        lines += octets.ptr[i] == '\n';
    return lines;
}

size_t sink_write(sink *s, slice octets, const atomic_bool *ends)
{
    slice rest = octets;
    s->keeps = sink_is_file(s->fd); // the program may have put something else in its place
    s->error = sink_try(s, &rest, ends);
    if (s->keeps && !atomic_load(ends)) return octets.len - rest.len;
    atomic_fetch_add_explicit(&s->lost, sink_count_lines(rest), memory_order_relaxed);
    return octets.len;
}

const char *sink_why(const sink *s)
{
    switch (s->error) {
    case EPIPE: return "nobody reads it any more";
    case ETIMEDOUT: return "its reader does not read";
    case ENOSPC: return "the disk is full";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file is too large";
    case EBADF: return "it is not open for writing";
    default: return "input or output failed";
    }
}

uint64_t sink_lost(const sink *s)
{
    return atomic_load_explicit(&s->lost, memory_order_relaxed);
}

uint64_t sink_lost_now(sink *s)
{
    uint64_t lost = sink_lost(s), news = lost - s->lost_told;
    s->lost_told = lost;
    return news;
}
