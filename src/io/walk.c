// SPDX-License-Identifier: MIT
//
// Walk. Every component is opened without following links, so that nobody who changes the tree
// meanwhile can lead the walk out of it; a link's text takes the place of its name in the rest of
// the path.
// ".." starts again from the root without the last component: opening ".." itself would escape from
// a directory that has just been moved out.
// The text of a link may lead outside, as an absolute one does, if it comes back to the root
// itself, which is known by its numbers and not by its name. From there on the walk is inside as
// before. The path itself never leads outside, and nothing that is there shows in an error: a
// client could find out what there is.
// Invariant: inside, at is the directory that done names, and no component of done was a link.
// Outside, done is empty.

#include "io/walk.h"

#include "io/reserve.h"

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
    int flags;    // of the last component
    bool follows; // links
    bool outside;
    unsigned links, steps;
    size_t own; // octets at the end of rest that are the path's; before them is the text of links
    size_t done_len;
    char *rest; // in one half of texts; ends in NUL
    char done[WALK_PATH_OCTETS];
    char texts[2][WALK_PATH_OCTETS];
} walk;

static void walk_to(walk *w, int at)
{
    if (w->at != w->root) reserve_close(w->at);
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

int walk_openat(int at, const char *name, int flags)
{
    for (unsigned times = 0;;) {
        int fd = openat(at, name, flags | O_CLOEXEC);
        if (fd >= 0) return fd;
        if (errno != EINTR && !reserve_spend(errno, times++)) return -errno;
    }
}

static int walk_open_directory(int at, const char *name)
{
    return walk_openat(at, name, WALK_SEARCH | O_DIRECTORY);
}

// An error outside. Only a lack of ours is told of.
static int walk_hide(int error)
{
    bool is_ours = error == EMFILE || error == ENFILE || error == ENOMEM;
    return is_ours ? -error : -EXDEV;
}

static bool walk_is_root(const walk *w, int fd)
{
    struct stat root, st;
    return fstat(w->root, &root) == 0 && fstat(fd, &st) == 0 && root.st_dev == st.st_dev &&
           root.st_ino == st.st_ino;
}

// Goes on at a directory that is outside unless it is the root. fd: given, or a negated errno.
static int walk_go_outside(walk *w, int fd)
{
    if (fd < 0) return walk_hide(-fd);
    w->done_len = 0;
    w->outside = !walk_is_root(w, fd);
    walk_to(w, fd);
    if (!w->outside) walk_to(w, w->root);
    return 0;
}

// in_link: the ".." is of the text of a link.
static int walk_up(walk *w, bool in_link)
{
    if (w->done_len == 0)
        return in_link ? walk_go_outside(w, walk_open_directory(w->root, "..")) : -EXDEV;
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
    if (!w->follows || ++w->links > WALK_LINKS_MAX) return -ELOOP;
    if (len == 0) return -ENOENT;
    int put = walk_put_before(w, target, (size_t)len);
    if (put || target[0] != '/') return put;
    return walk_go_outside(w, walk_open_directory(w->root, "/"));
}

static int walk_open_one(const walk *w, const char *name, int flags)
{
    int fd = walk_openat(w->at, name, flags | O_NOFOLLOW);
    if (fd < 0 || !(flags & WALK_SEARCH)) return fd;
    struct stat st; // such an open succeeds on the link itself
    if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) return fd;
    reserve_close(fd);
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

static int walk_outside(walk *w, const char *name)
{
    if (strcmp(name, "..") == 0) return walk_go_outside(w, walk_open_directory(w->at, ".."));
    int fd = walk_open_one(w, name, WALK_SEARCH | O_DIRECTORY);
    if (fd >= 0 || !walk_may_be_link(-fd)) return walk_go_outside(w, fd);
    int error = walk_follow(w, name, -fd);
    return error ? walk_hide(-error) : 0;
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
    bool in_link = strlen(w->rest) > w->own;
    if (w->outside && !in_link) return -EXDEV; // the link does not end inside
    size_t len = strcspn(w->rest, "/");
    char name[WALK_NAME_OCTETS];
    if (len >= sizeof name) return w->outside ? -EXDEV : -ENAMETOOLONG;
    memcpy(name, w->rest, len);
    name[len] = 0;
    w->rest += len;
    if (!in_link) w->own = strlen(w->rest);
    if (len == 0) return walk_last(w, ".", fd);
    if (strcmp(name, ".") == 0) return 0;
    if (w->outside) return walk_outside(w, name);
    if (strcmp(name, "..") == 0) return walk_up(w, in_link);
    return w->rest[0] ? walk_down(w, name, len) : walk_last(w, name, fd);
}

int walk_open(int root, const char *path, int flags, bool follows)
{
    walk w;
    size_t len = strlen(path);
    if (len >= WALK_PATH_OCTETS) return -ENAMETOOLONG;
    if (path[0] == '/') return -EXDEV;
    w.root = w.at = root;
    w.flags = flags;
    w.follows = follows;
    w.outside = false;
    w.links = w.steps = 0;
    w.own = len;
    w.done_len = 0;
    w.rest = w.texts[0];
    memcpy(w.rest, path, len + 1);
    int fd = -1, error = 0;
    while (fd < 0 && error == 0)
        error = ++w.steps > WALK_STEPS_MAX ? -ELOOP : walk_step(&w, &fd);
    walk_to(&w, root);
    return error ? error : fd;
}
