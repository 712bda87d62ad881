// SPDX-License-Identifier: MIT
//
// Disk. Where the kernel cannot tell whether it would wait, it is taken to.
// A file that has been found in memory is believed to stay there for a second, so that a busy one
// costs nothing.

#include "io/disk.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/page_cache.h"
#include "io/reserve.h"
#include "io/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { DISK_LOAD_OCTETS = 1048576 }; // looked for, or loaded, at once

static const int64_t disk_believed_ns = 1000000000;

// ---- Operations ----

static file_root disk_root(const io_op *op)
{
    return (file_root){ .fd = op->fd, .links = op->links };
}

static void disk_open(io_op *op)
{
    int fd = 0; // looking opens nothing, and results below 0 are errors
    skua_status status =
        file_open_beneath(disk_root(op), op->path.ptr, op->code == IO_FILE_STAT, &fd, &op->info);
    op->result = status ? -(int64_t)status : fd;
}

static void disk_read(io_op *op)
{
    struct iovec place = { .iov_base = op->buffer, .iov_len = (size_t)op->length };
    ssize_t n = disk_read_waiting(op->fd, &place, 1, op->offset);
    op->result = n >= 0 ? n : -(int64_t)SKUA_EIO;
}

static void disk_bring_in(io_op *op)
{
    if (atomic_load_explicit(&op->gone, memory_order_relaxed)) return;
    page_cache_load(op->fd, op->offset, op->length);
}

void io_perform(io_op *op)
{
    op->result = 0;
    if (op->code == IO_FILE_READ) disk_read(op);
    else if (op->code == IO_FILE_LOAD) disk_bring_in(op);
    else disk_open(op);
}

void io_complete(io_op *op)
{
    op->active = false;
    op->done(op, op->result);
}

static bool disk_open_at_once(io_op *op)
{
    int fd = 0;
    skua_status status;
    if (op->remote || !file_open_cached(disk_root(op), op->path.ptr, op->code == IO_FILE_STAT, &fd,
                                        &op->info, &status))
        return false;
    op->result = status ? -(int64_t)status : fd;
    return true;
}

static bool disk_read_at_once(io_op *op)
{
    op->result = page_cache_read(op->fd, op->buffer, (size_t)op->length, op->offset);
    return op->result >= 0;
}

void disk_start(io_loop *loop, io_op *op)
{
    bool done = op->code == IO_FILE_READ ? disk_read_at_once(op) : disk_open_at_once(op);
    if (!done && loop->elsewhere && loop->elsewhere(loop, op)) return;
    if (!done) io_perform(op);
    io_complete(op);
}

// ---- Sending ----

typedef struct disk_load disk_load;

struct disk_load {
    io_op op;
    disk_load *next;  // of its bucket
    pool_item stream; // may have been closed meanwhile
    int fd;           // of the file; the operation has a descriptor of its own
};

static disk_load **disk_bucket(io_loop *loop, uint32_t slot)
{
    return &loop->loads[slot % IO_LOAD_BUCKETS];
}

static void disk_unlink(io_loop *loop, const disk_load *load)
{
    disk_load **at = disk_bucket(loop, load->stream.slot);
    while (*at != load)
        at = &(*at)->next;
    *at = load->next;
}

// Work for a stream that has gone is given up, or clients that go away and come again would leave
// more and more work, and files open, to a slow disk.
void disk_abandon(io_loop *loop, const io_stream *stream)
{
    if (!(stream->flags & IO_COLD)) return;
    disk_load *load = *disk_bucket(loop, stream->item.slot);
    for (; load; load = load->next) {
        bool same = load->stream.slot == stream->item.slot &&
                    load->stream.generation == stream->item.generation;
        if (same) atomic_store_explicit(&load->op.gone, true, memory_order_relaxed);
    }
}

static io_resident *disk_resident(io_loop *loop, int fd)
{
    return &loop->resident[(unsigned)fd % IO_RESIDENT_MAX];
}

void disk_forget(io_loop *loop, int fd)
{
    io_resident *resident = disk_resident(loop, fd);
    if (resident->fd == fd) resident->until_ns = 0;
}

// Joined to what is believed of the file already, until that has to be looked at again.
static void disk_believe(io_loop *loop, int fd, uint64_t from, uint64_t to)
{
    io_resident *resident = disk_resident(loop, fd);
    bool joins = resident->fd == fd && loop->now_ns < resident->until_ns && from <= resident->to &&
                 to >= resident->from;
    if (!joins) {
        *resident = (io_resident){
            .fd = fd, .from = from, .to = to, .until_ns = loop->now_ns + disk_believed_ns
        };
        return;
    }
    if (from < resident->from) resident->from = from;
    if (to > resident->to) resident->to = to;
}

static void disk_loaded(io_op *op, int64_t result)
{
    (void)result; // if it failed, sending fails
    disk_load *load = op->user;
    io_loop *loop = op->loop;
    io_stream *stream = pool_find(loop->streams, load->stream.slot, load->stream.generation);
    disk_unlink(loop, load);
    if (stream) {
        // One that is about to close has let go of the file, whose number may be another's.
        bool sends = stream->flags & IO_WANT_SEND;
        if (sends) disk_believe(loop, load->fd, op->offset, op->offset + op->length);
        stream->flags &= ~(uint32_t)IO_COLD;
        if (!sends) stream->flags |= IO_KICK;
        io_push(loop, stream);
    }
    reserve_close(op->fd);
    memory_free(load);
}

// The file may be closed before it has been loaded.
static int disk_duplicate(io_loop *loop, int fd)
{
    bool evicted = false;
    for (unsigned times = 0;;) {
        int made = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (made >= 0) return made;
        if (reserve_spend(errno, times++)) continue;
        if (errno != EMFILE || evicted || !loop->evict || !loop->evict(loop)) return -1;
        evicted = true;
    }
}

// The thread has a descriptor of its own, as the response's may be closed meanwhile.
static bool disk_load_elsewhere(io_loop *loop, const io_stream *stream, int file, uint64_t offset,
                                uint64_t length)
{
    disk_load *load = loop->elsewhere ? memory_alloc(sizeof *load) : NULL;
    if (!load) return false;
    *load = (disk_load){ .stream = stream->item, .fd = file };
    load->op = (io_op){
        .code = IO_FILE_LOAD, .active = true, .loop = loop, .done = disk_loaded, .user = load
    };
    load->op.offset = offset;
    load->op.length = length;
    load->op.fd = disk_duplicate(loop, file);
    if (load->op.fd >= 0 && loop->elsewhere(loop, &load->op)) {
        disk_load **bucket = disk_bucket(loop, stream->item.slot);
        load->next = *bucket;
        *bucket = load;
        return true;
    }
    if (load->op.fd >= 0) reserve_close(load->op.fd);
    memory_free(load);
    return false;
}

static uint64_t disk_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// A busy file is not looked at before each part of it is read. If it has gone meanwhile, the kernel
// refuses to wait.
bool disk_read_cached(io_loop *loop, int file, const struct iovec *places, unsigned count,
                      size_t len, uint64_t offset)
{
    const io_resident *resident = disk_resident(loop, file);
    bool believed = resident->fd == file && loop->now_ns < resident->until_ns &&
                    offset >= resident->from && offset + len <= resident->to;
    ssize_t n = believed ? page_cache_read_again(file, places, count, len, offset)
                         : page_cache_read_to(file, places, count, len, offset);
    if (n == (ssize_t)len && !believed) disk_believe(loop, file, offset, offset + len);
    else if (n != (ssize_t)len && believed) disk_forget(loop, file);
    return n == (ssize_t)len;
}

ssize_t disk_read_waiting(int file, const struct iovec *places, unsigned count, uint64_t offset)
{
    ssize_t n;
    do {
        n = preadv(file, places, (int)count, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n;
}

uint64_t disk_load_for(io_loop *loop, io_stream *stream, int file, uint64_t offset, uint64_t length)
{
    length = disk_smaller(length, DISK_LOAD_OCTETS);
    if (disk_load_elsewhere(loop, stream, file, offset, length)) stream->flags |= IO_COLD;
    return offset + length;
}

uint64_t disk_ready(io_loop *loop, io_stream *stream, uint64_t most)
{
    out_segment segment = *out_segment_at(stream->out, 0);
    const io_resident *resident = disk_resident(loop, segment.file);
    uint64_t from = segment.offset, to = from + disk_smaller(segment.len, DISK_LOAD_OCTETS);
    if (!TRANSFER_FILE_WAITS) return most;
    if (resident->fd == segment.file && loop->now_ns < resident->until_ns &&
        from >= resident->from && from < resident->to) {
        return disk_smaller(most, resident->to - from);
    }
    if (!page_cache_holds(segment.file, from, to - from) &&
        disk_load_elsewhere(loop, stream, segment.file, from, to - from)) {
        stream->flags |= IO_COLD;
        return 0;
    }
    if (stream->flags & IO_WANT_CLOSE) return 0; // to give up descriptors
    // Octets that no thread can load are sent all the same.
    disk_believe(loop, segment.file, from, to);
    return disk_smaller(most, to - from);
}
