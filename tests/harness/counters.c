// SPDX-License-Identifier: MIT
//
// Preloaded into a server, counts what it takes from the heap and from mmap. The counters lie in
// the file that SKUA_COUNTERS names, shared, so that a test reads them while the server runs.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct counters {
    _Atomic uint64_t calls; // malloc, calloc, realloc, aligned, mmap
    _Atomic int64_t octets; // in use
    _Atomic int64_t most;   // that were, since a test has set it
} counters;

static counters unshared;
static counters *shared = &unshared;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *ptr);

static void *(*next_mmap)(void *, size_t, int, int, int, off_t);
static int (*next_munmap)(void *, size_t);

__attribute__((constructor)) static void counters_open(void)
{
    const char *path = getenv("SKUA_COUNTERS");
    next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    next_munmap = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *map = next_mmap(NULL, sizeof(counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED) shared = map;
}

static void *counted(void *ptr)
{
    atomic_fetch_add(&shared->calls, 1);
    if (!ptr) return NULL;
    int64_t len = (int64_t)malloc_usable_size(ptr),
            octets = atomic_fetch_add(&shared->octets, len) + len;
    int64_t most = atomic_load(&shared->most);
    while (octets > most && !atomic_compare_exchange_weak(&shared->most, &most, octets))
        continue;
    return ptr;
}

static void uncounted(void *ptr)
{
    if (ptr) atomic_fetch_sub(&shared->octets, (int64_t)malloc_usable_size(ptr));
}

void *malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    uncounted(old);
    void *ptr = __libc_realloc(old, size);
    if (!ptr && old && size) counted(old);
    return counted(ptr);
}

void *memalign(size_t alignment, size_t size)
{
    return counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *ptr = memalign(alignment, size);
    if (!ptr) return ENOMEM;
    *out = ptr;
    return 0;
}

void free(void *ptr)
{
    uncounted(ptr);
    __libc_free(ptr);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!next_mmap)
        next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    void *map = next_mmap(address, size, protection, flags, fd, offset);
    if (map != MAP_FAILED && shared != &unshared) {
        atomic_fetch_add(&shared->calls, 1);
        atomic_fetch_add(&shared->octets, (int64_t)size);
    }
    return map;
}

int munmap(void *address, size_t size)
{
    if (shared != &unshared) atomic_fetch_sub(&shared->octets, (int64_t)size);
    if (!next_munmap) next_munmap = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    return next_munmap(address, size);
}
