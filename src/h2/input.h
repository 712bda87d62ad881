// SPDX-License-Identifier: MIT
//
// Input: octets of the connection become frames, and frames become what they ask for.
#ifndef SKUA_H2_INPUT_H
#define SKUA_H2_INPUT_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Takes octets as they came. What is not complete yet is kept.
void h2_input_take(h2_session *s, const char *octets, size_t len);

// Gives back what is kept.
void h2_input_forget(h2_session *s);

#endif
#endif
