// SPDX-License-Identifier: MIT
//
// Server: the state that its workers share. Written before they start, read by them afterwards.
#ifndef SKUA_SERVER_SERVER_H
#define SKUA_SERVER_SERVER_H

#include "io/socket.h"
#include "exchange/blocking.h"
#include "thread/gate.h"
#include "log/log.h"
#include "thread/start_barrier.h"
#include "disk/offload.h"
#include "exchange/site.h"
#include "disk/watch.h"
#include "server/relay.h"
#include "server/worker.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SERVER_ERROR_OCTETS = 512, SERVER_WORKERS_MAX = 1024 };

typedef struct server_listener {
    socket_address address;
    char text[SOCKET_TEXT_OCTETS];
    bool secure;              // TLS is spoken
    skua_forwarded forwarded; // by which clients are known there
    bool is_given;            // by skua_listen_fd
    int given;                // until it is closed; then -1
    bool is_one;  // of the run: there is one socket, from which worker 0 accepts for all
    bool is_gone; // it was removed: the place is free
} server_listener;

// Something that is to be called when the server is freed.
typedef struct server_keepsake server_keepsake;

struct server_keepsake {
    server_keepsake *next;
    void (*drop)(void *user);
    void *user;
};

// Done by a worker, for a change.
typedef void server_change_fn(server_worker *w);

// A change of listeners or workers that is under way: see change.h.
typedef struct server_change {
    pthread_mutex_t one; // held by the thread that makes the change
    bool is_open;        // the server runs, and no thread waits for its last workers yet
    server_change_fn *heard;
    server_change_fn *settled; // the time of listeners that go is over
    uint32_t going;            // a bit for each of them
    unsigned listener;         // the number of one that comes
    int *fds;                  // by worker: the socket to accept from; -1: none, or it was taken
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned left;    // workers that have not followed
        bool has_workers; // and they stay while the lock is held
    } shared;
} server_change;

typedef struct testbed testbed;
typedef struct secure_server secure_server;

// Sites that were put into a server.
typedef struct server_sites {
    pthread_mutex_t changing; // held while the table is replaced
    struct site_table *table; // NULL: there has been no site yet
    bool is_missed;           // it was replaced while no worker could be told
    bool is_over;             // the server is being freed
} server_sites;

struct skua_server {
    skua_config config; // with the defaults filled in
    const char *wrong;  // the member that is out of range, or NULL
    char *hosts_text;
    char *spool_text;   // config.spool_directory
    char *backend_text; // config.backend
    char *secrets_text; // config.log_secrets
    host_rule hosts;
    host_rule hosts_wide;       // once a listener came that is no loopback's
    const host_rule *hosts_now; // one of the two
    network_list trusted;       // config.trusted, read
    server_listener listeners[WORKER_LISTENERS_MAX];
    unsigned listener_count;
    bool asks_handoff; // skua_config.accept, or what is best here
    bool hands_off;    // worker 0 accepts for all
    // a Unix socket, or one that was given, is shared by all workers
    int shared_fds[WORKER_LISTENERS_MAX];
    site_routes own; // for hosts that are no site's
    server_sites sites;
    server_log *log;
    budget memory; // of skua_config.memory_max
    gate logging;  // inside: threads that write a message to the log
    watch_set *watch_set;
    thread_pool *helpers; // for skua_offload
    thread_pool *disk;    // for what is not in memory
    unsigned reserve;     // descriptors that were added to the process's reserve for files
    bool uses_reserve;    // for connections, too
    blocking *blocking;   // NULL: no route of that kind
    struct {
        pthread_mutex_t changing;
        skua_local_desc list[WORKER_LOCALS_MAX]; // make NULL: the key is free
    } locals;
    server_relay *relay;       // of topics; NULL: they are local
    const io_backend *asked;   // skua_config.backend, or what is preferred here
    const io_backend *backend; // that is used
    secure_server *secure;     // of secure.h; NULL: TLS is not spoken
    testbed *testbed;          // of skua_test_request; NULL: not used
    void *sim_kernel;          // of server_start_on; becomes loop.kernel
    server_worker *workers[SERVER_WORKERS_MAX];
    server_change change;
    bool started;
    bool inside;           // the starter's thread is in a function that calls callbacks
    const void *starter;   // the thread that started it, as thread_here names it
    bool has_run;          // a start has succeeded since the last one was tried
    start_barrier barrier; // of the workers' threads
    gate running;          // inside: other threads that use workers
    bool foreign_open;     // skua_open, and not ended
    bool is_run;           // worker 0 has no thread of its own: skua_run turns it
    char error[SERVER_ERROR_OCTETS];
    // the first one's to write, read when every worker has ended
    char break_reason[SERVER_ERROR_OCTETS];
    struct {
        atomic_uint worker_count; // they stay until the run is over
        atomic_uint
            serving_count; // from number 0 on: those that new connections go to; the others rest
        // the least that skua_stop was told; -1: it was not called; STOP_NEVER: skua_drain was
        atomic_llong grace_ns;
        atomic_bool leaves;            // the listening is left to another process
        atomic_llong pressure_told_ns; // when the log had a line about memory_max; 0: never
        atomic_bool late_told;         // that blocking handlers run past it
        atomic_bool broken;            // server_break was called
        figure lines_lost;             // of logs that have been closed
        atomic_size_t published;       // octets of publications on their way to workers
        // of every worker that there has been; none goes before the server
        _Atomic(figures *) worker_figures;
        _Atomic(server_keepsake *) keepsakes; // the one that was registered last
    } shared;
};

static inline unsigned server_worker_count(const skua_server *server)
{
    return atomic_load_explicit(&server->shared.worker_count, memory_order_acquire);
}

// Its workers have no threads of their own: the one that has opened them turns them.
static inline bool server_is_turned(const skua_server *server)
{
    return server->foreign_open || server->sim_kernel;
}

static inline unsigned server_serving_count(const skua_server *server)
{
    return atomic_load_explicit(&server->shared.serving_count, memory_order_acquire);
}

// Room for one more listener, in the first free place; NULL, and the error recorded with its status, when there is
// none. It is added by server_listener_add.
server_listener *server_listener_next(skua_server *server, skua_status *status);

void server_listener_add(skua_server *server, const server_listener *listener);

// Fails when the server has been started.
skua_status server_expect_rest(skua_server *server);

// Records a sentence for skua_server_error and returns status.
skua_status server_fail(skua_server *server, skua_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
