// SPDX-License-Identifier: MIT
//
// Each file is opened in its folder, and no link is followed, so that nothing outside of the folder is read or written,
// whoever changes it meanwhile. A result gets its name when it is whole, and the time of its file: a server takes
// none that is older, and what has that time already is not made again.

#include "command/precompress.h"

#include "common/say.h"

#include <skua/skua.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define PRECOMPRESS_TIME(info) ((info)->st_mtimespec)
#else
#define PRECOMPRESS_TIME(info) ((info)->st_mtim)
#endif

typedef struct made_coding {
    skua_coding coding;
    const char *suffix, *name;
} made_coding;

static const made_coding made_codings[] = {
    { SKUA_CODING_BROTLI, ".br", "br" },
    { SKUA_CODING_ZSTD, ".zst", "zstd" },
    { SKUA_CODING_GZIP, ".gz", "gzip" },
};

enum { MADE_CODINGS = sizeof made_codings / sizeof *made_codings };

typedef struct precompressed {
    unsigned made, kept, gainless, failed; // files in a coding
    char path[PATH_MAX];                   // below the folder, of what is looked at
} precompressed;

// A text in its folder.
typedef struct text_file {
    int folder;
    const char *name;
    struct stat info;
    char *content;
    size_t len;
} text_file;

static const char *precompress_why(int error)
{
    switch (error) {
    case ENOENT: return "there is no such folder";
    case ENOTDIR: return "it is no folder";
    case EISDIR: return "a folder has its name";
    case EACCES:
    case EPERM: return "there is no permission";
    case EROFS: return "the disk cannot be written";
    case ENOSPC:
    case EDQUOT: return "the disk is full";
    case ENOMEM: return "memory has run out";
    case ELOOP: return "folders lie too deep in each other";
    default: return "the disk cannot do it";
    }
}

static void precompress_fail(precompressed *p, const char *what, int error)
{
    say_error("%s %s%s%s", p->path, what, error ? ": " : "", error ? precompress_why(error) : "");
    p->failed++;
}

// ---- Reading ----

static bool text_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && PRECOMPRESS_TIME(a).tv_sec == PRECOMPRESS_TIME(b).tv_sec &&
           PRECOMPRESS_TIME(a).tv_nsec == PRECOMPRESS_TIME(b).tv_nsec;
}

// A file that changes while it is read is left for the next time.
static bool text_load(precompressed *p, text_file *text, int fd)
{
    struct stat after;
    size_t size = (size_t)text->info.st_size;
    ssize_t n = 1;
    text->content = malloc(size);
    while (text->content && n > 0 && text->len < size) {
        n = read(fd, text->content + text->len, size - text->len);
        if (n > 0) text->len += (size_t)n;
    }
    bool is_whole = text->content && text->len == size && fstat(fd, &after) == 0 &&
                    text_is_same(&text->info, &after);
    if (!text->content) precompress_fail(p, "cannot be read", ENOMEM);
    else if (n < 0) precompress_fail(p, "cannot be read", errno);
    else if (!is_whole) precompress_fail(p, "is being changed; it is left as it is", 0);
    return is_whole;
}

// ---- Writing ----

// A name that nobody else has, and that no server shows.
static bool made_open(const text_file *text, const char *name, char temporary[NAME_MAX + 1],
                      int *fd)
{
    uint64_t random;
    if (getentropy(&random, sizeof random) != 0) return false;
    int n = snprintf(temporary, NAME_MAX + 1, ".%.200s.%016llx", name, (unsigned long long)random);
    if (n < 0 || n > NAME_MAX) return false;
    *fd =
        openat(text->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd >= 0;
}

static bool made_write(const text_file *text, int fd, const char *octets, size_t len)
{
    const struct timespec times[] = { PRECOMPRESS_TIME(&text->info),
                                      PRECOMPRESS_TIME(&text->info) };
    while (len) {
        ssize_t n = write(fd, octets, len);
        if (n < 0) return false;
        octets += n;
        len -= (size_t)n;
    }
    return fchmod(fd, text->info.st_mode & 0777) == 0 && futimens(fd, times) == 0 && fsync(fd) == 0;
}

static bool made_put(const text_file *text, const char *name, const char *octets, size_t len)
{
    char temporary[NAME_MAX + 1];
    int fd;
    if (!made_open(text, name, temporary, &fd)) return false;
    bool written = made_write(text, fd, octets, len);
    int error = errno;
    (void)close(fd);
    if (written && renameat(text->folder, temporary, text->folder, name) == 0) return true;
    if (written) error = errno;
    (void)unlinkat(text->folder, temporary, 0);
    errno = error;
    return false;
}

// ---- One file ----

static bool made_is_there(const text_file *text, const char *name)
{
    struct stat info;
    bool found = fstatat(text->folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    return found && S_ISREG(info.st_mode) &&
           PRECOMPRESS_TIME(&info).tv_sec == PRECOMPRESS_TIME(&text->info).tv_sec &&
           PRECOMPRESS_TIME(&info).tv_nsec == PRECOMPRESS_TIME(&text->info).tv_nsec;
}

static bool made_name(const text_file *text, const made_coding *by, char name[NAME_MAX + 1])
{
    int n = snprintf(name, NAME_MAX + 1, "%s%s", text->name, by->suffix);
    return n > 0 && n <= NAME_MAX;
}

// Whether one is missing.
static bool text_lacks_any(const text_file *text)
{
    char name[NAME_MAX + 1];
    for (size_t i = 0; i < MADE_CODINGS; i++) {
        if (skua_coding_is_built(made_codings[i].coding) &&
            made_name(text, &made_codings[i], name) && !made_is_there(text, name))
            return true;
    }
    return false;
}

static void text_make(precompressed *p, const text_file *text, const made_coding *by, char *out)
{
    char name[NAME_MAX + 1];
    size_t room = text->len - text->len / 16, len;
    if (!skua_coding_is_built(by->coding) || !made_name(text, by, name)) return;
    if (made_is_there(text, name)) {
        p->kept++;
        return;
    }
    skua_status status = skua_encode(by->coding, SKUA_EFFORT_BEST,
                                     (skua_slice){ text->content, text->len }, out, room, &len);
    if (status == SKUA_ELIMIT) p->gainless++;
    else if (status) precompress_fail(p, "cannot be compressed", ENOMEM);
    else if (!made_put(text, name, out, len)) precompress_fail(p, "cannot be compressed", errno);
    else {
        p->made++;
        (void)printf("%s  %zu -> %s %zu\n", p->path, text->len, by->name, len);
    }
}

static void text_compress(precompressed *p, text_file *text, int fd)
{
    char *out = NULL;
    if (!text_lacks_any(text)) {
        p->kept += MADE_CODINGS;
        return;
    }
    if (text_load(p, text, fd) && !(out = malloc(text->len)))
        precompress_fail(p, "cannot be compressed", ENOMEM);
    for (size_t i = 0; i < MADE_CODINGS && out; i++)
        text_make(p, text, &made_codings[i], out);
    free(out);
    free(text->content);
}

// Whether a server would compress a file of that name.
static bool text_is_meant(const char *name)
{
    return skua_compress_gains(skua_slice_of(skua_media_type(skua_slice_of(name))));
}

static void precompress_file(precompressed *p, int folder, const char *name)
{
    text_file text = { .folder = folder, .name = name };
    if (!text_is_meant(name)) return;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ELOOP) precompress_fail(p, "cannot be read", errno);
        return;
    }
    if (fstat(fd, &text.info) != 0) precompress_fail(p, "cannot be read", errno);
    else if (S_ISREG(text.info.st_mode) && text.info.st_size > PRECOMPRESS_OCTETS_MAX)
        say_warning("%s is larger than %d MiB, and left as it is", p->path,
                    PRECOMPRESS_OCTETS_MAX >> 20);
    else if (S_ISREG(text.info.st_mode) && text.info.st_size >= PRECOMPRESS_OCTETS_MIN)
        text_compress(p, &text, fd);
    (void)close(fd);
}

// ---- Folders ----

static bool precompress_folder(precompressed *p, int folder, size_t path_len, unsigned depth);

static bool precompress_is_hidden(const char *name)
{
    return name[0] == '.' && strcmp(name, ".well-known") != 0;
}

// Links, and all that is neither a folder nor a file, are passed over.
static void precompress_entry(precompressed *p, int folder, const char *name, size_t path_len,
                              unsigned depth)
{
    struct stat info;
    if (precompress_is_hidden(name)) return;
    int n =
        snprintf(p->path + path_len, sizeof p->path - path_len, "%s%s", path_len ? "/" : "", name);
    if (n < 0 || (size_t)n >= sizeof p->path - path_len) return;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISREG(info.st_mode)) precompress_file(p, folder, name);
    if (!S_ISDIR(info.st_mode)) return;
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0 || !precompress_folder(p, inner, path_len + (size_t)n, depth + 1))
        precompress_fail(p, "cannot be read", errno);
}

// folder: given. Returns: false when it cannot be read.
static bool precompress_folder(precompressed *p, int folder, size_t path_len, unsigned depth)
{
    DIR *entries = depth < PRECOMPRESS_DEPTH_MAX ? fdopendir(folder) : NULL;
    if (!entries) {
        if (depth == PRECOMPRESS_DEPTH_MAX) errno = ELOOP;
        (void)close(folder);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        precompress_entry(p, dirfd(entries), entry->d_name, path_len, depth);
        p->path[path_len] = '\0';
    }
    (void)closedir(entries);
    return true;
}

bool precompress(const char *folder)
{
    precompressed *p = calloc(1, sizeof *p);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!p || fd < 0 || !precompress_folder(p, fd, 0, 0)) {
        say_error("the folder %s cannot be read: %s", folder, precompress_why(errno));
        free(p);
        return false;
    }
    (void)printf("%u compressed files written, %u were there, %u would not gain, %u failed\n",
                 p->made, p->kept, p->gainless, p->failed);
    bool all = p->failed == 0;
    free(p);
    return all;
}
