// SPDX-License-Identifier: MIT
//
// Scratch files, by O_TMPFILE where the file system has it. Elsewhere by a name that is taken away
// at once; such a file can never be given one again.

#include "io/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRATCH_PATH_OCTETS = 4096 };

static skua_status scratch_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: return SKUA_ENOENT;
    case EACCES:
    case EPERM:
    case EROFS: return SKUA_EACCES;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM: return SKUA_ENOMEM;
    case EEXIST: return SKUA_EEXIST;
    case EXDEV: return SKUA_EUNSUPPORTED;
    default: return SKUA_EIO;
    }
}

// A process that runs with more rights than its user has must not write where the user says.
const char *scratch_directory(void)
{
    bool trusted = getuid() == geteuid() && getgid() == getegid();
    const char *directory = trusted ? getenv("TMPDIR") : NULL;
    return directory && *directory ? directory : "/tmp";
}

static skua_status scratch_open_named(const char *directory, int *fd)
{
    char path[SCRATCH_PATH_OCTETS];
    int len = snprintf(path, sizeof path, "%s/skua-XXXXXX", directory);
    if (len < 0 || (size_t)len >= sizeof path) return SKUA_ENOENT;
    int made = mkostemp(path, O_CLOEXEC);
    if (made < 0) return scratch_status(errno);
    if (unlink(path) != 0) {
        skua_status status = scratch_status(errno);
        (void)close(made);
        return status;
    }
    *fd = made;
    return SKUA_OK;
}

skua_status scratch_open(const char *directory, int *fd)
{
#ifdef O_TMPFILE
    int made = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (made >= 0) {
        *fd = made;
        return SKUA_OK;
    }
    // EISDIR: a kernel without it. EOPNOTSUPP, and EINVAL of some: a file system without it.
    if (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL) return scratch_status(errno);
#endif
    return scratch_open_named(directory, fd);
}

skua_status scratch_write(int fd, uint64_t offset, slice octets)
{
    while (octets.len) {
        ssize_t n = pwrite(fd, octets.ptr, octets.len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return SKUA_EIO;
        octets = slice_from(octets, (size_t)n);
        offset += (uint64_t)n;
    }
    return SKUA_OK;
}

// The file is linked by its descriptor's path: linking a descriptor itself (AT_EMPTY_PATH) is for
// the privileged.
skua_status scratch_link(int fd, int directory, const char *name)
{
    char path[64];
    struct stat at;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) == 0) return SKUA_OK;
    int error = errno;
    bool missing = error == ENOENT && fstat(directory, &at) == 0 && at.st_nlink > 0;
    return missing ? SKUA_EUNSUPPORTED : scratch_status(error);
}
