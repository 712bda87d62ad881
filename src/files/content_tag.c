// SPDX-License-Identifier: MIT
//
// A large file is hashed in slices, so that whoever waits for a disk or a smaller file gets his turn between them.
// Each worker that wants a tag has a job of its own, and whichever comes takes the next slice of what they have in
// common: nobody sends letters between workers, and a worker that stops takes nothing with it.
//
// A tag is kept for the times that the file had before it was read. A later change has another time, if the file was
// settled then; if it was not, the tag is good only as long as the file is not settled, and is called weak.

#include "files/content_tag.h"

#include "base/assert.h"
#include "base/memory.h"

#include <pthread.h>

enum {
    CONTENT_TAG_WAYS = 4,
    CONTENT_TAG_SETS = CONTENT_TAGS_KEPT / CONTENT_TAG_WAYS,
    CONTENT_TAG_SLICE_OCTETS = 1 << 20,
    CONTENT_TAG_BUFFER_OCTETS = 1 << 16
};

// The version of a file whose content was hashed. All of it is compared.
typedef struct content_tag_key {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t is_settled;
} content_tag_key;

typedef struct content_tag {
    content_tag_key key; // of size 0: none
    siphash_wide_hash hash;
} content_tag;

// The work that all who hash one version of a file have in common.
typedef struct content_tag_work {
    struct {
        pthread_mutex_t lock; // of what follows
        siphash_stream stream;
        bool is_over; // it has been hashed, or cannot be
    } shared;
    struct content_tag_work *next;
    unsigned refs; // of the table's lock, and so is next
    content_tag_key key;
} content_tag_work;

struct content_tag_job {
    content_tag_job *next, **jobs; // the list, and where it begins
    content_tag_work *common;
    skua_file *file;
    file_waiter *waiters;
    bool is_over;
    char buffer[CONTENT_TAG_BUFFER_OCTETS];
};

static struct {
    struct {
        pthread_mutex_t lock;                                 // of all that follows
        content_tag tags[CONTENT_TAG_SETS][CONTENT_TAG_WAYS]; // the newest first
        content_tag_work *under_way;
        unsigned count; // of these
    } shared;
} content_tags = { .shared.lock = PTHREAD_MUTEX_INITIALIZER };

static content_tag_key content_tag_key_of(const skua_file_info *info, bool is_settled)
{
    return (content_tag_key){ info->device,   info->inode,    info->size,
                              info->mtime_ns, info->ctime_ns, is_settled };
}

static bool content_tag_is(const content_tag_key *a, const content_tag_key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

// ---- Tags that are kept ----

static content_tag *content_tag_set(const content_tag_key *key)
{
    uint64_t mixed = (key->inode ^ key->device << 32) * 0x9e3779b97f4a7c15u;
    return content_tags.shared.tags[mixed >> 32 & (CONTENT_TAG_SETS - 1)];
}

bool content_tag_find(const skua_file_info *info, bool is_settled, char etag[CONTENT_TAG_OCTETS])
{
    content_tag_key key = content_tag_key_of(info, is_settled);
    const content_tag *set = content_tag_set(&key);
    bool is_found = false;
    (void)pthread_mutex_lock(&content_tags.shared.lock);
    for (unsigned i = 0; i < CONTENT_TAG_WAYS && !is_found; i++) {
        is_found = content_tag_is(&set[i].key, &key);
        if (is_found) (void)etag_write_hash(set[i].hash, etag + (is_settled ? 0 : 2));
    }
    (void)pthread_mutex_unlock(&content_tags.shared.lock);
    if (is_found && !is_settled) memcpy(etag, "W/", 2);
    return is_found;
}

// The oldest of its set makes room.
static void content_tag_keep(const content_tag_key *key, siphash_wide_hash hash)
{
    content_tag *set = content_tag_set(key);
    (void)pthread_mutex_lock(&content_tags.shared.lock);
    memmove(set + 1, set, (CONTENT_TAG_WAYS - 1) * sizeof *set);
    set[0] = (content_tag){ *key, hash };
    (void)pthread_mutex_unlock(&content_tags.shared.lock);
}

// ---- What is under way ----

static content_tag_work *content_tag_work_new(const content_tag_key *key)
{
    content_tag_work *w = memory_zeroed(sizeof *w);
    if (!w) return NULL;
    w->key = *key;
    w->next = content_tags.shared.under_way;
    (void)pthread_mutex_init(&w->shared.lock, NULL);
    etag_begin(&w->shared.stream);
    content_tags.shared.under_way = w;
    content_tags.shared.count++;
    return w;
}

// A reference to the work at that version; NULL: too many are worked at, or memory ran out.
static content_tag_work *content_tag_work_get(const content_tag_key *key)
{
    (void)pthread_mutex_lock(&content_tags.shared.lock);
    content_tag_work *w = content_tags.shared.under_way;
    while (w && !content_tag_is(&w->key, key))
        w = w->next;
    if (!w && content_tags.shared.count < CONTENT_TAGS_MAX) w = content_tag_work_new(key);
    if (w) w->refs++;
    (void)pthread_mutex_unlock(&content_tags.shared.lock);
    return w;
}

static void content_tag_work_drop(content_tag_work *w)
{
    (void)pthread_mutex_lock(&content_tags.shared.lock);
    SKUA_ASSERT(w->refs > 0);
    bool is_last = --w->refs == 0;
    content_tag_work **link = &content_tags.shared.under_way;
    while (is_last && *link != w)
        link = &(*link)->next;
    if (is_last) *link = w->next;
    if (is_last) content_tags.shared.count--;
    (void)pthread_mutex_unlock(&content_tags.shared.lock);
    if (!is_last) return;
    (void)pthread_mutex_destroy(&w->shared.lock);
    memory_free(w);
}

// ---- On a helper thread ----

// How many octets the buffer got; fewer than wanted: the file has become shorter, or cannot be read.
static size_t content_tag_fill(content_tag_job *j, uint64_t at, size_t wanted)
{
    size_t len = 0, n = 1;
    while (len < wanted && n) {
        if (skua_file_read(j->file, at + len, j->buffer + len, wanted - len, &n)) n = 0;
        len += n;
    }
    return len;
}

// Reads one slice more. The stream takes whole words: what is behind the last one ends it.
static void content_tag_read(content_tag_job *j)
{
    content_tag_work *w = j->common;
    uint64_t size = w->key.size, end = w->shared.stream.octets + CONTENT_TAG_SLICE_OCTETS;
    while (!w->shared.is_over && w->shared.stream.octets < end) {
        uint64_t at = w->shared.stream.octets, left = size - at;
        size_t wanted = left < sizeof j->buffer ? (size_t)left : sizeof j->buffer;
        slice read = slice_make(j->buffer, content_tag_fill(j, at, wanted));
        w->shared.is_over = read.len < wanted || wanted == left;
        if (read.len < wanted) return;
        if (wanted < left) siphash_stream_add(&w->shared.stream, read);
        else content_tag_keep(&w->key, siphash_stream_end(&w->shared.stream, read));
    }
}

static void content_tag_run(void *user)
{
    content_tag_job *j = user;
    (void)pthread_mutex_lock(&j->common->shared.lock);
    if (!j->common->shared.is_over) content_tag_read(j);
    j->is_over = j->common->shared.is_over;
    (void)pthread_mutex_unlock(&j->common->shared.lock);
}

// ---- On the worker ----

static void content_tag_end(content_tag_job *j)
{
    content_tag_job **link = j->jobs;
    while (*link != j)
        link = &(*link)->next;
    *link = j->next;
    file_waiter *waiter = j->waiters;
    skua_file_unref(j->file);
    content_tag_work_drop(j->common);
    memory_free(j);
    file_waiters_tell(waiter);
}

static bool content_tag_is_wanted(const content_tag_job *j)
{
    const file_waiter *waiter = j->waiters;
    while (waiter && skua_request_is_gone(waiter->request))
        waiter = waiter->next;
    return waiter != NULL;
}

// A file that nobody waits for any more is not read to its end: clients that ask and leave make little work.
static void content_tag_done(skua_worker *worker, void *user)
{
    content_tag_job *j = user;
    bool goes_on = !j->is_over && content_tag_is_wanted(j);
    if (!goes_on || skua_offload(worker, content_tag_run, content_tag_done, j)) content_tag_end(j);
}

static content_tag_job *content_tag_job_new(content_tag_job **jobs, skua_worker *worker,
                                            skua_file *file, const content_tag_key *key)
{
    content_tag_job *j = memory_alloc(sizeof *j);
    content_tag_work *common = j ? content_tag_work_get(key) : NULL;
    if (!common) {
        memory_free(j);
        return NULL;
    }
    j->next = *jobs;
    j->jobs = jobs;
    j->common = common;
    j->file = skua_file_ref(file);
    j->waiters = NULL;
    *jobs = j;
    if (!skua_offload(worker, content_tag_run, content_tag_done, j)) return j;
    content_tag_end(j);
    return NULL;
}

bool content_tag_want(content_tag_job **jobs, skua_worker *worker, skua_file *file,
                      const skua_file_info *info, bool is_settled, file_waiter *waiter)
{
    content_tag_key key = content_tag_key_of(info, is_settled);
    content_tag_job *j = *jobs;
    while (j && !content_tag_is(&j->common->key, &key))
        j = j->next;
    if (!j) j = content_tag_job_new(jobs, worker, file, &key);
    if (!j) return false;
    waiter->next = j->waiters;
    j->waiters = waiter;
    return true;
}
