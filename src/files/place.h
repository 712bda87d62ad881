// SPDX-License-Identifier: MIT
//
// Place: the routes that files are added to: the server's own, or those of a site that has not been
// put.
#ifndef SKUA_FILES_PLACE_H
#define SKUA_FILES_PLACE_H

#include "base/slice.h"

typedef struct files_place {
    skua_server *server;
    skua_site *site; // NULL: the server's own
} files_place;

// Tells why something could not be added: "what: why". Returns status.
skua_status place_fail(const files_place *to, skua_status status, const char *what,
                       const char *why);

// The path of a pattern, after "GET " if that is there; NULL when the pattern is none for files.
const char *place_pattern_path(const char *pattern);

// Copies a text that may be absent. Returns false when memory ran out.
bool place_copy(char **copy, const char *text);

// Sends GET requests below path, and those for path without the "/" at its end unless the program has a
// route of its own there, which are redirected. name: of the routes; NULL: none.
skua_status place_add(const files_place *to, const char *path, const char *name,
                      skua_handler *handler, void *user);

// Calls release when no request needs what was added any more.
skua_status place_give(const files_place *to, void (*release)(void *user), void *user);

#endif
