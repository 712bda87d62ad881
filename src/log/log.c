// SPDX-License-Identifier: MIT
//
// The logs. Each lane has one producer; only the writer thread touches a descriptor, so that a full
// disk or a paused terminal never holds up a worker. What the descriptor does not take waits in the
// lanes, up to the limit of their memory.
// Waking costs a system call, so a worker does it only for a writer that sleeps, or when it has
// begun another block; otherwise the writer looks by itself every 50 ms, and sleeps once nothing
// has come.

#include "log/log_line.h"

#include "base/memory.h"
#include "log/lane.h"
#include "log/sink.h"
#include "thread/pipe_guard.h"
#include "thread/timed_wait.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOG_NAP_NS = 50000000 };

static const int64_t log_tell_ns = 1000000000; // between two messages of lines that were lost

_Static_assert((int)LOG_LINE_OCTETS_MAX <= (int)LANE_LINE_OCTETS_MAX, "a lane takes every line");

struct log_lane {
    lane lines;
    log_clock clock; // the producer's
    sink_place half; // where a line stopped whose rest is here; the writer's
    server_log *log;
    log_lane *next;
};

// The state of the writer, as a producer must know it.
typedef enum log_rest {
    LOG_UNBORN, // it has no thread yet
    LOG_AWAKE,  // it will look at the lanes before it rests
    LOG_NAPS,   // it will look in 50 ms
    LOG_SLEEPS, // it waits to be woken
} log_rest;

struct server_log {
    log_style style;
    skua_log_write *write;
    void *user;
    sink output, errors;
    log_lane *within; // of whose line the output has taken a part; NULL: none. The writer's
    lane_memory memory;
    int64_t told_ns; // when it was said last that lines were lost; 0: never
    pthread_t thread;
    struct {
        _Atomic(log_lane *) lanes; // newest first; they stay until log_free
        _Atomic int rest;
        atomic_bool ends;
        pthread_mutex_t message_lock; // makes one producer of many, for the lane of messages
        log_lane *messages;
        pthread_mutex_t lock; // of rest and wake
        pthread_cond_t wake;
    } shared;
};

// ---- The writer ----

static int64_t log_now_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t log_format_message(const server_log *log, slice message, char *line)
{
    bool json = log->write && log->style.format == SKUA_LOG_JSON;
    return log_line_message(json, log_now_ns(CLOCK_REALTIME), message, line, LOG_LINE_OCTETS_MAX);
}

// Says something of the log's own. It does not wait in a lane: what it is about may be that nothing
// more fits there.
static void log_say(server_log *log, const char *text)
{
    char line[LOG_LINE_OCTETS_MAX];
    size_t len = log_format_message(log, slice_of(text), line);
    if (log->write) log->write(slice_make(line, len), log->user);
    else (void)sink_write(&log->errors, NULL, slice_make(line, len), &log->shared.ends);
}

static void log_say_lines(server_log *log, const char *what, uint64_t lines)
{
    char text[128];
    if (!lines) return;
    (void)snprintf(text, sizeof text, "%s: %llu line%s lost", what, (unsigned long long)lines,
                   lines == 1 ? " was" : "s were");
    log_say(log, text);
}

static void log_say_failure(server_log *log, const sink *failed)
{
    char text[128];
    (void)snprintf(text, sizeof text, "the access log cannot be written: %s%s", sink_why(failed),
                   failed->keeps ? "; its lines are kept until it can" : "");
    log_say(log, text);
}

// A failure is said once, on standard error; what was lost by it is said when writing works again,
// or never will.
static size_t log_write_to(server_log *log, log_lane *from, sink *to, slice lines)
{
    bool failed = to->error != 0;
    size_t done = sink_write(to, &from->half, lines, &log->shared.ends);
    if (to == &log->output) log->within = from->half.octets ? from : NULL;
    if (to->error && !failed && to == &log->output) log_say_failure(log, to);
    if (to->error) return done;
    uint64_t lost = sink_lost_now(to);
    log_say_lines(log, "the log can be written again", lost);
    if (failed && !lost && to == &log->output) log_say(log, "the log can be written again");
    return done;
}

// Writes what a lane holds now. Returns whether there was anything.
static bool log_drain_lane(server_log *log, log_lane *from, sink *to)
{
    lane *l = &from->lines;
    bool any = false;
    for (unsigned blocks = lane_blocks(l); blocks; blocks--) {
        slice lines = lane_peek(l);
        if (!lines.len) break;
        any = true;
        size_t done = lines.len;
        if (log->write) log->write(lines, log->user);
        else done = log_write_to(log, from, to, lines);
        lane_take(l, done);
        if (done < lines.len) break;
    }
    return any;
}

// Says how many lines found no room, but once in a second, as it would fill the other log.
// Returns: whether it is to be called again.
static bool log_say_lost(server_log *log)
{
    int64_t now = log_now_ns(CLOCK_MONOTONIC);
    bool is_early = log->told_ns && now - log->told_ns < log_tell_ns;
    if (is_early && !atomic_load(&log->shared.ends)) return true;
    uint64_t lost = lane_lost_now(&log->shared.messages->lines);
    for (log_lane *l = atomic_load(&log->shared.lanes); l; l = l->next)
        lost += lane_lost_now(&l->lines);
    log->told_ns = lost ? now : 0;
    log_say_lines(log, "the log could not keep up", lost);
    return false;
}

// A line of which a full disk took a part comes first, as another lane's would tear it.
static bool log_drain_lanes(server_log *log)
{
    bool any = log->within && log_drain_lane(log, log->within, &log->output);
    for (log_lane *l = atomic_load(&log->shared.lanes); l && !log->within; l = l->next)
        any |= log_drain_lane(log, l, &log->output);
    return any;
}

// Writes what all lanes hold; whether there was anything.
static bool log_drain(server_log *log)
{
    bool any = log_drain_lane(log, log->shared.messages, &log->errors);
    any |= log_drain_lanes(log);
    return log_say_lost(log) || any;
}

static bool log_has_lines(server_log *log)
{
    if (!lane_is_empty(&log->shared.messages->lines)) return true;
    for (log_lane *l = atomic_load(&log->shared.lanes); l; l = l->next) {
        if (!lane_is_empty(&l->lines)) return true;
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
    log_say_lines(log, "the log could not be written", sink_lost_now(&log->output));
    return NULL;
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

// Called with the lock held. Where no thread can be had, the next line tries again; until then lines are kept.
static bool log_is_born(server_log *log)
{
    return atomic_load(&log->shared.rest) != LOG_UNBORN || log_thread_start(log);
}

// Returns: whether there is a writer.
static bool log_wake(server_log *log)
{
    pthread_mutex_lock(&log->shared.lock);
    bool born = log_is_born(log);
    if (born) atomic_store(&log->shared.rest, LOG_AWAKE);
    pthread_cond_signal(&log->shared.wake);
    pthread_mutex_unlock(&log->shared.lock);
    return born;
}

// ---- Lanes ----

static log_lane *log_lane_new(server_log *log)
{
    log_lane *made = memory_aligned(64, sizeof *made);
    if (!made) return NULL;
    memset(made, 0, sizeof *made);
    made->log = log;
    if (lane_init(&made->lines, &log->memory)) return made;
    memory_aligned_free(made);
    return NULL;
}

static void log_lane_free(log_lane *l)
{
    if (!l) return;
    lane_deinit(&l->lines);
    memory_aligned_free(l);
}

static void log_push(log_lane *to, slice line)
{
    lane_pushed pushed = lane_push(&to->lines, line);
    int rest = atomic_load_explicit(&to->log->shared.rest, memory_order_seq_cst);
    if (rest == LOG_UNBORN || rest == LOG_SLEEPS || (rest == LOG_NAPS && pushed == LANE_GREW))
        log_wake(to->log);
}

// ---- The seam ----

static bool log_shows_colours(const server_log *log)
{
    const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return log->style.format == SKUA_LOG_SHORT && !log->write && isatty(log->output.fd) &&
           !(refusal && *refusal) && !(terminal && strcmp(terminal, "dumb") == 0);
}

static void log_locks_deinit(server_log *log)
{
    pthread_cond_destroy(&log->shared.wake);
    pthread_mutex_destroy(&log->shared.lock);
    pthread_mutex_destroy(&log->shared.message_lock);
}

// Requests are logged from the beginning, or nothing may ever be. Where the writer is the process's second thread, every
// use of a descriptor costs two locked instructions more for as long as it lives.
static bool log_open(server_log *log)
{
    log->shared.messages = log_lane_new(log);
    if (!log->shared.messages) return false;
    if (!timed_wait_init(&log->shared.wake)) return false;
    pthread_mutex_init(&log->shared.lock, NULL);
    pthread_mutex_init(&log->shared.message_lock, NULL);
    if (log->style.format == SKUA_LOG_NONE || log_wake(log)) return true;
    log_locks_deinit(log);
    return false;
}

server_log *log_new(const log_config *config)
{
    server_log *log = memory_zeroed(sizeof *log);
    if (!log) return NULL;
    log->memory.octets_max = config->buffer_max;
    log->style.format = config->format;
    log->style.secrets = config->secrets ? config->secrets : "";
    log->write = config->write;
    log->user = config->user;
    sink_init(&log->output, STDOUT_FILENO);
    sink_init(&log->errors, STDERR_FILENO);
    log->style.coloured = log_shows_colours(log);
    tzset();
    if (log_open(log)) return log;
    log_lane_free(log->shared.messages);
    memory_free(log);
    return NULL;
}

// Lines that no thread could be had for are written by the program's, which takes no signal of it.
static void log_run_here(server_log *log)
{
    pipe_guard guard;
    pipe_guard_begin(&guard);
    (void)log_run(log);
    pipe_guard_end(&guard);
}

void log_free(server_log *log)
{
    if (!log) return;
    atomic_store(&log->shared.ends, true);
    if (atomic_load(&log->shared.rest) == LOG_UNBORN) {
        log_run_here(log);
    } else {
        (void)log_wake(log);
        pthread_join(log->thread, NULL);
    }
    log_locks_deinit(log);
    log_lane *l = atomic_load(&log->shared.lanes);
    while (l) {
        log_lane *next = l->next;
        log_lane_free(l);
        l = next;
    }
    log_lane_free(log->shared.messages);
    memory_free(log);
}

log_lane *log_lane_open(server_log *log)
{
    log_lane *made = log_lane_new(log);
    if (!made) return NULL;
    made->next = atomic_load(&log->shared.lanes);
    while (!atomic_compare_exchange_weak(&log->shared.lanes, &made->next, made))
        continue;
    return made;
}

void log_request(log_lane *to, const log_access *access)
{
    server_log *log = to->log;
    if (log->style.format == SKUA_LOG_NONE) return;
    char line[LOG_LINE_OCTETS_MAX];
    size_t len = log_line_request(&log->style, &to->clock, access, line, sizeof line);
    log_push(to, slice_make(line, len));
}

void log_message(server_log *log, slice message)
{
    char line[LOG_LINE_OCTETS_MAX];
    pthread_mutex_lock(&log->shared.message_lock);
    size_t len = log_format_message(log, message, line);
    log_push(log->shared.messages, slice_make(line, len));
    pthread_mutex_unlock(&log->shared.message_lock);
}

size_t log_octets(const server_log *log)
{
    return atomic_load_explicit(&log->memory.octets, memory_order_relaxed);
}

uint64_t log_lost(const server_log *log)
{
    uint64_t lost =
        lane_lost(&log->shared.messages->lines) + sink_lost(&log->output) + sink_lost(&log->errors);
    for (const log_lane *l = atomic_load(&log->shared.lanes); l; l = l->next)
        lost += lane_lost(&l->lines);
    return lost;
}

void log_count(server_log *log, budget *of)
{
    log->memory.of = of;
}
