// SPDX-License-Identifier: MIT
//
// Hellos. OpenSSL takes 128 KiB for one that says so in its header, so a flood of such headers would
// take much more than handshakes are counted for.

#include "net/tls_hello.h"

#ifdef SKUA_TLS

enum { HELLO_TYPE_CCS = 20, HELLO_TYPE_HANDSHAKE = 22, HELLO_CLIENT = 1 };

// Octets of a message that may begin and end anywhere: messages are cut into records as the client
// likes.
static bool hello_take_message(tls_hello *h, slice octets)
{
    for (size_t i = 0; i < octets.len;) {
        if (h->message_left) {
            size_t rest = octets.len - i;
            size_t part = rest < h->message_left ? rest : h->message_left;
            h->message_left -= (uint32_t)part;
            i += part;
            continue;
        }
        h->message[h->message_len++] = (uint8_t)octets.ptr[i++];
        if (h->message_len < sizeof h->message) continue;
        h->message_len = 0;
        h->message_left =
            (uint32_t)h->message[1] << 16 | (uint32_t)h->message[2] << 8 | h->message[3];
        if (h->message[0] == HELLO_CLIENT && h->message_left > TLS_HELLO_OCTETS_MAX) return false;
    }
    return true;
}

// In TLS 1.3 a change_cipher_spec means nothing, and a second hello may follow it (RFC 8446 §D.4).
// Before that, everything behind it is encrypted.
static void hello_take_header(tls_hello *h, uint8_t octet, bool is_1_3)
{
    h->record[h->record_len++] = octet;
    if (h->record_len < sizeof h->record) return;
    h->record_len = 0;
    h->record_left = (uint32_t)h->record[3] << 8 | h->record[4];
    if (h->record[0] == HELLO_TYPE_CCS && !is_1_3) h->is_over = true;
}

bool tls_hello_look(tls_hello *h, slice octets, bool is_1_3)
{
    for (size_t i = 0; i < octets.len && !h->is_over;) {
        if (!h->record_left) {
            hello_take_header(h, (uint8_t)octets.ptr[i++], is_1_3);
            continue;
        }
        size_t rest = octets.len - i;
        size_t part = rest < h->record_left ? rest : h->record_left;
        slice body = slice_make(octets.ptr + i, part);
        if (h->record[0] == HELLO_TYPE_HANDSHAKE && !hello_take_message(h, body)) return false;
        h->record_left -= (uint32_t)part;
        i += part;
    }
    return true;
}

#endif
