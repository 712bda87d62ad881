// SPDX-License-Identifier: MIT
//
// The entity tag of a file that an upload is to replace or to remove: the one that a GET gives, so that If-Match finds it.
#ifndef PROGRAM_UPLOAD_TAG_H
#define PROGRAM_UPLOAD_TAG_H

#include "upload/file.h"

enum { UPLOAD_TAG_SLICE_OCTETS = 1 << 20 }; // that are hashed in one call

// Makes the tag of the file that was found. It waits for the disk, as the next one does. unix_ns: now.
// A file of more than UPLOAD_HASHED_OCTETS is_unhashed by SKUA_ETAGS_CONTENT, until upload_tag_go_on has made its tag.
void upload_tag_begin(upload_file *file, skua_etags etags, int64_t unix_ns);

// Hashes the next slice of the file, so that others have their turns between slices. After the last one the tag is there. A file
// that is not what was found any more, or cannot be read, has a tag that no client knows.
void upload_tag_go_on(upload_file *file, int64_t unix_ns);

// Closes what upload_tag_go_on has opened.
void upload_tag_end(upload_file *file);

int64_t upload_tag_mtime_ns(const struct stat *info);

#endif
