// SPDX-License-Identifier: MIT
//
// Redis without threads: hiredis' asynchronous interface on the worker's loop, one connection per
// worker. Start: redis 127.0.0.1:8080 6379
// curl -X POST http://127.0.0.1:8080/hits/page ; curl http://127.0.0.1:8080/hits/page
#include <skua/skua.h>

#include <hiredis/async.h>
#include <stdio.h>
#include <stdlib.h>

// ---- The adapter: hiredis says what it waits for, and is told when that has come ----

typedef struct adapter {
    redisAsyncContext *redis;
    skua_poll poll;
    unsigned events;
} adapter;

static void adapter_wait(adapter *a, unsigned more, unsigned fewer)
{
    a->events = (a->events | more) & ~fewer;
    skua_poll_change(a->poll, a->events);
}

static void adapter_add_read(void *data)
{
    adapter_wait(data, SKUA_POLL_READABLE, 0);
}

static void adapter_del_read(void *data)
{
    adapter_wait(data, 0, SKUA_POLL_READABLE);
}

static void adapter_add_write(void *data)
{
    adapter_wait(data, SKUA_POLL_WRITABLE, 0);
}

static void adapter_del_write(void *data)
{
    adapter_wait(data, 0, SKUA_POLL_WRITABLE);
}

// Called before hiredis closes the socket.
static void adapter_cleanup(void *data)
{
    adapter *a = data;
    skua_poll_stop(a->poll);
    free(a);
}

// Either call may free the adapter. If both are due, the other comes in the next turn.
static void adapter_ready(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    adapter *a = user;
    if (events & SKUA_POLL_WRITABLE) redisAsyncHandleWrite(a->redis);
    else redisAsyncHandleRead(a->redis);
}

static bool adapter_attach(redisAsyncContext *redis, skua_worker *worker)
{
    adapter *a = calloc(1, sizeof *a);
    if (!a) return false;
    a->redis = redis;
    if (skua_poll_start(worker, redis->c.fd, 0, adapter_ready, a, &a->poll)) {
        free(a);
        return false;
    }
    redis->ev.data = a;
    redis->ev.addRead = adapter_add_read;
    redis->ev.delRead = adapter_del_read;
    redis->ev.addWrite = adapter_add_write;
    redis->ev.delWrite = adapter_del_write;
    redis->ev.cleanup = adapter_cleanup;
    return true;
}

// ---- A connection for each worker ----

static const int64_t patience_ns = 5000000000;

static int redis_port;
static unsigned link_key;

typedef struct link {
    redisAsyncContext *redis; // NULL: none; the next request tries again
    unsigned asked;           // commands without a reply
    skua_timer patience;      // for the next reply
} link;

// Those who wait get no reply, and are told so.
static void link_give_up(skua_worker *worker, void *user)
{
    (void)worker;
    link *l = user;
    redisAsyncContext *redis = l->redis;
    l->redis = NULL;
    if (redis) redisAsyncFree(redis);
}

static void link_watch(link *l, skua_worker *worker)
{
    skua_timer_stop(l->patience);
    if (l->asked &&
        skua_timer_start(worker, patience_ns, 0, link_give_up, l, &l->patience) != SKUA_OK)
        link_give_up(worker, l);
}

// hiredis frees a connection that has failed.
static void link_connected(const redisAsyncContext *redis, int status)
{
    link *l = redis->data;
    if (status != REDIS_OK && l->redis == redis) l->redis = NULL;
}

static bool link_connect(link *l, skua_worker *worker)
{
    if (l->redis) return true;
    redisAsyncContext *redis = redisAsyncConnect("127.0.0.1", redis_port);
    if (!redis || redis->err || !adapter_attach(redis, worker)) {
        if (redis) redisAsyncFree(redis);
        return false;
    }
    l->redis = redis;
    redis->data = l;
    redisAsyncSetConnectCallback(redis, link_connected);
    redisAsyncSetDisconnectCallback(redis, link_connected);
    return true;
}

static void *link_make(skua_worker *worker, void *user)
{
    (void)worker;
    (void)user;
    return calloc(1, sizeof(link));
}

static void link_drop(skua_worker *worker, void *object, void *user)
{
    (void)user;
    link_give_up(worker, object);
    free(object);
}

// ---- Routes ----

// The request is held, so that it is there when the reply comes, even if its client has gone.
static void replied(redisAsyncContext *redis, void *reply, void *user)
{
    skua_request *request = user;
    const redisReply *got = reply; // NULL: the connection has ended
    link *l = redis->data;
    char text[32];
    int len = 0;
    l->asked--;
    link_watch(l, skua_request_worker(request));
    if (got && got->type == REDIS_REPLY_INTEGER)
        len = snprintf(text, sizeof text, "%lld\n", got->integer);
    else if (got && got->type == REDIS_REPLY_STRING)
        len = snprintf(text, sizeof text, "%.20s\n", got->str);
    else if (got && got->type == REDIS_REPLY_NIL) len = snprintf(text, sizeof text, "0\n");
    skua_respond(request, len ? 200 : 503, "text/plain", (skua_slice){ text, (size_t)len });
    skua_request_drop(request);
}

static void ask(skua_request *request, void *user)
{
    const char *command = user;
    skua_worker *worker = skua_request_worker(request);
    skua_slice page = skua_request_param(request, "page");
    link *l = skua_local(worker, link_key);
    if (!l || !link_connect(l, worker) ||
        redisAsyncCommand(l->redis, replied, request, "%s hits:%b", command, page.ptr, page.len)) {
        skua_respond(request, 503, NULL, SKUA_SLICE(""));
        return;
    }
    skua_request_hold(request);
    if (l->asked++ == 0) link_watch(l, worker);
}

int main(int argc, char **argv)
{
    static char get[] = "GET", incr[] = "INCR";
    skua_server *server = skua_server_new(
        &(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .workers = 2 });
    redis_port = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 6379;
    if (!server ||
        skua_local_add(server, &(skua_local_desc){ .make = link_make, .drop = link_drop },
                       &link_key) ||
        skua_route(server, "GET /hits/{page}", ask, get) ||
        skua_route(server, "POST /hits/{page}", ask, incr))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
