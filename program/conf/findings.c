// SPDX-License-Identifier: MIT

#include "conf/findings.h"

#include "common/say.h"

#include <stdarg.h>
#include <stdio.h>

enum { FINDING_OCTETS = 1024 };

void conf_find(conf_findings *findings, conf_place at, const char *format, ...)
{
    char text[FINDING_OCTETS];
    va_list arguments;
    if (++findings->count > CONF_FINDINGS_MAX) return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say_clean(text); // a word of the file may hold whatever the environment does
    conf_finding *finding = conf_take(findings->memory, sizeof *finding);
    const char *sentence = conf_print(findings->memory, "%s", text);
    if (!finding || !sentence) return;
    *finding = (conf_finding){ at, sentence, NULL };
    if (findings->last) findings->last->next = finding;
    else findings->first = finding;
    findings->last = finding;
}

void conf_findings_say(const conf_findings *findings)
{
    for (const conf_finding *at = findings->first; at; at = at->next)
        (void)fprintf(stderr, "%s:%u:%u: %s\n", at->at.file, at->at.line, at->at.column,
                      at->sentence);
    if (findings->count > CONF_FINDINGS_MAX)
        (void)fprintf(stderr, "and %u more\n", findings->count - CONF_FINDINGS_MAX);
}
