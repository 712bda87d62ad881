// SPDX-License-Identifier: MIT
//
// Hellos that a client sends in the clear, looked at before OpenSSL takes memory for them. There are
// two when the first one's share of a key is of a group that the server does not want. Only with
// SKUA_TLS.
#ifndef SKUA_NET_TLS_HELLO_H
#define SKUA_NET_TLS_HELLO_H

#include "base/slice.h"

#ifdef SKUA_TLS

// A ClientHello that announces more than this is refused from its header.
enum { TLS_HELLO_OCTETS_MAX = 16384 };

// How far the records of a handshake have been looked at. Zero: not at all.
typedef struct tls_hello {
    uint32_t record_left, message_left; // octets behind the last header
    uint8_t record[5], message[4];      // the header that is coming
    uint8_t record_len, message_len;    // as far as it has
    bool is_over;                       // what follows is not in the clear
} tls_hello;

// Goes on with octets that have come, each once. is_1_3: that version, or none yet, is agreed on.
// Returns: false when a hello announces more than TLS_HELLO_OCTETS_MAX.
bool tls_hello_look(tls_hello *h, slice octets, bool is_1_3);

#endif
#endif
