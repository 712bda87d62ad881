// SPDX-License-Identifier: MIT
//
// Streams and operations within a turn, as far as the backends over real sockets have it in common:
// receiving and sending by plain system calls, each stream's share of a turn, and waiting for what
// the kernel lacks.
#ifndef SKUA_IO_TURN_H
#define SKUA_IO_TURN_H

#include "io/io.h"
#include "io/transfer.h"

#include <errno.h>

// How often a stream is run before the others have their turn.
enum { TURN_ROUNDS_MAX = 16 };

// The first member of the state of each backend that uses these functions.
typedef struct turn_state {
    io_stream *later, **later_tail; // streams that used up their share of this turn
    io_stream *starved;             // streams that go on when there may be memory again
    int64_t starved_ns;             // when that is tried, or was tried last
    int64_t starved_wait_ns;        // how long they wait; 0: none has
    bool paused;                    // some ACCEPT waits for descriptors or memory
    int64_t retry_ns;               // when it is tried again
    // A stream's socket has become full. NULL: the backend looks for IO_UNWRITABLE by itself.
    void (*unwritable)(io_loop *loop, io_stream *stream);
    char buffer[IO_BULK_OCTETS]; // mostly no more than IO_RECV_OCTETS of it are used
} turn_state;

void turn_init(turn_state *state);

// Reads the clocks: at the opening, and after each wait.
void turn_clock(io_loop *loop);

// How long the turn may wait at most, given what it was asked; -1: for ever.
int64_t turn_wait_ns(const io_loop *loop, int64_t timeout_ns);

// ---- Streams ----

// Tells the owner how the peer's side has ended, unless it knows.
void turn_told(io_loop *loop, io_stream *stream, io_end how);

// Lets the stream go on in the next turn.
void turn_postpone(io_loop *loop, io_stream *stream);

// Of io_backend.
void turn_kick_later(io_loop *loop, io_stream *stream);

// Makes the streams pending that were postponed, and those that have waited long enough.
void turn_resume(io_loop *loop);

// A receive or a send has failed. The stream goes on at once, or when there may be memory, or is
// dead. Returns whether waiting for the socket helps, which is then the caller's to do.
bool turn_failed(io_loop *loop, io_stream *stream, int error);

// Receives within the stream's share of a turn, of a stream that turn_receives_few: while the owner wants it, there may
// be input, and no answer waits to be sent, which goes out before more is read: the stream is pending then.
void turn_receive_some(io_loop *loop, io_stream *stream);

static inline bool turn_receives(const io_stream *stream)
{
    uint32_t wanted = IO_WANT_RECV | IO_READABLE;
    return (stream->flags & (wanted | IO_PENDING)) == wanted;
}

// The same for a stream that expects many octets.
void turn_receive_many(io_loop *loop, io_stream *stream);

// As turn_receives, unless many octets are expected.
static inline bool turn_receives_few(const io_stream *stream)
{
    uint32_t wanted = IO_WANT_RECV | IO_READABLE;
    return (stream->flags & (wanted | IO_PENDING | IO_BULK)) == wanted;
}

static inline void turn_receive(io_loop *loop, io_stream *stream)
{
    if (turn_receives_few(stream)) turn_receive_some(loop, stream);
    else if (stream->flags & IO_BULK) turn_receive_many(loop, stream);
}

// Every octet has been received, and the peer sends no more.
void turn_received_end(io_loop *loop, io_stream *stream);

// Sends as much as the socket takes and the turn allows.
void turn_send(io_loop *loop, io_stream *stream);

// Of io_backend: by a plain call, while the stream's memory is still in the processor's cache. A failure is the next
// send's to find.
uint64_t turn_send_at_once(io_loop *loop, io_stream *stream);

// Octets have left, or none as the socket is full: tells the owner, unless what they were released to has closed
// the stream.
static inline void turn_sent(io_loop *loop, io_stream *stream, uint64_t n)
{
    if (stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    if (stream->out->octets == 0) stream->flags &= ~(uint32_t)IO_WANT_SEND;
    if (n || (stream->flags & IO_UNWRITABLE)) io_events_of(loop, stream)->sent(stream, n);
}

// The socket takes no more.
void turn_unwritable(io_loop *loop, io_stream *stream);

// Of io_backend: what is in the kernel.
bool turn_has_input(const io_loop *loop, const io_stream *stream);

// Of io_backend.
void turn_connect(io_loop *loop, io_stream *stream, const socket_address *to);

// Tells the owner of a stream that connects what has come of it, unless that is to be waited for.
// Returns whether the stream is connected.
bool turn_connected(io_loop *loop, io_stream *stream);

// Calls the owner if it asked for that.
static inline void turn_kick(io_loop *loop, io_stream *stream)
{
    if (!(stream->flags & IO_KICK)) return;
    stream->flags &= ~(uint32_t)IO_KICK;
    io_events_of(loop, stream)->kicked(stream);
}

// Half-closes if that is asked for and everything has been sent.
void turn_half_close(io_stream *stream);

static inline void turn_shutdown(io_stream *stream)
{
    if ((stream->flags & (IO_WANT_SHUTDOWN | IO_WANT_SEND)) == IO_WANT_SHUTDOWN)
        turn_half_close(stream);
}

// Runs every stream that is pending. Running one may make it pending again: it has sent something
// and its source has more. A peer that takes all of it at once would keep the worker for itself, so
// after some rounds the rest waits for the next turn.
static inline void turn_run_streams(io_loop *loop, void (*run)(io_loop *loop, io_stream *stream))
{
    for (int round = 0; loop->pending; round++) {
        io_stream *next, *stream = loop->pending;
        loop->pending = NULL;
        loop->pending_tail = &loop->pending;
        for (; stream; stream = next) {
            next = stream->next;
            stream->flags &= ~(uint32_t)IO_PENDING;
            if (round < TURN_ROUNDS_MAX) run(loop, stream);
            else turn_postpone(loop, stream);
        }
    }
}

// ---- Operations ----

// The oldest operation that was submitted and not started; NULL: none.
io_op *turn_take_op(io_loop *loop);

void turn_op_failed(io_op *op, skua_status status);

// Why a connection could not be accepted.
typedef enum turn_refusal {
    TURN_REFUSED_NONE,   // there is none
    TURN_REFUSED_ONE,    // it died in the queue; others wait behind it
    TURN_REFUSED_SCARCE, // descriptors or memory have run out
    TURN_REFUSED_BROKEN, // the descriptor is not, or not any more, one to accept from
} turn_refusal;

turn_refusal turn_refused(int error);

// Accepts for an ACCEPT. Files come first: while their reserve of descriptors is short, it fails
// with EMFILE, unless the loop may accept from the reserve.
int turn_accept(const io_loop *loop, io_op *op);

// An ACCEPT was refused for want of descriptors or memory. Returns false if some have been freed:
// it may be tried again at once. Otherwise all are tried again by the time that turn_wait_ns knows.
bool turn_pause(io_loop *loop);

// Accepting has failed while it ends: whether to go on with it.
bool turn_goes_on(io_loop *loop, int error);

// Delivers what has come to a listener whose ACCEPT has been cancelled.
static inline void turn_accept_rest(io_loop *loop, io_op *op,
                                    void (*run)(io_loop *loop, io_stream *stream))
{
    op->active = true;
    for (int i = 0; i < IO_TURN_ACCEPTS_MAX; i++) {
        int fd = turn_accept(loop, op);
        if (fd < 0 && !turn_goes_on(loop, errno)) break;
        if (fd < 0) continue;
        op->done(op, fd);
        turn_run_streams(loop, run);
    }
    op->active = false;
}

// Of io_backend.
void turn_discard(io_loop *loop, int fd);

#endif
