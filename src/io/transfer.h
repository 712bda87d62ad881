// SPDX-License-Identifier: MIT
//
// Transfer: accepting, sending and sending files, which every kernel spells differently, in one
// spelling.
#ifndef SKUA_IO_TRANSFER_H
#define SKUA_IO_TRANSFER_H

#include "io/io.h"

#include <sys/socket.h>
#include <sys/types.h>

// Reads a peer's address; one that is neither IPv4 nor IPv6 is a Unix socket's.
void transfer_read_peer(io_address *peer, const struct sockaddr_storage *from);

// Accepts a connection: non-blocking, close-on-exec, and never the cause of a SIGPIPE. peer: whose
// it is.
// Returns: the descriptor, or -1 and errno.
int transfer_accept(int listener, io_address *peer);

// Sends the memory segments at the front of out in one call. last: once out is empty, FIN follows
// at once.
// *asked: how many octets it tried.  Returns: octets sent, or -1 and errno.
ssize_t transfer_send(int fd, out_queue *out, bool last, uint64_t *asked);

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

// Octets in the socket that the peer's side has not acknowledged; 0 where the system does not tell.
uint64_t transfer_unsent(const io_stream *stream);

#endif
