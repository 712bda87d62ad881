// SPDX-License-Identifier: MIT
//
// Configurations that are no faults by their words, and do what nobody wants.
#ifndef PROGRAM_CONF_ADVICE_H
#define PROGRAM_CONF_ADVICE_H

#include "conf/conf.h"

// Looks at the whole. A redirect to itself is a finding; all else becomes notes.
void conf_advise(conf *from);

#endif
