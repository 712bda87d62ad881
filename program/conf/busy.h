// SPDX-License-Identifier: MIT
//
// Busy: addresses that another process listens on already.
#ifndef PROGRAM_CONF_BUSY_H
#define PROGRAM_CONF_BUSY_H

#include "conf/conf.h"

// Adds a note for each address of the configuration that is in use: by another program, or by the server that is to read
// the configuration again. Nothing listens meanwhile.
void conf_busy_look(conf *c);

#endif
