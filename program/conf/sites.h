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

// The scopes of a site, outer ones before inner ones, beginning with its own; NULL behind the last.
conf_scope *conf_scope_next(const conf_site *site, const conf_scope *at);

// The innermost scope around a path.
const conf_scope *conf_scope_of(const conf_site *site, const char *path, size_t len);

// The innermost scope around a path that has a root of its own; NULL: none has.
const conf_scope *conf_scope_root(const conf_site *site, const char *path, size_t len);

#endif
