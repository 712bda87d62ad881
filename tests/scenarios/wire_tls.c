// SPDX-License-Identifier: MIT
//
// TLS on a client's end of a connection. The certificate is an Ed25519 one, whose signatures have
// one length.

#include "scenarios/wire_tls.h"

#include "support/tls_files.h"
#include "support/tls_peer.h"
#include "app/text.h"

#include <stdlib.h>

static const char *transport_asked(void)
{
    const char *asked = getenv("SKUA_TRANSPORT");
    return asked ? asked : "";
}

#ifdef SKUA_TLS

struct wire_tls {
    tls_peer peer;
    size_t fed;    // octets of the wire that the peer has had
    text out;      // for the wire,
    size_t out_at; // from here on
};

static struct {
    bool is_asked;
    int version_max; // of the clients; 0: any
    char *chain_pem, *key_pem;
    skua_tls_certificate certificate;
    const char *records;
    const char *protocol; // that clients ask for; NULL: none
} transport_kind;

bool wire_tls_prepare(void)
{
    const char *asked = transport_asked();
    bool old = strcmp(asked, "tls-1.2") == 0, theirs = strcmp(asked, "tls-openssl") == 0;
    bool h2 = strcmp(asked, "h2") == 0;
    if (!*asked || strcmp(asked, "h2c") == 0) return true;
    if (!old && !theirs && !h2 && strcmp(asked, "tls") != 0) abort();
    tls_made made = tls_make((tls_want){ .key = "ED25519", .name = "a", .alternates = "DNS:a" });
    const tls_made *const chain[] = { &made, NULL };
    transport_kind.chain_pem = tls_pem_chain(chain);
    transport_kind.key_pem = tls_pem_key(&made, NULL);
    transport_kind.certificate =
        (skua_tls_certificate){ .pem = slice_of(transport_kind.chain_pem),
                                .key_pem = slice_of(transport_kind.key_pem) };
    transport_kind.records = theirs ? "openssl" : NULL;
    transport_kind.version_max = old ? TLS1_2_VERSION : 0;
    transport_kind.protocol = h2 ? "h2" : NULL;
    transport_kind.is_asked = true;
    tls_made_free(&made);
    return true;
}

void wire_tls_forget(void)
{
    free(transport_kind.chain_pem);
    free(transport_kind.key_pem);
    transport_kind.is_asked = false;
}

skua_tls_desc wire_tls_config(void)
{
    if (!transport_kind.is_asked) return (skua_tls_desc){ .listen = NULL };
    return (skua_tls_desc){ .certificates = &transport_kind.certificate,
                            .certificate_count = 1,
                            .records = transport_kind.records };
}

wire_tls *wire_tls_new(void)
{
    if (!transport_kind.is_asked) return NULL;
    wire_tls *t = calloc(1, sizeof *t);
    if (!t) abort();
    tls_peer_open(&t->peer, transport_kind.version_max, transport_kind.protocol);
    return t;
}

void wire_tls_free(wire_tls *t)
{
    if (!t) return;
    tls_peer_close(&t->peer);
    text_free(&t->out);
    free(t);
}

void wire_tls_feed(wire_tls *t, slice received)
{
    if (received.len > t->fed) tls_peer_feed(&t->peer, slice_from(received, t->fed));
    t->fed = received.len;
}

slice wire_tls_unsent(wire_tls *t)
{
    if (t->out_at == t->out.len) t->out.len = t->out_at = 0;
    for (slice octets; (octets = tls_peer_take(&t->peer)).len;)
        text_add(&t->out, octets);
    return slice_from(text_slice(&t->out), t->out_at);
}

void wire_tls_sent(wire_tls *t, size_t octets)
{
    t->out_at += octets;
}

bool wire_tls_is_open(const wire_tls *t)
{
    return t->peer.is_open;
}

void wire_tls_write(wire_tls *t, slice octets)
{
    tls_peer_write(&t->peer, octets);
}

void wire_tls_finish(wire_tls *t)
{
    if (t->peer.is_open) tls_peer_end(&t->peer);
}

slice wire_tls_received(const wire_tls *t)
{
    return slice_make(t->peer.plain, t->peer.plain_len);
}

bool wire_tls_is_ended(const wire_tls *t)
{
    return t->peer.ended;
}

#else

bool wire_tls_prepare(void)
{
    const char *asked = transport_asked();
    return !*asked || strcmp(asked, "h2c") == 0;
}

void wire_tls_forget(void)
{
}

skua_tls_desc wire_tls_config(void)
{
    return (skua_tls_desc){ .listen = NULL };
}

wire_tls *wire_tls_new(void)
{
    return NULL;
}

void wire_tls_free(wire_tls *t)
{
    (void)t;
}

// A client without TLS never comes to the rest.
void wire_tls_feed(wire_tls *t, slice received)
{
    (void)t;
    (void)received;
}

slice wire_tls_unsent(wire_tls *t)
{
    (void)t;
    return (slice){ 0 };
}

void wire_tls_sent(wire_tls *t, size_t octets)
{
    (void)t;
    (void)octets;
}

bool wire_tls_is_open(const wire_tls *t)
{
    (void)t;
    return false;
}

void wire_tls_write(wire_tls *t, slice octets)
{
    (void)t;
    (void)octets;
}

void wire_tls_finish(wire_tls *t)
{
    (void)t;
}

slice wire_tls_received(const wire_tls *t)
{
    (void)t;
    return (slice){ 0 };
}

bool wire_tls_is_ended(const wire_tls *t)
{
    (void)t;
    return false;
}

#endif
