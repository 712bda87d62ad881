// SPDX-License-Identifier: MIT
//
// Messages. On a terminal the word that tells a reader how grave one is has a colour.

#include "common/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAY_OCTETS_MAX = 8192 };

bool say_is_coloured(void)
{
    const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && !(refusal && *refusal) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

void say_clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
    }
}

__attribute__((format(printf, 3, 0))) static void say_as(const char *colour, const char *grade,
                                                         const char *format, va_list arguments)
{
    char text[SAY_OCTETS_MAX];
    bool coloured = *colour && say_is_coloured();
    if (vsnprintf(text, sizeof text, format, arguments) < 0) return;
    say_clean(text);
    (void)fprintf(stderr, "%sskua:%s%s %s\n", coloured ? colour : "", grade,
                  coloured ? "\033[0m" : "", text);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_as("", "", format, arguments);
    va_end(arguments);
}

void say_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_as("\033[1;31m", "", format, arguments);
    va_end(arguments);
}

void say_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_as("\033[1;33m", " warning:", format, arguments);
    va_end(arguments);
}
