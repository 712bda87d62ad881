// SPDX-License-Identifier: MIT
//
// A client of OpenSSL's between memory BIOs.

#include "support/tls_peer.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

static void peer_ask_for(tls_peer *p, const char *protocol)
{
    unsigned char list[16];
    size_t len = strlen(protocol);
    SKUA_ASSERT(len < sizeof list);
    list[0] = (unsigned char)len;
    memcpy(list + 1, protocol, len);
    SKUA_ASSERT(SSL_set_alpn_protos(p->ssl, list, (unsigned)len + 1) == 0); // 0 is success here
}

void tls_peer_open(tls_peer *p, int version_max, const char *protocol)
{
    *p = (tls_peer){ .context = SSL_CTX_new(TLS_client_method()) };
    SKUA_ASSERT(p->context);
    p->ssl = SSL_new(p->context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SKUA_ASSERT(p->ssl && in && out && SSL_set_max_proto_version(p->ssl, version_max));
    if (protocol) peer_ask_for(p, protocol);
    SSL_set_bio(p->ssl, in, out);
    SSL_set_connect_state(p->ssl);
    tls_peer_feed(p, slice_make("", 0));
}

void tls_peer_close(tls_peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->context);
    free(p->plain);
}

static void peer_read(tls_peer *p)
{
    char octets[16384];
    for (;;) {
        int n = SSL_read(p->ssl, octets, sizeof octets);
        int error = SSL_get_error(p->ssl, n);
        ERR_clear_error();
        if (n <= 0) {
            p->ended = error == SSL_ERROR_ZERO_RETURN;
            p->failed = !p->ended && error != SSL_ERROR_WANT_READ;
            return;
        }
        p->plain = realloc(p->plain, p->plain_len + (size_t)n);
        SKUA_ASSERT(p->plain);
        memcpy(p->plain + p->plain_len, octets, (size_t)n);
        p->plain_len += (size_t)n;
    }
}

void tls_peer_feed(tls_peer *p, slice wire)
{
    if (wire.len) SKUA_ASSERT(BIO_write(SSL_get_rbio(p->ssl), wire.ptr, (int)wire.len) > 0);
    if (p->failed || p->ended) return;
    ERR_clear_error();
    if (!p->is_open) {
        int result = SSL_do_handshake(p->ssl);
        p->is_open = result == 1;
        p->failed = !p->is_open && SSL_get_error(p->ssl, result) != SSL_ERROR_WANT_READ;
        ERR_clear_error();
    }
    if (p->is_open) peer_read(p);
}

void tls_peer_write(tls_peer *p, slice octets)
{
    SKUA_ASSERT(p->is_open);
    SKUA_ASSERT(SSL_write(p->ssl, octets.ptr, (int)octets.len) == (int)octets.len);
}

void tls_peer_end(tls_peer *p)
{
    (void)SSL_shutdown(p->ssl);
    ERR_clear_error();
}

slice tls_peer_take(tls_peer *p)
{
    int n = BIO_read(SSL_get_wbio(p->ssl), p->wire, sizeof p->wire);
    return slice_make(p->wire, n > 0 ? (size_t)n : 0);
}

#endif
