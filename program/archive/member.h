// SPDX-License-Identifier: MIT
//
// A file or a folder in an archive, and an archive format: functions that write everything around
// the content of files. They use neither a disk nor a request.
#ifndef PROGRAM_ARCHIVE_MEMBER_H
#define PROGRAM_ARCHIVE_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARCHIVE_NAME_OCTETS_MAX = 4096,
    ARCHIVE_PIECE_OCTETS_MAX = 8192 // of all that is written around one file
};

typedef struct archive_member {
    const char *name; // in the archive, without a "/" in front; a folder's ends with one
    size_t name_len;  // at most ARCHIVE_NAME_OCTETS_MAX
    bool is_folder;
    uint64_t size;   // octets of content; of a folder 0
    int64_t mtime_s; // last modification, since 1970
    uint32_t crc;    // of the content, once that is known
    uint64_t offset; // where in the archive its head begins
} archive_member;

// The list of members at the end of an archive.
typedef struct archive_index {
    uint64_t count;
    uint64_t offset, octets; // where it begins, and how long it is
} archive_index;

// Each function writes to a piece of ARCHIVE_PIECE_OCTETS_MAX and returns how many octets.
typedef struct archive_format {
    const char *name; // "zip", which is also the ending of file names
    const char *type; // its media type
    size_t (*head)(const archive_member *member, char *piece);  // before the content
    size_t (*tail)(const archive_member *member, char *piece);  // behind it
    size_t (*entry)(const archive_member *member, char *piece); // in the list; NULL: there is none
    size_t (*end)(const archive_index *index, char *piece);
} archive_format;

#endif
