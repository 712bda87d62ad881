// SPDX-License-Identifier: MIT
//
// skua compress: writes compressed files beside the originals, in the codings that a server sends.
#ifndef PROGRAM_COMMAND_PRECOMPRESS_H
#define PROGRAM_COMMAND_PRECOMPRESS_H

#include <stdbool.h>

enum {
    PRECOMPRESS_OCTETS_MIN = 512,       // of files that gain by it
    PRECOMPRESS_OCTETS_MAX = 128 << 20, // of files that are read as a whole
    PRECOMPRESS_DEPTH_MAX = 64          // of folders inside of folders
};

// Writes NAME.br, NAME.zst and NAME.gz beside each text below the folder, where that gains by it and they are not
// there already, and says what it did. Symbolic links are left alone. Returns: whether all went well.
bool precompress(const char *folder);

#endif
