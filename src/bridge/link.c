// SPDX-License-Identifier: MIT
//
// Link. hiredis frees a context by itself when its connection has failed, and later than asked while one of its
// callbacks runs; so a context is let go of before it is freed, and a call of one that was let go of does nothing.

#include "bridge/link.h"

#ifdef SKUA_REDIS

#include "io/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/sds.h>
#include <poll.h>
#include <stdio.h>

static void bridge_link_fail(bridge_link *l, const char *reason)
{
    l->lost(l->user, reason);
}

// ---- What hiredis waits for ----

static void bridge_link_await(bridge_link *l, unsigned more, unsigned fewer)
{
    l->events = (l->events | more) & ~fewer;
    skua_poll_change(l->poll, l->events);
}

static void bridge_link_add_read(void *data)
{
    bridge_link_await(data, SKUA_POLL_READABLE, 0);
}

static void bridge_link_del_read(void *data)
{
    bridge_link_await(data, 0, SKUA_POLL_READABLE);
}

static void bridge_link_add_write(void *data)
{
    bridge_link_await(data, SKUA_POLL_WRITABLE, 0);
}

static void bridge_link_del_write(void *data)
{
    bridge_link_await(data, 0, SKUA_POLL_WRITABLE);
}

// Called before hiredis closes the socket.
static void bridge_link_cleanup(void *data)
{
    bridge_link *l = data;
    skua_poll_stop(l->poll);
    l->poll = (skua_poll){ 0 };
    l->events = 0;
}

// Either call may end the connection; if both are due, the other comes in the next turn. Reading comes first: a store
// that refuses what is being written says why, and closes the connection.
static void bridge_link_ready(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker, (void)fd;
    bridge_link *l = user;
    if (!l->redis) return;
    if (events & SKUA_POLL_READABLE || !(events & l->events & SKUA_POLL_WRITABLE))
        redisAsyncHandleRead(l->redis);
    else redisAsyncHandleWrite(l->redis);
    if (l->redis && bridge_unasked_is_long(&l->unasked, l->redis->c.reader))
        bridge_link_fail(l, l->unasked.why);
}

// ---- Patience ----

// Octets that have come, and that the store's machine has taken. What frames strings is not counted when they are complete.
static int64_t bridge_link_octets(const bridge_link *l)
{
    const redisReader *reader = l->redis->c.reader;
    uint64_t unsent = sdslen(l->redis->c.obuf) + transfer_unsent_of(l->redis->c.fd);
    uint64_t came = l->unasked.octets_before + l->unasked.octets + reader->len - reader->pos;
    return (int64_t)(came + l->asked_octets - unsent);
}

static bool bridge_link_watch(bridge_link *l);

// On a slow network a long publication takes its time, both ways.
static void bridge_link_too_late(skua_worker *worker, void *user)
{
    (void)worker;
    bridge_link *l = user;
    if (!l->redis) return;
    if (bridge_link_octets(l) - l->moved < BRIDGE_MOVES_OCTETS || !bridge_link_watch(l))
        bridge_link_fail(l, "it does not reply");
}

// Returns: false when there is no memory for a timer.
static bool bridge_link_watch(bridge_link *l)
{
    skua_timer_stop(l->patience);
    l->patience = (skua_timer){ 0 };
    if (!l->asked) return true;
    l->moved = bridge_link_octets(l);
    return skua_timer_start(l->worker, l->patience_ns, 0, bridge_link_too_late, l, &l->patience) ==
           SKUA_OK;
}

// ---- Commands ----

static void bridge_link_refused(bridge_link *l, const redisReply *error,
                                const bridge_question *question)
{
    if (question->refused) question->refused(l, error);
    bridge_link_fail(l, error->str);
}

static void bridge_link_replied(redisAsyncContext *redis, void *got, void *user)
{
    bridge_link *l = redis->data;
    const redisReply *reply = got; // NULL: the connection has ended
    const bridge_question *question = user;
    if (!reply || l->redis != redis) return;
    l->asked--;
    if (!bridge_link_watch(l)) bridge_link_fail(l, skua_status_text(SKUA_ENOMEM));
    else if (reply->type == REDIS_REPLY_ERROR) bridge_link_refused(l, reply, question);
    else question->replied(l, reply);
}

bool bridge_link_ask(bridge_link *l, const slice *words, size_t count,
                     const bridge_question *question)
{
    const char *texts[BRIDGE_COMMAND_WORDS_MAX];
    size_t lengths[BRIDGE_COMMAND_WORDS_MAX];
    if (!l->redis) return false;
    for (size_t i = 0; i < count; i++) {
        texts[i] = words[i].len ? words[i].ptr : "";
        lengths[i] = words[i].len;
        l->asked_octets += words[i].len;
    }
    union {
        const bridge_question *given;
        void *taken;
    } user = { .given = question };
    if (redisAsyncCommandArgv(l->redis, bridge_link_replied, user.taken, (int)count, texts,
                              lengths) != REDIS_OK)
        return false;
    return l->asked++ || bridge_link_watch(l);
}

// ---- Greeting ----

static void bridge_link_agreed(bridge_link *l, const redisReply *reply)
{
    (void)l, (void)reply;
}

static void bridge_link_greeted(bridge_link *l, const redisReply *reply)
{
    (void)reply;
    l->greeted(l->user);
}

static const bridge_question bridge_link_greeting = { .replied = bridge_link_agreed };
static const bridge_question bridge_link_ping = { .replied = bridge_link_greeted };

static bool bridge_link_authenticate(bridge_link *l)
{
    const bridge_url *url = l->url;
    slice words[3] = { SKUA_SLICE("AUTH") };
    size_t count = 1;
    if (!url->password[0]) return true;
    if (url->user[0]) words[count++] = slice_of(url->user);
    words[count++] = slice_of(url->password);
    return bridge_link_ask(l, words, count, &bridge_link_greeting);
}

static bool bridge_link_select(bridge_link *l)
{
    char number[16];
    int len = snprintf(number, sizeof number, "%u", l->url->database);
    const slice words[] = { SKUA_SLICE("SELECT"), slice_make(number, (size_t)len) };
    return !l->url->database || bridge_link_ask(l, words, 2, &bridge_link_greeting);
}

// A store that wants a password refuses this, too, and whoever accepts connections and is silent does not reply.
static bool bridge_link_greet(bridge_link *l)
{
    const slice ping = SKUA_SLICE("PING");
    return bridge_link_authenticate(l) && bridge_link_select(l) &&
           bridge_link_ask(l, &ping, 1, &bridge_link_ping);
}

// ---- The connection ----

static void bridge_link_connected(const redisAsyncContext *redis, int status)
{
    bridge_link *l = redis->data;
    if (l->redis != redis) return;
    if (status == REDIS_OK) return;
    l->redis = NULL; // hiredis frees it
    bridge_link_fail(l, redis->errstr[0] ? redis->errstr : "it cannot be reached");
}

static void bridge_link_disconnected(const redisAsyncContext *redis, int status)
{
    bridge_link *l = redis->data;
    (void)status;
    if (l->redis != redis) return;
    l->redis = NULL;
    if (l->unasked.why) bridge_link_fail(l, l->unasked.why);
    else bridge_link_fail(l, redis->errstr[0] ? redis->errstr : "it has closed the connection");
}

static bool bridge_link_attach(bridge_link *l, redisAsyncContext *redis)
{
    (void)fcntl(redis->c.fd, F_SETFD, FD_CLOEXEC);
    if (skua_poll_start(l->worker, redis->c.fd, 0, bridge_link_ready, l, &l->poll)) return false;
    bridge_unasked_refuse(&l->unasked, redis->c.reader, &l->asked);
    redis->data = l;
    redis->ev.data = l;
    redis->ev.addRead = bridge_link_add_read;
    redis->ev.delRead = bridge_link_del_read;
    redis->ev.addWrite = bridge_link_add_write;
    redis->ev.delWrite = bridge_link_del_write;
    redis->ev.cleanup = bridge_link_cleanup;
    return true;
}

bool bridge_link_open(bridge_link *l, skua_worker *worker, const char *address)
{
    redisAsyncContext *redis = l->url->path[0] ? redisAsyncConnectUnix(l->url->path)
                                               : redisAsyncConnect(address, (int)l->url->port);
    l->worker = worker;
    l->asked = 0;
    l->asked_octets = 0;
    l->events = 0;
    if (!redis || redis->err || !bridge_link_attach(l, redis)) {
        if (redis) redisAsyncFree(redis);
        return false;
    }
    l->redis = redis;
    redisAsyncSetConnectCallback(redis, bridge_link_connected);
    redisAsyncSetDisconnectCallback(redis, bridge_link_disconnected);
    return bridge_link_greet(l);
}

void bridge_link_close(bridge_link *l)
{
    redisAsyncContext *redis = l->redis;
    l->redis = NULL;
    l->asked = 0;
    skua_timer_stop(l->patience);
    l->patience = (skua_timer){ 0 };
    if (redis) redisAsyncFree(redis);
}

bool bridge_link_wait(bridge_link *l, int64_t timeout_ns)
{
    if (!l->redis) return false;
    struct pollfd one = { .fd = l->redis->c.fd, .events = POLLIN };
    if (l->events & SKUA_POLL_WRITABLE) one.events |= POLLOUT;
    int count = poll(&one, 1, (int)(timeout_ns / 1000000));
    if (count < 0) return errno == EINTR;
    if (count == 0) return false;
    if (one.revents & POLLOUT) redisAsyncHandleWrite(l->redis);
    if (l->redis && one.revents & ~POLLOUT) redisAsyncHandleRead(l->redis);
    return l->redis != NULL;
}

#endif
