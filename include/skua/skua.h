// SPDX-License-Identifier: MIT
//
// Skua: an HTTP server in a library.
//
//     #include <skua/skua.h>
//
//     static void hello(skua_request *request, void *user)
//     {
//         (void)user;
//         skua_respond_text(request, 200, "Hello, World!");
//     }
//
//     int main(void)
//     {
//         skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:8080" });
//         if (!server || skua_route(server, "GET /{$}", hello, NULL)) return 1;
//         return skua_run(server) ? 1 : 0;
//     }
//
// Terms: those of RFC 9110, 9112 and 9113. The content of a message is often called its body; a
// field is often called a header. An octet is a byte of 8 bits. A turn is one round of a worker's
// loop: it waits for events, handles them, and sends what was queued.
//
// Units: lengths are in octets. Times are in nanoseconds, unless a name ends in _s or _ms.
//
// Threads: a server has workers, one thread each. A request belongs to one worker, and its functions
// are called only there, from handlers and callbacks, unless the comment says otherwise. A blocking
// handler (skua_route_blocking) runs on a thread of a pool instead. In comments, "Thread: any" is any
// thread; "Thread: owning worker" is the worker that the object belongs to; "Thread: worker, pool" is
// the request's worker or its blocking handler.
//
// Lifetimes: slices read from a request are valid until its on_end callback has returned.
//
// Errors: functions that can fail for a reason outside the program return skua_status, and leave
// their outputs unchanged unless it is SKUA_OK. A broken contract is a programming error: NULL where
// the comment does not allow it, a call on the wrong thread, a request that is gone. It stops the
// process with a sentence that names the function and the remedy (see skua_config.panic). No client
// can cause one.
//
// Where functions may be called:
//
// In a signal handler, and on any thread:
//   skua_stop skua_drain skua_leave
//
// On any thread:
//   (functions that take a site: one thread at a time for each site)
//   skua_status_text skua_sha256 skua_version skua_tls_identity_new skua_tls_identity_ref
//   skua_tls_identity_unref skua_tls_reload skua_tls_self_signed skua_tls_fingerprint
//   skua_tls_free skua_server_new skua_socket_open skua_server_address
//   skua_server_address_is_secure skua_server_workers skua_server_backend skua_log
//   skua_site_new skua_site_free skua_site_error skua_site_route skua_site_route_add
//   skua_site_group skua_site_use skua_site_on_error skua_site_on_free skua_site_server
//   skua_site_set_error skua_site_put skua_site_withdraw skua_sites_replace
//   skua_coding_is_built skua_compress_gains skua_encode skua_root_open skua_root_follow
//   skua_root_close skua_root_list skua_file_read skua_file_keep skua_watch_includes_writes
//   skua_watch_open skua_watch_try skua_watch_close skua_watch_changes skua_local_add
//   skua_local_remove skua_worker_index skua_worker_server skua_resume skua_post
//   skua_site_websocket skua_socket_text skua_socket_binary skua_socket_close
//   skua_topic_publish skua_file_etag skua_etag_hash_add skua_etag_hash_end
//   skua_site_directory skua_site_assets skua_media_type
//   skua_server_stats skua_stats_bound_ns skua_stats_quantile_ns skua_stats_write
//   skua_server_on_free skua_test_free skua_test_field
//
// On any thread but workers:
//   skua_listener_add skua_listener_remove skua_listeners_remove skua_workers_set
//
// On the request's worker, and in its blocking handler:
//   skua_request_param skua_request_param_i64 skua_request_route skua_request_pattern
//   skua_request_method skua_request_target skua_request_path skua_request_query
//   skua_request_authority skua_request_version skua_request_is_secure skua_request_scheme
//   skua_request_tls skua_request_path_is_plain skua_request_param_at skua_request_field
//   skua_request_field_next skua_request_field_at skua_request_query_param
//   skua_request_query_i64 skua_request_query_at skua_request_is_conditional
//   skua_request_cookie_at skua_request_cookie skua_request_peer skua_request_id
//   skua_request_peer_is_done skua_request_is_gone skua_request_alloc skua_request_abort
//   skua_request_worker skua_request_server skua_request_close skua_content_length
//   skua_request_content skua_request_trailer skua_form_param skua_form_at skua_form
//   skua_request_set skua_request_get skua_request_status skua_field_add skua_respond
//   skua_respond_borrowed skua_trailer_add skua_respond_stream skua_write skua_write_room
//   skua_finish skua_events_open skua_event_send skua_respond_error skua_refuse skua_etag
//   skua_respond_tagged skua_respond_text skua_respond_html skua_respond_format
//   skua_respond_vformat skua_respond_json skua_redirect skua_cookie_set
//
// On a worker alone:
//   (the worker of the request, the socket, the timer or the poll)
//   skua_request_hold skua_request_drop skua_request_connection skua_request_skip_log
//   skua_on_end skua_request_follow skua_request_unfollow
//   skua_content_read skua_content_consume skua_content_collect
//   skua_request_timeout skua_content_limit skua_multipart_read skua_content_spool
//   skua_multipart_collect skua_next skua_request_sent skua_respond_pull skua_wake
//   skua_upgrade skua_inform skua_filter_add skua_response_field skua_response_length
//   skua_compress skua_compress_off skua_compress_is_off skua_file_open skua_file_load
//   skua_file_ref skua_file_unref skua_respond_file skua_write_file skua_prepared_new
//   skua_prepared_ref skua_prepared_unref skua_respond_prepared skua_local skua_worker_now_ns
//   skua_worker_unix_ns skua_memory_count skua_timer_start skua_timer_stop skua_poll_start
//   skua_poll_change skua_poll_stop skua_offload skua_request_offload skua_ticket_take
//   skua_connection_peer skua_connection_id skua_connection_worker skua_connection_set
//   skua_connection_get skua_socket_begin skua_socket_write skua_socket_end
//   skua_socket_consume skua_socket_pause skua_socket_resume skua_socket_request
//   skua_socket_protocol skua_socket_set skua_socket_get skua_topic_join skua_socket_join
//   skua_topic_leave skua_socket_leave skua_directory_serve skua_serve_file skua_respond_stats
//
// In the blocking function of a socket:
//   skua_socket_receive
//
// Before the start, or on the thread that starts the server:
//   skua_server_free skua_listen skua_listen_fd skua_listen_inherited skua_listen_over_tls
//   skua_listen_forwarded skua_start skua_wait skua_run skua_stop_on_signals skua_open skua_fd
//   skua_timeout_ns skua_turn skua_server_error skua_server_set_error
//   skua_route skua_route_add skua_use skua_on_error skua_route_group skua_use_compression
//   skua_route_blocking skua_websocket skua_topic_bridge skua_route_directory
//   skua_route_assets skua_test_request skua_test
#ifndef SKUA_H
#define SKUA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKUA_VERSION_MAJOR 0
#define SKUA_VERSION_MINOR 2
#define SKUA_VERSION_PATCH 0
#define SKUA_VERSION "0.2.0"

// Macros that stand before declarations (SKUA_API), before functions whose result must be looked at
// (SKUA_NODISCARD), and after functions that take a printf format (SKUA_PRINTF). A program may
// define each of them before it includes this header.
#ifndef SKUA_API
#if defined(__GNUC__) || defined(__clang__)
#define SKUA_API __attribute__((visibility("default")))
#else
#define SKUA_API
#endif
#endif
#ifndef SKUA_PRINTF
#if defined(__GNUC__) || defined(__clang__)
#define SKUA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SKUA_PRINTF(text, first)
#endif
#endif
// Stands before functions that take or fill a struct; see the section Sizes, at the end.
#define SKUA_SIZED static inline
#ifndef SKUA_NODISCARD
#if defined(__GNUC__) || defined(__clang__)
#define SKUA_NODISCARD __attribute__((warn_unused_result))
#else
#define SKUA_NODISCARD
#endif
#endif

// ---- Values -----------------------------------------------------------------------------------

// Octets that somebody else owns. ptr may be NULL when len is 0; there is no terminating NUL.
typedef struct skua_slice {
    const char *ptr;
    size_t len;
} skua_slice;

// A slice of a string literal.
#ifdef __cplusplus
#define SKUA_SLICE(literal) (skua_slice{ ("" literal), sizeof(literal) - 1 })
#else
#define SKUA_SLICE(literal) ((skua_slice){ ("" literal), sizeof(literal) - 1 })
#endif

// Prints a slice with printf: printf("%" SKUA_FMT "\n", SKUA_ARG(slice)). The slice has at most
// INT_MAX octets.
#define SKUA_FMT ".*s"
#define SKUA_ARG(slice) (int)(slice).len, (slice).len ? (slice).ptr : ""

// Returns a slice of a NUL-terminated string, without the NUL.
// text: must live as long as the slice.  Thread: any.
static inline skua_slice skua_slice_of(const char *text)
{
    skua_slice slice = { text, 0 };
    while (text[slice.len])
        slice.len++;
    return slice;
}

// Returns whether the slice begins with prefix.
// prefix: NUL-terminated.
static inline bool skua_slice_starts(skua_slice slice, const char *prefix)
{
    size_t at = 0;
    while (prefix[at] && at < slice.len && slice.ptr[at] == prefix[at])
        at++;
    return !prefix[at];
}

// Returns whether the slice has exactly the octets of text.
// text: NUL-terminated.
static inline bool skua_slice_is(skua_slice slice, const char *text)
{
    size_t at = 0;
    while (text[at] && at < slice.len && slice.ptr[at] == text[at])
        at++;
    return at == slice.len && !text[at];
}

// Reads the whole slice as a decimal number, which may begin with "-".
// Returns: false if the slice is not a number or does not fit in int64_t; *value is then unchanged.
static inline bool skua_slice_i64(skua_slice slice, int64_t *value)
{
    bool negative = slice.len > 0 && slice.ptr[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0), number = 0;
    size_t at = negative ? 1 : 0;
    if (at == slice.len) return false;
    for (; at < slice.len; at++) {
        unsigned digit = (unsigned char)slice.ptr[at] - (unsigned)'0';
        if (digit > 9 || number > (limit - digit) / 10) return false;
        number = number * 10 + digit;
    }
    *value = negative ? (int64_t)(~number + 1) : (int64_t)number;
    return true;
}

// The outcome of an operation.
typedef enum skua_status {
    SKUA_OK = 0,
    SKUA_EINVAL,        // an argument is not of the documented form
    SKUA_ENOMEM,        // memory ran out
    SKUA_ELIMIT,        // a documented limit would be passed
    SKUA_EPROTOCOL,     // octets break the grammar or the protocol
    SKUA_ECLOSED,       // the peer, the request or the server is gone
    SKUA_ESTATE,        // not now: already answered, already running, …
    SKUA_EEXIST,        // it is there already
    SKUA_ENOENT,        // no such file, name or route
    SKUA_EACCES,        // the operating system or the rules of this server refuse it
    SKUA_EADDRINUSE,    // the address is in use by another process
    SKUA_EADDRNOTAVAIL, // the address is not one of this machine
    SKUA_ENOFILE,       // file descriptors ran out
    SKUA_EIO,           // the disk or the kernel failed
    SKUA_EUNSUPPORTED   // this platform or backend cannot do it
} skua_status;

// Returns a short English description of a status, such as "out of memory". Never NULL.  Thread:
// any.
SKUA_API const char *skua_status_text(skua_status status);

enum { SKUA_SHA256_OCTETS = 32 };

// Writes the SHA-256 digest of octets to digest. Use it for signatures, and to store secrets that
// nobody can guess, such as random tokens. It is too fast to protect passwords.
// Thread: any.  Spec: FIPS 180-4
SKUA_API void skua_sha256(skua_slice octets, unsigned char digest[SKUA_SHA256_OCTETS]);

// Returns the version of the library, such as "0.2.0". SKUA_VERSION is that of this header.
// Thread: any.
SKUA_API const char *skua_version(void);

// A server, one of its worker threads, and one request with its response. The library makes and
// frees workers and requests.
typedef struct skua_server skua_server;
typedef struct skua_worker skua_worker;
typedef struct skua_request skua_request;

// An open file. The worker that opened it counts the references to it.
typedef struct skua_file skua_file;
typedef struct skua_connection skua_connection;

// ---- TLS --------------------------------------------------------------------------------------

// HTTPS is for servers that have a certificate. The library must be compiled with SKUA_TLS, which
// needs OpenSSL 3.0 or later; without it skua_start and the functions here fail with
// SKUA_EUNSUPPORTED. The server speaks TLS 1.2 and 1.3, with the cipher suites of Mozilla's
// intermediate configuration. Renegotiation, TLS compression and early data (0-RTT) are never used.

// Whether the server asks clients for a certificate.
typedef enum skua_tls_asking {
    SKUA_TLS_ASK_NOT = 0,
    // a client may have none; a certificate that it sends must be valid
    SKUA_TLS_ASK,
    // the handshake of a client without a valid certificate fails
    SKUA_TLS_REQUIRE
} skua_tls_asking;

// Client certificates: whether clients are asked for one, and the authorities (CAs) that may have
// signed it. All zero: clients are not asked.
typedef struct skua_tls_clients {
    skua_tls_asking asking;
    const char *ca_file; // path of a PEM file with the authorities, or
    skua_slice ca_pem;   // the same in memory
} skua_tls_clients;

// A certificate with its private key. The library copies or reads everything during the call that
// takes it.
typedef struct skua_tls_certificate {
    // Path of a PEM file: the server's own certificate first, then the intermediate certificates,
    // each followed by the one that signed it.
    const char *file;
    skua_slice pem; // the same in memory, used when file is NULL
    // Path of the private key in PEM, not encrypted: RSA, ECDSA or Ed25519. When key_file is NULL
    // and key_pem is empty, the key is read from file or pem.
    const char *key_file;
    skua_slice key_pem;
    // Server names (SNI) for which the certificate is used, separated by spaces: "example.org
    // *.example.org". A wildcard stands for one label. NULL: the DNS names in the certificate.
    // Several certificates may have the same name when their keys are of different kinds; a client
    // then gets one that it can verify.
    const char *names;
    // Used for clients that send no server name, or one that no certificate has. At most one
    // certificate may be the default; without one it is the first.
    bool is_default;
    // Client certificates for these names. NULL: skua_tls_desc.clients. Certificates that share a
    // name must agree about this.
    const skua_tls_clients *clients;
} skua_tls_certificate;

// A loaded certificate, or several, for skua_tls_desc.choose and skua_site_desc.identity. It is
// reference-counted and never changes.
typedef struct skua_tls_identity skua_tls_identity;

// The oldest version of TLS that the server accepts.
typedef enum skua_tls_version {
    SKUA_TLS_DEFAULT = 0, // 1.2
    SKUA_TLS_1_2,
    SKUA_TLS_1_3
} skua_tls_version;

// How a server speaks TLS. A server whose skua_tls_desc is all zero does not speak it; any other
// needs certificates or choose. Zero means default for every other member.
typedef struct skua_tls_desc {
    // Addresses that speak TLS, separated by spaces, each in the form of skua_config.listen. For
    // addresses of skua_config.listen, skua_listen and skua_listen_fd call skua_listen_over_tls.
    const char *listen;
    const skua_tls_certificate *certificates;
    unsigned certificate_count;
    // Finds the certificate for a server name that no member of certificates has. May be NULL.
    // server_name: in lower case; empty if the client sent none. Valid during the call.
    // Returns: an identity with a reference that the library drops (see skua_tls_identity_ref), or
    // NULL for the default certificate. Without a default the handshake fails (alert
    // unrecognized_name; with AWS-LC, handshake_failure).
    // Thread: the connection's worker; several workers may call it at once. It must not block.
    skua_tls_identity *(*choose)(skua_slice server_name, void *user);
    void *choose_user;
    skua_tls_version oldest_version;
    // Groups for the key exchange, separated by spaces, the preferred one first. Groups that
    // OpenSSL does not know are left out. Default "X25519MLKEM768 X25519 P-256 P-384".
    const char *groups;
    skua_tls_clients clients;
    // Path of a file with keys for session tickets, by which clients resume a session with a short
    // handshake. The file holds one or more keys of 80 octets (name 16, AES-256 key 32, HMAC key
    // 32). The first key encrypts new tickets; all keys decrypt. Machines that share the file can
    // resume each other's sessions. A reload reads it again. NULL: random keys, shared by all
    // workers and replaced every 12 hours.
    const char *ticket_file;
    bool no_tickets; // no session tickets are issued; default false
    // Who encrypts records after the handshake: "openssl", or by default Skua itself where it can.
    const char *records;
    int64_t handshake_timeout_ns; // time for a handshake, from its first octet; default 10 s
    // Path of a file to which the secrets of every connection are appended, for Wireshark. Whoever
    // has the file can decrypt everything. For debugging only; default none.
    const char *keylog_file;
} skua_tls_desc;

// Loads one certificate, or several for the same names whose keys are of different kinds.
// certificates: count of them; their members names and is_default are ignored.
// identity: receives the identity with one reference, which the caller drops by
// skua_tls_identity_unref.
// why: receives a sentence about a failure; may be NULL. why_room: octets at why; 512 are enough.
// Errors: SKUA_EINVAL, SKUA_ENOENT, SKUA_EACCES, SKUA_EIO, SKUA_ELIMIT, SKUA_ENOMEM, SKUA_ENOFILE,
// SKUA_EUNSUPPORTED.
// Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status
skua_tls_identity_new(const skua_tls_certificate *certificates, unsigned count,
                      skua_tls_identity **identity, char *why, size_t why_room);

// Adds a reference to an identity; drops one. The last drop frees it. Dropping NULL is allowed.
// Thread: any.
SKUA_API skua_tls_identity *skua_tls_identity_ref(skua_tls_identity *identity);
SKUA_API void skua_tls_identity_unref(skua_tls_identity *identity);

// Changes how the server speaks TLS, from the next handshake on. Existing connections keep their
// certificate. Random ticket keys stay.
// desc: read during the call; its member listen is ignored. why, why_room: as in
// skua_tls_identity_new.
// Errors: those of skua_tls_identity_new, after which nothing has changed; SKUA_ESTATE the server
// does not speak TLS.
// Thread: any; not while the server is being freed.
SKUA_SIZED SKUA_NODISCARD skua_status skua_tls_reload(skua_server *server,
                                                      const skua_tls_desc *desc, char *why,
                                                      size_t why_room);

// Makes a self-signed certificate (ECDSA P-256) for development. Clients trust it only when they
// are told to. It is valid for 365 days, beginning one hour before unix_s.
// names: host names and IP addresses, separated by spaces: "localhost 127.0.0.1 ::1". unix_s: the
// present time, in seconds since 1970. certificate_pem, key_pem: receive memory that the caller
// frees by skua_tls_free.
// Errors: SKUA_EINVAL names is empty, or one is neither a host name nor an IP address; SKUA_ENOMEM;
// SKUA_EUNSUPPORTED.
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_tls_self_signed(const char *names, int64_t unix_s,
                                                         skua_slice *certificate_pem,
                                                         skua_slice *key_pem);

// Writes the SHA-256 fingerprint of the first certificate in a PEM as browsers show it: 32 pairs of
// upper-case hexadecimal digits, separated by colons, and a NUL.
// not_after_unix_s: receives the time at which the certificate expires, in seconds since 1970; may
// be NULL.
// Errors: SKUA_EINVAL the PEM holds no certificate; SKUA_ENOMEM; SKUA_EUNSUPPORTED.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_tls_fingerprint(skua_slice certificate_pem, char text[96],
                                                         int64_t *not_after_unix_s);

// Wipes and frees octets of skua_tls_self_signed. Empty ones are allowed.  Thread: any.
SKUA_API void skua_tls_free(skua_slice octets);

// ---- Configuration ----------------------------------------------------------------------------

// The format of the access log; see skua_config.log. The octets in a line are the octets of content
// that were handed to the kernel. A response that was not sent whole is marked with "closed",
// "timeout" or "error" at the end of the line (in JSON the member "end"). A request that was
// refused is marked with the reason (in JSON "reason"), and the line shows as much of the request
// as was understood.
typedef enum skua_log_format {
    SKUA_LOG_NONE = 0,
    SKUA_LOG_SHORT,  // 12:04:09 200 GET /index.html 5.1 KB 0.2 ms 127.0.0.1
    SKUA_LOG_COMMON, // the Common Log Format of the NCSA server
    // one JSON object per line, with the names of Caddy's log: ts, request (remote_ip, client_ip,
    // proto, method, host, uri, headers, tls), duration in seconds, size, status; also request_id
    // where the request has one, from a trusted proxy or because skua_request_id was called
    SKUA_LOG_JSON,
    // SKUA_LOG_COMMON followed by "Referer" and "User-Agent", as Apache and nginx write it
    SKUA_LOG_COMBINED
} skua_log_format;

// Takes log lines. octets: whole lines, each ended by LF; valid during the call.  Thread: the
// server's log writer.
typedef void skua_log_write(skua_slice octets, void *user);

// Functions used instead of malloc, realloc (memory is never NULL, octets never 0) and free, which
// they must behave like. Several threads call them at once.
typedef struct skua_allocator {
    void *(*alloc)(size_t octets, void *user);
    void *(*resize)(void *memory, size_t octets, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} skua_allocator;

// HTTP/2 (RFC 9113). Over TLS, a client negotiates it by ALPN. In the clear, a client begins with
// the HTTP/2 connection preface (prior knowledge). Zero means default, for every member.
typedef struct skua_http2_desc {
    bool off;     // only HTTP/1 is spoken; default false
    bool h2c_off; // HTTP/2 is not spoken in the clear; default false
    // Extended CONNECT (RFC 8441) is announced, and handlers of GET accept it by skua_upgrade.
    // Browsers then open WebSockets over HTTP/2 and do not fall back to HTTP/1. Default false.
    bool tunnels;

    // Limits of a connection. The error at the limit is in brackets: REFUSED_STREAM is a stream
    // error, all others are connection errors.
    // Requests under way; default 100, at most 1000 [REFUSED_STREAM]. As many more may wait for
    // their turn while handlers of streams that have been reset still run
    unsigned streams_max;
    unsigned continuations_max; // CONTINUATION frames of a head; default 8 [ENHANCE_YOUR_CALM]
    unsigned settings_max;      // entries of a SETTINGS frame; default 32 [ENHANCE_YOUR_CALM]
    // acknowledgements not sent yet; default 64: beyond it nothing is read
    unsigned replies_max;
    // frames without effect, in a row; default 100 [ENHANCE_YOUR_CALM]
    unsigned empty_frames_max;
    // a budget of streams that the client resets, or makes the server reset; each request that ends
    // well gives one back; default 100. When it is spent, new requests begin 100 ms later; at minus
    // ten times the budget the connection ends [ENHANCE_YOUR_CALM]
    unsigned resets_max;
    unsigned resets_per_second; // resets given back to that budget in a second; default 33
    // a budget of frames that cost more than they carry: PING, SETTINGS, PRIORITY_UPDATE,
    // WINDOW_UPDATE of less than 256 octets and the like; default 1000 [ENHANCE_YOUR_CALM]
    unsigned small_frames_max;
    // frames given back to that budget in a second; default 200. One frame is also given back for
    // every two octets of content sent to the client
    unsigned small_frames_per_second;
    // content of all requests that handlers have not consumed, which is the window of the
    // connection; default 1048576
    size_t held_octets_max;
} skua_http2_desc;

// ---- Behind proxies ----

// How a proxy in front of the server tells the address of its client. The server believes one way
// and ignores the others, because a proxy that writes one field passes on what a client has put
// into another.
typedef enum skua_forwarded {
    SKUA_FORWARDED_NONE,
    SKUA_FORWARDED_STANDARD, // Forwarded.  Spec: RFC 7239
    SKUA_FORWARDED_X,        // X-Forwarded-For and X-Forwarded-Proto
    // The header of the PROXY protocol, version 1 or 2, before the first octet of each connection,
    // before TLS too. Each connection must begin with it within head_timeout_ns and come from a
    // proxy in skua_config.trusted; others are closed, with a line in the log. on_connect is called
    // after the header, with the client's address (the proxy's own where the header says UNKNOWN or
    // LOCAL). skua_request_is_secure is true where the header says that the client used TLS. The
    // octets for skua_test_request begin with the header, too.
    // Spec: https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
    SKUA_FORWARDED_PROXY
} skua_forwarded;

// The configuration of a server. Zero means default, for every member. Strings are copied. The
// defaults and the reasons for them are in docs/limits.md.
typedef struct skua_config {
    // Address to listen on, or NULL to give it by skua_listen: "127.0.0.1:8080", "[::1]:8080",
    // ":8080" (every address, IPv4 and IPv6), "localhost:8080", "unix:/run/app.sock". Port 0 lets
    // the kernel choose a port.
    const char *listen;
    // Host names that requests may have, without ports, separated by spaces; "*" allows any. NULL:
    // any, except when there are TCP addresses and all of them are loopback; then only localhost
    // and loopback addresses are allowed (421 otherwise). Requests over a Unix socket may have any.
    const char *hosts;
    // worker threads; 0: one for each core that this process may use, by its affinity and the
    // quotas of its control groups
    unsigned workers;
    // "epoll", "kqueue" or "uring". "uring" is io_uring; where it is not available epoll is used,
    // with a line in the log. "auto" (default): on Linux as "uring", without the line; elsewhere
    // kqueue
    const char *backend;
    // how connections are distributed to several workers. "reuseport": each worker has its own
    // listening socket, and the kernel distributes them. "handoff": one worker accepts and hands
    // connections to all in turn. "auto" (default): whichever suits the kernel
    const char *accept;
    unsigned backlog;         // connections the kernel may queue; default 4096
    unsigned connections_max; // open connections per worker; default 65536
    // Sends "Connection: keep-alive" in each HTTP/1.1 response after which the connection stays
    // open, for clients that look for it. HTTP/1.1 does not need it. Responses to HTTP/1.0 clients
    // that ask for it always have it.
    bool keep_alive_field;
    // Stops the process when a handler gives a second response, adds a field after the response, or
    // gives a status or length that is out of range. Default false: the function returns an error,
    // and a line in the log names the route. For development and tests.
    bool strict;

    // Limits, in octets unless said otherwise. The response at the limit is in brackets.
    size_t head_octets_max;      // request line and fields; default 16384, at most 65535 [431]
    size_t target_octets_max;    // request target; default 8192 [414]
    unsigned fields_max;         // field lines; default 100, at most 1000 [431]
    unsigned params_max;         // query parameters that are decoded; default 1000
    size_t trailer_octets_max;   // trailer section; default 8192 [431]
    size_t chunk_ext_octets_max; // chunk extensions of one message; default 4096 [400]
    // content collected by skua_content_collect; default 1048576 [413]
    uint64_t content_octets_max;
    // content given to skua_content_fn and not consumed yet; default 65536
    size_t content_window_octets;
    uint64_t discard_octets_max; // unread content discarded to keep a connection; default 65536
    uint64_t out_octets_max;     // octets queued for one connection; default 262144
    size_t send_turn_octets_max; // octets sent for one connection in one turn; default 2097152

    // Accepts only request targets of RFC 3986 [400]. Default false: characters that browsers leave
    // unencoded in a URL are accepted, too: | [ ] { } ^ ` and valid UTF-8, and in the query a
    // backslash and a "%" without two hexadecimal digits.
    bool strict_target;

    // Octets that all connections of the server together may make it hold: heads, content that is
    // collected, spooled or not read yet, queued responses, listings, data that io_uring has
    // received, log lines beyond 131072 octets for a worker, and what skua_memory_count adds.
    // Default: a quarter of the machine's memory, or of what control groups allow. It is at least
    // 1048576. The rest of the memory is for the kernel's buffers of the same connections, which
    // may be several times as large, for cached files and for your program.
    // Above 80 % idle connections are closed, the oldest first. Above 90 % new requests are
    // answered 503 with Retry-After. At the limit no connections are accepted, connections with an
    // unfinished head are closed, the largest first, and requests that are being served are slowed
    // down, but never ended.
    size_t memory_max;

    // Forms that are multipart/form-data.
    unsigned parts_max;          // parts; default 128 [413]
    size_t part_head_octets_max; // fields of a part; default 8192, at most 65536 [413]
    unsigned part_files_max;     // parts of one form that are kept in files; default 32 [413]
    // directory for content that is too large for memory; default $TMPDIR, or else /tmp
    const char *spool_directory;

    // Deadlines, in nanoseconds.
    int64_t head_timeout_ns;       // a head, from its first octet; default 10 s [408]
    int64_t keep_alive_timeout_ns; // between requests; default 60 s
    // no octet moves while the server waits for the peer; default 30 s
    int64_t stall_timeout_ns;
    int64_t rate_window_ns; // window in which rate_octets_min is judged; default 15 s
    // octets per second that the peer must send or take; default 128
    uint64_t rate_octets_min;
    // time in which a handler must respond; default 0, never [503]. A response that has begun and
    // is silent for as long ends with its connection
    int64_t handler_timeout_ns;
    // reading after the server has closed its half of a connection; default 2 s
    int64_t linger_timeout_ns;
    uint64_t linger_octets_max; // octets read and dropped then; default 262144
    // time without an octet in either direction of a tunnel; default 600 s. Without a
    // handler_timeout_ns it is also how long a response that has begun may be silent: a source that
    // is PENDING, a stream, events. Each piece, comment or event that is sent renews it
    int64_t stream_idle_timeout_ns;
    // a handler that returned without a response, and without a ticket, a hold or work of the
    // library's under way, is named in the log within this time; default 30 s
    int64_t unanswered_log_ns;
    // Serves clients that close their half of the connection (FIN) and read on. Default false: a
    // client that sends FIN after a complete request has left. A request that then waits for a
    // ticket, a blocking handler, a source that is PENDING, or content or events from the program
    // ends with SKUA_END_CLOSED. True: such requests go on, and a client that has left is noticed
    // when octets are sent to it.
    bool half_close;

    // Files.
    // threads that open and read files not in memory; default 16, at most 1024
    unsigned disk_threads;
    // descriptors reserved for files while this server runs and a skua_root is open, so that
    // connected clients get files when connections have taken all others. While some of them are in
    // use, no connection is accepted. The servers of a process share them. Default: an eighth of
    // what the process may open, at most 256; never more than half of it
    unsigned files_reserve;

    // Blocking routes.
    unsigned blocking_threads;   // handlers that run at a time; default 16, at most 1024
    unsigned blocking_queue_max; // requests that wait for a thread; default 256 [503]

    // The access log and the error log.
    skua_log_format log;       // default SKUA_LOG_NONE
    skua_log_write *log_write; // default: standard output
    void *log_user;
    // octets of memory for lines that wait to be written; default 16777216. Each worker has 131072
    // in any case. Lines beyond it are lost, and their number is logged
    size_t log_buffer_max;
    // Names of query parameters, separated by spaces, whose values are logged as REDACTED, in
    // targets and in Referer. "": none; default "token key password secret code". Authorization and
    // Cookie are never logged.
    const char *log_secrets;

    skua_tls_desc tls; // HTTPS; see skua_tls_desc
    skua_http2_desc http2;

    // Hooks; each may be NULL. on_worker_start is called on each worker's thread before it serves;
    // timers can be started in it. on_worker_end is called on the same thread after the worker's
    // last request. Threads that the library starts while it serves, such as the log's and those of
    // blocking handlers, inherit the affinity and the priority of the worker that first needs them.
    void (*on_worker_start)(skua_worker *worker, void *user);
    void (*on_worker_end)(skua_worker *worker, void *user);
    // on_connect is called for each connection before anything is read or written. Returning false
    // closes it at once. on_close is called for each connection that was not refused, when it is
    // closed and its last request has ended.
    bool (*on_connect)(skua_connection *connection, void *user);
    void (*on_close)(skua_connection *connection, void *user);
    void *hook_user; // user of all hooks

    // Memory functions for the whole process. All servers that exist at the same time must name the
    // same allocator, or skua_start fails with SKUA_EINVAL. It is in use until the last server is
    // freed. Copied; NULL for malloc. Objects that may outlive servers (a skua_root, a response of
    // skua_test_request, the registry of tickets) always use malloc.
    const skua_allocator *allocator;
    // Called with a sentence about a programming error before the process is aborted. Default: the
    // sentence is written to standard error. Of several servers the one made last with this member
    // decides. Thread: the one that made the error.
    void (*panic)(const char *sentence);

    // Addresses and networks of trusted proxies, separated by spaces: "10.0.0.0/8 192.0.2.7
    // fd00::/8", and "unix" for proxies that connect by a Unix socket; at most 64. Default NULL:
    // none. Addresses in the proxies' fields are read from the last to the first, and the first
    // that is not a trusted proxy is the client's. Fields of other peers are never believed.
    const char *trusted;
    // How those proxies tell the client's address, at every address unless skua_listen_forwarded
    // says otherwise. Needs trusted. See skua_request_peer and skua_request_is_secure.
    skua_forwarded forwarded;
    // Counts and times requests for skua_server_stats. Default false.
    bool stats;

    // Accepts connections by descriptors of the reserve (see files_reserve) when there are no others,
    // but leaves half of it for files. For a server of few connections that is needed just then, such
    // as one that answers health checks beside the server that is full. The servers of a process share
    // the reserve, and one of these has it held without a skua_root, too. Default false.
    bool accepts_from_reserve;
} skua_config;

// ---- Server -----------------------------------------------------------------------------------

// Makes a server, which the caller frees by skua_server_free.
// config: read during the call; NULL for the defaults. skua_start reports a member that is out of
// range.
// Returns: the server, or NULL when memory ran out.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_server *skua_server_new(const skua_config *config);

// Frees a server. A server that runs is stopped first, without a grace period. NULL is allowed.
// Thread: the one that called skua_start, or any if the server does not run. Not from a callback.
SKUA_API void skua_server_free(skua_server *server);

// Adds an address to listen on, before skua_start.
// address: in the form of skua_config.listen.
// Errors: SKUA_EINVAL not an address; SKUA_ENOMEM; SKUA_ESTATE the server has been started.
SKUA_API SKUA_NODISCARD skua_status skua_listen(skua_server *server, const char *address);

// Adds a socket to listen on, TCP or Unix, which the caller has opened, bound and put into the
// listening state. Before skua_start. One worker accepts from it and hands connections to all
// workers in turn.
// fd: on success it belongs to the server, which closes it when the server has ended, has failed to
// start or is freed.
// Errors: SKUA_EINVAL not a listening stream socket, or it was added already; SKUA_ELIMIT more than
// 16 addresses; SKUA_ESTATE the server has been started.
SKUA_API SKUA_NODISCARD skua_status skua_listen_fd(skua_server *server, int fd);

// An address to listen on, for skua_listener_add. Zero means default, for every member.
typedef struct skua_listener_desc {
    const char *address;      // in the form of skua_config.listen, copied; NULL: fd is used
    int fd;                   // a socket as for skua_listen_fd; used only without address
    bool tls;                 // speaks TLS; skua_config.tls must have a certificate
    skua_forwarded forwarded; // as skua_listen_forwarded takes it; NONE: as skua_config.forwarded
} skua_listener_desc;

// Adds an address to listen on, before skua_start or while the server runs. When it returns,
// clients can connect. A server that listens only on loopback addresses and names no hosts accepts
// every host name as soon as another address is added.
// index: receives the number of the address, for skua_server_address: the lowest free one. May be
// NULL.
// Errors: those of skua_listen, skua_listen_fd and skua_listen_over_tls; while the server runs also
// SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOFILE, SKUA_EIO; SKUA_ECLOSED the server
// is about to stop; SKUA_ESTATE it has ended. skua_server_error has a sentence. Nothing has changed
// then, and fd stays the caller's.
// Thread: any but workers, for which it waits. For a server of skua_open: the thread that called
// skua_open, outside of callbacks.
SKUA_SIZED SKUA_NODISCARD skua_status skua_listener_add(skua_server *server,
                                                        const skua_listener_desc *desc,
                                                        size_t *index);

// Removes an address. No connection is lost: new clients are refused at once where the system can
// do that (Linux; elsewhere when the socket is closed), clients that have begun to connect have 1.5
// s to complete it, and all of them are served like those connected before. Then the socket is
// closed. The file of a Unix socket is removed, unless the socket was given as a descriptor;
// another process that has such a socket can go on accepting.
// It returns when the socket is closed. For a server of skua_open it returns at once, and the
// socket is closed in a later turn.
// Errors: SKUA_ENOENT there is no such address; SKUA_ESTATE the server has ended, or, for a server
// of skua_open, another address is being removed.
// Thread: as skua_listener_add.
SKUA_API SKUA_NODISCARD skua_status skua_listener_remove(skua_server *server, size_t index);

// Removes several addresses, as skua_listener_remove does, in the time that one takes. If one of
// them does not exist, none is removed.
// indices: count numbers; may be NULL when count is 0.
// Errors, thread: as skua_listener_remove.
SKUA_API SKUA_NODISCARD skua_status skua_listeners_remove(skua_server *server,
                                                          const size_t *indices, size_t count);

// Changes the number of workers that serve while the server runs. Missing workers are started.
// Workers beyond the number rest: they get no new connections, serve the connections that they
// have, and serve again when more workers are wanted. Their numbers stay valid for skua_post until
// the run has ended. A server that is started again has skua_config.workers.
// workers: 0 for one for each usable core.
// Errors: SKUA_EINVAL more than 1024; SKUA_ESTATE the server does not run, or was opened by
// skua_open; SKUA_ECLOSED it is about to stop; SKUA_ENOMEM, SKUA_ENOFILE, and the errors of opening
// more sockets at its addresses. skua_server_error has a sentence, and the number of workers is
// unchanged.
// Thread: any but workers, for which it waits.
SKUA_API SKUA_NODISCARD skua_status skua_workers_set(skua_server *server, unsigned workers);

// Opens a listening socket for skua_listen_fd, in this process or in another one that it is passed
// to. Clients wait while a process that keeps the socket starts a server again.
// address: in the form of skua_config.listen. backlog: connections that the kernel may queue; 0:
// 4096. shared: lets several sockets listen on the address at once, in any process of the user
// (SO_REUSEPORT).
// fd: receives the descriptor, which belongs to the caller and is close-on-exec. The file of a Unix
// socket stays when it is closed. why: receives a sentence about a failure; may be NULL. why_room:
// octets at why; 512 are enough.
// Errors: SKUA_EINVAL not an address; SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES,
// SKUA_ENOFILE, SKUA_ENOMEM, SKUA_EIO.
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_socket_open(const char *address, unsigned backlog,
                                                     bool shared, int *fd, char *why,
                                                     size_t why_room);

// Listens on the sockets that systemd passed to this process, as skua_listen_fd does (LISTEN_FDS,
// when LISTEN_PID is this process). LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES are then removed from
// the environment, so that child processes do not use them.
// count: receives the number of sockets; may be NULL.
// Errors: those of skua_listen_fd; SKUA_EINVAL also when the variables are not numbers.
// Thread: one at a time with everything that uses the environment.
SKUA_API SKUA_NODISCARD skua_status skua_listen_inherited(skua_server *server, unsigned *count);

// Makes an address speak TLS, like those of skua_tls_desc.listen. Before skua_start.
// index: number of the address, in the order in which addresses were added, from 0; see
// skua_server_address.
// Errors: SKUA_EINVAL there is no such address, or skua_config.tls has no certificate; SKUA_ESTATE
// the server has been started.
SKUA_API SKUA_NODISCARD skua_status skua_listen_over_tls(skua_server *server, size_t index);

// Chooses how proxies tell the client's address at one address of the server, in place of
// skua_config.forwarded. Before skua_start.
// index: as for skua_listen_over_tls.
// Errors: SKUA_EINVAL there is no such address, or skua_config.trusted names no proxies;
// SKUA_ESTATE the server has been started.
SKUA_API SKUA_NODISCARD skua_status skua_listen_forwarded(skua_server *server, size_t index,
                                                          skua_forwarded forwarded);

// Opens the listening sockets, starts the workers and returns. skua_server_address then returns the
// addresses.
// Errors: SKUA_EINVAL a member of skua_config is out of range, or there is no address to listen on;
// SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOMEM, SKUA_ENOFILE, SKUA_EUNSUPPORTED,
// SKUA_ESTATE the server runs already. skua_server_error has a sentence about the failure.
SKUA_API SKUA_NODISCARD skua_status skua_start(skua_server *server);

// Waits until every worker has ended, after skua_stop. When a worker cannot go on, because the
// kernel fails to let it wait or accept, the server stops by itself, with a line in the log and a
// grace period of one second.
// Returns: SKUA_OK after skua_stop, or if the server does not run.
// Errors: SKUA_EIO the server stopped by itself; skua_server_error says why.
// Thread: the one that called skua_start. Not from a callback, which would wait for itself.
SKUA_API skua_status skua_wait(skua_server *server);

// Does what skua_start and skua_wait do. On epoll and kqueue, worker 0 runs on the calling thread
// instead of a thread of its own. A process that has no other thread uses descriptors at a lower
// cost. SIGPIPE is blocked on that thread meanwhile, other signals may interrupt it, and what
// on_worker_start sets for its thread, such as an affinity, stays. When the start fails, the
// sentence of skua_server_error is logged.
// Returns: SKUA_OK, or the status of the call that failed.  Thread: as skua_start.
SKUA_API SKUA_NODISCARD skua_status skua_run(skua_server *server);

// Asks the server to stop, and returns at once. The server accepts no more connections, finishes
// the requests that are being served, and after grace_ns closes the rest. Idle connections are read
// once more and then closed; a client that sends after its last response is read for at most 200
// ms.
// grace_ns: 0 or less stops at once; at most a hundred years. A second call with a shorter grace
// period shortens it; a longer one changes nothing.
// Before or during a start, it makes the server end as soon as it has started, with SKUA_OK and
// without listening; if that start fails, the next one ends so. After the end it has no effect, and
// a server that is started again serves.
// Thread: any, and signal handlers.
SKUA_API void skua_stop(skua_server *server, int64_t grace_ns);

// Sends clients elsewhere, for example before a machine is removed from a load balancer. Each next
// response says that its connection closes, and HTTP/2 connections get GOAWAY. The server goes on
// accepting, and treats new connections alike. Event streams, WebSockets and idle HTTP/1
// connections stay open. Draining lasts until skua_stop, which then has less to wait for; a server
// that is started again does not drain. Before the start it counts from the start on. A worker
// hears of it when its next turn begins.
// Thread: any, and signal handlers.
SKUA_API void skua_drain(skua_server *server);

// Stops accepting and drains as skua_drain does, for a server whose listening sockets another
// process has as well. Sockets of skua_listen_fd are not closed before the server's end. Idle
// connections stay until their next response, which says that they close, or until their timeout.
// The caller stops the server when skua_stats.connections_open is 0, or after a time of its choice.
// Before the start it counts from the start on.
// Thread: any, and signal handlers.
SKUA_API void skua_leave(skua_server *server);

// Makes SIGINT and SIGTERM stop the server with grace_ns, or at once if it is stopping already. A
// signal that is ignored stays ignored. Freeing the server restores the former handlers. A second
// call for the same server changes the grace period.
// grace_ns: as for skua_stop.
// Errors: SKUA_EEXIST another server of this process has the signals; SKUA_ENOMEM.  Thread: as
// skua_start.
SKUA_API SKUA_NODISCARD skua_status skua_stop_on_signals(skua_server *server, int64_t grace_ns);

// Opens the server for a loop of the caller's, without threads: it listens, with one worker
// whatever skua_config.workers says. The caller then calls skua_turn whenever skua_fd is readable
// or skua_timeout_ns has passed:
//
//     struct pollfd fds[] = { { skua_fd(server), POLLIN, 0 }, { mine, POLLIN, 0 } };
//     while (skua_turn(server, 0) == SKUA_OK) {
//         int64_t ns = skua_timeout_ns(server);
//         poll(fds, 2, ns < 0 ? -1 : (int)((ns + 999999) / 1000000));
//     }
//
// Handlers and callbacks run inside skua_turn. Several servers can be open in one thread. The
// backend is epoll or kqueue, because io_uring has no descriptor to wait for.
// Errors: those of skua_start.
// Thread: the one that then calls skua_fd, skua_timeout_ns, skua_turn and skua_server_free. Calling
// these on another thread, or skua_turn from a callback, is a programming error.
SKUA_API SKUA_NODISCARD skua_status skua_open(skua_server *server);

// Returns a descriptor that is readable when skua_turn has something to do, or -1 when the server
// is not open. It belongs to the server and stays the same until the server has ended. The caller
// only waits for it.
SKUA_API int skua_fd(const skua_server *server);

// Returns how long the caller may wait for skua_fd before it must call skua_turn, in nanoseconds: 0
// not at all, -1 without limit, a day at most. Ask again after each skua_turn, and after any other
// call for this server.
SKUA_API int64_t skua_timeout_ns(const skua_server *server);

// Waits until there is something to do, does it, and returns.
// timeout_ns: how long to wait, at most a day; 0: not at all; -1: without limit.
// When it returns, operations have been passed to the kernel, or skua_timeout_ns is 0; with a
// timeout_ns of 0 they always have been passed. SIGPIPE is neither raised nor left pending.
// Returns: SKUA_OK; SKUA_ECLOSED once the server has ended after skua_stop, or was not open;
// SKUA_EIO once it has ended by itself, as skua_wait describes. After an end its resources have
// been released, and skua_open may be called again.
SKUA_API SKUA_NODISCARD skua_status skua_turn(skua_server *server, int64_t timeout_ns);

// Returns a sentence about the last error of a function that configures, starts or waits for the
// server, such as skua_listen, skua_route, skua_use, skua_start or skua_wait; "" when there was
// none.
// Lifetime: until the next such call.
SKUA_API const char *skua_server_error(const skua_server *server);

// Sets the sentence that skua_server_error returns (copied, cut at 255 octets), for functions built
// on this interface.
SKUA_API void skua_server_set_error(skua_server *server, const char *sentence);

// Registers a function that is called once when the server is freed, whether it was started or not,
// after the objects of the last worker have been dropped. Several are called in the reverse order
// of their registration.
// Errors: SKUA_ENOMEM; release is then never called.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_server_on_free(skua_server *server,
                                                        void (*release)(void *user), void *user);

// Returns an address that the running server listens on, in the form of skua_config.listen, with
// the actual port.
// index: number of the address, from 0.
// Returns: the text; "" when the address was removed; NULL when there is none of that number.
// Lifetime: the server's, or until skua_listener_add gives the number to another address.
SKUA_API const char *skua_server_address(const skua_server *server, size_t index);

// Returns whether TLS is spoken at address number index.
SKUA_API bool skua_server_address_is_secure(const skua_server *server, size_t index);

// The number of workers, including those that rest after skua_workers_set, and the name of the
// backend in use ("uring"). After skua_start.
SKUA_API unsigned skua_server_workers(const skua_server *server);
SKUA_API const char *skua_server_backend(const skua_server *server);

// Writes a line to the error log: "skua: …". Control characters are escaped. Nothing is written
// while the server does not run, because it has no log then.
// message: copied.  Thread: any.
SKUA_API void skua_log(skua_server *server, skua_slice message);

// ---- Routes -----------------------------------------------------------------------------------

// Responds to a request, during the call or later on the same worker. user: as given with the
// route.
typedef void skua_handler(skua_request *request, void *user);

// Sends requests that match pattern to handler. Before skua_start.
// pattern: "[METHOD ][HOST]/PATH".
// METHOD is one token; without it every method matches. GET also matches HEAD.
// HOST is a name without a port, compared without regard to case ("example.com").
// "{name}.example.com" matches any one label before the rest. Without it every host matches.
// skua_config.hosts must allow the host as well.
// PATH starts with "/" and is matched against the normalised path, segment by segment: "/a" matches
// exactly "/a"; "/{name}" any one segment; "/a/{name...}" everything below "/a/"; "/a/" the same
// without a name; "/a/{$}" exactly "/a/".
// The most specific pattern wins: first by host (a name before {name} before none), then by path
// (literal before {name} before {name...}), then by method. Two patterns that match some of the
// same requests while neither is more specific, such as "/a/{x}" and "/{y}/b", are refused, in
// whatever order they come.
// A path that matches no pattern is answered 404. A path that matches only patterns of other
// methods is answered 405 with Allow, even if a less specific pattern without a method matches it
// as well.
// Errors: SKUA_EINVAL not a pattern; SKUA_EEXIST a pattern that it conflicts with exists
// (skua_server_error names both); SKUA_ENOMEM; SKUA_ESTATE the server has been started.
// Cost: the time to find a route depends on the length of the path, not on the number of routes.
SKUA_API SKUA_NODISCARD skua_status skua_route(skua_server *server, const char *pattern,
                                               skua_handler *handler, void *user);

struct skua_directory_config; // see there

// A route with more than a handler, for skua_route_add. Zero means none, for every member but
// pattern. Read during the call. A route has handler, blocking or directory.
typedef struct skua_route_desc {
    const char *pattern;    // as for skua_route
    skua_handler *handler;  // called on the worker
    skua_handler *blocking; // called on a pool thread, as for skua_route_blocking
    void *user;             // of the handler
    // octets of content that a request of this route may have, more or fewer than
    // skua_config.content_octets_max, in whose place it counts [413]
    uint64_t content_octets_max;
    int64_t timeout_ns; // for the handler, as in skua_request_timeout
    // Name of the route. The log shows it in place of the pattern when it complains about a
    // handler, and SKUA_LOG_JSON has it as the member "route". Copied; its first 100 octets are
    // shown
    const char *name;
    // Path of a directory whose files are served, as by skua_route_directory. It does not go with
    // content_octets_max or timeout_ns
    const char *directory;
    // how that directory is served; NULL for the defaults
    const struct skua_directory_config *directory_config;
} skua_route_desc;

// Adds a route by its description. Before skua_start.
// Errors: those of skua_route, and for a directory those of skua_route_directory.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_add(skua_server *server,
                                                     const skua_route_desc *desc);

// Returns the value of "{name}" or "{name...}" in the pattern that matched, percent-decoded; the
// label of a host is as received. {NULL, 0} for an unknown name.
// Lifetime: the request's.
SKUA_API skua_slice skua_request_param(const skua_request *request, const char *name);

// Reads a parameter of the pattern as a decimal number. When the value is not a number, or is below
// min or above max, the function responds 400 with a sentence that names the parameter, and the
// handler should return.
// Returns: whether *value was written.  Thread: worker, pool.
SKUA_API bool skua_request_param_i64(skua_request *request, const char *name, int64_t min,
                                     int64_t max, int64_t *value);

// Returns the name of the route that matched, or the pattern of a route without a name; NULL when
// none matched.
// Lifetime: the request's.
SKUA_API const char *skua_request_route(const skua_request *request);

// Returns the pattern that matched, for logs and metrics; NULL when none matched (404, 405).
// Lifetime: the request's.
SKUA_API const char *skua_request_pattern(const skua_request *request);

// ---- Reading a request ------------------------------------------------------------------------

// A field line: the name as received, and the value without white space around it.
typedef struct skua_field {
    skua_slice name;
    skua_slice value;
} skua_field;

// The parts of the request line.
// method: any token. target: as received; it may hold octets that RFC 3986 does not allow (see
// skua_config.strict_target), which skua_redirect encodes. path: normalised and decoded once; it
// starts with "/" (it is "*" for OPTIONS *, and "" for CONNECT). query: what follows the first "?",
// undecoded. authority: that of the target, or else Host. version: 10, 11 or 20.
// Lifetime: the request's.
SKUA_API skua_slice skua_request_method(const skua_request *request);
SKUA_API skua_slice skua_request_target(const skua_request *request);
SKUA_API skua_slice skua_request_path(const skua_request *request);
SKUA_API skua_slice skua_request_query(const skua_request *request);
SKUA_API skua_slice skua_request_authority(const skua_request *request);
SKUA_API int skua_request_version(const skua_request *request);

enum { SKUA_TLS_FINGERPRINT_OCTETS = 32 };

// How a connection is protected; see skua_request_tls.
typedef struct skua_tls_info {
    const char *version;    // "TLSv1.3"
    const char *cipher;     // "TLS_AES_128_GCM_SHA256"
    skua_slice server_name; // sent by the client, in lower case; empty: none
    skua_slice protocol;    // negotiated by ALPN; empty: none
    // subject of the client's certificate, in the form of RFC 4514; empty: the client sent none
    skua_slice client;
    const unsigned char *client_fingerprint; // SHA-256 of that certificate; NULL: none
    bool is_resumed;                         // the session was resumed by a ticket
} skua_tls_info;

// Returns whether the client's request came over TLS, and its scheme, "https" or "http". Behind a
// proxy that skua_config.trusted names, both are what the proxy says of its client's connection, if
// it says so. A request that has ended counts as one in the clear.
// Thread: worker, pool.
SKUA_API bool skua_request_is_secure(const skua_request *request);
SKUA_API const char *skua_request_scheme(const skua_request *request);

// Tells how the connection to this server is protected, which may be a proxy's connection.
// info: filled in; its pointers are valid until on_end has been called, or a blocking handler has
// returned.
// Returns: false, and *info is unchanged, if the request came in the clear or has ended.  Thread:
// worker, pool.
SKUA_SIZED bool skua_request_tls(const skua_request *request, skua_tls_info *info);

// Returns whether the path can name a file: false if the target's path held a backslash, or an
// encoded slash or backslash.
SKUA_API bool skua_request_path_is_plain(const skua_request *request);

// Reads parameter number index of the pattern that matched, in the order of the pattern.
// Returns: false if there is none of that number.
SKUA_API bool skua_request_param_at(const skua_request *request, size_t index, skua_field *param);

// Returns the value of the first field of that name, without regard to case; {NULL, 0} when absent.
// Lifetime: the request's.
SKUA_API skua_slice skua_request_field(const skua_request *request, const char *name);

// Reads the next field of that name, without regard to case.
// index: 0 before the first call; the caller keeps it between calls.
// Returns: false when there is none; *index and *value are then unchanged.
SKUA_API bool skua_request_field_next(const skua_request *request, const char *name, size_t *index,
                                      skua_slice *value);

// Reads field line number index, in the order of arrival.
// Returns: false if there is none of that number.
SKUA_API bool skua_request_field_at(const skua_request *request, size_t index, skua_field *field);

// Returns the first value of a query parameter, decoded: "+" is a space, and a "%" without two
// hexadecimal digits stands for itself. {NULL, 0} when absent; {"", 0} when empty or when memory
// ran out.
// Lifetime: the request's.  Cost: decoding takes memory of the request.
SKUA_API skua_slice skua_request_query_param(const skua_request *request, const char *name);

// Reads the first value of a query parameter as a decimal number, as skua_request_param_i64 does.
// otherwise: the number when there is no such parameter.
// Returns: whether *value was written; if false, 400 has been responded.  Thread: worker, pool.
SKUA_API bool skua_request_query_i64(skua_request *request, const char *name, int64_t otherwise,
                                     int64_t min, int64_t max, int64_t *value);

// Reads query parameter number index, in the order of arrival. Name and value are decoded.
// Returns: false if there is none of that number, past skua_config.params_max, and when memory ran
// out.
// Cost: the first call decodes all of them, and they are kept.
SKUA_API bool skua_request_query_at(const skua_request *request, size_t index, skua_field *param);

// Returns whether the request has any of the fields If-Match, If-None-Match, If-Modified-Since,
// If-Unmodified-Since, If-Range and Range.
// Cost: a test of bits.  Spec: RFC 9110 §13.1, §14.2
SKUA_API bool skua_request_is_conditional(const skua_request *request);

// Reads cookie number index, in the order of arrival, undecoded.
// Returns: false if there is none of that number.  Spec: RFC 6265 §5.4
SKUA_API bool skua_request_cookie_at(const skua_request *request, size_t index, skua_field *cookie);

// Returns the value of the first cookie of that name, which is case-sensitive; {NULL, 0} when
// absent.
// Lifetime: the request's.
SKUA_API skua_slice skua_request_cookie(const skua_request *request, const char *name);

// Writes the client's address as text, "127.0.0.1", "::1" or "unix", and a NUL, cut to room. It
// writes "" once on_end has returned. Behind proxies that skua_config.trusted names, it is the
// address that they report, which may also be "unknown" or a name that begins with "_" (an
// obfuscated identifier); skua_connection_peer has the proxy's own address.
// text: room octets.
// Returns: the length without the NUL.  Cost: the fields are read at each call.  Thread: worker,
// pool.
// Spec: RFC 7239 §5.2, §6
SKUA_API size_t skua_request_peer(const skua_request *request, char *text, size_t room);

// Returns an identifier by which the request is found in the logs of every server that handled it.
// From a proxy that skua_config.trusted names, it is the trace-id of its traceparent, or else its
// X-Request-Id of 1 to 128 letters, digits and "-_.:+/=@"; otherwise it is 32 random hexadecimal
// digits. It is the same at each call, with one exception: an identifier generated in a blocking
// handler is known only there, unless middleware asked for it before.
// Returns: memory of the request, as from skua_request_alloc; {NULL, 0} when memory ran out, or
// when on_end has returned and nobody asked before.  Thread: worker, pool.
// Cost: nothing for requests that are not asked.  Spec: W3C Trace Context §3.2
SKUA_API skua_slice skua_request_id(skua_request *request);

// Returns whether the peer sends no more (FIN). It may still read the response. Unless
// skua_config.half_close is set, a request that waits for something is ended then.
SKUA_API bool skua_request_peer_is_done(const skua_request *request);

// Returns whether nobody waits for the response any more: the client has left (see
// skua_config.half_close), the connection has died, or handler_timeout_ns has passed. A long
// blocking handler can check it and give up.
// Thread: worker, pool.
SKUA_API bool skua_request_is_gone(const skua_request *request);

// Allocates memory of the request, aligned for any type. It is freed after on_end, or, when
// allocated in a blocking handler, after that has returned.
// Returns: NULL when memory ran out.  Thread: worker, pool.
SKUA_API void *skua_request_alloc(skua_request *request, size_t octets);

// Keeps the request and its memory, with every slice of it, after on_end, until skua_request_drop
// has been called as often as skua_request_hold. The worker does not end before.
// A held request can still be read. From the call of on_end on, functions that respond, read
// content or take a ticket return SKUA_ECLOSED; where content is lost because the client has left,
// they return it before on_end. Other functions that would change the request then do nothing.
SKUA_API void skua_request_hold(skua_request *request);
SKUA_API void skua_request_drop(skua_request *request);

// Aborts a request: the response is not completed, the connection is closed, and on_end is called
// with SKUA_END_ERROR. Octets queued before may still be sent. A response that is complete is not
// affected.
SKUA_API void skua_request_abort(skua_request *request);

// Return the worker and the server that a request belongs to.
SKUA_API skua_worker *skua_request_worker(const skua_request *request);
SKUA_API skua_server *skua_request_server(const skua_request *request);

// Returns the connection of a request. NULL once on_end has returned, and in on_end if the
// connection ended while a blocking handler ran.
SKUA_API skua_connection *skua_request_connection(const skua_request *request);

// Closes the connection after this response, which then says "Connection: close". Later requests on
// the connection are not served. Once the response has been given with its whole content, the call
// has no effect.
// Spec: RFC 9112 §9.6
SKUA_API void skua_request_close(skua_request *request);

// How a request ended.
typedef enum skua_end {
    SKUA_END_SENT, // every octet of the response was handed to the kernel
    // the peer closed or reset the connection, or sent FIN while the server waited
    SKUA_END_CLOSED,
    SKUA_END_TIMEOUT, // a deadline passed
    SKUA_END_ERROR,   // the response's source failed, or the server stopped
} skua_end;

// Called once, when the last octet of the response has left or the request has failed. Nothing can
// be responded any more. A request that is not held is freed when this returns.
typedef void skua_end_fn(skua_request *request, skua_end how, void *user);

// Leaves the request out of the access log. It still counts in statistics. It can be called until
// the request has ended, at the latest in the function of skua_on_end or in middleware's end.
SKUA_API void skua_request_skip_log(skua_request *request);

// Sets the function that is called when the request ends; a later call replaces it. fn: NULL for
// none.
SKUA_API void skua_on_end(skua_request *request, skua_end_fn *fn, void *user);

// Adds a function that is called once when the request ends, before that of skua_on_end, which it
// leaves to the handler. Functions that are built on this interface, such as skua_serve_file, are
// told so of the end of a request for which they do something. A request may have any number of
// them; the one added last is called first.
// Errors: SKUA_ECLOSED the request has ended, and middleware has been told, so functions added here
// have been called or are being called; SKUA_ENOMEM.  Cost: up to 80 octets of memory of the
// request, which skua_request_unfollow does not give back.
SKUA_API SKUA_NODISCARD skua_status skua_request_follow(skua_request *request, skua_end_fn *fn,
                                                        void *user);

// Takes back what skua_request_follow was called with: fn is not called for that user any more. It
// does nothing if there is no such function.
SKUA_API void skua_request_unfollow(skua_request *request, skua_end_fn *fn, void *user);

// ---- Reading its content ----------------------------------------------------------------------

// The events of a skua_content_fn.
typedef enum skua_content_event {
    SKUA_CONTENT_DATA, // octets have arrived
    SKUA_CONTENT_END,  // the content is complete; octets is empty
    // the content will never be complete; octets is empty; on_end follows
    SKUA_CONTENT_LOST
} skua_content_event;

// Called with content as it arrives. octets: valid during the call.
typedef void skua_content_fn(skua_request *request, skua_content_event event, skua_slice octets,
                             void *user);

// Returns the length of the content in octets; 0 without content; -1 when it is chunked and so
// unknown.
SKUA_API int64_t skua_content_length(const skua_request *request);

// Starts reading the content. fn is called with each piece until END or LOST; the first call may
// come before this returns. It sends 100 (Continue) if the client waits for it and the response has
// not begun. Octets given to fn count against skua_config.content_window_octets until
// skua_content_consume takes them off; when the window is used up, the socket is not read.
// Content can be read while the response is given piece by piece (skua_respond_pull,
// skua_respond_stream), begun before or after the response's head. Content that has not arrived
// when the response ends is discarded, and fn gets LOST.
// Errors: SKUA_ESTATE the content is being read already, or the response is complete.
SKUA_API SKUA_NODISCARD skua_status skua_content_read(skua_request *request, skua_content_fn *fn,
                                                      void *user);

// Gives back n octets of the content window: at most as many as were delivered and not consumed
// yet. Content delivered before skua_upgrade need not be consumed: the tunnel begins with a whole
// window.
SKUA_API void skua_content_consume(skua_request *request, size_t n);

// Called with the whole content, or with the reason why there is none: SKUA_ELIMIT more than
// octets_max (413 has been responded); SKUA_ECLOSED; SKUA_ENOMEM (503 has been responded).
// content: valid until on_end has returned.
typedef void skua_collected_fn(skua_request *request, skua_status status, skua_slice content,
                               void *user);

// Reads the whole content into memory and calls fn once, perhaps before this returns.
// octets_max: 0 for that of the route (skua_route_add), or else skua_config.content_octets_max.
// Errors: SKUA_ESTATE the content is being read already, or a response has been given.
SKUA_API SKUA_NODISCARD skua_status skua_content_collect(skua_request *request, uint64_t octets_max,
                                                         skua_collected_fn *fn, void *user);

// Returns the content once skua_content_collect has read all of it; in a blocking handler always.
// Empty before that.
// Lifetime: until on_end has returned.  Thread: worker, pool.
SKUA_API skua_slice skua_request_content(const skua_request *request);

// Sets the time for the handler of this request, in place of skua_config.handler_timeout_ns. When
// it has not responded by then, the response is 503; a response that has begun and is silent for as
// long is cut off. Once the response is complete, the call has no effect.
// timeout_ns: nanoseconds; 0 for the server's, -1 for no limit.
SKUA_API void skua_request_timeout(skua_request *request, int64_t timeout_ns);

// Limits the content of this request, whoever reads it and however. When more than octets_max
// arrive, or at once when the stated length is larger, 413 is responded (the connection ends if a
// response has begun), and a reader gets LOST. For middleware, and for handlers that stream; a
// later call replaces an earlier one.
// octets_max: 0 for no limit.
// Errors: SKUA_ELIMIT 413 has been responded; SKUA_ESTATE a response has been given.  Spec: RFC
// 9110 §15.5.14
SKUA_API SKUA_NODISCARD skua_status skua_content_limit(skua_request *request, uint64_t octets_max);

// Returns the value of the first trailer field of that name, after END of skua_content_fn or once
// the content is collected; {NULL, 0} when absent. Trailer fields are never merged into the fields.
// Lifetime: the request's.  Spec: RFC 9110 §6.5
SKUA_API skua_slice skua_request_trailer(const skua_request *request, const char *name);

// Returns the first parameter of that name in a form (application/x-www-form-urlencoded), decoded.
// {NULL, 0} when absent or when memory ran out; {"", 0} when empty.
// content: as collected. The function does not look at Content-Type; skua_form does.
SKUA_API skua_slice skua_form_param(const skua_request *request, skua_slice content,
                                    const char *name);

// Reads parameter number index of a form, in the order of arrival.
// Returns: false if there is none of that number, past skua_config.params_max, and when memory ran
// out.
// Cost: the first call for a content decodes all of them, and they are kept.
SKUA_API bool skua_form_at(const skua_request *request, skua_slice content, size_t index,
                           skua_field *param);

// Returns the first field of that name in the form that the client sent, decoded: from content that
// was collected by skua_content_collect or for a blocking handler, if its Content-Type is
// application/x-www-form-urlencoded.
// Returns: {NULL, 0} when the field is absent, there is no such content or memory ran out; {"", 0}
// when it is empty.
// Lifetime: until on_end has returned.  Thread: worker, pool.
SKUA_API skua_slice skua_form(const skua_request *request, const char *name);

// A part of multipart/form-data.
// name, filename: from Content-Disposition, as the client sent them, without quotes and escapes;
// filename is {NULL, 0} when there is none. Never use filename as a path.
// type: Content-Type, or {NULL, 0}. fields: all fields of the part; a quoted name or filename in
// them has been unquoted in place.
typedef struct skua_part {
    skua_slice name, filename, type;
    const skua_field *fields;
    size_t fields_count;
} skua_part;

// The events of a skua_part_fn.
typedef enum skua_part_event {
    SKUA_PART_BEGIN, // the head of a part has arrived
    SKUA_PART_DATA,  // octets of its content
    SKUA_PART_END,   // the part is complete
    SKUA_PARTS_END,  // all parts are complete; part is NULL
    // 400 or 413 has been responded, or the content is lost; part is NULL
    SKUA_PARTS_FAILED
} skua_part_event;

// Called with parts as they arrive, one after the other.
// part: valid from its BEGIN until its END. octets: content of the part at DATA, valid during the
// call; empty at other events.
typedef void skua_part_fn(skua_request *request, skua_part_event event, const skua_part *part,
                          skua_slice octets, void *user);

// Reads multipart/form-data part by part. As with skua_content_read, octets given to fn are to be
// given back by skua_content_consume. The grammar is taken strictly. There are at most
// skua_config.parts_max parts, with heads of at most skua_config.part_head_octets_max [413].
// skua_content_limit limits the content.
// Errors: SKUA_EINVAL the request's Content-Type is not multipart/form-data with a boundary (the
// caller responds 415 or 400); SKUA_ENOMEM; SKUA_ESTATE the content is being read already, or a
// response has been given.
// Spec: RFC 7578, RFC 2046 §5.1
SKUA_SIZED SKUA_NODISCARD skua_status skua_multipart_read(skua_request *request, skua_part_fn *fn,
                                                          void *user);

// Content that was kept as a whole, in memory or in a file.
// octets: the content while it is in memory. file: the content in a file, or NULL. length: in
// octets. Both are valid until on_end has returned; skua_file_ref keeps the file longer.
typedef struct skua_upload {
    skua_slice octets;
    skua_file *file;
    uint64_t length;
} skua_upload;

// Called with the content that was kept, or with the reason why there is none: SKUA_ELIMIT (413 has
// been responded); SKUA_ECLOSED; SKUA_ENOMEM, SKUA_ENOFILE (503 has been responded); SKUA_EIO,
// SKUA_EACCES, SKUA_ENOENT the spool directory cannot be written to (500 has been responded).
// upload: valid during the call; NULL unless status is SKUA_OK.
typedef void skua_spooled_fn(skua_request *request, skua_status status, const skua_upload *upload,
                             void *user);

// Reads the whole content, into memory while it is small and otherwise into a file without a name
// in skua_config.spool_directory, and calls fn once, perhaps before this returns. Helper threads
// write the file; a disk that is slower than the client slows the client down.
// memory_max: octets kept in memory; 0 for 65536. octets_max: 0 for skua_config.content_octets_max.
// Errors: SKUA_ENOMEM; SKUA_ESTATE the content is being read already, or a response has been given.
SKUA_SIZED SKUA_NODISCARD skua_status skua_content_spool(skua_request *request, size_t memory_max,
                                                         uint64_t octets_max, skua_spooled_fn *fn,
                                                         void *user);

// A part of a form that was kept as a whole. Its slices are valid until on_end has returned.
typedef struct skua_form_part {
    skua_part part;
    skua_upload upload;
} skua_form_part;

// Called with the parts in the order of arrival, or with the reason why there are none: those of
// skua_spooled_fn; SKUA_EPROTOCOL the form is malformed (400 has been responded).
typedef void skua_form_fn(skua_request *request, skua_status status, const skua_form_part *parts,
                          size_t count, void *user);

// Reads a whole form (multipart/form-data) and calls fn once, perhaps before this returns.
// memory_max: octets of all parts together that are kept in memory; 0 for 65536. A part that does
// not fit there is written to a file of its own; at most skua_config.part_files_max files [413].
// octets_max: of the whole content; 0 for skua_config.content_octets_max.
// Errors: those of skua_multipart_read.
SKUA_SIZED SKUA_NODISCARD skua_status skua_multipart_collect(skua_request *request,
                                                             size_t memory_max, uint64_t octets_max,
                                                             skua_form_fn *fn, void *user);

// ---- Middleware -------------------------------------------------------------------------------

// Functions that run around handlers. Each may be NULL.
typedef struct skua_middleware {
    // Called before the handler. It responds, or calls skua_next, during the call or later on the
    // same worker. The route is known by then: skua_request_param and skua_request_pattern work.
    void (*before)(skua_request *request, void *user);
    // Called once, when the status of the response is known and its head is not written yet.
    // skua_field_add works here, responding does not. It is also called for the server's own
    // responses (404, 405, 413, 503, …). When a response does not fit into a head, it is called for
    // the 500 that takes its place instead. When a field is lost here, the response becomes 500
    // without another call.
    void (*head)(skua_request *request, int status, void *user);
    // Called once when the request ends, with or without a response, before its on_end. A function
    // that skua_on_end or skua_request_follow sets here is still called.
    void (*end)(skua_request *request, skua_end how, void *user);
    void *user;
} skua_middleware;

// Runs middleware around every request at or below prefix that has a well-formed head and a host
// that is served, also around requests that are answered 404 or 405. Before skua_start.
// prefix: "[METHOD ][HOST]/PATH" as for skua_route, without {name} in the path: "/" is every
// request, "/a" is "/a" and everything below "/a/", "/a/" only the latter. Copied, as is
// *middleware.
// The before functions run in the order of these calls; head and end run in the reverse order, for
// the middleware whose turn came. When one responds, those after it are not called for the request.
// Errors: SKUA_EINVAL not a prefix; SKUA_ELIMIT more than 64; SKUA_ENOMEM; SKUA_ESTATE the server
// has been started.
// Cost: nothing without middleware; otherwise a comparison for each, per request.
SKUA_SIZED SKUA_NODISCARD skua_status skua_use(skua_server *server, const char *prefix,
                                               const skua_middleware *middleware);

// Responds to an error in place of the server's page. It responds before it returns, with the whole
// content (not by skua_respond_pull, skua_respond_stream or skua_events_open); if it does not, the
// server's page is sent.
// sentence: that of skua_refuse, or empty; valid during the call.
// Thread: the request's worker; the pool's when a blocking handler caused the error.
typedef void skua_error_fn(skua_request *request, int status, skua_slice sentence, void *user);

// Lets fn respond to errors of requests at or below prefix: the server's own (400, 404, 405, 408,
// 413, 431, 500, 503 and others) and those of skua_respond_error and skua_refuse. Inside fn these
// two send the server's page. Of several prefixes that match, the most specific counts. A request
// whose head could not be read has no path; only "/" matches it. Before skua_start.
// Allow and Connection are right whatever fn does. Other fields added before are dropped when the
// error is the server's own.
// prefix: as for skua_use.
// Errors: SKUA_EINVAL not a prefix; SKUA_ELIMIT more than 64; SKUA_ENOMEM; SKUA_ESTATE the server
// has been started.
SKUA_API SKUA_NODISCARD skua_status skua_on_error(skua_server *server, const char *prefix,
                                                  skua_error_fn *fn, void *user);

// Passes the request on from middleware's before: to the next middleware, or to the handler. Each
// before calls it once. It does nothing when the request has been answered meanwhile, by a timeout
// for example.
SKUA_API void skua_next(skua_request *request);

// Routes below a prefix, with middleware around every request at or below it.
typedef struct skua_group {
    const char *prefix; // "[HOST]/PATH", without "/" at its end: "/api", "example.org/api"
    const skua_middleware *middleware; // runs in this order
    size_t middleware_count;
    // patterns are "[METHOD ]/PATH", below prefix: "GET /users" becomes "GET /api/users"
    const skua_route_desc *routes;
    size_t route_count;
} skua_group;

// Adds a group. Before skua_start. Everything is copied except the objects that user members point
// to.
// Errors: those of skua_use and skua_route_add. Routes and middleware before the one that failed
// have been added.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_group(skua_server *server,
                                                       const skua_group *group);

// ---- Sites ------------------------------------------------------------------------------------

// Routes, middleware and error functions for some hosts. A site is made beside a server, which may
// run meanwhile, and then put into it as a whole. From then on the site serves requests for its
// hosts; requests for other hosts meet what skua_route and similar functions have added to the
// server. A request keeps the site in which it began until it ends, also when another site takes
// its place. One thread at a time fills a site; it may be any.
typedef struct skua_site skua_site;

// Describes a site. Zero means none, for every member but hosts.
typedef struct skua_site_desc {
    // Host names without ports, separated by spaces. "*.example.org" is every name with one more
    // label, "*" every host that no other site names. The most specific name counts. They are
    // served whatever skua_config.hosts says. Copied.
    const char *hosts;
    // Called when the site is freed and none of its requests is left, so that nothing uses the user
    // pointers of its functions any more. NULL: not called.
    // Thread: the worker that had the last of its requests, or the thread of the call that freed
    // it.
    void (*release)(void *user);
    void *user;
    // The certificate for clients that ask for one of the hosts over TLS; the site adds its own
    // reference. It comes and goes with the site: each worker takes over both in one step. Existing
    // connections keep their certificate. NULL: skua_config.tls decides, which is also for hosts
    // without a site. If all certificates belong to sites, set skua_tls_desc.choose to a function
    // that returns NULL.
    skua_tls_identity *identity;
} skua_site_desc;

// Makes a site without routes. Free it by skua_site_free unless it is put into the server, and
// before the server is freed.
// Returns: NULL when memory ran out. skua_site_put reports hosts that are not names.
SKUA_SIZED SKUA_NODISCARD skua_site *skua_site_new(skua_server *server, const skua_site_desc *desc);

// Frees a site that has not been put, and calls its release. NULL is allowed.
SKUA_API void skua_site_free(skua_site *site);

// Returns a sentence about the last failure of a function of this site.
// Lifetime: until the next such call.
SKUA_API const char *skua_site_error(const skua_site *site);

// Like skua_route, skua_route_add, skua_route_group, skua_use and skua_on_error, for the requests
// of a site that is not put yet. The server may run. Errors: theirs, without SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_site_route(skua_site *site, const char *pattern,
                                                    skua_handler *handler, void *user);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_route_add(skua_site *site,
                                                          const skua_route_desc *desc);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_group(skua_site *site, const skua_group *group);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_use(skua_site *site, const char *prefix,
                                                    const skua_middleware *middleware);
SKUA_API SKUA_NODISCARD skua_status skua_site_on_error(skua_site *site, const char *prefix,
                                                       skua_error_fn *fn, void *user);

// Registers a function that is called when the site is freed and none of its requests is left,
// before the release of skua_site_desc.
// Errors: SKUA_ENOMEM.  Thread: any; that of release is as for skua_site_desc.
SKUA_API SKUA_NODISCARD skua_status skua_site_on_free(skua_site *site, void (*release)(void *user),
                                                      void *user);

// Returns the server beside which a site was made.
SKUA_API skua_server *skua_site_server(const skua_site *site);

// Sets the sentence that skua_site_error returns (copied, cut at 511 octets), for functions built on
// this interface.
SKUA_API void skua_site_set_error(skua_site *site, const char *sentence);

// Puts a site into its server, before or after skua_start. The site takes its hosts from the sites
// that had them. A site without hosts is freed when the last of its requests has ended. Workers
// take the change over by themselves; a request that arrives at the same moment may still meet the
// former site. On success the site belongs to the server, and the caller must not use it any more.
// On failure nothing has changed.
// Errors: SKUA_EINVAL a host is not a name; SKUA_ENOMEM; SKUA_ECLOSED the server is being freed.
// Thread: any.
// Cost: a look-up in a hash table for each request of a server that has sites.
SKUA_API SKUA_NODISCARD skua_status skua_site_put(skua_site *site);

// Takes hosts away from the sites that have them. Their requests are the server's own from then on.
// hosts: in the form of skua_site_desc.hosts.
// Errors: SKUA_ENOENT no site has any of them; SKUA_ENOMEM.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_site_withdraw(skua_server *server, const char *hosts);

// Replaces all sites of the server at once, as when a configuration changes. Hosts that none of the
// new sites names are the server's own from then on. If two name the same host, the later one gets
// it. On success all belong to the server, as after skua_site_put; on failure nothing has changed,
// and all are still the caller's.
// sites: count sites of this server, each once; may be NULL when count is 0.
// Errors: those of skua_site_put; skua_site_error says more about hosts that are not names.
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_sites_replace(skua_server *server, skua_site *const *sites,
                                                       size_t count);

// Keeps an object with the request under a key, for functions that run later. The same key again
// replaces the object. A blocking handler has the objects that were there when it was called;
// objects that it sets are seen only there.
// key: an address of something of the caller's, so that no two keys are equal by accident.
// Errors: SKUA_ENOMEM.
SKUA_API SKUA_NODISCARD skua_status skua_request_set(skua_request *request, const void *key,
                                                     void *object);

// Returns the object that skua_request_set keeps under that key; NULL when there is none.
SKUA_API void *skua_request_get(const skua_request *request, const void *key);

// The status of the response, 0 while there is none; and the octets of its content: octets queued
// so far, and in skua_on_end and middleware's end octets that were handed to the kernel.
SKUA_API int skua_request_status(const skua_request *request);
SKUA_API uint64_t skua_request_sent(const skua_request *request);

// ---- Responding -------------------------------------------------------------------------------

// Every function that responds gives a complete response, and is called once per request.
// status: 200..599. type: media type, copied; NULL for no Content-Type. Content is not sent in
// responses to HEAD, and with 204, 205 and 304.
// The results may be ignored. A response that cannot be given becomes 500, or, when memory ran out,
// its connection is closed. A field that cannot be added makes the response 500, or cuts it off if
// its head has left. The log names the route and the reason.
// Errors of all of them: SKUA_ESTATE a response has been given, which stays; SKUA_ECLOSED the
// request has ended; SKUA_EINVAL status, type or a length is out of range, or a field was lost
// before; SKUA_ENOMEM; SKUA_ELIMIT the field section is too large. With skua_config.strict, a
// second response, and a status or length out of range, stop the process.
// The server itself sets Date, Content-Length, Transfer-Encoding, Connection and Server-wide
// fields.

// Adds a field to the response, before it is given. A Content-Type replaces one that was added
// before; a type that the response states later replaces it.
// name, value: copied.
// Errors: SKUA_EINVAL name is not a token, value holds CR, LF or NUL, or the server itself sets the
// field; SKUA_ENOMEM; SKUA_ELIMIT more than 8192 octets of fields: the response becomes 500;
// SKUA_ESTATE, SKUA_ECLOSED the call is too late, and has no effect.
// Spec: RFC 9110 §5
SKUA_API skua_status skua_field_add(skua_request *request, const char *name, skua_slice value);

// Responds with a copy of content. See the beginning of this section for parameters and errors.
SKUA_API skua_status skua_respond(skua_request *request, int status, const char *type,
                                  skua_slice content);

// Called once, when borrowed octets are no longer needed.
typedef void skua_release_fn(void *user);

// Responds with content that is not copied. It belongs to the caller and must not change until
// release has been called, which happens once, whatever this returns.
// release: NULL for content that never changes.
SKUA_API skua_status skua_respond_borrowed(skua_request *request, int status, const char *type,
                                           skua_slice content, skua_release_fn *release,
                                           void *user);

// The result of a pull function.
typedef enum skua_pulled {
    SKUA_PULL_OCTETS, // *octets octets were written, at least one
    SKUA_PULL_END,    // no more will come; *octets may be more than 0
    // none now; the program calls skua_wake later; see stream_idle_timeout_ns
    SKUA_PULL_PENDING,
    SKUA_PULL_ERROR // the content cannot be completed; the connection is closed
} skua_pulled;

// Writes up to room octets of content to buffer. It is called when the connection can take some.
// octets: receives their number.
typedef skua_pulled skua_pull_fn(skua_request *request, char *buffer, size_t room, size_t *octets,
                                 void *user);

// Responds with content that the server pulls from a function when it can be sent.
// length: octets that pull will write in all, or -1 when unknown (chunked in HTTP/1.1).
SKUA_API skua_status skua_respond_pull(skua_request *request, int status, const char *type,
                                       int64_t length, skua_pull_fn *pull, void *user);

// Adds a trailer field to a response of skua_respond_pull with length -1, at the latest in the call
// of its pull function that returns END, or of skua_respond_stream, before skua_finish. It is sent
// if the response is chunked or HTTP/2, and otherwise dropped. name, value: copied.
// Errors: SKUA_EINVAL, also for names that frame, route or authenticate; SKUA_ENOMEM; SKUA_ELIMIT:
// the response is cut off, or becomes 500 if its head has not left; SKUA_ESTATE; SKUA_ECLOSED.
SKUA_API skua_status skua_trailer_add(skua_request *request, const char *name, skua_slice value);

// Lets a source that returned SKUA_PULL_PENDING be pulled again.
SKUA_API void skua_wake(skua_request *request);

// Called when there is room again for what the handler writes; never from within a function of this
// interface.
typedef void skua_drained_fn(skua_request *request, void *user);

// Responds with content that the handler writes by skua_write when it has some, and ends by
// skua_finish. The head leaves at the end of the turn. Writes of a response without content (HEAD,
// 204, 205, 304) are accepted and dropped.
// length: octets that will be written in all, or -1 when unknown (chunked in HTTP/1.1).
// drained: called once when at least half of skua_config.out_octets_max is free again, after a
// write that was refused with SKUA_ELIMIT or left less than that; after a refusal, not before the
// refused write fits. NULL: not called.
SKUA_API skua_status skua_respond_stream(skua_request *request, int status, const char *type,
                                         int64_t length, skua_drained_fn *drained, void *user);

// Writes a copy of octets: all of them or, on error, none. Small writes of one turn leave together.
// Errors: SKUA_ELIMIT more than out_octets_max would be queued, or too many pieces: try again when
// drained is called; SKUA_EINVAL more than out_octets_max at once, or more than the stated length
// in all; SKUA_ENOMEM; SKUA_ECLOSED the connection is about to end; SKUA_ESTATE no such response
// has been begun, or it is finished.
SKUA_API SKUA_NODISCARD skua_status skua_write(skua_request *request, skua_slice octets);

// Returns how many octets skua_write would take now; 0 when nothing can be written any more.
SKUA_API uint64_t skua_write_room(const skua_request *request);

// Ends the content of a response of skua_respond_stream. Trailers added before by skua_trailer_add
// are sent, and the request ends when everything has left.
// Errors: SKUA_EINVAL less than the stated length was written, or SKUA_ENOMEM: the connection is
// closed without completing the response; SKUA_ESTATE no such response has been begun, or it is
// finished.
SKUA_API skua_status skua_finish(skua_request *request);

// Begins an event stream (Server-Sent Events): 200, text/event-stream, Cache-Control: no-store, of
// unknown length. skua_event_send writes to it until skua_finish. It may be silent for
// skua_config.handler_timeout_ns, or, if that is not set, for stream_idle_timeout_ns; send a
// comment from time to time to keep it open, here and in proxies. The response to HEAD is over at
// once.
// drained, errors: as for skua_respond_stream.  Spec: HTML Living Standard §9.2
SKUA_API skua_status skua_events_open(skua_request *request, skua_drained_fn *drained, void *user);

// One event. Zero means none, for every member.
typedef struct skua_event {
    // UTF-8. It is split into lines at CRLF, CR and LF, which the client joins by LF. A NULL ptr:
    // no data, and the client dispatches no event; an empty slice with a ptr is empty data
    skua_slice data;
    skua_slice name; // the event's type; without it clients use "message"
    // kept by the client for Last-Event-ID; empty with a ptr: the client forgets it
    skua_slice id;
    int64_t retry_ms; // milliseconds the client waits before it connects again
    // data is a comment, which clients ignore; other members are not sent
    bool comment;
} skua_event;

// Sends an event: all of it or, on error, none. event: read during the call only.
// Errors: those of skua_write; SKUA_EINVAL also CR, LF or NUL in name or id, or retry_ms below 0;
// SKUA_ESTATE also when the response is no event stream.
SKUA_SIZED SKUA_NODISCARD skua_status skua_event_send(skua_request *request,
                                                      const skua_event *event);

// Takes the connection over for another protocol, by 101 with the fields that were added. From then
// on content is what the client sends: skua_content_read reports DATA, and END when the client
// closes its half. skua_write sends octets unchanged. skua_finish closes the server's half; the
// request ends when both halves are closed, or at once if nobody reads. No other request is read
// from the connection.
// protocol: as the client offered it, such as "websocket". drained: as for skua_respond_stream.
// Errors: SKUA_EPROTOCOL the client does not ask for that protocol (Upgrade and Connection,
// HTTP/1.1): respond 426 with an Upgrade field, or 400, or ignore the request to upgrade;
// SKUA_EINVAL not a protocol's name; SKUA_ESTATE a response has been given, or the request's
// content has not been read; SKUA_ENOMEM.
// CONNECT asks for a proxy's tunnel; it has no path and so no route, and is answered 405.
// Spec: RFC 9110 §7.8, §15.2.2
SKUA_API SKUA_NODISCARD skua_status skua_upgrade(skua_request *request, const char *protocol,
                                                 skua_drained_fn *drained, void *user);

// Responds with a short explanation of the status: an HTML page for a client that accepts
// text/html, otherwise a line of text. The response has "Vary: Accept".
SKUA_API skua_status skua_respond_error(skua_request *request, int status);

// Responds with the page of skua_respond_error, with a sentence of the program's in place of the
// general explanation.
// status: 400..599. sentence: UTF-8, copied, escaped in HTML, cut at 500 octets; empty for the
// general one.
SKUA_API skua_status skua_refuse(skua_request *request, int status, skua_slice sentence);

// Evaluates the preconditions of the request against the entity tag of the resource as it is now,
// before the handler responds or changes anything. For GET and HEAD it adds ETag, and responds 304
// when the client has that version. For other methods it responds 412 when If-Match names other
// tags only, or If-None-Match this one.
// tag: with its quotes, "\"v1\"", or "W/\"v1\"" for a weak one; {NULL, 0}: the resource does not
// exist. Copied.
// Returns: whether the handler goes on. False when a response has been given, which is 500 if tag
// is not an entity tag.
// Spec: RFC 9110 §13.2
SKUA_API bool skua_etag(skua_request *request, skua_slice tag);

// Responds 200 with content and a strong ETag made from it, the same on every machine, or 304 or
// 412 as skua_etag does.
// type, content: as in skua_respond. Errors: those of skua_respond.  Cost: a hash of the content.
SKUA_API skua_status skua_respond_tagged(skua_request *request, const char *type,
                                         skua_slice content);

// Responds with NUL-terminated UTF-8 text, as text/plain or text/html.
SKUA_API skua_status skua_respond_text(skua_request *request, int status, const char *text);
SKUA_API skua_status skua_respond_html(skua_request *request, int status, const char *html);

// Responds with text that printf makes from a format, of any length.
// type: NULL for text/plain in UTF-8. Errors: SKUA_EINVAL also when the format fails.
SKUA_API skua_status skua_respond_format(skua_request *request, int status, const char *type,
                                         const char *format, ...) SKUA_PRINTF(4, 5);
SKUA_API skua_status skua_respond_vformat(skua_request *request, int status, const char *type,
                                          const char *format, va_list arguments) SKUA_PRINTF(4, 0);

// Responds with application/json. json: a JSON text in UTF-8, which is not checked; copied.
SKUA_API skua_status skua_respond_json(skua_request *request, int status, skua_slice json);

// Redirects the client to another address.
// status: 301, 302, 303, 307 or 308. location: a URI or a path, copied. Octets that RFC 3986 does
// not allow there (controls, spaces, non-ASCII octets, brackets in a path or query, a "%" that
// encodes nothing) are percent-encoded; existing escapes stay. A location that begins with "//"
// names another host, which is easily overlooked, and is refused: write its scheme.
// Errors: SKUA_EINVAL also an empty location, or one that begins with "//"; SKUA_ELIMIT longer than
// skua_config.target_octets_max.
// Spec: RFC 9110 §15.4, §10.2.2
SKUA_API skua_status skua_redirect(skua_request *request, int status, const char *location);

// Sends an interim response with these fields at once, before the response: 102 (Processing), 103
// (Early Hints) or another 1xx but 101. Nothing is sent to HTTP/1.0 clients. A 100 (Continue),
// which skua_content_read sends by itself, is sent only once and only to a client that waits for
// it.
// fields: count fields, copied; may be NULL when count is 0.
// Errors: SKUA_ESTATE a response has been given; SKUA_EINVAL another status, or a field that
// skua_field_add would refuse; SKUA_ELIMIT more than 8192 octets of fields, or more than
// out_octets_max is queued; SKUA_ENOMEM. Nothing is sent then, and the request goes on.
// Spec: RFC 9110 §15.2, RFC 8297
SKUA_API skua_status skua_inform(skua_request *request, int status, const skua_field *fields,
                                 size_t count);

// The SameSite attribute: which requests from other sites carry a cookie.
typedef enum skua_same_site {
    SKUA_SAME_SITE_DEFAULT = 0, // no attribute; browsers treat it much like Lax
    SKUA_SAME_SITE_LAX,         // when the user follows a link
    SKUA_SAME_SITE_STRICT,      // none
    // all; needs secure
    SKUA_SAME_SITE_NONE
} skua_same_site;

// A cookie to be set. Zero means none, for every member but name. Everything is copied.
typedef struct skua_cookie {
    const char *name; // a token
    // visible ASCII without DQUOTE, comma, semicolon and backslash; may stand in DQUOTEs
    skua_slice value;
    const char *path;   // starts with "/"; NULL: the directory of the request's path
    const char *domain; // that host and its subdomains; NULL: only the request's host
    // seconds that it is kept; 0: until the browser's session ends; below 0: it is deleted now
    int64_t max_age_s;
    bool secure;    // sent over secure connections only
    bool http_only; // scripts cannot read it
    skua_same_site same_site;
    bool partitioned; // kept separately for each top-level site; needs secure
} skua_cookie;

// Adds a Set-Cookie field to the response, before it is given or in middleware's head. To delete a
// cookie, give the path and domain that it was set with.
// cookie: copied.
// Errors: those of skua_field_add; SKUA_EINVAL also for values that break the grammar, and for
// cookies that browsers would drop: "__Secure-" without secure, "__Host-" without secure and path
// "/" or with a domain, SKUA_SAME_SITE_NONE or partitioned without secure; SKUA_ELIMIT also for
// more than 4096 octets of name and value or 1024 of path or domain.
// Spec: RFC 6265bis §4.1
SKUA_SIZED skua_status skua_cookie_set(skua_request *request, const skua_cookie *cookie);

// ---- Filters of content -----------------------------------------------------------------------

// A filter stands between the content of a response and its framing, however the content is given,
// and compresses, rewrites or measures it. Since the octets are changed, the length is not stated
// unless the content is short, an ETag becomes weak, and Accept-Ranges is left out.

// Whether a call of a filter may keep octets for later.
typedef enum skua_flush {
    SKUA_FLUSH_NONE, // it may keep octets
    SKUA_FLUSH_NOW,  // everything taken so far is written: the client waits for it
    SKUA_FLUSH_END   // the same, and no more content will come
} skua_flush;

// The result of a call of a filter.
typedef enum skua_filtered {
    SKUA_FILTER_ALL,  // all content was taken, and written as flush asks
    SKUA_FILTER_MORE, // the room is used up: call again, with the rest and the same flush
    // The content cannot be completed: the response becomes 500, or is cut off if its head has left.
    // Content that is given at once, of up to 32768 octets, is filtered before the head is written.
    SKUA_FILTER_FAILED
} skua_filtered;

// A filter for skua_filter_add. user is passed to begin.
typedef struct skua_filter {
    // Called once, when the response and its fields are known and its head is not written yet,
    // after the head functions of middleware. skua_field_add, skua_response_field and
    // skua_response_length work here.
    // status: of the response; also 204 and 304, and responses to HEAD, which have no content to
    // filter.
    // Returns: the state of the filter for this response; NULL to leave the response unchanged.
    void *(*begin)(skua_request *request, int status, void *user);
    // Takes octets from the front of *content, which it advances, and writes up to room octets, at
    // least 504, to out.
    // octets: 0 on entry; receives the number of octets written. SKUA_FILTER_MORE needs at least
    // one.
    skua_filtered (*run)(void *state, skua_slice *content, skua_flush flush, char *out, size_t room,
                         size_t *octets);
    // Called once for each state when no more content will come. NULL: not called.
    void (*end)(void *state);
    void *user;
} skua_filter;

// Passes the content of the response through a filter. It is called from middleware's before or
// head, or from the handler before it responds. A response has at most one filter. Each skua_write
// and each event is flushed; skua_write_file takes at most out_octets_max then, and reads it during
// the call. Tunnels have no filter.
// filter: copied.
// Errors: SKUA_EEXIST there is one already; SKUA_ENOMEM; SKUA_ESTATE, SKUA_ECLOSED the call is too
// late.
// Cost: none for requests without a filter.
SKUA_SIZED skua_status skua_filter_add(skua_request *request, const skua_filter *filter);

// Returns the first field of that name, without regard to case, in the response that is about to be
// sent. It works in middleware's head and a filter's begin; {NULL, 0} when absent, and elsewhere.
// Lifetime: the call of head or begin.
SKUA_API skua_slice skua_response_field(const skua_request *request, const char *name);

// Returns the octets of content that the response states, in the same places; -1 when unknown, and
// elsewhere.
SKUA_API int64_t skua_response_length(const skua_request *request);

// ---- Compression ------------------------------------------------------------------------------

// The content codings are gzip, br and zstd, as far as the library is compiled with SKUA_ZLIB,
// SKUA_BROTLI and SKUA_ZSTD; with none of them these functions return SKUA_EUNSUPPORTED. A response
// is compressed when its media type and length promise a gain and the client accepts a coding that
// is built in (Accept-Encoding with q-values). It is not compressed when it has a Content-Encoding
// or a digest field, is partial (206), or says no-transform. A compressed response has a weak ETag
// and no ranges; every response that could have been compressed has a Vary field. Each event and
// each skua_write is flushed. A client that accepts no coding that is built in gets the response
// uncompressed, even if it refuses that ("identity;q=0"), because the request may have had effects.
// Files of a directory are answered with 406 then.
// Do not compress pages that show a secret beside text from the client: the compressed length
// reveals the secret to eavesdroppers (BREACH).

// How responses below a prefix are compressed. Zero means default, for every member.
typedef struct skua_compression {
    size_t octets_min; // shorter responses are not compressed; default 512
    bool off;          // no compression, whatever a shorter prefix says; default false
    // Media types, separated by spaces: "text/html", "text/*", or "+json" for all types with that
    // suffix. Copied. Default: text, JSON, XML, scripts, WebAssembly, and formats of fonts and
    // images that are not compressed.
    const char *types;
} skua_compression;

// Compresses the response of this request if it gains by that. Called before the response is given.
// Errors: those of skua_filter_add, and SKUA_EUNSUPPORTED; they may be ignored.
// Cost: up to 600 KiB of memory while the content passes, which count in skua_config.memory_max.
SKUA_API skua_status skua_compress(skua_request *request);

// Compresses the responses below prefix, as middleware does. Of several rules for a request the one
// added last counts. Before skua_start.
// compression: NULL for the defaults; read during the call.
// Errors: those of skua_use; SKUA_EUNSUPPORTED.
SKUA_SIZED SKUA_NODISCARD skua_status skua_use_compression(skua_server *server, const char *prefix,
                                                           const skua_compression *compression);

// A content coding.
typedef enum skua_coding {
    SKUA_CODING_GZIP = 1,
    SKUA_CODING_BROTLI, // br
    SKUA_CODING_ZSTD
} skua_coding;

// The effort spent on compression.
typedef enum skua_effort {
    SKUA_EFFORT_STREAM, // for content that is sent once: gzip 1, br 1, zstd 3
    SKUA_EFFORT_KEPT,   // for content that is kept and sent often: gzip 6, br 5, zstd 6
    // for content that is compressed in advance: gzip 9, br 11, zstd 19
    SKUA_EFFORT_BEST
} skua_effort;

// Returns whether the library is compiled with a coding.  Thread: any.
SKUA_API bool skua_coding_is_built(skua_coding coding);

// Returns whether content of a media type usually becomes shorter by compression: text, JSON, XML,
// scripts, WebAssembly, and formats of fonts and images that are not compressed.
// type: may have parameters.  Thread: any.
SKUA_API bool skua_compress_gains(skua_slice type);

// Compresses content in one call. Windows of zstd are at most 8 MiB, which every client supports.
// out: room octets. Give as much room as the result may take to be worth it.
// octets: receives the number of octets written; unchanged on an error.
// Errors: SKUA_ELIMIT the room does not suffice; SKUA_EUNSUPPORTED the coding is not built in;
// SKUA_ENOMEM.
// Thread: any. SKUA_EFFORT_BEST takes a second for each half MiB: see skua_offload.
SKUA_API SKUA_NODISCARD skua_status skua_encode(skua_coding coding, skua_effort effort,
                                                skua_slice content, char *out, size_t room,
                                                size_t *octets);

// Leaves the response uncompressed: neither skua_compress nor the compression of a directory
// changes it. For pages that show a secret. Called before the response is given.
SKUA_API void skua_compress_off(skua_request *request);

// Returns whether skua_compress_off was called for the request.
SKUA_API bool skua_compress_is_off(const skua_request *request);

// ---- Files ------------------------------------------------------------------------------------

// A directory beneath which files are opened. No path and no symbolic link leads out of it, unless
// skua_root_follow allows it for links.
typedef struct skua_root skua_root;

// Which symbolic links are followed. A path through any other link is not found.
typedef enum skua_links {
    SKUA_LINKS_INSIDE, // links that end beneath the root, whether relative or absolute
    SKUA_LINKS_NONE,   // none
    // all links: whoever can create one can publish any file
    SKUA_LINKS_ALL
} skua_links;

// The kind of file that a path names.
typedef enum skua_file_kind {
    SKUA_FILE_REGULAR,
    SKUA_FILE_DIRECTORY,
    SKUA_FILE_OTHER // a FIFO, a device, a socket: never opened for reading
} skua_file_kind;

// Size, times and identity of a file.
typedef struct skua_file_info {
    skua_file_kind kind;
    uint64_t size; // octets
    uint64_t inode;
    int64_t mtime_ns; // last modification, in nanoseconds since 1970
    int64_t ctime_ns; // last change of content or metadata, in nanoseconds since 1970
    uint64_t device;  // the file system, within which inode is unique
} skua_file_info;

// Opens a directory as a root, which the caller closes by skua_root_close.
// path: absolute, or relative to the working directory.
// Errors: SKUA_ENOENT, SKUA_EACCES, SKUA_ENOMEM, SKUA_ENOFILE.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_root_open(const char *path, skua_root **root);

// Sets which symbolic links beneath root are followed; the default is SKUA_LINKS_INSIDE. Call it
// before anything is opened beneath root.
SKUA_API void skua_root_follow(skua_root *root, skua_links links);

// Closes a root, once no request uses it. Files that were opened beneath it stay open. NULL is
// allowed.
SKUA_API void skua_root_close(skua_root *root);

// Called with an entry of a directory. Returning false ends the listing.
// name: without a slash; valid during the call. info: of the target for a symbolic link;
// SKUA_FILE_OTHER if the link leads out of the root or nowhere.
typedef bool skua_root_entry_fn(const char *name, const skua_file_info *info, void *user);

// Calls each for every entry of the directory root/path except "." and "..", in no particular
// order. It blocks: call it by skua_offload.
// path: as for skua_file_open; a "/" at its end is allowed.
// Errors: SKUA_ENOENT, also if it is not a directory; SKUA_EACCES; SKUA_ENOMEM; SKUA_ENOFILE;
// SKUA_EIO.
// Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_root_list(skua_root *root, skua_slice path,
                                                     skua_root_entry_fn *each, void *user);

// Called with the result of skua_file_open.
// file: on SKUA_OK a reference that the called function owns; otherwise NULL. For a directory, file
// can only be dropped by skua_file_unref. info: valid on SKUA_OK, during the call.
typedef void skua_file_opened_fn(skua_worker *worker, skua_status status, skua_file *file,
                                 const skua_file_info *info, void *user);

// Opens root/path for reading and calls fn once, perhaps before this returns. Opening never blocks
// on a FIFO or a device.
// path: relative, without a leading "/"; "" or "." for the root itself; copied.
// Status passed to fn: SKUA_ENOENT; SKUA_EACCES unreadable, outside the root, or neither a file nor
// a directory; SKUA_ENOFILE; SKUA_EIO; SKUA_ENOMEM; SKUA_ELIMIT as many operations wait for the
// disk as there can be connections.
SKUA_SIZED void skua_file_open(skua_worker *worker, skua_root *root, skua_slice path,
                               skua_file_opened_fn *fn, void *user);

// Called with the result of skua_file_load. octets: fewer than room only at the end of the file.
typedef void skua_file_loaded_fn(skua_worker *worker, skua_status status, size_t octets,
                                 void *user);

// Reads up to room octets at offset and calls fn once, perhaps before this returns. The worker does
// not wait for the disk: data not in memory is read by another thread.
// buffer: must stay until fn is called, and so must the caller's reference to file.
// Status passed to fn: SKUA_EIO; SKUA_ENOMEM; SKUA_ELIMIT as many operations wait for the disk as
// there can be connections.
SKUA_API void skua_file_load(skua_file *file, uint64_t offset, char *buffer, size_t room,
                             skua_file_loaded_fn *fn, void *user);

// Reads up to room octets at offset, and waits for the disk. Meant for small files; respond with
// large ones by skua_respond_file.
// octets: receives the number of octets read; 0 at the end of the file.
// Errors: SKUA_EIO.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_file_read(skua_file *file, uint64_t offset, char *buffer,
                                                   size_t room, size_t *octets);

// Adds a reference to a file; drops one. The last drop closes it.  Thread: the worker that opened
// it.
SKUA_API skua_file *skua_file_ref(skua_file *file);
SKUA_API void skua_file_unref(skua_file *file);

// Gives a name to a file without one, which skua_content_spool or skua_multipart_collect has
// written: root/path, mode 0600. An existing file is never replaced. It may wait for the disk
// briefly; skua_offload can call it.
// path: as for skua_file_open; its directory must exist.
// Errors: SKUA_EEXIST; SKUA_EUNSUPPORTED the file has a name, or skua_config.spool_directory is on
// another file system than root, or on one without such files; SKUA_EINVAL not a name; SKUA_ENOENT;
// SKUA_EACCES; SKUA_EIO.
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_file_keep(skua_file *file, skua_root *root,
                                                   skua_slice path);

// Responds with length octets of file, beginning at offset. The request keeps its own reference.
SKUA_API skua_status skua_respond_file(skua_request *request, int status, const char *type,
                                       skua_file *file, uint64_t offset, uint64_t length);

// Writes length octets of file, beginning at offset, to a response of skua_respond_stream,
// skua_events_open or skua_upgrade. The octets are not copied, and length is not limited. The
// request keeps its own reference. A file that turns out to be shorter ends the connection.
// Errors: those of skua_write; SKUA_ELIMIT out_octets_max are queued already.
SKUA_API SKUA_NODISCARD skua_status skua_write_file(skua_request *request, skua_file *file,
                                                    uint64_t offset, uint64_t length);

// A directory whose changes are counted.
typedef struct skua_watch skua_watch;

// Returns whether the watch of a directory also counts writes to existing files in it, as on Linux.
// Elsewhere (macOS and FreeBSD) it counts files that are created, removed or renamed, and a single
// file can be watched by its own path.
// Thread: any.
SKUA_API bool skua_watch_includes_writes(void);

// Watches the directory root/path, not what is below it. All who watch the same directory share one
// watch. The first watch of a directory may wait for the disk; skua_offload can call it.
// Errors: SKUA_ENOENT, also if it is not a directory; SKUA_EACCES; SKUA_ELIMIT; SKUA_ENOMEM;
// SKUA_ENOFILE; SKUA_EIO; SKUA_EUNSUPPORTED, on Linux also for file systems that another machine or
// process changes (NFS, FUSE).
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_watch_open(skua_server *server, skua_root *root,
                                                    skua_slice path, skua_watch **watch);

// Watches a directory as skua_watch_open does, if that needs no wait.
// Returns: false, and nothing has been done, if the disk may have to be asked.
// status: receives the result of skua_watch_open; unchanged on false.  Thread: any.
SKUA_API SKUA_NODISCARD bool skua_watch_try(skua_server *server, skua_root *root, skua_slice path,
                                            skua_watch **watch, skua_status *status);

// Ends a watch.  Thread: any.
SKUA_API void skua_watch_close(skua_server *server, skua_watch *watch);

// Returns how many changes of names, content or metadata have been seen in the watched directory.
// The number never falls. Read it before opening a file there: while it stays the same, the file is
// unchanged as far as is known. After the directory was moved, deleted or unmounted it grows at
// every call: close the watch and open it again.
// Thread: any.
SKUA_API uint64_t skua_watch_changes(const skua_watch *watch);

// ---- Prepared responses -----------------------------------------------------------------------

// A response made in advance: status, fields, and content from memory or a file. It is
// reference-counted and belongs to one worker, on whose thread all its functions are called.
typedef struct skua_prepared skua_prepared;

// The parts of a prepared response, for skua_prepared_new. Zero means none. All slices are copied.
typedef struct skua_prepared_desc {
    int status;               // 200..599
    const skua_field *fields; // without fields that the server itself sets
    size_t fields_count;
    skua_slice content; // content in memory; otherwise:
    skua_file *file;    // a file with the content; the response adds its own reference
    uint64_t offset;    // where the content begins in the file
    // its length in octets; also the length that a response without content states
    uint64_t length;
    bool has_length; // for 304: state length although no content is sent
    // Not NULL: content is not copied and must not change until this is called, once, on the
    // worker's thread. When skua_prepared_new fails, it is not called.
    skua_release_fn *release;
    void *release_user;
    // With release: octets before the content that this response alone may write to, until release is
    // called. A head that fits there is sent in one piece with the content, which costs less than two
    // pieces. 1024 are enough for most heads. Default 0.
    size_t headroom;
} skua_prepared_desc;

// Makes a prepared response.  Errors: SKUA_EINVAL, SKUA_ENOMEM.
SKUA_SIZED SKUA_NODISCARD skua_status skua_prepared_new(skua_worker *worker,
                                                        const skua_prepared_desc *desc,
                                                        skua_prepared **prepared);

// Adds a reference to a prepared response, and drops one. The last drop frees it.
SKUA_API skua_prepared *skua_prepared_ref(skua_prepared *prepared);
SKUA_API void skua_prepared_unref(skua_prepared *prepared);

// Responds with a prepared response. The request adds its own reference. Fields added by
// skua_field_add are sent as well.
// Cost: no allocation; small content is sent with the head in one system call.
SKUA_API skua_status skua_respond_prepared(skua_request *request, skua_prepared *prepared);

// ---- Workers ----------------------------------------------------------------------------------

// Functions that take a worker are called on its thread, unless they say otherwise.

// An object that each worker has one of. The functions are called on the worker.
typedef struct skua_local_desc {
    // Makes the object at the worker's first skua_local. NULL means that memory ran out; the next
    // skua_local tries again.
    void *(*make)(skua_worker *worker, void *user);
    // Called when the worker ends, after its last request, or after skua_local_remove.
    void (*drop)(skua_worker *worker, void *object, void *user);
    // Called when descriptors ran out: closes those that can be done without, and returns whether
    // any was closed. May be NULL.
    bool (*evict)(skua_worker *worker, void *object, void *user);
    void *user;
    // Called when memory is short, often while it is: frees what can be made again. May be NULL.
    void (*shrink)(skua_worker *worker, void *object, void *user);
} skua_local_desc;

// Registers an object that each worker has one of, before or after skua_start. A server has at most
// 1024 at a time.
// key: receives the key for skua_local. Pass it to running workers by skua_site_put or skua_post.
// Errors: SKUA_ELIMIT.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_local_add(skua_server *server,
                                                     const skua_local_desc *desc, unsigned *key);

// Drops the objects of a key, each on its worker, soon, or at the worker's end if memory runs out.
// No skua_local may be called with the key any more; the key may be given out again.
// Thread: any.
SKUA_API void skua_local_remove(skua_server *server, unsigned key);

// Returns this worker's object of that key; NULL when memory ran out.
SKUA_API void *skua_local(skua_worker *worker, unsigned key);

// Return a worker's number, from 0, and its server.  Thread: any.
SKUA_API unsigned skua_worker_index(const skua_worker *worker);
SKUA_API skua_server *skua_worker_server(const skua_worker *worker);

// Return the time at which this turn of the worker began, in nanoseconds: monotonic, and since
// 1970.
SKUA_API int64_t skua_worker_now_ns(const skua_worker *worker);
SKUA_API int64_t skua_worker_unix_ns(const skua_worker *worker);

// Counts memory of the program that grows with clients as part of skua_config.memory_max. No call
// is refused, but the server acts earlier. All of it must be taken off before the worker ends.
// octets: added to the count; negative: taken off.
// Thread: owning worker.  Cost: threads share a counter once per 256 KiB only.
SKUA_API void skua_memory_count(skua_worker *worker, int64_t octets);

// A timer of a worker. A plain value: copy it, keep it; {0} is none. It never dangles: once the
// timer is over, stopping it does nothing.
typedef struct skua_timer {
    uint64_t value;
} skua_timer;

// Called when a timer is due, never early.
typedef void skua_timer_fn(skua_worker *worker, void *user);

// Calls fn on this worker after delay_ns, and then every period_ns. A period that was missed is
// left out. A timer ends with its worker, whether it has fired or not, and does not keep the worker
// from ending.
// delay_ns, period_ns: nanoseconds; a period of 0: once. timer: receives the timer for
// skua_timer_stop; unchanged on an error; may be NULL.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT there are 16,777,088 timers in this process.
SKUA_API SKUA_NODISCARD skua_status skua_timer_start(skua_worker *worker, int64_t delay_ns,
                                                     int64_t period_ns, skua_timer_fn *fn,
                                                     void *user, skua_timer *timer);

// Stops a timer: its fn is not called any more. It may be called from inside that fn.
// Returns: whether fn would have been called again. False, and nothing happens, when the timer was
// stopped before, has fired for the last time (inside that call, too), or its worker has ended, and
// for {0}.
// Thread: the timer's worker; for a timer that is over, any.
SKUA_API bool skua_timer_stop(skua_timer timer);

// ---- Descriptors of other libraries -----------------------------------------------------------

// These functions are for libraries that need to know when their sockets are readable or writable,
// such as database clients. The worker serves them between its clients.

// The events of a poll, combined by |.
typedef enum skua_poll_event {
    SKUA_POLL_READABLE = 1, // reading would not wait; the other end may have closed
    SKUA_POLL_WRITABLE = 2, // writing would not wait
    SKUA_POLL_ERROR = 4,    // reported only: it has failed, or its other end is closed
    // requested only: the poll ends when its function is called
    SKUA_POLL_ONCE = 8
} skua_poll_event;

// A descriptor that a worker waits for. A plain value: copy it, keep it; {0} is none. It never
// dangles: once the poll is over, stopping or changing it does nothing.
typedef struct skua_poll {
    uint64_t value;
} skua_poll;

// Called when the descriptor is ready for the requested events, and again in each turn of the
// worker in which it still is (level-triggered). With SKUA_POLL_ONCE the poll is over before the
// call. At most 64 of these functions are called in a turn, so that a descriptor that is always
// ready does not take more than its share. Make the descriptor non-blocking, because the function
// may be called when nothing can be read any more.
// events: the requested events that have come. With SKUA_POLL_ERROR, all requested events are set,
// and reading or writing tells the error. Not every kernel reports errors separately.
typedef void skua_poll_fn(skua_worker *worker, int fd, unsigned events, void *user);

// Calls fn on this worker when fd is ready. fd still belongs to the program. Stop the poll before
// fd is closed. Where a library closes it by itself, as libpq does when its server has gone, stop
// the poll before any other descriptor is opened; a new poll for the same number ends the old one
// at the latest. The poll ends with its worker, without a call, after the drop of skua_local_desc,
// and does not keep the worker from ending.
// events: SKUA_POLL_READABLE, SKUA_POLL_WRITABLE or both, and SKUA_POLL_ONCE with them. Without
// either, nothing is waited for until skua_poll_change. poll: receives the poll for skua_poll_stop;
// unchanged on an error; may be NULL.
// Errors: SKUA_EINVAL fd is not open; SKUA_EEXIST this worker has a poll for fd (one poll takes
// both directions); SKUA_EUNSUPPORTED fd cannot be waited for, such as a regular file or a
// directory; SKUA_ELIMIT this worker has 16,384 polls, or the kernel allows no more; SKUA_ENOMEM;
// SKUA_ENOFILE.
// Cost: a system call to start, one to stop, and one in each turn for all that are ready.
SKUA_API SKUA_NODISCARD skua_status skua_poll_start(skua_worker *worker, int fd, unsigned events,
                                                    skua_poll_fn *fn, void *user, skua_poll *poll);

// Changes the events that a poll waits for. It may be called from inside its fn.
// events: as for skua_poll_start.
// Errors: SKUA_ECLOSED the poll is over, its descriptor was closed, or poll is {0}; SKUA_ENOMEM,
// with kqueue only: the poll is unchanged.
// Thread: the poll's worker; for a poll that is over, any.
SKUA_API skua_status skua_poll_change(skua_poll poll, unsigned events);

// Stops a poll: its fn is not called any more, and fd may be closed. It may be called from inside
// fn.
// Returns: whether fn could have been called. False, and nothing happens, when the poll was stopped
// before, was for once and has been called (inside that call, too), or its worker has ended, and
// for {0}.
// Thread: the poll's worker; for a poll that is over, any.
SKUA_API bool skua_poll_stop(skua_poll poll);

// ---- Helper threads ---------------------------------------------------------------------------

// Runs work on a helper thread, and then done on the worker, once each. For functions that may
// block. work must not use requests. done is called even when the request is gone that started it.
// A request whose callback called this is not ended because its client sends no more (FIN) until
// done has returned.
// Errors: SKUA_ELIMIT 1024 calls are queued already; SKUA_ENOMEM; neither function is called then.
SKUA_API SKUA_NODISCARD skua_status skua_offload(skua_worker *worker, void (*work)(void *user),
                                                 void (*done)(skua_worker *worker, void *user),
                                                 void *user);

// Called with the request that skua_request_offload was called for; NULL when it has ended
// meanwhile, so that the function can only free what user points to.
typedef void skua_offloaded_fn(skua_request *request, void *user);

// Runs work on a helper thread, and then done on the request's worker, once each: skua_offload for
// a request. In done a handler responds, and middleware's before calls skua_next. The request is
// held until then.
// Errors: those of skua_offload; SKUA_ECLOSED the request has ended; neither function is called
// then.
SKUA_API SKUA_NODISCARD skua_status skua_request_offload(skua_request *request,
                                                         void (*work)(void *user),
                                                         skua_offloaded_fn *done, void *user);

// ---- Threads ----------------------------------------------------------------------------------

// A handler that has to wait does so in one of two ways, and neither can use a request that is
// gone. It takes a ticket and returns, and any thread calls skua_resume later. Or its route is a
// blocking one, and the handler runs on a pool thread that may wait.

// A handle of a request that will be answered later. A plain value: copy it, keep it, pass it to
// threads; {0} is none. It never dangles: after the end of the request, or of the server, it is
// refused.
typedef struct skua_ticket {
    uint64_t value;
} skua_ticket;

// Takes a ticket for a request. A request may have any number of tickets, and none has to be given
// back.
// ticket: receives the ticket.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT there are 16,777,088 tickets of living requests in this process.
// Thread: owning worker.  Cost: no lock, and no allocation unless more tickets are in use than ever
// before.
SKUA_API SKUA_NODISCARD skua_status skua_ticket_take(skua_request *request, skua_ticket *ticket);

// Continues with a request, on its worker. request: NULL if it is gone: its client has left (see
// skua_config.half_close), its connection has died, handler_timeout_ns has passed, or the server
// was stopped.
typedef void skua_resume_fn(skua_request *request, void *user);

// Calls fn once on the worker of the ticket's request, later; on that worker, never before this
// returns. A ticket can be resumed once.
// Returns: SKUA_OK, and then fn runs exactly once, also while the server stops. On an error fn
// never runs.
// Errors: SKUA_ESTATE the ticket has been resumed; SKUA_ECLOSED the request, or the server, is
// gone, or the ticket is {0}. A ticket that was resumed and whose request is gone too gives
// SKUA_ECLOSED.
// Thread: any; of several calls at once, one succeeds.  Cost: a compare-exchange and a wake-up,
// which cannot fail.
SKUA_API SKUA_NODISCARD skua_status skua_resume(skua_ticket ticket, skua_resume_fn *fn, void *user);

// Runs fn on worker number index. Functions posted by one thread run in the order of posting.
// Returns: SKUA_OK, and then fn runs exactly once, also while the server stops. On an error it
// never runs.
// Errors: SKUA_ENOMEM; SKUA_EINVAL there is no such worker; SKUA_ECLOSED the server does not run,
// or that worker has ended.
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_post(skua_server *server, unsigned index,
                                              void (*fn)(skua_worker *worker, void *user),
                                              void *user);

// Sends requests that match pattern to a handler that may wait; otherwise like skua_route. The
// content is collected first, at most skua_config.content_octets_max or the route's own limit
// (skua_route_add) [413], and then the handler is called on a thread of the server's pool. Up to
// blocking_threads handlers run at a time, and blocking_queue_max requests wait [503].
// The handler responds like any other. The response is sent when the handler has returned, but
// content that it writes (skua_respond_stream, skua_events_open) is sent at once. skua_write waits
// there while more than 65536 octets have not been taken, so it never fails with SKUA_ELIMIT;
// drained is NULL. A handler that gives no response causes 500 and a line in the log.
// The request, and everything read from it, stays until the handler returns, whatever happens to
// the peer, and on_end waits for it. The handler may call functions whose Thread line names the
// pool, and functions that read the request or respond. What they say of the connection was true
// when the handler was called. Functions for the worker only stop the process: those that lead to
// the worker's objects (connection, files, prepared responses, tickets, holds), that read content
// piece by piece, and skua_respond_pull, skua_upgrade and skua_inform.
// A request that is gone before a thread is free is not handled. skua_stop does not end a handler:
// when the grace period is over it logs how many still run, and skua_wait and skua_server_free wait
// for them.
// Errors: those of skua_route.
SKUA_API SKUA_NODISCARD skua_status skua_route_blocking(skua_server *server, const char *pattern,
                                                        skua_handler *handler, void *user);

// ---- Connections ------------------------------------------------------------------------------

// A connection is valid from skua_config.on_connect until on_close has returned, on its worker.

// Writes the address of the connection's other end, in the form of skua_request_peer. Behind a
// proxy that is the proxy's address, but with SKUA_FORWARDED_PROXY the client's, as the header
// states it.
SKUA_API size_t skua_connection_peer(const skua_connection *connection, char *text, size_t room);

// Returns the connection's number, from 1, among all that the server has accepted since its start;
// numbers of worker i begin at i << 48.
SKUA_API uint64_t skua_connection_id(const skua_connection *connection);

// Returns the worker that a connection belongs to.
SKUA_API skua_worker *skua_connection_worker(const skua_connection *connection);

// Keeps a pointer of the program's with the connection; returns it. It is NULL at first.
SKUA_API void skua_connection_set(skua_connection *connection, void *object);
SKUA_API void *skua_connection_get(const skua_connection *connection);

// ---- WebSocket --------------------------------------------------------------------------------

// WebSockets are served over HTTP/1.1 and HTTP/2 (extended CONNECT, where skua_config.http2.tunnels
// is set), in the clear and over TLS. If the library is compiled with SKUA_NO_WEBSOCKET,
// skua_websocket fails with SKUA_EUNSUPPORTED.

// A WebSocket that a client has opened. A plain value: copy it, keep it, pass it to threads; {0} is
// none. It never dangles: once the socket is closed, functions refuse it.
typedef struct skua_socket {
    uint64_t value;
} skua_socket;

// The treatment of a message when the queue of a slow reader has no room for it.
typedef enum skua_websocket_slow {
    // It is refused (SKUA_ELIMIT); drain is called when there is room. While more than half of the
    // queue is in use, nothing is read from the client, so that an answer of at most half a queue
    // always has room.
    SKUA_WEBSOCKET_WAIT = 0,
    SKUA_WEBSOCKET_DROP, // it is dropped, and counted in the log's line
    // the socket is closed with code 1008
    SKUA_WEBSOCKET_CLOSE
} skua_websocket_slow;

// The events of a message that is received piece by piece.
typedef enum skua_message_event {
    SKUA_MESSAGE_BEGIN, // its first frame has begun; octets is empty
    SKUA_MESSAGE_DATA,  // octets of the message have arrived
    // it is complete; octets is empty. If it never is, close is called instead
    SKUA_MESSAGE_END
} skua_message_event;

// Compression of the messages of a socket (permessage-deflate), for clients that offer it. The
// library must be compiled with SKUA_ZLIB; otherwise skua_websocket fails with SKUA_EUNSUPPORTED.
// Do not compress messages that hold a secret beside text from the client: the compressed length
// reveals the secret to eavesdroppers (CRIME, BREACH).
typedef enum skua_websocket_deflate {
    SKUA_WEBSOCKET_DEFLATE_OFF = 0, // nothing is compressed
    // Each message is compressed by itself (no context takeover), in memory of the worker; a socket
    // needs no memory of its own. A publication is compressed once for many sockets.
    SKUA_WEBSOCKET_DEFLATE_SHARED,
    // Each message is compressed together with those before it, with a window of
    // deflate_window_bits for each socket and direction. That saves most for short, similar
    // messages. For a client that does not accept such a window, each message is compressed without
    // one.
    SKUA_WEBSOCKET_DEFLATE_DEDICATED
} skua_websocket_deflate;

// How the sockets of a route are served. Zero means default, for every member. Copied during the
// call. Functions are called on the socket's worker, one at a time for each socket; each may be
// NULL.
typedef struct skua_websocket_desc {
    // The socket is open; the server may send first. request: the request that opened the socket.
    // It, and everything read from it, is valid during the call; with keeps_request as long as the
    // socket. The program keeps what it needs later in an object of its own: skua_socket_set.
    void (*open)(skua_socket socket, skua_request *request, void *user);
    // A whole message has arrived. message: UTF-8 if it is text; valid during the call.
    void (*message)(skua_socket socket, skua_slice message, bool text, void *user);
    // There is room again, after a send was refused with SKUA_ELIMIT.
    void (*drain)(skua_socket socket, void *user);
    // The socket is closed. Called once, last, for each socket that was open. code: as the peer or
    // this side sent it; 1005: the close had none; 1006: no close was received. reason: UTF-8,
    // valid during the call.
    void (*close)(skua_socket socket, unsigned code, skua_slice reason, void *user);
    void *user;
    // Subprotocols, separated by spaces, the preferred one first. The first one that the client
    // offers is selected.
    const char *protocols;
    // Origins of pages that may open sockets, "https://example.org", separated by spaces; "*": all.
    // Others are answered 403. Default: the host and port of the request, with the scheme if it
    // came over TLS. Clients that send no Origin, which are not browsers, are always allowed.
    const char *origins;
    skua_websocket_slow slow; // default SKUA_WEBSOCKET_WAIT
    // octets of a message that arrives, after decompression; default 1 MiB [close 1009]. A message
    // that arrives slower than skua_config.rate_octets_min over rate_window_ns closes the socket
    // [1008]
    uint64_t message_octets_max;
    // octets queued for a socket; default skua_config.out_octets_max, or half of that and
    // message_octets_max, whichever is more (without receive). Octets beyond out_octets_max are
    // accepted as long as fewer than those are queued. Messages of other threads that wait for room
    // take as much again, or four times as much where slow is not SKUA_WEBSOCKET_WAIT
    uint64_t queued_octets_max;
    unsigned fragments_max; // frames of a message that arrives; default 1024 [close 1008]
    // messages and control frames that arrive in a second; default 10,000 [close 1008]
    unsigned messages_per_second_max;
    // silence after which a ping is sent; default 30 s; below 0: never
    int64_t ping_ns;
    // silence after which the client is gone; default 90 s; below 0: never
    int64_t idle_timeout_ns;
    int64_t close_timeout_ns; // wait for the peer's close after ours was sent; default 5 s
    // Decides about an Origin that origins does not allow, which may be "null". Called before the
    // socket opens, only for a request with exactly one Origin. False: 403. Default: such origins
    // are refused.
    bool (*origin)(skua_request *request, skua_slice origin, void *user);
    // how long a socket stays open at most [close 1001]; default: no limit
    int64_t lifetime_ns;
    // Takes messages piece by piece, in place of message, so that they need not fit in memory.
    // octets: valid during the call. Those of a text are UTF-8, checked as they arrive, and may
    // begin or end within a character. Give them back by skua_socket_consume: the socket is not
    // read while skua_config.content_window_octets have not been given back.
    // With receive, message_octets_max and fragments_max have no default, and each frame counts in
    // messages_per_second_max.
    void (*receive)(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                    void *user);
    // Serves the socket in place of all other functions but origin, on a thread of the server's
    // pool that may wait, by skua_socket_receive and by sending, which waits for room whatever slow
    // says. The socket is closed when it returns [1000]. request: as in a handler of
    // skua_route_blocking, but without responding. At most half of blocking_threads serve sockets;
    // a client that asks for one more is answered 503. After skua_stop, or when the client leaves,
    // the functions that it waits in fail with SKUA_ECLOSED.
    void (*blocking)(skua_socket socket, skua_request *request, void *user);
    // default SKUA_WEBSOCKET_DEFLATE_OFF. receive is called with decompressed octets, in a turn
    // only as many as leave time for others; those octets are given back. Messages sent by
    // skua_socket_begin are compressed as well, piece by piece.
    skua_websocket_deflate deflate;
    // base-2 logarithm of a dedicated window, 9 to 15; default 12. From its first compressed
    // message on, a socket holds about 9 << bits octets and 16 KiB in each direction
    unsigned deflate_window_bits;
    // shorter messages are not compressed, except those of skua_socket_begin; default 128
    size_t deflate_octets_min;
    // octets for the dedicated windows of all sockets of this route, each counted from its
    // handshake on. A socket for which none are left is opened without compression. Default: a
    // quarter of skua_config.memory_max
    size_t deflate_memory_max;
    // This side has begun to close the socket, for whatever reason: no message arrives or is sent
    // any more. close is called after it, when the client has answered or close_timeout_ns has
    // passed. closing is called in a later turn than the call that closes; it is not called if the
    // client has closed or left by then. code, reason: of this side's close; reason is valid during
    // the call.
    void (*closing)(skua_socket socket, unsigned code, skua_slice reason, void *user);
    // Keeps the request as long as the socket, for skua_socket_request. Such a socket takes about
    // 5 KiB while nothing is under way, and others about 256 octets beside their connection. A
    // socket takes the 5 KiB also if the program holds its request, or has given that objects,
    // tickets or a function for its end, also by middleware. Default false: the request is freed
    // after open.
    bool keeps_request;
} skua_websocket_desc;

// Serves WebSockets at pattern. Middleware runs first, and refuses by ordinary responses. A request
// that is not a valid opening handshake is answered 400, 403 (Origin), 405 (HEAD) or 426 (another
// version, or no upgrade); after skua_stop 503. Before skua_start.
// pattern: as for skua_route, with method GET: "GET /live/{room}".
// Errors: those of skua_route; SKUA_EINVAL also for another method, malformed protocols or origins,
// or a window out of range (skua_server_error says more); SKUA_EUNSUPPORTED.
// Spec: RFC 6455, RFC 7692, RFC 8441
SKUA_SIZED SKUA_NODISCARD skua_status skua_websocket(skua_server *server, const char *pattern,
                                                     const skua_websocket_desc *desc);

// Serves WebSockets like skua_websocket, for the requests of a site; the server may run. A socket
// keeps the site in which it was opened.
// Errors: those of skua_websocket but SKUA_ESTATE; skua_site_error says more.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_websocket(skua_site *site, const char *pattern,
                                                          const skua_websocket_desc *desc);

// Sends a message, text or binary, as a whole or not at all. It leaves at the end of the turn.
// Messages of one thread keep their order. On other threads than the socket's worker the message is
// copied and passed to the worker; SKUA_OK then means that it is on its way. In the socket's
// blocking function the call waits for room.
// message: copied; text must be UTF-8.
// Errors: SKUA_ECLOSED the socket is closed, or its closing has begun, or this message left in part
// and memory ran out for the rest, which closes the connection; SKUA_ESTATE the worker calls this
// while a message of skua_socket_begin is being sent; SKUA_ELIMIT too much is queued and
// skua_websocket_desc.slow is SKUA_WEBSOCKET_WAIT, or a thread sends faster than the worker;
// SKUA_EINVAL the text is not UTF-8, or the message is longer than queued_octets_max; SKUA_ENOMEM.
// Thread: any.
// Cost: up to 8 KiB one copy and no allocation (4 KiB where messages are compressed); on another
// thread an allocation and a wake-up.
SKUA_API SKUA_NODISCARD skua_status skua_socket_text(skua_socket socket, skua_slice message);
SKUA_API SKUA_NODISCARD skua_status skua_socket_binary(skua_socket socket, skua_slice message);

// Begins a message that is sent piece by piece, because its length is not known yet. Then
// skua_socket_write sends pieces, each as a frame, and skua_socket_end ends the message. Pings and
// the close may be sent between the pieces; messages of other threads and of topics wait for the
// end. If the socket closes before the end, the client does not get the rest.
// Errors: SKUA_ESTATE another message is being sent piece by piece; SKUA_ECLOSED as for
// skua_socket_text.
// Thread: the socket's worker.  Spec: RFC 6455 §5.4
SKUA_API SKUA_NODISCARD skua_status skua_socket_begin(skua_socket socket, bool text);

// Sends a piece of the message as a whole or not at all. An empty piece sends nothing. All pieces
// of a text together must be UTF-8; a piece may end within a character.
// octets: copied.
// Errors: SKUA_ELIMIT too much is queued; drain is called when there is room. Pieces are never
// dropped: with SKUA_WEBSOCKET_DROP this fails with SKUA_ELIMIT as well, and with
// SKUA_WEBSOCKET_CLOSE the socket is closed: SKUA_ECLOSED. SKUA_EINVAL the text is not UTF-8, or
// the piece is longer than queued_octets_max; SKUA_ESTATE no message has been begun; SKUA_ECLOSED;
// SKUA_ENOMEM.
// Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_write(skua_socket socket, skua_slice octets);

// Ends the message that skua_socket_begin began.
// Errors: those of skua_socket_write; SKUA_EINVAL the text would end within a character: the
// message goes on then; SKUA_ELIMIT only if no piece has been written.
// Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_end(skua_socket socket);

// Gives back n octets that skua_websocket_desc.receive was called with: at most as many as it has
// not given back yet. It does nothing when the socket is closed.
// Thread: the socket's worker.
SKUA_API void skua_socket_consume(skua_socket socket, size_t n);

// Stops receiving messages of a socket, for a program that has no room for more. The client is not
// read, so what it sends waits in its own queues. message and receive are not called before
// skua_socket_resume, whatever has arrived. A close from the client is not seen, and its silence
// does not count. Sending, and a close by this side, go on. It does nothing when the socket is
// closed.
// Thread: the socket's worker.
SKUA_API void skua_socket_pause(skua_socket socket);

// Continues to receive messages. Messages that wait are delivered in a later turn, none inside this
// call.
// Thread: the socket's worker.
SKUA_API void skua_socket_resume(skua_socket socket);

// A message that skua_socket_receive has received.
typedef struct skua_message {
    skua_slice octets;
    bool text;
    unsigned code; // of a close, whose reason octets then has
} skua_message;

// Waits for the next message of a socket, in its blocking function. Messages that arrived before a
// close are received before it.
// timeout_ns: how long to wait, in nanoseconds; below 0: as long as the socket is open.
// message: filled in; its octets are valid until the next call, or until the blocking function
// returns.
// Errors: SKUA_ENOENT no message arrived in time; SKUA_ECLOSED the socket is closed, or its closing
// has begun: message has the code and the reason that skua_websocket_desc.close would get.
// Thread: the one that the socket's blocking function runs on.
SKUA_SIZED SKUA_NODISCARD skua_status skua_socket_receive(skua_socket socket, int64_t timeout_ns,
                                                          skua_message *message);

// Closes a socket: messages sent before leave first, then the close. desc.close is called when the
// peer has answered, or after close_timeout_ns. Messages that arrive meanwhile are dropped.
// Messages that other threads have sent, and that have not reached the worker, are dropped too, and
// counted in the log's line.
// code: 1000 to 1003, 1007 to 1014, 3000 to 4999; 0 for 1000. reason: UTF-8, copied, cut at 123
// octets.
// Errors: SKUA_ECLOSED closed, or closing; SKUA_EINVAL another code, or a reason that is not UTF-8;
// SKUA_ENOMEM.
// Thread: any.  Spec: RFC 6455 §7
SKUA_API skua_status skua_socket_close(skua_socket socket, unsigned code, skua_slice reason);

// Returns the request that opened the socket, with its fields, parameters and objects. NULL after
// open unless skua_websocket_desc.keeps_request is set, and when the socket is closed, but not yet
// in close. Its tunnel belongs to the socket: skua_write, skua_finish and skua_content_read fail
// with SKUA_ESTATE.
// Thread: the socket's worker.
SKUA_API skua_request *skua_socket_request(skua_socket socket);

// Returns the subprotocol that was selected; empty when there is none, or the socket is closed.
// Lifetime: that of the server.  Thread: the socket's worker.
SKUA_API skua_slice skua_socket_protocol(skua_socket socket);

// Keeps a pointer of the program's with the socket, in place of the one before; NULL at first.
// Errors: SKUA_ECLOSED the socket is closed. In close it is not yet: what the pointer points to is
// to be freed there.
// Thread: the socket's worker.
SKUA_API skua_status skua_socket_set(skua_socket socket, void *object);

// Returns the pointer that skua_socket_set has kept; NULL when there is none, or the socket is
// closed.
// Thread: the socket's worker.  Cost: that of a look-up, whatever the socket is doing.
SKUA_API void *skua_socket_get(skua_socket socket);

// ---- Topics -----------------------------------------------------------------------------------

// A message published under a topic is sent to all WebSockets and event streams that have joined
// the topic, on every worker of the server. A topic is a name; it exists as long as somebody has
// joined it.

// A message for a topic. Zero means none, for every member.
typedef struct skua_publication {
    skua_slice octets; // the message; UTF-8 text unless binary is set
    bool binary;       // a binary message for WebSockets; event streams do not get it
    // for event streams, the event's type; without it "message". Not with binary
    skua_slice event;
    // for event streams: kept by the client for Last-Event-ID. Not with binary
    skua_slice id;
    // a socket that does not get the message, for example the sender's
    skua_socket except;
} skua_publication;

// Joins an event stream or a WebSocket to a topic, until it ends or leaves. Joining twice is the
// same as joining once.
// request: one begun by skua_events_open, or a socket's. topic: 1 to 255 octets, copied.
// Errors: SKUA_EINVAL another length; SKUA_ELIMIT it has joined 1024 topics; SKUA_ESTATE the
// request is neither; SKUA_ENOMEM also while nine tenths of memory_max are in use; SKUA_ECLOSED it
// has ended.
// Thread: the request's worker.
SKUA_API SKUA_NODISCARD skua_status skua_topic_join(skua_request *request, skua_slice topic);

// Joins a socket to a topic, as skua_topic_join does.
// Errors: SKUA_ECLOSED also when the socket is closed.  Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_join(skua_socket socket, skua_slice topic);

// Leave a topic. Messages published before may still arrive.
// Errors: SKUA_ENOENT it has not joined the topic; SKUA_ECLOSED the socket is closed.  Thread: the
// worker's.
SKUA_API skua_status skua_topic_leave(skua_request *request, skua_slice topic);
SKUA_API skua_status skua_socket_leave(skua_socket socket, skua_slice topic);

// Publishes a message to all that have joined the topic. Each reader gets the publications of one
// thread in their order. There is no order between publications and other messages to the reader.
// For a slow WebSocket, skua_websocket_desc.slow decides. With SKUA_WEBSOCKET_WAIT, messages wait
// at the worker as long as there is room there; then the socket is closed with code 1008. An event
// stream whose queue is full is ended; its client connects again and sends Last-Event-ID. A message
// that does not even fit in an empty queue counts as too much for its reader, so it must fit in
// skua_websocket_desc.queued_octets_max and skua_config.out_octets_max.
// topic: 1 to 255 octets. publication: copied.
// Errors: SKUA_EINVAL another length of topic; a text that is not UTF-8; CR, LF or NUL in event or
// id, or either of them with binary; more than 16 MiB together with topic, event and id.
// SKUA_ELIMIT 16 MiB of publications are on their way to the workers; SKUA_ENOMEM; SKUA_ECLOSED the
// server does not run. Nobody gets the message then.
// Thread: any.
// Cost: one copy, whatever the number of readers, and one message between threads for each worker
// with readers; a slow socket whose messages wait takes a copy of its own.
SKUA_SIZED SKUA_NODISCARD skua_status skua_topic_publish(skua_server *server, skua_slice topic,
                                                         const skua_publication *publication);

// How topics are carried to the servers of other machines. Zero means default, for every member but
// url. Copied during the call.
typedef struct skua_topic_bridge_desc {
    // Address of the store, Redis 6.2 or later or Valkey:
    // "redis://[[user]:password@]host[:port][/database]", with port 6379 by default, or
    // "unix://[[user]:password@]/path[?db=database]". User, password and path may be
    // percent-encoded.
    const char *url;
    // key of the Redis stream, at most 512 octets; default "skua:topics"
    const char *stream;
    uint64_t retained_max; // entries that the store keeps, or a few more; default 10,000
    // octets of publications that the store has not taken yet, with 200 octets added for each;
    // default 16 MiB. Beyond it the oldest are dropped, and readers on other machines are told of a
    // gap
    uint64_t waiting_octets_max;
    // octets of a publication; default 1 MiB, at most 8 MiB [SKUA_EINVAL]
    uint64_t message_octets_max;
    // Text sent to WebSockets that have joined any topic when publications of other machines are
    // missing; at most 4096 octets. Default: none; only event streams are told, by an event "gap"
    // with the data "gap".
    const char *gap_text;
    // Called at such a gap, on worker 0; may be NULL.
    void (*gap)(skua_server *server, void *user);
    void *user;
} skua_topic_bridge_desc;

// Carries topics between all servers that have a bridge to the same stream of the same store.
// Before skua_start; one bridge for each server. Each reader gets each publication once, and those
// of one thread in their order. Readers on the publisher's own server get it at once, without the
// store.
// While the store is away, the log says so, and publications reach the readers of their own server;
// readers of other servers get them when the store is back. Publications that cannot be delivered
// then are a gap: more than retained_max came meanwhile, waiting_octets_max was exceeded, or the
// store has lost its data. All readers are told of a gap.
// A helper thread looks up the host name in url.
// Errors: SKUA_EINVAL url is malformed, or a member is out of range (skua_server_error says which);
// SKUA_EEXIST the server has a bridge; SKUA_ENOMEM; SKUA_ESTATE the server has been started;
// SKUA_EUNSUPPORTED the library was built without SKUA_REDIS.
SKUA_SIZED SKUA_NODISCARD skua_status skua_topic_bridge(skua_server *server,
                                                        const skua_topic_bridge_desc *desc);

// ---- Serving a directory ----------------------------------------------------------------------

// How entity tags of files are made. Last-Modified is sent in each case.
typedef enum skua_etags {
    // files of at most 32768 octets: a hash of the content; larger files: size and time of
    // modification, weak for two seconds after a change
    SKUA_ETAGS_AUTO,
    SKUA_ETAGS_STAT, // all files: size and time of modification
    SKUA_ETAGS_OFF,  // no entity tags
    // all files: a hash of the content, so that machines agree whatever the times of their files.
    // Helper threads hash a file of more than 32768 octets when it is first asked for, and the
    // request waits. The tags of 4096 files are kept as long as their times and sizes stay the
    // same. A tag is weak for two seconds after a change. A file that changes while it is hashed,
    // or is asked for while 64 files are being hashed, is sent without a tag
    SKUA_ETAGS_CONTENT
} skua_etags;

enum { SKUA_FILE_ETAG_OCTETS = 56 };

// Writes the entity tag that skua_route_directory gives a file by SKUA_ETAGS_AUTO, for programs
// that change files and evaluate If-Match by skua_etag.
// content: all of a file of at most 32768 octets; ignored for larger files. unix_ns: the present
// time, in nanoseconds since 1970. etag: receives the tag and a NUL.
// Returns: its length, or 0: the file has no tag, because its times are not plausible.  Thread:
// any.
SKUA_SIZED size_t skua_file_etag(const skua_file_info *info, skua_slice content, int64_t unix_ns,
                                 char etag[SKUA_FILE_ETAG_OCTETS]);

// The hash for an entity tag of content that comes in pieces. The tag is the one that
// SKUA_ETAGS_CONTENT gives to a file with this content. It starts as { 0 }.
typedef struct skua_etag_hash {
    uint64_t state[5]; // all members belong to the library
    char rest[8];
    unsigned char rest_len;
} skua_etag_hash;

// Adds the next octets, any number of them.
// Thread: any, one at a time for each hash.
SKUA_API void skua_etag_hash_add(skua_etag_hash *hash, skua_slice octets);

// Writes the strong entity tag of everything that was added. Nothing may be added after it.
// Returns: its length.  Thread: any, one at a time for each hash.
SKUA_API size_t skua_etag_hash_end(skua_etag_hash *hash, char etag[SKUA_FILE_ETAG_OCTETS]);

// The media type of files whose names have a given ending.
typedef struct skua_media {
    const char *ending; // ".md", compared without regard to the case of ASCII
    const char *type;   // "text/markdown; charset=utf-8"
} skua_media;

// Decides about a file that is about to be sent, as a whole, in part, or as 304 or 412. It may add
// fields by skua_field_add. It is called once for a response, and not for redirects, listings and
// error pages.
// path: beneath the directory, "docs/index.html", of the file itself where a compressed one beside
// it is sent; valid during the call. info: of the file that is sent.
// Returns: 0: the file is sent; 400 to 599: that error is the response; -1: the function has
// responded, or will.
// Thread: the request's worker; several workers call it at once. It must not block.
typedef int skua_file_decide_fn(skua_request *request, skua_slice path, const skua_file_info *info,
                                void *user);

// A directory that is served. It lives as long as the server or the site that serves it.
typedef struct skua_directory skua_directory;

// How a directory is served. Zero means default, for every member. Strings are copied.
typedef struct skua_directory_config {
    // respond with a listing for directories without an index: a page, or JSON when Accept asks for
    // application/json
    bool list;
    // serve names that begin with "."; /.well-known/ is always served
    bool dotfiles;
    const char *index;         // default "index.html"
    const char *cache_control; // value of Cache-Control; default none
    // content of small and of compressed files kept, per worker; default 16 MiB
    size_t cache_octets_max;
    // files kept open, per worker; default 1024, fewer when descriptors are scarce
    unsigned cache_entries_max;
    // the largest file whose content is kept in memory; default 32768. With this default, files of
    // up to 65536 octets, and over TLS of up to 131072, are kept in memory as well while they are
    // often asked for
    size_t small_octets_max;
    // ranges of a request; more are answered by the whole file; default 16, at most 16
    unsigned ranges_max;
    // Additions to the pages of listings: HTML between the heading and the entries, not escaped,
    // and a script at the end of the page, which may load from the page's own origin.
    // list_script_hash: of the script, in the form of Content-Security-Policy, "sha256-…". Default:
    // none
    const char *list_markup, *list_script, *list_script_hash;
    // octets of listings kept while clients read their pages, per worker; default 16 MiB. For a
    // listing that is not kept, the directory is read again
    size_t listings_octets_max;
    // symbolic links that are followed; default SKUA_LINKS_INSIDE
    skua_links links;
    // Path below the directory of a file that is sent, with 200, for paths that are not found and
    // have no "." in their last segment: "index.html" of a single-page application. Default none
    const char *fallback;
    // Path below the directory of the page that is sent with 404; default "404.html", if it exists;
    // "": none
    const char *not_found;
    // "/about" is answered by "about.html", even if there is a directory "about"
    bool clean_urls;
    // Serves the compressed file beside a file, "app.js.br", "app.js.zst" or "app.js.gz", to
    // clients that accept it, unless it is older than the file. Each has its own entity tag and
    // ranges
    bool precompressed;
    // Compresses text for clients that accept it: once for each version of a file of 512 octets to
    // 8 MiB, by helper threads, with SKUA_EFFORT_KEPT. The first request waits for it, unless 8
    // files are being compressed; then the file is sent uncompressed, and so are parts of files,
    // and files that have just changed. A compressed response has a weak entity tag of its own, and
    // no ranges. The result is kept in memory, shared by the workers, within cache_octets_max of
    // each, and counts in skua_config.memory_max
    bool compress;
    // Codings of precompressed and compress, separated by spaces; of those that a client prefers
    // equally the first counts. Default "br zstd gzip", as far as they are built in. A client that refuses an
    // uncompressed file ("identity;q=0") and accepts none of the available codings gets 406
    const char *codings;
    // Media types that take precedence over skua_media_type; of several that match a name the first
    // counts. Copied. Default: none
    const skua_media *types;
    size_t types_count; // at most 64
    skua_etags etags;   // default SKUA_ETAGS_AUTO
    // Called for each file before it is sent. Default: none; all are sent
    skua_file_decide_fn *decide;
    void *decide_user; // user of decide
    const char *name;  // name of its route; see skua_route_desc
    // Paths below the directory that are tried in order when a path is not found, before fallback.
    // Each may contain "{path}" once, which stands for the requested path without a "/" at its end:
    // "{path}.html". Default: none
    const char *const *tries;
    size_t tries_count; // at most 16
    // receives the directory, for skua_directory_serve; default NULL
    skua_directory **opened;
    // Returns what list_markup is for the page at path, the request's, which ends with "/": HTML, copied, or NULL for
    // none. Default: list_markup for all.
    // Thread: the request's worker; several call at once. It must not wait
    const char *(*list_markup_of)(skua_slice path, void *user);
    void *list_markup_user;
} skua_directory_config;

// Serves the files below path at pattern, for GET and HEAD. The request's path after pattern is
// looked up beneath the directory. A request for pattern without its final "/" is redirected there,
// unless that path has a route of its own by then. Before skua_start.
// pattern: ends in "/": "/", "GET /docs/". path: of the directory. config: NULL for the defaults.
// Errors: those of skua_route and skua_root_open; skua_server_error says more.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_directory(skua_server *server, const char *pattern,
                                                           const char *path,
                                                           const skua_directory_config *config);

// Serves a directory like skua_route_directory, for the requests of a site. The directory is closed
// when the site is freed.
// Errors: those of skua_route_directory; skua_site_error says more.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_directory(skua_site *site, const char *pattern,
                                                          const char *path,
                                                          const skua_directory_config *config);

// Responds with the file or directory that name names, as to a request for it, with everything that
// the directory's config says. For a directory that is named without a "/" at its end, the client
// is redirected to the request's own path with one.
// request: of GET or HEAD; others are answered 405. directory: of the request's server, from
// skua_directory_config.opened. name: beneath the directory, decoded, such as "docs/index.html";
// copied. A name that is not a path, or contains "." or ".." as a segment, is answered 404.
// Thread: owning worker.
SKUA_API void skua_directory_serve(skua_request *request, skua_directory *directory,
                                   skua_slice name);

// How one file is served. Zero means default, for every member. Everything is copied.
typedef struct skua_serve_desc {
    const char *type;          // default: as skua_route_directory finds it, by name and content
    const char *cache_control; // value of Cache-Control; default none
    skua_etags etags;          // default SKUA_ETAGS_AUTO
    // also serves paths with a name that begins with "."; default false: 404
    bool dotfiles;
    bool precompressed; // as skua_directory_config.precompressed
    // As skua_directory_config.compress. Compressed content is kept for other requests, up to 16
    // MiB of each worker
    bool compress;
} skua_serve_desc;

// Responds with the file root/path, during the call or later, as a directory does: with its media
// type, an entity tag and Last-Modified; with 304 and 412 for preconditions; with up to 16 ranges;
// and, if desc says so, in a coding that the client accepts. A path that is not a readable file is
// answered 404 or 403; if memory or descriptors ran out, 503. The handler does nothing more with
// the request. Fields added before are sent with the file.
// root: must stay until the request has ended. path: as for skua_file_open; copied. It may come
// from the client, because it cannot lead out of root. desc: NULL for the defaults.
// Cost: the file is opened, and read up to 32768 octets, for each request; skua_route_directory
// caches files.
// Thread: owning worker.  Spec: RFC 9110 §13, §14
SKUA_SIZED void skua_serve_file(skua_request *request, skua_root *root, skua_slice path,
                                const skua_serve_desc *desc);

// ---- Files inside the program -----------------------------------------------------------------

// A file that is embedded in the program when it is built. skua embed FOLDER > assets.h writes a
// header that defines a skua_assets, and so does skua_assets(target folder) in CMake. Everything
// that it points to must stay.
typedef struct skua_asset {
    const char *path; // "css/style.css"
    // media type; NULL: found by its name and the beginning of its content
    const char *type;
    const char *etag; // strong, with its quotes, made from the content; NULL: none
    skua_slice content;
    // the content in a coding; empty: that coding does not make it shorter
    skua_slice br, zstd, gzip;
    int64_t modified; // for Last-Modified, in seconds since 1970; 0: none
} skua_asset;

// The files embedded in a program.
typedef struct skua_assets {
    const skua_asset *list; // sorted by path, octet by octet
    size_t count;
    size_t asset_octets; // sizeof(skua_asset)
} skua_assets;

// How embedded files are served. Zero means default, for every member. Strings are copied. Members
// are as in skua_directory_config.
typedef struct skua_assets_config {
    const char *index;         // default "index.html"
    const char *cache_control; // default none
    const char *fallback;      // default none
    const char *not_found;     // default "404.html", if it exists; "": none
    const char *name;          // name of their route; see skua_route_desc
} skua_assets_config;

// Serves embedded files at pattern, as skua_route_directory serves files: GET and HEAD,
// preconditions, ranges, codings, redirects and pages. Before skua_start.
// assets: must stay until the server is freed. config: NULL for the defaults.
// Errors: those of skua_route; SKUA_EINVAL also if the list is not sorted.  Cost: content is not
// copied.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_assets(skua_server *server, const char *pattern,
                                                        const skua_assets *assets,
                                                        const skua_assets_config *config);

// Serves embedded files like skua_route_assets, for the requests of a site.
// Errors: those of skua_route_assets but SKUA_ESTATE; skua_site_error says more.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_assets(skua_site *site, const char *pattern,
                                                       const skua_assets *assets,
                                                       const skua_assets_config *config);

// ---- Types of files ---------------------------------------------------------------------------

// Returns the media type for a file name by its ending, or by the whole name ("Makefile"), with
// "; charset=utf-8" for text; "application/octet-stream" when unknown. For an unknown name
// skua_route_directory also looks at the content: what begins as UTF-8 text is text/plain, and
// ".ts" files that do not may be video/mp2t.
// Thread: any.
SKUA_API const char *skua_media_type(skua_slice name);

// ---- Statistics -------------------------------------------------------------------------------

// The number of classes of status codes (number 0 is for requests without a response), and of
// places in the histogram of durations.
enum { SKUA_STATS_CLASSES = 6, SKUA_STATS_DURATIONS = 51 };

// Counters of a server since it was made, over all of its runs; values of what is open or held are
// present values. A request is counted when its response has left, or when at most 16384 octets of
// it wait for the client. The values are read one after another, so they may differ by what happens
// meanwhile.
typedef struct skua_stats {
    uint64_t connections_accepted; // including refused ones
    uint64_t connections_refused;  // by connections_max, memory_max or on_connect
    uint64_t connections_open;
    uint64_t connections_max; // limit for all workers together
    uint64_t handshakes;      // TLS handshakes that were completed
    uint64_t handshakes_resumed;
    // octets that clients make the server hold; the limit is memory_max
    size_t memory_octets;
    size_t memory_max;
    uint64_t log_lines_lost;  // for lack of room
    uint64_t topics_carried;  // Publications carried by skua_topic_bridge: taken by the store
    uint64_t topics_dropped;  // dropped before the store took them
    uint64_t topics_received; // received from other servers
    uint64_t topics_ignored;  // entries of the stream that no bridge wrote
    uint64_t topics_gaps;     // gaps that readers were told of

    // All that follows is 0 without skua_config.stats.
    bool counts_requests; // skua_config.stats
    // Open connections by what they wait for; a connection with several requests counts by any of
    // them. This one: the end of the TLS handshake, or the header of a proxy
    uint64_t connections_shaking;
    uint64_t connections_idle;      // the next request
    uint64_t connections_receiving; // the rest of a head, or content
    uint64_t connections_handling;  // a handler
    uint64_t connections_sending;   // the client to take octets
    uint64_t connections_streaming; // anything, in event streams, tunnels and WebSockets
    uint64_t connections_closing;   // the client to close
    // Requests that have ended, by the class of their response's status: [2] is 200 to 299
    uint64_t responses[SKUA_STATS_CLASSES];
    // by class and duration, each at the first place whose skua_stats_bound_ns is not shorter
    uint64_t durations[SKUA_STATS_CLASSES][SKUA_STATS_DURATIONS];
    uint64_t duration_ns[SKUA_STATS_CLASSES]; // sum of durations, in nanoseconds
    uint64_t content_sent, content_received;  // octets
    // Requests whose response was not sent as a whole: the client has left; a deadline has passed;
    // other reasons.
    uint64_t requests_closed, requests_timed_out, requests_failed;
    // Requests that the server refused because of a limit: 414 and 431
    uint64_t refused_head;
    uint64_t refused_content; // 413
    uint64_t refused_slow;    // 408
    uint64_t refused_busy;    // 503

    // Caches of directories, of all workers, counted even without skua_config.stats. A hit was
    // answered from the cache; for a miss a file was read, or compressed. Evictions made room for
    // other entries, or freed memory or descriptors.
    uint64_t cache_hits, cache_misses, cache_evictions;
    uint64_t cache_entries, cache_octets; // at present
    // Files that the server compressed. Workers share the content, and each counts what it uses.
    uint64_t compressed_hits, compressed_misses, compressed_evictions;
    uint64_t compressed_entries, compressed_octets;
} skua_stats;

// Reads the statistics, whether the server runs or not.
// stats: filled in.  Thread: any.  Cost: about a thousand loads for each worker; nobody waits for
// it.
SKUA_SIZED void skua_server_stats(skua_server *server, skua_stats *stats);

// Returns the longest duration that is counted at place index of skua_stats.durations, in
// nanoseconds: 1, 1.5, 2, 2.5, 3.5, 5 and 7.5 us, the same times each power of ten, up to 10 s;
// INT64_MAX for the last place.
// Thread: any.
SKUA_API int64_t skua_stats_bound_ns(unsigned index);

// Returns a quantile of the durations, in nanoseconds: with 0.99, the duration that 99 of 100
// requests did not exceed. The result is exact to within half of its value; it is 10 s for anything
// longer, and 0 without requests.
// Thread: any.
SKUA_SIZED int64_t skua_stats_quantile_ns(const skua_stats *stats, double quantile);

// Writes statistics in the text format of Prometheus, with a NUL, as far as there is room.
// text: octets of room; may be NULL if octets is 0.
// Returns: the length of the whole text without the NUL; 20480 octets are always enough.
// Thread: any.  Spec: https://prometheus.io/docs/instrumenting/exposition_formats/
SKUA_SIZED size_t skua_stats_write(const skua_stats *stats, char *text, size_t octets);

// A handler that responds with the statistics of its server, as skua_stats_write writes them.
// Protect its route by a password, or serve it at an address of its own: the figures are not for
// the public. user: ignored.
SKUA_API void skua_respond_stats(skua_request *request, void *user);

// ---- Testing ----------------------------------------------------------------------------------

// Sends octets to a server that has not been started, as one client on a connection of its own, in
// this process and without a socket. The handlers, limits and deadlines are those of a real run. It
// returns everything that the server sent until it closed, or had answered all and waited for more.
//
//     skua_slice received;
//     if (skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &received) ==
//         SKUA_OK) {
//         assert(strstr(received.ptr, "200 OK"));
//         skua_test_free(received);
//     }
//
// The first call starts the server with one worker and without listening; skua_server_free ends it,
// so that objects of handlers live from one call to the next. The same calls give the same octets,
// except for dates.
// The server's clock jumps to the next timer when there is nothing else to do: a request that stops
// in the middle is answered 408 at once. The call waits up to 10 seconds for handlers that wait for
// skua_offload, tickets or skua_post.
// octets: any number of requests, well-formed or not. received: receives the response, followed by
// a NUL; the caller frees it by skua_test_free.
// Errors: those of skua_start; SKUA_ESTATE the server was started otherwise; SKUA_ECLOSED it was
// stopped; SKUA_ENOMEM; SKUA_ELIMIT no answer came in time, or the response has more than 64 MiB.
// Thread: the same for all calls, and for skua_server_free. Not from a callback.
SKUA_API SKUA_NODISCARD skua_status skua_test_request(skua_server *server, skua_slice octets,
                                                      skua_slice *received);

// Frees a response of skua_test_request or skua_test.  Thread: any.
SKUA_API void skua_test_free(skua_slice received);

// A parsed response. All slices are parts of received.
typedef struct skua_test_response {
    int status; // of the final response; 0: the connection ended without one
    // without chunked framing, as far as it arrived; a NUL follows it
    skua_slice content;
    skua_slice fields;   // the field lines, each ended by CRLF: see skua_test_field
    skua_slice received; // everything, without chunked framing; freed by skua_test_free
} skua_test_response;

// Sends one request as skua_test_request does, and parses the response. The request is HTTP/1.1,
// for the first name in skua_config.hosts, or for localhost. Use skua_test_request for other
// requests, and for fields.
//
//     skua_test_response response;
//     if (skua_test(server, "POST", "/items", "{\"name\":\"x\"}", &response) == SKUA_OK) {
//         assert(response.status == 201);
//         assert(skua_slice_is(skua_test_field(&response, "Location"), "/items/1"));
//         skua_test_free(response.received);
//     }
//
// method, path: as in a request line, the path with a query if there is one; they are not checked
// before they are sent.
// content: NUL-terminated; NULL for none. It is sent as application/json if it begins with "{" or
// "[", otherwise as text/plain.
// result: filled in.
// Errors: those of skua_test_request.  Thread: as skua_test_request.
SKUA_SIZED SKUA_NODISCARD skua_status skua_test(skua_server *server, const char *method,
                                                const char *path, const char *content,
                                                skua_test_response *result);

// Returns the value of the first field of that name in the response, without regard to case; {NULL,
// 0} without one.
// Lifetime: that of result->received.  Thread: any.
SKUA_SIZED skua_slice skua_test_field(const skua_test_response *result, const char *name);

// ---- Sizes ------------------------------------------------------------------------------------

// New versions of Skua add members at the end of a struct only, so that a program compiled with an
// older skua.h runs with a newer library. Each function above that takes or fills a struct is
// therefore inline, and calls an exported function of the same name with _sized, which gets the
// sizes of the program's structs. Members that the program does not know are zero. skua_slice,
// skua_field, skua_timer, skua_poll, skua_ticket and skua_socket never change.

// The sizes of a program's structs, in octets.
typedef struct skua_sizes {
    uint32_t sizes; // of this struct
    uint32_t tls_clients;
    uint32_t tls_certificate;
    uint32_t tls_desc;
    uint32_t allocator;
    uint32_t http2_desc;
    uint32_t config;
    uint32_t route_desc;
    uint32_t tls_info;
    uint32_t part;
    uint32_t upload;
    uint32_t form_part;
    uint32_t middleware;
    uint32_t group;
    uint32_t site_desc;
    uint32_t event;
    uint32_t cookie;
    uint32_t filter;
    uint32_t compression;
    uint32_t file_info;
    uint32_t prepared_desc;
    uint32_t local_desc;
    uint32_t websocket_desc;
    uint32_t message;
    uint32_t publication;
    uint32_t topic_bridge_desc;
    uint32_t media;
    uint32_t directory_config;
    uint32_t stats;
    uint32_t test_response;
    uint32_t serve_desc;
    uint32_t assets;
    uint32_t assets_config;
    uint32_t listener_desc;
} skua_sizes;

// Returns the sizes of the structs in this header.
static inline const skua_sizes *skua_sizes_here(void)
{
    static const skua_sizes sizes = { sizeof(skua_sizes),           sizeof(skua_tls_clients),
                                      sizeof(skua_tls_certificate), sizeof(skua_tls_desc),
                                      sizeof(skua_allocator),       sizeof(skua_http2_desc),
                                      sizeof(skua_config),          sizeof(skua_route_desc),
                                      sizeof(skua_tls_info),        sizeof(skua_part),
                                      sizeof(skua_upload),          sizeof(skua_form_part),
                                      sizeof(skua_middleware),      sizeof(skua_group),
                                      sizeof(skua_site_desc),       sizeof(skua_event),
                                      sizeof(skua_cookie),          sizeof(skua_filter),
                                      sizeof(skua_compression),     sizeof(skua_file_info),
                                      sizeof(skua_prepared_desc),   sizeof(skua_local_desc),
                                      sizeof(skua_websocket_desc),  sizeof(skua_message),
                                      sizeof(skua_publication),     sizeof(skua_topic_bridge_desc),
                                      sizeof(skua_media),           sizeof(skua_directory_config),
                                      sizeof(skua_stats),           sizeof(skua_test_response),
                                      sizeof(skua_serve_desc),      sizeof(skua_assets),
                                      sizeof(skua_assets_config),   sizeof(skua_listener_desc) };
    return &sizes;
}

// The functions above, for other languages. They are as the functions without _sized.
// sizes: of the structs as the program declares them; read during the call. A struct that is larger
// than the library's must be zero beyond the library's size; otherwise the process stops with a
// sentence, because the program was compiled for a newer library. Structs passed to skua_part_fn,
// skua_spooled_fn, skua_form_fn, skua_root_entry_fn and skua_file_opened_fn must not be larger at
// all.
SKUA_API SKUA_NODISCARD skua_status skua_tls_identity_new_sized(
    const skua_tls_certificate *certificates, unsigned count, skua_tls_identity **identity,
    char *why, size_t why_room, const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_tls_reload_sized(skua_server *server,
                                                          const skua_tls_desc *desc, char *why,
                                                          size_t why_room, const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_server *skua_server_new_sized(const skua_config *config,
                                                           const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_route_add_sized(skua_server *server,
                                                         const skua_route_desc *desc,
                                                         const skua_sizes *sizes);
SKUA_API bool skua_request_tls_sized(const skua_request *request, skua_tls_info *info,
                                     const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_multipart_read_sized(skua_request *request,
                                                              skua_part_fn *fn, void *user,
                                                              const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_content_spool_sized(skua_request *request,
                                                             size_t memory_max, uint64_t octets_max,
                                                             skua_spooled_fn *fn, void *user,
                                                             const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_multipart_collect_sized(skua_request *request,
                                                                 size_t memory_max,
                                                                 uint64_t octets_max,
                                                                 skua_form_fn *fn, void *user,
                                                                 const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_use_sized(skua_server *server, const char *prefix,
                                                   const skua_middleware *middleware,
                                                   const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_route_group_sized(skua_server *server,
                                                           const skua_group *group,
                                                           const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_site *
skua_site_new_sized(skua_server *server, const skua_site_desc *desc, const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_route_add_sized(skua_site *site,
                                                              const skua_route_desc *desc,
                                                              const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_group_sized(skua_site *site, const skua_group *group,
                                                          const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_use_sized(skua_site *site, const char *prefix,
                                                        const skua_middleware *middleware,
                                                        const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_event_send_sized(skua_request *request,
                                                          const skua_event *event,
                                                          const skua_sizes *sizes);
SKUA_API skua_status skua_cookie_set_sized(skua_request *request, const skua_cookie *cookie,
                                           const skua_sizes *sizes);
SKUA_API skua_status skua_filter_add_sized(skua_request *request, const skua_filter *filter,
                                           const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_use_compression_sized(skua_server *server,
                                                               const char *prefix,
                                                               const skua_compression *compression,
                                                               const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_root_list_sized(skua_root *root, skua_slice path,
                                                         skua_root_entry_fn *each, void *user,
                                                         const skua_sizes *sizes);
SKUA_API void skua_file_open_sized(skua_worker *worker, skua_root *root, skua_slice path,
                                   skua_file_opened_fn *fn, void *user, const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_prepared_new_sized(skua_worker *worker,
                                                            const skua_prepared_desc *desc,
                                                            skua_prepared **prepared,
                                                            const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_local_add_sized(skua_server *server,
                                                         const skua_local_desc *desc, unsigned *key,
                                                         const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_websocket_sized(skua_server *server, const char *pattern,
                                                         const skua_websocket_desc *desc,
                                                         const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_websocket_sized(skua_site *site, const char *pattern,
                                                              const skua_websocket_desc *desc,
                                                              const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_socket_receive_sized(skua_socket socket,
                                                              int64_t timeout_ns,
                                                              skua_message *message,
                                                              const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_topic_publish_sized(skua_server *server, skua_slice topic,
                                                             const skua_publication *publication,
                                                             const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_topic_bridge_sized(skua_server *server,
                                                            const skua_topic_bridge_desc *desc,
                                                            const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_route_directory_sized(skua_server *server,
                                                               const char *pattern,
                                                               const char *path,
                                                               const skua_directory_config *config,
                                                               const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_directory_sized(skua_site *site, const char *pattern,
                                                              const char *path,
                                                              const skua_directory_config *config,
                                                              const skua_sizes *sizes);
SKUA_API void skua_server_stats_sized(skua_server *server, skua_stats *stats,
                                      const skua_sizes *sizes);
SKUA_API int64_t skua_stats_quantile_ns_sized(const skua_stats *stats, double quantile,
                                              const skua_sizes *sizes);
SKUA_API size_t skua_stats_write_sized(const skua_stats *stats, char *text, size_t octets,
                                       const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_test_sized(skua_server *server, const char *method,
                                                    const char *path, const char *content,
                                                    skua_test_response *result,
                                                    const skua_sizes *sizes);
SKUA_API skua_slice skua_test_field_sized(const skua_test_response *result, const char *name,
                                          const skua_sizes *sizes);
SKUA_API void skua_serve_file_sized(skua_request *request, skua_root *root, skua_slice path,
                                    const skua_serve_desc *desc, const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_route_assets_sized(skua_server *server,
                                                            const char *pattern,
                                                            const skua_assets *assets,
                                                            const skua_assets_config *config,
                                                            const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_site_assets_sized(skua_site *site, const char *pattern,
                                                           const skua_assets *assets,
                                                           const skua_assets_config *config,
                                                           const skua_sizes *sizes);
SKUA_API size_t skua_file_etag_sized(const skua_file_info *info, skua_slice content,
                                     int64_t unix_ns, char etag[SKUA_FILE_ETAG_OCTETS],
                                     const skua_sizes *sizes);
SKUA_API SKUA_NODISCARD skua_status skua_listener_add_sized(skua_server *server,
                                                            const skua_listener_desc *desc,
                                                            size_t *index, const skua_sizes *sizes);

static inline skua_status skua_tls_identity_new(const skua_tls_certificate *certificates,
                                                unsigned count, skua_tls_identity **identity,
                                                char *why, size_t why_room)
{
    return skua_tls_identity_new_sized(certificates, count, identity, why, why_room,
                                       skua_sizes_here());
}

static inline skua_status skua_tls_reload(skua_server *server, const skua_tls_desc *desc, char *why,
                                          size_t why_room)
{
    return skua_tls_reload_sized(server, desc, why, why_room, skua_sizes_here());
}

static inline skua_server *skua_server_new(const skua_config *config)
{
    return skua_server_new_sized(config, skua_sizes_here());
}

static inline skua_status skua_route_add(skua_server *server, const skua_route_desc *desc)
{
    return skua_route_add_sized(server, desc, skua_sizes_here());
}

static inline bool skua_request_tls(const skua_request *request, skua_tls_info *info)
{
    return skua_request_tls_sized(request, info, skua_sizes_here());
}

static inline skua_status skua_multipart_read(skua_request *request, skua_part_fn *fn, void *user)
{
    return skua_multipart_read_sized(request, fn, user, skua_sizes_here());
}

static inline skua_status skua_content_spool(skua_request *request, size_t memory_max,
                                             uint64_t octets_max, skua_spooled_fn *fn, void *user)
{
    return skua_content_spool_sized(request, memory_max, octets_max, fn, user, skua_sizes_here());
}

static inline skua_status skua_multipart_collect(skua_request *request, size_t memory_max,
                                                 uint64_t octets_max, skua_form_fn *fn, void *user)
{
    return skua_multipart_collect_sized(request, memory_max, octets_max, fn, user,
                                        skua_sizes_here());
}

static inline skua_status skua_use(skua_server *server, const char *prefix,
                                   const skua_middleware *middleware)
{
    return skua_use_sized(server, prefix, middleware, skua_sizes_here());
}

static inline skua_status skua_route_group(skua_server *server, const skua_group *group)
{
    return skua_route_group_sized(server, group, skua_sizes_here());
}

static inline skua_site *skua_site_new(skua_server *server, const skua_site_desc *desc)
{
    return skua_site_new_sized(server, desc, skua_sizes_here());
}

static inline skua_status skua_site_route_add(skua_site *site, const skua_route_desc *desc)
{
    return skua_site_route_add_sized(site, desc, skua_sizes_here());
}

static inline skua_status skua_site_group(skua_site *site, const skua_group *group)
{
    return skua_site_group_sized(site, group, skua_sizes_here());
}

static inline skua_status skua_site_use(skua_site *site, const char *prefix,
                                        const skua_middleware *middleware)
{
    return skua_site_use_sized(site, prefix, middleware, skua_sizes_here());
}

static inline skua_status skua_event_send(skua_request *request, const skua_event *event)
{
    return skua_event_send_sized(request, event, skua_sizes_here());
}

static inline skua_status skua_cookie_set(skua_request *request, const skua_cookie *cookie)
{
    return skua_cookie_set_sized(request, cookie, skua_sizes_here());
}

static inline skua_status skua_filter_add(skua_request *request, const skua_filter *filter)
{
    return skua_filter_add_sized(request, filter, skua_sizes_here());
}

static inline skua_status skua_use_compression(skua_server *server, const char *prefix,
                                               const skua_compression *compression)
{
    return skua_use_compression_sized(server, prefix, compression, skua_sizes_here());
}

static inline skua_status skua_root_list(skua_root *root, skua_slice path, skua_root_entry_fn *each,
                                         void *user)
{
    return skua_root_list_sized(root, path, each, user, skua_sizes_here());
}

static inline void skua_file_open(skua_worker *worker, skua_root *root, skua_slice path,
                                  skua_file_opened_fn *fn, void *user)
{
    skua_file_open_sized(worker, root, path, fn, user, skua_sizes_here());
}

static inline skua_status skua_prepared_new(skua_worker *worker, const skua_prepared_desc *desc,
                                            skua_prepared **prepared)
{
    return skua_prepared_new_sized(worker, desc, prepared, skua_sizes_here());
}

static inline skua_status skua_local_add(skua_server *server, const skua_local_desc *desc,
                                         unsigned *key)
{
    return skua_local_add_sized(server, desc, key, skua_sizes_here());
}

static inline skua_status skua_websocket(skua_server *server, const char *pattern,
                                         const skua_websocket_desc *desc)
{
    return skua_websocket_sized(server, pattern, desc, skua_sizes_here());
}

static inline skua_status skua_site_websocket(skua_site *site, const char *pattern,
                                              const skua_websocket_desc *desc)
{
    return skua_site_websocket_sized(site, pattern, desc, skua_sizes_here());
}

static inline skua_status skua_socket_receive(skua_socket socket, int64_t timeout_ns,
                                              skua_message *message)
{
    return skua_socket_receive_sized(socket, timeout_ns, message, skua_sizes_here());
}

static inline skua_status skua_topic_publish(skua_server *server, skua_slice topic,
                                             const skua_publication *publication)
{
    return skua_topic_publish_sized(server, topic, publication, skua_sizes_here());
}

static inline skua_status skua_topic_bridge(skua_server *server, const skua_topic_bridge_desc *desc)
{
    return skua_topic_bridge_sized(server, desc, skua_sizes_here());
}

static inline skua_status skua_route_directory(skua_server *server, const char *pattern,
                                               const char *path,
                                               const skua_directory_config *config)
{
    return skua_route_directory_sized(server, pattern, path, config, skua_sizes_here());
}

static inline skua_status skua_site_directory(skua_site *site, const char *pattern,
                                              const char *path, const skua_directory_config *config)
{
    return skua_site_directory_sized(site, pattern, path, config, skua_sizes_here());
}

static inline void skua_server_stats(skua_server *server, skua_stats *stats)
{
    skua_server_stats_sized(server, stats, skua_sizes_here());
}

static inline int64_t skua_stats_quantile_ns(const skua_stats *stats, double quantile)
{
    return skua_stats_quantile_ns_sized(stats, quantile, skua_sizes_here());
}

static inline size_t skua_stats_write(const skua_stats *stats, char *text, size_t octets)
{
    return skua_stats_write_sized(stats, text, octets, skua_sizes_here());
}

static inline skua_status skua_test(skua_server *server, const char *method, const char *path,
                                    const char *content, skua_test_response *result)
{
    return skua_test_sized(server, method, path, content, result, skua_sizes_here());
}

static inline skua_slice skua_test_field(const skua_test_response *result, const char *name)
{
    return skua_test_field_sized(result, name, skua_sizes_here());
}

static inline void skua_serve_file(skua_request *request, skua_root *root, skua_slice path,
                                   const skua_serve_desc *desc)
{
    skua_serve_file_sized(request, root, path, desc, skua_sizes_here());
}

static inline skua_status skua_route_assets(skua_server *server, const char *pattern,
                                            const skua_assets *assets,
                                            const skua_assets_config *config)
{
    return skua_route_assets_sized(server, pattern, assets, config, skua_sizes_here());
}

static inline skua_status skua_site_assets(skua_site *site, const char *pattern,
                                           const skua_assets *assets,
                                           const skua_assets_config *config)
{
    return skua_site_assets_sized(site, pattern, assets, config, skua_sizes_here());
}

static inline size_t skua_file_etag(const skua_file_info *info, skua_slice content, int64_t unix_ns,
                                    char etag[SKUA_FILE_ETAG_OCTETS])
{
    return skua_file_etag_sized(info, content, unix_ns, etag, skua_sizes_here());
}

static inline skua_status skua_listener_add(skua_server *server, const skua_listener_desc *desc,
                                            size_t *index)
{
    return skua_listener_add_sized(server, desc, index, skua_sizes_here());
}

#ifdef __cplusplus
}
#endif

#endif // SKUA_H
