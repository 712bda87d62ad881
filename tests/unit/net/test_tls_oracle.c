// SPDX-License-Identifier: MIT
//
// Our records and the library's: two SSL objects do a handshake, the server's is freed, and its place
// is taken by the secrets that it has told. What is written at one end is read at the other, whatever
// the lengths, the cuts and the generations of keys.

#include "net/tls_reader.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { OCTETS_MAX = 40000, STEPS = 400 };

static tls_contexts contexts;
static X509 *certificate;
static EVP_PKEY *certificate_key;

typedef struct session {
    SSL_CTX *client_context, *server_context;
    SSL *client, *server;
    BIO *to_client, *to_server; // the wire
    uint8_t secrets[TLS_DIRECTIONS][TLS_KEYS_SECRET_OCTETS];
    tls_suite suite;
    tls_protection protection;
    tls_reader reader;
    uint64_t random;
    bool is_closed;
    char received[OCTETS_MAX];
    size_t received_len;
} session;

static uint64_t random_below(session *s, uint64_t limit)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (s->random >> 33) % limit;
}

// ---- The handshake ----

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    assert_int_equal(EVP_PKEY_keygen_init(context), 1);
    assert_true(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) > 0);
    assert_int_equal(EVP_PKEY_keygen(context, &key), 1);
    EVP_PKEY_CTX_free(context);
    return key;
}

static void make_certificate(void)
{
    certificate_key = make_key();
    certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_set_pubkey(certificate, certificate_key);
    assert_true(X509_sign(certificate, certificate_key, EVP_sha256()) > 0);
}

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

// LABEL, the client's random octets, the secret.
static void note_secret(const SSL *ssl, const char *line)
{
    static const char *const labels[] = {
        [TLS_OPEN] = "CLIENT_TRAFFIC_SECRET_0 ", [TLS_SEAL] = "SERVER_TRAFFIC_SECRET_0 "
    };
    session *s = SSL_get_app_data(ssl);
    for (unsigned i = 0; i < TLS_DIRECTIONS; i++) {
        if (strncmp(line, labels[i], strlen(labels[i])) != 0) continue;
        const char *hex = strrchr(line, ' ') + 1;
        for (unsigned at = 0; hex[at]; at += 2)
            s->secrets[i][at / 2] = (uint8_t)(hex_digit(hex[at]) << 4 | hex_digit(hex[at + 1]));
    }
}

static void open_contexts(session *s, const char *suite, unsigned tickets)
{
    s->client_context = SSL_CTX_new(TLS_client_method());
    s->server_context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(s->server_context, certificate);
    SSL_CTX_use_PrivateKey(s->server_context, certificate_key);
    SSL_CTX_set_keylog_callback(s->server_context, note_secret);
    SSL_CTX_set_num_tickets(s->server_context, tickets);
    assert_int_equal(SSL_CTX_set_ciphersuites(s->client_context, suite), 1);
}

static void open_wires(session *s)
{
    s->client = SSL_new(s->client_context);
    s->server = SSL_new(s->server_context);
    SSL_set_app_data(s->server, s);
    s->to_client = BIO_new(BIO_s_mem());
    s->to_server = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(s->to_client, -1);
    BIO_set_mem_eof_return(s->to_server, -1);
    BIO_up_ref(s->to_client);
    BIO_up_ref(s->to_server);
    SSL_set_bio(s->client, s->to_client, s->to_server);
    BIO_up_ref(s->to_client);
    BIO_up_ref(s->to_server);
    SSL_set_bio(s->server, s->to_server, s->to_client);
    SSL_set_connect_state(s->client);
    SSL_set_accept_state(s->server);
}

// early: octets that the client sends together with its Finished.
static void shake_hands(session *s, const char *early, int early_len)
{
    while (SSL_do_handshake(s->client) != 1)
        (void)SSL_do_handshake(s->server);
    if (early_len) assert_int_equal(SSL_write(s->client, early, early_len), early_len);
    while (SSL_do_handshake(s->server) != 1)
        continue;
}

// AWS-LC has neither limits of records nor padding, and sends its tickets with the first octets.
#ifdef OPENSSL_IS_AWSLC

static void set_variation(session *s, unsigned variation)
{
    (void)s;
    (void)variation;
}

static uint16_t agreed_plain_max(const session *s)
{
    (void)s;
    return TLS_PLAIN_OCTETS_MAX;
}

static uint64_t sealed_records(const session *s, unsigned tickets)
{
    (void)tickets;
    assert_int_equal(SSL_write(s->server, "", 0), 0);
    return SSL_get_write_sequence(s->server);
}

#else

static void set_variation(session *s, unsigned variation)
{
    if (variation == 1)
        SSL_CTX_set_tlsext_max_fragment_length(s->client_context, TLSEXT_max_fragment_length_512);
    if (variation == 2) SSL_CTX_set_block_padding(s->client_context, 512);
}

static uint16_t agreed_plain_max(const session *s)
{
    uint8_t fragments = SSL_SESSION_get_max_fragment_length(SSL_get0_session(s->server));
    return (uint16_t)(fragments ? 256 << fragments : TLS_PLAIN_OCTETS_MAX);
}

static uint64_t sealed_records(const session *s, unsigned tickets)
{
    (void)s;
    return tickets;
}

#endif

static void take_over(session *s, unsigned tickets)
{
    uint16_t plain_max = agreed_plain_max(s);
    uint64_t sealed = sealed_records(s, tickets);
    assert_true(
        tls_suite_of(SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(s->server)), &s->suite));
    SSL_free(s->server);
    s->server = NULL;
    assert_true(tls_protection_init(&s->protection, &contexts, s->suite, s->secrets[TLS_OPEN],
                                    s->secrets[TLS_SEAL], sealed, plain_max));
    tls_reader_init(&s->reader);
}

static void session_close(session *s)
{
    tls_reader_deinit(&s->reader);
    tls_protection_wipe(&s->protection);
    SSL_free(s->client);
    BIO_free(s->to_client);
    BIO_free(s->to_server);
    SSL_CTX_free(s->client_context);
    SSL_CTX_free(s->server_context);
    ERR_clear_error();
}

// ---- Both ways ----

static void receive_piece(session *s, char *octets, size_t len)
{
    slice plain;
    tls_read read;
    while ((read = tls_reader_next(&s->reader, &s->protection, &octets, &len, &plain)) !=
           TLS_READ_MORE) {
        s->is_closed |= read == TLS_READ_CLOSED;
        if (read == TLS_READ_CLOSED) continue;
        assert_int_equal(read, TLS_READ_DATA);
        assert_true(s->received_len + plain.len <= sizeof s->received);
        memcpy(s->received + s->received_len, plain.ptr, plain.len);
        s->received_len += plain.len;
    }
    tls_reader_rest(&s->reader);
}

// Everything on the wire comes in pieces, each in memory of its own.
static void receive(session *s)
{
    size_t longest = 1 + random_below(s, random_below(s, 4) ? OCTETS_MAX : 40);
    for (;;) {
        int want = (int)(1 + random_below(s, longest));
        char *piece = malloc((size_t)want);
        int n = BIO_read(s->to_server, piece, want);
        if (n > 0) receive_piece(s, piece, (size_t)n);
        free(piece);
        if (n <= 0) return;
    }
}

static void fill(session *s, char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++)
        octets[i] = (char)random_below(s, 256);
}

static size_t random_len(session *s, size_t limit)
{
    return 1 + random_below(s, random_below(s, 3) ? limit : 100);
}

static void client_writes(session *s)
{
    static char text[OCTETS_MAX];
    size_t len = random_len(s, sizeof text);
    fill(s, text, len);
    s->received_len = 0;
    assert_int_equal(SSL_write(s->client, text, (int)len), len);
    receive(s);
    assert_int_equal(s->received_len, len);
    assert_memory_equal(s->received, text, len);
}

static void wire_put(session *s, const char *octets, size_t len)
{
    assert_int_not_equal(len, 0);
    assert_int_equal(BIO_write(s->to_client, octets, (int)len), len);
}

static void seal_update(session *s)
{
    char record[TLS_UPDATE_RECORD_OCTETS];
    wire_put(s, record, tls_seal_update(&s->protection, record));
}

// In place, from elsewhere, or from two pieces.
static void seal_some(session *s, const char *text, size_t len)
{
    static char record[TLS_PLAIN_OCTETS_MAX + TLS_AROUND_OCTETS];
    size_t form = random_below(s, 3), half = random_below(s, len + 1);
    slice pieces[] = { slice_make(text, len), slice_make(text + half, len - half) };
    if (form == 0) pieces[0].ptr = memcpy(record + TLS_HEADER_OCTETS, text, len);
    if (form == 2) pieces[0].len = half;
    wire_put(s, record,
             tls_seal(&s->protection, TLS_CONTENT_APPLICATION, pieces, form == 2 ? 2 : 1, record));
}

static void expect_client_reads(session *s, const char *text, size_t len)
{
    static char got[OCTETS_MAX];
    size_t n = 0;
    while (n < len) {
        int more = SSL_read(s->client, got + n, (int)(len - n));
        assert_true(more > 0);
        n += (size_t)more;
    }
    assert_memory_equal(got, text, len);
}

static void server_writes(session *s)
{
    static char text[OCTETS_MAX];
    size_t len = random_len(s, sizeof text);
    fill(s, text, len);
    for (size_t at = 0; at < len;) {
        size_t n = random_len(s, s->protection.plain_max);
        if (n > len - at) n = len - at;
        if (tls_protection_owes_update(&s->protection)) seal_update(s);
        seal_some(s, text + at, n);
        at += n;
    }
    expect_client_reads(s, text, len);
}

// AWS-LC sends a KeyUpdate along with what is written next, and until then there is no other.
static void client_updates(session *s)
{
    bool asks = random_below(s, 2);
    client_writes(s);
    assert_int_equal(
        SSL_key_update(s->client, asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED),
        1);
    client_writes(s);
    if (asks) assert_true(tls_protection_owes_update(&s->protection));
}

static void expect_both_close(session *s)
{
    char record[TLS_ALERT_RECORD_OCTETS], octet;
    assert_int_equal(SSL_shutdown(s->client), 0);
    receive(s);
    assert_true(s->is_closed);
    wire_put(s, record, tls_seal_alert(&s->protection, TLS_ALERT_CLOSE_NOTIFY, record));
    assert_int_equal(SSL_read(s->client, &octet, 1), 0);
    assert_int_equal(SSL_get_error(s->client, 0), SSL_ERROR_ZERO_RETURN);
    assert_int_equal(SSL_shutdown(s->client), 1);
}

static void speak(session *s)
{
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t chance = random_below(s, 100);
        if (chance < 45) client_writes(s);
        else if (chance < 90) server_writes(s);
        else if (chance < 94) client_updates(s);
        else if (chance < 97) seal_update(s);
        else (void)tls_contexts_empty(&contexts);
    }
}

static const char *const suites[] = { "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                      "TLS_CHACHA20_POLY1305_SHA256" };

// variation: of what the ends have agreed on.
static void play(session *s, unsigned suite, unsigned variation)
{
    unsigned tickets = variation % 3;
    *s = (session){ .random = variation * 1000 + suite };
    open_contexts(s, suites[suite], tickets);
    set_variation(s, variation);
    open_wires(s);
    shake_hands(s, "early bird", variation == 3 ? 10 : 0);
    take_over(s, tickets);
    assert_int_equal(s->suite, suite);
    receive(s);
    assert_int_equal(s->received_len, variation == 3 ? 10 : 0);
    assert_memory_equal(s->received, "early bird", s->received_len);
}

static void test_random_sessions(void **state)
{
    static session s;
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        for (unsigned variation = 0; variation < 4; variation++) {
            play(&s, suite, variation);
            if (variation == 0)
                contexts.records_per_key = 7; // each end asks, and both update often
            speak(&s);
            contexts.records_per_key = TLS_RECORDS_PER_KEY;
            expect_both_close(&s);
            session_close(&s);
        }
    }
}

static void test_alerts_are_understood(void **state)
{
    static session s;
    char record[TLS_ALERT_RECORD_OCTETS], octet;
    (void)state;
    play(&s, 0, 0);
    wire_put(&s, record, tls_seal_alert(&s.protection, TLS_ALERT_DECODE_ERROR, record));
    assert_true(SSL_read(s.client, &octet, 1) <= 0);
    assert_int_equal(ERR_GET_REASON(ERR_get_error()), SSL_R_TLSV1_ALERT_DECODE_ERROR);
    session_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sessions),
        cmocka_unit_test(test_alerts_are_understood),
    };
    if (!tls_contexts_init(&contexts, NULL)) return 1;
    make_certificate();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    X509_free(certificate);
    EVP_PKEY_free(certificate_key);
    tls_contexts_deinit(&contexts);
    return failed;
}
