// SPDX-License-Identifier: MIT
//
// An opening gets the lowest number that is free, so each closed one is filled in its turn.

#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool streams_complete(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", O_RDWR) != fd) return false;
    }
    return true;
}
