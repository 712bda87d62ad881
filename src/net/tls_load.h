// SPDX-License-Identifier: MIT
//
// Loading what TLS needs from files and memory, and the sentences about what is wrong with it.
#ifndef SKUA_NET_TLS_LOAD_H
#define SKUA_NET_TLS_LOAD_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "base/slice.h"

enum {
    TLS_WHY_OCTETS = 512,
    TLS_FILE_OCTETS_MAX = 1 << 20 // a chain has a few thousand, the CAs of a system 250,000
};

// The time that a load goes by, and the sentences that it gives.
typedef struct tls_load {
    int64_t unix_s; // the time by which certificates are judged
    bool h2;        // HTTP/2 is offered by ALPN
    // Told of what is unwise and works. May be NULL.
    void (*warn)(const char *sentence, void *user);
    void *user;
    char why[TLS_WHY_OCTETS]; // the sentence about a failure
} tls_load;

// One thing to load: from a file, or PEM in memory when there is no file.
typedef struct tls_source {
    const char *what; // "certificate", "key"
    const char *file;
    slice pem;
} tls_source;

// Octets that have been read. What held a key is wiped when it is freed.
typedef struct tls_octets {
    char *ptr;
    size_t len;
} tls_octets;

// Writes the sentence and returns status.
__attribute__((format(printf, 3, 4))) skua_status tls_load_fail(tls_load *load, skua_status status,
                                                                const char *format, ...);
__attribute__((format(printf, 2, 3))) void tls_load_warn(const tls_load *load, const char *format,
                                                         ...);

// Fails with the oldest reason in OpenSSL's error queue, "cannot WHAT: REASON", and empties the
// queue.
skua_status tls_load_fail_openssl(tls_load *load, const char *what);

// skua_status_text for what a file has come to.
const char *tls_load_text(skua_status status);

// How a source is named in a sentence: by its file.
const char *tls_source_name(const tls_source *source);

// Reads a source. mode: of the file, 0 for PEM in memory. octets: freed by tls_octets_free.
// Errors: SKUA_ENOENT, SKUA_EACCES, SKUA_ELIMIT, SKUA_EIO, SKUA_ENOMEM; each with a sentence.
skua_status tls_load_read(tls_load *load, const tls_source *source, tls_octets *octets,
                          unsigned *mode);

void tls_octets_free(tls_octets *octets);

#endif
#endif
