// SPDX-License-Identifier: MIT
//
// Methods: blocks of rules for requests with some methods only.
#ifndef PROGRAM_CONF_METHOD_H
#define PROGRAM_CONF_METHOD_H

#include "conf/table.h"

// Reads the blocks of methods among the directives of a block, whose own rules have been read before. So a block of
// methods is inside of the block that it stands in, wherever it stands there.
void conf_check_methods(conf_checker *checker, const conf_directive *first);

// Whether a rule for methods, with spaces between them, is one for that method. methods: NULL: it is for all.
bool conf_method_is_of(const char *methods, skua_slice method);

#endif
