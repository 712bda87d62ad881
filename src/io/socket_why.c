// SPDX-License-Identifier: MIT
//
// The kernel's answer about the path of a Unix socket is one number for several faults: a directory
// that is not there, a part of the path that is none, a file in the way. So the path is looked at
// again.

#include "io/socket_why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WHY_PATH_ROOM = sizeof((struct sockaddr_un){ 0 }.sun_path), WHY_SHOWN_MAX = 100 };

__attribute__((format(printf, 2, 3))) static void why_write(char why[SOCKET_WHY_OCTETS],
                                                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, SOCKET_WHY_OCTETS, format, arguments);
    va_end(arguments);
}

// ---- What is no address ----

void socket_address_why(slice text, char why[SOCKET_WHY_OCTETS])
{
    slice prefix = SKUA_SLICE("unix:");
    int shown = text.len < WHY_SHOWN_MAX ? (int)text.len : WHY_SHOWN_MAX;
    bool is_unix = text.len >= prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
    if (is_unix && text.len - prefix.len >= WHY_PATH_ROOM) {
        why_write(why, "\"%.*s...\" is too long: the path of a socket has at most %d octets", shown,
                  text.ptr, (int)WHY_PATH_ROOM - 1);
    } else if (is_unix) {
        why_write(why, "\"%.*s\" names no socket; write unix:/path", shown, text.ptr);
    } else {
        why_write(why,
                  "\"%.*s\" is not an address to listen on; write 127.0.0.1:8080, [::1]:8080, "
                  ":8080 or unix:/path",
                  shown, text.ptr);
    }
}

// ---- Paths ----

// The path of a Unix socket's file; NULL for another address.
static const char *why_path(const socket_address *address)
{
    const char *path = address->octets + offsetof(struct sockaddr_un, sun_path);
    return address->is_unix && *path ? path : NULL;
}

// Says why a socket cannot be in the directory of a path, which is written to directory; NULL:
// nothing is wrong with it.
static const char *why_not_in(const char *path, char directory[WHY_PATH_ROOM + 1])
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    size_t len = slash && slash > path ? (size_t)(slash - path) : 1;
    memcpy(directory, slash ? path : ".", len);
    directory[len] = '\0';
    if (stat(directory, &info) != 0) {
        if (errno == ENOENT) return "does not exist";
        return errno == ENOTDIR ? "is not in a directory" : "cannot be looked at";
    }
    if (!S_ISDIR(info.st_mode)) return "is not a directory";
    if (access(directory, W_OK | X_OK) == 0) return NULL;
    return errno == EROFS ? "is on a file system that is read only" : "cannot be written to";
}

// Names the kind of file, other than a socket, that is at a path; NULL when there is none.
static const char *why_in_the_way(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0 || S_ISSOCK(info.st_mode)) return NULL;
    if (S_ISDIR(info.st_mode)) return "a directory";
    if (S_ISLNK(info.st_mode)) return "a symbolic link";
    return S_ISREG(info.st_mode) ? "a file" : "a device";
}

// Returns whether the fault is the path's, and has been written.
static bool why_of_path(const socket_address *address, const char *name,
                        char why[SOCKET_WHY_OCTETS])
{
    char directory[WHY_PATH_ROOM + 1];
    const char *path = why_path(address);
    const char *in_the_way = path ? why_in_the_way(path) : NULL;
    const char *wrong = path ? why_not_in(path, directory) : NULL;
    if (in_the_way)
        why_write(why, "cannot listen on %s: it is %s and no socket, and stays as it is", name,
                  in_the_way);
    else if (wrong) why_write(why, "cannot listen on %s: %s %s", name, directory, wrong);
    return in_the_way || wrong;
}

void socket_why(const socket_address *address, skua_status status, char why[SOCKET_WHY_OCTETS])
{
    char name[SOCKET_TEXT_OCTETS];
    socket_address_write(address, name);
    if (why_of_path(address, name, why)) return;
    if (address->is_unix && status == SKUA_EADDRNOTAVAIL)
        why_write(why, "cannot listen on %s: no socket can be made there", name);
    else if (status == SKUA_EADDRINUSE) why_write(why, "%s is in use by another process", name);
    else if (status == SKUA_EADDRNOTAVAIL)
        why_write(why, "%s is not an address of this machine", name);
    else if (status == SKUA_EACCES) why_write(why, "there is no permission to listen on %s", name);
    else why_write(why, "cannot listen on %s: %s", name, skua_status_text(status));
}
