// SPDX-License-Identifier: MIT
//
// Warnings about configurations that are valid but have an effect that nobody wants.
#ifndef PROGRAM_CONF_ADVICE_H
#define PROGRAM_CONF_ADVICE_H

#include "conf/conf.h"

// Looks at the whole. A redirect to itself is a finding; all else becomes notes.
void conf_advise(conf *from);

#endif
