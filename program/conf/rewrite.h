// SPDX-License-Identifier: MIT
//
// Rewrites: the files of another path answer a request.
#ifndef PROGRAM_CONF_REWRITE_H
#define PROGRAM_CONF_REWRITE_H

#include "conf/table.h"

// Handler of a conf_rewrite.
void conf_rewrite_handle(skua_request *request, void *rewrite);

// Looks whether rewrites lead to a root, and are not those of redirects, too.
void conf_check_rewrites(conf_checker *checker, const conf_site *site);

#endif
