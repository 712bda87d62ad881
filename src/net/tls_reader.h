// SPDX-License-Identifier: MIT
//
// Reader of the records that a client sends after its handshake of TLS 1.3, however the wire is cut.
// A record that lies whole in what was lent is opened where it lies; a part of one is collected in
// memory that exists until the record was read. Only with SKUA_TLS.
//
//     for (;;) {
//         switch (tls_reader_next(reader, protection, &octets, &len, &plain)) {
//         case TLS_READ_MORE: return;       // all has been used
//         case TLS_READ_DATA: ...; break;   // plain, lent until the next call
//         case TLS_READ_CLOSED: ...; break; // the peer sends no more; what follows is ignored
//         ...                               // the others are the end
//         }
//     }
#ifndef SKUA_NET_TLS_READER_H
#define SKUA_NET_TLS_READER_H

#include "net/tls_protection.h"

#ifdef SKUA_TLS

// How many records without application data may come in a row: empty ones, those of messages, and
// warnings. Each costs us more than the peer.
enum { TLS_RECORDS_WITHOUT_DATA_MAX = 32 };

typedef enum tls_read {
    TLS_READ_MORE,      // every octet has been used
    TLS_READ_DATA,      // application data, at least one octet
    TLS_READ_CLOSED,    // close_notify; told once
    TLS_READ_ALERTED,   // the peer has given up; alert is what it has said
    TLS_READ_FAULTY,    // the peer breaks the rules; alert is what it is to be told
    TLS_READ_NO_MEMORY, // memory ran out; alert is internal_error
} tls_read;

typedef struct tls_reader {
    char *record;                      // what has come of it; NULL: none, or of its header alone
    uint16_t held;                     // octets of a record that is not whole
    uint8_t header[TLS_HEADER_OCTETS]; // of it
    uint8_t message_len;               // 0: none has begun
    uint8_t message[TLS_KEY_UPDATE_OCTETS]; // as far as it has come
    uint8_t records_without_data;           // in a row
    uint8_t ended;                          // tls_read; 0: not yet
    uint8_t alert;                          // see tls_read
    bool is_lent; // the record was whole, and the caller may be reading it
} tls_reader;

void tls_reader_init(tls_reader *r);
void tls_reader_deinit(tls_reader *r);

// Goes on with octets that have come, which may be written to. *octets and *len become those that
// were not used.
// plain: set with TLS_READ_DATA. Lies in the octets or in the reader, until the next call.
// Once it was ALERTED, FAULTY or NO_MEMORY, it answers the same for ever.
tls_read tls_reader_next(tls_reader *r, tls_protection *p, char **octets, size_t *len,
                         slice *plain);

// Gives back what is not needed to go on. What was lent is gone.
void tls_reader_rest(tls_reader *r);

// Whether a record or a message has begun that is not whole.
static inline bool tls_reader_is_within(const tls_reader *r)
{
    return r->held || r->message_len;
}

// Octets of memory beside the struct.
size_t tls_reader_octets(const tls_reader *r);

#endif
#endif
