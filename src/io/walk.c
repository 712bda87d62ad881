// SPDX-License-Identifier: MIT
//
// Walk. Every component is opened without following links, so that nobody who changes the tree
// meanwhile can lead the walk out of it; a link's text takes the place of its name in the rest of
// the path.
// ".." starts again from the root without the last component: opening ".." itself would escape from
// a directory that has just been moved out.
// Invariant: at is the directory that done names, and no component of done was a link.

#include "io/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WALK_PATH_OCTETS = 4096, WALK_NAME_OCTETS = 256, WALK_STEPS_MAX = 8192 };

#ifdef O_PATH
enum { WALK_SEARCH = O_PATH }; // needs no permission to read
#else
enum { WALK_SEARCH = O_RDONLY };
#endif

typedef struct walk {
    int root, at;
    int flags; // of the last component
    unsigned links, steps;
    size_t done_len;
    char *rest; // in one half of texts; ends in NUL
    char done[WALK_PATH_OCTETS];
    char texts[2][WALK_PATH_OCTETS];
} walk;

static void walk_to(walk *w, int at)
{
    if (w->at != w->root) (void)close(w->at);
    w->at = at;
}

// rest becomes before, "/" and the present rest, in the other half of texts.
static int walk_put_before(walk *w, const char *before, size_t len)
{
    size_t rest_len = strlen(w->rest);
    bool slash = rest_len > 0 && w->rest[0] != '/';
    if (len + slash + rest_len >= WALK_PATH_OCTETS) return -ENAMETOOLONG;
    char *text = w->rest >= w->texts[1] ? w->texts[0] : w->texts[1];
    memcpy(text, before, len);
    if (slash) text[len++] = '/';
    memcpy(text + len, w->rest, rest_len + 1);
    w->rest = text;
    return 0;
}

static int walk_up(walk *w)
{
    if (w->done_len == 0) return -EXDEV;
    while (w->done_len && w->done[w->done_len - 1] != '/')
        w->done_len--;
    size_t len = w->done_len;
    w->done_len = 0;
    walk_to(w, w->root);
    return walk_put_before(w, w->done, len);
}

static int walk_follow(walk *w, const char *name, int error)
{
    char target[WALK_PATH_OCTETS];
    ssize_t len = readlinkat(w->at, name, target, sizeof target);
    if (len < 0) return errno == EINVAL ? -error : -errno; // not a link: what open said stands
    if (++w->links > WALK_LINKS_MAX) return -ELOOP;
    if (len == 0) return -ENOENT;
    if (target[0] == '/') return -EXDEV;
    return walk_put_before(w, target, (size_t)len);
}

static int walk_open_one(const walk *w, const char *name, int flags)
{
    int fd;
    do {
        fd = openat(w->at, name, flags | O_NOFOLLOW | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0 || !(flags & WALK_SEARCH)) return fd >= 0 ? fd : -errno;
    struct stat st; // such an open succeeds on the link itself
    if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) return fd;
    (void)close(fd);
    return -ELOOP;
}

static bool walk_may_be_link(int error)
{
    return error == ELOOP || error == ENOTDIR || error == EMLINK;
}

static int walk_down(walk *w, const char *name, size_t len)
{
    int fd = walk_open_one(w, name, WALK_SEARCH | O_DIRECTORY);
    if (fd < 0) return walk_may_be_link(-fd) ? walk_follow(w, name, -fd) : fd;
    walk_to(w, fd);
    if (w->done_len + len + 1 >= WALK_PATH_OCTETS) return -ENAMETOOLONG;
    if (w->done_len) w->done[w->done_len++] = '/';
    memcpy(w->done + w->done_len, name, len);
    w->done_len += len;
    return 0;
}

static int walk_last(walk *w, const char *name, int *fd)
{
    int opened = walk_open_one(w, name, w->flags);
    if (opened >= 0) {
        *fd = opened;
        return 0;
    }
    return walk_may_be_link(-opened) ? walk_follow(w, name, -opened) : opened;
}

// One component, or what is left when there are no more: the directory itself, as a slash at the
// end asks for. *fd is set when it was the last.
static int walk_step(walk *w, int *fd)
{
    while (w->rest[0] == '/')
        w->rest++;
    size_t len = strcspn(w->rest, "/");
    char name[WALK_NAME_OCTETS];
    if (len >= sizeof name) return -ENAMETOOLONG;
    memcpy(name, w->rest, len);
    name[len] = 0;
    w->rest += len;
    if (len == 0) return walk_last(w, ".", fd);
    if (strcmp(name, ".") == 0) return 0;
    if (strcmp(name, "..") == 0) return walk_up(w);
    return w->rest[0] ? walk_down(w, name, len) : walk_last(w, name, fd);
}

int walk_open(int root, const char *path, int flags)
{
    walk w;
    size_t len = strlen(path);
    if (len >= WALK_PATH_OCTETS) return -ENAMETOOLONG;
    if (path[0] == '/') return -EXDEV;
    w.root = w.at = root;
    w.flags = flags;
    w.links = w.steps = 0;
    w.done_len = 0;
    w.rest = w.texts[0];
    memcpy(w.rest, path, len + 1);
    int fd = -1, error = 0;
    while (fd < 0 && error == 0)
        error = ++w.steps > WALK_STEPS_MAX ? -ELOOP : walk_step(&w, &fd);
    walk_to(&w, root);
    return error ? error : fd;
}
