// SPDX-License-Identifier: MIT
//
// Options: the settings that the command line asks for.
#ifndef PROGRAM_COMMON_OPTIONS_H
#define PROGRAM_COMMON_OPTIONS_H

#include "common/address.h"

#include <skua/skua.h>

enum { OPTIONS_LISTENS_MAX = 8, OPTIONS_HOSTS_MAX = 32, OPTIONS_CERTIFICATES_MAX = 16 };

// Addresses that were given, or that stand for none.
typedef struct options_listens {
    const char *at[OPTIONS_LISTENS_MAX];
    size_t count;
    char completed[OPTIONS_LISTENS_MAX][ADDRESS_OCTETS]; // those that lacked something
} options_listens;

typedef struct options {
    const char *dir;                          // NULL until given
    const char *config;                       // a skua.conf; NULL: none
    const char *not_config;                   // an option that has no place beside it; NULL: none
    options_listens plain, secure;            // where HTTP is spoken, and HTTPS
    unsigned port;                            // for those that name none
    bool has_port;                            // it was given
    bool has_listen;                          // an address was given
    bool has_tls_listen;                      // one for HTTPS
    bool makes_redirect;                      // plain has an address that nobody named
    bool tls;                                 // HTTPS is spoken
    const skua_tls_certificate *certificates; // none: one is to be made
    unsigned certificate_count;
    skua_tls_certificate given[OPTIONS_CERTIFICATES_MAX]; // those of the command line
    skua_tls_desc tls_settings;                           // that no option names
    const char *key;         // that came before its certificate; NULL: none
    const char *ticket_keys; // NULL: random ones
    bool redirects;          // plain addresses send clients to HTTPS
    bool hsts;
    const char *hosts[OPTIONS_HOSTS_MAX];
    size_t host_count;
    const char *trusted; // NULL: no proxy
    skua_forwarded forwarded;
    unsigned workers;
    const char *backend;
    const char *accept;
    skua_directory_config directory;
    bool is_app; // its index answers for what is not found
    skua_log_format log;
    bool quiet;
    bool shows_code; // the address as a QR code
    bool archives;   // folders are sent as zip or tar, too
    int64_t grace_ns;
} options;

// The step that follows the reading of the options.
typedef enum options_outcome {
    OPTIONS_SERVE,
    OPTIONS_SERVE_CONFIG,
    OPTIONS_SELF_TEST, // --self-test: nothing is served
    OPTIONS_HELP,
    OPTIONS_ANSWERED, // --version: it has been printed
    OPTIONS_WRONG     // what is wrong has been said
} options_outcome;

// Prints the usage, and the options from their table.
void options_help(void);

// Fills in the defaults and reads the arguments, whose strings it keeps.
options_outcome options_read(options *o, int argc, char **argv);

#endif
