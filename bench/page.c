// SPDX-License-Identifier: MIT
//
// The bench's client for a browser's pages over HTTP/2 and TLS, on nghttp2, as h2load is. On each
// connection it asks for a document, and when that has come for everything it needs, at once; then
// for the document again. Each request has the priority that a browser would give it.
//
// It is driven as client.c is: it opens the connections, reads the page once on each, prints
// "ready" and waits for a line; then it reads pages for --seconds, prints its counts as one line of
// JSON, and waits for a line before it lets go of the connections. Latency is that of whole pages.
//
// --page: a file of lines "PATH OCTETS PRIORITY", of which the first is the document. --fields: one of
// lines "name: value" that every request has.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RESOURCES_MAX = 100, FIELDS_MAX = 40, LINE_OCTETS = 1024, EVENTS_MAX = 64 };
enum { BUFFER_OCTETS = 65536, LATENCY_STEP_US = 20, LATENCY_STEPS = 100000 }; // to two seconds
enum { WINDOW_OCTETS = 6291456, CONNECTION_OCTETS = 15663105, TABLE_OCTETS = 65536 }; // Chromium's

typedef struct resource {
    const char *path, *priority;
    uint64_t octets;
} resource;

// One response that is awaited.
typedef struct get {
    const resource *resource;
    uint64_t octets;
    bool is_ok; // the status
} get;

typedef struct conn {
    int fd; // -1: closed
    SSL *ssl;
    nghttp2_session *session;
    get gets[RESOURCES_MAX];
    size_t asked, awaited; // of these
    bool is_document;      // the only one
    int64_t asked_ns;
} conn;

static struct {
    uint16_t port;
    unsigned connections, seconds;
    resource resources[RESOURCES_MAX];
    size_t count;
    nghttp2_nv fields[FIELDS_MAX]; // :method, :scheme, :authority, :path, priority, and those given
    size_t field_count;
    bool asking; // go on behind a page
    conn *conns;
    unsigned quiet; // connections that have read their page
    int epoll;
    SSL_CTX *tls;
    int64_t now_ns;
    uint64_t requests, connect_errors, closed, wrong_answers, write_errors;
    uint64_t latency[LATENCY_STEPS];
} the;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void conn_close(conn *c, uint64_t *reason)
{
    if (c->fd < 0) return;
    ++*reason;
    close(c->fd);
    c->fd = -1;
}

// ---- Asking ----

enum { FIELD_PATH = 3, FIELD_PRIORITY, FIELDS_OWN };

static void field_set(size_t i, const char *name, const char *value)
{
    the.fields[i] = (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name,
                                  .value = (uint8_t *)(uintptr_t)value,
                                  .namelen = strlen(name),
                                  .valuelen = strlen(value) };
}

static void conn_get(conn *c, const resource *wanted)
{
    get *g = &c->gets[c->asked++];
    *g = (get){ .resource = wanted };
    c->awaited++;
    field_set(FIELD_PATH, ":path", wanted->path);
    field_set(FIELD_PRIORITY, "priority", wanted->priority);
    if (nghttp2_submit_request(c->session, NULL, the.fields, the.field_count, NULL, g) < 0)
        conn_close(c, &the.write_errors);
}

static void conn_get_document(conn *c)
{
    c->is_document = true;
    c->asked = 0;
    c->asked_ns = the.now_ns;
    conn_get(c, &the.resources[0]);
}

// A page's requests and its window updates always fit into an empty socket buffer.
static void conn_send(conn *c)
{
    static uint8_t buffer[BUFFER_OCTETS];
    const uint8_t *octets;
    size_t len = 0;
    for (ssize_t n; c->fd >= 0 && (n = nghttp2_session_mem_send(c->session, &octets)) != 0;) {
        if (n < 0 || (size_t)n > sizeof buffer - len) conn_close(c, &the.write_errors);
        else memcpy(buffer + len, octets, (size_t)n);
        len += n > 0 ? (size_t)n : 0;
    }
    if (c->fd >= 0 && len && SSL_write(c->ssl, buffer, (int)len) != (int)len)
        conn_close(c, &the.write_errors);
}

// ---- Answers ----

static void page_done(conn *c)
{
    int64_t step = (the.now_ns - c->asked_ns) / 1000 / LATENCY_STEP_US;
    the.latency[step < LATENCY_STEPS ? step : LATENCY_STEPS - 1]++;
    if (the.asking) conn_get_document(c);
    else the.quiet++;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)flags;
    (void)user;
    get *g = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (g && name_len == 7 && memcmp(name, ":status", 7) == 0)
        g->is_ok = value_len == 3 && memcmp(value, "200", 3) == 0;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *octets,
                   size_t len, void *user)
{
    (void)flags;
    (void)octets;
    (void)user;
    get *g = nghttp2_session_get_stream_user_data(session, stream);
    if (g) g->octets += len;
    return 0;
}

static void batch_done(conn *c)
{
    if (!c->is_document) {
        page_done(c);
        return;
    }
    c->is_document = false;
    c->asked = 0;
    for (size_t i = 1; i < the.count; i++)
        conn_get(c, &the.resources[i]);
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
    conn *c = user;
    const get *g = nghttp2_session_get_stream_user_data(session, stream);
    if (code || !g || !g->is_ok || g->octets != g->resource->octets) {
        conn_close(c, &the.wrong_answers);
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    the.requests++;
    if (--c->awaited == 0) batch_done(c);
    return 0;
}

static void conn_receive(conn *c)
{
    static uint8_t octets[BUFFER_OCTETS];
    while (c->fd >= 0) {
        int n = SSL_read(c->ssl, octets, sizeof octets);
        if (n <= 0) {
            if (SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ) conn_close(c, &the.closed);
            break;
        }
        if (nghttp2_session_mem_recv(c->session, octets, (size_t)n) != n)
            conn_close(c, &the.wrong_answers);
    }
    conn_send(c);
}

// ---- Connections ----

static void tls_prepare(void)
{
    the.tls = SSL_CTX_new(TLS_client_method());
    if (!the.tls || SSL_CTX_set_min_proto_version(the.tls, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(the.tls, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(the.tls, "X25519:P-256") != 1 ||
        SSL_CTX_set_alpn_protos(the.tls, (const unsigned char *)"\x02h2", 3))
        die("OpenSSL");
}

static nghttp2_session *session_new(conn *c)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, TABLE_OCTETS },
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_OCTETS },
    };
    if (nghttp2_session_callbacks_new(&callbacks)) die("nghttp2");
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new(&session, callbacks, c) ||
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                sizeof settings / sizeof *settings) ||
        nghttp2_submit_window_update(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_OCTETS))
        die("nghttp2");
    nghttp2_session_callbacks_del(callbacks);
    return session;
}

// Waits for the handshake, which is no part of what is measured.
static void conn_open(conn *c)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(the.port) };
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = c };
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->ssl = SSL_new(the.tls);
    if (c->fd < 0 || !c->ssl || setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
        connect(c->fd, (struct sockaddr *)&address, sizeof address) ||
        SSL_set_fd(c->ssl, c->fd) != 1 || SSL_set_tlsext_host_name(c->ssl, "localhost") != 1 ||
        SSL_connect(c->ssl) != 1 || fcntl(c->fd, F_SETFL, O_NONBLOCK) ||
        epoll_ctl(the.epoll, EPOLL_CTL_ADD, c->fd, &event)) {
        conn_close(c, &the.connect_errors);
        return;
    }
    c->session = session_new(c);
    the.now_ns = clock_ns();
    conn_get_document(c);
    conn_receive(c); // and so sends
}

static void turn(void)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(the.epoll, events, EVENTS_MAX, 50);
    the.now_ns = clock_ns();
    for (int i = 0; i < n; i++)
        conn_receive(events[i].data.ptr);
}

static uint64_t errors(void)
{
    return the.connect_errors + the.closed + the.wrong_answers + the.write_errors;
}

// Until every page has come, or nothing has for five seconds: a server may forget a stream.
static void finish(void)
{
    uint64_t before = the.requests;
    int64_t since_ns = clock_ns();
    while (the.quiet + errors() < the.connections && clock_ns() - since_ns < 5000000000) {
        turn();
        if (the.requests == before) continue;
        before = the.requests;
        since_ns = the.now_ns;
    }
}

static void load(void)
{
    int64_t end_ns = clock_ns() + the.seconds * 1000000000LL;
    the.now_ns = clock_ns();
    the.asking = true;
    the.quiet = 0;
    for (unsigned i = 0; i < the.connections; i++) {
        conn *c = &the.conns[i];
        if (c->fd < 0) continue;
        conn_get_document(c);
        conn_send(c);
    }
    while (the.now_ns < end_ns)
        turn();
    the.asking = false;
    finish();
}

// ---- Figures ----

static double latency_ms(double share)
{
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < LATENCY_STEPS; i++)
        total += the.latency[i];
    for (int i = 0; i < LATENCY_STEPS; i++) {
        seen += the.latency[i];
        if ((double)seen >= share * (double)total) return (i + 1) * LATENCY_STEP_US / 1000.0;
    }
    return 0;
}

static void report(uint64_t before)
{
    uint64_t missing = the.connections - the.quiet - errors();
    printf(
        "{\"requests\": %llu, \"connect_errors\": %llu, \"closed\": %llu, \"wrong_answers\": %llu, \"write_errors\": %llu, "
        "\"timeouts\": %llu, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
        (unsigned long long)(the.requests - before), (unsigned long long)the.connect_errors,
        (unsigned long long)the.closed, (unsigned long long)the.wrong_answers,
        (unsigned long long)the.write_errors, (unsigned long long)missing, latency_ms(0.5),
        latency_ms(0.99));
    fflush(stdout);
}

// ---- Options ----

static void lines_read(const char *path, void (*take)(char *line))
{
    char line[LINE_OCTETS];
    FILE *file = fopen(path, "re");
    if (!file) die(path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        take(line);
    }
    fclose(file);
}

// The word at *line, which is moved behind it and the space there.
static const char *word_take(char **line)
{
    char *word = *line, *space = strchr(word, ' ');
    if (!space) die("--page");
    *space = 0;
    *line = space + 1;
    return word;
}

static void take_resource(char *line)
{
    char *rest = strdup(line);
    if (!rest || the.count == RESOURCES_MAX) die("--page");
    resource *r = &the.resources[the.count++];
    r->path = word_take(&rest);
    r->octets = strtoull(word_take(&rest), NULL, 10);
    r->priority = rest;
}

static void take_field(char *line)
{
    char *kept = strdup(line);
    char *colon = kept ? strstr(kept, ": ") : NULL;
    if (!colon || the.field_count == FIELDS_MAX) die("--fields");
    *colon = 0;
    field_set(the.field_count++, kept, colon + 2);
}

static void options_read(int argc, char **argv)
{
    static char authority[32];
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "connections", required_argument, NULL, 'c' },
        { "seconds", required_argument, NULL, 's' },
        { "page", required_argument, NULL, 'P' },
        { "fields", required_argument, NULL, 'f' },
        { 0 },
    };
    the.field_count = FIELDS_OWN;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': the.port = (uint16_t)strtoul(optarg, NULL, 10); break;
        case 'c': the.connections = (unsigned)strtoul(optarg, NULL, 10); break;
        case 's': the.seconds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'P': lines_read(optarg, take_resource); break;
        case 'f': lines_read(optarg, take_field); break;
        default: exit(2);
        }
    }
    if (!the.port || !the.connections || the.count < 2) {
        fputs("usage: page --port N --connections N --page FILE [--fields FILE] [--seconds N]\n",
              stderr);
        exit(2);
    }
    snprintf(authority, sizeof authority, "localhost:%u", the.port);
    field_set(0, ":method", "GET");
    field_set(1, ":scheme", "https");
    field_set(2, ":authority", authority);
}

int main(int argc, char **argv)
{
    char line[16];
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    options_read(argc, argv);
    tls_prepare();
    the.conns = calloc(the.connections, sizeof *the.conns);
    the.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!the.conns || the.epoll < 0) die("setting up");
    for (unsigned i = 0; i < the.connections; i++)
        conn_open(&the.conns[i]);
    finish();
    uint64_t before = the.requests;
    memset(the.latency, 0, sizeof the.latency);
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    if (the.seconds) load();
    report(before);
    if (!fgets(line, sizeof line, stdin)) return 0; // or the end of input
}
