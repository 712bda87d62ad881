// SPDX-License-Identifier: MIT
//
// Addresses as people write them, and listening sockets.
#ifndef SKUA_IO_SOCKET_H
#define SKUA_IO_SOCKET_H

#include "io/io.h"

// An address to listen on. Holds sockaddr octets without naming their type.
struct socket_address {
    _Alignas(8) char octets[128];
    uint32_t len;
    bool is_unix;
    bool is_loopback; // 127.0.0.0/8, ::1, or a Unix socket
    bool dual_stack;  // ":port" and "[::]:port": IPv4 too
};

enum { SOCKET_TEXT_OCTETS = 128 };

// Reads "127.0.0.1:8080", "[::1]:8080", ":8080" and "*:8080" (every address, dual-stack, or IPv4
// alone where there is no IPv6), "localhost:8080" (127.0.0.1), "unix:/path", "unix:@abstract".
// Numeric otherwise: no look-up of names.
skua_status socket_address_read(slice text, socket_address *address);

// Writes it back, NUL-terminated, in a form that socket_address_read takes.
void socket_address_write(const socket_address *address, char text[SOCKET_TEXT_OCTETS]);

// Writes a peer's address: "127.0.0.1", "::1", "unix"; IPv4-mapped IPv6 as IPv4. Returns the
// length.
size_t io_address_write(const io_address *address, char *text, size_t room);

// When a peer that says nothing is asked whether it is there: after so many seconds, and again so
// many times at this interval. One that does not answer is lost after two minutes.
enum { SOCKET_KEEP_IDLE_S = 60, SOCKET_KEEP_INTERVAL_S = 10, SOCKET_KEEP_COUNT = 6 };

// Opens a listening socket: non-blocking, close-on-exec, SO_REUSEADDR, SO_REUSEPORT if shared,
// TCP_NODELAY, TCP_DEFER_ACCEPT (1 s) and SO_KEEPALIVE so that accepted sockets inherit them. A
// stale Unix socket file is replaced only if nobody answers on it. address gets the port the kernel
// chose. A Unix socket is never shared: listen once.
// With shared, the first caller must have found out that nobody else listens: socket_in_use.
// Errors: SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOFILE, SKUA_ENOMEM, SKUA_EINVAL,
// SKUA_EIO.
skua_status socket_listen(socket_address *address, int backlog, bool shared, int *fd);

// Whether the kernel spreads connections over the sockets that share an address.
bool socket_sharing_balances(void);

// Takes over a listening socket that somebody else has opened, and finds out its address. fd:
// becomes non-blocking, close-on-exec, and hands TCP_NODELAY and SO_KEEPALIVE on to what it
// accepts; untouched on failure.
// Errors: SKUA_EINVAL not a listening stream socket of IPv4, IPv6 or Unix.
skua_status socket_adopt(int fd, socket_address *address);

// A number that no other listening socket has while this one is open, as far as the system tells;
// 0: fd is no listening socket.
uint64_t socket_listener_id(int fd);

// Whether another process (or server) listens there already: SO_REUSEPORT would join it silently.
bool socket_in_use(const socket_address *address);

// Begins a connection: non-blocking, close-on-exec, TCP_NODELAY, SO_KEEPALIVE. *waits: the outcome
// is known when the socket becomes writable, from socket_connect_status; else it is connected.
// Returns: the descriptor, or a negated status, of those that io_stream_events.connected tells.
int socket_connect(const socket_address *to, bool *waits);

// The outcome of a connection that was begun.
skua_status socket_connect_status(int fd);

// Lets nobody begin to connect to a listening socket any more, where the system can: whoever tries hears nothing until
// it is closed. Those who have begun go on.
void socket_turn_away(int fd);

// Removes the file of a Unix socket that is listened on.
void socket_retract(const socket_address *address);

// Closes a listening socket and removes the file of a Unix socket.
void socket_close(const socket_address *address, int fd);

#endif
