// SPDX-License-Identifier: MIT
//
// The bench's client for what wrk cannot do: thousands of connections opened at a bounded pace,
// targets that differ from request to request, every kind of error counted, and idle connections.
//
// It opens the connections, asks once on each, prints "ready" and waits for a line; then it asks
// for
// --seconds, prints its counts as one line of JSON, and waits for a line (or the end of input)
// before it lets go of the connections. The bench reads the server's CPU time and memory while it
// waits.
//
// If the request holds "########", a running number stands there instead.
//
// With --rate it is an open loop: requests are due by the clock, whatever the answers do, and
// latency is counted from when a request was due. One that finds every connection busy waits, and
// its waiting counts: a client that asks only after an answer would leave out just the requests
// that a slow moment hurts.
//
// With --tls (where it is built in) connections speak TLS 1.3, and each makes a full handshake: no
// session is kept. The server's certificate is not verified. With --close the server ends each
// connection behind its answer, and another one is opened; latency is then counted from its SYN.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef SKUA_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum { REQUEST_OCTETS_MAX = 16384, INPUT_OCTETS = 65536, HEAD_OCTETS_MAX = 4096, EVENTS_MAX = 512 };
enum { LATENCY_STEP_US = 5, LATENCY_STEPS = 400000 }; // to two seconds

typedef enum phase {
    PHASE_CLOSED,
    PHASE_CONNECTING,
    PHASE_SHAKES_HANDS,
    PHASE_ASKED,
    PHASE_CONTENT,
    PHASE_ANSWERED, // waits for the server's end
    PHASE_QUIET
} phase;

typedef struct conn {
    int fd;
    phase phase;
    uint64_t content_left;
    int64_t asked_ns;
#ifdef SKUA_TLS
    SSL *ssl; // NULL: in the clear
#endif
    char *head; // the beginning of a head that came in pieces, or NULL
    size_t head_octets;
} conn;

typedef struct counts {
    uint64_t requests, octets;
    uint64_t connect_errors, read_errors, write_errors, closed, wrong_answers, timeouts;
    uint64_t latency[LATENCY_STEPS];
} counts;

static struct {
    int port, epoll;
    unsigned connections, pace, seconds, timeout_s;
    char request[REQUEST_OCTETS_MAX];
    size_t request_octets;
    char *number; // where the running number stands in it, or NULL
    uint64_t serial;
    bool asking; // go on asking after an answer
    bool closes; // one request per connection
#ifdef SKUA_TLS
    SSL_CTX *tls; // NULL: in the clear
#endif
    unsigned rate; // requests per second; 0: as fast as the answers come
    conn **idle;   // a ring: those that have waited longest are asked next
    unsigned idle_first, idle_count;
    unsigned connecting, opened, quiet;
    int64_t now_ns;
    conn *conns;
    counts counts;
    char input[INPUT_OCTETS];
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

// ---- Octets, in the clear or not ----

// A socket's answers, of TLS too: how many octets, 0 at the end, -1 with errno.
#ifdef SKUA_TLS

static void tls_prepare(void)
{
    the.tls = SSL_CTX_new(TLS_client_method());
    if (!the.tls || SSL_CTX_set_min_proto_version(the.tls, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(the.tls, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(the.tls, "X25519") != 1)
        die("OpenSSL");
    SSL_CTX_set_options(the.tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_verify(the.tls, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_session_cache_mode(the.tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(the.tls, SSL_MODE_RELEASE_BUFFERS);
}

static void tls_begin(conn *c)
{
    if (!the.tls) return;
    c->ssl = SSL_new(the.tls);
    if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1 ||
        SSL_set_tlsext_host_name(c->ssl, "localhost") != 1)
        die("SSL_new");
    SSL_set_connect_state(c->ssl);
}

static void tls_end(conn *c)
{
    SSL_free(c->ssl);
}

// 1: it is complete; 0: more is to come; -1: it has failed.
static int tls_shake_hands(conn *c)
{
    if (!c->ssl) return 1;
    ERR_clear_error();
    int result = SSL_do_handshake(c->ssl);
    if (result == 1) return 1;
    int error = SSL_get_error(c->ssl, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static ssize_t tls_result(conn *c, int n)
{
    if (n > 0) return n;
    int error = SSL_get_error(c->ssl, n);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}

static ssize_t conn_recv(conn *c)
{
    if (!c->ssl) return recv(c->fd, the.input, sizeof the.input, 0);
    ERR_clear_error();
    return tls_result(c, SSL_read(c->ssl, the.input, sizeof the.input));
}

static ssize_t conn_send(conn *c)
{
    if (!c->ssl) return send(c->fd, the.request, the.request_octets, MSG_NOSIGNAL);
    ERR_clear_error();
    return tls_result(c, SSL_write(c->ssl, the.request, (int)the.request_octets));
}

// A record at a time is read of TLS, so that a short read says nothing.
static bool conn_has_more(const conn *c, ssize_t n)
{
    return c->ssl || n == (ssize_t)sizeof the.input;
}

#else

static void tls_prepare(void)
{
    fputs("client: built without TLS\n", stderr);
    exit(2);
}

static void tls_begin(conn *c)
{
    (void)c;
}

static void tls_end(conn *c)
{
    (void)c;
}

static int tls_shake_hands(conn *c)
{
    (void)c;
    return 1;
}

static ssize_t conn_recv(conn *c)
{
    return recv(c->fd, the.input, sizeof the.input, 0);
}

static ssize_t conn_send(conn *c)
{
    return send(c->fd, the.request, the.request_octets, MSG_NOSIGNAL);
}

static bool conn_has_more(const conn *c, ssize_t n)
{
    (void)c;
    return n == (ssize_t)sizeof the.input;
}

#endif

// ---- Connections ----

static void conn_end(conn *c)
{
    tls_end(c);
    close(c->fd);
    free(c->head);
    *c = (conn){ .fd = -1, .phase = PHASE_CLOSED };
}

static void conn_close(conn *c, uint64_t *reason)
{
    ++*reason;
    conn_end(c);
}

static void request_number(void)
{
    uint64_t n = the.serial++;
    for (char *digit = the.number + 8; digit-- > the.number; n /= 10)
        *digit = (char)('0' + n % 10);
}

static void conn_ask(conn *c)
{
    if (the.number) request_number();
    ssize_t n = conn_send(c);
    if (!the.closes) c->asked_ns = the.now_ns;
    c->phase = PHASE_ASKED;
    // A request that does not fit into an empty socket buffer would mean that the previous one is
    // still there.
    if (n != (ssize_t)the.request_octets) conn_close(c, &the.counts.write_errors);
}

static void conn_open(conn *c)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)the.port) };
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                 .data.ptr = c };
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    tls_begin(c);
    c->phase = PHASE_CONNECTING;
    c->asked_ns = the.now_ns;
    the.connecting++;
    int result = connect(c->fd, (struct sockaddr *)&address, sizeof address);
    if (result && errno != EINPROGRESS) {
        the.connecting--;
        conn_close(c, &the.counts.connect_errors);
        return;
    }
    if (epoll_ctl(the.epoll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
}

static void conn_shake_hands(conn *c)
{
    int done = tls_shake_hands(c);
    c->phase = PHASE_SHAKES_HANDS;
    if (done < 0) conn_close(c, &the.counts.connect_errors);
    else if (done) conn_ask(c);
}

static void conn_connected(conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;
    the.connecting--;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
        conn_close(c, &the.counts.connect_errors);
        return;
    }
    conn_shake_hands(c);
}

// ---- Answers ----

static void latency_count(int64_t ns)
{
    int64_t step = ns / 1000 / LATENCY_STEP_US;
    the.counts.latency[step < LATENCY_STEPS ? step : LATENCY_STEPS - 1]++;
}

static void idle_put(conn *c)
{
    the.idle[(the.idle_first + the.idle_count++) % the.connections] = c;
}

// NULL when every connection is busy. Those that were closed while they waited are passed over.
static conn *idle_take(void)
{
    while (the.idle_count) {
        conn *c = the.idle[the.idle_first];
        the.idle_first = (the.idle_first + 1) % the.connections;
        the.idle_count--;
        the.quiet--;
        if (c->phase == PHASE_QUIET) return c;
    }
    return NULL;
}

static void answer_done(conn *c)
{
    the.counts.requests++;
    latency_count(the.now_ns - c->asked_ns);
    if (the.closes) {
        c->phase = PHASE_ANSWERED;
        return;
    }
    if (the.asking) {
        conn_ask(c);
        return;
    }
    c->phase = PHASE_QUIET;
    the.quiet++;
    if (the.rate) idle_put(c);
}

// The value of Content-Length in a head, or -1. The head ends with an empty line.
static int64_t content_length(const char *head, const char *end)
{
    static const char name[] = "content-length:";
    for (const char *line = head; line && line + sizeof name < end;) {
        if (strncasecmp(line, name, sizeof name - 1) == 0)
            return strtoll(line + sizeof name - 1, NULL, 10);
        line = memchr(line, '\n', (size_t)(end - line));
        if (line) line++;
    }
    return -1;
}

// Returns the octets of the head, 0 if it has not all come, -1 if it is not what we asked for.
static ssize_t head_read(conn *c, const char *octets, size_t len)
{
    const char *end = memmem(octets, len, "\r\n\r\n", 4);
    if (!end) return len < HEAD_OCTETS_MAX ? 0 : -1;
    int64_t length = content_length(octets, end + 4);
    if (memcmp(octets, "HTTP/1.1 200 ", 13) != 0 || length < 0) return -1;
    c->content_left = (uint64_t)length;
    c->phase = PHASE_CONTENT;
    return end + 4 - octets;
}

// Keeps what there is of a head until the rest comes.
static void head_keep(conn *c, const char *octets, size_t len)
{
    if (!c->head) c->head = malloc(HEAD_OCTETS_MAX);
    if (!c->head) die("malloc");
    memcpy(c->head + c->head_octets, octets, len);
    c->head_octets += len;
}

// Completes a kept head from octets. Returns how many were used, or -1.
static ssize_t head_resume(conn *c, const char *octets, size_t len)
{
    size_t room = HEAD_OCTETS_MAX - c->head_octets;
    size_t before = c->head_octets;
    size_t taken = len < room ? len : room;
    head_keep(c, octets, taken);
    ssize_t n = head_read(c, c->head, c->head_octets);
    if (n <= 0) return n < 0 ? -1 : (ssize_t)taken;
    free(c->head);
    c->head = NULL;
    c->head_octets = 0;
    return n - (ssize_t)before;
}

// Takes the head from octets. Returns how many were used, or -1.
static ssize_t head_take(conn *c, const char *octets, size_t len)
{
    if (c->head) return head_resume(c, octets, len);
    ssize_t n = head_read(c, octets, len);
    if (n) return n;
    head_keep(c, octets, len);
    return (ssize_t)len;
}

static void conn_take(conn *c, const char *octets, size_t len)
{
    the.counts.octets += len;
    while (len) {
        if (c->phase == PHASE_ASKED) {
            ssize_t n = head_take(c, octets, len);
            if (n < 0) {
                conn_close(c, &the.counts.wrong_answers);
                return;
            }
            octets += n;
            len -= (size_t)n;
        } else if (c->phase == PHASE_CONTENT) {
            size_t n = len < c->content_left ? len : (size_t)c->content_left;
            c->content_left -= n;
            octets += n;
            len -= n;
        } else { // more octets than an answer has
            conn_close(c, &the.counts.wrong_answers);
            return;
        }
        if (c->phase != PHASE_CONTENT || c->content_left) continue;
        if (len) { // the next answer, though nothing was asked
            conn_close(c, &the.counts.wrong_answers);
            return;
        }
        answer_done(c);
    }
}

// The server's end. It is one more answered connection, or was too early.
static void conn_ended(conn *c)
{
    if (c->phase != PHASE_ANSWERED) {
        conn_close(c, &the.counts.closed);
        return;
    }
    conn_end(c);
    if (the.asking) {
        conn_open(c);
        return;
    }
    c->phase = PHASE_QUIET;
    the.quiet++;
}

static void conn_receive(conn *c, bool ending)
{
    while (c->phase == PHASE_ASKED || c->phase == PHASE_CONTENT || c->phase == PHASE_ANSWERED ||
           c->phase == PHASE_QUIET) {
        ssize_t n = conn_recv(c);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) {
            conn_close(c, &the.counts.read_errors);
            return;
        }
        if (n == 0) {
            conn_ended(c);
            return;
        }
        conn_take(c, the.input, (size_t)n);
        if (c->phase == PHASE_CLOSED || (!conn_has_more(c, n) && !ending)) return;
    }
}

static void conn_on_event(conn *c, uint32_t events)
{
    if (c->phase == PHASE_CLOSED) return;
    if (c->phase == PHASE_CONNECTING) {
        conn_connected(c);
        return;
    }
    if (c->phase == PHASE_SHAKES_HANDS) conn_shake_hands(c);
    if (events & ~(uint32_t)EPOLLOUT) conn_receive(c, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
}

// ---- The run ----

static void turn(int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(the.epoll, events, EVENTS_MAX, timeout_ms);
    the.now_ns = clock_ns();
    for (int i = 0; i < n; i++)
        conn_on_event(events[i].data.ptr, events[i].events);
}

static void late_ones_close(void)
{
    int64_t limit = the.timeout_s * 1000000000LL;
    for (unsigned i = 0; i < the.connections; i++) {
        conn *c = &the.conns[i];
        if (c->phase == PHASE_CLOSED || c->phase == PHASE_QUIET) continue;
        if (the.now_ns - c->asked_ns < limit) continue;
        if (c->phase == PHASE_CONNECTING) the.connecting--;
        conn_close(c, &the.counts.timeouts);
    }
}

static uint64_t errors(void)
{
    const counts *n = &the.counts;
    return n->connect_errors + n->read_errors + n->write_errors + n->closed + n->wrong_answers +
           n->timeouts;
}

// Opens the connections, at most `pace` at a time on their way, and has each answered once.
static void ramp(void)
{
    int64_t looked_ns = the.now_ns = clock_ns();
    while (the.quiet + errors() < the.connections) {
        while (the.opened < the.connections && the.opened - the.quiet - errors() < the.pace)
            conn_open(&the.conns[the.opened++]);
        turn(100);
        if (the.now_ns - looked_ns < 500000000) continue;
        looked_ns = the.now_ns;
        late_ones_close();
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
        if (c->phase == PHASE_QUIET) (the.closes ? conn_open : conn_ask)(c);
    }
    while (the.now_ns < end_ns)
        turn(50);
    the.asking = false;
}

// ---- The open loop ----

static int64_t due_ns(int64_t start_ns, uint64_t number)
{
    return start_ns + (int64_t)(number * 1000000000 / the.rate);
}

// Asks what is due, of total requests, as long as there are connections for it. Returns how many
// have been asked.
static uint64_t due_ask(int64_t start_ns, uint64_t asked, uint64_t total)
{
    while (asked < total && due_ns(start_ns, asked) <= the.now_ns) {
        conn *c = idle_take();
        if (!c) break;
        conn_ask(c);
        if (c->phase == PHASE_ASKED) c->asked_ns = due_ns(start_ns, asked);
        asked++;
    }
    return asked;
}

// Never sleeps: a timer would be late by as much as an answer takes. Returns how many were due and
// could not be asked.
static uint64_t load_open(void)
{
    uint64_t total = (uint64_t)the.rate * the.seconds, asked = 0;
    int64_t start_ns = the.now_ns = clock_ns();
    int64_t end_ns = start_ns + (int64_t)(the.seconds + the.timeout_s) * 1000000000;
    while (asked < total && the.now_ns < end_ns) {
        asked = due_ask(start_ns, asked, total);
        turn(0);
    }
    return total - asked;
}

// Waits for the answers that are on their way, so that every request paid for is counted.
static void finish(void)
{
    int64_t end_ns = the.now_ns + the.timeout_s * 1000000000LL;
    while (the.quiet + errors() < the.connections && the.now_ns < end_ns)
        turn(50);
    late_ones_close();
}

static double latency_ms(double share)
{
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < LATENCY_STEPS; i++)
        total += the.counts.latency[i];
    for (int i = 0; i < LATENCY_STEPS; i++) {
        seen += the.counts.latency[i];
        if ((double)seen >= share * (double)total) return (i + 1) * LATENCY_STEP_US / 1000.0;
    }
    return 0;
}

static void report(uint64_t ramp_requests)
{
    const counts *n = &the.counts;
    printf(
        "{\"requests\": %llu, \"ramp_requests\": %llu, \"octets\": %llu, \"connect_errors\": %llu, "
        "\"read_errors\": %llu, \"write_errors\": %llu, \"closed\": %llu, \"wrong_answers\": %llu, "
        "\"timeouts\": %llu, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"p999_ms\": %.3f}\n",
        (unsigned long long)(n->requests - ramp_requests), (unsigned long long)ramp_requests,
        (unsigned long long)n->octets, (unsigned long long)n->connect_errors,
        (unsigned long long)n->read_errors, (unsigned long long)n->write_errors,
        (unsigned long long)n->closed, (unsigned long long)n->wrong_answers,
        (unsigned long long)n->timeouts, latency_ms(0.5), latency_ms(0.99), latency_ms(0.999));
    fflush(stdout);
}

static void request_load(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, the.request, sizeof the.request);
    if (n <= 0 || n == (ssize_t)sizeof the.request) die(path);
    close(fd);
    the.request_octets = (size_t)n;
    the.number = memmem(the.request, the.request_octets, "########", 8);
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "connections", required_argument, NULL, 'c' },
        { "request", required_argument, NULL, 'r' },
        { "seconds", required_argument, NULL, 's' },
        { "pace", required_argument, NULL, 'a' },
        { "timeout", required_argument, NULL, 't' },
        { "rate", required_argument, NULL, 'R' },
        { "tls", no_argument, NULL, 'T' },
        { "close", no_argument, NULL, 'C' },
        { NULL, 0, NULL, 0 },
    };
    const char *request = NULL;
    the.pace = 256;
    the.timeout_s = 5;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': the.port = (int)strtoul(optarg, NULL, 10); break;
        case 'c': the.connections = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'r': request = optarg; break;
        case 's': the.seconds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'a': the.pace = (unsigned)strtoul(optarg, NULL, 10); break;
        case 't': the.timeout_s = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'R': the.rate = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'T': tls_prepare(); break;
        case 'C': the.closes = true; break;
        default: exit(2);
        }
    }
    if (!request || !the.port || !the.connections || !the.pace || (the.rate && the.closes)) {
        fputs("usage: client --port N --connections N --request FILE [--seconds N] [--pace N] "
              "[--timeout N] [--rate N | --close] [--tls]\n",
              stderr);
        exit(2);
    }
    request_load(request);
}

int main(int argc, char **argv)
{
    char line[16];
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    options_read(argc, argv);
    the.conns = calloc(the.connections, sizeof *the.conns);
    the.idle = calloc(the.connections, sizeof(conn *));
    the.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!the.conns || !the.idle || the.epoll < 0) die("setting up");
    ramp();
    uint64_t ramp_requests = the.counts.requests;
    memset(the.counts.latency, 0, sizeof the.counts.latency);
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    if (the.seconds) {
        uint64_t unasked = 0;
        if (the.rate) unasked = load_open();
        else load();
        finish();
        the.counts.timeouts += unasked;
    }
    report(ramp_requests);
    (void)!fgets(line, sizeof line, stdin);
    return errors() ? 1 : 0;
}
