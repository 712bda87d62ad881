// SPDX-License-Identifier: MIT
//
// Taking directives: each function is that of one kind, or of several that differ in numbers alone.
#ifndef PROGRAM_CONF_TAKE_H
#define PROGRAM_CONF_TAKE_H

#include "conf/table.h"

// Members of skua_config.
conf_take_fn conf_take_duration, conf_take_octets, conf_take_number, conf_take_switch;

// The server's.
conf_take_fn conf_take_listen, conf_take_status, conf_take_pid_file, conf_take_access_log,
    conf_take_backend, conf_take_accept, conf_take_trusted, conf_take_grace,
    conf_take_client_connections, conf_take_drain_delay, conf_take_start_timeout, conf_take_user,
    conf_take_sandbox, conf_take_sandbox_paths, conf_take_http2, conf_take_h2c, conf_take_log_masks,
    conf_take_oldest, conf_take_groups, conf_take_tickets, conf_take_ticket_keys;

// A site's, and those of defaults and paths.
conf_take_fn conf_take_certificate, conf_take_clients, conf_take_canonical, conf_take_redirect,
    conf_take_root, conf_take_index, conf_take_listing, conf_take_dotfiles, conf_take_links,
    conf_take_spa, conf_take_clean_urls, conf_take_precompressed, conf_take_not_found,
    conf_take_compress, conf_take_security, conf_take_hsts, conf_take_cache, conf_take_limit,
    conf_take_guard, conf_take_door, conf_take_cors, conf_take_connections, conf_take_bandwidth,
    conf_take_header, conf_take_error_page, conf_take_maintenance, conf_take_log, conf_take_type,
    conf_take_etag, conf_take_preload, conf_take_upload, conf_take_archive, conf_take_try,
    conf_take_rewrite, conf_take_request_id;

#endif
