// SPDX-License-Identifier: MIT
//
// Workers count in parts of their own, each with a lock that nobody else takes but the status listener, once a second.

#include "status/tops.h"

#include <pthread.h>
#include <string.h>

enum {
    TOPS_PARTS = 16,       // workers beyond that share one
    TOPS_FADE_MINUTES = 15 // of counts
};

typedef struct tops_part {
    pthread_mutex_t lock;
    int64_t faded_minute; // 0: nothing has been counted
    top kinds[TOPS_KINDS];
    uint64_t limited; // responses of 429
} tops_part;

static struct {
    pthread_once_t once;
    tops_part parts[TOPS_PARTS];
} tops = { .once = PTHREAD_ONCE_INIT };

static const char tops_began; // the key of a request's beginning

int64_t tops_minute(int64_t now_ns)
{
    return now_ns / 60000000000 + 1;
}

static void tops_begin(void)
{
    for (unsigned i = 0; i < TOPS_PARTS; i++)
        (void)pthread_mutex_init(&tops.parts[i].lock, NULL);
}

static bool tops_is_value(tops_kind kind)
{
    return kind == TOPS_SLOW || kind == TOPS_BIG;
}

static void tops_age(tops_part *part, int64_t minute)
{
    if (!part->faded_minute) part->faded_minute = minute;
    if (minute - part->faded_minute < TOPS_FADE_MINUTES) return;
    part->faded_minute = minute;
    for (unsigned kind = 0; kind < TOPS_KINDS; kind++)
        if (!tops_is_value(kind)) top_fade(&part->kinds[kind]);
}

// ---- Counting ----

static void tops_before(skua_request *request, void *user)
{
    (void)user;
    int64_t *began = skua_request_alloc(request, sizeof *began);
    if (began) *began = skua_worker_now_ns(skua_request_worker(request));
    if (began) (void)!skua_request_set(request, &tops_began, began);
    skua_next(request);
}

// The path, behind the first name of the site; "*" is none. Without the query, which may have secrets.
static skua_slice tops_name(const skua_request *request, const char *hosts,
                            char name[TOP_NAME_OCTETS])
{
    size_t host = strcspn(hosts, " ");
    skua_slice path = skua_request_path(request);
    if (strchr(hosts, '*') || host > TOP_NAME_OCTETS / 2) host = 0;
    if (path.len > TOP_NAME_OCTETS - host) path.len = TOP_NAME_OCTETS - host;
    memcpy(name, hosts, host);
    if (path.len) memcpy(name + host, path.ptr, path.len);
    return (skua_slice){ name, host + path.len };
}

static void tops_end(skua_request *request, skua_end how, void *user)
{
    (void)how;
    char name[TOP_NAME_OCTETS], peer[128];
    skua_worker *worker = skua_request_worker(request);
    int64_t now_ns = skua_worker_now_ns(worker), minute = tops_minute(now_ns);
    const int64_t *began = skua_request_get(request, &tops_began);
    tops_part *part = &tops.parts[skua_worker_index(worker) % TOPS_PARTS];
    skua_slice path = tops_name(request, user, name);
    int status = skua_request_status(request);
    (void)pthread_mutex_lock(&part->lock);
    tops_age(part, minute);
    top_count(&part->kinds[TOPS_ASKED], path, 1);
    if (status == 404) top_count(&part->kinds[TOPS_MISSED], path, 1);
    if (status == 429) {
        part->limited++;
        size_t len = skua_request_peer(request, peer, sizeof peer);
        top_count(&part->kinds[TOPS_LIMITED], (skua_slice){ peer, len }, 1);
    }
    if (began) top_value(&part->kinds[TOPS_SLOW], path, (uint64_t)(now_ns - *began), minute);
    top_value(&part->kinds[TOPS_BIG], path, skua_request_sent(request), minute);
    (void)pthread_mutex_unlock(&part->lock);
}

skua_middleware tops_middleware(const char *hosts)
{
    (void)pthread_once(&tops.once, tops_begin);
    return (skua_middleware){ .before = tops_before,
                              .end = tops_end,
                              .user = (void *)(uintptr_t)hosts };
}

// ---- Reading ----

static void tops_add(tops_kind kind, const top *part, int64_t minute, top *sum)
{
    for (unsigned i = 0; i < part->count; i++) {
        const top_entry *at = &part->entries[i];
        const skua_slice name = { at->name, at->len };
        if (!tops_is_value(kind)) top_count(sum, name, at->weight);
        else if (minute - at->minute < TOP_MINUTES) top_value(sum, name, at->weight, minute);
    }
}

void tops_get(tops_kind kind, int64_t minute, top *sum)
{
    (void)pthread_once(&tops.once, tops_begin);
    sum->count = 0;
    for (unsigned i = 0; i < TOPS_PARTS; i++) {
        tops_part *part = &tops.parts[i];
        (void)pthread_mutex_lock(&part->lock);
        if (part->faded_minute) tops_age(part, minute);
        tops_add(kind, &part->kinds[kind], minute, sum);
        (void)pthread_mutex_unlock(&part->lock);
    }
    top_order(sum);
}

uint64_t tops_limited(void)
{
    uint64_t sum = 0;
    (void)pthread_once(&tops.once, tops_begin);
    for (unsigned i = 0; i < TOPS_PARTS; i++) {
        (void)pthread_mutex_lock(&tops.parts[i].lock);
        sum += tops.parts[i].limited;
        (void)pthread_mutex_unlock(&tops.parts[i].lock);
    }
    return sum;
}
