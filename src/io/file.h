// SPDX-License-Identifier: MIT
//
// Files beneath a directory: no path leads out of it, and no symbolic link either unless it is told
// to follow them all. A link works if it ends inside, whatever its text.
// By openat2 where the kernel has it and lets us, component by component where not, and for links
// that leave on their way.
#ifndef SKUA_IO_FILE_H
#define SKUA_IO_FILE_H

#include "io/io.h"

// A directory, and which symbolic links beneath it are followed.
typedef struct file_root {
    int fd;
    uint8_t links; // skua_links
} file_root;

// Files that these functions have opened are closed by reserve_close.

// Opens path beneath the directory root for reading, close-on-exec and without ever waiting, or
// only looks at it if stat_only.
// path: relative, ended by NUL; "" is root itself.
// *fd: untouched if stat_only, and may then be NULL. *info is filled in both cases.
// A directory is opened too: info->kind tells. Anything else but a regular file is refused, unless
// stat_only.
// Errors: SKUA_ENOENT; SKUA_EACCES unreadable, outside root, or neither file nor directory;
// SKUA_ENOFILE; SKUA_ENOMEM; SKUA_EIO.
skua_status file_open_beneath(file_root root, const char *path, bool stat_only, int *fd,
                              io_file_info *info);

// Opens a file as file_open_beneath does, if that can be done from the kernel's memory. Returns
// false if it would have to wait for a disk, or nobody can tell; nothing has been done then. Only
// for a root that is not remote.
bool file_open_cached(file_root root, const char *path, bool stat_only, int *fd, io_file_info *info,
                      skua_status *status);

// Whether opening beneath a directory may wait though everything is in the kernel's memory, as it
// asks another machine or process (NFS, FUSE); or nobody can tell.
bool file_is_remote(int directory);

// Opens the directory path beneath root, to be read or watched: a descriptor that is close-on-exec.
// Errors: as above; SKUA_ENOENT also if it is no directory.
skua_status file_open_directory(file_root root, const char *path, int *fd);

// Told of an entry; returns false to hear of no more. A symbolic link is what it leads to beneath
// root, or of kind SKUA_FILE_OTHER if it leads out or nowhere.
typedef bool file_entry_fn(const char *name, const io_file_info *info, void *user);

// Calls each for the entries of the directory path beneath root but "." and "..", in no order.
// Errors: as above; SKUA_ELIMIT there are more than entries_max, of which each was told.
skua_status file_list_beneath(file_root root, const char *path, size_t entries_max,
                              file_entry_fn *each, void *user);

// How paths are resolved; found out at the first use. Tests choose.
typedef enum file_method { FILE_METHOD_UNKNOWN, FILE_METHOD_OPENAT2, FILE_METHOD_WALK } file_method;

file_method file_method_get(void);
void file_method_set(file_method method);

#endif
