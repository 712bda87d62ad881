// SPDX-License-Identifier: MIT
//
// TLS handshake. The traffic secrets come by the callback for key logs, which is the only way that
// OpenSSL offers.

#include "net/tls_handshake.h"

#ifdef SKUA_TLS

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <string.h>

// ---- Secrets ----

static int tls_hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Returns how many octets the digits are; 0: it is no secret of a length that is known.
static uint8_t tls_secret_read(const char *digits, uint8_t secret[TLS_SECRET_OCTETS_MAX])
{
    uint8_t n = 0;
    for (; tls_hex_digit(digits[0]) >= 0 && tls_hex_digit(digits[1]) >= 0; digits += 2) {
        if (n == TLS_SECRET_OCTETS_MAX) return 0;
        secret[n++] = (uint8_t)(tls_hex_digit(digits[0]) << 4 | tls_hex_digit(digits[1]));
    }
    return n == 32 || n == 48 ? n : 0;
}

// Whether line is that secret's: LABEL SP client random in hex SP secret in hex.
static bool tls_secret_take(const char *line, const char *label,
                            uint8_t secret[TLS_SECRET_OCTETS_MAX], uint8_t *len)
{
    size_t label_len = strlen(label);
    if (strncmp(line, label, label_len) != 0 || line[label_len] != ' ') return false;
    const char *digits = strchr(line + label_len + 1, ' ');
    *len = digits ? tls_secret_read(digits + 1, secret) : 0;
    return true;
}

// The server's secret is told before the first record that it protects is written.
static void tls_key_told(const SSL *ssl, const char *line)
{
    tls_handshake *h = SSL_get_app_data(ssl);
    uint8_t len = 0;
    tls_context_log_secret(h->choice.acceptor->context, line);
    if (tls_secret_take(line, "CLIENT_TRAFFIC_SECRET_0", h->client_secret, &len))
        h->secret_len = len;
    if (tls_secret_take(line, "SERVER_TRAFFIC_SECRET_0", h->server_secret, &len)) {
        tls_pipe_count(&h->pipe);
    }
}

// OpenSSL 3.0 writes each octet of each secret by sprintf, five secrets in all, which is a tenth of a
// handshake, but only while there is a callback. So there is one from the server's Finished on, whose
// secrets follow it, and in the steps behind that, where the client's comes. A log gets all of them.
static void tls_tell_keys(const tls_handshake *h, bool tells)
{
    const tls_acceptor *acceptor = h->choice.acceptor;
    bool is_logged = acceptor->context->keylog >= 0;
    SSL_CTX_set_keylog_callback(acceptor->ssl, tells || is_logged ? tls_key_told : NULL);
}

static void tls_message_passed(int is_written, int version, int type, const void *message,
                               size_t len, SSL *ssl, void *user)
{
    (void)version;
    (void)user;
    bool is_finished = is_written && type == SSL3_RT_HANDSHAKE && len > 0 &&
                       *(const uint8_t *)message == SSL3_MT_FINISHED;
    if (is_finished) tls_tell_keys(SSL_get_app_data(ssl), true);
}

void tls_handshake_prepare(tls_acceptor *acceptor)
{
    if (acceptor->context->records_by_openssl && acceptor->context->keylog < 0) return;
    SSL_CTX_set_msg_callback(acceptor->ssl, tls_message_passed);
}

// ---- Steps ----

bool tls_handshake_open(tls_handshake *h, tls_acceptor *acceptor, out_queue *wire)
{
    *h = (tls_handshake){ 0 };
    SSL *ssl = tls_acceptor_begin(acceptor, &h->choice);
    if (!ssl) return false;
    if (tls_pipe_open(&h->pipe, ssl, wire)) return true;
    tls_handshake_close(h);
    return false;
}

void tls_handshake_close(tls_handshake *h)
{
    tls_pipe_close(&h->pipe);
    tls_choice_end(&h->choice);
    OPENSSL_cleanse(h->client_secret, sizeof h->client_secret);
    OPENSSL_cleanse(h->server_secret, sizeof h->server_secret);
}

static bool tls_is_method_octet(uint8_t octet)
{
    return octet >= 'A' && octet <= 'Z';
}

static tls_step tls_look_at(tls_handshake *h, const char *octets, size_t len)
{
    bool is_first = !h->has_begun && len;
    h->has_begun |= is_first;
    if (is_first && tls_is_method_octet((uint8_t)octets[0])) return TLS_STEP_IS_HTTP;
    bool is_1_3 = SSL_version(h->pipe.ssl) == TLS1_3_VERSION;
    if (tls_hello_look(&h->hello, slice_make(octets, len), is_1_3)) return TLS_STEP_MORE;
    static const char alert[] = { 21, 3, 3, 0, 2, 2, 47 }; // fatal, illegal_parameter
    (void)out_copy(h->pipe.wire, slice_make(alert, sizeof alert));
    return TLS_STEP_FAILED;
}

tls_step tls_handshake_step(tls_handshake *h, const char **octets, size_t *len)
{
    tls_pipe *pipe = &h->pipe;
    SKUA_ASSERT(pipe->ssl);
    tls_step looked = tls_look_at(h, *octets, *len);
    if (looked != TLS_STEP_MORE) return looked;
    tls_pipe_lend(pipe, *octets, *len);
    tls_tell_keys(h, pipe->counts);
    ERR_clear_error();
    int result = SSL_do_handshake(pipe->ssl);
    *octets = pipe->in;
    *len = pipe->in_len;
    tls_pipe_lend(pipe, NULL, 0);
    if (result == 1) return TLS_STEP_DONE;
    bool more = SSL_get_error(pipe->ssl, result) == SSL_ERROR_WANT_READ && !pipe->no_memory;
    ERR_clear_error();
    return more ? TLS_STEP_MORE : TLS_STEP_FAILED;
}

#endif
