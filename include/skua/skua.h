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
// Words are those of RFC 9110 and RFC 9112: the content of a message is what many call its body.
// Lengths of wire data are octets. Times are nanoseconds.
//
// Threads: a server has workers; a request belongs to one of them, and its functions are called on
// that worker only, from handlers and callbacks. Functions that may be called elsewhere say so. A
// blocking handler (skua_route_blocking) runs on a thread of a pool.
//
// Lifetimes: slices read from a request live until its on_end callback has returned.
//
// Errors: functions that can fail for a reason outside the program return skua_status and leave
// their outputs untouched when it is not SKUA_OK. A broken contract is a programming error and stops
// the process with a sentence that names the function and the remedy (see skua_config.panic): NULL
// where that is not said to be allowed, a call from another thread than the one that is said, a
// request that is gone. Nothing that a client does can cause it.
//
// Where functions may be called; a comment says more where there is more to say.
//
// In a signal handler, and on any thread:
//   skua_stop skua_drain skua_leave
//
// On any thread:
//   (those of a site: one thread at a time for each site)
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
//   skua_topic_publish skua_file_etag skua_site_directory skua_site_assets skua_media_type
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
//   (the request's, the socket's, the timer's, the poll's)
//   skua_request_hold skua_request_drop skua_request_connection skua_request_skip_log
//   skua_on_end skua_content_read skua_content_consume skua_content_collect
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
//   skua_socket_protocol skua_topic_join skua_socket_join skua_topic_leave skua_socket_leave
//   skua_directory_serve skua_serve_file skua_respond_stats
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

// Macros before each declaration (SKUA_API), before those whose result must be looked at
// (SKUA_NODISCARD), and behind those that take a format of printf (SKUA_PRINTF). Each may be defined
// before this header is included.
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
// Before functions that take or fill a struct; see Sizes, at the end.
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

// A slice in a format of printf: printf("%" SKUA_FMT "\n", SKUA_ARG(slice)). At most INT_MAX octets.
#define SKUA_FMT ".*s"
#define SKUA_ARG(slice) (int)(slice).len, (slice).len ? (slice).ptr : ""

// A slice of a text that ends with NUL, without it. text: must live as long as the slice.
static inline skua_slice skua_slice_of(const char *text)
{
    skua_slice slice = { text, 0 };
    while (text[slice.len])
        slice.len++;
    return slice;
}

// Whether the slice begins with the octets of prefix, which ends with NUL.
static inline bool skua_slice_starts(skua_slice slice, const char *prefix)
{
    size_t at = 0;
    while (prefix[at] && at < slice.len && slice.ptr[at] == prefix[at])
        at++;
    return !prefix[at];
}

// Whether the slice has the octets of text, and no others. text: ends with NUL.
static inline bool skua_slice_is(skua_slice slice, const char *text)
{
    size_t at = 0;
    while (text[at] && at < slice.len && slice.ptr[at] == text[at])
        at++;
    return at == slice.len && !text[at];
}

// Reads the whole slice as a decimal number, with "-" before it at most.
// Returns: false, and *value stays, when it is none, or out of the range of int64_t.
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

// A few words of English for a status; never NULL.  Thread: any.
SKUA_API const char *skua_status_text(skua_status status);

enum { SKUA_SHA256_OCTETS = 32 };

// Writes the SHA-256 digest of octets. It is for what nobody can guess, such as a token of random octets, and for
// signatures; it is too fast for passwords.
// Thread: any.  Spec: FIPS 180-4
SKUA_API void skua_sha256(skua_slice octets, unsigned char digest[SKUA_SHA256_OCTETS]);

// The library's version, "0.2.0".  Thread: any.
SKUA_API const char *skua_version(void);

// The server, one of its threads, and one exchange with a client. The library makes and frees each.
typedef struct skua_server skua_server;
typedef struct skua_worker skua_worker;
typedef struct skua_request skua_request;

// An open file, reference-counted by its worker.
typedef struct skua_file skua_file;
typedef struct skua_connection skua_connection;

// ---- TLS --------------------------------------------------------------------------------------

// HTTPS, for servers that have a certificate. The library must be compiled with SKUA_TLS, which
// needs OpenSSL 3.0 or later; without it skua_start and the functions here fail with
// SKUA_EUNSUPPORTED. TLS 1.2 and 1.3 are spoken, with the suites of Mozilla's intermediate
// configuration. There is no renegotiation, no compression and no early data.

// Whether clients show certificates of their own.
typedef enum skua_tls_asking {
    SKUA_TLS_ASK_NOT = 0,
    SKUA_TLS_ASK,    // a client may have none; one that it shows must be valid
    SKUA_TLS_REQUIRE // a client without a valid one is refused in the handshake
} skua_tls_asking;

// The demands on clients: whether they are asked for a certificate, and the authorities that may have
// signed it. Zero: nothing is asked.
typedef struct skua_tls_clients {
    skua_tls_asking asking;
    const char *ca_file; // PEM; or the same in memory:
    skua_slice ca_pem;
} skua_tls_clients;

// A certificate with its key. Everything is copied or read during the call that it is given to.
typedef struct skua_tls_certificate {
    // PEM: first the server's own certificate, then those that signed it, each before the one that
    // signed it.
    const char *file;
    skua_slice pem; // the same in memory, where file is NULL
    // Its private key in PEM, not encrypted: RSA, ECDSA or Ed25519. NULL and empty: it is in the file
    // or the octets of the certificate.
    const char *key_file;
    skua_slice key_pem;
    // Server names for which it is used, separated by spaces: "example.org *.example.org". A wildcard
    // stands for one label. NULL: the DNS names in the certificate. Several certificates may have a
    // name when their keys are of different kinds: then a client gets one that it can check.
    const char *names;
    // Used for clients that send no name, or one that nobody has. One at most; else the first.
    bool is_default;
    // The demands on clients that come for these names; NULL: skua_tls_desc.clients. Certificates
    // that share a name must agree.
    const skua_tls_clients *clients;
} skua_tls_certificate;

// Certificates that have been loaded, for skua_tls_desc.choose. Counted; it never changes.
typedef struct skua_tls_identity skua_tls_identity;

// The oldest version of TLS that is spoken.
typedef enum skua_tls_version {
    SKUA_TLS_DEFAULT = 0, // 1.2
    SKUA_TLS_1_2,
    SKUA_TLS_1_3
} skua_tls_version;

// How a server speaks TLS. All zero: it does not. Zero means default for every member, but there must
// be certificates, or choose.
typedef struct skua_tls_desc {
    // Addresses that speak TLS, separated by spaces, each in the form of skua_config.listen. Those of
    // skua_config.listen, skua_listen and skua_listen_fd do when skua_listen_over_tls says so.
    const char *listen;
    const skua_tls_certificate *certificates;
    unsigned certificate_count;
    // Finds the certificate for a server name that certificates has not; may be NULL. server_name:
    // in lower case, valid during the call; empty if the client sent none.
    // Returns: one with a reference that the library drops (skua_tls_identity_ref), or NULL for the
    // default; without a default the client is refused (unrecognized_name).
    // Thread: the worker of the connection; several call at once. It must not wait.
    skua_tls_identity *(*choose)(skua_slice server_name, void *user);
    void *choose_user;
    skua_tls_version oldest_version;
    // Groups for the exchange of keys, separated by spaces, the best first; those that this OpenSSL
    // does not know are left out. Default "X25519MLKEM768 X25519 P-256 P-384".
    const char *groups;
    skua_tls_clients clients;
    // Session tickets let clients come back with a short handshake. Their keys are random, replaced
    // every 12 hours, and known to all workers. From this file instead: one or more keys of 80 octets
    // each (name 16, AES-256 key 32, HMAC key 32). The first makes tickets, all open them; so machines
    // that share the file take up each other's sessions. It is read again by a reload.
    const char *ticket_file;
    bool no_tickets;
    // Who protects records after the handshake: "openssl"; default: the library where it can.
    const char *records;
    int64_t handshake_timeout_ns; // from the first octet; default 10 s
    // Appends the secrets of every connection to this file, for Wireshark: whoever has it can read
    // everything. For debugging only; default none.
    const char *keylog_file;
} skua_tls_desc;

// Loads one certificate, or several for the same names whose keys are of different kinds. names and
// is_default are not looked at.
// why: the sentence about a failure; may be NULL. why_room: octets there; 512 are enough.
// Errors: SKUA_EINVAL, SKUA_ENOENT, SKUA_EACCES, SKUA_EIO, SKUA_ELIMIT, SKUA_ENOMEM, SKUA_ENOFILE,
// SKUA_EUNSUPPORTED.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status
skua_tls_identity_new(const skua_tls_certificate *certificates, unsigned count,
                      skua_tls_identity **identity, char *why, size_t why_room);

// Adds a reference; drops one, NULL is allowed.  Thread: any.
SKUA_API skua_tls_identity *skua_tls_identity_ref(skua_tls_identity *identity);
SKUA_API void skua_tls_identity_unref(skua_tls_identity *identity);

// Changes how the server speaks TLS, from the next handshake on; connections that are there keep
// what they have. Random ticket keys stay. desc: read during the call; listen is not looked
// at. why: the sentence about a failure, as skua_tls_identity_new has it.
// Errors: those of skua_tls_identity_new, the server stays as it was; SKUA_ESTATE it speaks no TLS.
// Thread: any; not while the server is freed.
SKUA_SIZED SKUA_NODISCARD skua_status skua_tls_reload(skua_server *server,
                                                      const skua_tls_desc *desc, char *why,
                                                      size_t why_room);

// Makes a certificate that is signed by its own key (ECDSA P-256), for development: clients trust it
// when they are told to. It is valid for 365 days, from an hour before unix_s.
// names: host names and IP addresses, separated by spaces: "localhost 127.0.0.1 ::1". unix_s: now, in
// seconds since 1970. certificate_pem, key_pem: each to be freed by skua_tls_free.
// Errors: SKUA_EINVAL no names, or one is neither; SKUA_ENOMEM; SKUA_EUNSUPPORTED.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_tls_self_signed(const char *names, int64_t unix_s,
                                                         skua_slice *certificate_pem,
                                                         skua_slice *key_pem);

// Writes the SHA-256 of the first certificate in a PEM, as browsers show it: 32 pairs of hexadecimal
// digits, in upper case, separated by colons, and a NUL. not_after_unix_s: the second in which it
// expires; may be NULL.
// Errors: SKUA_EINVAL no certificate in it; SKUA_ENOMEM; SKUA_EUNSUPPORTED.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_tls_fingerprint(skua_slice certificate_pem, char text[96],
                                                         int64_t *not_after_unix_s);

// Wipes and frees octets of skua_tls_self_signed. Empty ones are allowed.
SKUA_API void skua_tls_free(skua_slice octets);

// ---- Configuration ----------------------------------------------------------------------------

// How the access log is written; see skua_config.log. The octets of a line are those of content
// that were handed to the kernel. Behind a response that was not sent whole comes "closed", "timeout"
// or "error" (in JSON the member "end"), and behind a request that was refused the reason (in JSON
// "reason"), with as much of the request as was understood.
typedef enum skua_log_format {
    SKUA_LOG_NONE = 0,
    SKUA_LOG_SHORT,  // 12:04:09 200 GET /index.html 5.1 KB 0.2 ms 127.0.0.1
    SKUA_LOG_COMMON, // the Common Log Format of the NCSA server
    // one JSON object per line, with the names of Caddy's log: ts, request (remote_ip, client_ip, proto, method, host, uri,
    // headers, tls), duration in seconds, size, status; with request_id where the request has one, from a trusted proxy
    // or because skua_request_id has been called
    SKUA_LOG_JSON,
    SKUA_LOG_COMBINED // SKUA_LOG_COMMON with "Referer" and "User-Agent" behind it, as Apache and nginx write it
} skua_log_format;

// Takes log lines. octets holds whole lines, each ended by LF.  Thread: the server's log writer.
typedef void skua_log_write(skua_slice octets, void *user);

// Where memory comes from, instead of malloc. The functions behave as malloc, realloc (memory is
// never NULL, octets never 0) and free, and may be called from any thread at once.
typedef struct skua_allocator {
    void *(*alloc)(size_t octets, void *user);
    void *(*resize)(void *memory, size_t octets, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} skua_allocator;

// HTTP/2, RFC 9113. Over TLS a client asks for it by ALPN; in the clear one begins with the preface of
// HTTP/2, by prior knowledge. Zero means default.
typedef struct skua_http2_desc {
    bool off;     // HTTP/1 alone is spoken; default false
    bool h2c_off; // HTTP/2 is not spoken in the clear; default false
    // Extended CONNECT is announced (RFC 8441): handlers of GET take one by skua_upgrade. Browsers then
    // open WebSockets so, and do not fall back to HTTP/1. Default false.
    bool tunnels;

    // Limits of a connection. The error at the edge is in brackets; but for REFUSED_STREAM, it is the
    // connection's.
    // requests under way; default 100, at most 1000 [REFUSED_STREAM]. As many more may wait while
    // handlers still run whose streams have been reset
    unsigned streams_max;
    unsigned continuations_max; // CONTINUATION frames of a head; default 8 [ENHANCE_YOUR_CALM]
    unsigned settings_max;      // entries of a SETTINGS frame; default 32 [ENHANCE_YOUR_CALM]
    unsigned replies_max;       // unsent acknowledgements; default 64: then nothing is read
    unsigned empty_frames_max;  // that say nothing, in a row; default 100 [ENHANCE_YOUR_CALM]
    // a budget of streams that the client has reset, or has made this side reset; each good end gives
    // one back; default 100. At 0 new requests begin 100 ms later, and at minus ten times as much the
    // connection ends [ENHANCE_YOUR_CALM]
    unsigned resets_max;
    unsigned resets_per_second; // are given back, too; default 33
    // a budget of frames that cost more than they bring: PING, SETTINGS, PRIORITY_UPDATE,
    // WINDOW_UPDATE of less than 256 octets and the like; default 1000 [ENHANCE_YOUR_CALM]
    unsigned small_frames_max;
    // are given back; default 200. So is one for each two octets of content that the client has been sent
    unsigned small_frames_per_second;
    // content of all requests that handlers have not taken, the connection's window; default 1048576
    size_t held_octets_max;
} skua_http2_desc;

// ---- Behind proxies ----

// The way by which a proxy in front of the server says whom it serves. One is believed, and the others
// are ignored: a proxy that writes one field passes on what a client has put into the other.
typedef enum skua_forwarded {
    SKUA_FORWARDED_NONE,
    SKUA_FORWARDED_STANDARD, // Forwarded.  Spec: RFC 7239
    SKUA_FORWARDED_X,        // X-Forwarded-For and X-Forwarded-Proto
    // The header of the PROXY protocol, version 1 or 2, before the first octet of each connection, TLS or
    // not. It must come, within head_timeout_ns, and only from a proxy in skua_config.trusted: all others
    // are refused, with a line in the log. on_connect is told when it has come, of the client's address
    // (the proxy's own where the header says UNKNOWN or LOCAL). skua_request_is_secure is true where it
    // says that the client came by TLS. The octets for skua_test_request begin with it, too.
    // Spec: https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
    SKUA_FORWARDED_PROXY
} skua_forwarded;

// The configuration of a server. Zero means default, for every member. Strings are copied. The
// defaults and the reasons for them are in docs/limits.md.
typedef struct skua_config {
    // Where to listen, or NULL to say it by skua_listen: "127.0.0.1:8080", "[::1]:8080", ":8080"
    // (every address, IPv4 and IPv6), "localhost:8080", "unix:/run/app.sock". Port 0 lets the
    // kernel choose.
    const char *listen;
    // Names that Host may carry, without ports, separated by spaces; "*" takes any. When NULL: any,
    // unless there are TCP addresses to listen on and all are loopback; then only localhost and
    // loopback addresses (421 otherwise). Requests over a Unix socket may carry any.
    const char *hosts;
    // threads that serve; 0: one for each core this process may use, by its affinity and the quotas
    // of its control groups
    unsigned workers;
    // "epoll", "kqueue", "uring": io_uring, or where it is refused epoll, with a line in the log;
    // "auto" (default): the same on Linux without the line, else kqueue
    const char *backend;
    // how connections come to several workers: "reuseport", a listening socket for each, over which
    // the kernel spreads them; "handoff", one, whose worker hands them to all in turn; "auto"
    // (default): what the kernel is good at, here
    const char *accept;
    unsigned backlog;         // connections the kernel may queue; default 4096
    unsigned connections_max; // open connections per worker; default 65536
    // Sends "Connection: keep-alive" in each response of HTTP/1.1 after which its connection stays
    // open, for clients that look for it. HTTP/1.1 does not need it; answers to clients of HTTP/1.0
    // that ask for it always have it.
    bool keep_alive_field;
    // Stops the process where a handler gives a second response, adds a field behind it, or states a
    // status or length out of range. Default false: the function returns an error, and a line in the
    // log names the route. For development and tests.
    bool strict;

    // Limits, in octets unless said otherwise. The response at the edge is in brackets.
    size_t head_octets_max;      // request line and fields; default 16384, at most 65535 [431]
    size_t target_octets_max;    // request target; default 8192 [414]
    unsigned fields_max;         // field lines; default 100, at most 1000 [431]
    unsigned params_max;         // query parameters that are looked at; default 1000
    size_t trailer_octets_max;   // trailer section; default 8192 [431]
    size_t chunk_ext_octets_max; // chunk extensions of one message; default 4096 [400]
    // content collected by skua_content_collect; default 1048576 [413]
    uint64_t content_octets_max;
    // content given to skua_content_fn and not consumed; default 65536
    size_t content_window_octets;
    uint64_t discard_octets_max; // unread content discarded to keep a connection; default 65536
    uint64_t out_octets_max;     // octets queued for one connection; default 262144
    size_t send_turn_octets_max; // octets sent for one connection in one turn; default 2097152

    // Request targets of RFC 3986 alone. Default false: what browsers leave as it is in a URL is
    // taken too, | [ ] { } ^ ` and valid UTF-8, and in the query a backslash and a "%" without two
    // hexadecimal digits. [400]
    bool strict_target;

    // Octets that all connections of the server together may make it hold: heads, content that is
    // collected, spooled or not read yet, queued responses, listings, what io_uring has received, lines
    // of the log beyond 131072 for a worker, and what skua_memory_count adds. Default: a quarter of
    // the machine's memory, or of what control groups allow; like any other value at least 1048576.
    // The rest is for the kernel's buffers of the same connections, which may take several times as
    // much, for files in memory and for your program.
    // Above 80 % idle connections are closed, the oldest first. Above 90 % new requests are answered
    // 503 with Retry-After. At the limit connections are not accepted, those whose head is still
    // coming are ended, the largest first, and requests that are being served are slowed, but never
    // ended.
    size_t memory_max;

    // Forms that are multipart/form-data.
    unsigned parts_max;          // parts; default 128 [413]
    size_t part_head_octets_max; // fields of a part; default 8192, at most 65536 [413]
    unsigned part_files_max;     // parts of one form that are kept in files; default 32 [413]
    // for content too large for memory; default $TMPDIR, or else /tmp
    const char *spool_directory;

    // Deadlines, in nanoseconds.
    int64_t head_timeout_ns;       // a head, from its first octet; default 10 s [408]
    int64_t keep_alive_timeout_ns; // between requests; default 60 s
    int64_t stall_timeout_ns;      // no octet moves though we wait for the peer; default 30 s
    int64_t rate_window_ns;        // window in which rate_octets_min is judged; default 15 s
    uint64_t rate_octets_min;      // octets per second the peer must move, both ways; default 128
    // a handler must answer within; default 0, never [503]. A response that has begun and goes
    // silent for as long ends with its connection
    int64_t handler_timeout_ns;
    int64_t linger_timeout_ns;  // draining after our half of a connection is closed; default 2 s
    uint64_t linger_octets_max; // octets drained then; default 262144
    // tunnels: nothing moved either way; default 600 s. Without a handler_timeout_ns it is also how
    // long a response that has begun may be silent: a source that is PENDING, a stream, events. Each
    // piece, comment or event that is sent renews it
    int64_t stream_idle_timeout_ns;
    // a handler that has returned without a response, a ticket, a hold or work of the library's under
    // way is named in the log within; default 30 s
    int64_t unanswered_log_ns;
    // A client that sends no more (FIN behind a complete request) has left, and a request that waits
    // for what only time can bring ends with SKUA_END_CLOSED: for a ticket, a blocking handler, a
    // source that is PENDING, content or events to be pushed. true: it goes on, for clients that
    // close their half and read on; others that leave are found out when octets are sent to them.
    bool half_close;

    // Files.
    unsigned disk_threads; // that open and read what is not in memory; default 16, at most 1024
    // descriptors that are held for files while this server runs and a skua_root is open, so that
    // connected clients get files when connections have taken all the others. While some of them
    // are in use, no connection is accepted. The servers of a process share them. Default: an eighth
    // of what the process may open, at most 256; never more than half of it
    unsigned files_reserve;

    // Blocking routes.
    unsigned blocking_threads;   // handlers that run at a time; default 16, at most 1024
    unsigned blocking_queue_max; // requests that wait for one of them; default 256 [503]

    // The access log and the error log.
    skua_log_format log;
    skua_log_write *log_write; // default: standard output
    void *log_user;
    // octets of memory for lines that wait to be written; default 16777216. A worker has 131072 in any
    // case. Lines beyond it are lost, and how many is logged.
    size_t log_buffer_max;
    // Names of query parameters, separated by spaces, whose values are not logged, but REDACTED: of targets, and of
    // Referer. "" for none; default "token key password secret code". Authorization and Cookie are never logged.
    const char *log_secrets;

    skua_tls_desc tls; // HTTPS; see there
    skua_http2_desc http2;

    // Hooks. Called on the worker's thread, when it begins to turn and when it has ended, after its
    // last request; in between, timers can be started on it. May be NULL.
    void (*on_worker_start)(skua_worker *worker, void *user);
    void (*on_worker_end)(skua_worker *worker, void *user);
    // Told of each connection before anything is read from it, or written; false refuses it: it is
    // closed at once. The other is told of each that was not refused, when it is closed and its
    // last request has ended.
    bool (*on_connect)(skua_connection *connection, void *user);
    void (*on_close)(skua_connection *connection, void *user);
    void *hook_user; // user of all hooks

    // For the process. All servers that are alive at one time must name the same allocator, or
    // skua_start fails with SKUA_EINVAL; it is in use from the first's birth until the last is
    // freed. Copied; NULL for malloc. What may outlive servers (a skua_root, a response of
    // skua_test_request, the registry of tickets) always is malloc's.
    const skua_allocator *allocator;
    // Told of a programming error before the process is aborted, instead of standard error. The
    // last server made with one decides. Thread: the one with the error.
    void (*panic)(const char *sentence);

    // Proxies whose word is taken for who the client is: addresses and networks separated by spaces,
    // "10.0.0.0/8 192.0.2.7 fd00::/8", and "unix" for those that come by a Unix socket; at most 64.
    // Default NULL: none. The addresses in the proxies' fields are looked at from the last to the
    // first, and the first that is not one of these is the client's. What others send is never believed.
    const char *trusted;
    // How they name clients, at each address unless skua_listen_forwarded says otherwise. Needs trusted.
    // See skua_request_peer, skua_request_is_secure
    skua_forwarded forwarded;
    // Requests are counted and timed for skua_server_stats. Default false.
    bool stats;
} skua_config;

// ---- Server -----------------------------------------------------------------------------------

// Makes a server. config: read during the call only; NULL for the defaults.
// Returns: the server, or NULL when memory ran out.
// A member that is out of its range is reported by skua_start.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_server *skua_server_new(const skua_config *config);

// Frees a server; stops it first if it runs, without grace. NULL is allowed.
// Thread: the one that called skua_start, or any if it does not run. Not from a callback.
SKUA_API void skua_server_free(skua_server *server);

// Adds an address to listen on, in the form of skua_config.listen; before skua_start.
// Errors: SKUA_EINVAL not an address; SKUA_ENOMEM; SKUA_ESTATE already started.
SKUA_API SKUA_NODISCARD skua_status skua_listen(skua_server *server, const char *address);

// Listens on a socket that the caller has opened, bound and made listen: TCP or Unix; before
// skua_start. One worker accepts from it, and hands connections to all in turn.
// fd: on success the server's, which closes it when it has ended, has failed to start or is freed.
// Errors: SKUA_EINVAL not a listening stream socket, or listened on already; SKUA_ELIMIT more than
// 16 addresses; SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_listen_fd(skua_server *server, int fd);

// A place to listen, for skua_listener_add. Zero means default, for every member.
typedef struct skua_listener_desc {
    const char *address;      // in the form of skua_config.listen, copied; NULL: fd
    int fd;                   // a socket for skua_listen_fd; only without address
    bool tls;                 // TLS is spoken, if skua_config.tls has a certificate
    skua_forwarded forwarded; // as skua_listen_forwarded takes it; NONE: as skua_config.forwarded
} skua_listener_desc;

// Adds an address to listen on, before skua_start or while the server runs: then clients can connect when it returns.
// index: the number of the address, for skua_server_address; may be NULL. It is the first that is free.
// A server that listens on loopback alone and names no hosts serves every name from the first other address on.
// Errors: those of skua_listen, skua_listen_fd and skua_listen_over_tls, with the sentence of skua_server_error; while
// it runs also those of opening: SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOFILE, SKUA_EIO; SKUA_ECLOSED
// it is about to stop; SKUA_ESTATE it has ended. Nothing has changed then, and fd stays the caller's.
// Thread: any but workers, for which it waits; with skua_open the one that called it, outside of callbacks.
SKUA_SIZED SKUA_NODISCARD skua_status skua_listener_add(skua_server *server,
                                                        const skua_listener_desc *desc,
                                                        size_t *index);

// Removes the address of that number. No connection is lost: nobody begins to connect any more (where the system can
// do that, which is Linux; others hear a refusal when it is closed), those who have begun have 1.5 s, and all of them
// are served like those who are connected already. Then the socket is closed, and the file of a Unix socket is
// removed; that of a socket that was given stays, and who else has such a socket goes on.
// Returns when it is closed; with skua_open at once, and it is closed in a later turn.
// Errors: SKUA_ENOENT there is none of that number; SKUA_ESTATE it has ended, or with skua_open another one is being
// removed.  Thread: as skua_listener_add.
SKUA_API SKUA_NODISCARD skua_status skua_listener_remove(skua_server *server, size_t index);

// Removes the addresses of those numbers at once, in the time that one takes: see skua_listener_remove.
// indices: count of them; NULL with 0.  Errors, thread: as there. None is removed when one of them is not there.
SKUA_API SKUA_NODISCARD skua_status skua_listeners_remove(skua_server *server,
                                                          const size_t *indices, size_t count);

// Lets so many workers serve, while the server runs: more are started; those that are too many rest. One that rests
// gets no new connections, those that it has go on until they end, and it serves again when more are wanted. Its number
// stays good for skua_post until the run is over. A server that is started again has those of skua_config.workers.
// workers: 0 for one for each usable core.
// Errors: SKUA_EINVAL more than 1024; SKUA_ESTATE the server does not run, or was opened by skua_open; SKUA_ECLOSED it is
// about to stop; SKUA_ENOMEM, SKUA_ENOFILE, and those of opening more sockets at its addresses, with the sentence of
// skua_server_error. As many serve then as before.  Thread: any but workers, for which it waits.
SKUA_API SKUA_NODISCARD skua_status skua_workers_set(skua_server *server, unsigned workers);

// Opens a listening socket for skua_listen_fd, of this process or of another one that it is passed to. A process that
// keeps it can start a server anew; clients wait meanwhile.
// address: in the form of skua_config.listen. backlog: connections the kernel may queue; 0: 4096. shared: it joins the
// sockets of the address that are there (SO_REUSEPORT), whichever process has them.
// fd: the caller's, close-on-exec. The file of a Unix socket stays when it is closed. why: the sentence about a
// failure; may be NULL. why_room: octets there; 512 are enough.
// Errors: SKUA_EINVAL not an address; SKUA_EADDRINUSE, SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOFILE, SKUA_ENOMEM,
// SKUA_EIO.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_socket_open(const char *address, unsigned backlog,
                                                     bool shared, int *fd, char *why,
                                                     size_t why_room);

// Listens on the sockets this process was started with, if any, as skua_listen_fd does: systemd's
// LISTEN_FDS, when LISTEN_PID is this process. These variables and LISTEN_FDNAMES are then taken
// out of the environment, so that no child believes in them.
// count: how many there were; may be NULL.
// Errors: those of skua_listen_fd; SKUA_EINVAL also for variables that are no numbers.
// Thread: while there is no other that uses the environment.
SKUA_API SKUA_NODISCARD skua_status skua_listen_inherited(skua_server *server, unsigned *count);

// Lets an address speak TLS, as those of skua_tls_desc.listen do; before skua_start.
// index: 0 for the address that was added first, as in skua_server_address.
// Errors: SKUA_EINVAL there is no such address, or no certificate in skua_config.tls; SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_listen_over_tls(skua_server *server, size_t index);

// Says how clients are known at an address, in place of skua_config.forwarded; before skua_start.
// index: 0 for the address that was added first, as in skua_server_address.
// Errors: SKUA_EINVAL there is no such address, or proxies are to be believed and skua_config.trusted names
// none; SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_listen_forwarded(skua_server *server, size_t index,
                                                          skua_forwarded forwarded);

// Listens, starts the workers and returns. After it, skua_server_address tells where.
// Errors: SKUA_EINVAL, also when there is no address to listen on; SKUA_EADDRINUSE,
// SKUA_EADDRNOTAVAIL, SKUA_EACCES, SKUA_ENOMEM, SKUA_ENOFILE, SKUA_EUNSUPPORTED, SKUA_ESTATE.
// skua_server_error then says in a sentence what was wrong with what.
SKUA_API SKUA_NODISCARD skua_status skua_start(skua_server *server);

// Waits until every worker has ended, after skua_stop. When one cannot go on, because the kernel
// does not let it wait or accept any more, the server stops by itself, with a line in the log and a
// second's grace for the others.
// Returns: SKUA_OK after skua_stop, or if the server does not run.
// Errors: SKUA_EIO it has stopped by itself; skua_server_error says why.
// Thread: the one that called skua_start. Not from a callback, which would wait for itself.
SKUA_API skua_status skua_wait(skua_server *server);

// skua_start and skua_wait. When the start fails, the log says why, in the sentence of
// skua_server_error.
// Returns: the status of whichever failed, or SKUA_OK.  Thread: as skua_start.
SKUA_API SKUA_NODISCARD skua_status skua_run(skua_server *server);

// Asks the server to stop: it accepts no more, finishes what runs, and after grace_ns closes the
// rest. Connections between two requests are read once more and closed; whoever sends behind a last
// answer is heard for 200 ms at most. So the grace is for what is being served.
// grace_ns: 0 or less ends at once; a hundred years is the longest.
// A second call with a smaller grace shortens it, one with a larger grace changes nothing.
// Before the start, or while that runs, it makes the server end as soon as it has started, with
// SKUA_OK and without listening; a start that fails leaves it for the next one. After the end it
// belongs to the run that is over, and a server that is started again serves.
// Thread: any, and signal handlers.
SKUA_API void skua_stop(skua_server *server, int64_t grace_ns);

// Lets clients go, as before a machine is taken from behind a balancer: each next response says that its
// connection closes, and HTTP/2 connections get GOAWAY. The server goes on accepting, and new connections
// get the same; event streams and WebSockets stay, and no idle connection of HTTP/1 is closed. It lasts until
// skua_stop, which then has less to wait for; a server that is started again is not drained.
// Before the start it counts from the start on.  Thread: any, and signal handlers.
SKUA_API void skua_drain(skua_server *server);

// Leaves the listening to another process, which has the same sockets: accepts no more, and drains as skua_drain
// does. Sockets that were given by skua_listen_fd are not closed before the end. Idle connections stay until their next
// response, which says that they close, or their timeout; it is for the caller to stop the server when
// skua_stats.connections_open is 0, or when they have had enough time.
// Before the start it counts from the start on.  Thread: any, and signal handlers.
SKUA_API void skua_leave(skua_server *server);

// Lets SIGINT and SIGTERM stop the server: with grace_ns, or at once if it stops already. A signal that is
// ignored stays ignored. When the server is freed, these signals do what they did before. A second call for
// the same server changes the grace.
// Errors: SKUA_EEXIST another server of this process has the signals; SKUA_ENOMEM.  Thread: as skua_start.
SKUA_API SKUA_NODISCARD skua_status skua_stop_on_signals(skua_server *server, int64_t grace_ns);

// Opens the server to be turned by the caller, in a loop of its own, instead of by threads:
// listens, with one worker whatever skua_config.workers says. After it, when skua_fd becomes
// readable or skua_timeout_ns has passed, skua_turn is to be called:
//
//     struct pollfd fds[] = { { skua_fd(server), POLLIN, 0 }, { mine, POLLIN, 0 } };
//     while (skua_turn(server, 0) == SKUA_OK) {
//         int64_t ns = skua_timeout_ns(server);
//         poll(fds, 2, ns < 0 ? -1 : (int)((ns + 999999) / 1000000));
//     }
//
// Handlers and callbacks run inside skua_turn. Several servers can be open in one thread. io_uring
// has no descriptor to
// wait for: epoll is used in its place.
// Errors: those of skua_start.
// Thread: the one that then calls skua_fd, skua_timeout_ns, skua_turn and skua_server_free; another
// one there is a programming error, and so is calling skua_turn from a callback.
SKUA_API SKUA_NODISCARD skua_status skua_open(skua_server *server);

// A descriptor that is readable when skua_turn has something to do; it stays the server's, and the
// same until the server has ended. -1 when the server is not open. The caller only waits for it.
SKUA_API int skua_fd(const skua_server *server);

// How long the caller may wait for skua_fd before it must call skua_turn all the same; 0: not at
// all; -1: for ever. A day is the longest.
// To be asked after each skua_turn, and after anything that was done with the server outside of
// one.
SKUA_API int64_t skua_timeout_ns(const skua_server *server);

// One turn: waits until there is something to do, does it, and returns.
// timeout_ns: how long to wait, at most a day; 0 not at all; -1 for ever.
// Operations that were asked of the kernel are on their way when it returns, or skua_timeout_ns is
// 0; always the former when timeout_ns is 0. SIGPIPE is neither raised nor left pending.
// Returns: SKUA_OK; SKUA_ECLOSED once the server has ended after skua_stop, or was not open;
// SKUA_EIO once it has ended by itself, as skua_wait describes. Its resources are then given back,
// and skua_open may be called again.
SKUA_API SKUA_NODISCARD skua_status skua_turn(skua_server *server, int64_t timeout_ns);

// A sentence about the last error of skua_listen, skua_route, skua_use, skua_start or skua_wait; ""
// when there was none.
// Lifetime: until the next such call.
SKUA_API const char *skua_server_error(const skua_server *server);

// Sets the sentence that skua_server_error returns (copied, cut at 255 octets), for functions built
// on this interface.
SKUA_API void skua_server_set_error(skua_server *server, const char *sentence);

// Calls release once when the server is freed, started or not, after the last worker's objects have
// been dropped. Several are called in the reverse order of their registration.
// Errors: SKUA_ENOMEM; release is then never called.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_server_on_free(skua_server *server,
                                                        void (*release)(void *user), void *user);

// Address number index (from 0) that the running server listens on, as text that skua_listen takes,
// with the real port; "" when it was removed, NULL when there is none of that index.
// Lifetime: the server's, or until skua_listener_add takes the number again.
SKUA_API const char *skua_server_address(const skua_server *server, size_t index);

// Whether TLS is spoken at that address.
SKUA_API bool skua_server_address_is_secure(const skua_server *server, size_t index);

// The number of workers, also of those that rest by skua_workers_set, and the name of the backend in use ("uring");
// after skua_start.
SKUA_API unsigned skua_server_workers(const skua_server *server);
SKUA_API const char *skua_server_backend(const skua_server *server);

// Writes a line to the error log: "skua: …". Controls are escaped. A server that does not run has no
// log: from skua_wait's return to the next start, nothing is written.  Thread: any.
SKUA_API void skua_log(skua_server *server, skua_slice message);

// ---- Routes -----------------------------------------------------------------------------------

// Answers a request, now or later on the same worker. user: as given with the route.
typedef void skua_handler(skua_request *request, void *user);

// Sends requests that match pattern to handler. Before skua_start.
// pattern: "[METHOD ][HOST]/PATH".
// METHOD: one token; without it every method matches. GET serves HEAD too.
// HOST: a name without port, compared without case ("example.com"); "{name}.example.com" takes any
// one label before the rest; without it every host matches. A Host must still be one that
// skua_config.hosts takes.
// PATH starts with "/" and is matched against the normalised path, segment by segment: "/a" exactly
// "/a"; "/{name}" any one segment; "/a/{name...}" everything below "/a/"; "/a/" the same without a
// name; "/a/{$}" exactly "/a/".
// The most specific pattern wins: by host (a name before {name} before none), then by path (literal
// before {name} before {name...}), then by method. Two that match some of the same requests while
// neither is more specific, such as "/a/{x}" and "/{y}/b", are refused, in whatever order they come.
// A path with no pattern is answered 404; one that has only other methods 405 with Allow, also where a
// less specific pattern without a method takes everything below: a route for "/" catches what has no
// route, and nothing else.
// Errors: SKUA_EINVAL not a pattern; SKUA_EEXIST one that it conflicts with is there
// (skua_server_error names both); SKUA_ENOMEM; SKUA_ESTATE. Cost: that of a path, for finding,
// whether there are ten or ten thousand.
SKUA_API SKUA_NODISCARD skua_status skua_route(skua_server *server, const char *pattern,
                                               skua_handler *handler, void *user);

struct skua_directory_config; // see there

// A route with more than a handler. Zero means none, for every member but pattern. Read during the call.
typedef struct skua_route_desc {
    const char *pattern;    // as for skua_route
    skua_handler *handler;  // one of these two, or a directory: on the worker, or
    skua_handler *blocking; // on a thread of the pool, as for skua_route_blocking
    void *user;             // of the handler
    // the most content that a request of this route may have [413], in place of
    // skua_config.content_octets_max where that would count: more than it, or less
    uint64_t content_octets_max;
    int64_t timeout_ns; // of the handler, as for skua_request_timeout
    // Name of the route, in place of its pattern where the log complains about a handler, and as the member "route"
    // in lines of SKUA_LOG_JSON. Copied; 100 octets of it are shown
    const char *name;
    // Path of a directory whose files are served, as by skua_route_directory, and how; NULL for the defaults. It
    // takes neither content_octets_max nor timeout_ns
    const char *directory;
    const struct skua_directory_config *directory_config;
} skua_route_desc;

// Adds such a route. Before skua_start.
// Errors: those of skua_route, and for a directory of skua_route_directory.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_add(skua_server *server,
                                                     const skua_route_desc *desc);

// The value of the "{name}" or "{name...}" of the pattern that matched: segments decoded, a host's
// label as received; {NULL, 0} for an unknown name.
SKUA_API skua_slice skua_request_param(const skua_request *request, const char *name);

// Such a value as a decimal number. When it is none, or below min or above max, 400 is the response, which
// names the parameter, and the handler returns.
// Returns: whether *value was written.  Thread: worker, pool.
SKUA_API bool skua_request_param_i64(skua_request *request, const char *name, int64_t min,
                                     int64_t max, int64_t *value);

// The name of the route that matched, or the pattern of one without a name; NULL for none. Lifetime: the
// request's.
SKUA_API const char *skua_request_route(const skua_request *request);

// The pattern that matched, for logs and metrics; NULL for none (404, 405). Lifetime: the request's.
SKUA_API const char *skua_request_pattern(const skua_request *request);

// ---- Reading a request ------------------------------------------------------------------------

// A field line: the name as received, the value without white space around it.
typedef struct skua_field {
    skua_slice name;
    skua_slice value;
} skua_field;

// The request's parts. method: any token. target: as received, and so perhaps with octets that RFC
// 3986 does not know, which skua_redirect encodes; see skua_config.strict_target. path: normalised
// and decoded once, starts with "/" ("*" for OPTIONS *, "" for CONNECT). query: after the first
// "?", undecoded, without it.
// authority: the target's, or else Host. version: 10, 11 or 20.
SKUA_API skua_slice skua_request_method(const skua_request *request);
SKUA_API skua_slice skua_request_target(const skua_request *request);
SKUA_API skua_slice skua_request_path(const skua_request *request);
SKUA_API skua_slice skua_request_query(const skua_request *request);
SKUA_API skua_slice skua_request_authority(const skua_request *request);
SKUA_API int skua_request_version(const skua_request *request);

enum { SKUA_TLS_FINGERPRINT_OCTETS = 32 };

// How a connection is protected.
typedef struct skua_tls_info {
    const char *version;    // "TLSv1.3"
    const char *cipher;     // "TLS_AES_128_GCM_SHA256"
    skua_slice server_name; // that the client sent, in lower case; empty: none
    skua_slice protocol;    // agreed on by ALPN; empty: none
    // The subject of the client's certificate, as in RFC 4514; empty: it has shown none.
    skua_slice client;
    const unsigned char *client_fingerprint; // SHA-256 of that certificate; NULL: none
    bool is_resumed;                         // by a session ticket
} skua_tls_info;

// Whether the client's request came over TLS, and its scheme, "https" or "http"; not known of one that
// has ended, which counts as one in the clear. Behind a proxy that skua_config.trusted names, it is what
// the proxy says of its own client's connection, if it says so.  Thread: worker, pool.
SKUA_API bool skua_request_is_secure(const skua_request *request);
SKUA_API const char *skua_request_scheme(const skua_request *request);

// Tells how the connection to this server is protected, that of a proxy too. info: what it points to lives until on_end has been called, or a blocking
// handler has returned. Returns: false, and *info is not written, if the request came in the clear, or
// has ended.  Thread: worker, pool.
SKUA_SIZED bool skua_request_tls(const skua_request *request, skua_tls_info *info);

// Whether the path can name a file: false if it held an encoded slash, a backslash or an encoded
// one.
SKUA_API bool skua_request_path_is_plain(const skua_request *request);

// Parameter number index of the pattern that matched, in its order; false past the last.
SKUA_API bool skua_request_param_at(const skua_request *request, size_t index, skua_field *param);

// The first field of that name, whatever its case; {NULL, 0} when absent.
SKUA_API skua_slice skua_request_field(const skua_request *request, const char *name);

// The next field of that name, whatever its case. *index: 0 for the first, and kept between calls.
// Returns false, and leaves both as they are, when there is none.
SKUA_API bool skua_request_field_next(const skua_request *request, const char *name, size_t *index,
                                      skua_slice *value);

// Field line number index in order of arrival; false past the last.
SKUA_API bool skua_request_field_at(const skua_request *request, size_t index, skua_field *field);

// The first value of a query parameter, decoded ("+" is a space, a "%" without two hexadecimal
// digits stands for itself); {NULL, 0} when absent, {"", 0} when empty or memory ran out.
// Cost: decoding takes memory of the request.
SKUA_API skua_slice skua_request_query_param(const skua_request *request, const char *name);

// The first value of a query parameter as a decimal number, as skua_request_param_i64 has it; otherwise
// when there is no such parameter.
// Returns: whether *value was written; false, 400 is the response.  Thread: worker, pool.
SKUA_API bool skua_request_query_i64(skua_request *request, const char *name, int64_t otherwise,
                                     int64_t min, int64_t max, int64_t *value);

// Query parameter number index in order of arrival, decoded, its name too; false past the last, and
// past skua_config.params_max; and when memory ran out.
// Cost: all are decoded at the first call and kept.
SKUA_API bool skua_request_query_at(const skua_request *request, size_t index, skua_field *param);

// Whether the request has any of the fields If-Match, If-None-Match, If-Modified-Since,
// If-Unmodified-Since, If-Range and Range. Cost: a test of bits. Spec: RFC 9110 §13.1, §14.2
SKUA_API bool skua_request_is_conditional(const skua_request *request);

// Cookie number index in order of arrival, undecoded; false past the last.  Spec: RFC 6265 §5.4
SKUA_API bool skua_request_cookie_at(const skua_request *request, size_t index, skua_field *cookie);

// The first cookie of that name (case matters); {NULL, 0} when absent.
SKUA_API skua_slice skua_request_cookie(const skua_request *request, const char *name);

// Writes the client's address as text, "127.0.0.1", "::1" or "unix", with a NUL, cut to room. "" when
// on_end has returned. Behind proxies that skua_config.trusted names, it is the address that these give,
// or where they keep it to themselves "unknown" or a name that begins with "_"; the proxy's own is
// skua_connection_peer's.
// Returns: its length without the NUL.  Cost: the fields are read at each call.  Thread: worker, pool.
// Spec: RFC 7239 §5.2, §6
SKUA_API size_t skua_request_peer(const skua_request *request, char *text, size_t room);

// A name by which the request is found in the logs of all who have had it: from a proxy that
// skua_config.trusted names, the trace-id of its traceparent, or else its X-Request-Id of 1 to 128 letters,
// digits and "-_.:+/=@"; otherwise 32 random hexadecimal digits. The same at each call; but a name that
// was made in a blocking handler is known there only, unless middleware has asked for it before.
// Returns: memory of the request, as skua_request_alloc gives it; {NULL, 0} when memory ran out, or when
// on_end has returned and nobody had asked before.  Thread: worker, pool.
// Cost: nothing for requests that are not asked.  Spec: W3C Trace Context §3.2
SKUA_API skua_slice skua_request_id(skua_request *request);

// Whether the peer has said that it sends no more; it may still read the response. Unless
// skua_config.half_close is set, a request that waits for something is then ended.
SKUA_API bool skua_request_peer_is_done(const skua_request *request);

// Whether nobody waits for the response any more: the client has left (see skua_config.half_close),
// the connection has died, or handler_timeout_ns has passed. A long blocking handler may look at it and
// give up.  Thread: worker, pool.
SKUA_API bool skua_request_is_gone(const skua_request *request);

// Memory of the request, aligned for anything, freed after on_end, or, in a blocking handler, when
// that has returned; NULL when memory ran out.  Thread: worker, pool.
SKUA_API void *skua_request_alloc(skua_request *request, size_t octets);

// Keeps a request's memory, and so every slice of it, after on_end and until as many calls of
// skua_request_drop. The worker does not end before.
// A held request can still be read. From the call of on_end on, functions that respond, take content
// or a ticket return SKUA_ECLOSED; where content is lost because the client has left, they do
// before. Other functions that would change what becomes of the request do nothing then.
SKUA_API void skua_request_hold(skua_request *request);
SKUA_API void skua_request_drop(skua_request *request);

// Gives a request up: the response is not completed, the connection is closed, and on_end is told
// SKUA_END_ERROR. Octets queued before may still leave. A response that is complete is not affected.
SKUA_API void skua_request_abort(skua_request *request);

// The worker and the server a request belongs to.
SKUA_API skua_worker *skua_request_worker(const skua_request *request);
SKUA_API skua_server *skua_request_server(const skua_request *request);

// The connection a request came by; NULL when on_end has returned, and in the on_end of a request whose
// connection ended while a blocking handler ran.
SKUA_API skua_connection *skua_request_connection(const skua_request *request);

// Ends the connection after this response, which then says "Connection: close". Nothing that comes
// behind the request is served. Once the response is given with its whole content it is too late, and
// nothing happens.
// Spec: RFC 9112 §9.6
SKUA_API void skua_request_close(skua_request *request);

// How a request ended.
typedef enum skua_end {
    SKUA_END_SENT,    // every octet of the response was handed to the kernel
    SKUA_END_CLOSED,  // the peer closed or reset the connection, or sends no more while we wait
    SKUA_END_TIMEOUT, // a deadline passed
    SKUA_END_ERROR,   // the response's source failed, or the server stopped
} skua_end;

// Called once, when the response's last octet has left or the request has died. Nothing can be
// answered any more. A request that is not held is gone when this returns.
typedef void skua_end_fn(skua_request *request, skua_end how, void *user);

// Leaves the request out of the access log. It still counts in statistics. Until it has ended: the last
// place is skua_on_end's function, or middleware's end.
SKUA_API void skua_request_skip_log(skua_request *request);

// Sets the function that is called when the request ends; a later call replaces an earlier one. fn:
// NULL for none.
SKUA_API void skua_on_end(skua_request *request, skua_end_fn *fn, void *user);

// ---- Reading its content ----------------------------------------------------------------------

// Events that a skua_content_fn is told of.
typedef enum skua_content_event {
    SKUA_CONTENT_DATA, // octets came
    SKUA_CONTENT_END,  // the content is complete; octets is empty
    SKUA_CONTENT_LOST  // it will never be complete; octets is empty; on_end follows
} skua_content_event;

// Takes content as it comes. octets: valid during the call only.
typedef void skua_content_fn(skua_request *request, skua_content_event event, skua_slice octets,
                             void *user);

// The content's length in octets; 0 without content; -1 when chunked and so unknown.
SKUA_API int64_t skua_content_length(const skua_request *request);

// Starts reading the content: fn is called with each piece until END or LOST, first perhaps before
// this returns. Sends 100 (Continue) if the client waits for one and the response has not begun. Of
// what fn was given, what has not been consumed by skua_content_consume counts against
// skua_config.content_window_octets; when that is spent, the socket is not read.
// Content can be read while the response is given piece by piece (skua_respond_pull,
// skua_respond_stream), begun before or after the response's head. What has not come when the response
// ends is discarded: fn is told LOST.
// Errors: SKUA_ESTATE already reading, or answered in full.
SKUA_API SKUA_NODISCARD skua_status skua_content_read(skua_request *request, skua_content_fn *fn,
                                                      void *user);

// Gives back credit for n octets, at most as many as were delivered and not yet consumed. Content
// that was delivered before skua_upgrade needs and gets none: the tunnel begins with a whole window.
SKUA_API void skua_content_consume(skua_request *request, size_t n);

// Takes the whole content, or says why there is none: SKUA_OK; SKUA_ELIMIT more than octets_max
// (413 has been answered); SKUA_ECLOSED; SKUA_ENOMEM (503 has been answered).
// content: lives until on_end has returned.
typedef void skua_collected_fn(skua_request *request, skua_status status, skua_slice content,
                               void *user);

// Reads the whole content into memory, then calls fn once, perhaps before this returns.
// octets_max: 0 for that of the route (skua_route_add), or else skua_config.content_octets_max.
// Errors: SKUA_ESTATE already reading, or answered.
SKUA_API SKUA_NODISCARD skua_status skua_content_collect(skua_request *request, uint64_t octets_max,
                                                         skua_collected_fn *fn, void *user);

// The content, once skua_content_collect has all of it; in a blocking handler, the whole content.
// Empty before that.  Lifetime: until on_end has returned.  Thread: worker, pool.
SKUA_API skua_slice skua_request_content(const skua_request *request);

// Gives the handler of this request a time of its own, in place of skua_config.handler_timeout_ns: 503 when
// it has not responded by then, and a response that has begun and is silent for as long is cut off.
// timeout_ns: in nanoseconds; 0 for the server's, -1 for ever. Once the response is complete it does nothing.
SKUA_API void skua_request_timeout(skua_request *request, int64_t timeout_ns);

// Bounds the content, whoever reads it and however: once more has come than octets_max, or at once
// when the stated length is more, 413 is answered (the connection ends if a response has begun), and
// a reader is told LOST.
// For middleware and for handlers that stream; a later call replaces an earlier one.
// octets_max: 0 for no bound.
// Errors: SKUA_ELIMIT 413 has been answered; SKUA_ESTATE answered.  Spec: RFC 9110 §15.5.14
SKUA_API SKUA_NODISCARD skua_status skua_content_limit(skua_request *request, uint64_t octets_max);

// The first trailer field of that name, once skua_content_fn has been told END or the content is
// collected; {NULL, 0} when absent. Trailers never merge into fields.  Spec: RFC 9110 §6.5
SKUA_API skua_slice skua_request_trailer(const skua_request *request, const char *name);

// Parameters of a form, application/x-www-form-urlencoded, decoded. content: as collected; whether
// the client called it a form (Content-Type) is for the caller to look at.
// The first of that name; {NULL, 0} when absent or memory ran out, {"", 0} when empty.
SKUA_API skua_slice skua_form_param(const skua_request *request, skua_slice content,
                                    const char *name);

// Number index in order of arrival; false past the last, and past skua_config.params_max; and when
// memory ran out.
// Cost: all are decoded at the first call for one content and kept.
SKUA_API bool skua_form_at(const skua_request *request, skua_slice content, size_t index,
                           skua_field *param);

// A field of the form that a browser sends, decoded: of the content that was collected, by
// skua_content_collect or for a blocking handler, if the client calls it
// application/x-www-form-urlencoded. The first of that name.
// Returns: {NULL, 0} when it is absent, there is no such content or memory ran out; {"", 0} when it is empty.
// Lifetime: until on_end has returned.  Thread: worker, pool.
SKUA_API skua_slice skua_form(const skua_request *request, const char *name);

// A part of multipart/form-data. name, filename: of Content-Disposition, as the client says, quotes
// and backslashes undone; filename is {NULL, 0} when there is none. It is never to be used as a
// path. type: Content-Type, or {NULL, 0}.
// fields: all of the part's fields; a quoted name or filename has been undone where it lies.
typedef struct skua_part {
    skua_slice name, filename, type;
    const skua_field *fields;
    size_t fields_count;
} skua_part;

// Events that a skua_part_fn is told of.
typedef enum skua_part_event {
    SKUA_PART_BEGIN,  // a part's head has come
    SKUA_PART_DATA,   // octets of its content
    SKUA_PART_END,    // it is complete
    SKUA_PARTS_END,   // all are; part is NULL
    SKUA_PARTS_FAILED // 400 or 413 has been answered, or the content is lost; part is NULL
} skua_part_event;

// Takes parts as they come, one after the other. part: valid from its BEGIN until its END has been
// told.
// octets: of DATA, during the call only; empty otherwise.
typedef void skua_part_fn(skua_request *request, skua_part_event event, const skua_part *part,
                          skua_slice octets, void *user);

// Reads multipart/form-data part by part, as skua_content_read reads octets: what fn is told by
// DATA is to be given back by skua_content_consume. The grammar is taken strictly; at most
// skua_config.parts_max parts, with heads of at most skua_config.part_head_octets_max [413].
// Content is bounded by skua_content_limit.
// Errors: SKUA_EINVAL the request's Content-Type is no multipart/form-data with a boundary (415 or
// 400 is the caller's to answer); SKUA_ENOMEM; SKUA_ESTATE already reading, or answered. Spec: RFC
// 7578, RFC 2046 §5.1
SKUA_SIZED SKUA_NODISCARD skua_status skua_multipart_read(skua_request *request, skua_part_fn *fn,
                                                          void *user);

// Content that was kept whole. file: NULL while it is in memory; then octets has it.
// Both live until on_end has returned; skua_file_ref keeps the file longer.
typedef struct skua_upload {
    skua_slice octets;
    skua_file *file;
    uint64_t length;
} skua_upload;

// Takes what was kept, or says why there is none: SKUA_OK; SKUA_ELIMIT (413 has been answered);
// SKUA_ECLOSED; SKUA_ENOMEM, SKUA_ENOFILE (503 has been answered); SKUA_EIO, SKUA_EACCES,
// SKUA_ENOENT the spool directory cannot be written to (500 has been answered). upload: during the
// call; NULL unless SKUA_OK.
typedef void skua_spooled_fn(skua_request *request, skua_status status, const skua_upload *upload,
                             void *user);

// Reads the whole content, into memory while it is small, else into a file without a name in
// skua_config.spool_directory, and calls fn once, perhaps before this returns. The file is written
// by helper threads; a disk that is slower than the client slows the client.
// memory_max: octets kept in memory; 0 for 65536. octets_max: 0 for skua_config.content_octets_max.
// Errors: SKUA_ENOMEM; SKUA_ESTATE already reading, or answered.
SKUA_SIZED SKUA_NODISCARD skua_status skua_content_spool(skua_request *request, size_t memory_max,
                                                         uint64_t octets_max, skua_spooled_fn *fn,
                                                         void *user);

// A part of a form, kept whole. Its slices live until on_end has returned.
typedef struct skua_form_part {
    skua_part part;
    skua_upload upload;
} skua_form_part;

// Takes the parts in order of arrival, or says why there are none: as skua_spooled_fn;
// SKUA_EPROTOCOL the form is broken (400 has been answered).
typedef void skua_form_fn(skua_request *request, skua_status status, const skua_form_part *parts,
                          size_t count, void *user);

// Reads a form, multipart/form-data, as a whole and calls fn once, perhaps before this returns.
// memory_max: octets of all parts together that are kept in memory; 0 for 65536. A part that does
// not fit beside those before it goes to a file of its own; at most skua_config.part_files_max
// [413].
// octets_max: of the whole content; 0 for skua_config.content_octets_max.
// Errors: those of skua_multipart_read.
SKUA_SIZED SKUA_NODISCARD skua_status skua_multipart_collect(skua_request *request,
                                                             size_t memory_max, uint64_t octets_max,
                                                             skua_form_fn *fn, void *user);

// ---- Middleware -------------------------------------------------------------------------------

// Functions around handlers. Each member may be NULL, and then does nothing.
typedef struct skua_middleware {
    // Called before the handler. Answers, or calls skua_next, now or later on the same worker. The
    // route is
    // known by then: skua_request_param and skua_request_pattern work.
    void (*before)(skua_request *request, void *user);
    // Called once, when the response's status is known and its head not written: skua_field_add works
    // here, answering does not. Also for the server's own responses (404, 405, 413, 503, …). Not for
    // a response that does not fit into a head, but for the 500 that is given instead. When a field
    // is lost here, the response becomes 500 without another call.
    void (*head)(skua_request *request, int status, void *user);
    // Called once when the request ends, answered or not; before its on_end.
    void (*end)(skua_request *request, skua_end how, void *user);
    void *user;
} skua_middleware;

// Puts middleware before every request at or below prefix that has a well-formed head and a host
// that is served, also before those that end in 404 or 405.
// prefix: "[METHOD ][HOST]/PATH" as for skua_route, without {name} in the path: "/" is every
// request, "/a" those of "/a" and below "/a/", "/a/" the latter only. Copied, as is *middleware.
// before runs in the order of these calls, head and end in reverse, for exactly those whose turn
// came: when one answers, those behind it never hear of the request.
// Before skua_start. Errors: SKUA_EINVAL not a prefix; SKUA_ELIMIT more than 64; SKUA_ENOMEM;
// SKUA_ESTATE.
// Cost: none while there is none; then a comparison for each, per request.
SKUA_SIZED SKUA_NODISCARD skua_status skua_use(skua_server *server, const char *prefix,
                                               const skua_middleware *middleware);

// Responds with an error of that status in place of the server's page. sentence: that of skua_refuse, or
// empty. It responds before it returns, with the whole content (not by skua_respond_pull,
// skua_respond_stream or skua_events_open); if it does not, the page is sent.
// Thread: that of the request; the pool's when a blocking handler has asked for the error.
typedef void skua_error_fn(skua_request *request, int status, skua_slice sentence, void *user);

// Lets fn respond to the requests at or below prefix wherever the server has an error to tell: its own
// (400, 404, 405, 408, 413, 431, 500, 503 and the others) and those of skua_respond_error and skua_refuse,
// which inside fn send the server's page. Of several prefixes that take a request the most specific
// counts. A request whose head could not be read has no path: only "/" takes it.
// Allow and Connection are right whatever fn does; other fields that had been added are dropped when
// the error is the server's own.
// prefix: as for skua_use.
// Before skua_start. Errors: SKUA_EINVAL not a prefix; SKUA_ELIMIT more than 64; SKUA_ENOMEM;
// SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_on_error(skua_server *server, const char *prefix,
                                                  skua_error_fn *fn, void *user);

// Passes the request on from before: to the next middleware, or to the handler. Once for each; does
// nothing when the request has been answered meanwhile (by a timeout).
SKUA_API void skua_next(skua_request *request);

// Routes below a prefix, and middleware around every request at or below it.
typedef struct skua_group {
    const char *prefix; // "[HOST]/PATH", without "/" at its end: "/api", "example.org/api"
    const skua_middleware *middleware; // runs in this order
    size_t middleware_count;
    // Their patterns are "[METHOD ]/PATH", below prefix: "GET /users" is "GET /api/users".
    const skua_route_desc *routes;
    size_t route_count;
} skua_group;

// Adds a group. Everything is copied but what users point to. Before skua_start.
// Errors: those of skua_use and skua_route_add; those before the one that fails have been added.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_group(skua_server *server,
                                                       const skua_group *group);

// ---- Sites ------------------------------------------------------------------------------------

// Routes, middleware and error functions for some hosts. A site is made beside a server, which may run
// meanwhile, and then put into it as a whole. Requests for its hosts are its own from then on; requests
// for other hosts are the server's own, and meet what skua_route and its neighbours have added.
// A request that has begun keeps its site until it ends, also where another one is put in its place.
// A site is filled by one thread at a time, which may be any.
typedef struct skua_site skua_site;

// Describes a site. Zero means nothing, for every member but hosts.
typedef struct skua_site_desc {
    // Names without ports, separated by spaces; "*.example.org" is every name with one label more, "*"
    // every host that no other site names. The most specific name counts. They are served whatever
    // skua_config.hosts says. Copied.
    const char *hosts;
    // Called when the site is freed, and no request of it is left: nobody uses what its functions were
    // given as user any more. NULL: not called.
    // Thread: the worker's that had the last of its requests, or that of the call that let it go.
    void (*release)(void *user);
    void *user;
    // This identity is shown to clients that ask for one of the hosts over TLS; the site adds a reference of its own. It comes and
    // goes with the site: each worker takes both over in one step. Connections keep what they have been shown. NULL: what
    // skua_config.tls says, which also is for hosts of no site; where all certificates are of sites, its choose returns NULL
    skua_tls_identity *identity;
} skua_site_desc;

// Makes a site without routes. It is freed before its server is, by skua_site_free if it is not put.
// Errors: NULL: memory ran out. Names that are none are told of by skua_site_put.
SKUA_SIZED SKUA_NODISCARD skua_site *skua_site_new(skua_server *server, const skua_site_desc *desc);

// Frees a site that has not been put, and calls its release. NULL is allowed.
SKUA_API void skua_site_free(skua_site *site);

// The last failure of a function of this site, as a sentence for people.
SKUA_API const char *skua_site_error(const skua_site *site);

// As skua_route, skua_route_add, skua_route_group, skua_use and skua_on_error, for the requests of this site; the server
// may run. Errors: theirs but SKUA_ESTATE.
SKUA_API SKUA_NODISCARD skua_status skua_site_route(skua_site *site, const char *pattern,
                                                    skua_handler *handler, void *user);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_route_add(skua_site *site,
                                                          const skua_route_desc *desc);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_group(skua_site *site, const skua_group *group);
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_use(skua_site *site, const char *prefix,
                                                    const skua_middleware *middleware);
SKUA_API SKUA_NODISCARD skua_status skua_site_on_error(skua_site *site, const char *prefix,
                                                       skua_error_fn *fn, void *user);

// Calls release when the site is freed, and no request of it is left, before the release of skua_site_desc.
// Errors: SKUA_ENOMEM.  Thread: of release: as that of skua_site_desc's.
SKUA_API SKUA_NODISCARD skua_status skua_site_on_free(skua_site *site, void (*release)(void *user),
                                                      void *user);

// The server beside which a site was made.
SKUA_API skua_server *skua_site_server(const skua_site *site);

// Sets the sentence that skua_site_error returns (copied, cut at 511 octets), for functions built on this
// interface.
SKUA_API void skua_site_set_error(skua_site *site, const char *sentence);

// Puts a site into its server, before or after skua_start. Each of its hosts is its own from then on: a
// site that had the host before loses it, and is freed when it has none left and the last of its
// requests has ended. Workers take the change over by themselves; a request that comes in the same
// moment may still meet the former site. On success the site is the server's: it must not be used by
// the caller any more. On failure nothing has changed.
// Errors: SKUA_EINVAL hosts are no names; SKUA_ENOMEM; SKUA_ECLOSED the server is being freed. Thread: any.
// Cost: of a request for a server that has sites, a look into a table of names, however many there are.
SKUA_API SKUA_NODISCARD skua_status skua_site_put(skua_site *site);

// Takes hosts, as in skua_site_desc, from the sites that have them: their requests are the server's own
// from then on. Errors: SKUA_ENOENT no site has any of them; SKUA_ENOMEM. Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_site_withdraw(skua_server *server, const char *hosts);

// Puts sites in the place of all that the server has, at one stroke, as the configuration of a program changes: hosts
// that none of them has are the server's own from then on. Of two that name the same host the later one has it. On
// success all are the server's, as after skua_site_put; on failure nothing has changed, and all are the caller's.
// sites: count of the same server, each once; may be NULL when count is 0.
// Errors: those of skua_site_put; skua_site_error says more about hosts that are no names. Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_sites_replace(skua_server *server, skua_site *const *sites,
                                                       size_t count);

// Keeps an object with the request under a key, for those that come later: the address of something
// of the caller's, so that no two clash. The same key again replaces it. A blocking handler has the
// objects that were there when it was called; those it sets are for itself.
// Errors: SKUA_ENOMEM.
SKUA_API SKUA_NODISCARD skua_status skua_request_set(skua_request *request, const void *key,
                                                     void *object);

// The object that skua_request_set has kept with the request under that key; NULL when there is
// none.
SKUA_API void *skua_request_get(const skua_request *request, const void *key);

// The status of the response; 0 while there is none. The octets of its content: queued so far, and in
// skua_on_end and middleware's end those that were handed to the kernel.
SKUA_API int skua_request_status(const skua_request *request);
SKUA_API uint64_t skua_request_sent(const skua_request *request);

// ---- Responding -------------------------------------------------------------------------------

// Every function that responds sends a complete response, and is called once per request.
// status: 200..599. type: media type, copied; NULL for no Content-Type. For HEAD, 204, 205 and 304
// the content is not sent.
// Nobody has to look at the results. A response that cannot be given becomes 500, or, when memory ran
// out, its connection is closed; a field that cannot be added makes the response 500, or cuts it off if
// its head has left. The log names the route and the reason.
// Errors of them all: SKUA_ESTATE there is a response already, which stays; SKUA_ECLOSED the request
// has ended; SKUA_EINVAL status, type or a length out of range, or a field was lost before; SKUA_ENOMEM;
// SKUA_ELIMIT the field section is too large. skua_config.strict makes a second response, and a
// status or length out of range, stop the process.
// Date, Content-Length, Transfer-Encoding, Connection and Server-wide fields are the server's to
// set.

// Adds a field to the response, before it is given. name, value: copied. Content-Type replaces one
// that was added before, and gives way to one that the response states later.
// Errors: SKUA_EINVAL not a token, CR, LF or NUL in the value, or a field that is the server's to
// set; SKUA_ENOMEM; SKUA_ELIMIT more than 8192 octets of fields: the response becomes 500;
// SKUA_ESTATE, SKUA_ECLOSED too late, nothing else happens.  Spec: RFC 9110 §5
SKUA_API skua_status skua_field_add(skua_request *request, const char *name, skua_slice value);

// Responds with a copy of content.
SKUA_API skua_status skua_respond(skua_request *request, int status, const char *type,
                                  skua_slice content);

// Called once when lent octets are no longer needed.
typedef void skua_release_fn(void *user);

// Responds with content that stays the caller's and must not change until release has been called,
// once, whatever this returns. release: NULL for content that never changes.
SKUA_API skua_status skua_respond_borrowed(skua_request *request, int status, const char *type,
                                           skua_slice content, skua_release_fn *release,
                                           void *user);

// The outcome of a pull function.
typedef enum skua_pulled {
    SKUA_PULL_OCTETS,  // *octets octets were written, at least one
    SKUA_PULL_END,     // no more will come; *octets may be more than 0
    SKUA_PULL_PENDING, // none now; skua_wake will be called; see stream_idle_timeout_ns
    SKUA_PULL_ERROR    // the content cannot be completed; the connection is closed
} skua_pulled;

// Writes up to room octets of content to buffer. Called when the connection can take some.
typedef skua_pulled skua_pull_fn(skua_request *request, char *buffer, size_t room, size_t *octets,
                                 void *user);

// Responds with content that is pulled when it can be sent.
// length: octets the source will give, or -1 when it is not known (chunked in HTTP/1.1).
SKUA_API skua_status skua_respond_pull(skua_request *request, int status, const char *type,
                                       int64_t length, skua_pull_fn *pull, void *user);

// Adds a trailer field to a response given by skua_respond_pull with length -1, at the latest while
// its pull function returns END, or by skua_respond_stream, before skua_finish. It is sent if the
// answer is chunked, else dropped. name, value: copied.
// Errors: SKUA_EINVAL, also for names that frame, route or authenticate; SKUA_ENOMEM; SKUA_ELIMIT:
// the response is cut off, or becomes 500 if its head has not left; SKUA_ESTATE; SKUA_ECLOSED.
SKUA_API skua_status skua_trailer_add(skua_request *request, const char *name, skua_slice value);

// Says that a source that was PENDING may be pulled again.
SKUA_API void skua_wake(skua_request *request);

// Called from the loop, never from within a function of this interface, when there is room again
// for what the handler writes.
typedef void skua_drained_fn(skua_request *request, void *user);

// Responds with content that the handler writes when it has some, by skua_write, and ends by
// skua_finish. The head leaves at the end of the turn. For HEAD, 204, 205 and 304 what is written
// is taken and dropped.
// length: octets that will be written, or -1 when it is not known (chunked in HTTP/1.1).
// drained: called once when at least half of skua_config.out_octets_max is free again, after a
// write was refused with SKUA_ELIMIT or left less than that; after a refusal, not before what was
// refused fits. NULL: not called.
SKUA_API skua_status skua_respond_stream(skua_request *request, int status, const char *type,
                                         int64_t length, skua_drained_fn *drained, void *user);

// Writes a copy of octets: all of them or, on error, none. Many small writes of one turn leave
// together.
// Errors: SKUA_ELIMIT more than out_octets_max would be queued, or in too many pieces: try again
// when drained is called; SKUA_EINVAL more than out_octets_max at once, or than the stated length
// in all; SKUA_ENOMEM;
// SKUA_ECLOSED the connection is about to end; SKUA_ESTATE no such response has been begun, or it is
// finished.
SKUA_API SKUA_NODISCARD skua_status skua_write(skua_request *request, skua_slice octets);

// How many octets skua_write would take now; 0 when nothing can be written any more.
SKUA_API uint64_t skua_write_room(const skua_request *request);

// Ends what skua_respond_stream began: adds trailers (skua_trailer_add, before) and lets the
// request end when all has left.
// Errors: SKUA_EINVAL less than the stated length was written; SKUA_ENOMEM: in both cases the
// connection is closed without completing the response; SKUA_ESTATE no such response has been begun, or
// it is finished.
SKUA_API skua_status skua_finish(skua_request *request);

// Begins an event stream (Server-Sent Events): 200, text/event-stream, Cache-Control: no-store, of
// unknown length. Until skua_finish it is written by skua_event_send. It may be quiet for
// skua_config.handler_timeout_ns, or if that is not set stream_idle_timeout_ns; send a comment now
// and then to keep it, and the path to the client, open. The response to HEAD is over at once.
// drained, errors: as with skua_respond_stream.  Spec: HTML Living Standard §9.2
SKUA_API skua_status skua_events_open(skua_request *request, skua_drained_fn *drained, void *user);

// One event. Zero means none, for every member.
typedef struct skua_event {
    // UTF-8; split at CRLF, CR and LF, and joined by LF again by the client. ptr NULL: no data, and
    // so nothing is dispatched; an empty slice with a ptr is empty data
    skua_slice data;
    skua_slice name;  // the event's type; without it "message"
    skua_slice id;    // kept by the client for Last-Event-ID; empty with a ptr: forgets it
    int64_t retry_ms; // milliseconds the client waits before it connects again
    bool comment;     // data is a comment, which no one is told of; the other members are not sent
} skua_event;

// Sends an event: all of it or, on error, none. event: read during the call only.
// Errors: those of skua_write; SKUA_EINVAL also CR, LF or NUL in name or id, or retry_ms below 0;
// SKUA_ESTATE also when the response is no event stream.
SKUA_SIZED SKUA_NODISCARD skua_status skua_event_send(skua_request *request,
                                                      const skua_event *event);

// Takes the connection over for another protocol, by 101 with the fields that were added. Then the
// content is what the client sends from here on, as it comes: skua_content_read tells DATA, and END
// when the client closes its half. skua_write sends octets as they are; skua_finish closes our
// half, and the request ends when both are closed, or at once if nobody reads. No other request is
// read from the connection.
// protocol: as the client offered it, "websocket". drained: as with skua_respond_stream.
// Errors: SKUA_EPROTOCOL the client does not ask for that protocol (Upgrade and Connection,
// HTTP/1.1): answer 426 with an Upgrade field, or 400, or as if nothing had been asked; SKUA_EINVAL
// not a protocol's name; SKUA_ESTATE answered already, or the request's content has not been read;
// SKUA_ENOMEM.
// CONNECT, which asks for a proxy's tunnel, has no path and so no route: it is answered 405.
// Spec: RFC 9110 §7.8, §15.2.2
SKUA_API SKUA_NODISCARD skua_status skua_upgrade(skua_request *request, const char *protocol,
                                                 skua_drained_fn *drained, void *user);

// Responds with a short page, for a client that accepts text/html, or else a line of text, that says
// what the status means. The response says "Vary: Accept".
SKUA_API skua_status skua_respond_error(skua_request *request, int status);

// Responds with the page of skua_respond_error, which says sentence in place of what the status
// means in general.
// status: 400..599. sentence: UTF-8, copied, escaped where the page is HTML, cut at 500 octets;
// empty for the general one.
// Errors: those above.
SKUA_API skua_status skua_refuse(skua_request *request, int status, skua_slice sentence);

// Judges the request by the entity tag of what it is for: that of the resource as it is now, before the handler
// makes a response or changes anything. To GET and HEAD it adds ETag, and responds 304 when the client has that
// already. To other methods it responds 412 when If-Match names another tag, or If-None-Match this one.
// tag: with its quotes, "\"v1\"", or "W/\"v1\"" where the octets may differ; {NULL, 0}: there is nothing as yet.
// Copied.
// Returns: whether the handler is to go on; false when a response has been given, also 500 for what is no tag.
// Spec: RFC 9110 §13.2
SKUA_API bool skua_etag(skua_request *request, skua_slice tag);

// Responds 200 with content and a strong ETag made of it, the same on every machine, or as skua_etag does.
// type, content: as in skua_respond.
// Errors: those of skua_respond.  Cost: a hash of the content.
SKUA_API skua_status skua_respond_tagged(skua_request *request, const char *type,
                                         skua_slice content);

// Responds with text in UTF-8, ended by NUL: text/plain, or text/html.
SKUA_API skua_status skua_respond_text(skua_request *request, int status, const char *text);
SKUA_API skua_status skua_respond_html(skua_request *request, int status, const char *html);

// Responds with text that printf makes of a format: text of type, NULL for text/plain in UTF-8. The text
// may have any length.
// Errors: those above; SKUA_EINVAL also a format that fails.
SKUA_API skua_status skua_respond_format(skua_request *request, int status, const char *type,
                                         const char *format, ...) SKUA_PRINTF(4, 5);
SKUA_API skua_status skua_respond_vformat(skua_request *request, int status, const char *type,
                                          const char *format, va_list arguments) SKUA_PRINTF(4, 0);

// Responds with application/json. json: a JSON text in UTF-8, which is not looked into; copied.
SKUA_API skua_status skua_respond_json(skua_request *request, int status, skua_slice json);

// Sends the client to another address. status: 301, 302, 303, 307 or 308.
// location: a URI or a path, copied. Octets that have no place there by RFC 3986 (controls, spaces,
// what is not ASCII, brackets in a path or query, a "%" that encodes nothing) are percent-encoded;
// escapes that are there already stay. One that begins with "//" names another host without saying
// so and is refused: write its scheme.
// Errors: those above; SKUA_EINVAL also an empty location, or one with "//" at its front;
// SKUA_ELIMIT longer than skua_config.target_octets_max. Spec: RFC 9110 §15.4, §10.2.2
SKUA_API skua_status skua_redirect(skua_request *request, int status, const char *location);

// Sends an interim response with these fields at once, before the response: 102 (Processing), 103
// (Early Hints) or another 1xx but 101. To HTTP/1.0 clients nothing is sent; and 100 (Continue),
// which skua_content_read sends by itself, only once and only to a client that waits for it.
// fields: copied; may be NULL when count is 0.
// Errors: SKUA_ESTATE answered already; SKUA_EINVAL another status, or a field that skua_field_add
// would refuse; SKUA_ELIMIT more than 8192 octets of fields, or more than out_octets_max is queued;
// SKUA_ENOMEM. Nothing is sent then, and the request goes on. Spec: RFC 9110 §15.2, RFC 8297
SKUA_API skua_status skua_inform(skua_request *request, int status, const skua_field *fields,
                                 size_t count);

// With which requests from other sites a cookie goes.
typedef enum skua_same_site {
    SKUA_SAME_SITE_DEFAULT = 0, // nothing is said; user agents take it as Lax, more or less
    SKUA_SAME_SITE_LAX,         // when the user follows a link
    SKUA_SAME_SITE_STRICT,      // with none
    SKUA_SAME_SITE_NONE         // with all; needs secure
} skua_same_site;

// A cookie to be set. Zero means none, for every member but name. Everything is copied.
typedef struct skua_cookie {
    const char *name; // a token
    // visible ASCII without DQUOTE, comma, semicolon and backslash; may stand in DQUOTEs
    skua_slice value;
    const char *path;   // starts with "/"; NULL: the directory of the request's path
    const char *domain; // that host and all below it; NULL: the request's host alone
    // seconds it is kept; 0: until the session ends; below 0: it is deleted now
    int64_t max_age_s;
    bool secure;    // only over secure connections
    bool http_only; // not for scripts
    skua_same_site same_site;
    bool partitioned; // kept apart for each top-level site; needs secure
} skua_cookie;

// Adds a Set-Cookie field to the response, before it is given or in middleware's head. To delete a cookie give the path and
// domain it was set with.
// Errors: those of skua_field_add; SKUA_EINVAL also for what is against the grammar, and for what
// user agents would drop: "__Secure-" without secure, "__Host-" without secure and path "/" or with
// a domain, SKUA_SAME_SITE_NONE or partitioned without secure; SKUA_ELIMIT also for more than 4096
// octets of name and value or 1024 of path or domain. Spec: RFC 6265bis §4.1
SKUA_SIZED skua_status skua_cookie_set(skua_request *request, const skua_cookie *cookie);

// ---- Filters of content -----------------------------------------------------------------------

// A filter stands between the content of a response and its framing, however the content is given:
// it compresses, rewrites or measures it. Its length is not stated then unless it is short; an ETag
// becomes weak, and Accept-Ranges is left out, since the octets are made anew.

// Whether a filter may keep octets for later.
typedef enum skua_flush {
    SKUA_FLUSH_NONE, // it may
    SKUA_FLUSH_NOW,  // everything taken so far is written: the client waits for it
    SKUA_FLUSH_END   // the same, and no more content will come
} skua_flush;

// The outcome of a call of a filter.
typedef enum skua_filtered {
    SKUA_FILTER_ALL,   // all content was taken, and what flush asks for was written
    SKUA_FILTER_MORE,  // the room is used up: call again, with the rest and the same flush
    SKUA_FILTER_FAILED // the content cannot be completed; the response is cut off
} skua_filtered;

// A filter. user is handed to begin.
typedef struct skua_filter {
    // Called once, when a response with its fields is known and its head not written, after the head
    // functions of middleware. skua_field_add, skua_response_field and skua_response_length work here.
    // status: of the response; also 204 and 304, and for HEAD, which have no content to filter.
    // Returns: the state of the filter for this response; NULL to leave it as it is.
    void *(*begin)(skua_request *request, int status, void *user);
    // Takes octets off the front of *content, and writes up to room octets, at least 504, to out.
    // *octets: how many; 0 on entry. MORE needs at least one.
    skua_filtered (*run)(void *state, skua_slice *content, skua_flush flush, char *out, size_t room,
                         size_t *octets);
    // Called once for each state when no content will come any more. NULL: not called.
    void (*end)(void *state);
    void *user;
} skua_filter;

// Lets the content of the response pass through a filter: from middleware's before or head, or from
// the handler, before it responds. filter: copied. A response has one filter at most. Each skua_write
// and each event is flushed; skua_write_file takes no more than out_octets_max then, and reads it in the
// call. Tunnels have none.
// Errors: SKUA_EEXIST there is one already; SKUA_ENOMEM; SKUA_ESTATE, SKUA_ECLOSED too late.
// Cost: none for requests without.
SKUA_SIZED skua_status skua_filter_add(skua_request *request, const skua_filter *filter);

// A field of the response that is about to be sent, in middleware's head and a filter's begin: the
// first of that name, whatever its case; {NULL, 0} when absent, and elsewhere. Lifetime: the call.
SKUA_API skua_slice skua_response_field(const skua_request *request, const char *name);

// The octets of content that it states, in the same places; -1 when that is not known, and elsewhere.
SKUA_API int64_t skua_response_length(const skua_request *request);

// ---- Compression ------------------------------------------------------------------------------

// Content codings: gzip, br and zstd, as far as the library is compiled with SKUA_ZLIB, SKUA_BROTLI
// and SKUA_ZSTD; with none of them these functions return SKUA_EUNSUPPORTED. A response is compressed
// when its media type and length promise a gain and the client takes a coding that is built in
// (Accept-Encoding, q-values by the letter), and not when it has a Content-Encoding, is a part (206),
// says no-transform, or has a field with a digest. It has a weak ETag and no ranges then; every
// response that could have been compressed says Vary. Each event and each skua_write is flushed.
// A page that shows a secret beside words of whoever asks tells its length, and so the secret, to those
// who listen (BREACH): such pages are not to be compressed.

// How the responses below a prefix are compressed. Zero means default.
typedef struct skua_compression {
    size_t octets_min; // shorter responses are left as they are; default 512
    bool off;          // they are not, whatever a shorter prefix says
    // Media types, separated by spaces: "text/html", "text/*", or "+json" for all that end so. Copied;
    // default: text, JSON, XML, scripts, WebAssembly, and fonts and pictures that are not compressed.
    const char *types;
} skua_compression;

// Compresses the response of this request, if it gains by that. Before it is given.
// Errors: those of skua_filter_add, and SKUA_EUNSUPPORTED; nobody has to look at them.
// Cost: up to 600 KiB of memory while the content passes, counted to skua_config.memory_max.
SKUA_API skua_status skua_compress(skua_request *request);

// Compresses the responses below prefix as middleware; of several rules the one that was added last
// counts. compression: NULL for the defaults; read during the call.
// Errors: those of skua_use; SKUA_EUNSUPPORTED.
SKUA_SIZED SKUA_NODISCARD skua_status skua_use_compression(skua_server *server, const char *prefix,
                                                           const skua_compression *compression);

// A content coding.
typedef enum skua_coding {
    SKUA_CODING_GZIP = 1,
    SKUA_CODING_BROTLI, // br
    SKUA_CODING_ZSTD
} skua_coding;

// How much work goes into compressing.
typedef enum skua_effort {
    SKUA_EFFORT_STREAM, // for content that is sent once: gzip 1, br 1, zstd 3
    SKUA_EFFORT_KEPT,   // for content that is kept and sent often: gzip 6, br 5, zstd 6
    SKUA_EFFORT_BEST    // for content that is made ahead: gzip 9, br 11, zstd 19
} skua_effort;

// Whether the library is compiled with a coding.  Thread: any.
SKUA_API bool skua_coding_is_built(skua_coding coding);

// Whether content of a media type usually gets shorter: text, JSON, XML, scripts, WebAssembly, and fonts and
// pictures that are not compressed.  type: perhaps with parameters.  Thread: any.
SKUA_API bool skua_compress_gains(skua_slice type);

// Compresses content in one go, into out. Windows of zstd are 8 MiB at most, as clients must have.
// room: octets of out. Give it as much as the result may have to be worth it.
// *octets: how many were written; untouched on an error.
// Errors: SKUA_ELIMIT the room does not suffice; SKUA_EUNSUPPORTED the coding is not built in; SKUA_ENOMEM.
// Thread: any. The best effort takes a second for each half of a MiB: see skua_offload.
SKUA_API SKUA_NODISCARD skua_status skua_encode(skua_coding coding, skua_effort effort,
                                                skua_slice content, char *out, size_t room,
                                                size_t *octets);

// Leaves the content of this response as it is: neither skua_compress nor the compression of a directory
// changes it. For pages that show a secret. Before the response.
SKUA_API void skua_compress_off(skua_request *request);

// Whether skua_compress_off was called for the request.
SKUA_API bool skua_compress_is_off(const skua_request *request);

// ---- Files ------------------------------------------------------------------------------------

// A directory beneath which files are opened: no path, and no symbolic link, leads out of it, unless
// skua_root_follow says that links may.
typedef struct skua_root skua_root;

// The symbolic links that are followed. A path by way of another link leads to nothing.
typedef enum skua_links {
    SKUA_LINKS_INSIDE, // those that end beneath the root, whether their text is relative or absolute
    SKUA_LINKS_NONE,   // none
    SKUA_LINKS_ALL     // all, wherever they lead: whoever can make one can publish any file
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
    int64_t mtime_ns; // last modification, since 1970
    int64_t ctime_ns; // last change of content or metadata, since 1970
    uint64_t device;  // of the file system; inode is a number there
} skua_file_info;

// Opens a directory. path: as the operating system takes it.
// Errors: SKUA_ENOENT, SKUA_EACCES, SKUA_ENOMEM, SKUA_ENOFILE.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_root_open(const char *path, skua_root **root);

// Sets which symbolic links beneath root are followed; SKUA_LINKS_INSIDE until then. To be called
// before anything is opened beneath it.
SKUA_API void skua_root_follow(skua_root *root, skua_links links);

// Closes a root; open files stay open. NULL is allowed. Not while requests use it.
SKUA_API void skua_root_close(skua_root *root);

// Called with an entry of a directory; returns false to hear of no more. name: as in the directory,
// without a slash. info: a symbolic link is what it leads to, or SKUA_FILE_OTHER if it leads out of
// the root or nowhere.
typedef bool skua_root_entry_fn(const char *name, const skua_file_info *info, void *user);

// Calls each for every entry of the directory root/path but "." and "..", in no order. Blocks: call
// it by skua_offload.
// path: as for skua_file_open; a "/" at its end is allowed.
// Errors: SKUA_ENOENT, also if it is no directory; SKUA_EACCES; SKUA_ENOMEM; SKUA_ENOFILE;
// SKUA_EIO.
// Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_root_list(skua_root *root, skua_slice path,
                                                     skua_root_entry_fn *each, void *user);

// Told how an opening went. file: on SKUA_OK a reference the callee owns; NULL otherwise.
// info: valid on SKUA_OK, during the call. For a directory, file can only be unreffed.
typedef void skua_file_opened_fn(skua_worker *worker, skua_status status, skua_file *file,
                                 const skua_file_info *info, void *user);

// Opens root/path for reading and calls fn once, later or before this returns. Opening never blocks
// on a FIFO or a device.
// path: relative, no leading "/"; "" or "." for the root itself; copied.
// fn's status: SKUA_ENOENT; SKUA_EACCES unreadable, outside the root, or neither file nor
// directory; SKUA_ENOFILE; SKUA_EIO; SKUA_ENOMEM; SKUA_ELIMIT as many are waiting for the disk as
// there can be connections.
SKUA_SIZED void skua_file_open(skua_worker *worker, skua_root *root, skua_slice path,
                               skua_file_opened_fn *fn, void *user);

// Told how a reading went. octets: fewer than there was room for only where the file ends.
typedef void skua_file_loaded_fn(skua_worker *worker, skua_status status, size_t octets,
                                 void *user);

// Reads up to room octets at offset and calls fn once, later or before this returns. The worker
// does not wait for the disk:
// what is not in memory is read by another thread.
// buffer: to stay until fn is called; so does the file.
// fn's status: SKUA_EIO; SKUA_ENOMEM; SKUA_ELIMIT as many are waiting for the disk as there can be
// connections.
SKUA_API void skua_file_load(skua_file *file, uint64_t offset, char *buffer, size_t room,
                             skua_file_loaded_fn *fn, void *user);

// Reads up to room octets at offset, now, though the disk be slow. Meant for small files; large
// ones are sent, not read.
// Errors: SKUA_EIO. *octets is 0 at the end of the file.  Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_file_read(skua_file *file, uint64_t offset, char *buffer,
                                                   size_t room, size_t *octets);

// Adds a reference to a file, and drops one. The last drop closes it.  Thread: the worker that
// opened it.
SKUA_API skua_file *skua_file_ref(skua_file *file);
SKUA_API void skua_file_unref(skua_file *file);

// Gives a file without a name, which skua_content_spool or skua_multipart_collect has written, a
// name: root/path, mode 0600. What is there is never replaced. Takes a moment of the disk's;
// skua_offload can call it.
// path: as for skua_file_open; its directory must be there.
// Errors: SKUA_EEXIST; SKUA_EUNSUPPORTED it has a name, or skua_config.spool_directory is on
// another file system than root, or on one without such files; SKUA_EINVAL no name; SKUA_ENOENT;
// SKUA_EACCES; SKUA_EIO. Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_file_keep(skua_file *file, skua_root *root,
                                                   skua_slice path);

// Responds with length octets of file from offset. The request keeps its own reference.
SKUA_API skua_status skua_respond_file(skua_request *request, int status, const char *type,
                                       skua_file *file, uint64_t offset, uint64_t length);

// Writes to a response begun by skua_respond_stream, skua_events_open or skua_upgrade: length octets
// of file from offset, however many, without copying them. The request keeps its own reference.
// Errors: those of skua_write; SKUA_ELIMIT when out_octets_max are queued already. A file that
// turns out to be shorter ends the connection.
SKUA_API SKUA_NODISCARD skua_status skua_write_file(skua_request *request, skua_file *file,
                                                    uint64_t offset, uint64_t length);

// A directory whose changes are counted.
typedef struct skua_watch skua_watch;

// Whether a directory's watch also counts when a file in it is written to in place, as on Linux.
// Where not (macOS and FreeBSD), it counts what comes, goes or is renamed, and a file can be
// watched as well, by its own path.
SKUA_API bool skua_watch_includes_writes(void);

// Watches the directory root/path (not what is below it). One watch is shared by all who ask for
// the same directory.
// The first one may have to wait for the disk: skua_offload can call it.
// Errors: SKUA_ENOENT, also if it is no directory; SKUA_EACCES; SKUA_ELIMIT; SKUA_ENOMEM;
// SKUA_ENOFILE; SKUA_EIO; SKUA_EUNSUPPORTED, on Linux also for what another machine or process
// answers for (NFS, FUSE).
// Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_watch_open(skua_server *server, skua_root *root,
                                                    skua_slice path, skua_watch **watch);

// Watches a directory as skua_watch_open does, if that needs no wait. Returns false, having done
// nothing, if the disk may have to be asked. *status: of skua_watch_open; untouched on false.
// Thread: any.
// *status: of skua_watch_open; untouched on false.  Thread: any.
SKUA_API SKUA_NODISCARD bool skua_watch_try(skua_server *server, skua_root *root, skua_slice path,
                                            skua_watch **watch, skua_status *status);

// Ends a watch.
SKUA_API void skua_watch_close(skua_server *server, skua_watch *watch);

// How many changes of names, content or metadata have been seen in the watched directory; grows,
// never shrinks. Read it before opening a file there: while it stays the same, the file is
// unchanged as far as is known. When the directory was moved, deleted or unmounted it grows at
// every call: close the watch and open it anew.
SKUA_API uint64_t skua_watch_changes(const skua_watch *watch);

// ---- Prepared responses -----------------------------------------------------------------------

// A response made in advance: status, fields, and content from memory or a file. Reference-counted,
// of one worker, on whose thread all functions of it are called.
typedef struct skua_prepared skua_prepared;

// The parts of a prepared response, for skua_prepared_new. Zero means none. All slices are copied.
typedef struct skua_prepared_desc {
    int status;               // 200..599
    const skua_field *fields; // without those that are the server's to set
    size_t fields_count;
    skua_slice content; // content in memory, or
    skua_file *file;    // content in a file (the response takes its own reference), and
    uint64_t offset;    // where in it, and
    uint64_t length;    // how much of it; also the length stated by a response without content
    bool has_length;    // for 304: state length though no content is sent
    // Not NULL: content in memory is not copied, and stays as it is until this is called, once, on the worker's
    // thread. When skua_prepared_new returns an error, it is not called.
    skua_release_fn *release;
    void *release_user;
} skua_prepared_desc;

// Makes a prepared response.  Errors: SKUA_EINVAL, SKUA_ENOMEM.
SKUA_SIZED SKUA_NODISCARD skua_status skua_prepared_new(skua_worker *worker,
                                                        const skua_prepared_desc *desc,
                                                        skua_prepared **prepared);

// Adds a reference to a prepared response, and drops one. The last drop frees it.
SKUA_API skua_prepared *skua_prepared_ref(skua_prepared *prepared);
SKUA_API void skua_prepared_unref(skua_prepared *prepared);

// Responds with one that was made in advance. The request keeps its own reference. Fields added by
// skua_field_add are sent too.
// Cost: no allocation; small content is sent with the head in one system call.
SKUA_API skua_status skua_respond_prepared(skua_request *request, skua_prepared *prepared);

// ---- Workers ----------------------------------------------------------------------------------

// Functions that take a worker are called on its thread, unless they say otherwise.

// Something each worker has one of. make: called on the worker at its first skua_local; NULL means
// that memory ran out and is tried again. drop: called when the worker ends, after its last
// request.
typedef struct skua_local_desc {
    void *(*make)(skua_worker *worker, void *user);
    void (*drop)(skua_worker *worker, void *object, void *user);
    // May be NULL. Descriptors ran out: close what can be done without; returns whether any was.
    bool (*evict)(skua_worker *worker, void *object, void *user);
    void *user;
    // May be NULL. Memory is short: give back what can be made again. Called often while it is.
    void (*shrink)(skua_worker *worker, void *object, void *user);
} skua_local_desc;

// Registers an object of which each worker has one, and gives its key, before or after skua_start. At most 1024 per
// server at a time. What uses the key is handed to the workers afterwards, as by skua_site_put or skua_post.
// Errors: SKUA_ELIMIT.  Thread: any.
SKUA_SIZED SKUA_NODISCARD skua_status skua_local_add(skua_server *server,
                                                     const skua_local_desc *desc, unsigned *key);

// Drops the objects of a key, each on its worker, soon, or before the worker ends if memory runs out. The key may be
// given out again afterwards. Nobody may call skua_local with it any more.  Thread: any.
SKUA_API void skua_local_remove(skua_server *server, unsigned key);

// This worker's object of that key; NULL when memory ran out.
SKUA_API void *skua_local(skua_worker *worker, unsigned key);

// A worker's number, from 0, and its server.  Thread: any.
SKUA_API unsigned skua_worker_index(const skua_worker *worker);
SKUA_API skua_server *skua_worker_server(const skua_worker *worker);

// The time at which this turn began: monotonic, and since 1970, in nanoseconds.
SKUA_API int64_t skua_worker_now_ns(const skua_worker *worker);
SKUA_API int64_t skua_worker_unix_ns(const skua_worker *worker);

// Counts memory of the program's own as part of skua_config.memory_max, for what grows with clients:
// octets more, or, if negative, fewer. Nothing is refused; what is counted here makes the server act
// sooner. All of it is taken back before the worker ends.
// Thread: owning worker.  Cost: nothing is shared but at each 256 KiB.
SKUA_API void skua_memory_count(skua_worker *worker, int64_t octets);

// A function that a worker will call at a time. A plain value: copy it, keep it; {0} is none. It
// never dangles: once the timer is over, stopping it does nothing.
typedef struct skua_timer {
    uint64_t value;
} skua_timer;

// Called when a timer is due, never early.
typedef void skua_timer_fn(skua_worker *worker, void *user);

// Calls fn on this worker delay_ns from now, and then every period_ns nanoseconds; beats that were
// missed are left out. A timer ends with its worker, whether it has fired or not, and does not keep
// the worker from ending.
// period_ns: 0 for once. timer: for skua_timer_stop; untouched on an error; may be NULL.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT there are 16,777,088 timers in this process.
SKUA_API SKUA_NODISCARD skua_status skua_timer_start(skua_worker *worker, int64_t delay_ns,
                                                     int64_t period_ns, skua_timer_fn *fn,
                                                     void *user, skua_timer *timer);

// Stops a timer: its fn is not called any more. May be called from inside that fn.
// Returns: whether fn would have been called, or called again. False, and nothing is done, when
// the timer was stopped before, has fired for the last time (from inside that call on), or its
// worker has ended; and for {0}.
// Thread: the timer's worker; for a timer that is over, any.
SKUA_API bool skua_timer_stop(skua_timer timer);

// ---- Descriptors of other libraries -----------------------------------------------------------

// For libraries that are told when their sockets are readable or writable, such as clients of
// databases: their work is done on the worker, between that for its clients.

// The events of a poll. They are asked for together by |.
typedef enum skua_poll_event {
    SKUA_POLL_READABLE = 1, // reading would not wait; the other end may have closed
    SKUA_POLL_WRITABLE = 2, // writing would not wait
    SKUA_POLL_ERROR = 4,    // only told: it has failed, or nobody is at its other end
    SKUA_POLL_ONCE = 8      // only asked for: the poll is over when its function is called
} skua_poll_event;

// A descriptor that a worker waits for. A plain value: copy it, keep it; {0} is none. It never
// dangles: once the poll is over, stopping or changing it does nothing.
typedef struct skua_poll {
    uint64_t value;
} skua_poll;

// Called when the descriptor is ready for what was asked, and again in each turn of the worker in
// which it still is (level-triggered), unless SKUA_POLL_ONCE was given: then the poll is over before
// this call. At most 64 are called in a turn, so that a descriptor that is always ready takes
// nothing from clients but its share.
// It may be called though nothing can be read any more, so the descriptor is to be non-blocking.
// events: those that were asked for and have come. With SKUA_POLL_ERROR, all that were asked for:
// reading or writing says what has happened. Not every kernel tells of errors by themselves.
typedef void skua_poll_fn(skua_worker *worker, int fd, unsigned events, void *user);

// Calls fn on this worker when fd, which stays the program's, is ready. Stop the poll before fd is
// closed. Where a library closes it by itself, as libpq does when its server has gone, stop the poll
// before anything else is opened; it is over at the latest when the number has another poll. The
// poll ends with its worker, without a call, after the drop of skua_local_desc, and does not keep the
// worker from ending.
// events: SKUA_POLL_READABLE, SKUA_POLL_WRITABLE or both; neither waits for nothing until
// skua_poll_change. Or SKUA_POLL_ONCE with them.  poll: for skua_poll_stop; untouched on an error;
// may be NULL.
// Errors: SKUA_EINVAL fd is not open; SKUA_EEXIST this worker has a poll for fd (one takes both
// directions); SKUA_EUNSUPPORTED fd cannot be waited for, as a regular file or a directory;
// SKUA_ELIMIT this worker has 16,384 polls, or the kernel allows no more; SKUA_ENOMEM; SKUA_ENOFILE.
// Cost: a system call to start, one to stop, and one each turn for all that are ready.
SKUA_API SKUA_NODISCARD skua_status skua_poll_start(skua_worker *worker, int fd, unsigned events,
                                                    skua_poll_fn *fn, void *user, skua_poll *poll);

// Changes what a poll waits for. May be called from inside its fn.
// events: as for skua_poll_start.
// Errors: SKUA_ECLOSED the poll is over, or its descriptor was closed, and for {0}; SKUA_ENOMEM, with kqueue only: it is as before.
// Thread: the poll's worker; for a poll that is over, any.
SKUA_API skua_status skua_poll_change(skua_poll poll, unsigned events);

// Stops a poll: its fn is not called any more, and fd may be closed. May be called from inside fn.
// Returns: whether fn could have been called. False, and nothing is done, when the poll was stopped
// before, was for once and has been called (from inside that call on), or its worker has ended; and
// for {0}.
// Thread: the poll's worker; for a poll that is over, any.
SKUA_API bool skua_poll_stop(skua_poll poll);

// ---- Helper threads ---------------------------------------------------------------------------

// Runs work on a helper thread, then done on the worker, once each. For what may block.
// work must not touch requests. done is called even when the request that asked is gone. A request
// whose callback asked is not ended because its client sends no more until done has returned.
// Errors: SKUA_ELIMIT too much is queued already (1024); SKUA_ENOMEM; neither is then called.
SKUA_API SKUA_NODISCARD skua_status skua_offload(skua_worker *worker, void (*work)(void *user),
                                                 void (*done)(skua_worker *worker, void *user),
                                                 void *user);

// request: NULL when it has ended meanwhile, so that only what user points to is left to be freed.
typedef void skua_offloaded_fn(skua_request *request, void *user);

// Runs work on a helper thread, then done on the request's worker, once each: skua_offload for a request.
// In done a handler responds, and middleware's before calls skua_next. The request is held until then.
// Errors: those of skua_offload; SKUA_ECLOSED the request has ended; neither is then called.
SKUA_API SKUA_NODISCARD skua_status skua_request_offload(skua_request *request,
                                                         void (*work)(void *user),
                                                         skua_offloaded_fn *done, void *user);

// ---- Threads ----------------------------------------------------------------------------------

// A handler that has to wait does it in one of two ways, and neither can touch a request that is
// gone: it takes a ticket, returns, and is answered for later by skua_resume from any thread; or
// its route is a blocking one, and it runs on a thread that may wait.

// A request that will be answered later. A plain value: copy it, keep it, pass it to threads; {0}
// is none. It
// never dangles: after the request, or the server, it is refused.
typedef struct skua_ticket {
    uint64_t value;
} skua_ticket;

// Takes a ticket for a request, as many as are wanted. Nothing has to be given back.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT there are 16,777,088 tickets of living requests in this process.
// Thread: owning worker.  Cost: no lock and no allocation, unless more are out than ever before.
SKUA_API SKUA_NODISCARD skua_status skua_ticket_take(skua_request *request, skua_ticket *ticket);

// Takes up a request again, on its worker. request: NULL if it is gone by then: its client has left
// (see skua_config.half_close), its connection has died, handler_timeout_ns has passed, or the
// server was stopped.
typedef void skua_resume_fn(skua_request *request, void *user);

// Calls fn once on the ticket's worker, later, never before this returns on that worker. A ticket
// is good for one resumption.
// Returns: SKUA_OK, and then fn runs exactly once, also while the server stops. On an error fn
// never runs.
// Errors: SKUA_ESTATE resumed already; SKUA_ECLOSED the request was gone already, or the server was
// freed, or the ticket is none. When a request that was resumed is gone too, it is SKUA_ECLOSED.
// Thread: any; several may try, one succeeds. Cost: a compare-exchange and a wake-up; nothing that
// can fail.
SKUA_API SKUA_NODISCARD skua_status skua_resume(skua_ticket ticket, skua_resume_fn *fn, void *user);

// Runs fn on worker number index, in the order of posting by one thread.
// Returns: SKUA_OK, and then fn runs exactly once, also while the server stops. On an error it
// never runs.
// Errors: SKUA_ENOMEM; SKUA_EINVAL there is no such worker; SKUA_ECLOSED the server does not run,
// or that worker has ended. Thread: any.
SKUA_API SKUA_NODISCARD skua_status skua_post(skua_server *server, unsigned index,
                                              void (*fn)(skua_worker *worker, void *user),
                                              void *user);

// Sends requests that match pattern to a handler that may wait; otherwise like skua_route. The content
// is collected first, at most skua_config.content_octets_max of it or what skua_route_add says [413], and the handler is called on
// a thread of the server's pool. Up to blocking_threads handlers run at a time and blocking_queue_max
// wait [503].
// The handler responds as any other does; a response is sent when it has returned, and content that it
// writes (skua_respond_stream, skua_events_open) at once. skua_write waits there while more than 65536
// octets have not been taken, so it never fails with SKUA_ELIMIT, and takes drained NULL. A handler
// that gives no response: 500 and a line in the log.
// Until it returns, the request and all that is read of it stay, whatever becomes of the peer, and
// on_end waits. Functions may be called there that say so in their Thread, or that read the request or
// respond; of the connection they tell what was known when the handler was called. Those for the
// worker alone stop the process: what leads to its own things (connection, files, prepared
// responses, tickets, holds), reads content piece by piece, or responds by skua_respond_pull,
// skua_upgrade and skua_inform.
// A request that is gone before a thread was free for it is not handled. skua_stop does not end a
// handler: past its deadline it logs how many still run, and skua_wait and skua_server_free wait for
// them.
// Errors: those of skua_route.
SKUA_API SKUA_NODISCARD skua_status skua_route_blocking(skua_server *server, const char *pattern,
                                                        skua_handler *handler, void *user);

// ---- Connections ------------------------------------------------------------------------------

// A connection is valid from skua_config.on_connect until on_close has returned, on its worker.

// Writes the address of the connection's other end, in the form of skua_request_peer: that of a proxy,
// where one stands in front, but with SKUA_FORWARDED_PROXY the client's, as its header names it.
SKUA_API size_t skua_connection_peer(const skua_connection *connection, char *text, size_t room);

// The connection's number, from 1, among all that the server has accepted since its start; those of
// worker i begin at i << 48.
SKUA_API uint64_t skua_connection_id(const skua_connection *connection);

// The worker that a connection belongs to.
SKUA_API skua_worker *skua_connection_worker(const skua_connection *connection);

// Keeps a pointer of the program's with the connection, NULL at first.
SKUA_API void skua_connection_set(skua_connection *connection, void *object);
SKUA_API void *skua_connection_get(const skua_connection *connection);

// ---- WebSocket --------------------------------------------------------------------------------

// Sockets over HTTP/1.1 and HTTP/2 (extended CONNECT, where skua_config.http2.tunnels is set), in the
// clear and over TLS. The library must not be compiled with SKUA_NO_WEBSOCKET; else skua_websocket
// fails with SKUA_EUNSUPPORTED.

// A socket that a client has opened. A plain value: copy it, keep it, pass it to threads; {0} is none.
// It never dangles: once the socket is closed, it is refused.
typedef struct skua_socket {
    uint64_t value;
} skua_socket;

// The treatment of a message for which a slow reader's queue has no room.
typedef enum skua_websocket_slow {
    // Refused (SKUA_ELIMIT); drain tells when there is room. While more than half of the queue is in use,
    // nothing is read from the client: an answer of at most half a queue always has room.
    SKUA_WEBSOCKET_WAIT = 0,
    SKUA_WEBSOCKET_DROP, // left out, and counted in the log's line
    SKUA_WEBSOCKET_CLOSE // the socket is closed, code 1008
} skua_websocket_slow;

// How far a message is that comes piece by piece.
typedef enum skua_message_event {
    SKUA_MESSAGE_BEGIN, // its first frame has begun; octets is empty
    SKUA_MESSAGE_DATA,  // octets of it came
    SKUA_MESSAGE_END    // it is complete; octets is empty. If it never is, close is called instead
} skua_message_event;

// Compression of the messages of a socket (permessage-deflate), for clients that offer it. The library must be
// compiled with SKUA_ZLIB; else skua_websocket fails with SKUA_EUNSUPPORTED.
// A message that holds a secret beside words of whoever asks tells its length, and so the secret, to those who listen
// (CRIME, BREACH): such sockets are not to be compressed.
typedef enum skua_websocket_deflate {
    SKUA_WEBSOCKET_DEFLATE_OFF = 0, // nothing is compressed
    // Each message by itself (no context takeover), by memory of the worker's; a socket needs none of its own. A
    // publication is compressed once for many.
    SKUA_WEBSOCKET_DEFLATE_SHARED,
    // Each message with those before it, by a window of the socket's in each direction, of deflate_window_bits. That
    // takes most from messages that are short and alike. A client that cannot keep to such a window begins each of
    // its messages without one.
    SKUA_WEBSOCKET_DEFLATE_DEDICATED
} skua_websocket_deflate;

// How sockets of a route are served. Zero means default, for every member. Copied during the call.
// Functions are called on the socket's worker, one at a time for each socket; each may be NULL.
typedef struct skua_websocket_desc {
    // The socket is open, and the first to send may be the server. request: the one that asked for the
    // socket; it lives as long, and what is read of it too.
    void (*open)(skua_socket socket, skua_request *request, void *user);
    // A whole message came. message: UTF-8 if it is text; valid during the call.
    void (*message)(skua_socket socket, skua_slice message, bool text, void *user);
    // There is room again, after a send was refused with SKUA_ELIMIT.
    void (*drain)(skua_socket socket, void *user);
    // The socket is closed: called once, last, for each that was open. code: as the peer or this side
    // said it; 1005 there was none, 1006 no close came. reason: UTF-8, valid during the call.
    void (*close)(skua_socket socket, unsigned code, skua_slice reason, void *user);
    void *user;
    // Subprotocols, separated by spaces, the best first: the first that the client offers is agreed on.
    const char *protocols;
    // Origins of pages that may open sockets, "https://example.org", separated by spaces; "*": all.
    // Default: the host and port of the request, and the scheme where it came over TLS. Clients that
    // are no browsers send none, and may. Others are answered 403.
    const char *origins;
    skua_websocket_slow slow;
    // of one that comes, inflated where it was compressed; default 1 MiB [close 1009]. One that comes slower than skua_config.rate_octets_min
    // over rate_window_ns is not waited for [close 1008].
    uint64_t message_octets_max;
    // octets queued for a socket; default skua_config.out_octets_max, or half of that and
    // message_octets_max, whichever is more (without receive). Beyond out_octets_max it is used as long as less than those
    // are queued. Messages of other threads that wait for room take as much again, or, where slow is not to
    // wait, four times as much.
    uint64_t queued_octets_max;
    unsigned fragments_max; // frames of a message that comes; default 1024 [close 1008]
    // messages and control frames that come in a second; default 10,000 [close 1008]
    unsigned messages_per_second_max;
    int64_t ping_ns;          // a ping is sent after so long a silence; default 30 s; below 0: none
    int64_t idle_timeout_ns;  // silence after which a client is gone; default 90 s; below 0: never
    int64_t close_timeout_ns; // for the peer's close when ours has left; default 5 s
    // Decides about the Origin of a page that origins does not allow; "null" too. Called before the socket
    // opens, and only where a request has exactly one. False: 403. Default: none of them may.
    bool (*origin)(skua_request *request, skua_slice origin, void *user);
    int64_t lifetime_ns; // how long a socket stays open at most [close 1001]; default: for ever
    // Takes messages piece by piece instead of message, for those that need not be kept whole in memory.
    // octets: valid during the call; of a text they are UTF-8, checked as they come, and may begin or end
    // within a character. They are to be given back by skua_socket_consume: the socket is not read while
    // skua_config.content_window_octets are not.
    // With it message_octets_max and fragments_max have no default, and each frame of a message counts
    // in messages_per_second_max.
    void (*receive)(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                    void *user);
    // Serves the socket in place of all other functions but origin, on a thread of the server's pool that may
    // wait: by skua_socket_receive, and by sending, which waits there for room whatever slow says. The socket
    // is closed when it returns [1000]. request: as in the handler of skua_route_blocking, and nothing can be
    // responded. At most half of blocking_threads serve sockets; who asks for one more is answered 503.
    // skua_stop, and a client that leaves, let it go: what it waits for then fails with SKUA_ECLOSED.
    void (*blocking)(skua_socket socket, skua_request *request, void *user);
    // default: SKUA_WEBSOCKET_DEFLATE_OFF. receive is told what octets inflate to, as much in a turn as leaves others
    // theirs; it is to give back those. Messages that are sent by skua_socket_begin are compressed too, piece by piece.
    skua_websocket_deflate deflate;
    // Base-2 logarithm of a dedicated window, 9 to 15; default 12. A socket holds some 9 << bits octets and 16 KiB
    // from its first compressed message in each direction on.
    unsigned deflate_window_bits;
    size_t
        deflate_octets_min; // shorter messages are sent as they are, unless by skua_socket_begin; default 128
    // Octets that the dedicated windows of all sockets of this route may take, each counted from its handshake on:
    // one for which no more is left is opened without compression. Default: a quarter of skua_config.memory_max.
    size_t deflate_memory_max;
    // This side has begun to close the socket, by whatever: no message comes or is sent any more. close is called behind
    // it, when the client has answered or is not waited for. Called in a later turn than what closes it; not where the
    // client has closed it by then, or has gone. code, reason: of this side's close; reason is valid during the call.
    void (*closing)(skua_socket socket, unsigned code, skua_slice reason, void *user);
    // The request is there in open, and no more: skua_socket_request is NULL from then on, and what was read of
    // the request is gone. A socket with nothing under way then takes some 256 octets in place of some 7 KiB. One
    // whose request the program holds, or has given objects, tickets or a function for its end, also by middleware,
    // takes as much as without.
    bool forgets_request;
} skua_websocket_desc;

// Serves WebSockets at pattern. Middleware comes first, and refuses by ordinary responses. What is no
// valid request for a WebSocket is answered 400, 403 (Origin), 405 (HEAD) or 426 (another version, or
// no upgrade); behind skua_stop 503.
// pattern: as for skua_route, with method GET: "GET /live/{room}". Before skua_start.
// Errors: those of skua_route; SKUA_EINVAL also another method, protocols or origins that are none, or another window
// (skua_server_error says more); SKUA_EUNSUPPORTED.  Spec: RFC 6455, RFC 7692, RFC 8441
SKUA_SIZED SKUA_NODISCARD skua_status skua_websocket(skua_server *server, const char *pattern,
                                                     const skua_websocket_desc *desc);

// As skua_websocket, for the requests of a site; the server may run. Sockets keep the site they were
// opened by. Errors: those of skua_websocket but SKUA_ESTATE; skua_site_error says more.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_websocket(skua_site *site, const char *pattern,
                                                          const skua_websocket_desc *desc);

// Sends a message, text or binary, whole or not at all; it leaves at the end of the turn. Messages of one
// thread keep their order. From another thread than the socket's worker the message is copied and
// brought there; SKUA_OK then says that it is on its way.
// message: copied; text must be UTF-8. In the socket's blocking function this waits for room.
// Errors: SKUA_ECLOSED the socket is closed, or its closing has begun; SKUA_ESTATE skua_socket_begin has begun
// another and the worker sends this one; SKUA_ELIMIT too much is queued
// and skua_websocket_desc.slow is to wait, or a thread sends faster than the worker; SKUA_EINVAL text that is not UTF-8, or a message that is
// longer than queued_octets_max; SKUA_ENOMEM.  Thread: any.
// Cost: up to 8 KiB one copy and no allocation (4 KiB where messages are compressed); on another thread an
// allocation and a wake-up.
SKUA_API SKUA_NODISCARD skua_status skua_socket_text(skua_socket socket, skua_slice message);
SKUA_API SKUA_NODISCARD skua_status skua_socket_binary(skua_socket socket, skua_slice message);

// Begins a message that is sent piece by piece, as its length or its end is not known yet; then
// skua_socket_write sends pieces of it, each as a frame, and skua_socket_end ends it. Pings and the close
// may go between the pieces; other messages may not: those of other threads and of topics wait for the end,
// as for room. A socket that closes before the end leaves its client without the rest.
// Errors: SKUA_ESTATE another is being sent so; SKUA_ECLOSED as for skua_socket_text.
// Thread: the socket's worker.  Spec: RFC 6455 §5.4
SKUA_API SKUA_NODISCARD skua_status skua_socket_begin(skua_socket socket, bool text);

// Sends a piece of the message, whole or not at all; of no octets: nothing. octets: copied. The pieces of a
// text together must be UTF-8; one may end within a character.
// Errors: SKUA_ELIMIT too much is queued; drain tells when there is room. No piece is ever dropped: where
// skua_websocket_desc.slow is to drop it waits, too, and where it is to close the socket is closed,
// SKUA_ECLOSED. SKUA_EINVAL what is not UTF-8 in a text, or longer than queued_octets_max; SKUA_ESTATE
// no message has been begun; SKUA_ECLOSED; SKUA_ENOMEM.  Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_write(skua_socket socket, skua_slice octets);

// Ends the message.
// Errors: those of skua_socket_write, SKUA_EINVAL a text that would end within a character: the message goes on
// then. SKUA_ELIMIT only where nothing has been written.  Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_end(skua_socket socket);

// Gives back n octets that skua_websocket_desc.receive was given: at most as many as it was and has not given
// back. Nothing when the socket is closed.  Thread: the socket's worker.
SKUA_API void skua_socket_consume(skua_socket socket, size_t n);

// Stops taking messages of a socket: its client is not read, and what it sends waits in its own queues. message and
// receive are not called again before skua_socket_resume, whatever has arrived; the client's close is not seen
// either, nor its silence held against it. Sending goes on, and so does a close of this side.
// For a program that has no room for more messages. Nothing when the socket is closed.
// Thread: the socket's worker.
SKUA_API void skua_socket_pause(skua_socket socket);

// Goes on taking messages. Those that wait come in a later turn, none inside this call.
// Thread: the socket's worker.
SKUA_API void skua_socket_resume(skua_socket socket);

// A message that skua_socket_receive has taken.
typedef struct skua_message {
    skua_slice octets;
    bool text;
    unsigned code; // of a close; then octets has its reason
} skua_message;

// Takes the next message of a socket in its blocking function, and waits for it for timeout_ns: below 0 as long as
// the socket is open. Messages that came before a close are taken before it.
// message: its octets are valid until the next call, or until the blocking function returns.
// Errors: SKUA_ENOENT none came in time; SKUA_ECLOSED the socket is closed, or its closing has begun: message
// has the code and the reason as skua_websocket_desc.close would.
// Thread: the one that the socket's blocking function runs on.
SKUA_SIZED SKUA_NODISCARD skua_status skua_socket_receive(skua_socket socket, int64_t timeout_ns,
                                                          skua_message *message);

// Closes a socket: what was sent before leaves, then the close. desc.close is called when the peer has
// answered, or close_timeout_ns after that; messages that come meanwhile are dropped. Messages that other
// threads have sent and that have not arrived are dropped too, and the log's line counts them.
// code: 1000 to 1003, 1007 to 1014, 3000 to 4999; 0 for 1000. reason: UTF-8, copied, cut at 123 octets.
// Errors: SKUA_ECLOSED closed, or closing; SKUA_EINVAL another code, or a reason that is not UTF-8;
// SKUA_ENOMEM.  Thread: any.  Spec: RFC 6455 §7
SKUA_API skua_status skua_socket_close(skua_socket socket, unsigned code, skua_slice reason);

// The request that a socket was opened by, with its fields, params and objects; NULL when the socket is
// closed, which it is not yet in close, and behind open where skua_websocket_desc.forgets_request is set. Its tunnel is the socket's: skua_write, skua_finish and
// skua_content_read fail with SKUA_ESTATE.  Thread: the socket's worker.
SKUA_API skua_request *skua_socket_request(skua_socket socket);

// The subprotocol that was agreed on; empty when there is none, or the socket is closed.
// Lifetime: that of the server.  Thread: the socket's worker.
SKUA_API skua_slice skua_socket_protocol(skua_socket socket);

// ---- Topics -----------------------------------------------------------------------------------

// Whatever is published under a topic goes to all WebSockets and event streams that have joined it, on every
// worker of the server. A topic is a name; it is there as long as somebody has joined it.

// A message for a topic. Zero means none, for every member.
typedef struct skua_publication {
    skua_slice octets; // the message: a text in UTF-8, unless binary
    bool binary;       // a binary message for WebSockets; event streams are not sent it
    skua_slice event;  // for event streams, the event's type; without it "message". Not with binary
    skua_slice id; // for event streams: kept by their clients for Last-Event-ID. Not with binary
    skua_socket except; // a socket that is not sent it: that of whom it came from
} skua_publication;

// Joins a topic, for as long as the event stream that the request is, or its WebSocket, lasts, or until it leaves.
// A reader that has joined already has joined once.
// request: one begun by skua_events_open, or a socket's.  topic: 1 to 255 octets, copied.
// Errors: SKUA_EINVAL another length; SKUA_ELIMIT it has joined 1024 topics; SKUA_ESTATE the request is neither;
// SKUA_ENOMEM; SKUA_ECLOSED it has ended.  Thread: the request's worker.
SKUA_API SKUA_NODISCARD skua_status skua_topic_join(skua_request *request, skua_slice topic);

// As skua_topic_join, by a socket.  Errors: SKUA_ECLOSED also when it is closed.  Thread: the socket's worker.
SKUA_API SKUA_NODISCARD skua_status skua_socket_join(skua_socket socket, skua_slice topic);

// Leaves a topic. What has been published before may still come.
// Errors: SKUA_ENOENT it has not joined it; SKUA_ECLOSED the socket is closed.  Thread: the worker's.
SKUA_API skua_status skua_topic_leave(skua_request *request, skua_slice topic);
SKUA_API skua_status skua_socket_leave(skua_socket socket, skua_slice topic);

// Publishes a message to all who have joined the topic. Publications of one thread come to each reader in their
// order; they and what is sent to it otherwise have none among each other.
// For a reader that is slow, skua_websocket_desc.slow decides: a message that would have to wait does so at its
// worker as long as there is room, then the socket is closed, 1008. An event stream whose queue is full is
// ended; its client connects again and sends Last-Event-ID.
// A message for which a reader's queue has no room even when it is empty finds that reader slow: it must fit into
// skua_websocket_desc.queued_octets_max and skua_config.out_octets_max.
// topic: 1 to 255 octets.  publication: copied.
// Errors: SKUA_EINVAL another length of topic; a text that is not UTF-8; CR, LF or NUL in event or id, or either of
// them with binary; more than 16 MiB with topic, event and id. SKUA_ELIMIT 16 MiB of publications are on their way to
// the workers; SKUA_ENOMEM; SKUA_ECLOSED the server does not run. Nobody gets the message then.
// Thread: any.  Cost: one copy, whatever the number of readers, and one letter to each worker that has some; a
// socket that lets messages wait, and is slow, takes a copy of its own.
SKUA_SIZED SKUA_NODISCARD skua_status skua_topic_publish(skua_server *server, skua_slice topic,
                                                         const skua_publication *publication);

// How topics reach the servers of other machines. Zero means default, for every member but url. Copied during the call.
typedef struct skua_topic_bridge_desc {
    // The store, Redis 6.2 or Valkey: "redis://[[user]:password@]host[:port][/database]", port 6379 by default, or
    // "unix://[[user]:password@]/path[?db=database]". User, password and path may be percent-encoded.
    const char *url;
    const char *stream;    // the key of the stream, at most 512 octets; default "skua:topics"
    uint64_t retained_max; // entries that the store keeps, or a few more; default 10,000
    // of publications that the store has not taken yet, with 200 octets for each; default 16 MiB. Beyond it the oldest
    // are not carried, and readers of other machines are told of a gap
    uint64_t waiting_octets_max;
    uint64_t message_octets_max; // of a publication; default 1 MiB, at most 8 MiB [SKUA_EINVAL]
    // A text for the WebSockets that have joined any topic when publications of other machines are missing; at most
    // 4096 octets. Default: none, and event streams alone get an event "gap" with the data "gap".
    const char *gap_text;
    // Called then, on worker 0; may be NULL.
    void (*gap)(skua_server *server, void *user);
    void *user;
} skua_topic_bridge_desc;

// Lets topics reach the readers of all servers that have a bridge to the same stream of the same store, before
// skua_start; one for each server. Each publication comes to each reader once, and publications of one thread
// in their order. Readers of the publisher's own server get it at once, without the store.
// While the store is away, the log says so, and publications reach the readers of their own server; those of others
// get them when it is back. What cannot be delivered then is a gap: more than retained_max publications came meanwhile,
// waiting_octets_max was passed, or the store has lost its data. All readers are told of it.
// A name in url is looked up by a helper thread.
// Errors: SKUA_EINVAL url is none, or a member is out of its range (skua_server_error says which); SKUA_EEXIST;
// SKUA_ENOMEM; SKUA_ESTATE; SKUA_EUNSUPPORTED the library was built without SKUA_REDIS.
SKUA_SIZED SKUA_NODISCARD skua_status skua_topic_bridge(skua_server *server,
                                                        const skua_topic_bridge_desc *desc);

// ---- Serving a directory ----------------------------------------------------------------------

// How entity tags of files are made. Last-Modified stays in each case.
typedef enum skua_etags {
    // by a hash of the content up to 32768 octets; of larger files by size and time of modification, weak for two
    // seconds after a change
    SKUA_ETAGS_AUTO,
    SKUA_ETAGS_STAT, // of all files by size and time
    SKUA_ETAGS_OFF,  // none
    // of all files by a hash of their content, so that machines agree whatever the times of their files. A file of
    // more than 32768 octets is hashed by helper threads when it is first asked for, and the request waits; its tag
    // is kept as long as the file's times and size are the same, for 4096 files. It is weak for two seconds after a
    // change. A file that changes while it is hashed, or comes when 64 are being hashed, is sent without a tag
    SKUA_ETAGS_CONTENT
} skua_etags;

enum { SKUA_FILE_ETAG_OCTETS = 56 };

// Writes the entity tag that skua_route_directory gives to a file by SKUA_ETAGS_AUTO, for who changes files and looks
// at If-Match by skua_etag.
// content: all of a file of at most 32768 octets; of a larger one it is not looked at. unix_ns: now, in nanoseconds
// since 1970.
// Returns: its length; 0: it has none, since its times say nothing.  Thread: any.
SKUA_SIZED size_t skua_file_etag(const skua_file_info *info, skua_slice content, int64_t unix_ns,
                                 char etag[SKUA_FILE_ETAG_OCTETS]);

// The media type of files whose names end alike.
typedef struct skua_media {
    const char *ending; // ".md", compared without regard to the case of ASCII
    const char *type;   // "text/markdown; charset=utf-8"
} skua_media;

// Decides about a file that is about to be sent, whole, in part, or as 304 or 412. It may add fields by
// skua_field_add. It is asked once for a response, and not for redirects, listings and pages of errors.
// path: beneath the directory, "docs/index.html", of the file itself where a compressed one beside it is
// sent; valid during the call. info: of the file that is sent.
// Returns: 0: it is sent; 400 to 599: that error is the response; -1: the function has responded, or will.
// Thread: the request's worker; several call at once. It must not wait.
typedef int skua_file_decide_fn(skua_request *request, skua_slice path, const skua_file_info *info,
                                void *user);

// A directory that is served. It stays as long as the server, or the site, that it was given to.
typedef struct skua_directory skua_directory;

// How a directory is served. Zero means default. Strings are copied.
typedef struct skua_directory_config {
    // answer directories without an index by a listing: a page, or JSON when Accept asks for application/json
    bool list;
    bool dotfiles;             // serve names that begin with "."; /.well-known/ always is
    const char *index;         // default "index.html"
    const char *cache_control; // value of Cache-Control; default none
    size_t
        cache_octets_max; // content of small and of compressed files kept, per worker; default 16 MiB
    // files kept open, per worker; default 1024, less when descriptors are few
    unsigned cache_entries_max;
    // the largest file kept in memory; default 32768. Where this is 0, files of up to 131072 are kept in memory, too,
    // while they are asked for often over TLS
    size_t small_octets_max;
    // ranges answered of one request, more answer the whole; default 16, at most 16
    unsigned ranges_max;
    // A part of the listings' pages between their heading and their entries: HTML, put there as it is, and a script at
    // the end of the page, which may load from the page's own origin. script_hash: of the script's octets, as
    // Content-Security-Policy has it, "sha256-…". Default: none
    const char *list_markup, *list_script, *list_script_hash;
    // Octets of listings kept while their pages are being read, per worker; default 16 MiB. A page
    // whose listing is not kept is sent on after its directory has been read again.
    size_t listings_octets_max;
    // symbolic links that are followed; default SKUA_LINKS_INSIDE
    skua_links links;
    // Path below the directory of the file that answers, by 200, for what is not found and has no "." in its last
    // segment: "index.html" of an application that reads the address itself. Default none
    const char *fallback;
    // Path below the directory of the page that is sent with 404; default "404.html", where there is one; "": none
    const char *not_found;
    bool
        clean_urls; // "/about" is answered by "about.html", also where there is a directory "about"
    // Files are answered by what lies beside them compressed, "app.js.br", "app.js.zst" or "app.js.gz", as the client
    // takes it; never by one that is older than the file. Each has an entity tag and ranges of its own
    bool precompressed;
    // Text is compressed as the client takes it: once for each version of a file of 512 octets to 8 MiB, by helper
    // threads, with SKUA_EFFORT_KEPT. Whoever asks first waits for it, unless 8 are being compressed: then the file is
    // sent as it is, and so is a part of it, and one that has just changed. What is compressed here has a weak tag of
    // its own, and no ranges. It is kept in memory, shared by the workers, within cache_octets_max of each, and counts
    // to skua_config.memory_max
    bool compress;
    // Codings of both, separated by spaces; of those that a client wants alike the first counts. Default "br zstd gzip",
    // as far as they are built in
    const char *codings;
    // Media types that count before those of skua_media_type; of several that fit a name the first one. Copied.
    // Default: none
    const skua_media *types;
    size_t types_count; // at most 64
    skua_etags etags;   // default SKUA_ETAGS_AUTO
    // Is asked about each file before it is sent. Default: none, all are sent
    skua_file_decide_fn *decide;
    void *decide_user;
    const char *name; // of its route: see skua_route_desc
    // Paths below the directory that are tried where nothing is at a path, one after the other, before fallback. In each
    // "{path}" may stand once for the path that was asked for, without a "/" at its end: "{path}.html". Default: none
    const char *const *tries;
    size_t tries_count; // at most 16
    // Where the directory is put, for skua_directory_serve. Default: nowhere
    skua_directory **opened;
} skua_directory_config;

// Serves the files below path at pattern, which ends in "/" ("/", "GET /docs/"); the rest of the
// request's path after it is looked up beneath the directory. Answers GET and HEAD.
// A path without the "/" at the pattern's end is redirected to it, unless it has a route of its own
// by then.
// config: NULL for the defaults.
// Errors: those of skua_route and skua_root_open; skua_server_error says more.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_directory(skua_server *server, const char *pattern,
                                                           const char *path,
                                                           const skua_directory_config *config);

// As skua_route_directory, for the requests of a site. The directory is closed when the site is freed.
// Errors: those of skua_route_directory; skua_site_error says more.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_directory(skua_site *site, const char *pattern,
                                                          const char *path,
                                                          const skua_directory_config *config);

// Responds with what a directory has at name, as to a request for its path and name: with all that its config says. A
// folder that is named without a "/" at its end is redirected to the request's own path with one.
// request: by GET or HEAD; others are answered 405.  directory: one of the request's server, put there by
// skua_directory_config.opened.  name: beneath it, decoded, as "docs/index.html"; copied. One that is no path, or has "."
// or ".." in it, is answered 404.
// Thread: owning worker.
SKUA_API void skua_directory_serve(skua_request *request, skua_directory *directory,
                                   skua_slice name);

// How one file is served. Zero means default. Everything is copied.
typedef struct skua_serve_desc {
    const char *type;          // default: as skua_route_directory finds it, by name and content
    const char *cache_control; // value of Cache-Control; default none
    skua_etags etags;          // default SKUA_ETAGS_AUTO
    bool dotfiles;             // also a path with a name that begins with "."; else it is not found
    bool
        precompressed; // by what lies beside it compressed: see skua_directory_config.precompressed
    // Text is compressed as the client takes it: see skua_directory_config.compress. What was compressed is kept for the
    // server's other requests, up to 16 MiB of each worker
    bool compress;
} skua_serve_desc;

// Responds with the file root/path, now or later, as a directory does: with its type, an entity tag and
// Last-Modified, with 304 and 412 to conditions, with parts to ranges, up to 16 of them, in a coding that the
// client takes if desc says so. What is
// no file that can be read is answered 404 or 403, want of memory or descriptors 503. The handler does
// nothing more with the request; fields that it has added before are sent with the file.
// root: to stay until the request has ended. path: as for skua_file_open, copied: that of a client may
// be given, which does not lead out of root. desc: NULL for the defaults.
// Cost: the file is opened, and read up to 32768 octets, for each request; skua_route_directory keeps
// what is asked for often.
// Thread: owning worker.  Spec: RFC 9110 §13, §14
SKUA_SIZED void skua_serve_file(skua_request *request, skua_root *root, skua_slice path,
                                const skua_serve_desc *desc);

// ---- Files inside the program -----------------------------------------------------------------

// A file that is part of the program, prepared when it was built: skua embed FOLDER > assets.h writes a header
// that defines a skua_assets, and so does skua_assets(target folder) in CMake. Whatever it points to stays as it is.
typedef struct skua_asset {
    const char *path; // "css/style.css"
    const char *type; // its media type; NULL: by its name and how its content begins
    const char *etag; // strong, with its quotes: the same wherever the content is; NULL: none
    skua_slice content;
    skua_slice br, zstd, gzip; // the content in a coding; empty: it does not gain by that
    int64_t modified;          // seconds since 1970, for Last-Modified; 0: none
} skua_asset;

// Files that are part of the program.
typedef struct skua_assets {
    const skua_asset *list; // in the order of their paths, octet by octet
    size_t count;
    size_t asset_octets; // sizeof(skua_asset)
} skua_assets;

// How they are served. Zero means default. Strings are copied. As in skua_directory_config.
typedef struct skua_assets_config {
    const char *index;         // default "index.html"
    const char *cache_control; // default none
    const char *fallback;      // default none
    const char *not_found;     // default "404.html", where there is one; "": none
    const char *name;          // of their route: see skua_route_desc
} skua_assets_config;

// Serves them at pattern, as skua_route_directory serves files, without a disk: GET and HEAD, conditions, single ranges
// (several are answered by the whole), codings, redirects and pages. They have no Last-Modified.
// assets: the lists stay until the server is freed. config: NULL for the defaults.
// Errors: those of skua_route; SKUA_EINVAL also for lists that are not in order.  Cost: content is not copied.
SKUA_SIZED SKUA_NODISCARD skua_status skua_route_assets(skua_server *server, const char *pattern,
                                                        const skua_assets *assets,
                                                        const skua_assets_config *config);

// As skua_route_assets, for the requests of a site. Errors: those of skua_route_assets but SKUA_ESTATE;
// skua_site_error says more.
SKUA_SIZED SKUA_NODISCARD skua_status skua_site_assets(skua_site *site, const char *pattern,
                                                       const skua_assets *assets,
                                                       const skua_assets_config *config);

// ---- Types of files ---------------------------------------------------------------------------

// The media type for a file name by its ending, or by the whole of it ("Makefile"), with
// "; charset=utf-8" where it is text; "application/octet-stream" when unknown. skua_route_directory
// looks at the content then: what begins as UTF-8 text is text/plain, and ".ts" that does not may be
// video/mp2t.  Thread: any.
SKUA_API const char *skua_media_type(skua_slice name);

// ---- Statistics -------------------------------------------------------------------------------

// Classes of status codes, of which number 0 is for requests without a response, and places of durations.
enum { SKUA_STATS_CLASSES = 6, SKUA_STATS_DURATIONS = 51 };

// Counts of a server since it was made, over all of its runs; what is open or held, is so now.
// A request counts when its response has left, or when at most 16384 octets of it wait for the client.
// Each is right by itself, and they may differ by what happens while they are read.
typedef struct skua_stats {
    uint64_t connections_accepted; // refused ones among them
    uint64_t connections_refused;  // by connections_max, memory_max or on_connect
    uint64_t connections_open;
    uint64_t connections_max; // of all workers
    uint64_t handshakes;      // of TLS that were completed
    uint64_t handshakes_resumed;
    size_t memory_octets; // that clients make the server hold, of memory_max
    size_t memory_max;
    uint64_t log_lines_lost; // because there was no room for them
    // Publications of topics, with skua_topic_bridge.
    uint64_t topics_carried;  // that the store has taken
    uint64_t topics_dropped;  // that waited for it in vain
    uint64_t topics_received; // of other servers
    uint64_t topics_ignored;  // entries of the stream that are none of a bridge's
    uint64_t topics_gaps;     // of which readers were told

    // All that follows is 0 without skua_config.stats.
    bool counts_requests; // skua_config.stats
    // Connections that are open, by what they wait for; in one that carries several requests, by any of them.
    uint64_t connections_shaking;   // the end of the handshake of TLS, or the header of a proxy
    uint64_t connections_idle;      // the next request
    uint64_t connections_receiving; // the rest of a head, or content
    uint64_t connections_handling;  // a handler
    uint64_t connections_sending;   // the client, which is to take octets
    uint64_t connections_streaming; // anything: event streams, tunnels, WebSockets
    uint64_t connections_closing;   // the client's end
    // Requests that have ended, by the class of their response's status: [2] are 200 to 299
    uint64_t responses[SKUA_STATS_CLASSES];
    // by that and how long they took, each in the first place whose skua_stats_bound_ns is no shorter
    uint64_t durations[SKUA_STATS_CLASSES][SKUA_STATS_DURATIONS];
    uint64_t duration_ns[SKUA_STATS_CLASSES]; // the sum
    uint64_t content_sent, content_received;  // octets
    // Those whose response was not sent whole: the client has left; a deadline has passed; anything else.
    uint64_t requests_closed, requests_timed_out, requests_failed;
    // Those that the server has answered by itself, because of a limit.
    uint64_t refused_head;    // 414 and 431
    uint64_t refused_content; // 413
    uint64_t refused_slow;    // 408
    uint64_t refused_busy;    // 503

    // Caches of directories, of all workers, whether requests are counted or not. Hits were answered by what was there; for
    // misses a file was read, or compressed. Evictions made room for others, or for want of memory or descriptors.
    uint64_t cache_hits, cache_misses, cache_evictions;
    uint64_t cache_entries, cache_octets; // there are now
    // Of files that were compressed here. Workers share their octets, and each counts those that it has.
    uint64_t compressed_hits, compressed_misses, compressed_evictions;
    uint64_t compressed_entries, compressed_octets;
} skua_stats;

// Reads what has been counted.
// stats: is filled in, whether the server runs or not.
// Thread: any.  Cost: some thousand loads for each worker; nobody waits for it.
SKUA_SIZED void skua_server_stats(skua_server *server, skua_stats *stats);

// The longest duration that is counted at place index of skua_stats.durations, in nanoseconds: 1 us, 1.5 us,
// 2, 2.5, 3.5, 5 and 7.5 us, the same times each power of ten, up to 10 s; INT64_MAX for the last place.
SKUA_API int64_t skua_stats_bound_ns(unsigned index);

// The duration that so much of all requests did not exceed, in nanoseconds: 0.99 for that of 99 in 100. It is
// as exact as the places are close, within half of its value; 10 s for any that is longer; 0 without requests.
SKUA_SIZED int64_t skua_stats_quantile_ns(const skua_stats *stats, double quantile);

// Writes them in the text format of Prometheus, ended by NUL, as far as there is room.
// text: may be NULL if octets is 0.
// Returns: the length of the whole, without the NUL; 20480 octets are always enough.
// Spec: https://prometheus.io/docs/instrumenting/exposition_formats/
SKUA_SIZED size_t skua_stats_write(const skua_stats *stats, char *text, size_t octets);

// A handler that answers with the statistics of its server, as skua_stats_write writes them. They are for
// you alone: the route should be guarded, or on an address of its own. user: not used.
SKUA_API void skua_respond_stats(skua_request *request, void *user);

// ---- Testing ----------------------------------------------------------------------------------

// Plays octets as what one client sends on a connection of its own, to a server that is not
// started: in this process, without a socket, by the handlers, limits and deadlines of the real
// one. Gives everything the server sent until it closed, or had answered all and waited for more.
//
//     skua_slice received;
//     if (skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &received) ==
//     SKUA_OK) {
//         assert(strstr(received.ptr, "200 OK"));
//         skua_test_free(received);
//     }
//
// The first call starts the server, with one worker and without listening; it is ended by
// skua_server_free, so that what handlers keep lives from one call to the next. The same calls give
// the same octets, but for the dates.
// Its clock jumps to the next timer when there is nothing else to do: a request that stops in the
// middle is answered 408 at once. Handlers that wait for skua_offload, tickets or skua_post are
// waited for, for 10 seconds.
// octets: any number of requests, or what is none. received: to be freed by skua_test_free; a NUL
// follows it.
// Errors: those of skua_start; SKUA_ESTATE it was started otherwise; SKUA_ECLOSED it was stopped;
// SKUA_ENOMEM; SKUA_ELIMIT nobody answered, or the response has more than 64 MiB.
// Thread: one and the same for all calls, and for skua_server_free. Not from a callback.
SKUA_API SKUA_NODISCARD skua_status skua_test_request(skua_server *server, skua_slice octets,
                                                      skua_slice *received);

// Frees a response that skua_test_request or skua_test gave.
SKUA_API void skua_test_free(skua_slice received);

// A response as skua_test understands it. All slices are parts of received.
typedef struct skua_test_response {
    int status;          // of the final response; 0: the connection ended without one
    skua_slice content;  // decoded of chunks, as far as it came; a NUL follows it
    skua_slice fields;   // the field lines, each ended by CRLF: see skua_test_field
    skua_slice received; // everything, but for chunks; to be freed by skua_test_free
} skua_test_response;

// Sends one request as skua_test_request does, and reads the response.
//
//     skua_test_response response;
//     if (skua_test(server, "POST", "/items", "{\"name\":\"x\"}", &response) == SKUA_OK) {
//         assert(response.status == 201);
//         assert(skua_slice_is(skua_test_field(&response, "Location"), "/items/1"));
//         skua_test_free(response.received);
//     }
//
// method, path: as they stand in a request line, the path with a query if there is one; what is wrong with them
// is the server's to find.
// content: text, ended by NUL; NULL for none. It is sent as application/json if it begins with "{" or "[",
// else as text/plain.
// The request is of HTTP/1.1, for the first name in skua_config.hosts, or for localhost. Any other one, with
// fields of its own, is for skua_test_request.
// Errors: those of skua_test_request.  Thread: as skua_test_request.
SKUA_SIZED SKUA_NODISCARD skua_status skua_test(skua_server *server, const char *method,
                                                const char *path, const char *content,
                                                skua_test_response *result);

// The value of a field of the response, whatever the case of name: its first line; {NULL, 0} without one.
// Lifetime: that of result->received.
SKUA_SIZED skua_slice skua_test_field(const skua_test_response *result, const char *name);

// ---- Sizes ------------------------------------------------------------------------------------

// Structs get members at their ends, and nowhere else, as Skua goes on: a program that was compiled with an older
// skua.h runs with a newer library. So each function above that takes or fills a struct is an inline one, over an exported
// one of the same name with _sized behind it, which is told how large the program's structs are. Members that a program
// does not know are zero. skua_slice, skua_field, skua_timer, skua_poll, skua_ticket and skua_socket never change.

// How large a program's structs are: its own, those in them, those that they point to, and those in arrays.
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

// Those of this header.
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

// The functions above, for other languages. sizes: read during the call; each member as the program declares the
// struct. A struct that is larger than the library's must be zero beyond it, else this stops the process with a
// sentence: the program was compiled for a newer library. What is told to skua_part_fn, skua_spooled_fn, skua_form_fn,
// skua_root_entry_fn and skua_file_opened_fn must not be larger at all.
// Otherwise as the function without _sized.
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
