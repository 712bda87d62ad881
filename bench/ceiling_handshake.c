// SPDX-License-Identifier: MIT
//
// Handshakes of the ceiling over TLS. Octets that came are lent to one BIO of each connection; what
// OpenSSL answers lies in the connection's flight.
#include "ceiling_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <string.h>

static struct {
    SSL_CTX *ssl;
    BIO_METHOD *bio;
    tls_labels labels;
    const char *lent;
    size_t lent_len;
} handshakes;

// ---- The BIO ----

static int bio_write(BIO *bio, const char *octets, int len)
{
    tls_conn *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (len <= 0) return 0;
    memcpy(tls_flight_room(t, (size_t)len), octets, (size_t)len);
    t->flight->len += (size_t)len;
    return len;
}

static int bio_read(BIO *bio, char *to, int room)
{
    size_t n = handshakes.lent_len < (size_t)room ? handshakes.lent_len : (size_t)room;
    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, handshakes.lent, n);
    tls_lend(handshakes.lent + n, handshakes.lent_len - n);
    return (int)n;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

void tls_lend(const char *octets, size_t len)
{
    handshakes.lent = octets;
    handshakes.lent_len = len;
}

size_t tls_lent(void)
{
    return handshakes.lent_len;
}

// ---- Secrets ----

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

// line: LABEL SP client random in hex SP secret in hex.
static void secret_take(const char *line, const char *label, uint8_t *secret)
{
    size_t len = strlen(label);
    if (strncmp(line, label, len) != 0 || line[len] != ' ') return;
    const char *digits = strrchr(line, ' ') + 1;
    for (; digits[0] && digits[1]; digits += 2)
        *secret++ = (uint8_t)(hex_digit(digits[0]) << 4 | hex_digit(digits[1]));
}

static void key_told(const SSL *ssl, const char *line)
{
    tls_conn *t = SSL_get_app_data(ssl);
    int of_client = SSL_is_server(ssl) ? OPENS : SEALS,
        of_server = SSL_is_server(ssl) ? SEALS : OPENS;
    secret_take(line, "CLIENT_TRAFFIC_SECRET_0", t->keys[of_client].secret);
    secret_take(line, "SERVER_TRAFFIC_SECRET_0", t->keys[of_server].secret);
}

static void keys_derive(tls_keys *keys)
{
    uint8_t secret[TLS_KEYS_SECRET_OCTETS];
    memcpy(secret, keys->secret, sizeof secret);
    if (!tls_keys_init(keys, &handshakes.labels, TLS_SUITE_AES_128_GCM_SHA256, secret, 0))
        ceiling_die("keys");
}

// ---- Handshakes ----

// A client that offers no h2 gets none, and its requests are not found.
static int protocol_choose(SSL *ssl, const unsigned char **chosen, unsigned char *len,
                           const unsigned char *offered, unsigned offered_len, void *ctx)
{
    static const unsigned char h2[] = { 2, 'h', '2' };
    (void)ssl;
    (void)ctx;
    unsigned char *found = NULL;
    int result = SSL_select_next_proto(&found, len, h2, sizeof h2, offered, offered_len);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// With records of ours there is no ticket, so that the first of them is the first of all.
void tls_handshakes_prepare(const char *certificate, const char *key, bool has_ticket)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    handshakes.ssl = ssl;
    handshakes.bio = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "ceiling");
    if (!ssl || !handshakes.bio || !tls_labels_init(&handshakes.labels)) ceiling_die("OpenSSL");
    BIO_meth_set_write(handshakes.bio, bio_write);
    BIO_meth_set_read(handshakes.bio, bio_read);
    BIO_meth_set_ctrl(handshakes.bio, bio_ctrl);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    if (the.is_http2) SSL_CTX_set_alpn_select_cb(ssl, protocol_choose, NULL);
    if (!has_ticket) SSL_CTX_set_keylog_callback(ssl, key_told);
    if (SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(ssl, has_ticket) != 1 ||
        SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        ceiling_die("the certificate or its key");
}

void tls_handshakes_prepare_client(void)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    handshakes.ssl = ssl;
    if (!ssl || !tls_labels_init(&handshakes.labels) ||
        SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256") != 1)
        ceiling_die("OpenSSL");
    SSL_CTX_set_keylog_callback(ssl, key_told);
}

void tls_handshake_as_client(tls_conn *t, int fd)
{
    t->ssl = SSL_new(handshakes.ssl);
    if (!t->ssl || !SSL_set_app_data(t->ssl, t) || !SSL_set_fd(t->ssl, fd) ||
        SSL_connect(t->ssl) != 1)
        ceiling_die("a handshake");
}

void tls_handshake_open(tls_conn *t)
{
    BIO *bio = BIO_new(handshakes.bio);
    t->ssl = SSL_new(handshakes.ssl);
    if (!bio || !t->ssl) ceiling_die("SSL_new");
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_app_data(t->ssl, t);
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_accept_state(t->ssl);
}

void tls_handshake_close(tls_conn *t)
{
    if (!t->ssl) return;
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    t->ssl = NULL;
}

tls_step tls_handshake_step(tls_conn *t)
{
    ERR_clear_error();
    int result = SSL_do_handshake(t->ssl);
    if (result == 1) return TLS_STEP_DONE;
    return SSL_get_error(t->ssl, result) == SSL_ERROR_WANT_READ ? TLS_STEP_MORE : TLS_STEP_FAILED;
}

void tls_handshake_take_over(tls_conn *t)
{
    keys_derive(&t->keys[OPENS]);
    keys_derive(&t->keys[SEALS]);
    tls_handshake_close(t);
}
