// SPDX-License-Identifier: MIT
//
// Protection of a TLS 1.3 connection: the keys of both directions, and records that are sealed and
// opened with them (RFC 8446 §5.2). Only with SKUA_TLS.
//
// A sender asks tls_protection_owes_update before each record of application data, and writes
// tls_seal_update first if so. Everything else about keys happens here and in the reader.
#ifndef SKUA_NET_TLS_PROTECTION_H
#define SKUA_NET_TLS_PROTECTION_H

#include "base/slice.h"
#include "net/tls_contexts.h"

#ifdef SKUA_TLS

enum {
    TLS_HEADER_OCTETS = 5,  // before what is protected
    TLS_TAG_OCTETS = 16,    // behind it
    TLS_AROUND_OCTETS = 22, // header, type and tag: what a record adds to its plain octets
    TLS_PLAIN_OCTETS_MAX = 16384,
    TLS_SEALED_OCTETS_MAX = TLS_PLAIN_OCTETS_MAX + 256, // behind the header, of what a peer sends
};

// Octets of whole records.
enum {
    TLS_ALERT_RECORD_OCTETS = TLS_AROUND_OCTETS + 2,
    TLS_UPDATE_RECORD_OCTETS = TLS_AROUND_OCTETS + 5
};

typedef enum tls_content {
    TLS_CONTENT_ALERT = 21,
    TLS_CONTENT_HANDSHAKE = 22,
    TLS_CONTENT_APPLICATION = 23,
} tls_content;

typedef enum tls_alert {
    TLS_ALERT_CLOSE_NOTIFY = 0,
    TLS_ALERT_UNEXPECTED_MESSAGE = 10,
    TLS_ALERT_BAD_RECORD_MAC = 20,
    TLS_ALERT_RECORD_OVERFLOW = 22,
    TLS_ALERT_ILLEGAL_PARAMETER = 47,
    TLS_ALERT_DECODE_ERROR = 50,
    TLS_ALERT_INTERNAL_ERROR = 80,
    TLS_ALERT_USER_CANCELED = 90,
} tls_alert;

// The handshake message KeyUpdate, RFC 8446 §4.6.3: type, length, and whether one is asked for.
enum { TLS_KEY_UPDATE = 24, TLS_KEY_UPDATE_OCTETS = 5 };

typedef struct tls_protection {
    tls_contexts *contexts; // of the worker
    tls_pair *pair;         // NULL: another connection has it
    tls_keys keys[TLS_DIRECTIONS];
    uint16_t plain_max; // octets of a record's content, both ways; less by max_fragment_length
    bool owes_update;   // the peer has asked for a KeyUpdate
    bool has_asked;     // the peer owes one
    bool has_failed;    // memory ran out while a record was sealed
} tls_protection;

// Takes over after a handshake.
// p: must not move until it is wiped.  suite: one that the contexts have.
// open_secret, seal_secret: the traffic secrets of the client and the server, of
// tls_suite_secret_octets.  sealed: how many records have been sealed with the second.
// plain_max: TLS_PLAIN_OCTETS_MAX, or the negotiated max_fragment_length.
// Returns: false when memory ran out; the protection is wiped then.
bool tls_protection_init(tls_protection *p, tls_contexts *contexts, tls_suite suite,
                         const uint8_t *open_secret, const uint8_t *seal_secret, uint64_t sealed,
                         uint16_t plain_max);

// Overwrites all keys, those in a context too.
void tls_protection_wipe(tls_protection *p);

// Whether a KeyUpdate has to come before the next record of application data: the peer has asked for
// it, or one of the keys has protected enough.
static inline bool tls_protection_owes_update(const tls_protection *p)
{
    uint64_t enough = p->contexts->records_per_key;
    return p->owes_update || p->keys[TLS_SEAL].sequence >= enough ||
           (p->keys[TLS_OPEN].sequence >= enough && !p->has_asked);
}

// How many records may be sealed before the key has protected enough.
static inline uint64_t tls_protection_records_left(const tls_protection *p)
{
    uint64_t enough = p->contexts->records_per_key, sealed = p->keys[TLS_SEAL].sequence;
    return sealed < enough ? enough - sealed : 0;
}

// Seals one record.
// pieces: its content, one after the other, at most plain_max octets in all; each is read where it
// lies. With one piece it may lie at record + TLS_HEADER_OCTETS, and is sealed in place.
// record: room for the content and TLS_AROUND_OCTETS.
// Returns: octets of the record; 0 when memory ran out, and then nothing can be sent any more.
size_t tls_seal(tls_protection *p, tls_content type, const slice *pieces, size_t count,
                char *record);

// Seals a KeyUpdate and goes on to the next key. If the peer's key has protected enough, asks for one.
// record: room for TLS_UPDATE_RECORD_OCTETS.
// Returns: as tls_seal.
size_t tls_seal_update(tls_protection *p, char *record);

// record: room for TLS_ALERT_RECORD_OCTETS.
// Returns: as tls_seal.
size_t tls_seal_alert(tls_protection *p, tls_alert alert, char *record);

typedef enum tls_opened { TLS_OPENED, TLS_OPENED_FORGED, TLS_OPENED_NO_MEMORY } tls_opened;

// Opens one record in place.
// record: header and what is behind it, len octets in all, of at least TLS_AROUND_OCTETS. Its content
// is undefined unless it was opened.
// inner: the content, its type and its padding, which lie in the record.
tls_opened tls_open(tls_protection *p, char *record, size_t len, slice *inner);

// A KeyUpdate came.
// Returns: false when memory ran out; nothing can be opened any more.
bool tls_protection_updated(tls_protection *p, bool is_asked);

#endif
#endif
