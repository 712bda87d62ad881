// SPDX-License-Identifier: MIT
//
// Linux's <sys/socket.h> with FreeBSD's sendfile(2) in it.
#ifndef SKUA_TESTS_KQUEUE_SOCKET_H
#define SKUA_TESTS_KQUEUE_SOCKET_H

#include_next <sys/socket.h>

#include <stddef.h>
#include <sys/types.h>

struct sf_hdtr;

// Sends nbytes of fd from offset, or all of it if that is 0. *sbytes: how many left, also when it
// failed.
int shim_sendfile(int fd, int s, off_t offset, size_t nbytes, struct sf_hdtr *hdtr, off_t *sbytes,
                  int flags);

#define sendfile shim_sendfile

#endif
