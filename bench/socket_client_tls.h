// SPDX-License-Identifier: MIT
//
// TLS 1.3 with TLS_AES_128_GCM_SHA256 for the client of the bench of WebSockets. Connections are opened by OpenSSL. Then
// records are sealed and opened by EVP alone, and most that come are only counted: a client that costs more than the
// server would leave it waiting, and a server that waits is woken more often the faster it is.
#ifndef BENCH_SOCKET_CLIENT_TLS_H
#define BENCH_SOCKET_CLIENT_TLS_H

#include <stddef.h>
#include <sys/types.h>

typedef struct tls_conn tls_conn;

void client_tls_prepare(void);

// The handshake, over a socket that blocks.
tls_conn *client_tls_open(int fd);

// As send and recv. Once taken over, an octet string is a record, which leaves whole or ends the program.
ssize_t client_tls_send(tls_conn *t, int fd, const char *octets, size_t len);
ssize_t client_tls_recv(tls_conn *t, char *octets, size_t len);

// From now on records are ours: client_tls_take is called in place of client_tls_recv.
void client_tls_take_over(tls_conn *t);

// Receives records. told gets the content of each, or NULL for the octets if the record was not opened.
// Returns: as recv, of what was on the wire.
typedef void client_tls_told(void *user, const char *octets, size_t len);
ssize_t client_tls_take(tls_conn *t, int fd, client_tls_told *told, void *user);

#endif
