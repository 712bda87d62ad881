// SPDX-License-Identifier: MIT
//
// The ceiling on io_uring: one system call in each turn. Accepts and receives are armed once; sends
// go out together with the next turn; connections are direct descriptors, which cost less to make,
// to use and to close than a process's. Where a connection ends with its answer, sending and
// closing are linked, and only a failure is heard of.
//
// Files go by sendfile, which needs a process's descriptor: splicing is always given to a thread of
// the kernel's.
//
// Invariant: a connection is closed when the kernel has nothing armed of it any more. So no
// completion is ever of another connection with the same descriptor.
#include "ceiling.h"
#include "ceiling_ring.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// The thing that a completion is of: the upper word of its user data, above the descriptor.
typedef enum ring_kind { OF_NOTHING, OF_ACCEPT, OF_RECEIVE, OF_SEND, OF_ROOM, OF_CLOSE } ring_kind;

// Flags of a connection: what the kernel has armed of it, and whether it is over.
enum {
    CONN_RECEIVES = 1 << 0,
    CONN_SENDS = 1 << 1,
    CONN_WAITS = 1 << 2, // for room
    CONN_ARMED = CONN_RECEIVES | CONN_SENDS | CONN_WAITS,
    CONN_OVER = 1 << 3
};

static uring_sqe *conn_submission(uint8_t opcode, int fd, ring_kind kind)
{
    uring_sqe *sqe = ring_submission(opcode, fd, kind);
    sqe->flags = the.by_sendfile ? 0 : RING_SQE_DIRECT;
    return sqe;
}

static void listener_accept(void)
{
    uring_sqe *sqe = ring_submission(URING_ACCEPT, the.listener, OF_ACCEPT);
    sqe->ioprio = URING_ACCEPT_MULTISHOT;
    if (the.by_sendfile) sqe->op_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    else sqe->optlen = ring_any_slot;
}

// ---- What a connection submits ----

// Nothing may be armed of a connection that is closed behind its answer, so there each receive is
// asked for.
static void conn_receive(int fd, ceiling_conn *c)
{
    uring_sqe *sqe = conn_submission(URING_RECV, fd, OF_RECEIVE);
    sqe->flags |= URING_SQE_BUFFER_SELECT;
    sqe->ioprio = the.close_after ? 0 : URING_RECV_MULTISHOT;
    c->flags |= CONN_RECEIVES;
}

static void conn_wait_for_room(int fd, ceiling_conn *c)
{
    uring_sqe *sqe = conn_submission(URING_POLL_ADD, fd, OF_ROOM);
    sqe->op_flags = POLLOUT;
    c->flags |= CONN_WAITS;
}

// The octets do not change until they were sent, so the kernel may keep them as long.
static uring_sqe *conn_send(int fd, ceiling_conn *c, ring_kind kind)
{
    size_t len;
    uring_sqe *sqe = conn_submission(URING_SEND, fd, kind);
    sqe->addr = (uint64_t)(uintptr_t)ceiling_owed(c, &len);
    sqe->len = (uint32_t)len;
    sqe->op_flags = MSG_NOSIGNAL | MSG_WAITALL;
    c->flags |= CONN_SENDS;
    return sqe;
}

static void conn_close(int fd)
{
    if (the.by_sendfile) {
        close(fd);
        return;
    }
    uring_sqe *sqe = ring_submission(RING_OP_CLOSE, 0, OF_CLOSE);
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->optlen = (uint32_t)fd + 1;
    sqe->user_data |= (uint32_t)fd;
}

// The answer waits (MSG_MORE) for the FIN. Once both are submitted, the connection is the kernel's;
// when the answer fails, the close is cancelled.
static void conn_send_and_close(int fd, ceiling_conn *c)
{
    uring_sqe *sqe = conn_send(fd, c, OF_NOTHING);
    sqe->flags |= RING_SQE_LINK | URING_SQE_SKIP_SUCCESS;
    sqe->op_flags |= MSG_MORE;
    c->flags |= CONN_OVER;
    conn_close(fd);
}

// ---- Connections ----

static void conn_end(int fd, ceiling_conn *c)
{
    c->flags |= CONN_OVER;
    if (!(c->flags & CONN_RECEIVES)) return;
    uring_sqe *sqe = ring_submission(URING_ASYNC_CANCEL, fd, OF_NOTHING);
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->addr = (uint64_t)OF_RECEIVE << 32 | (uint32_t)fd;
}

static void conn_send_file(int fd, ceiling_conn *c)
{
    if (!ceiling_send(fd, c)) conn_end(fd, c);
    else if (c->owed) conn_wait_for_room(fd, c);
}

static void conn_answer(int fd, ceiling_conn *c)
{
    if (the.by_sendfile) conn_send_file(fd, c);
    else if (the.close_after) conn_send_and_close(fd, c);
    else conn_send(fd, c, OF_SEND);
}

// Goes on with whatever may be next.
static void conn_run(int fd, ceiling_conn *c)
{
    if (c->owed && !(c->flags & (CONN_SENDS | CONN_WAITS | CONN_OVER))) conn_answer(fd, c);
    if (!(c->flags & (CONN_RECEIVES | CONN_OVER))) conn_receive(fd, c);
    if ((c->flags & (CONN_ARMED | CONN_OVER)) == CONN_OVER) conn_close(fd);
}

// ---- Completions ----

static void on_accepted(const uring_cqe *cqe)
{
    if (!(cqe->flags & URING_CQE_MORE)) listener_accept();
    if (cqe->res >= 0) conn_run(cqe->res, ceiling_conn_new(cqe->res));
}

// When the buffers have run out, a receive ends with ENOBUFS; by the next turn they are back.
static void on_received(ceiling_conn *c, const uring_cqe *cqe)
{
    uint32_t id = cqe->flags >> URING_CQE_BUFFER_SHIFT;
    if (!(cqe->flags & URING_CQE_MORE)) c->flags &= (unsigned char)~CONN_RECEIVES;
    if (cqe->res > 0) ceiling_count(c, ring_buffer(id), (size_t)cqe->res);
    else if (cqe->res != -ENOBUFS) c->flags |= CONN_OVER;
    if (cqe->flags & URING_CQE_BUFFER) ring_give(id);
}

static void on_sent(int fd, ceiling_conn *c, const uring_cqe *cqe)
{
    c->flags &= (unsigned char)~CONN_SENDS;
    if (cqe->res > 0) ceiling_sent(c, (size_t)cqe->res);
    else conn_end(fd, c);
}

static void on_completed(const uring_cqe *cqe)
{
    ring_kind kind = (ring_kind)(cqe->user_data >> 32);
    int fd = (int)(uint32_t)cqe->user_data;
    ceiling_conn *c = &the.conns[fd];
    switch (kind) {
    case OF_NOTHING: return;
    case OF_ACCEPT: on_accepted(cqe); return;
    case OF_RECEIVE: on_received(c, cqe); break;
    case OF_SEND: on_sent(fd, c, cqe); break;
    case OF_ROOM: c->flags &= (unsigned char)~CONN_WAITS; break;
    case OF_CLOSE: // not done, as the answer before it failed
        if (cqe->res == -ECANCELED) conn_close(fd);
        return;
    }
    conn_run(fd, c);
}

int main(int argc, char **argv)
{
    uring_cqe cqe;
    ring_open(); // first, so that nobody connects to what ends because the kernel refuses
    ceiling_open(argc, argv);
    listener_accept();
    for (;;) {
        ring_turn();
        while (ring_take(&cqe))
            on_completed(&cqe);
    }
}
