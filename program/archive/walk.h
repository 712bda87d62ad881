// SPDX-License-Identifier: MIT
//
// The files in a folder and below it: names alone, found step by step by helper threads.
#ifndef PROGRAM_ARCHIVE_WALK_H
#define PROGRAM_ARCHIVE_WALK_H

#include <skua/skua.h>

enum {
    ARCHIVE_ENTRIES_MAX = 65536,        // files and folders of one archive
    ARCHIVE_NAMES_OCTETS_MAX = 8388608, // of all of their names
    ARCHIVE_DEPTH_MAX = 64,             // folders in each other
    ARCHIVE_PATH_OCTETS_MAX = 3840,     // of a name, with the folders that it is in
    ARCHIVE_STEP_ENTRIES = 1024         // that a helper looks at before others have their turn
};

// Whether an archive may have what requests for a path get. path: that of a folder ends with "/".  Thread: any.
typedef bool archive_may_fn(const void *user, const char *path, size_t len);

typedef struct archive_entry {
    uint32_t name_at, name_len; // among the names; a folder's ends with "/"
    uint32_t above;             // the entry of its folder
    uint16_t depth;
    bool is_folder;
    bool is_in;     // it is in the archive
    uint64_t inode; // of a folder, as is the next
    int64_t ctime_ns;
    int64_t mtime_s;
    uint64_t size, offset; // of its content, and of its head in the archive
    uint32_t crc;
} archive_entry;

// The first entry is the folder itself, whose name is empty.
typedef struct archive_walk {
    skua_root *root;
    const char *folder; // the root's path
    const char *path;   // of requests for the folder; begins and ends with "/"
    size_t root_octets; // of that path, up to the root
    bool has_hidden;    // names that begin with "." are found, too
    archive_may_fn *may;
    const void *user;
    archive_entry *entries;
    size_t count, room;
    size_t next;   // the entry that is looked at next
    size_t looked; // at entries, in this step
    char *names;
    size_t names_len, names_room;
    int status; // of a response that has to be given in place of an archive; 0: all is well
    const char *sentence;
    bool is_complete;
} archive_walk;

// Looks at some more folders. To be called until it is complete or has a status: 404 where there is no such folder. The
// entries are in order then.
void archive_walk_on(archive_walk *walk);

void archive_walk_free(archive_walk *walk);

#endif
