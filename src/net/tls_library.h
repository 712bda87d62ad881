// SPDX-License-Identifier: MIT
//
// The TLS library: what differs between those that Skua is built with stands here and nowhere else.
// They are OpenSSL 3.0 or later, and AWS-LC. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_LIBRARY_H
#define SKUA_NET_TLS_LIBRARY_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_tickets.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <time.h>

// The option by which a client that puts ChaCha20 first gets it, whatever the server's order.
#ifdef SSL_OP_PRIORITIZE_CHACHA
#define TLS_LIBRARY_PREFERS_CHACHA SSL_OP_PRIORITIZE_CHACHA
#else
#define TLS_LIBRARY_PREFERS_CHACHA 0 // AWS-LC has no such option
#endif

// The option by which clients compress no certificates: CVE-2025-66199 had one of 22 MiB made of few
// octets.
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
#define TLS_LIBRARY_REFUSES_COMPRESSED SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
#else
#define TLS_LIBRARY_REFUSES_COMPRESSED 0 // OpenSSL before 3.2 and AWS-LC take none
#endif

// A cipher by its name in OpenSSL, as "AES-128-GCM", looked up once for the many contexts that are
// made with it.  Returns: NULL when memory ran out, or when the library does not have it.
EVP_CIPHER *tls_library_cipher(const char *name);
void tls_library_cipher_free(EVP_CIPHER *cipher); // NULL is allowed

// Begins a record with a context that has its key.
// is_gcm: of its cipher.  nonce: 12 octets.  tag: 16 octets that what is opened is to have; NULL when sealing.
// Returns: false when memory ran out.
bool tls_library_begin(EVP_CIPHER_CTX *context, bool is_gcm, uint8_t *nonce, char *tag);

// The 16 octets of the tag of what was sealed.
bool tls_library_tag(EVP_CIPHER_CTX *context, char *tag);

// HMAC with one digest, made ready once for many keys.
typedef struct tls_library_mac tls_library_mac;

// digest: "SHA256" or "SHA384".  Returns: NULL when memory ran out.
tls_library_mac *tls_library_mac_new(const char *digest);
void tls_library_mac_free(tls_library_mac *mac); // NULL is allowed

// out: room for the digest, written on success only.  Returns: false when memory ran out.
bool tls_library_mac_of(tls_library_mac *mac, skua_slice key, skua_slice octets, uint8_t *out);

// The questions of a handshake. The SSL_CTX keeps a pointer to it as its app data.
typedef struct tls_library_hooks {
    // The client's hello has been read, and nothing decided yet. server_name: the content of that
    // extension, NULL for none. After a HelloRetryRequest it is called again.
    // Returns SSL_AD_CLOSE_NOTIFY, which is 0, to go on, or the alert to end with.
    int (*hello)(SSL *ssl, const unsigned char *server_name, size_t len);
    // Finds a ticket's key by its name, or the one that makes tickets (name NULL). NULL: there is
    // none.  *is_first: whether it makes tickets.
    const tls_ticket_key *(*ticket_key)(SSL *ssl, const unsigned char *name, bool *is_first);
    EVP_CIPHER *ticket_cipher; // AES-256-CBC
} tls_library_hooks;

// Whether an SSL can have its certificates replaced. AWS-LC 0.47 takes none after SSL_certs_clear, so
// there an SSL begins without any.
bool tls_library_replaces(void);

// Sends what the library sends behind the handshake of TLS 1.3, so that records may be protected without
// it from there on.
// records: how many it has protected with the server's traffic secret; in, as they were counted; out,
// after that.
// Returns: false if it failed.
bool tls_library_finish(SSL *ssl, uint64_t *records);

// Octets of a record's content at most: 16384, or less by max_fragment_length (RFC 6066).
uint16_t tls_library_plain_max(const SSL *ssl);

// Returns: below, at or above 0 as time is before, at or after that second.
int tls_library_compare_time(const ASN1_TIME *time, time_t unix_s);

// hooks: lives as long as ssl and each SSL of it.
void tls_library_hook(SSL_CTX *ssl, tls_library_hooks *hooks);

#endif
#endif
