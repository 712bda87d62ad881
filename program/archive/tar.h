// SPDX-License-Identifier: MIT
//
// tar of POSIX: ustar, and pax for what ustar cannot express: long names, names beyond ASCII, large
// files.
// Spec: IEEE Std 1003.1, pax
#ifndef PROGRAM_ARCHIVE_TAR_H
#define PROGRAM_ARCHIVE_TAR_H

#include "archive/member.h"

extern const archive_format tar_format;

#endif
