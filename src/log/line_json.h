// SPDX-License-Identifier: MIT
//
// Log lines in JSON, with the member names of Caddy, which log readers know.
#ifndef SKUA_LOG_LINE_JSON_H
#define SKUA_LOG_LINE_JSON_H

#include "log/line_text.h"
#include "log/log.h"

// An object without the end of the line.
void line_json_request(line_text *text, const log_access *access, const char *secrets);
void line_json_message(line_text *text, int64_t unix_ns, slice message);

#endif
