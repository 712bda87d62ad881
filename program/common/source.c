// SPDX-License-Identifier: MIT
//
// Entries stand in a row, each with a kind, a name, and octets: those of a file, or names that a pattern has found,
// with a NUL behind each. Everything is looked up from the first entry on, since there are few.

#include "common/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SOURCE_PIPE_OCTETS_MAX = 1 << 20, SOURCE_PIPE_MS = 10000 };

typedef enum source_mode { SOURCE_DISK, SOURCE_KEEPS, SOURCE_GIVES } source_mode;
typedef enum source_kind { SOURCE_FILE, SOURCE_PATTERN } source_kind;

typedef struct source_head {
    uint32_t kind;
    uint32_t name_len;
    uint64_t len;
} source_head;

// Octets of one entry.
typedef struct source_entry {
    const char *octets;
    size_t len;
} source_entry;

static struct {
    source_mode mode;
    char *octets; // entries
    size_t len, room;
    bool failed; // something could not be kept
} source;

static void source_drop(void)
{
    free(source.octets);
    source.octets = NULL;
    source.len = source.room = 0;
    source.failed = false;
    source.mode = SOURCE_DISK;
}

// ---- Keeping ----

static bool source_grow(size_t more)
{
    if (more > SOURCE_OCTETS_MAX || source.len + more > SOURCE_OCTETS_MAX) return false;
    if (source.len + more <= source.room) return true;
    size_t room = 2 * (source.len + more);
    char *octets = realloc(source.octets, room);
    if (!octets) return false;
    source.octets = octets;
    source.room = room;
    return true;
}

static void source_add(const void *octets, size_t len)
{
    if (source.failed || !source_grow(len)) source.failed = true;
    else memcpy(source.octets + source.len, octets, len);
    if (!source.failed) source.len += len;
}

static void source_begin_entry(source_kind kind, const char *name, size_t len)
{
    const source_head head = { kind, (uint32_t)strlen(name), len };
    source_add(&head, sizeof head);
    source_add(name, head.name_len);
}

// A file that grows while it is read is kept as far as it went when it was opened.
static void source_keep_file(const char *path, int fd, size_t size)
{
    char *octets = malloc(size + 1);
    size_t len = 0;
    ssize_t n = octets ? 1 : -1;
    while (n > 0 && len < size) {
        n = pread(fd, octets + len, size - len, (off_t)len);
        if (n > 0) len += (size_t)n;
    }
    if (n < 0) source.failed = true;
    else source_begin_entry(SOURCE_FILE, path, len);
    if (n >= 0) source_add(octets, len);
    free(octets);
}

static void source_keep_pattern(const char *pattern, const glob_t *found)
{
    size_t len = 0;
    for (size_t i = 0; i < found->gl_pathc; i++)
        len += strlen(found->gl_pathv[i]) + 1;
    source_begin_entry(SOURCE_PATTERN, pattern, len);
    for (size_t i = 0; i < found->gl_pathc; i++)
        source_add(found->gl_pathv[i], strlen(found->gl_pathv[i]) + 1);
}

// ---- Giving ----

static bool source_find(source_kind kind, const char *name, source_entry *entry)
{
    size_t at = 0, name_len = strlen(name);
    source_head head;
    while (source.len - at >= sizeof head) {
        memcpy(&head, source.octets + at, sizeof head);
        at += sizeof head;
        if (head.name_len > source.len - at || head.len > source.len - at - head.name_len)
            return false;
        bool is_it = head.kind == (uint32_t)kind && head.name_len == name_len &&
                     memcmp(source.octets + at, name, name_len) == 0;
        at += head.name_len;
        *entry = (source_entry){ source.octets + at, (size_t)head.len };
        if (is_it) return true;
        at += (size_t)head.len;
    }
    return false;
}

// A file in memory, at its beginning. -1: none can be had.
static int source_file_of(const char *octets, size_t len)
{
#ifdef __linux__
    int fd = memfd_create("skua", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, octets + done, len - done);
        if (n <= 0) {
            (void)close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    if (fd >= 0) (void)lseek(fd, 0, SEEK_SET);
    return fd;
#else
    (void)octets, (void)len;
    errno = ENOSYS;
    return -1;
#endif
}

static int64_t source_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// A supervisor that waited for ever for one who writes nothing would not even stop.
static ssize_t source_read_pipe(int pipe, char *octets, size_t room, int64_t end_ms)
{
    for (;;) {
        int64_t left_ms = end_ms - source_now_ms();
        struct pollfd one = { .fd = pipe, .events = POLLIN };
        int ready = left_ms > 0 ? poll(&one, 1, (int)left_ms) : 0;
        ssize_t n = ready > 0 ? read(pipe, octets, room) : -1;
        if (ready == 0) errno = ETIMEDOUT;
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return n;
    }
}

// A pipe can be read once, so a file in memory takes its place. Returns: that one, or -1.
static int source_file_of_pipe(int pipe)
{
    char *octets = NULL;
    size_t len = 0, room = 0;
    ssize_t n = 1;
    int64_t end_ms = source_now_ms() + SOURCE_PIPE_MS;
    while (n > 0 && len <= SOURCE_PIPE_OCTETS_MAX) {
        char *more = room - len < 4096 ? realloc(octets, room += 65536) : octets;
        if (!more) break;
        octets = more;
        n = source_read_pipe(pipe, octets + len, room - len, end_ms);
        if (n > 0) len += (size_t)n;
    }
    int error = errno;
    int fd = n == 0 ? source_file_of(octets, len) : -1;
    free(octets);
    if (n < 0) errno = error;
    return fd;
}

static int source_give_file(const char *path)
{
    source_entry entry;
    if (source_find(SOURCE_FILE, path, &entry)) return source_file_of(entry.octets, entry.len);
    errno = ENOENT;
    return -1;
}

static size_t source_count(const source_entry *names)
{
    size_t count = 0;
    for (size_t i = 0; i < names->len; i++)
        count += !names->octets[i];
    return count;
}

static int source_give_pattern(const char *pattern, glob_t *found)
{
    source_entry names = { NULL, 0 };
    *found = (glob_t){ 0 };
    if (!source_find(SOURCE_PATTERN, pattern, &names)) return GLOB_NOMATCH;
    found->gl_pathv = calloc(source_count(&names) + 1, sizeof *found->gl_pathv);
    if (!found->gl_pathv) return GLOB_NOSPACE;
    for (size_t at = 0; at < names.len; at += strlen(names.octets + at) + 1)
        found->gl_pathv[found->gl_pathc++] = (char *)(uintptr_t)(names.octets + at);
    return 0;
}

// ---- For whoever reads a configuration ----

int source_open(const char *path, bool may_flow)
{
    struct stat info;
    if (source.mode == SOURCE_GIVES) return source_give_file(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) return fd;
    if (may_flow && source.mode == SOURCE_KEEPS && !S_ISREG(info.st_mode) &&
        !S_ISDIR(info.st_mode)) {
        int file = source_file_of_pipe(fd);
        (void)close(fd);
        if ((fd = file) < 0 || fstat(fd, &info) != 0) return fd;
    }
    if (source.mode == SOURCE_KEEPS && S_ISREG(info.st_mode))
        source_keep_file(path, fd, (size_t)info.st_size);
    if (may_flow) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

int source_glob(const char *pattern, glob_t *found)
{
    if (source.mode == SOURCE_GIVES) return source_give_pattern(pattern, found);
    int failed = glob(pattern, GLOB_ERR, NULL, found);
    if (!failed && source.mode == SOURCE_KEEPS) source_keep_pattern(pattern, found);
    return failed;
}

void source_glob_free(glob_t *found)
{
    if (source.mode == SOURCE_GIVES) free(found->gl_pathv);
    else globfree(found);
}

void source_keep(void)
{
    source_drop();
    source.mode = SOURCE_KEEPS;
}

int source_kept(void)
{
    int fd = source.failed ? -1 : source_file_of(source.octets, source.len);
    source_drop();
    return fd;
}

bool source_from(int fd)
{
    struct stat info;
    source_drop();
    if (fd < 0) return true;
    if (fstat(fd, &info) != 0 || info.st_size > SOURCE_OCTETS_MAX) return false;
    size_t len = (size_t)info.st_size;
    if (!source_grow(len ? len : 1)) return false;
    while (source.len < len) {
        ssize_t n = pread(fd, source.octets + source.len, len - source.len, (off_t)source.len);
        if (n <= 0) return false;
        source.len += (size_t)n;
    }
    source.mode = SOURCE_GIVES;
    return true;
}

bool source_is_given(void)
{
    return source.mode == SOURCE_GIVES;
}
