// SPDX-License-Identifier: MIT
//
// The logs. Each lane is a ring of whole lines with one producer and one consumer; only the writer
// thread touches a descriptor, so that a full disk or a paused terminal never holds up a worker.
// Waking costs a system call, so a worker does it only for a writer that sleeps, or when its ring
// has become half full; otherwise the writer looks by itself every 50 ms, and sleeps once nothing
// has come. Invariant of a lane: tail <= head <= tail + LANE_OCTETS, and what lies between them is
// whole lines.

#include "log/log_line.h"

#include "base/assert.h"
#include "base/memory.h"
#include "thread/timed_wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LANE_OCTETS = 262144, // a power of two
    LOG_NAP_MS = 50,
    LOG_NAP_NS = LOG_NAP_MS * 1000000,
    LOG_STALL_MS = 1000 // how long an ending writer waits for a reader that does not read
};

struct log_lane {
    // The producer's.
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t lost; // lines that found no room
    uint64_t tail_seen;    // tail when it was last looked at
    log_clock clock;
    server_log *log;
    log_lane *next;
    // The writer's.
    _Alignas(64) _Atomic uint64_t tail;
    uint64_t lost_told;
    _Alignas(64) char ring[LANE_OCTETS];
};

// What the writer does, as a producer must know it.
typedef enum log_rest {
    LOG_AWAKE,  // it will look at the lanes before it rests
    LOG_NAPS,   // it will look in 50 ms
    LOG_SLEEPS, // it waits to be woken
} log_rest;

// A descriptor that is written to.
typedef struct log_sink {
    int fd;
    bool waits;    // a write could block: ask first, and write in pieces
    uint64_t lost; // lines that could not be written since it last worked
} log_sink;

struct server_log {
    skua_log_format format;
    skua_log_write *write;
    void *user;
    bool coloured;
    log_sink output, errors;
    log_clock clock;    // the writer's
    uint64_t unwritten; // lines lost by a sink that works again, to be said
    pthread_t thread;
    struct {
        _Atomic(log_lane *) lanes; // newest first; they stay until log_free
        _Atomic int rest;
        _Atomic bool ends;
        pthread_mutex_t message_lock; // makes one producer of many, for the lane of messages
        log_lane *messages;
        pthread_mutex_t lock; // of rest and wake
        pthread_cond_t wake;
    } shared;
    char scratch[LANE_OCTETS]; // what the writer has taken from a ring
};

// ---- Sinks: the writer's ----

static void sink_init(log_sink *sink, int fd)
{
    struct stat info;
    *sink = (log_sink){ .fd = fd, .waits = fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) };
}

// Whether the descriptor takes PIPE_BUF octets. A reader that has stalled must not keep the process
// from ending.
static bool sink_is_ready(server_log *log, const log_sink *sink)
{
    struct pollfd poll_fd = { .fd = sink->fd, .events = POLLOUT };
    for (int waited_ms = 0; waited_ms < LOG_STALL_MS;) {
        if (poll(&poll_fd, 1, LOG_NAP_MS) != 0) return true;
        if (atomic_load(&log->shared.ends)) waited_ms += LOG_NAP_MS;
    }
    return false;
}

// Writes from the front of *octets. Returns 0, or the errno of what stopped it.
static int sink_write(server_log *log, const log_sink *sink, slice *octets)
{
    while (octets->len) {
        if (sink->waits && !sink_is_ready(log, sink)) return ETIMEDOUT;
        size_t piece = sink->waits && octets->len > PIPE_BUF ? PIPE_BUF : octets->len;
        ssize_t n = write(sink->fd, octets->ptr, piece);
        if (n >= 0) *octets = slice_from(*octets, (size_t)n);
        else if (errno != EINTR && errno != EAGAIN) return errno;
    }
    return 0;
}

static uint64_t log_count_lines(slice octets)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < octets.len; i++)
        lines += octets.ptr[i] == '\n';
    return lines;
}

static const char *log_why(int error)
{
    switch (error) {
    case EPIPE: return "nobody reads it any more";
    case ETIMEDOUT: return "its reader does not read";
    case ENOSPC: return "the disk is full";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file is too large";
    case EBADF: return "it is not open for writing";
    default: return "input or output failed";
    }
}

// A failure is said once, on standard error; what was lost by it is said when writing works again.
static void sink_put(server_log *log, log_sink *sink, slice octets)
{
    int error = sink_write(log, sink, &octets);
    bool news = error && !sink->lost;
    if (!error) {
        log->unwritten += sink->lost;
        sink->lost = 0;
    }
    sink->lost += log_count_lines(octets);
    if (!news || sink == &log->errors) return;
    char text[128], line[LOG_LINE_OCTETS_MAX];
    (void)snprintf(text, sizeof text, "the access log cannot be written: %s", log_why(error));
    size_t len = log_line_message(false, &log->clock, 0, slice_of(text), line, sizeof line);
    sink_put(log, &log->errors, slice_make(line, len));
}

static void log_put(server_log *log, log_sink *sink, slice octets)
{
    if (log->write) log->write(octets, log->user);
    else sink_put(log, sink, octets);
}

// ---- The writer ----

// Copies what a lane holds, so that its ring is free before the write begins. Returns how much it
// was.
static size_t lane_take(log_lane *lane, char *out)
{
    uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&lane->head, memory_order_seq_cst);
    size_t len = (size_t)(head - tail), at = tail % LANE_OCTETS;
    size_t first = len < LANE_OCTETS - at ? len : LANE_OCTETS - at;
    SKUA_ASSERT(len <= LANE_OCTETS);
    memcpy(out, lane->ring + at, first);
    memcpy(out + first, lane->ring, len - first);
    atomic_store_explicit(&lane->tail, head, memory_order_release);
    return len;
}

static bool lane_drain(server_log *log, log_lane *lane, log_sink *sink)
{
    size_t len = lane_take(lane, log->scratch);
    if (len) log_put(log, sink, slice_make(log->scratch, len));
    return len != 0;
}

static uint64_t lane_lost(log_lane *lane)
{
    uint64_t lost = atomic_load_explicit(&lane->lost, memory_order_relaxed);
    uint64_t news = lost - lane->lost_told;
    lane->lost_told = lost;
    return news;
}

static int64_t log_unix_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t log_format_message(const server_log *log, log_clock *clock, slice message, char *line)
{
    bool json = log->write && log->format == SKUA_LOG_JSON;
    return log_line_message(json, clock, log_unix_ns(), message, line, LOG_LINE_OCTETS_MAX);
}

static void log_say_lost(server_log *log, uint64_t lost)
{
    char text[96], line[LOG_LINE_OCTETS_MAX];
    int n = snprintf(text, sizeof text, "the log could not keep up: %llu line%s lost",
                     (unsigned long long)lost, lost == 1 ? " was" : "s were");
    size_t len = log_format_message(log, &log->clock, slice_make(text, (size_t)n), line);
    log_put(log, &log->errors, slice_make(line, len));
}

// Writes what all lanes hold; whether there was anything.
static bool log_drain(server_log *log)
{
    uint64_t lost = lane_lost(log->shared.messages);
    bool any = lane_drain(log, log->shared.messages, &log->errors);
    for (log_lane *lane = atomic_load(&log->shared.lanes); lane; lane = lane->next) {
        any |= lane_drain(log, lane, &log->output);
        lost += lane_lost(lane);
    }
    lost += log->unwritten;
    log->unwritten = 0;
    if (lost) log_say_lost(log, lost);
    return any;
}

static bool log_has_lines(server_log *log)
{
    log_lane *lane = log->shared.messages;
    for (int i = 0; lane; i++) {
        if (atomic_load(&lane->head) != atomic_load(&lane->tail)) return true;
        lane = i ? lane->next : atomic_load(&log->shared.lanes);
    }
    return false;
}

// Rests until woken, or for a nap. The order is what matters: first it is said that the writer
// sleeps, then the lanes are looked at; a producer first publishes its line, then looks whether the
// writer sleeps.
static void log_rest_now(server_log *log, log_rest rest)
{
    bool timed_out = false;
    pthread_mutex_lock(&log->shared.lock);
    atomic_store(&log->shared.rest, (int)rest);
    bool idle = rest == LOG_NAPS || !log_has_lines(log);
    while (idle && !timed_out && !atomic_load(&log->shared.ends) &&
           atomic_load(&log->shared.rest) != LOG_AWAKE) {
        if (rest == LOG_NAPS)
            timed_out = !timed_wait_ns(&log->shared.wake, &log->shared.lock, LOG_NAP_NS);
        else pthread_cond_wait(&log->shared.wake, &log->shared.lock);
    }
    atomic_store(&log->shared.rest, LOG_AWAKE);
    pthread_mutex_unlock(&log->shared.lock);
}

static void *log_run(void *user)
{
    server_log *log = user;
    while (!atomic_load(&log->shared.ends)) {
        log_rest_now(log, log_drain(log) ? LOG_NAPS : LOG_SLEEPS);
    }
    (void)log_drain(log);
    return NULL;
}

static void log_wake(server_log *log)
{
    pthread_mutex_lock(&log->shared.lock);
    atomic_store(&log->shared.rest, LOG_AWAKE);
    pthread_cond_signal(&log->shared.wake);
    pthread_mutex_unlock(&log->shared.lock);
}

// ---- Lanes: a producer's ----

static log_lane *lane_new(server_log *log)
{
    log_lane *lane = memory_aligned(64, sizeof *lane);
    if (!lane) return NULL;
    memset(lane, 0, offsetof(log_lane, ring)); // the ring is touched only as far as it is used
    lane->log = log;
    return lane;
}

// Whether a line of len octets fits; looks at the writer's tail only when it did not fit by the
// last look.
static bool lane_has_room(log_lane *lane, uint64_t head, size_t len)
{
    if (head + len - lane->tail_seen <= LANE_OCTETS) return true;
    lane->tail_seen = atomic_load_explicit(&lane->tail, memory_order_acquire);
    return head + len - lane->tail_seen <= LANE_OCTETS;
}

static void lane_copy_in(log_lane *lane, uint64_t head, slice line)
{
    size_t at = head % LANE_OCTETS;
    size_t first = line.len < LANE_OCTETS - at ? line.len : LANE_OCTETS - at;
    memcpy(lane->ring + at, line.ptr, first);
    memcpy(lane->ring, line.ptr + first, line.len - first);
}

// Whether the ring is half full; looks at the writer's tail only when it seems so by the last look.
static bool lane_is_half_full(log_lane *lane, uint64_t head)
{
    if (head - lane->tail_seen < LANE_OCTETS / 2) return false;
    lane->tail_seen = atomic_load_explicit(&lane->tail, memory_order_acquire);
    return head - lane->tail_seen >= LANE_OCTETS / 2;
}

static void lane_count_lost(log_lane *lane)
{
    uint64_t lost = atomic_load_explicit(&lane->lost, memory_order_relaxed);
    atomic_store_explicit(&lane->lost, lost + 1, memory_order_relaxed);
}

static void lane_push(log_lane *lane, slice line)
{
    uint64_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    if (!lane_has_room(lane, head, line.len)) {
        lane_count_lost(lane);
        return;
    }
    lane_copy_in(lane, head, line);
    atomic_store_explicit(&lane->head, head + line.len, memory_order_seq_cst);
    int rest = atomic_load_explicit(&lane->log->shared.rest, memory_order_seq_cst);
    if (rest == LOG_SLEEPS || (rest == LOG_NAPS && lane_is_half_full(lane, head + line.len))) {
        log_wake(lane->log);
    }
}

// ---- The seam ----

static bool log_shows_colours(const server_log *log)
{
    const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return log->format == SKUA_LOG_SHORT && !log->write && isatty(log->output.fd) &&
           !(refusal && *refusal) && !(terminal && strcmp(terminal, "dumb") == 0);
}

static void log_locks_deinit(server_log *log)
{
    pthread_cond_destroy(&log->shared.wake);
    pthread_mutex_destroy(&log->shared.lock);
    pthread_mutex_destroy(&log->shared.message_lock);
}

// The writer takes no signals: SIGPIPE becomes EPIPE, and the others go where the program wants
// them.
static bool log_thread_start(server_log *log)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before)) return false;
    int error = pthread_create(&log->thread, NULL, log_run, log);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static bool log_open(server_log *log)
{
    log->shared.messages = lane_new(log);
    if (!log->shared.messages) return false;
    if (!timed_wait_init(&log->shared.wake)) return false;
    pthread_mutex_init(&log->shared.lock, NULL);
    pthread_mutex_init(&log->shared.message_lock, NULL);
    if (log_thread_start(log)) return true;
    log_locks_deinit(log);
    return false;
}

server_log *log_new(skua_log_format format, skua_log_write *write, void *user)
{
    server_log *log = memory_alloc(sizeof *log);
    if (!log) return NULL;
    memset(log, 0, offsetof(server_log, scratch));
    log->format = format;
    log->write = write;
    log->user = user;
    sink_init(&log->output, STDOUT_FILENO);
    sink_init(&log->errors, STDERR_FILENO);
    log->coloured = log_shows_colours(log);
    tzset();
    if (log_open(log)) return log;
    memory_aligned_free(log->shared.messages);
    memory_free(log);
    return NULL;
}

void log_free(server_log *log)
{
    if (!log) return;
    atomic_store(&log->shared.ends, true);
    log_wake(log);
    pthread_join(log->thread, NULL);
    log_locks_deinit(log);
    log_lane *lane = atomic_load(&log->shared.lanes);
    while (lane) {
        log_lane *next = lane->next;
        memory_aligned_free(lane);
        lane = next;
    }
    memory_aligned_free(log->shared.messages);
    memory_free(log);
}

log_lane *log_lane_open(server_log *log)
{
    log_lane *lane = lane_new(log);
    if (!lane) return NULL;
    lane->next = atomic_load(&log->shared.lanes);
    while (!atomic_compare_exchange_weak(&log->shared.lanes, &lane->next, lane))
        continue;
    return lane;
}

void log_request(log_lane *lane, const log_access *access)
{
    server_log *log = lane->log;
    if (log->format == SKUA_LOG_NONE) return;
    char line[LOG_LINE_OCTETS_MAX];
    size_t len =
        log_line_request(log->format, log->coloured, &lane->clock, access, line, sizeof line);
    lane_push(lane, slice_make(line, len));
}

void log_message(server_log *log, slice message)
{
    char line[LOG_LINE_OCTETS_MAX];
    pthread_mutex_lock(&log->shared.message_lock);
    size_t len = log_format_message(log, &log->shared.messages->clock, message, line);
    lane_push(log->shared.messages, slice_make(line, len));
    pthread_mutex_unlock(&log->shared.message_lock);
}
