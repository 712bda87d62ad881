// SPDX-License-Identifier: MIT
//
// FreeBSD's sendfile over Linux's. It goes on until all is sent, the file ends, or the socket is
// full: then it says EAGAIN, and in sbytes what had left before.

#include <sys/socket.h>

#include <errno.h>

// <sys/sendfile.h> is not to be included: its name is taken.
#undef sendfile
extern ssize_t sendfile(int to, int from, off_t *offset, size_t count);

enum { SHIM_WHOLE_FILE = 0x7ffff000 }; // as much as Linux sends at once

int shim_sendfile(int fd, int s, off_t offset, size_t nbytes, struct sf_hdtr *hdtr, off_t *sbytes,
                  int flags)
{
    off_t sent = 0;
    ssize_t n = hdtr || flags ? -1 : 1;
    if (n < 0) errno = EINVAL;
    while (n > 0 && (nbytes == 0 || (size_t)sent < nbytes)) {
        off_t at = offset + sent;
        n = sendfile(s, fd, &at, nbytes ? nbytes - (size_t)sent : SHIM_WHOLE_FILE);
        if (n > 0) sent += n;
    }
    if (sbytes) *sbytes = sent;
    return n < 0 ? -1 : 0;
}
