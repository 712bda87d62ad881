// SPDX-License-Identifier: MIT
//
// Page cache. Linux tells of a range whether its pages are there (cachestat, 6.5), though some may
// still be on their way from the disk; and refuses to read what is not ready (RWF_NOWAIT), which
// copies. So a few octets are read here and there,
// but only of what may be there: before it refuses, the kernel begins to read, and that waits where
// the disk has enough to do.
// Where the first is missing, or not allowed for other people's files, the few octets decide.

#include "io/page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

enum {
    PAGE_CACHE_STRIDE = 32768,      // readahead comes in larger pieces
    PAGE_CACHE_AHEAD = 2 * 1048576, // begun with, beyond what is loaded
    // some kernels begin with no more than a readahead's length when they are told
    PAGE_CACHE_PIECE = 131072,
    PAGE_CACHE_READ_OCTETS = 32768 // at a time; threads of some libraries have little stack
};

#if defined(__linux__) && defined(RWF_NOWAIT) && defined(SYS_preadv2)

enum {
#ifdef SYS_cachestat
    PAGE_CACHE_CALL = SYS_cachestat,
#else
    PAGE_CACHE_CALL = 451, // everywhere but on Alpha
#endif
};

// The kernel's structures.
typedef struct page_cache_range {
    uint64_t offset, length;
} page_cache_range;

typedef struct page_cache_stat {
    uint64_t cached, dirty, written, evicted, recently_evicted;
} page_cache_stat;

_Static_assert(sizeof(page_cache_range) == 16 && sizeof(page_cache_stat) == 40, "the kernel's ABI");

// Whether some page is known to be missing.
static bool page_cache_lacks(int fd, uint64_t offset, uint64_t length)
{
    page_cache_range range = { offset, length };
    page_cache_stat stat = { 0 };
    if (syscall(PAGE_CACHE_CALL, fd, &range, &stat, 0) != 0) return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return stat.cached < (offset + length - 1) / page - offset / page + 1;
}

static ssize_t page_cache_try_to(int fd, const struct iovec *places, unsigned count,
                                 uint64_t offset)
{
    // The halves of an offset: on 64-bit systems the first is all of it.
    return syscall(SYS_preadv2, fd, places, (long)count, (long)offset, (long)(offset >> 32),
                   RWF_NOWAIT);
}

static ssize_t page_cache_try(int fd, char *buffer, size_t length, uint64_t offset)
{
    struct iovec place = { .iov_base = buffer, .iov_len = length };
    return page_cache_try_to(fd, &place, 1, offset);
}

bool page_cache_holds(int fd, uint64_t offset, uint64_t length)
{
    char octet;
    if (length == 0) return true;
    if (page_cache_lacks(fd, offset, length)) return false;
    for (uint64_t at = 0; at < length; at += PAGE_CACHE_STRIDE) {
        if (page_cache_try(fd, &octet, 1, offset + at) < 0) return false;
    }
    return page_cache_try(fd, &octet, 1, offset + length - 1) >= 0;
}

ssize_t page_cache_read_again(int fd, const struct iovec *places, unsigned count, size_t length,
                              uint64_t offset)
{
    ssize_t n = page_cache_try_to(fd, places, count, offset);
    return n == (ssize_t)length ? n : -1;
}

ssize_t page_cache_read_to(int fd, const struct iovec *places, unsigned count, size_t length,
                           uint64_t offset)
{
    if (length && page_cache_lacks(fd, offset, length)) return -1;
    return page_cache_read_again(fd, places, count, length, offset);
}

#else

bool page_cache_holds(int fd, uint64_t offset, uint64_t length)
{
    (void)fd, (void)offset;
    return length == 0;
}

ssize_t page_cache_read_again(int fd, const struct iovec *places, unsigned count, size_t length,
                              uint64_t offset)
{
    (void)fd, (void)places, (void)count, (void)offset;
    return length == 0 ? 0 : -1;
}

ssize_t page_cache_read_to(int fd, const struct iovec *places, unsigned count, size_t length,
                           uint64_t offset)
{
    return page_cache_read_again(fd, places, count, length, offset);
}

#endif

ssize_t page_cache_read(int fd, char *buffer, size_t length, uint64_t offset)
{
    struct iovec place = { .iov_base = buffer, .iov_len = length };
    return page_cache_read_to(fd, &place, 1, length, offset);
}

// No reading of the kernel's own choice: sending would begin it, and may then wait for room in a
// queue.
static void page_cache_begin(int fd, uint64_t offset, uint64_t length)
{
#ifdef POSIX_FADV_WILLNEED
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (uint64_t at = 0; at < length; at += PAGE_CACHE_PIECE) {
        (void)posix_fadvise(fd, (off_t)(offset + at), PAGE_CACHE_PIECE, POSIX_FADV_WILLNEED);
    }
#else
    (void)fd, (void)offset, (void)length;
#endif
}

void page_cache_load(int fd, uint64_t offset, uint64_t length)
{
    char octets[PAGE_CACHE_READ_OCTETS];
    page_cache_begin(fd, offset, length + PAGE_CACHE_AHEAD);
    for (uint64_t at = 0; at < length;) {
        uint64_t left = length - at;
        ssize_t n = pread(fd, octets, left < sizeof octets ? (size_t)left : sizeof octets,
                          (off_t)(offset + at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // sending it will tell
        at += (uint64_t)n;
    }
}
