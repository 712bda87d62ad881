// SPDX-License-Identifier: MIT
//
// A file may change while it is read, and then the result belongs to no version of it. So nobody is answered by what
// has just been made: each who waited looks at the file again, and takes it only if the version is still the same.
//
// Those beyond what may run wait on their worker, not on a helper thread, which others need: they begin when one of
// the same cache is done. One of another cache is not heard of, so each also looks for a turn again and again.

#include "files/compression.h"

#include "base/assert.h"
#include "base/memory.h"
#include "files/compressed.h"
#include "http/etag.h"

enum {
    COMPRESSION_GAIN = 16,             // it is to be shorter by a sixteenth at least
    COMPRESSION_STATE_OCTETS = 4 << 20 // what an encoder takes, beside content and result
};

static struct {
    struct {
        pthread_mutex_t lock; // of what follows
        unsigned count;
        const skua_server *running[COMPRESSIONS_MAX]; // whose each turn is; NULL: nobody's
    } shared;
} compressions = { .shared = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static const int64_t compression_retry_ns = 5000000;

struct compression {
    struct compression *next; // of the cache
    cache *cache;
    skua_worker *worker;
    compressed *made;
    skua_file *file;
    file_waiter *waiters;
    cached_origin origin;
    char *octets; // the result; NULL: there is none
    size_t len;
    bool failed;              // the file could not be read, or memory ran out
    skua_timer retry;         // while it waits for a turn
    const skua_server **turn; // its own; NULL: it waits
    size_t key_len, path_len;
    char key[]; // and the path behind it
};

typedef struct compression compression;

static slice compression_key(const compression *j)
{
    return slice_make(j->key, j->key_len);
}

static slice compression_path(const compression *j)
{
    return slice_make(j->key + j->key_len, j->path_len);
}

static int64_t compression_memory(const compression *j)
{
    return (int64_t)(2 * j->origin.info.size + COMPRESSION_STATE_OCTETS);
}

unsigned compression_codings(unsigned set)
{
    for (unsigned coding = CODING_GZIP; coding < CODING_COUNT; coding++) {
        if (!skua_coding_is_built((skua_coding)coding)) set &= ~(1U << coding);
    }
    return set;
}

// ---- On a helper thread ----

static char *compression_read(const compression *j)
{
    size_t size = (size_t)j->origin.info.size, len = 0, n = 1;
    char *content = memory_alloc(size);
    while (content && len < size && n) {
        if (skua_file_read(j->file, len, content + len, size - len, &n)) n = 0;
        len += n;
    }
    char tag[ETAG_OCTETS];
    bool is_whole = content && len == size;
    bool has_hash = j->origin.version.hash[0];
    if (is_whole && has_hash) {
        (void)etag_write(slice_make(content, len), tag);
        is_whole = memcmp(tag + 1, j->origin.version.hash, sizeof j->origin.version.hash) == 0;
    }
    if (is_whole) return content;
    memory_free(content);
    return NULL;
}

// Cuts off the room that was not needed; a short result needs none before it.
static void compression_fit(compression *j)
{
    size_t headroom = compressed_headroom(j->len);
    if (!headroom) memmove(j->octets, j->octets + COMPRESSED_HEADROOM_OCTETS, j->len);
    char *fitting = memory_resize(j->octets, headroom + j->len);
    if (fitting) j->octets = fitting;
}

static void compression_make(void *user)
{
    compression *j = user;
    size_t size = (size_t)j->origin.info.size, room = size - size / COMPRESSION_GAIN;
    char *content = compression_read(j);
    j->octets = content ? memory_alloc(COMPRESSED_HEADROOM_OCTETS + room) : NULL;
    j->failed = !j->octets;
    if (!j->failed) {
        skua_status status =
            skua_encode((skua_coding)j->made->coding, SKUA_EFFORT_KEPT, slice_make(content, size),
                        j->octets + COMPRESSED_HEADROOM_OCTETS, room, &j->len);
        j->failed = status && status != SKUA_ELIMIT;
        if (status) memory_free(j->octets);
        if (status) j->octets = NULL;
        else compression_fit(j);
    }
    memory_free(content);
}

// ---- On the worker ----

// Counts one more; false: there are as many as there may be.
static bool compression_count(void)
{
    (void)pthread_mutex_lock(&compressions.shared.lock);
    bool fits = compressions.shared.count < COMPRESSIONS_MAX;
    if (fits) compressions.shared.count++;
    (void)pthread_mutex_unlock(&compressions.shared.lock);
    return fits;
}

// turn: NULL: it has none.
static void compression_uncount(const skua_server **turn)
{
    (void)pthread_mutex_lock(&compressions.shared.lock);
    compressions.shared.count--;
    if (turn) *turn = NULL;
    (void)pthread_mutex_unlock(&compressions.shared.lock);
}

// A worker that has all cores against it keeps every client waiting, so half of them are left to the workers: there
// is a worker for each core, where nobody has said otherwise.
static unsigned compression_turns(const skua_worker *worker)
{
    unsigned half = skua_server_workers(skua_worker_server(worker)) / 2;
    if (half > COMPRESSIONS_RUNNING_MAX) return COMPRESSIONS_RUNNING_MAX;
    return half ? half : 1;
}

// Each server has turns of its own: one with many cores does not keep another one waiting.
static bool compression_take_turn(compression *j)
{
    const skua_server *server = skua_worker_server(j->worker), **free_turn = NULL;
    unsigned running = 0;
    (void)pthread_mutex_lock(&compressions.shared.lock);
    for (size_t i = 0; i < COMPRESSIONS_MAX; i++) {
        const skua_server **turn = &compressions.shared.running[i];
        running += *turn == server;
        if (!*turn) free_turn = turn;
    }
    SKUA_ASSERT(free_turn);
    if (running < compression_turns(j->worker)) {
        *free_turn = server;
        j->turn = free_turn;
    }
    (void)pthread_mutex_unlock(&compressions.shared.lock);
    return j->turn != NULL;
}

// A worker remembers what does not gain.
static void compression_give_up(cached *entry, content_coding coding)
{
    entry->offers &= (uint8_t) ~(1U << coding);
}

// Puts what was made into the cache, where those who look again will find it.
static void compression_put(cache *c, skua_worker *worker, slice key, slice path,
                            const cached_origin *origin, compressed *made)
{
    cached *entry = cache_find(c, cache_hash(c, key), key, CACHED_IDENTITY);
    bool is_same = entry && file_version_equal(&entry->origin.version, &origin->version);
    if (compressed_state_of(made) == COMPRESSED_GAINLESS) {
        if (is_same) compression_give_up(entry, made->coding);
        return;
    }
    cached *coded;
    const cached_source source = { .site = c->site,
                                   .worker = worker,
                                   .key = key,
                                   .path = path,
                                   .variant = (cached_variant)made->coding,
                                   .info = &origin->info,
                                   .type = origin->type };
    if (!cached_new_compressed(&source, origin, made, &coded)) cache_put(c, &coded);
}

static void compression_unlink(compression *j)
{
    compression **link = &j->cache->compressions;
    while (*link != j)
        link = &(*link)->next;
    *link = j->next;
}

static void compression_free(compression *j)
{
    compression_unlink(j);
    compression_uncount(j->turn);
    skua_timer_stop(j->retry);
    skua_memory_count(j->worker, -compression_memory(j));
    skua_file_unref(j->file);
    compressed_unref(j->made);
    cache_let_go(j->cache);
    memory_free(j);
}

static void compression_retry(skua_worker *worker, void *user);

// Begins the one of a cache that has waited longest.
static void compression_start_waiting(const cache *c)
{
    compression *oldest = NULL;
    for (compression *j = c->compressions; j; j = j->next) {
        if (!j->turn) oldest = j;
    }
    if (oldest) compression_retry(oldest->worker, oldest);
}

static void compression_done(skua_worker *worker, void *user)
{
    compression *j = user;
    cache *c = cache_hold(j->cache);
    file_waiter *waiters = j->waiters;
    if (!j->failed) {
        compressed_conclude(j->made, j->octets, j->len);
        compression_put(j->cache, worker, compression_key(j), compression_path(j), &j->origin,
                        j->made);
    }
    compression_free(j);
    compression_start_waiting(c);
    cache_let_go(c);
    file_waiters_tell(waiters);
}

// Lets it begin, or wait for a turn. Returns false if it can do neither.
static bool compression_start(compression *j)
{
    if (!compression_take_turn(j))
        return j->retry.value ||
               !skua_timer_start(j->worker, compression_retry_ns, compression_retry_ns,
                                 compression_retry, j, &j->retry);
    skua_timer_stop(j->retry);
    j->retry = (skua_timer){ 0 };
    return !skua_offload(j->worker, compression_make, compression_done, j);
}

static bool compression_is_wanted(const compression *j)
{
    const file_waiter *waiter = j->waiters;
    while (waiter && skua_request_is_gone(waiter->request))
        waiter = waiter->next;
    return waiter != NULL;
}

// One that nobody waits for any more does not begin: clients that ask and leave make little work, and hold up no stop.
static void compression_retry(skua_worker *worker, void *user)
{
    compression *j = user;
    if (compression_is_wanted(j) && compression_start(j)) return;
    j->failed = true;
    compression_done(worker, j);
}

static compression *compression_new(cache *c, const cached *entry, skua_file *file,
                                    compressed *made)
{
    slice path = cached_path(entry);
    if (!compression_count()) return NULL;
    compression *j = memory_zeroed(sizeof *j + entry->key_len + path.len);
    if (!j) {
        compression_uncount(NULL);
        return NULL;
    }
    *j = (compression){ .cache = cache_hold(c),
                        .worker = c->worker,
                        .made = compressed_ref(made),
                        .file = skua_file_ref(file),
                        .origin = entry->origin,
                        .key_len = entry->key_len,
                        .path_len = path.len,
                        .next = c->compressions };
    if (entry->key_len) memcpy(j->key, entry->key, entry->key_len);
    if (path.len) memcpy(j->key + j->key_len, path.ptr, path.len);
    c->compressions = j;
    skua_memory_count(j->worker, compression_memory(j));
    return j;
}

static compression_outcome compression_begin(cache *c, const cached *entry, skua_file *file,
                                             compressed *made, file_waiter *waiter)
{
    compression *j = compression_new(c, entry, file, made);
    if (!j) return COMPRESSION_NONE;
    if (!compression_start(j)) {
        compression_free(j);
        return COMPRESSION_NONE;
    }
    waiter->next = NULL;
    j->waiters = waiter;
    return COMPRESSION_WAITS;
}

// Another worker's is not waited for: that would take letters between them, for some milliseconds.
static compression_outcome compression_join(const cache *c, const compressed *made,
                                            file_waiter *waiter)
{
    for (compression *j = c->compressions; j; j = j->next) {
        if (j->made != made) continue;
        waiter->next = j->waiters;
        j->waiters = waiter;
        return COMPRESSION_WAITS;
    }
    return COMPRESSION_NONE;
}

compression_outcome compression_want(cache *c, cached *entry, skua_file *file,
                                     content_coding coding, file_waiter *waiter)
{
    bool is_mine;
    compressed *made =
        compressed_get(c->site, cached_path(entry), coding, &entry->origin.version, &is_mine);
    if (!made) return COMPRESSION_NONE;
    compression_outcome outcome = COMPRESSION_NONE;
    switch (compressed_state_of(made)) {
    case COMPRESSED_COMING:
        outcome = is_mine ? compression_begin(c, entry, file, made, waiter)
                          : compression_join(c, made, waiter);
        break;
    case COMPRESSED_READY:
        compression_put(c, c->worker, slice_make(entry->key, entry->key_len), cached_path(entry),
                        &entry->origin, made);
        outcome = COMPRESSION_IS_READY;
        break;
    case COMPRESSED_GAINLESS: compression_give_up(entry, coding); break;
    }
    compressed_unref(made);
    return outcome;
}
