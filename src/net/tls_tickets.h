// SPDX-License-Identifier: MIT
//
// Keys of session tickets: RFC 5077 §4, and for TLS 1.3 RFC 8446 §4.6.1. They are made and replaced
// by time, or read from a file that several machines have.
#ifndef SKUA_NET_TLS_TICKETS_H
#define SKUA_NET_TLS_TICKETS_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_load.h"

enum {
    TLS_TICKET_NAME_OCTETS = 16,
    TLS_TICKET_SECRET_OCTETS = 32,
    TLS_TICKET_KEY_OCTETS = TLS_TICKET_NAME_OCTETS + 2 * TLS_TICKET_SECRET_OCTETS,
    TLS_TICKET_KEYS_MAX = 16, // in a file
    TLS_TICKET_KEYS_KEPT = 3, // of those that are made: one in use, and two before it
    // A ticket of a key's last second works as long as any other.
    TLS_TICKET_SECONDS = 2 * 12 * 3600
};

#define TLS_TICKET_ROTATION_NS ((int64_t)12 * 3600 * 1000000000)

// A key as it stands in a file.
typedef struct tls_ticket_key {
    unsigned char name[TLS_TICKET_NAME_OCTETS];
    unsigned char cipher[TLS_TICKET_SECRET_OCTETS];
    unsigned char mac[TLS_TICKET_SECRET_OCTETS];
} tls_ticket_key;

// The keys that all workers have.  Thread: any.
typedef struct tls_tickets tls_tickets;

// Makes random keys, or those of a file. The holder drops it.
// Errors of the second: SKUA_EINVAL, and those of tls_load_read, each with a sentence.
skua_status tls_tickets_random(tls_load *load, tls_tickets **tickets);
skua_status tls_tickets_read(const char *file, tls_load *load, tls_tickets **tickets);

// Whether they were made here and are replaced by time.
bool tls_tickets_are_random(const tls_tickets *tickets);

tls_tickets *tls_tickets_ref(tls_tickets *tickets);
void tls_tickets_unref(tls_tickets *tickets); // NULL is allowed; the last wipes the keys

// One worker's copy, so that no handshake takes a lock.
typedef struct tls_ticket_view {
    tls_tickets *tickets;
    int64_t until_ns; // then the keys may have been replaced
    unsigned count;
    tls_ticket_key keys[TLS_TICKET_KEYS_MAX]; // the first makes tickets, all open them
} tls_ticket_view;

// tickets: shared. Filled at its first use.
void tls_ticket_view_init(tls_ticket_view *view, tls_tickets *tickets);
void tls_ticket_view_deinit(tls_ticket_view *view);

// The key that makes tickets at now_ns (monotonic); NULL when there is none, as no random octets
// could be had.
const tls_ticket_key *tls_ticket_view_first(tls_ticket_view *view, int64_t now_ns);

// The key of that name; NULL: unknown, or dropped since. *is_first: whether it still makes tickets.
const tls_ticket_key *tls_ticket_view_find(tls_ticket_view *view, int64_t now_ns,
                                           const unsigned char name[TLS_TICKET_NAME_OCTETS],
                                           bool *is_first);

#endif
#endif
