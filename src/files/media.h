// SPDX-License-Identifier: MIT
//
// Media types of files: by the ending of a name, by the whole of it, and where neither tells by how
// the content begins.
#ifndef SKUA_FILES_MEDIA_H
#define SKUA_FILES_MEDIA_H

#include "base/slice.h"

enum { MEDIA_LOOK_OCTETS = 1024 }; // of content that are looked at

// Whether the content of a file of that name has to be looked at.
bool media_needs_look(slice name);

// The type of a file of that name. beginning: its first MEDIA_LOOK_OCTETS at least, or all if it
// has fewer; used only if media_needs_look.
const char *media_type(slice name, slice beginning);

// A field that goes with a type, so that no browser runs what it would not run of a file without
// one. name and value: literals.  Returns false when there is none.
bool media_guard(const char *type, skua_field *field);

#endif
