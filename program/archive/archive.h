// SPDX-License-Identifier: MIT
//
// A folder as one file, zip or tar, which is made while it is sent: only names are kept in memory.
#ifndef PROGRAM_ARCHIVE_ARCHIVE_H
#define PROGRAM_ARCHIVE_ARCHIVE_H

#include "archive/member.h"
#include "archive/walk.h"

enum {
    ARCHIVE_TURN_FILES = 16,      // that are opened before others have their turn
    ARCHIVE_TURN_OCTETS = 262144, // that are read until then
    ARCHIVE_READ_OCTETS = 65536   // of a file at a time
};

// A root that archives are made of. It stays until the last one of it has ended.
typedef struct archive_folder archive_folder;

// Opens a root.  links: of it that are followed.  Returns: NULL: there is no such folder, or no memory.
archive_folder *archive_folder_open(const char *path, skua_links links);
void archive_folder_close(void *folder); // an archive_folder; NULL is allowed

// How an archive of a folder is made.
typedef struct archive_desc {
    archive_folder *folder;   // the root
    size_t root_octets;       // of the request's path, up to the root
    bool has_hidden;          // names that begin with "." are in it, too
    archive_may_fn *may;      // NULL: it may have all
    void *user;               // of may
    void (*drop)(void *user); // called once when it is not needed any more; NULL: nothing is
} archive_desc;

// The format that a request asks for by its query, "archive=zip".
// formats: of those. *format: the one; NULL: it is none of them. Returns: whether it asks for any.
bool archive_asked(const skua_request *request, const archive_format *const *formats,
                   const archive_format **format);

// Answers a GET or HEAD of a folder, whose path ends with "/", later. Where there is no such folder it calls skua_next.
void archive_answer(skua_request *request, const archive_format *format, const archive_desc *desc);

// Answers a request for an archive of none of the formats, of which there is one or two.
void archive_refuse(skua_request *request, const archive_format *const *formats);

// Middleware of a server whose one root is an archive_place: answers requests for archives of it.
typedef struct archive_place {
    archive_folder *folder;
    bool has_hidden;
} archive_place;
void archive_before(skua_request *request, void *place);

extern const archive_format *const archive_formats[]; // all, NULL behind the last

enum { ARCHIVE_MARKUP_OCTETS = 256 };

// HTML for listings' pages: links to the archives of the folder.  Returns: its octets.
size_t archive_markup(const archive_format *const *formats, char text[ARCHIVE_MARKUP_OCTETS]);

#endif
