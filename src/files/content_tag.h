// SPDX-License-Identifier: MIT
//
// Content tag: the entity tag of a file that is too large to be read on the worker. Helper threads
// make it from the content. Tags are kept for the whole process, each for one version of a file.
#ifndef SKUA_FILES_CONTENT_TAG_H
#define SKUA_FILES_CONTENT_TAG_H

#include "files/waiter.h"
#include "http/etag.h"

enum {
    CONTENT_TAGS_KEPT = 4096,
    CONTENT_TAGS_MAX = 64, // files that are being hashed, in this process
    // A file that has just changed may settle while it is hashed: then a request waits once more.
    CONTENT_TAG_WAITS_MAX = 2
};

// Somebody's list of hashes under way; NULL at first. It stays until none is.
typedef struct content_tag_job content_tag_job;

enum { CONTENT_TAG_OCTETS = ETAG_OCTETS + 2 }; // that of a weak one

// Puts the tag of the file with that info there; false: it is not known.
// is_settled: a change of the file would show in its times. Else its tag is weak.
bool content_tag_find(const skua_file_info *info, bool is_settled, char etag[CONTENT_TAG_OCTETS]);

// Hashes a file, or waits for those who do: many who ask for one file hash it once. waiter: done is called once, on
// the worker; then the file is looked at again, and content_tag_find knows its tag, unless it has changed.
// is_settled: as for content_tag_find.  Returns false if too many are being hashed; done is not called then.
bool content_tag_want(content_tag_job **jobs, skua_worker *worker, skua_file *file,
                      const skua_file_info *info, bool is_settled, file_waiter *waiter);

#endif
