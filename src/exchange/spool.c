// SPDX-License-Identifier: MIT
//
// Spools. One write at a time: what comes meanwhile is the next one, and cannot be more than the
// window.

#include "exchange/spool.h"

#include "base/assert.h"
#include "base/memory.h"
#include "disk/file.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "io/scratch.h"

#include <stdio.h>
#include <unistd.h>

struct spool {
    spool *next;           // of the request
    skua_request *request; // NULL: it has ended
    skua_worker *worker;
    spool_settled_fn *settled; // NULL: told
    void *user;
    skua_status status;
    bool in_file, ended, busy, orphan;
    char *octets; // in memory, or to be written next
    size_t len, room;
    size_t credit; // of those to be written, to be given back
    uint64_t length;
    skua_file *file;
    struct { // the helper's while busy
        const char *directory;
        int fd; // -1: to be opened
        char *octets;
        size_t len, room, credit;
        uint64_t offset;
        skua_status status;
    } job;
};

spool *spool_new(skua_request *r, spool_settled_fn *settled, void *user)
{
    spool *s = counted_zeroed(&r->worker->memory, sizeof *s);
    if (!s) return NULL;
    s->request = r;
    s->worker = r->worker;
    s->settled = settled;
    s->user = user;
    s->job.fd = -1;
    s->job.directory = worker_config(r->worker)->spool_directory;
    s->next = r->spools;
    r->spools = s;
    r->keeps = true;
    r->is_followed = true;
    return s;
}

static void spool_free(spool *s)
{
    SKUA_ASSERT(s->orphan && !s->busy);
    if (s->file) skua_file_unref(s->file);
    else if (s->job.fd >= 0) (void)close(s->job.fd);
    counted_free(s->job.octets);
    counted_free(s->octets);
    counted_free(s);
}

static void spool_settle(spool *s)
{
    spool_settled_fn *settled = s->settled;
    bool kept = s->ended && !s->busy && (!s->in_file || s->len == 0);
    if (!settled || !s->request || !(s->status || kept)) return;
    s->settled = NULL;
    settled(s->request, s, s->user);
}

static void spool_fail(spool *s, skua_status status)
{
    s->status = status;
    spool_settle(s);
}

// ---- Writing ----

static void spool_work(void *user)
{
    spool *s = user;
    s->job.status = SKUA_OK;
    if (s->job.fd < 0) s->job.status = scratch_open(s->job.directory, &s->job.fd);
    if (!s->job.status)
        s->job.status =
            scratch_write(s->job.fd, s->job.offset, slice_make(s->job.octets, s->job.len));
}

static void spool_write(spool *s);

// The descriptor becomes a file as others are.
static skua_status spool_adopt(spool *s)
{
    if (s->file || s->job.fd < 0) return SKUA_OK;
    s->file = memory_alloc(sizeof *s->file);
    if (!s->file) return SKUA_ENOMEM;
    *s->file = (skua_file){ .worker = s->worker, .refs = 1, .fd = s->job.fd, .is_scratch = true };
    return SKUA_OK;
}

// The buffer of a write that is over is the next one's, if that has none yet.
static void spool_take_buffer(spool *s)
{
    if (s->octets) {
        counted_free(s->job.octets);
    } else {
        s->octets = s->job.octets;
        s->room = s->job.room;
    }
    s->job.octets = NULL;
}

// While the helper wrote, the request may have gone, and more content may have come.
static void spool_written(skua_worker *w, void *user)
{
    spool *s = user;
    SKUA_ASSERT(s->busy && s->worker == w);
    s->busy = false;
    spool_take_buffer(s);
    s->job.offset += s->job.len;
    if (s->orphan) {
        spool_free(s);
        return;
    }
    skua_status status = s->job.status ? s->job.status : spool_adopt(s);
    if (!s->request) return;
    skua_content_consume(s->request, s->job.credit);
    if (status && !s->status) spool_fail(s, status);
    else if (s->len && !s->status) spool_write(s);
    else spool_settle(s);
}

static void spool_write(spool *s)
{
    if (s->busy || s->len == 0 || s->status) return;
    SKUA_ASSERT(s->in_file && !s->job.octets);
    s->job.octets = s->octets;
    s->job.len = s->len;
    s->job.room = s->room;
    s->job.credit = s->credit;
    s->octets = NULL;
    s->len = s->room = s->credit = 0;
    s->busy = true;
    skua_status status = skua_offload(s->worker, spool_work, spool_written, s);
    if (!status) return;
    s->busy = false;
    spool_take_buffer(s);
    skua_content_consume(s->request, s->job.credit);
    spool_fail(s, SKUA_ENOMEM); // as when too much is queued: later may be better
}

// ---- Keeping ----

static bool spool_reserve(spool *s, size_t need)
{
    if (need <= s->room) return true;
    size_t room = s->room ? s->room : 4096;
    while (room < need)
        room *= 2;
    char *grown = counted_resize(&s->worker->memory, s->octets, room);
    if (!grown) return false;
    s->octets = grown;
    s->room = room;
    return true;
}

void spool_add(spool *s, slice octets)
{
    SKUA_ASSERT(s->request && !s->ended);
    bool kept = !s->status && spool_reserve(s, s->len + octets.len);
    if (!kept || !s->in_file) skua_content_consume(s->request, octets.len);
    if (!kept) {
        if (!s->status) spool_fail(s, SKUA_ENOMEM);
        return;
    }
    memcpy(s->octets + s->len, octets.ptr, octets.len);
    s->len += octets.len;
    s->length += octets.len;
    if (!s->in_file) return;
    s->credit += octets.len;
    spool_write(s);
}

void spool_to_file(spool *s)
{
    s->in_file = true;
    spool_write(s);
}

void spool_end(spool *s)
{
    SKUA_ASSERT(!s->ended);
    s->ended = true;
    spool_settle(s);
}

bool spool_is_file(const spool *s)
{
    return s->in_file;
}

size_t spool_in_memory(const spool *s)
{
    return s->len;
}

skua_status spool_status(const spool *s)
{
    return s->status;
}

void spool_upload(const spool *s, skua_upload *upload)
{
    slice octets = s->in_file ? (slice){ 0 } : slice_make(s->octets ? s->octets : "", s->len);
    *upload =
        (skua_upload){ .octets = octets, .file = s->in_file ? s->file : NULL, .length = s->length };
}

// ---- Ends ----

void spool_refuse(skua_request *r, skua_status status)
{
    const char *directory = worker_config(r->worker)->spool_directory;
    char text[256];
    int len = snprintf(text, sizeof text, "cannot keep content in %.150s: %s", directory,
                       skua_status_text(status));
    if (status != SKUA_ENOMEM) worker_log(r->worker, slice_make(text, (size_t)len));
    bool later = status == SKUA_ENOMEM || status == SKUA_ENOFILE;
    error_refuse(r, later ? 503 : 500);
}

// A helper that is writing does not touch the credit.
void spool_forget_credit(skua_request *r)
{
    for (spool *s = r->spools; s; s = s->next)
        s->credit = s->job.credit = 0;
}

// All of the content may have come, and a helper be writing it: then nobody else says that it is lost.
void spool_let_go(skua_request *r)
{
    for (spool *s = r->spools; s; s = s->next) {
        if (s->request && !s->status) spool_fail(s, SKUA_ECLOSED);
        s->request = NULL;
    }
}

void spool_free_all(skua_request *r)
{
    while (r->spools) {
        spool *s = r->spools;
        SKUA_ASSERT(!s->request); // it has been let go
        r->spools = s->next;
        s->orphan = true;
        if (!s->busy) spool_free(s);
    }
}
