// SPDX-License-Identifier: MIT
//
// A job belongs to the helper thread from skua_offload until its done function runs; what the
// worker may touch meanwhile is request alone, which the helper never looks at. Pages wait in
// memory for clients that may read slowly, so all pages of the process together are bounded.

#include "files/listing_job.h"

#include "base/memory.h"
#include "files/listing_page.h"
#include "files/reply.h"

#include <stdatomic.h>
#include <stdio.h>

// Some thirty pages of the largest kind.
static const size_t listing_job_octets_max = (size_t)64 << 20;

static struct {
    struct {
        atomic_size_t octets; // of pages that are not yet sent
    } shared;
} listing_jobs;

typedef struct listing_job {
    skua_request *request; // the worker's; NULL: gone
    const site *site;
    listing_sort sort;
    bool descending;
    skua_status status;
    markup page;
    size_t counted; // of the page, in shared.octets
    size_t path_len;
    char path[]; // of the request, normalised
} listing_job;

static void listing_job_free(void *user)
{
    listing_job *job = user;
    atomic_fetch_sub_explicit(&listing_jobs.shared.octets, job->counted, memory_order_relaxed);
    markup_free(&job->page);
    memory_free(job);
}

// ---- On the helper thread
// -------------------------------------------------------------------------

static slice listing_job_name(const listing_job *job)
{
    return slice_from(slice_make(job->path, job->path_len), job->site->prefix_len);
}

static skua_status listing_job_count(listing_job *job)
{
    job->counted = job->page.room;
    size_t before =
        atomic_fetch_add_explicit(&listing_jobs.shared.octets, job->counted, memory_order_relaxed);
    return before > listing_job_octets_max ? SKUA_ELIMIT : SKUA_OK;
}

static skua_status listing_job_write(listing_job *job, listing *l)
{
    listing_view view = {
        .path = slice_make(job->path, job->path_len),
        .prefix_len = job->site->prefix_len,
        .sort = job->sort,
        .descending = job->descending,
    };
    listing_order(l, job->sort, job->descending);
    listing_page_write(l, &view, &job->page);
    return job->page.failed ? SKUA_ENOMEM : listing_job_count(job);
}

static void listing_job_work(void *user)
{
    listing_job *job = user;
    listing l = { .dotfiles = job->site->dotfiles };
    job->status = skua_root_list(job->site->root, listing_job_name(job), listing_add, &l);
    if (!job->status && l.failed) job->status = SKUA_ENOMEM;
    if (!job->status) job->status = listing_job_write(job, &l);
    listing_free(&l);
}

// ---- On the worker
// --------------------------------------------------------------------------------

static void listing_job_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    listing_job *job = user;
    job->request = NULL;
}

static skua_status listing_job_add_fields(skua_request *request)
{
    skua_status status =
        skua_field_add(request, "Content-Security-Policy", slice_of(listing_page_policy));
    if (!status) status = skua_field_add(request, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    return status ? status : skua_field_add(request, "Cache-Control", SKUA_SLICE("no-cache"));
}

// The page stays where it is until it has been sent.
static void listing_job_send(listing_job *job)
{
    skua_request *request = job->request;
    skua_status status = listing_job_add_fields(request);
    if (!status) {
        status =
            skua_respond_borrowed(request, 200, "text/html; charset=utf-8",
                                  slice_make(job->page.ptr, job->page.len), listing_job_free, job);
    }
    if (!status) return;
    listing_job_free(job);
    reply_check(request, status);
}

static void listing_job_log(const listing_job *job)
{
    char line[512];
    int shown = job->path_len < 400 ? (int)job->path_len : 400;
    int len = snprintf(line, sizeof line, "cannot list %.*s: %s", shown, job->path,
                       skua_status_text(job->status));
    if (len < 0) return;
    skua_log(job->site->server,
             slice_make(line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1));
}

static void listing_job_refuse(listing_job *job)
{
    int status = 500;
    if (job->status == SKUA_ENOENT) status = 404;
    if (job->status == SKUA_EACCES) status = 403;
    if (job->status == SKUA_ENOMEM || job->status == SKUA_ELIMIT || job->status == SKUA_ENOFILE)
        status = 503;
    if (status >= 500) listing_job_log(job);
    reply_error(job->request, status);
    listing_job_free(job);
}

static void listing_job_done(skua_worker *worker, void *user)
{
    (void)worker;
    listing_job *job = user;
    if (!job->request) {
        listing_job_free(job);
        return;
    }
    skua_on_end(job->request, NULL, NULL);
    if (job->status) listing_job_refuse(job);
    else listing_job_send(job);
}

// ---- The beginning
// --------------------------------------------------------------------------------

static listing_sort listing_job_sort(skua_request *request)
{
    slice sort = skua_request_query_param(request, "sort");
    if (slice_equal(sort, SKUA_SLICE("size"))) return LISTING_BY_SIZE;
    if (slice_equal(sort, SKUA_SLICE("time"))) return LISTING_BY_TIME;
    return LISTING_BY_NAME;
}

static listing_job *listing_job_new(skua_request *request, const site *s)
{
    slice path = skua_request_path(request);
    listing_job *job = memory_zeroed(sizeof *job + path.len);
    if (!job) return NULL;
    job->request = request;
    job->site = s;
    job->sort = listing_job_sort(request);
    job->descending = slice_equal(skua_request_query_param(request, "order"), SKUA_SLICE("desc"));
    job->path_len = path.len;
    memcpy(job->path, path.ptr, path.len);
    return job;
}

void listing_job_start(skua_request *request, const site *s)
{
    listing_job *job = listing_job_new(request, s);
    if (!job) {
        reply_error(request, 503);
        return;
    }
    skua_on_end(request, listing_job_ended, job);
    if (!skua_offload(skua_request_worker(request), listing_job_work, listing_job_done, job))
        return;
    skua_on_end(request, NULL, NULL);
    listing_job_free(job);
    reply_error(request, 503);
}
