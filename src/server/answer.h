// SPDX-License-Identifier: MIT
//
// Answers made in advance, and files, as the response path sees them.
#ifndef SKUA_SERVER_ANSWER_H
#define SKUA_SERVER_ANSWER_H

#include "base/slice.h"
#include "disk/file.h"

struct skua_answer {
    skua_worker *worker;
    unsigned refs;
    uint16_t status;
    bool has_length; // Content-Length is among the fields
    skua_file *file; // NULL: content in memory
    uint64_t offset;
    uint64_t length;     // of the content
    slice status_line;   // "HTTP/1.1 200 OK" CRLF
    slice fields;        // as they are written, each with its CRLF
    const char *content; // in memory
    char text[];
};

#endif
