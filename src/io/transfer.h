// SPDX-License-Identifier: MIT
//
// Transfer: accepting, sending and sending files, which every kernel spells differently, in one
// spelling.
#ifndef SKUA_IO_TRANSFER_H
#define SKUA_IO_TRANSFER_H

#include "io/io.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/types.h>

// Reads a peer's address; one that is neither IPv4 nor IPv6 is a Unix socket's.
void transfer_read_peer(io_address *peer, const struct sockaddr_storage *from);

// Accepts a connection: non-blocking, close-on-exec, and never the cause of a SIGPIPE. peer: whose
// it is.
// Returns: the descriptor, or -1 and errno.
int transfer_accept(int listener, io_address *peer);

// The most that one call is asked to send: no kernel takes more than an int's worth.
enum { TRANSFER_OCTETS_MAX = 1 << 30 };

// The memory segments at the front of out, at most most octets of them. Returns how many.
// *octets: their sum.
static inline unsigned transfer_gather(out_queue *out, uint64_t most, struct iovec *iov,
                                       unsigned room, uint64_t *octets)
{
    unsigned n = 0;
    *octets = 0;
    if (most > TRANSFER_OCTETS_MAX) most = TRANSFER_OCTETS_MAX;
    while (n < out->count && n < room && *octets < most) {
        const out_segment *segment = out_segment_at(out, n);
        if (segment->kind == OUT_FILE) break;
        uint64_t len = segment->len < most - *octets ? segment->len : most - *octets;
        union {
            const char *from;
            void *to;
        } ptr = { .from = segment->ptr };
        iov[n++] = (struct iovec){ .iov_base = ptr.to, .iov_len = (size_t)len };
        *octets += len;
    }
    return n;
}

// As recv without flags.
ssize_t transfer_recv(int fd, char *octets, size_t room);

// Sends at most most octets of the memory segments at the front of out in one call. last: once out
// is empty, FIN follows at once.
// *asked: how many octets it tried.  Returns: octets sent, or -1 and errno.
ssize_t transfer_send(int fd, out_queue *out, uint64_t most, bool last, uint64_t *asked);

// Whether sending a file waits for the disk. FreeBSD's sendfile reads it by itself.
#ifdef __FreeBSD__
enum { TRANSFER_FILE_WAITS = 0 };
#else
enum { TRANSFER_FILE_WAITS = 1 };
#endif

// Sends at most most octets of the file segment at the front of out.
// *asked: how many octets it tried.  Returns: octets sent, 0 where the file ends, or -1 and errno.
ssize_t transfer_send_file(int fd, out_queue *out, uint64_t most, uint64_t *asked);

// Lets the socket's closing reset the connection and drop what was not sent. Does nothing to a Unix
// socket.
void transfer_close_resets(int fd);

// Sends octets if the socket has room for them, without waiting.
// Returns: how many; 0 also when it fails.
size_t transfer_send_now(const io_loop *loop, const io_stream *stream, const char *octets,
                         size_t len);

// Octets in the socket that the peer's side has not acknowledged; 0 where the system does not tell.
uint64_t transfer_unsent(const io_stream *stream);
uint64_t transfer_unsent_of(int fd); // the same of any socket

#endif
