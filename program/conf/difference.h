// SPDX-License-Identifier: MIT
//
// The difference of two configurations in what belongs to the server as a whole.
#ifndef PROGRAM_CONF_DIFFERENCE_H
#define PROGRAM_CONF_DIFFERENCE_H

#include "conf/table.h"

// Returns: the first directive that differs, of those that no reload changes in a server, and its place. NULL: none.
// at: untouched then.
const conf_kind *conf_difference(const conf *before, const conf *now, conf_place *at);

// Calls told for each of them.
void conf_difference_each(const conf *before, const conf *now,
                          void (*told)(const conf_kind *kind, conf_place at));

#endif
