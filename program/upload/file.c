// SPDX-License-Identifier: MIT

#include "upload/file.h"

#include "upload/sibling.h"
#include "upload/stale.h"
#include "upload/tag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { UPLOAD_MODE = 0644 };

// The status of a response for what the disk has said.
static int upload_status(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT: return 507;
    case EFBIG: return 413;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EEXIST: return 409;
    case ENAMETOOLONG: return 414;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return 503;
    default: return 500;
    }
}

// ---- Finding ----

static int upload_file_open_folder(int above, const char *name)
{
    return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Goes down segment by segment, so that no link leads elsewhere.
static int upload_file_walk(upload_file *file, int folder, const char *path)
{
    char segment[UPLOAD_NAME_OCTETS];
    int above = upload_file_open_folder(folder, ".");
    for (const char *slash; above >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        size_t len = (size_t)(slash - path);
        int former = above;
        if (len < sizeof segment) {
            memcpy(segment, path, len);
            segment[len] = '\0';
            above = upload_file_open_folder(former, segment);
        } else {
            above = -1;
            errno = ENAMETOOLONG;
        }
        int error = errno;
        (void)close(former);
        errno = error;
    }
    if (above < 0) return upload_status(errno);
    file->above = above;
    if (strlen(path) >= sizeof file->name) return 414;
    memcpy(file->name, path, strlen(path) + 1);
    return 0;
}

int upload_file_find(upload_file *file, const upload_place *place, const char *path,
                     int64_t unix_ns)
{
    *file = (upload_file){ .above = -1, .fd = -1, .hashed = -1 };
    int status = upload_file_walk(file, place->folder, path);
    if (status) return status;
    file->held_len = place->overwrites ? 0 : sibling_of(file->name, strlen(file->name));
    if (fstatat(file->above, file->name, &file->found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : upload_status(errno);
    if (S_ISDIR(file->found.st_mode)) return 409;
    if (!S_ISREG(file->found.st_mode)) return 403;
    file->exists = true;
    upload_tag_begin(file, place->etags, unix_ns);
    return 0;
}

// ---- Writing ----

// Names of this process do not meet; those that another one has left are passed over. make: gives the file that name.
static int upload_file_hide(upload_file *file, int (*make)(upload_file *file))
{
    static _Atomic(unsigned) number;
    int made = -1;
    for (unsigned tries = 0; tries < 100 && made < 0; tries++) {
        (void)snprintf(file->hidden, sizeof file->hidden, STALE_PREFIX "%ld-%u", (long)getpid(),
                       atomic_fetch_add(&number, 1));
        made = make(file);
        if (made < 0 && errno != EEXIST) break;
    }
    if (made >= 0) return 0;
    int status = upload_status(errno);
    file->hidden[0] = '\0';
    return status;
}

static int upload_file_make(upload_file *file)
{
    file->fd = openat(file->above, file->hidden,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, UPLOAD_MODE);
    return file->fd;
}

// By the path of its descriptor: a descriptor itself is for the privileged to link.
static int upload_file_link(const upload_file *file, const char *name)
{
    char path[UPLOAD_HIDDEN_OCTETS];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, path, file->above, name, AT_SYMLINK_FOLLOW);
}

static int upload_file_link_hidden(upload_file *file)
{
    return upload_file_link(file, file->hidden);
}

// A file without a name is gone when its process is; -1: the file system has none, or /proc is missing.
static int upload_file_nameless(const upload_file *file)
{
#ifdef O_TMPFILE
    static const char descriptors[] = "/proc/self/fd";
    if (access(descriptors, X_OK) == 0)
        return openat(file->above, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, UPLOAD_MODE);
#else
    (void)file;
#endif
    return -1;
}

// A new "a.html.br" would replace "a.html" for most clients.
static bool upload_file_hides_another(const upload_file *file)
{
    char held[UPLOAD_NAME_OCTETS];
    struct stat found;
    if (!file->held_len) return false;
    memcpy(held, file->name, file->held_len);
    held[file->held_len] = '\0';
    return fstatat(file->above, held, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

int upload_file_begin(upload_file *file, int64_t unix_ns)
{
    if (upload_file_hides_another(file)) return 409;
    stale_remove(file->above, unix_ns);
    file->fd = upload_file_nameless(file);
    int status = file->fd < 0 ? upload_file_hide(file, upload_file_make) : 0;
    if (!status) stale_mark(file->fd);
    return status;
}

int upload_file_write(upload_file *file, const char *octets, size_t len)
{
    while (len) {
        ssize_t n = write(file->fd, octets, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return upload_status(errno);
        octets += n;
        len -= (size_t)n;
    }
    return 0;
}

static bool upload_file_is_found(const upload_file *file)
{
    struct stat now;
    const struct stat *found = &file->found;
    if (fstatat(file->above, file->name, &now, AT_SYMLINK_NOFOLLOW) != 0) return !file->exists;
    return file->exists && now.st_ino == found->st_ino && now.st_size == found->st_size &&
           upload_tag_mtime_ns(&now) == upload_tag_mtime_ns(found);
}

// A response confirms what is there after a power cut: the name, as the content. A file system that keeps no order
// of its names (EINVAL) has nothing to be told.
static int upload_file_keep_name(const upload_file *file)
{
    return fsync(file->above) == 0 || errno == EINVAL ? 0 : upload_status(errno);
}

// A file without a name gets a hidden one first: no link replaces another file.
static int upload_file_replace(upload_file *file)
{
    int status = file->hidden[0] ? 0 : upload_file_hide(file, upload_file_link_hidden);
    if (status) return status;
    if (renameat(file->above, file->hidden, file->above, file->name) != 0)
        return upload_status(errno);
    file->hidden[0] = '\0';
    return upload_file_keep_name(file);
}

// File systems state times by a clock that moves every few milliseconds, so that a file and a coded one that came
// before it may have one time. Such a sibling would be served in place of the new content: the time is set exactly.
static int upload_file_date(const upload_file *file)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
    if (clock_gettime(CLOCK_REALTIME, &times[1]) != 0) return upload_status(errno);
    return futimens(file->fd, times) == 0 ? 0 : upload_status(errno);
}

// The name is given by a link where nothing may be replaced: that fails when another one has come first.
int upload_file_end(upload_file *file, bool replaces, bool is_judged)
{
    int status = upload_file_date(file);
    if (status) return status;
    if (fsync(file->fd) != 0) return upload_status(errno);
    if (is_judged && !upload_file_is_found(file)) return 412;
    if (upload_file_hides_another(file)) return 409; // that has come meanwhile
    if (replaces) return upload_file_replace(file);
    int linked = file->hidden[0] ? linkat(file->above, file->hidden, file->above, file->name, 0)
                                 : upload_file_link(file, file->name);
    if (linked == 0) return upload_file_keep_name(file);
    return is_judged && errno == EEXIST ? 412 : upload_status(errno);
}

int upload_file_remove(upload_file *file)
{
    if (!upload_file_is_found(file)) return 412;
    if (unlinkat(file->above, file->name, 0) != 0) return upload_status(errno);
    return upload_file_keep_name(file);
}

void upload_file_drop(upload_file *file)
{
    if (file->hidden[0]) (void)unlinkat(file->above, file->hidden, 0);
    file->hidden[0] = '\0';
    if (file->fd >= 0) (void)close(file->fd);
    upload_tag_end(file);
    if (file->above >= 0) (void)close(file->above);
    file->fd = file->above = -1;
}
