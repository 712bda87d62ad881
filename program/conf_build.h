// SPDX-License-Identifier: MIT
//
// Building: a server with all that a configuration says but its addresses.
#ifndef PROGRAM_CONF_BUILD_H
#define PROGRAM_CONF_BUILD_H

#include "conf.h"

// config: that of from, with TLS. Returns: a server that has not been started, or NULL, and
// there are findings. from: kept until the server is freed.
skua_server *conf_build(conf *from, const skua_config *config, conf_findings *findings);

#endif
