// SPDX-License-Identifier: MIT
//
// Siblings: "a.html.br" holds "a.html", compressed, and is sent in its place to clients that take that coding.
#ifndef PROGRAM_UPLOAD_SIBLING_H
#define PROGRAM_UPLOAD_SIBLING_H

#include <stddef.h>

// The octets of the name of the file that a sibling holds; 0: a name of len octets is none of a sibling.
size_t sibling_of(const char *name, size_t len);

#endif
