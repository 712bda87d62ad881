// SPDX-License-Identifier: MIT
//
// zip with stored content: files are not compressed. Checksums follow the content, because they are
// not known before.
// Spec: PKWARE APPNOTE.TXT 6.3.10
#ifndef PROGRAM_ARCHIVE_ZIP_H
#define PROGRAM_ARCHIVE_ZIP_H

#include "archive/member.h"

extern const archive_format zip_format;

#endif
