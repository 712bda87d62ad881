// SPDX-License-Identifier: MIT
//
// A job is the worker's while it rests or waits, and the helper's from skua_offload until its done
// function runs; what the worker may touch meanwhile is request alone, which the helper never looks
// at.
// A client may read a page as slowly as it likes, so a job keeps no more than one piece of it. The
// listing that pieces are written from lies on the shelf in between, from where others may drive
// it out. Then the directory is read again, and the page goes on behind the entry it had come to.

#include "files/listing_job.h"

#include "base/assert.h"
#include "base/memory.h"
#include "files/listing_json.h"
#include "files/listing_page.h"
#include "files/lookup.h"
#include "files/site_response.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    LISTING_PIECE_OCTETS = 24576, // of entries; with the last of them at most some 28 KiB
    LISTING_COMING_OCTETS_MAX = 64 << 20
};

// Helpers that had more to do than they could queue are asked again this often.
static const int64_t listing_retry_ns = 100000000;

static struct {
    struct {
        atomic_size_t coming; // octets of listings that were read and are not on a shelf yet
    } shared;
} listing_jobs;

typedef struct listing_job {
    skua_request *request; // the worker's; NULL: gone
    skua_worker *worker;
    const site *site;
    cache *cache;
    skua_timer retry; // {0}: not set
    const listing_form *form;
    listing_sort sort;
    bool descending;
    bool helped; // a helper has it
    bool begun;  // the head of the response, and the first piece of the page
    bool ended;  // this piece is the page's last
    skua_status status;
    shelved *taken;     // from the shelf, or NULL
    shelved *made;      // for the shelf, or NULL
    size_t coming;      // octets of it, in shared.coming; 0: it is not kept
    listing_entry last; // the last one that was written; without a name: none was
    char *markup;       // of this page; NULL: that of all pages
    markup piece;
    size_t given; // octets of the piece
    size_t path_len, search_len;
    char
        path[]; // of the request, normalised; behind a NUL, which no path has, what is searched for
} listing_job;

static slice listing_job_path(const listing_job *job)
{
    return slice_make(job->path, job->path_len);
}

static slice listing_job_search(const listing_job *job)
{
    return slice_make(job->path + job->path_len + 1, job->search_len);
}

// The shelf knows a listing by this and the order.
static slice listing_job_key(const listing_job *job)
{
    return slice_make(job->path, job->path_len + 1 + job->search_len);
}

static void listing_job_free(void *user)
{
    listing_job *job = user;
    SKUA_ASSERT(!job->helped && !job->retry.value);
    SKUA_ASSERT(!job->taken && !job->made);
    markup_free(&job->piece);
    memory_free(job->last.name);
    memory_free(job->markup);
    cache_let_go(job->cache);
    memory_free(job);
}

// ---- On the helper thread -----------------------------------------------------------------------

static skua_status listing_job_read(const listing_job *job, listing *l)
{
    slice name = slice_from(listing_job_path(job), job->site->prefix_len);
    l->dotfiles = job->site->dotfiles;
    l->search = listing_job_search(job);
    skua_status status = skua_root_list(job->site->root, name, listing_add, l);
    if (status) return status;
    if (l->failed) return SKUA_ENOMEM;
    listing_order(l, job->sort, job->descending);
    return SKUA_OK;
}

static skua_status listing_job_remember(listing_job *job, const listing_entry *last)
{
    memory_free(job->last.name);
    job->last = *last;
    job->last.name = memory_text(last->name);
    return job->last.name ? SKUA_OK : SKUA_ENOMEM;
}

static skua_status listing_job_write(listing_job *job, const listing *l)
{
    listing_view view = {
        .path = listing_job_path(job),
        .prefix_len = job->site->prefix_len,
        .sort = job->sort,
        .search = listing_job_search(job),
        .descending = job->descending,
        .follows = job->last.name != NULL,
        .markup = job->markup ? job->markup : job->site->list_markup,
        .script = job->site->list_script,
    };
    markup *m = &job->piece;
    size_t row = 0;
    if (!job->begun) job->form->begin(l, &view, m);
    else row = listing_after(l, &job->last, job->sort, job->descending);
    row = job->form->write(l, &view, row, m->len + LISTING_PIECE_OCTETS, m);
    job->ended = row == l->count;
    if (job->ended) job->form->end(&view, m);
    if (m->failed) return SKUA_ENOMEM;
    return job->ended ? SKUA_OK : listing_job_remember(job, &l->entries[row - 1]);
}

// Whether what was read is kept for the next piece. A worker that is held up must not let it pile
// up.
static bool listing_job_is_kept(listing_job *job)
{
    size_t octets = job->made->listing.octets;
    if (job->status || job->ended) return false;
    size_t before =
        atomic_fetch_add_explicit(&listing_jobs.shared.coming, octets, memory_order_relaxed);
    if (before <= LISTING_COMING_OCTETS_MAX) job->coming = octets;
    else atomic_fetch_sub_explicit(&listing_jobs.shared.coming, octets, memory_order_relaxed);
    return job->coming > 0;
}

static void listing_job_work(void *user)
{
    listing_job *job = user;
    listing *l = job->made ? &job->made->listing : &job->taken->listing;
    job->status = job->made ? listing_job_read(job, l) : SKUA_OK;
    if (!job->status) job->status = listing_job_write(job, l);
    if (job->made && !listing_job_is_kept(job)) listing_free(l);
}

// ---- Between worker and helper ------------------------------------------------------------------

static void listing_job_done(skua_worker *worker, void *user);

// keep: what was read of the directory is worth being put on the shelf.
static void listing_job_put_back(listing_job *job, bool keep)
{
    if (job->taken) listing_shelf_give(&job->cache->listings, job->taken);
    job->taken = NULL;
    if (job->made && keep) listing_shelf_put(&job->cache->listings, &job->made);
    shelved_free(job->made);
    job->made = NULL;
}

// A page begins with the directory as it is now, and goes on with what is on the shelf.
static skua_status listing_job_hand_over(listing_job *job)
{
    slice key = listing_job_key(job);
    if (job->begun)
        job->taken = listing_shelf_take(&job->cache->listings, key, job->sort, job->descending);
    if (!job->taken) job->made = shelved_new(key, job->sort, job->descending);
    if (!job->taken && !job->made) return SKUA_ENOMEM;
    skua_status status = skua_offload(job->worker, listing_job_work, listing_job_done, job);
    if (status) listing_job_put_back(job, false);
    else job->helped = true;
    return status;
}

// ---- On the worker ------------------------------------------------------------------------------

static void listing_job_gone(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    listing_job *job = user;
    job->request = NULL;
    skua_timer_stop(job->retry);
    job->retry = (skua_timer){ 0 };
    if (!job->helped) listing_job_free(job);
}

static void listing_job_unfollow(listing_job *job)
{
    skua_request_unfollow(job->request, listing_job_gone, job);
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

static void listing_job_retry(skua_worker *worker, void *user)
{
    (void)worker;
    listing_job *job = user;
    job->retry = (skua_timer){ 0 };
    skua_wake(job->request);
}

// Begins to write the next piece, now or when helpers have time. False when memory ran out.
static bool listing_job_go_on(listing_job *job)
{
    if (!listing_job_hand_over(job)) return true;
    return !skua_timer_start(job->worker, listing_retry_ns, 0, listing_job_retry, job, &job->retry);
}

static skua_pulled listing_job_pull(skua_request *request, char *buffer, size_t room,
                                    size_t *octets, void *user)
{
    (void)request;
    listing_job *job = user;
    if (job->helped || job->retry.value) return SKUA_PULL_PENDING;
    if (job->status) return SKUA_PULL_ERROR;
    size_t left = job->piece.len - job->given;
    size_t n = left < room ? left : room;
    if (n) memcpy(buffer, job->piece.ptr + job->given, n);
    job->given += n;
    *octets = n;
    if (job->ended && n == left) return SKUA_PULL_END;
    if (n) return SKUA_PULL_OCTETS;
    markup_free(&job->piece);
    job->given = 0;
    return listing_job_go_on(job) ? SKUA_PULL_PENDING : SKUA_PULL_ERROR;
}

static void listing_job_add_fields(const listing_job *job)
{
    skua_request *request = job->request;
    const char *policy = job->site->list_policy;
    if (job->form == &listing_page)
        skua_field_add(request, "Content-Security-Policy",
                       slice_of(policy ? policy : listing_page_policy));
    skua_field_add(request, "Vary", SKUA_SLICE("Accept"));
    skua_field_add(request, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
}

// A page that is written already has a length. Any other one is freed when its request ends.
static void listing_job_begin(listing_job *job)
{
    const char *type = job->form->type;
    skua_request *request = job->request;
    listing_job_add_fields(job);
    if (job->site->compress) (void)skua_compress(request);
    job->begun = true;
    if (job->ended) {
        listing_job_unfollow(job);
        skua_respond_borrowed(request, 200, type, slice_make(job->piece.ptr, job->piece.len),
                              listing_job_free, job);
    } else if (skua_respond_pull(request, 200, type, -1, listing_job_pull, job)) {
        listing_job_unfollow(job);
        listing_job_free(job);
    }
}

static int listing_job_error(skua_status why)
{
    if (why == SKUA_ENOENT) return 404;
    if (why == SKUA_EACCES) return 403;
    return why == SKUA_ENOMEM || why == SKUA_ENOFILE ? 503 : 500;
}

static void listing_job_respond(listing_job *job)
{
    skua_request *request = job->request;
    skua_status why = job->status;
    if (!why) {
        listing_job_begin(job);
        return;
    }
    cache *c = cache_hold(job->cache);
    listing_job_unfollow(job);
    listing_job_free(job);
    if (why == SKUA_ENOENT) lookup_nothing(request, c->site, c);
    else skua_respond_error(request, listing_job_error(why));
    cache_let_go(c);
}

static void listing_job_done(skua_worker *worker, void *user)
{
    (void)worker;
    listing_job *job = user;
    int error = listing_job_error(job->status);
    job->helped = false;
    atomic_fetch_sub_explicit(&listing_jobs.shared.coming, job->coming, memory_order_relaxed);
    listing_job_put_back(job, job->coming > 0);
    job->coming = 0;
    if (job->status && (job->begun || error >= 500)) listing_job_log(job);
    if (!job->request) listing_job_free(job);
    else if (job->begun) skua_wake(job->request);
    else listing_job_respond(job);
}

// ---- The beginning ------------------------------------------------------------------------------

static listing_sort listing_job_sort(skua_request *request)
{
    slice sort = skua_request_query_param(request, "sort");
    if (slice_equal(sort, SKUA_SLICE("size"))) return LISTING_BY_SIZE;
    if (slice_equal(sort, SKUA_SLICE("time"))) return LISTING_BY_TIME;
    return LISTING_BY_NAME;
}

static slice listing_job_searched(skua_request *request)
{
    slice search = skua_request_query_param(request, "search");
    if (search.len > LISTING_SEARCH_OCTETS_MAX) search.len = LISTING_SEARCH_OCTETS_MAX;
    return search;
}

static listing_job *listing_job_new(skua_request *request, const site *s, cache *c)
{
    slice path = skua_request_path(request), search = listing_job_searched(request);
    listing_job *job = memory_zeroed(sizeof *job + path.len + 1 + search.len);
    if (!job) return NULL;
    job->request = request;
    job->worker = skua_request_worker(request);
    job->site = s;
    job->cache = cache_hold(c);
    job->sort = listing_job_sort(request);
    job->descending = slice_equal(skua_request_query_param(request, "order"), SKUA_SLICE("desc"));
    job->path_len = path.len;
    memcpy(job->path, path.ptr, path.len);
    job->search_len = search.len;
    if (search.len) memcpy(job->path + path.len + 1, search.ptr, search.len);
    job->form = listing_json_is_wanted(request) ? &listing_json : &listing_page;
    return job;
}

// It is copied, since a job may still be with a helper when the program has let all of the site go.
static bool listing_job_mark(listing_job *job)
{
    const site *s = job->site;
    if (!s->list_markup_of || job->form != &listing_page) return true;
    const char *given = s->list_markup_of(listing_job_path(job), s->list_markup_user);
    job->markup = memory_text(given ? given : "");
    return job->markup != NULL;
}

void listing_job_start(skua_request *request, const site *s, cache *c)
{
    listing_job *job = listing_job_new(request, s, c);
    if (job && (!listing_job_mark(job) || skua_request_follow(request, listing_job_gone, job))) {
        listing_job_free(job);
        job = NULL;
    }
    if (job && !listing_job_hand_over(job)) return;
    if (job) listing_job_unfollow(job);
    if (job) listing_job_free(job);
    skua_respond_error(request, 503);
}
