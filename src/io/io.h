// SPDX-License-Identifier: MIT
//
// The io seam: operations are submitted to a loop by an inline list push, executed by its backend,
// and completed by callbacks in the same or a later turn, never from within the submission.
// A backend is completion-shaped: epoll and kqueue, which are told of readiness (readiness.h),
// uring, which submits operations to the kernel, and sim, a kernel in memory that fails on demand.
//
// A stream is one connected endpoint with at most one receive, one send and one close outstanding,
// so its operations are bits in it. Everything else is an io_op.
#ifndef SKUA_IO_IO_H
#define SKUA_IO_IO_H

#include "base/out.h"
#include "base/pool.h"
#include "io/alarms.h"
#include "io/timers.h"

#include <stdatomic.h>

typedef struct io_loop io_loop;
typedef struct io_stream io_stream;
typedef struct io_op io_op;
typedef struct socket_address socket_address;

// Together they are more than a message of 64 KiB: what is left of one for the next turn keeps its memory until
// all other streams have had theirs.
enum { IO_RECV_OCTETS = 16384 };   // lent at once, at most
enum { IO_BULK_OCTETS = 81920 };   // the same of a stream that expects many
enum { IO_TURN_READS_MAX = 5 };    // receives per stream and turn
enum { IO_TURN_ACCEPTS_MAX = 64 }; // accepts per listener and turn
enum { IO_STREAMS_MAX = 1 << 24 }; // of a loop: io_uring keeps a slot in so many bits

// ---- Streams ----

typedef enum io_end {
    IO_END_NEAR,  // the peer sends no more, but octets it sent may still be in the kernel
    IO_END_FIN,   // the peer sends no more and every octet has been received
    IO_END_RESET, // the connection is dead: reset, or an error
} io_end;

// The events that a stream's owner is told of. A loop has several such tables, since it carries
// connections of several kinds, and each stream says by a number which is its own.
typedef struct io_stream_events {
    // The end of io_stream_connect. Before it nothing is told of the stream but kicked; after a
    // failure nothing but closed. NULL: streams with this table never connect.
    // status: SKUA_OK; SKUA_ECLOSED nobody listens there; SKUA_EIO it cannot be reached;
    // SKUA_ESTATE a Unix socket's queue is full; SKUA_EADDRNOTAVAIL no port is left here;
    // SKUA_EACCES; SKUA_ENOFILE; SKUA_ENOMEM.
    void (*connected)(io_stream *stream, skua_status status);
    // Octets came. They are lent, writable, until this returns.
    void (*received)(io_stream *stream, char *octets, size_t len);
    // The peer is done or dead. Each kind comes at most once: NEAR only while receiving is stopped,
    // FIN only while it is not. Nothing but closed follows a RESET.
    void (*ended)(io_stream *stream, io_end how);
    // The owner asked by io_kick to be called from the loop.
    void (*kicked)(io_stream *stream);
    // Octets left: stream->out is shorter by n. Comes at least when out is empty, and after each
    // short send. n is 0 when the socket was full already, so that none left.
    void (*sent)(io_stream *stream, uint64_t n);
    // Out of order: the file, whose segment is marked as failed, ended before its length or could
    // not be read. The owner closes, or sends something else in its place.
    void (*send_failed)(io_stream *stream);
    // CLOSE is complete: the stream may be given back to its pool, and is not looked at again. Its
    // descriptor is closed by the end of the next turn, or of the loop.
    void (*closed)(io_stream *stream);
} io_stream_events;

// Stream flags. The first group is the owner's to submit with the functions below, and all are the
// loop's to keep; the last is io_uring's.
enum {
    IO_WANT_RECV = 1u << 0,     // RECV is armed
    IO_WANT_SEND = 1u << 1,     // SEND is outstanding: out is borrowed
    IO_WANT_SHUTDOWN = 1u << 2, // after what is to be sent
    IO_WANT_CLOSE = 1u << 3,
    IO_RESETS = 1u << 4, // CLOSE drops what was not sent, and resets
    IO_LAST = 1u << 5,   // the owner's promise: once out is empty it closes or shuts down

    IO_CONNECTS = 1u << 6,        // is not connected yet, or connected is to be called
    IO_PENDING = 1u << 7,         // on the loop's pending list
    IO_LATER = 1u << 8,           // used up its share of this turn: goes on in the next
    IO_KICK = 1u << 9,            // kicked is to be called
    IO_COLD = 1u << 10,           // what is to be sent is being loaded from the disk
    IO_READABLE = 1u << 11,       // there may be input the kernel has told of
    IO_UNWRITABLE = 1u << 12,     // the kernel would take no more; an event will come
    IO_REGISTERED = 1u << 13,     // the kernel was asked to tell of it
    IO_REGISTERED_OUT = 1u << 14, // and for writing: kqueue asks apart
    IO_FIN_SEEN = 1u << 15,       // RDHUP was told: read to the end
    IO_BROKEN = 1u << 16,         // an error was told, of which receiving may say nothing
    IO_NEAR_TOLD = 1u << 17,      // ended(NEAR) was called
    IO_FIN_TOLD = 1u << 18,       // ended(FIN) was called
    IO_RESET_TOLD = 1u << 19,     // ended(RESET) was called

    // The first four are operations that the kernel has, and holds the socket with: CLOSE waits for
    // their completions.
    URING_RECEIVES = 1u << 20,
    URING_SENDS = 1u << 21,
    URING_WAITS_OUT = 1u << 22, // for room
    URING_WAITS_END = 1u << 23, // for the peer's closing, while receiving is stopped
    URING_STOPS = 1u << 24,     // the receive is being cancelled
    URING_CANCELS = 1u << 25,   // everything is, as it closes
    URING_HOLDS = 1u << 26,     // octets came while receiving was stopped
    URING_QUEUED = 1u << 27,    // to be sent with the next submission

    IO_BULK = 1u << 28, // many octets are expected: see io_expect_many

    URING_BUSY = URING_RECEIVES | URING_SENDS | URING_WAITS_OUT | URING_WAITS_END,

    IO_EVENTS_SHIFT = 29, // the bits from here on are the number of the stream's table of events
};

enum { IO_EVENTS_MAX = 1 << (32 - IO_EVENTS_SHIFT) }; // tables that a loop may have

// No two share a bit: the sum is that of all bits up to the highest.
_Static_assert((uint64_t)IO_WANT_RECV + IO_WANT_SEND + IO_WANT_SHUTDOWN + IO_WANT_CLOSE +
                       IO_RESETS + IO_LAST + IO_CONNECTS + IO_PENDING + IO_LATER + IO_KICK +
                       IO_COLD + IO_READABLE + IO_UNWRITABLE + IO_REGISTERED + IO_REGISTERED_OUT +
                       IO_FIN_SEEN + IO_BROKEN + IO_NEAR_TOLD + IO_FIN_TOLD + IO_RESET_TOLD +
                       URING_RECEIVES + URING_SENDS + URING_WAITS_OUT + URING_WAITS_END +
                       URING_STOPS + URING_CANCELS + URING_HOLDS + URING_QUEUED + IO_BULK ==
                   (1u << IO_EVENTS_SHIFT) - 1,
               "stream flags");

struct io_stream {
    pool_item item;  // first: streams live in the loop's pool
    io_stream *next; // pending or later list
    out_queue *out;  // what SEND sends; the owner's, set before io_send
    int32_t fd;      // the backend's; negative: connecting has failed at once, a status
    uint32_t flags;
};

// ---- Other operations ----

typedef enum io_code {
    // fd listens; completes for each connection: result is the new fd, until cancelled
    IO_ACCEPT,
    // fd becomes readable; completes once, or if kept in each turn in which it is, until cancelled
    IO_POLL,
    IO_FILE_OPEN, // path beneath fd: result is the file, info is filled
    IO_FILE_STAT, // the same without opening
    IO_FILE_READ, // length octets at offset into buffer: result is how many
    IO_FILE_LOAD, // length octets at offset into the kernel's memory
    IO_RECVMSG,
    IO_SENDMSG,
    IO_WAKE, // completes each time io_wake was called, any number of calls in one
} io_code;

// The kind of thing a path names, and what is known of it.
typedef skua_file_info io_file_info;

// An address in 20 octets. family: 0 unknown, 4, 6, or 1 for a Unix socket.
enum { IO_FAMILY_UNIX = 1 }; // others are the versions of IP; 0: not known

// Facts about an address. They are its listener's, or a proxy's: the kernel tells none of them.
enum {
    IO_ADDRESS_SOURCE = 3,   // a skua_forwarded: by which the client is known
    IO_ADDRESS_TLS = 4,      // a proxy has said that its client came by TLS
    IO_ADDRESS_OVER_UNIX = 8 // a proxy that came by a Unix socket has said it
};

typedef struct io_address {
    uint8_t octets[16];
    uint16_t port;
    uint8_t family;
    uint8_t facts;
} io_address;

struct io_op {
    io_op *next;
    io_loop *loop;                           // set when it is submitted
    void (*done)(io_op *op, int64_t result); // result: >= 0, or -skua_status
    void *user;
    int fd;
    uint8_t code;
    bool active;     // submitted and not complete (ACCEPT, WAKE, kept POLL: not cancelled)
    bool kept;       // POLL
    io_address peer; // ACCEPT: whose connection it is; unknown: see io_backend.peer
    slice path;      // FILE_OPEN, FILE_STAT: relative; must end in NUL
    // FILE_OPEN, FILE_STAT: opening beneath fd may wait for another process or machine at any time
    bool remote;
    uint8_t links;     // FILE_OPEN, FILE_STAT: skua_links
    io_file_info info; // FILE_OPEN, FILE_STAT: out
    char *buffer;      // FILE_READ
    uint64_t offset, length;
    uint32_t slot;    // the backend's
    int64_t result;   // FILE_*: of io_perform
    atomic_bool gone; // FILE_LOAD: nobody waits for it any more
};

// ---- The loop ----

// A turn that is to wait longer than a day waits a day: kernels and callers keep such times in
// smaller numbers.
#define IO_WAIT_MAX_NS ((int64_t)86400 * 1000000000)

typedef struct io_backend {
    const char *name;
    skua_status (*open)(io_loop *loop);
    // Called once by the thread that is to turn it from then on; the turns before only make it
    // ready to be woken. NULL:
    // any thread may. Errors: those of probe.
    skua_status (*settle)(io_loop *loop);
    // Starts pending operations, waits at most timeout_ns (-1: for ever) unless work is ready, and
    // completes.
    skua_status (*turn)(io_loop *loop, int64_t timeout_ns);
    void (*close)(io_loop *loop);
    // Ends ACCEPT, POLL or WAKE.
    void (*cancel)(io_loop *loop, io_op *op);
    // Begins io_stream_connect: sets fd, and IO_UNWRITABLE where the outcome is to be waited for.
    void (*connect)(io_loop *loop, io_stream *stream, const socket_address *to);
    // Makes turn return. Thread: any.
    void (*wake)(io_op *op);
    // Closes a descriptor the backend made: a file from FILE_OPEN, or an accepted socket nobody
    // wants.
    void (*discard)(io_loop *loop, int fd);

    // The rest may be NULL. Whose connection an accepted stream is; asked for where ACCEPT leaves
    // that unknown, as it costs a system call.
    void (*peer)(const io_stream *stream, io_address *peer);
    // How many octets have been sent that the peer's side has not acknowledged.
    uint64_t (*unsent)(const io_stream *stream);
    // Of io_send_at_once; NULL: sends are kept for the end of the turn, which costs less.
    uint64_t (*send_at_once)(io_loop *loop, io_stream *stream);
    // Of io_send_now.
    size_t (*send_now)(const io_loop *loop, const io_stream *stream, const char *octets,
                       size_t len);
    // Of io_has_input; not NULL.
    bool (*has_input)(const io_loop *loop, const io_stream *stream);
    // A descriptor that is readable when a turn has something to complete; without it the
    // loop cannot be part of another one.
    int (*fd)(const io_loop *loop);
    // How long a turn with that timeout would wait, from now_ns on: not at all when work is left
    // over.
    int64_t (*wait_ns)(const io_loop *loop, int64_t timeout_ns);
    // Of io_kick_later. NULL: a kick comes by itself after what others have to do.
    void (*kick_later)(io_loop *loop, io_stream *stream);
    // Hands the kernel what was kept for the next turn: somebody else waits on fd meanwhile. NULL:
    // nothing is kept.
    void (*flush)(io_loop *loop);
    // turn has failed for good: frees the streams from what the kernel has, so that closing them
    // completes in turns that fail. NULL: they are free.
    void (*abandon)(io_loop *loop);
    // The monotonic clock that turns go by, now; NULL: io_clock_ns.
    int64_t (*clock_ns)(const io_loop *loop);
    // Whether the kernel has it and lets this process use it; NULL: always. The calling thread is
    // left as it was.
    // *call: on failure, the system call that failed.
    // Errors: SKUA_EACCES; SKUA_EUNSUPPORTED; SKUA_ENOMEM; SKUA_ENOFILE.
    skua_status (*probe)(const char **call);
} io_backend;

#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__DragonFly__) ||                        \
    defined(SKUA_KQUEUE_SHIM)
#define IO_HAS_KQUEUE // on Linux over a shim, in the tests
#endif

extern const io_backend io_backend_epoll;
extern const io_backend io_backend_kqueue;
extern const io_backend io_backend_uring;

// The backend of that name, or NULL if this system has none of it. "auto", or NULL: the one that is
// preferred here.
const io_backend *io_backend_find(const char *name);

// Whether that name leaves the choice open: "auto", or NULL.
bool io_backend_is_auto(const char *name);

// The backend to take instead of one that was refused; NULL: this one cannot be refused, so it is
// not at fault for a failure.
const io_backend *io_backend_instead(const io_backend *refused);

enum { IO_RESIDENT_MAX = 64, IO_LOAD_BUCKETS = 64 };

// Part of a file that was found in the kernel's memory, where a busy file stays.
typedef struct io_resident {
    int fd;
    uint64_t from, to;
    int64_t until_ns; // believed till then
} io_resident;

struct io_loop {
    const io_backend *backend;
    const io_stream_events *events[IO_EVENTS_MAX]; // by their numbers; NULL: not in use
    pool *streams;                                 // io_stream comes first in its items
    void *owner;                                   // for callbacks
    void *kernel;                                  // the backend's own state
    io_stream *pending, **pending_tail;            // streams with something to start
    io_op *pending_ops, **pending_ops_tail;
    int64_t now_ns;                // monotonic, at the start of this turn
    int64_t unix_ns;               // since 1970
    uint64_t send_turn_octets_max; // a single call is asked for less where this is very large
    bool accepts_from_reserve;     // as skua_config's
    bool (*evict)(io_loop *loop);  // descriptors ran out: free some; returns whether any
    // Calls io_perform on another thread, and then io_complete on the loop's own, as the operation
    // may wait for the disk. Returns false if it cannot. NULL: such operations make the loop wait.
    bool (*elsewhere)(io_loop *loop, io_op *op);
    io_resident resident[IO_RESIDENT_MAX]; // by descriptor
    // that streams wait for, or waited for, by their slots
    struct disk_load *loads[IO_LOAD_BUCKETS];
    lease *memory; // that counts what is held for streams; NULL: nobody does
    io_timers timers;
    io_alarms alarms;
};

// events[0], streams, owner, evict, elsewhere, memory, send_turn_octets_max and
// accepts_from_reserve are set by the caller before.
skua_status io_loop_open(io_loop *loop, const io_backend *backend);
void io_loop_close(io_loop *loop); // no stream may be open, no operation active

// Makes it the calling thread's to turn. Before, turns of 0 ns by another thread start what needs
// no waiting.
skua_status io_settle(io_loop *loop);

// One turn: the backend's, then the timers that are due.  timeout_ns: at most; -1 for ever.
// Errors: SKUA_EIO the kernel does not let the loop go on.
skua_status io_turn(io_loop *loop, int64_t timeout_ns);

// After a turn that failed, which is for good: the streams that are closed now still complete, in
// turns that fail too.
void io_abandon(io_loop *loop);

// Starts what the timers of the last turn have left pending, so that nothing waits for the next
// one.
void io_flush(io_loop *loop);

// How long the next turn will wait if nothing happens, from now_ns on, at most IO_WAIT_MAX_NS; -1:
// for ever.
int64_t io_wait_ns(const io_loop *loop);

// Reads the loop's clock anew, for what is set between turns.
void io_refresh(io_loop *loop);

// The loop's clock, now: later than now_ns when this turn has taken its time.
int64_t io_loop_clock_ns(const io_loop *loop);

static inline void io_push(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_PENDING) return;
    stream->flags |= IO_PENDING;
    stream->next = NULL;
    *loop->pending_tail = stream;
    loop->pending_tail = &stream->next;
}

// The number of a stream's table of events.
static inline unsigned io_events_number(const io_stream *stream)
{
    return stream->flags >> IO_EVENTS_SHIFT;
}

// Whom to tell of a stream.
static inline const io_stream_events *io_events_of(const io_loop *loop, const io_stream *stream)
{
    return loop->events[io_events_number(stream)];
}

// Adopts fd, an accepted or connected socket, non-blocking; stream is zeroed but for its item. Its
// events are those of number 0.
static inline void io_stream_open(io_stream *stream, int fd)
{
    stream->fd = fd;
    stream->flags = IO_READABLE;
}

// Changes whom to tell of a stream. events: the number of a table.
static inline void io_stream_set_events(io_stream *stream, unsigned events)
{
    stream->flags = (stream->flags & ((1u << IO_EVENTS_SHIFT) - 1)) | events << IO_EVENTS_SHIFT;
}

// Opens a connection. stream is zeroed but for its item; connected tells when it can be used. It
// may be closed before, and is to be closed after a failure.
// events: the number of its table.  to: read before this returns.
void io_stream_connect(io_loop *loop, io_stream *stream, unsigned events, const socket_address *to);

// Starts receiving, or goes on after io_recv_stop.
static inline void io_recv(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_RECV) return;
    stream->flags |= IO_WANT_RECV;
    if (stream->flags & (IO_READABLE | IO_FIN_SEEN) || !(stream->flags & IO_REGISTERED))
        io_push(loop, stream);
}

static inline void io_recv_stop(io_stream *stream)
{
    stream->flags &= ~(uint32_t)IO_WANT_RECV;
}

// The owner knows that many octets are on their way, and takes up to IO_BULK_OCTETS at once from now on, until fewer
// than IO_RECV_OCTETS have come in one piece. They cost fewer system calls so.
static inline void io_expect_many(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_BULK) return;
    stream->flags |= IO_BULK;
    io_push(loop, stream);
}

// Sends what stream->out holds, and what is pushed to it before the send completes.
static inline void io_send(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_WANT_SEND;
    if (!(stream->flags & IO_UNWRITABLE)) io_push(loop, stream);
}

// Sends what stream->out holds before it returns, where that costs less than io_send and where it is one piece that was
// copied. What is left is then for io_send.
// Returns: how many octets have left, of which sent() does not tell.
static inline uint64_t io_send_at_once(io_loop *loop, io_stream *stream)
{
    bool may = stream->out->count == 1 && loop->backend->send_at_once;
    return may ? loop->backend->send_at_once(loop, stream) : 0;
}

// Makes the loop call kicked(), in this turn or the next.
static inline void io_kick(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_KICK;
    io_push(loop, stream);
}

// Asks for kicked() in the next turn, after every other stream has had its share of this one; in this
// turn if the stream has something else to do in it.
static inline void io_kick_later(io_loop *loop, io_stream *stream)
{
    if (loop->backend->kick_later) loop->backend->kick_later(loop, stream);
    else io_kick(loop, stream);
}

// Half-closes after what is to be sent.
static inline void io_shutdown(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_WANT_SHUTDOWN;
    if (!(stream->flags & IO_UNWRITABLE)) io_push(loop, stream);
}

// The peer of a connection: asks for it where *peer is not known yet, at the cost of a system call.
static inline void io_peer(const io_loop *loop, const io_stream *stream, io_address *peer)
{
    if (peer->family != 0 || !loop->backend->peer) return;
    uint8_t facts = peer->facts;
    loop->backend->peer(stream, peer);
    peer->facts = facts;
}

// Octets that have left out and lie in the kernel still; 0 where it does not tell. Costs a system
// call.
static inline uint64_t io_unsent(const io_loop *loop, const io_stream *stream)
{
    return loop->backend->unsent ? loop->backend->unsent(stream) : 0;
}

// Hands the kernel octets of a stream whose queue is empty, at once and without a completion. For what must not
// wait for the end of the turn; costs a system call.
// Returns: how many it has taken; 0 also where the stream has failed, which the next send finds.
static inline size_t io_send_now(const io_loop *loop, const io_stream *stream, const char *octets,
                                 size_t len)
{
    return loop->backend->send_now ? loop->backend->send_now(loop, stream, octets, len) : 0;
}

// Whether the peer has sent octets, or has ended the connection, and the owner has not been told of
// it yet: a loop that is busy, or whose process was stopped, comes to it in its next turns. Costs a
// system call.
static inline bool io_has_input(const io_loop *loop, const io_stream *stream)
{
    return loop->backend->has_input(loop, stream);
}

// Stops everything, closes, and completes last, by closed(). The owner must not use out any more.
static inline void io_close(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_WANT_CLOSE;
    stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    io_push(loop, stream);
}

// Closes as io_close does, but gives up on the peer: what the kernel has not sent is dropped, its
// memory is free at once, and the peer gets a reset. For a peer that takes nothing any more; one
// that is to read a last response needs io_close. A Unix socket is closed as by io_close.
static inline void io_reset(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_RESETS;
    io_close(loop, stream);
}

// Submits an operation. ACCEPT, WAKE and a POLL that is kept stay active until cancelled.
static inline void io_submit(io_loop *loop, io_op *op)
{
    op->active = true;
    op->loop = loop;
    op->next = NULL;
    *loop->pending_ops_tail = op;
    loop->pending_ops_tail = &op->next;
}

// The monotonic clock, now: for what is measured within a turn.  Thread: any.
int64_t io_clock_ns(void);

// Ends ACCEPT, POLL or WAKE at once: done is not called any more. Sockets already accepted have
// been delivered.
void io_cancel(io_loop *loop, io_op *op);

// Makes the loop's turn return and its WAKE operation complete.  Thread: any, and signal handlers.
void io_wake(io_op *wake);

#endif
