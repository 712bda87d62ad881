// SPDX-License-Identifier: MIT
//
// Options of TLS. What they point to lives as long as the process.

#include "tls_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static skua_tls_certificate certificate;
static char address[32];

static unsigned long tls_number(const char *text, unsigned long max)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (end != text && !*end && n <= max) return n;
    (void)fprintf(stderr, "not a number from 0 to %lu: %s\n", max, text);
    exit(2);
}

static void tls_have_certificate(skua_config *config)
{
    config->tls.certificates = &certificate;
    config->tls.certificate_count = 1;
}

bool tls_option(const char *name, const char *value, skua_config *config)
{
    if (strcmp(name, "--tls-port") == 0) {
        (void)snprintf(address, sizeof address, "127.0.0.1:%lu", tls_number(value, 65535));
        config->tls.listen = address;
    } else if (strcmp(name, "--cert") == 0) {
        certificate.file = value;
        tls_have_certificate(config);
    } else if (strcmp(name, "--key") == 0) {
        certificate.key_file = value;
        tls_have_certificate(config);
    } else if (strcmp(name, "--records") == 0) {
        config->tls.records = value;
    } else if (strcmp(name, "--tickets") == 0) {
        config->tls.ticket_file = value;
    } else if (strcmp(name, "--clients") == 0) {
        config->tls.clients = (skua_tls_clients){ .asking = SKUA_TLS_REQUIRE, .ca_file = value };
    } else if (strcmp(name, "--handshake-ms") == 0) {
        config->tls.handshake_timeout_ns = (int64_t)tls_number(value, 3600000) * 1000000;
    } else {
        return false;
    }
    return true;
}
