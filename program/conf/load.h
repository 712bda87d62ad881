// SPDX-License-Identifier: MIT
//
// Loading: from a file to a configuration without faults, and what it means for HTTPS.
#ifndef PROGRAM_CONF_LOAD_H
#define PROGRAM_CONF_LOAD_H

#include "conf/conf.h"
#include "common/options.h"

// Reads and checks the file, and loads its certificates, for a configuration that is new.
// Returns: false when there are faults, which have been said.
bool conf_load(conf *to, const char *file);

// Says the faults so far. Returns whether there are none.
bool conf_is_sound(const conf *c);

// Its words about HTTPS, as options. Valid as long as c. NULL: out of memory.
const options *conf_options(conf *c);

#endif
