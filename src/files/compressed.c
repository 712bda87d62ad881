// SPDX-License-Identifier: MIT
//
// References are counted under the site's lock, since the last one also takes it out of the table: nobody else may
// find it in between. Requests take no reference, so the lock is rarely asked for.

#include "files/compressed.h"

#include "base/assert.h"
#include "base/memory.h"

static unsigned compressed_bucket(slice path, content_coding coding)
{
    uint32_t hash =
        2166136261u; // paths of files that are there: nobody can choose their hashes at will
    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.ptr[i]) * 16777619u;
    return (hash ^ (unsigned)coding) % SITE_COMPRESSED_BUCKETS;
}

static compressed **compressed_find(site *s, slice path, content_coding coding,
                                    const file_version *version)
{
    compressed **link = &s->shared.compressed[compressed_bucket(path, coding)];
    for (; *link; link = &(*link)->next) {
        const compressed *c = *link;
        if (c->coding == coding && slice_equal(slice_make(c->path, c->path_len), path) &&
            file_version_equal(&c->version, version))
            break;
    }
    return link;
}

static compressed *compressed_new(site *s, slice path, content_coding coding,
                                  const file_version *version)
{
    compressed *c = memory_zeroed(sizeof *c + path.len);
    if (!c) return NULL;
    c->site = site_hold(s);
    c->refs = 1;
    atomic_init(&c->state, COMPRESSED_COMING);
    atomic_init(&c->is_written, false);
    c->coding = coding;
    c->version = *version;
    c->path_len = path.len;
    if (path.len) memcpy(c->path, path.ptr, path.len);
    return c;
}

compressed *compressed_get(site *s, slice path, content_coding coding, const file_version *version,
                           bool *is_mine)
{
    (void)pthread_mutex_lock(&s->shared.lock);
    compressed **link = compressed_find(s, path, coding, version), *found = *link;
    *is_mine = !found;
    if (found) found->refs++;
    else *link = found = compressed_new(s, path, coding, version);
    (void)pthread_mutex_unlock(&s->shared.lock);
    return found;
}

void compressed_conclude(compressed *c, char *octets, size_t len)
{
    SKUA_ASSERT(compressed_state_of(c) == COMPRESSED_COMING);
    c->octets = octets;
    c->octets_len = len;
    atomic_store_explicit(&c->state, octets ? COMPRESSED_READY : COMPRESSED_GAINLESS,
                          memory_order_release);
}

compressed *compressed_ref(compressed *c)
{
    (void)pthread_mutex_lock(&c->site->shared.lock);
    c->refs++;
    (void)pthread_mutex_unlock(&c->site->shared.lock);
    return c;
}

void compressed_unref(void *dropped)
{
    compressed *c = dropped;
    site *s = c->site;
    (void)pthread_mutex_lock(&s->shared.lock);
    SKUA_ASSERT(c->refs > 0);
    bool is_last = --c->refs == 0;
    if (is_last) {
        compressed **link =
            compressed_find(s, slice_make(c->path, c->path_len), c->coding, &c->version);
        SKUA_ASSERT(*link == c);
        *link = c->next;
    }
    (void)pthread_mutex_unlock(&s->shared.lock);
    if (!is_last) return;
    memory_free(c->octets);
    memory_free(c);
    site_let_go(s);
}

bool compressed_take_headroom(compressed *c)
{
    return !atomic_exchange_explicit(&c->is_written, true, memory_order_acquire);
}

void compressed_unref_headroom(void *dropped)
{
    compressed *c = dropped;
    atomic_store_explicit(&c->is_written, false, memory_order_release);
    compressed_unref(c);
}
