// SPDX-License-Identifier: MIT
//
// Sentences that the program says to a person, on standard error.
#ifndef PROGRAM_COMMON_SAY_H
#define PROGRAM_COMMON_SAY_H

#include <stdbool.h>

// "skua: …" and a newline. The text may hold what was typed: controls in it are not passed on.
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say_warning(const char *format, ...);

// Replaces the controls in a text by "?": the name of a file may hold an escape sequence.
void say_clean(char *text);

// Whether standard error takes colours: it is a terminal, and NO_COLOR is not set.
bool say_is_coloured(void);

#endif
