// SPDX-License-Identifier: MIT
//
// skua embed: writes a folder as a C header, so that a program contains its files.
#ifndef PROGRAM_COMMAND_EMBED_H
#define PROGRAM_COMMAND_EMBED_H

#include <stdbool.h>

enum {
    EMBED_OCTETS_MAX = 64 << 20, // of a file
    EMBED_DEPTH_MAX = 64         // of folders inside of folders
};

// Writes the files below folder to standard output, as a header that defines skua_assets of that name. Those whose
// names begin with "." are left out, but for those in .well-known, and so are links that lead out of the folder.
// name: NULL for "assets". Returns: whether all went well.
bool embed(const char *folder, const char *name);

#endif
