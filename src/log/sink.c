// SPDX-License-Identifier: MIT
//
// Writing to a descriptor that may be anything: a file, a pipe, a terminal, or nothing at all.

#include "log/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SINK_LOOK_MS = 50 };

static const int64_t sink_stall_ns =
    1000000000; // how long an ending writer waits in all for its reader

// Returns: whether it is a regular file.
static bool sink_look(int fd, sink_place *end)
{
    struct stat info;
    *end = (sink_place){ 0 };
    if (fstat(fd, &info)) return false;
    bool is_file = S_ISREG(info.st_mode);
    *end = (sink_place){ info.st_dev, info.st_ino, is_file ? info.st_size : 0 };
    return is_file;
}

static bool place_is(const sink_place *a, const sink_place *b)
{
    return a->inode == b->inode && a->device == b->device && a->octets == b->octets;
}

// A server that shares its log with its successor, or was killed on a full disk, may have left half a line.
static bool sink_is_within_line(const sink *s, const sink_place *end)
{
    char last;
    if (place_is(end, &s->end)) return s->stops_short;
    return end->octets > 0 && pread(s->fd, &last, 1, end->octets - 1) == 1 && last != '\n';
}

void sink_init(sink *s, int fd)
{
    *s = (sink){ .fd = fd };
}

static int64_t sink_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Whether the descriptor takes PIPE_BUF octets. A reader that has stalled must not keep the process
// from ending, and not once for each block of lines, nor by taking a little now and then.
// waits: until it does, while the process does not end.
static bool sink_is_ready(sink *s, bool waits, const atomic_bool *ends)
{
    struct pollfd poll_fd = { .fd = s->fd, .events = POLLOUT };
    while (poll(&poll_fd, 1, 0) == 0) {
        if (s->waited_ns >= sink_stall_ns) return false;
        int64_t from_ns = sink_clock_ns();
        bool is_ready = poll(&poll_fd, 1, SINK_LOOK_MS) != 0;
        if (atomic_load(ends)) s->waited_ns += sink_clock_ns() - from_ns;
        else if (!is_ready && !waits) return false;
    }
    return true;
}

// How much is written at once. A pipe gets whole lines, so that its reader does not stall within one.
static size_t sink_piece(const sink *s, slice octets)
{
    size_t len = PIPE_BUF;
    if (s->keeps || octets.len <= PIPE_BUF) return octets.len;
    while (len > 0 && octets.ptr[len - 1] != '\n')
        len--;
    return len ? len : PIPE_BUF;
}

// Writes from the front of *octets. Returns 0, or the errno of what stopped it. waits: for a reader that stalls, for
// which one waits within a line anyhow. Else *octets is what it has not taken.
static int sink_try(sink *s, slice *octets, bool waits, const atomic_bool *ends)
{
    bool is_within = false;
    while (octets->len) {
        if (!s->keeps && !sink_is_ready(s, waits || is_within, ends))
            return s->waited_ns < sink_stall_ns ? 0 : ETIMEDOUT;
        ssize_t n = write(s->fd, octets->ptr, sink_piece(s, *octets));
        if (n < 0 && errno != EAGAIN && errno != EINTR) return errno;
        if (n <= 0) continue;
        *octets = slice_from(*octets, (size_t)n);
        is_within = octets->ptr[-1] != '\n';
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

static void sink_give_up(sink *s, slice lines)
{
    atomic_fetch_add_explicit(&s->lost, sink_count_lines(lines), memory_order_relaxed);
}

static slice sink_give_up_line(sink *s, slice octets)
{
    const char *end = memchr(octets.ptr, '\n', octets.len);
    size_t len = end ? (size_t)(end - octets.ptr) + 1 : octets.len;
    sink_give_up(s, slice_make(octets.ptr, len));
    return slice_from(octets, len);
}

// Writes from the front of *octets, and keeps in mind where that ends. goes_on: they follow what is there. waits: as for
// sink_try.
static void sink_put(sink *s, bool goes_on, sink_place end, slice *octets, bool waits,
                     const atomic_bool *ends)
{
    const char *from = octets->ptr;
    slice line_end = slice_of(!goes_on && sink_is_within_line(s, &end) ? "\n" : "");
    size_t wanted = line_end.len + octets->len;
    s->error = sink_try(s, &line_end, true, ends);
    if (!s->error) s->error = sink_try(s, octets, waits, ends);
    s->stops_short = octets->ptr == from ? goes_on || line_end.len : octets->ptr[-1] != '\n';
    if (s->keeps) end.octets += (off_t)(wanted - line_end.len - octets->len);
    s->end = end;
}

size_t sink_write(sink *s, sink_place *half, slice octets, const atomic_bool *ends)
{
    slice rest = octets;
    sink_place end;
    s->keeps = sink_look(s->fd, &end); // the program may have put something else in its place
    bool goes_on = half && half->octets && place_is(half, &end);
    if (half && half->octets && !goes_on) rest = sink_give_up_line(s, rest);
    const char *begin = rest.ptr;
    s->error = 0;
    if (rest.len) sink_put(s, goes_on, end, &rest, !half, ends);
    bool is_lost = !half || (s->keeps ? atomic_load(ends) : s->error != 0);
    bool is_half = !is_lost && s->stops_short && (goes_on || rest.ptr != begin);
    if (half) *half = is_half ? s->end : (sink_place){ 0 };
    if (!is_lost) return octets.len - rest.len;
    sink_give_up(s, rest);
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
