// SPDX-License-Identifier: MIT
//
// Names of archives: of the file that a client saves, and of the folder that is in it.
#ifndef PROGRAM_ARCHIVE_DISPOSITION_H
#define PROGRAM_ARCHIVE_DISPOSITION_H

#include <skua/skua.h>

enum {
    ARCHIVE_PREFIX_OCTETS = 257,      // a name of 255 octets, "/" and NUL
    ARCHIVE_DISPOSITION_OCTETS = 1152 // such a name twice, once in triplets
};

// The last segment of a path that ends with "/", and "/"; "files/" for the root, which has no name.
void archive_prefix(char prefix[ARCHIVE_PREFIX_OCTETS], skua_slice path);

// A value of Content-Disposition. The name is given twice: in ASCII, and as it is.  Spec: RFC 6266, RFC 8187
void archive_disposition(char text[ARCHIVE_DISPOSITION_OCTETS], const char *prefix,
                         const char *ending);

#endif
