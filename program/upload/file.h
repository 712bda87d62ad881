// SPDX-License-Identifier: MIT
//
// The file of an upload: what helper threads do to it. Each function waits for the disk.
#ifndef PROGRAM_UPLOAD_FILE_H
#define PROGRAM_UPLOAD_FILE_H

#include "upload/upload.h"

#include <sys/stat.h>

enum { UPLOAD_NAME_OCTETS = 256, UPLOAD_HIDDEN_OCTETS = 40 };

typedef struct upload_file {
    int above, fd;                     // its folder, and the new file; -1: not open
    char name[UPLOAD_NAME_OCTETS];     // in its folder
    char hidden[UPLOAD_HIDDEN_OCTETS]; // empty: there is no hidden file
    size_t
        held_len; // of the name of the file that this one would be sent for; 0: none, or it may be replaced
    bool exists;                      // there is a file of that name
    struct stat found;                // that
    char etag[SKUA_FILE_ETAG_OCTETS]; // its tag, or one that no client knows
    size_t etag_len;
    bool is_unhashed; // its tag is a hash that is not made yet
    int hashed;       // that file, while it is hashed; -1: not open
    uint64_t hashed_octets;
    skua_etag_hash hash;
} upload_file;

// Finds the folder of a path below place, and what is there. path: has no empty segments, and none that begins with ".".
// unix_ns: now.
// Returns: 0, or the status of the response.
int upload_file_find(upload_file *file, const upload_place *place, const char *path,
                     int64_t unix_ns);

// Makes a file without a name, or else a hidden one, and removes those that were left there.  Returns as
// upload_file_find, as do the others.
int upload_file_begin(upload_file *file, int64_t unix_ns);

int upload_file_write(upload_file *file, const char *octets, size_t len);

// Gives it its name, which is on the disk then, as its content is. replaces: what is there may be replaced, as long as it is what was found where is_judged.
int upload_file_end(upload_file *file, bool replaces, bool is_judged);

// Removes the file of that name, as long as it is what was found.
int upload_file_remove(upload_file *file);

// Closes it, and removes a hidden file.
void upload_file_drop(upload_file *file);

#endif
