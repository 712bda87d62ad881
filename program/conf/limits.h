// SPDX-License-Identifier: MIT
//
// Tables of limits, where clients are counted. A limit that is the same in two configurations has
// one table, so that a reload does not reset the counts.
#ifndef PROGRAM_CONF_LIMITS_H
#define PROGRAM_CONF_LIMITS_H

#include <skua/middleware/limit.h>

// The table of that name, with the rates of the first who asked for it. It is returned once for each time that it
// was got. NULL: out of memory. Thread: any, as of conf_limits_return.
skua_limit *conf_limits_get(const char *name, const skua_limit *rates);

void conf_limits_return(void *limit); // a skua_limit; NULL is allowed

#endif
