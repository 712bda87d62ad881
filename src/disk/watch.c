// SPDX-License-Identifier: MIT
//
// Watches over the kernel's changes. It may have one number for a directory however often it is
// asked, so several of ours, by other paths, may share it; it is taken back with the last of them.
// A directory that was moved, deleted or unmounted is no longer what its path names: its watch is
// dead.
// It can be found no more, and its count grows at every look, so that nobody believes it again.
// Invariant: linked watches are in both tables; a dead one is in none.

#include "disk/watch.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "io/changes.h"
#include "io/file.h"
#include "io/reserve.h"
#include "disk/root.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { WATCH_BUCKETS = 1024 };

#define WATCH_DEAD ((uint_fast64_t)1 << 63)

struct skua_watch {
    watch_set *set;
    skua_watch *key_next, *number_next;
    atomic_uint_fast64_t changes;
    atomic_uint_fast64_t *counter; // changes, also through a pointer to const
    uint64_t root;
    int number; // the kernel's
    unsigned refs;
    bool linked;
    size_t path_len;
    char path[];
};

struct watch_set {
    int fd;
    struct {
        atomic_bool reading;  // events may have left the kernel that are not counted yet
        pthread_mutex_t lock; // of all the rest
        skua_watch *by_key[WATCH_BUCKETS];
        skua_watch *by_number[WATCH_BUCKETS];
        size_t count;
    } shared;
};

// ---- Tables ----

static skua_watch **watch_key_bucket(watch_set *set, uint64_t root, slice path)
{
    uint64_t hash = (14695981039346656037u ^ root) * 1099511628211u;
    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.ptr[i]) * 1099511628211u;
    return &set->shared.by_key[(hash ^ hash >> 32) % WATCH_BUCKETS];
}

static skua_watch **watch_number_bucket(watch_set *set, int number)
{
    return &set->shared.by_number[(unsigned)number % WATCH_BUCKETS];
}

static slice watch_path(const skua_watch *watch)
{
    return slice_make(watch->path, watch->path_len);
}

static skua_watch *watch_find(watch_set *set, uint64_t root, slice path)
{
    skua_watch *watch = *watch_key_bucket(set, root, path);
    while (watch && !(watch->root == root && slice_equal(watch_path(watch), path)))
        watch = watch->key_next;
    return watch;
}

static bool watch_number_is_used(watch_set *set, int number)
{
    const skua_watch *watch = *watch_number_bucket(set, number);
    while (watch && watch->number != number)
        watch = watch->number_next;
    return watch != NULL;
}

static void watch_link(watch_set *set, skua_watch *watch)
{
    skua_watch **key = watch_key_bucket(set, watch->root, watch_path(watch));
    skua_watch **number = watch_number_bucket(set, watch->number);
    watch->key_next = *key;
    *key = watch;
    watch->number_next = *number;
    *number = watch;
    watch->linked = true;
}

static void watch_unlink(watch_set *set, skua_watch *watch)
{
    SKUA_ASSERT(watch->linked);
    skua_watch **key = watch_key_bucket(set, watch->root, watch_path(watch));
    while (*key != watch)
        key = &(*key)->key_next;
    *key = watch->key_next;
    skua_watch **number = watch_number_bucket(set, watch->number);
    while (*number != watch)
        number = &(*number)->number_next;
    *number = watch->number_next;
    watch->linked = false;
}

// ---- The set ----

watch_set *watch_set_new(void)
{
    watch_set *set = memory_zeroed(sizeof *set);
    if (!set) return NULL;
    if (pthread_mutex_init(&set->shared.lock, NULL) != 0) {
        memory_free(set);
        return NULL;
    }
    set->fd = changes_open();
    return set;
}

void watch_set_free(watch_set *set)
{
    if (!set) return;
    SKUA_ASSERT(set->shared.count == 0);
    changes_close(set->fd);
    (void)pthread_mutex_destroy(&set->shared.lock);
    memory_free(set);
}

int watch_set_fd(const watch_set *set)
{
    return set->fd;
}

// ---- Opening and closing ----

static skua_watch *watch_new(watch_set *set, uint64_t root, slice path)
{
    skua_watch *watch = memory_zeroed(sizeof *watch + path.len + 1);
    if (!watch) return NULL;
    watch->set = set;
    atomic_init(&watch->changes, 0);
    watch->counter = &watch->changes;
    watch->root = root;
    watch->refs = 1;
    watch->path_len = path.len;
    if (path.len) memcpy(watch->path, path.ptr, path.len);
    return watch;
}

// One more holder of the watch that is there already, or NULL.
static skua_watch *watch_share(watch_set *set, uint64_t root, slice path)
{
    skua_watch *found = watch_find(set, root, path);
    if (found) found->refs++;
    return found;
}

// Links made, or finds that somebody else was faster. The lock is held while the kernel is asked,
// so that no event of a number can be read before the number is in the table.
static skua_status watch_settle(watch_set *set, int directory, skua_watch *made, skua_watch **watch)
{
    skua_watch *found = watch_share(set, made->root, watch_path(made));
    if (!found) {
        skua_status status = changes_add(set->fd, directory, &made->number);
        if (status != SKUA_OK) return status;
        watch_link(set, made);
        set->shared.count++;
        found = made;
    }
    *watch = found;
    return SKUA_OK;
}

// Another file system may be mounted beneath the root.
static skua_status watch_open_path(const skua_root *root, const char *path, int *fd)
{
    io_file_info info;
    int opened = -1;
    skua_status status = changes_include_writes()
                             ? file_open_directory(root_files(root), path, &opened)
                             : file_open_beneath(root_files(root), path, false, &opened, &info);
    if (status) return status;
    if (!changes_include_remote() && file_is_remote(opened)) {
        reserve_close(opened);
        return SKUA_EUNSUPPORTED;
    }
    *fd = opened;
    return SKUA_OK;
}

// Opens the path as watch_open_path does, if that needs no wait; false if it might.
static bool watch_open_path_cached(const skua_root *root, const char *path, int *fd,
                                   skua_status *status)
{
    io_file_info info;
    if (root_is_remote(root) || !file_open_cached(root_files(root), path, false, fd, &info, status))
        return false;
    if (*status == SKUA_OK && info.kind != SKUA_FILE_DIRECTORY && changes_include_writes()) {
        reserve_close(*fd);
        *status = SKUA_ENOENT;
    }
    return true;
}

// directory: is closed. The disk has been looked at without the lock.
static skua_status watch_start(watch_set *set, int directory, skua_watch *made, skua_watch **watch)
{
    (void)pthread_mutex_lock(&set->shared.lock);
    skua_status status = watch_settle(set, directory, made, watch);
    (void)pthread_mutex_unlock(&set->shared.lock);
    reserve_close(directory);
    return status;
}

// Finds the watch of that path, or makes one that is not started. *status: SKUA_OK goes on.
static skua_watch *watch_find_or_make(watch_set *set, const skua_root *root, slice path,
                                      bool *found, skua_status *status)
{
    bool possible = set->fd >= 0 && (changes_include_remote() || !root_is_remote(root));
    *found = false;
    *status = possible ? SKUA_ENOENT : SKUA_EUNSUPPORTED;
    if (!possible) return NULL;
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (path.len >= ROOT_PATH_OCTETS || (path.len && memchr(path.ptr, 0, path.len))) return NULL;
    (void)pthread_mutex_lock(&set->shared.lock);
    skua_watch *watch = watch_share(set, root_id(root), path);
    (void)pthread_mutex_unlock(&set->shared.lock);
    *found = watch != NULL;
    if (!watch) watch = watch_new(set, root_id(root), path);
    *status = watch ? SKUA_OK : SKUA_ENOMEM;
    return watch;
}

// wait: whether it may. Returns false if it would have to, and must not.
static bool watch_get(watch_set *set, const skua_root *root, slice path, bool wait,
                      skua_watch **watch, skua_status *status)
{
    bool found;
    skua_watch *made = watch_find_or_make(set, root, path, &found, status),
               *settled = found ? made : NULL;
    if (made && !found) {
        int directory = -1;
        if (wait) {
            *status = watch_open_path(root, made->path, &directory);
        } else if (!watch_open_path_cached(root, made->path, &directory, status)) {
            memory_free(made);
            return false;
        }
        if (*status == SKUA_OK) *status = watch_start(set, directory, made, &settled);
        if (settled != made) memory_free(made);
    }
    if (*status == SKUA_OK) *watch = settled;
    return true;
}

skua_status watch_open(watch_set *set, skua_root *root, slice path, skua_watch **watch)
{
    skua_status status = SKUA_OK;
    (void)watch_get(set, root, path, true, watch, &status);
    return status;
}

bool watch_try(watch_set *set, skua_root *root, slice path, skua_watch **watch, skua_status *status)
{
    skua_status result = SKUA_OK;
    if (!watch_get(set, root, path, false, watch, &result)) return false;
    *status = result;
    return true;
}

void watch_close(watch_set *set, skua_watch *watch)
{
    (void)pthread_mutex_lock(&set->shared.lock);
    SKUA_ASSERT(watch->refs > 0);
    bool last = --watch->refs == 0;
    if (last) {
        set->shared.count--;
        bool linked = watch->linked;
        if (linked) watch_unlink(set, watch);
        if (linked && !watch_number_is_used(set, watch->number))
            changes_remove(set->fd, watch->number);
    }
    (void)pthread_mutex_unlock(&set->shared.lock);
    if (last) memory_free(watch);
}

// ---- Counting ----

static void watch_bump(skua_watch *watch)
{
    (void)atomic_fetch_add_explicit(watch->counter, 1, memory_order_acq_rel);
}

static void watch_bump_number(watch_set *set, int number)
{
    for (skua_watch *watch = *watch_number_bucket(set, number); watch; watch = watch->number_next) {
        if (watch->number == number) watch_bump(watch);
    }
}

static void watch_kill_number(watch_set *set, int number)
{
    skua_watch *next;
    for (skua_watch *watch = *watch_number_bucket(set, number); watch; watch = next) {
        next = watch->number_next;
        if (watch->number != number) continue;
        watch_unlink(set, watch);
        (void)atomic_fetch_or_explicit(watch->counter, WATCH_DEAD, memory_order_acq_rel);
    }
}

// A lost event may have been the move of a directory, so no watch is known to be where its path is.
static void watch_kill_all(watch_set *set)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        while (set->shared.by_key[i]) {
            int number = set->shared.by_key[i]->number;
            watch_kill_number(set, number);
            changes_remove(set->fd, number);
        }
    }
}

static void watch_told(change_kind kind, int number, void *user)
{
    watch_set *set = user;
    switch (kind) {
    case CHANGE_INSIDE: watch_bump_number(set, number); return;
    case CHANGE_GONE: watch_kill_number(set, number); return;
    case CHANGE_LOST: watch_kill_all(set); return;
    }
}

void watch_set_read(watch_set *set)
{
    // over the reading too: events are counted in their order
    (void)pthread_mutex_lock(&set->shared.lock);
    atomic_store(&set->shared.reading, true);
    if (set->fd >= 0) changes_read(set->fd, watch_told, set);
    atomic_store(&set->shared.reading, false);
    (void)pthread_mutex_unlock(&set->shared.lock);
}

// ---- The public interface ----

bool skua_watch_includes_writes(void)
{
    return changes_include_writes();
}

// Another worker has taken events from the kernel: this one was not told of them, and must not
// serve what they are about before they are counted.
static void watch_wait_for_reader(watch_set *set)
{
    if (!atomic_load(&set->shared.reading)) return;
    (void)pthread_mutex_lock(&set->shared.lock);
    (void)pthread_mutex_unlock(&set->shared.lock);
}

uint64_t skua_watch_changes(const skua_watch *watch)
{
    CONTRACT_GIVEN(watch);
    watch_wait_for_reader(watch->set);
    uint_fast64_t changes = atomic_load_explicit(watch->counter, memory_order_acquire);
    if (changes & WATCH_DEAD) {
        changes = atomic_fetch_add_explicit(watch->counter, 1, memory_order_acq_rel);
    }
    return (uint64_t)changes;
}
