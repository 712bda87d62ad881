// SPDX-License-Identifier: MIT
//
// Page cache: what of a file the kernel has in its memory, so that reading or sending it does not
// wait for a disk.
#ifndef SKUA_IO_PAGE_CACHE_H
#define SKUA_IO_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

// Whether a range of a file is there and can be used at once. False also if nobody can tell.
bool page_cache_holds(int fd, uint64_t offset, uint64_t length);

// Reads as pread does if it can be done without waiting.
// Returns: octets, all that are asked for; or -1.
ssize_t page_cache_read(int fd, char *buffer, size_t length, uint64_t offset);

// The same to several places, of length octets in all.
ssize_t page_cache_read_to(int fd, const struct iovec *places, unsigned count, size_t length,
                           uint64_t offset);

// The same of what was there a moment ago, which is not looked at before.
ssize_t page_cache_read_again(int fd, const struct iovec *places, unsigned count, size_t length,
                              uint64_t offset);

// Brings a range in, and has the kernel begin with what follows it. Waits for the disk.
void page_cache_load(int fd, uint64_t offset, uint64_t length);

#endif
