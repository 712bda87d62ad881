// SPDX-License-Identifier: MIT
//
// Broken files: those that are queued, and cannot be read to the end that was said.
#ifndef SKUA_H2_BROKEN_H
#define SKUA_H2_BROKEN_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Ends the stream whose file has failed, with what is queued of it.
// Returns: false if there is no such file.
bool h2_broken_file(h2_session *s);

#endif
#endif
