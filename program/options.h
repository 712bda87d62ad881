// SPDX-License-Identifier: MIT
//
// Options: the settings that the command line asks for.
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

#include "address.h"

#include <skua/skua.h>

enum { OPTIONS_LISTENS_MAX = 8, OPTIONS_HOSTS_MAX = 32 };

typedef struct options {
    const char *dir; // NULL until given
    const char *listens[OPTIONS_LISTENS_MAX];
    size_t listen_count;
    char completed[OPTIONS_LISTENS_MAX][ADDRESS_OCTETS]; // those that lacked something
    unsigned port;                                       // for those that name none
    bool has_port;                                       // it was given
    bool has_listen;                                     // an address was given
    const char *hosts[OPTIONS_HOSTS_MAX];
    size_t host_count;
    unsigned workers;
    const char *backend;
    const char *accept;
    skua_directory_config directory;
    skua_log_format log;
    bool quiet;
    int64_t grace_ns;
} options;

// The step that follows the reading of the options.
typedef enum options_outcome {
    OPTIONS_SERVE,
    OPTIONS_SELF_TEST, // --self-test: nothing is served
    OPTIONS_ANSWERED,  // --help or --version: it has been printed
    OPTIONS_WRONG      // what is wrong has been said
} options_outcome;

// Fills in the defaults and reads the arguments, whose strings it keeps.
options_outcome options_read(options *o, int argc, char **argv);

#endif
