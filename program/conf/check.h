// SPDX-License-Identifier: MIT
//
// Checking: makes a configuration from directives.
#ifndef PROGRAM_CONF_CHECK_H
#define PROGRAM_CONF_CHECK_H

#include "conf/conf.h"

// Fills in what the file says, and the defaults. Everything lives in the memory of to. Whether it can be used:
// there are no findings.
void conf_check(conf *to, const conf_directive *first, const char *file, conf_findings *findings);

#endif
