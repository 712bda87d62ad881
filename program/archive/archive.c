// SPDX-License-Identifier: MIT
//
// A job is the worker's, but for its walk while a helper is at it. Files are opened one after the other when their turn
// has come: what is said of each in the archive is said of the file that is then read.

#include "archive/archive.h"

#include "archive/crc.h"
#include "archive/disposition.h"
#include "archive/seat.h"
#include "archive/tar.h"
#include "archive/zip.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct archive_folder {
    skua_root *root;
    struct {
        atomic_uint refs;
    } shared;
    char path[];
};

typedef enum archive_step {
    ARCHIVE_HEAD,    // of the next file or folder
    ARCHIVE_CONTENT, // of the file that is open
    ARCHIVE_LIST,    // at the end
    ARCHIVE_DONE
} archive_step;

typedef struct archive_job {
    skua_request *request; // NULL: gone
    skua_worker *worker;
    archive_desc desc;
    const archive_format *format;
    archive_walk walk;
    int64_t counted;  // octets of it, in skua_memory_count
    seat *seat;       // NULL: it was lost
    skua_timer judge; // at the end of each window; {0}: not set
    uint64_t judged;  // octets that had been taken at the end of the last one
    archive_step step;
    bool is_waiting; // for a file to be opened or read
    bool is_pulled;  // by the function that is running
    bool has_failed;
    unsigned opened;  // files, in this turn
    size_t turned;    // octets of the archive, in this turn
    size_t at;        // the entry whose turn it is
    skua_file *file;  // of that; NULL: it is not open
    uint64_t taken;   // of its content
    uint64_t written; // of the archive
    archive_index index;
    size_t len, sent; // of the octets
    char octets[ARCHIVE_READ_OCTETS];
    char prefix[ARCHIVE_PREFIX_OCTETS]; // in front of each name: the folder's own, and "/"
    char path[];                        // of the request
} archive_job;

const archive_format *const archive_formats[] = { &zip_format, &tar_format, NULL };

// ---- Folders ----

archive_folder *archive_folder_open(const char *path, skua_links links)
{
    size_t len = strlen(path);
    archive_folder *folder = malloc(sizeof *folder + len + 1);
    if (!folder) return NULL;
    if (skua_root_open(path, &folder->root)) {
        free(folder);
        return NULL;
    }
    skua_root_follow(folder->root, links);
    atomic_init(&folder->shared.refs, 1);
    memcpy(folder->path, path, len + 1);
    return folder;
}

void archive_folder_close(void *folder)
{
    archive_folder *of = folder;
    if (!of || atomic_fetch_sub(&of->shared.refs, 1) > 1) return;
    skua_root_close(of->root);
    free(of);
}

// ---- A job's life ----

static void archive_free(archive_job *job)
{
    if (job->file) skua_file_unref(job->file);
    if (job->desc.drop) job->desc.drop(job->desc.user);
    if (job->counted) skua_memory_count(job->worker, -job->counted);
    archive_walk_free(&job->walk);
    archive_folder_close(job->desc.folder);
    if (job->seat) seat_give(job->seat);
    free(job);
}

static void archive_gone(skua_request *request, skua_end how, void *user)
{
    archive_job *job = user;
    (void)request, (void)how;
    job->request = NULL;
    (void)skua_timer_stop(job->judge);
    if (!job->is_waiting) archive_free(job);
}

// ---- Content ----

static void archive_fail(archive_job *job)
{
    job->has_failed = true;
}

// The octets that are added are sent before any others come.
static void archive_add(archive_job *job, size_t len)
{
    job->len += len;
    job->written += len;
    job->turned += len;
}

static char *archive_room(archive_job *job)
{
    return job->octets + job->len;
}

// The name is put together in name, of ARCHIVE_NAME_OCTETS_MAX.
static archive_member archive_member_of(const archive_job *job, const archive_entry *entry,
                                        char *name)
{
    size_t before = strlen(job->prefix);
    memcpy(name, job->prefix, before);
    memcpy(name + before, job->walk.names + entry->name_at, entry->name_len);
    return (archive_member){ .name = name,
                             .name_len = before + entry->name_len,
                             .is_folder = entry->is_folder,
                             .size = entry->size,
                             .mtime_s = entry->mtime_s,
                             .crc = entry->crc,
                             .offset = entry->offset };
}

static void archive_add_head(archive_job *job, archive_entry *entry)
{
    char name[ARCHIVE_NAME_OCTETS_MAX];
    entry->offset = job->written;
    const archive_member member = archive_member_of(job, entry, name);
    archive_add(job, job->format->head(&member, archive_room(job)));
}

static void archive_add_tail(archive_job *job, const archive_entry *entry)
{
    char name[ARCHIVE_NAME_OCTETS_MAX];
    const archive_member member = archive_member_of(job, entry, name);
    archive_add(job, job->format->tail(&member, archive_room(job)));
}

// The disk has done what it was asked for. Within a pull that goes on by itself.
static void archive_go_on(archive_job *job)
{
    job->is_waiting = false;
    if (!job->request) archive_free(job);
    else if (!job->is_pulled) skua_wake(job->request);
}

// A file that a request would be refused by now is left out. Whoever is out of descriptors or memory must not make an archive
// that looks whole.
static void archive_opened(skua_worker *worker, skua_status status, skua_file *file,
                           const skua_file_info *info, void *user)
{
    archive_job *job = user;
    archive_entry *entry = &job->walk.entries[job->at];
    (void)worker;
    job->file = file;
    if (status == SKUA_ENOENT || status == SKUA_EACCES ||
        (!status && info->kind != SKUA_FILE_REGULAR)) {
        if (file) skua_file_unref(file);
        job->file = NULL;
        entry->is_in = false;
        job->at++;
    } else if (status) {
        archive_fail(job);
    } else {
        entry->size = info->size;
        entry->mtime_s = info->mtime_ns / 1000000000;
        job->taken = 0;
        job->step = ARCHIVE_CONTENT;
        archive_add_head(job, entry);
    }
    archive_go_on(job);
}

static void archive_open(archive_job *job, const archive_entry *entry)
{
    char path[2 * ARCHIVE_NAME_OCTETS_MAX];
    int len = snprintf(path, sizeof path, "%s%.*s", job->path + job->desc.root_octets,
                       (int)entry->name_len, job->walk.names + entry->name_at);
    job->is_waiting = true;
    skua_file_open(job->worker, job->desc.folder->root, (skua_slice){ path, (size_t)len },
                   archive_opened, job);
}

// A file that is shorter than it was ends the archive in the middle: nobody can take that for a whole one.
static void archive_read(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    archive_job *job = user;
    archive_entry *entry = &job->walk.entries[job->at];
    (void)worker;
    if (status || octets == 0) {
        archive_fail(job);
    } else {
        entry->crc = crc_add(entry->crc, archive_room(job), octets);
        job->taken += octets;
        archive_add(job, octets);
    }
    archive_go_on(job);
}

// One that is longer than it was is cut.
static void archive_load(archive_job *job, const archive_entry *entry)
{
    uint64_t left = entry->size - job->taken;
    size_t room = sizeof job->octets - job->len;
    job->is_waiting = true;
    skua_file_load(job->file, job->taken, archive_room(job), left < room ? (size_t)left : room,
                   archive_read, job);
}

static void archive_rested(skua_worker *worker, void *user)
{
    (void)worker;
    archive_go_on(user);
}

// Files in memory are opened and read without a wait, and a client may take them as fast: the worker would be kept from
// all others until the end.
static bool archive_rests(archive_job *job)
{
    if (job->opened < ARCHIVE_TURN_FILES && job->turned < ARCHIVE_TURN_OCTETS) return false;
    job->opened = 0;
    job->turned = 0;
    job->is_waiting = true;
    if (!skua_post(skua_worker_server(job->worker), skua_worker_index(job->worker), archive_rested,
                   job))
        return true;
    job->is_waiting = false;
    return false;
}

static void archive_next_head(archive_job *job)
{
    archive_entry *entry = &job->walk.entries[job->at];
    if (job->at == job->walk.count) {
        job->step = ARCHIVE_LIST;
        job->at = 0;
        job->index.offset = job->written;
    } else if (!entry->is_in) {
        job->at++;
    } else if (entry->is_folder) {
        archive_add_head(job, entry);
        job->at++;
    } else {
        job->opened++;
        archive_open(job, entry);
    }
}

static void archive_next_content(archive_job *job)
{
    const archive_entry *entry = &job->walk.entries[job->at];
    if (job->taken < entry->size) {
        archive_load(job, entry);
        return;
    }
    archive_add_tail(job, entry);
    skua_file_unref(job->file);
    job->file = NULL;
    job->at++;
    job->step = ARCHIVE_HEAD;
}

static void archive_next_listed(archive_job *job)
{
    char name[ARCHIVE_NAME_OCTETS_MAX];
    bool is_last = !job->format->entry || job->at == job->walk.count;
    const archive_entry *entry = is_last ? NULL : &job->walk.entries[job->at++];
    if (is_last) {
        job->index.octets = job->written - job->index.offset;
        archive_add(job, job->format->end(&job->index, archive_room(job)));
        job->step = ARCHIVE_DONE;
    } else if (entry->is_in) {
        const archive_member member = archive_member_of(job, entry, name);
        archive_add(job, job->format->entry(&member, archive_room(job)));
        job->index.count++;
    }
}

// Gathers what fits, and waits where the disk has to be waited for.
static void archive_gather(archive_job *job)
{
    if (job->sent == job->len && !job->is_waiting) job->sent = job->len = 0;
    while (!job->is_waiting && !job->has_failed && job->step != ARCHIVE_DONE &&
           sizeof job->octets - job->len >= ARCHIVE_PIECE_OCTETS_MAX) {
        if (archive_rests(job)) break;
        switch (job->step) {
        case ARCHIVE_HEAD: archive_next_head(job); break;
        case ARCHIVE_CONTENT: archive_next_content(job); break;
        case ARCHIVE_LIST: archive_next_listed(job); break;
        case ARCHIVE_DONE: break;
        }
    }
}

static skua_pulled archive_pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                                void *user)
{
    archive_job *job = user;
    (void)request;
    job->is_pulled = true;
    if (job->sent == job->len) archive_gather(job);
    job->is_pulled = false;
    size_t left = job->len - job->sent, taken = left < room ? left : room;
    memcpy(buffer, job->octets + job->sent, taken);
    job->sent += taken;
    *octets = taken;
    if (taken) return SKUA_PULL_OCTETS;
    if (job->has_failed) return SKUA_PULL_ERROR;
    return job->is_waiting ? SKUA_PULL_PENDING : SKUA_PULL_END;
}

// ---- The beginning ----

// A disk that is slow is no fault of the client's.
static void archive_judge(skua_worker *worker, void *user)
{
    archive_job *job = user;
    (void)worker;
    uint64_t taken = skua_request_sent(job->request), octets = taken - job->judged;
    job->judged = taken;
    if (job->is_waiting || !job->seat || !seat_is_lost(job->seat, octets)) return;
    seat_give(job->seat); // now: what is queued may take the client a long time
    job->seat = NULL;
    skua_request_abort(job->request);
}

static void archive_begin(archive_job *job)
{
    char disposition[ARCHIVE_DISPOSITION_OCTETS];
    skua_request *request = job->request;
    job->counted =
        (int64_t)(sizeof *job + job->walk.room * sizeof *job->walk.entries + job->walk.names_room);
    skua_memory_count(job->worker, job->counted);
    archive_disposition(disposition, job->prefix, job->format->name);
    skua_field_add(request, "Content-Disposition", skua_slice_of(disposition));
    skua_field_add(request, "Cache-Control", SKUA_SLICE("no-store"));
    skua_field_add(request, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    skua_compress_off(request);
    skua_on_end(request, archive_gone, job);
    const int64_t window_ns = (int64_t)SEAT_WINDOW_S * 1000000000;
    if (skua_timer_start(job->worker, window_ns, window_ns, archive_judge, job, &job->judge))
        job->judge = (skua_timer){ 0 }; // it is not judged
    (void)skua_respond_pull(request, 200, job->format->type, -1, archive_pull, job);
}

static void archive_look(archive_job *job);

static void archive_work(void *user)
{
    archive_walk_on(&((archive_job *)user)->walk);
}

static void archive_looked(skua_request *request, void *user)
{
    archive_job *job = user;
    const archive_walk *walk = &job->walk;
    job->request = request;
    if (request && !walk->status && walk->is_complete) {
        archive_begin(job);
    } else if (request && !walk->status) {
        archive_look(job);
    } else {
        if (request && walk->status == 404) skua_next(request);
        else if (request) skua_refuse(request, walk->status, skua_slice_of(walk->sentence));
        archive_free(job);
    }
}

static void archive_busy(skua_request *request)
{
    skua_field_add(request, "Retry-After", SKUA_SLICE("5"));
    skua_refuse(request, 503, SKUA_SLICE("As many archives are being made as can be at a time."));
}

static void archive_look(archive_job *job)
{
    skua_request *request = job->request;
    if (!skua_request_offload(request, archive_work, archive_looked, job)) return;
    archive_free(job);
    archive_busy(request);
}

static archive_job *archive_new(skua_request *request, const archive_format *format,
                                const archive_desc *desc)
{
    skua_slice path = skua_request_path(request);
    seat *taken = seat_take(request);
    archive_job *job = taken ? malloc(sizeof *job + path.len + 1) : NULL;
    if (!job) {
        if (taken) seat_give(taken);
        return NULL;
    }
    memset(job, 0, offsetof(archive_job, octets));
    job->seat = taken;
    job->request = request;
    job->worker = skua_request_worker(request);
    job->format = format;
    job->desc = *desc;
    memcpy(job->path, path.ptr, path.len);
    job->path[path.len] = '\0';
    archive_prefix(job->prefix, path);
    job->walk = (archive_walk){ .root = desc->folder->root,
                                .folder = desc->folder->path,
                                .path = job->path,
                                .root_octets = desc->root_octets,
                                .has_hidden = desc->has_hidden,
                                .may = desc->may,
                                .user = desc->user };
    (void)atomic_fetch_add(&desc->folder->shared.refs, 1);
    return job;
}

// No file system has such long paths.
static bool archive_is_hidden(const skua_request *request, const archive_desc *desc)
{
    skua_slice path = skua_request_path(request);
    size_t begin = desc->root_octets - 1; // at the "/"
    bool has_dot = memmem(path.ptr + begin, path.len - begin, "/.", 2) != NULL;
    return path.len > ARCHIVE_NAME_OCTETS_MAX || (has_dot && !desc->has_hidden);
}

void archive_answer(skua_request *request, const archive_format *format, const archive_desc *desc)
{
    bool is_hidden = archive_is_hidden(request, desc);
    archive_job *job = is_hidden ? NULL : archive_new(request, format, desc);
    if (job) {
        archive_look(job);
        return;
    }
    if (desc->drop) desc->drop(desc->user);
    if (is_hidden) skua_next(request);
    else archive_busy(request);
}
