// SPDX-License-Identifier: MIT
//
// Helpers that the tests of TLS share: the memory of the TLS library, which can be made to fail and be looked
// into, and connections of two ends whose keys are known.
#ifndef TESTS_TLS_H
#define TESTS_TLS_H

#include "net/tls_protection.h"

// Takes the library's memory over; at the beginning of main.
void tls_memory_hook(void);

// The allocation after so many more fails, and each after it; tls_memory_relax ends that.
void tls_memory_fail_after(unsigned allocations);
void tls_memory_relax(void);
void tls_memory_go_on(void);        // as before tls_memory_relax, and counts on
unsigned tls_memory_failures(void); // since tls_memory_fail_after

// How many of the blocks that are in use hold the octets; how many have held them when they were freed.
unsigned tls_memory_holding(const void *octets, size_t len);
void tls_memory_watch(const void *octets, size_t len); // NULL: no longer
unsigned tls_memory_leaked(void);                      // since tls_memory_watch

// A connection: what the client seals the server opens.
typedef struct tls_ends {
    tls_protection client, server;
} tls_ends;

// Secrets follow from seed.  Returns: false when memory ran out; both are wiped then.
bool tls_ends_init(tls_ends *ends, tls_contexts *client, tls_contexts *server, tls_suite suite,
                   uint8_t seed);
void tls_ends_wipe(tls_ends *ends);

#endif
