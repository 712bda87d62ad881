// SPDX-License-Identifier: MIT
//
// Admission: when the handler of a request may begin. A stream that has been reset keeps its slot as
// long as somebody holds its request, so that resets cannot make more handlers run than streams are
// allowed.
#ifndef SKUA_H2_ADMISSION_H
#define SKUA_H2_ADMISSION_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Whether a stream that has just been opened has to wait.
bool h2_admission_is_full(h2_session *s);

// Makes its request wait, whose head is complete and in text. Returns: false when memory ran out.
bool h2_admission_wait(h2_stream *stream, const char *text);

// Begins the requests that need not wait any more.
void h2_admission_run(h2_session *s);

// When to look again, from now; 0: there is no need to.
int64_t h2_admission_look_ns(const h2_session *s);

#endif
#endif
