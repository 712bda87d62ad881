// SPDX-License-Identifier: MIT
//
// The parts of a request line, in a log line.
#ifndef SKUA_LOG_LINE_TARGET_H
#define SKUA_LOG_LINE_TARGET_H

#include "log/line_text.h"
#include "log/log.h"

// Percent-encoded, so that what is copied from a line can be asked for again. Without a version it is what came in
// place of one. secrets: as in mask.h.
void line_put_target(line_text *text, const log_access *access, const char *secrets,
                     line_place place);

// Of HTTP: "1.1".
const char *line_version(int version);

#endif
