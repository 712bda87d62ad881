// SPDX-License-Identifier: MIT
//
// Uploads: PUT and DELETE of files in a folder. Content is written by helper threads to a file with a hidden name, which
// gets its own name when it is whole: nobody ever sees half of it. Symbolic links are not followed here.
#ifndef PROGRAM_UPLOAD_UPLOAD_H
#define PROGRAM_UPLOAD_UPLOAD_H

#include <skua/skua.h>

enum {
    UPLOADS_MAX = 64, // at a time, in the process
    UPLOAD_WINDOW_OCTETS =
        65536, // that wait for the disk, of each; skua_config.content_window_octets
    UPLOAD_HASHED_OCTETS = 32768 // of files whose tag is a hash
};

// A folder that takes files.
typedef struct upload_place {
    int folder;          // a descriptor of it
    const char *path;    // of requests that are for it; ends with "/"
    uint64_t octets_max; // of one file
    skua_etags etags;    // how tags of its files are made
    bool overwrites;     // files that are there may be replaced
    bool deletes;        // and removed
    bool is_played;      // responses are as they would be, and nothing is changed
} upload_place;

// Opens the folder. Returns: whether there is one.
bool upload_open(upload_place *place, const char *folder);
void upload_close(void *place);

// Answers a PUT or a DELETE below place->path; later.
void upload_handle(skua_request *request, const upload_place *place);

#endif
