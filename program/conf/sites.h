// SPDX-License-Identifier: MIT
//
// Sites and their paths.
#ifndef PROGRAM_CONF_SITES_H
#define PROGRAM_CONF_SITES_H

#include "conf/table.h"

// Reads the block of a site.
void conf_check_site(conf_checker *checker, const conf_directive *given);

// Whether a path is that of a scope or below it: "/a/" has "/a" and "/a/b", and exactly "/a" has itself alone.
bool conf_scope_has(const conf_scope *scope, const char *path, size_t len);

#endif
