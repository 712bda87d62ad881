// SPDX-License-Identifier: MIT
//
// Building: makes a server from a configuration, without its addresses.
#ifndef PROGRAM_CONF_BUILD_H
#define PROGRAM_CONF_BUILD_H

#include "conf/conf.h"

// config: that of from, with TLS. Returns: a server that has not been started, or NULL, and
// there are findings. Each of its sites holds from.
skua_server *conf_build(conf *from, const skua_config *config);

// Builds sites from it, and puts them in the place of all that the server has. Returns: false when there are findings,
// and the server is as it was.
bool conf_build_sites(conf *from, skua_server *server);

#endif
