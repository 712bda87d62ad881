// SPDX-License-Identifier: MIT
//
// A job is the worker's while it rests, and a helper's from skua_offload until its done function runs. Octets that come
// meanwhile are gathered beside those that are being written: the window of the request bounds both together.

#include "upload/upload.h"

#include "upload/tag.h"
#include "upload/unmodified.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum upload_step {
    UPLOAD_FIND,
    UPLOAD_HASH, // a slice of the file that is there
    UPLOAD_BEGIN,
    UPLOAD_WRITE,
    UPLOAD_END,
    UPLOAD_REMOVE,
    UPLOAD_DROP
} upload_step;

typedef struct upload_part {
    char octets[UPLOAD_WINDOW_OCTETS];
    size_t len;
} upload_part;

typedef struct upload_job {
    skua_request *request; // NULL: gone
    skua_worker *worker;
    upload_place place; // with a descriptor of its own, since a reload may close the other one
    upload_file file;
    int64_t unix_ns;
    upload_step step; // that a helper does, or has done
    bool is_helped;
    unsigned depth; // calls that are about it: it is not freed under them
    bool is_put, is_judged;
    bool has_come; // all of the content
    bool has_answered;
    int status; // of the step: 0, or that of the response
    upload_part *filled, *written;
    upload_part parts[2];
    char path[]; // below the place
} upload_job;

static struct {
    struct {
        atomic_uint count; // jobs that there are
    } shared;
} uploads;

bool upload_open(upload_place *place, const char *folder)
{
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place->folder >= 0;
}

void upload_close(void *place)
{
    (void)close(((upload_place *)place)->folder);
}

// ---- On a helper thread ----

static int upload_do(upload_job *job)
{
    switch (job->step) {
    case UPLOAD_FIND: return upload_file_find(&job->file, &job->place, job->path, job->unix_ns);
    case UPLOAD_HASH: upload_tag_go_on(&job->file, job->unix_ns); break;
    case UPLOAD_BEGIN: return upload_file_begin(&job->file, job->unix_ns);
    case UPLOAD_WRITE:
        return upload_file_write(&job->file, job->written->octets, job->written->len);
    case UPLOAD_END:
        return upload_file_end(&job->file, job->file.exists && job->place.overwrites,
                               job->is_judged);
    case UPLOAD_REMOVE: return upload_file_remove(&job->file);
    case UPLOAD_DROP: break;
    }
    return 0;
}

// A file that has failed or ended is dropped by the same thread, as that may wait for the disk, too.
static void upload_work(void *user)
{
    upload_job *job = user;
    job->status = upload_do(job);
    if (job->status || job->step >= UPLOAD_END) upload_file_drop(&job->file);
}

// ---- On the worker ----

static void upload_done(skua_worker *worker, void *user);

static void upload_free(upload_job *job)
{
    (void)close(job->place.folder);
    atomic_fetch_sub_explicit(&uploads.shared.count, 1, memory_order_relaxed);
    free(job);
}

static void upload_answer(upload_job *job, int status)
{
    if (!job->request || job->has_answered) return;
    job->has_answered = true;
    bool is_done = status == 201 || status == 204;
    if (status == 503) skua_field_add(job->request, "Retry-After", SKUA_SLICE("5"));
    if (is_done) skua_respond(job->request, status, NULL, (skua_slice){ NULL, 0 });
    else skua_respond_error(job->request, status);
}

static void upload_go(upload_job *job, upload_step step)
{
    job->step = step;
    job->is_helped = skua_offload(job->worker, upload_work, upload_done, job) == SKUA_OK;
    if (!job->is_helped) upload_answer(job, 503);
}

// Content is told to a request that has been answered, too, so that a job lives as long as both its request and its
// helper. Without a helper the hidden file is removed here.
static void upload_settle(upload_job *job)
{
    if (--job->depth || job->is_helped || job->request) return;
    if (job->file.above >= 0) upload_go(job, UPLOAD_DROP);
    if (job->is_helped) return;
    upload_file_drop(&job->file);
    upload_free(job);
}

static void upload_gone(skua_request *request, skua_end how, void *user)
{
    upload_job *job = user;
    (void)request, (void)how;
    job->depth++;
    job->request = NULL;
    upload_settle(job);
}

// Writes what has been gathered, or ends the file when that was all.
static void upload_go_on(upload_job *job)
{
    upload_part *part = job->filled;
    if (job->is_helped || job->has_answered || !job->request) return;
    if (!part->len && !job->has_come) return;
    if (!part->len) {
        upload_go(job, UPLOAD_END);
        return;
    }
    job->filled = job->written;
    job->written = part;
    upload_go(job, UPLOAD_WRITE);
}

static void upload_gather(upload_job *job, skua_slice octets)
{
    upload_part *part = job->filled;
    if (octets.len > sizeof part->octets - part->len) { // the window is another one's to set
        upload_answer(job, 500);
        return;
    }
    memcpy(part->octets + part->len, octets.ptr, octets.len);
    part->len += octets.len;
}

// LOST is followed by the request's end.
static void upload_take(skua_request *request, skua_content_event event, skua_slice octets,
                        void *user)
{
    upload_job *job = user;
    (void)request;
    if (event == SKUA_CONTENT_LOST || job->has_answered) return;
    job->depth++;
    if (event == SKUA_CONTENT_END) job->has_come = true;
    else upload_gather(job, octets);
    upload_go_on(job);
    upload_settle(job);
}

// The client is asked for content when there is a file for it.
static void upload_read(upload_job *job)
{
    if (skua_content_limit(job->request, job->place.octets_max)) {
        job->has_answered = true; // by 413
        return;
    }
    if (skua_content_read(job->request, upload_take, job)) upload_answer(job, 500);
}

// Whether a condition names a tag. "*" is about any file, so that nothing is to be hashed for it.
static bool upload_names_tag(const skua_request *request)
{
    static const char *const names[] = { "If-Match", "If-None-Match" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        skua_slice value = skua_request_field(request, names[i]);
        if (value.len && memchr(value.ptr, '"', value.len)) return true;
    }
    return false;
}

// Conditions come first, RFC 9110 §13.2: who makes one knows better why it fails.
static void upload_judge(upload_job *job)
{
    const upload_file *file = &job->file;
    if (file->is_unhashed && upload_names_tag(job->request)) {
        upload_go(job, UPLOAD_HASH);
        return;
    }
    const skua_slice tag = { file->exists ? file->etag : NULL, file->etag_len };
    if (file->exists && upload_is_modified(job->request, file->found.st_mtime))
        upload_answer(job, 412);
    else if (!skua_etag(job->request, tag)) job->has_answered = true;
    else if (!job->is_put && !file->exists) upload_answer(job, 404);
    else if (job->is_put && file->exists && !job->place.overwrites) upload_answer(job, 409);
    else if (job->place.is_played) upload_answer(job, file->exists ? 204 : 201);
    else upload_go(job, job->is_put ? UPLOAD_BEGIN : UPLOAD_REMOVE);
}

static void upload_next(upload_job *job)
{
    size_t len = job->written->len;
    switch (job->step) {
    case UPLOAD_FIND:
    case UPLOAD_HASH: upload_judge(job); break;
    case UPLOAD_BEGIN: upload_read(job); break;
    case UPLOAD_WRITE:
        job->written->len = 0;
        skua_content_consume(job->request, len); // more may come before it returns
        upload_go_on(job);
        break;
    case UPLOAD_END: upload_answer(job, job->file.exists ? 204 : 201); break;
    case UPLOAD_REMOVE: upload_answer(job, 204); break;
    case UPLOAD_DROP: break;
    }
}

// Where the folder of a name is not there, neither is what is to be removed.
static int upload_status_of(const upload_job *job)
{
    bool is_missing =
        !job->is_put && job->status == 409 && job->file.above < 0 && !job->file.name[0];
    return is_missing ? 404 : job->status;
}

static void upload_done(skua_worker *worker, void *user)
{
    upload_job *job = user;
    (void)worker;
    job->depth++;
    job->is_helped = false;
    if (job->status) upload_answer(job, upload_status_of(job));
    else if (job->request && !job->has_answered) upload_next(job);
    upload_settle(job);
}

// ---- The beginning ----

// A name that begins with "." is hidden, or one of ours, or leads upwards; one with a control character misleads.
static bool upload_is_path(skua_slice path)
{
    bool begins = true;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (c < 0x20 || c == 0x7f || (begins && (c == '.' || c == '/'))) return false;
        begins = c == '/';
    }
    return !begins;
}

static upload_job *upload_new(skua_request *request, const upload_place *place, skua_slice path)
{
    unsigned before = atomic_fetch_add_explicit(&uploads.shared.count, 1, memory_order_relaxed);
    int folder = before < UPLOADS_MAX ? fcntl(place->folder, F_DUPFD_CLOEXEC, 0) : -1;
    upload_job *job = folder >= 0 ? malloc(sizeof *job + path.len + 1) : NULL;
    if (!job) {
        if (folder >= 0) (void)close(folder);
        atomic_fetch_sub_explicit(&uploads.shared.count, 1, memory_order_relaxed);
        return NULL;
    }
    memset(job, 0, offsetof(upload_job, parts));
    job->parts[0].len = job->parts[1].len = 0;
    job->filled = &job->parts[0];
    job->written = &job->parts[1];
    job->request = request;
    job->worker = skua_request_worker(request);
    job->unix_ns = skua_worker_unix_ns(job->worker);
    job->place = *place;
    job->place.folder = folder;
    job->file = (upload_file){ .above = -1, .fd = -1, .hashed = -1 };
    job->is_judged = skua_request_is_conditional(request);
    memcpy(job->path, path.ptr, path.len);
    job->path[path.len] = '\0';
    return job;
}

static bool upload_is_method(const skua_request *request, const char *name)
{
    skua_slice method = skua_request_method(request);
    return method.len == strlen(name) && memcmp(method.ptr, name, method.len) == 0;
}

// Others would get coded content as if it were not, RFC 9110 §15.5.16.
static bool upload_is_coded(const skua_request *request)
{
    skua_slice coding = skua_request_field(request, "Content-Encoding");
    return coding.ptr && !skua_slice_is(coding, "identity");
}

void upload_handle(skua_request *request, const upload_place *place)
{
    skua_slice path = skua_request_path(request);
    size_t above = strlen(place->path);
    path = (skua_slice){ path.ptr + above, path.len - above };
    bool is_put = upload_is_method(request, "PUT");
    // A part of a file would be taken for all of it, RFC 9110 §14.5.
    bool is_part = is_put && skua_request_field(request, "Content-Range").ptr;
    if (is_part || !skua_request_path_is_plain(request) || !upload_is_path(path)) {
        skua_respond_error(request, is_part ? 400 : 403);
        return;
    }
    if (is_put && upload_is_coded(request)) {
        skua_field_add(request, "Accept-Encoding", SKUA_SLICE("identity"));
        skua_respond_error(request, 415);
        return;
    }
    upload_job *job = upload_new(request, place, path);
    if (!job) {
        skua_field_add(request, "Retry-After", SKUA_SLICE("5"));
        skua_respond_error(request, 503);
        return;
    }
    job->is_put = is_put;
    job->depth++;
    skua_on_end(request, upload_gone, job);
    upload_go(job, UPLOAD_FIND);
    upload_settle(job);
}
