// SPDX-License-Identifier: MIT
//
// The ceiling of WebSockets on io_uring: one system call in each turn. Short messages are received into buffers that all
// connections share, by receives that are armed once, and are sent from there. Long ones (--direct) are received where
// they are kept, and behind their answer the next receive is linked. Each send is heard of: to skip that costs more, as
// the kernel then writes, for each, to a line of the processor's cache that the client's side reads. Sockets are in the
// ring's table of files too, so that a send takes no reference to one.
//
// Invariant: a buffer is given back in the turn after its answer was submitted. Sends never wait, so the kernel has
// copied it by then.
#include "ceiling.h"
#include "ceiling_ring.h"
#include "socket_ceiling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The thing that a completion is of: the upper word of its user data, above the descriptor.
typedef enum ring_kind { OF_ACCEPT, OF_RECEIVE, OF_SEND, OF_NOTHING } ring_kind;

typedef struct conn {
    bool is_there; // accepted
    size_t have;   // octets of a frame
    char *input;   // NULL: octets come in shared buffers
} conn;

static conn conns[SOCKET_CONNS_MAX]; // by descriptor
static int listener, last;           // last: the highest descriptor
static bool publishes, is_direct;
static uint32_t used[RING_BUFFERS]; // to be given back
static unsigned used_count;
// To be put into the ring's table of files, each at its own number.
static int32_t descriptors[SOCKET_CONNS_MAX];

static void listener_accept(void)
{
    uring_sqe *sqe = ring_submission(URING_ACCEPT, listener, OF_ACCEPT);
    sqe->ioprio = URING_ACCEPT_MULTISHOT;
    sqe->op_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
}

static void conn_receive(int fd, const conn *c)
{
    uring_sqe *sqe = ring_submission(URING_RECV, fd, OF_RECEIVE);
    if (c->input) {
        sqe->addr = (uint64_t)(uintptr_t)(c->input + c->have);
        sqe->len = (uint32_t)(SOCKET_INPUT_OCTETS - c->have);
    } else {
        sqe->flags = URING_SQE_BUFFER_SELECT;
        sqe->ioprio = URING_RECV_MULTISHOT;
    }
}

// The table holds the socket until it is taken out of it.
static void conn_put(int fd)
{
    uring_sqe *sqe = ring_submission(RING_OP_FILES_UPDATE, -1, OF_NOTHING);
    descriptors[fd] = fd;
    sqe->addr = (uint64_t)(uintptr_t)&descriptors[fd];
    sqe->len = 1;
    sqe->offset = (uint64_t)fd;
}

static void conn_drop(int fd)
{
    uring_sqe *sqe = ring_submission(RING_OP_CLOSE, 0, OF_NOTHING);
    sqe->file_index = (uint32_t)fd + 1;
}

static uring_sqe *conn_send(int fd, const char *octets, size_t len)
{
    uring_sqe *sqe = ring_submission(URING_SEND, fd, OF_SEND);
    sqe->flags = URING_SQE_FIXED_FILE;
    sqe->addr = (uint64_t)(uintptr_t)octets;
    sqe->len = (uint32_t)len;
    sqe->op_flags = MSG_NOSIGNAL | (is_direct ? MSG_WAITALL : MSG_DONTWAIT);
    return sqe;
}

static void conn_answer(int fd, const char *octets, size_t len)
{
    uring_sqe *sqe = conn_send(fd, octets, len);
    if (is_direct) sqe->flags |= RING_SQE_LINK;
}

static void publish(const char *octets, size_t len)
{
    for (int fd = 0; fd <= last; fd++) {
        if (conns[fd].is_there) (void)conn_send(fd, octets, len);
    }
}

static void conn_read(int fd, conn *c, char *octets, size_t len)
{
    c->have += len;
    socket_answer answer = socket_answer_to(fd, octets, c->have);
    if (!answer.octets && !is_direct) socket_die("a message came in part");
    if (!answer.octets) return;
    c->have = 0;
    if (publishes && answer.is_message) publish(answer.octets, answer.len);
    else if (answer.len) conn_answer(fd, answer.octets, answer.len);
}

static void conn_end(int fd, conn *c)
{
    free(c->input);
    socket_end(fd);
    *c = (conn){ 0 };
    conn_drop(fd);
    close(fd);
}

// ---- Completions ----

static void on_accepted(const uring_cqe *cqe)
{
    int fd = cqe->res;
    if (!(cqe->flags & URING_CQE_MORE)) listener_accept();
    if (fd < 0) return;
    if (fd >= SOCKET_CONNS_MAX) socket_die("too many connections");
    conn *c = &conns[fd];
    *c = (conn){ .is_there = true, .input = is_direct ? malloc(SOCKET_INPUT_OCTETS) : NULL };
    if (is_direct && !c->input) socket_die("malloc");
    if (fd > last) last = fd;
    socket_begin(fd);
    conn_put(fd);
    conn_receive(fd, c);
}

// When the buffers have run out, a receive ends with ENOBUFS; by the next turn they are back.
static void on_received(int fd, const uring_cqe *cqe)
{
    conn *c = &conns[fd];
    uint32_t id = cqe->flags >> URING_CQE_BUFFER_SHIFT;
    if (cqe->res > 0) conn_read(fd, c, c->input ? c->input : ring_buffer(id), (size_t)cqe->res);
    if (cqe->flags & URING_CQE_BUFFER) used[used_count++] = id;
    if (cqe->res <= 0 && cqe->res != -ENOBUFS) conn_end(fd, c);
    else if (!(cqe->flags & URING_CQE_MORE)) conn_receive(fd, c);
}

// A connection that has ended has nobody who misses an answer.
static void on_sent(int fd, const uring_cqe *cqe)
{
    if (cqe->res >= 0) return;
    errno = -cqe->res;
    if (conns[fd].is_there && errno != EPIPE && errno != ECONNRESET && errno != ECANCELED)
        socket_die("send");
}

static void on_completed(const uring_cqe *cqe)
{
    int fd = (int)(uint32_t)cqe->user_data;
    switch ((ring_kind)(cqe->user_data >> 32)) {
    case OF_ACCEPT: on_accepted(cqe); return;
    case OF_RECEIVE: on_received(fd, cqe); return;
    case OF_SEND: on_sent(fd, cqe); return;
    case OF_NOTHING: return;
    }
}

static void give_back(void)
{
    while (used_count)
        ring_give(used[--used_count]);
}

int main(int argc, char **argv)
{
    uring_cqe cqe;
    if (argc < 2) return 2;
    publishes = argc > 2 && strcmp(argv[2], "--publish") == 0;
    is_direct = argc > 2 && strcmp(argv[2], "--direct") == 0;
    socket_prepare(argc, argv);
    ring_open(); // first, so that nobody connects to what ends because the kernel refuses
    listener = socket_listen((int)strtol(argv[1], NULL, 10));
    listener_accept();
    for (;;) {
        ring_turn();
        give_back();
        while (ring_take(&cqe))
            on_completed(&cqe);
    }
}
