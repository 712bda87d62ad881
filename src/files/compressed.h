// SPDX-License-Identifier: MIT
//
// Compressed: the content of one version of a file in one coding, made once and shared by all
// workers. It is kept, and can be found, as long as it has a reference.
#ifndef SKUA_FILES_COMPRESSED_H
#define SKUA_FILES_COMPRESSED_H

#include "files/site.h"
#include "http/coding.h"

// Tells one content of a file from another. All of it is compared.
typedef struct file_version {
    uint64_t size, inode; // inode and times: 0 where there is a hash
    int64_t mtime_ns, ctime_ns;
    char hash[32]; // of the content, as in its entity tag; zeros: none
} file_version;

static inline bool file_version_equal(const file_version *a, const file_version *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

enum {
    COMPRESSED_HEADROOM_OCTETS = 1024,
    COMPRESSED_COPIED_OCTETS_MAX = 8192 // so few are copied behind a response's head
};

typedef enum compressed_state {
    COMPRESSED_COMING, // it is being compressed
    COMPRESSED_READY,
    COMPRESSED_GAINLESS // it would be hardly shorter
} compressed_state;

typedef struct compressed {
    site *site;
    unsigned refs; // of the site's lock, and so is next
    struct compressed *next;
    atomic_int state;       // a compressed_state
    atomic_bool is_written; // a worker's heads are written before the content
    char *octets;           // once it is ready: room for a head, and the content behind it
    size_t octets_len;      // of the content
    content_coding coding;
    file_version version;
    size_t path_len;
    char path[];
} compressed;

// One more reference to that of the site; it is made, and is_mine set, where there is none: then the caller says by
// compressed_conclude what has become of it, or drops it. NULL: out of memory.
compressed *compressed_get(site *s, slice path, content_coding coding, const file_version *version,
                           bool *is_mine);

// The room for a head before so much content.
static inline size_t compressed_headroom(size_t len)
{
    return len > COMPRESSED_COPIED_OCTETS_MAX ? COMPRESSED_HEADROOM_OCTETS : 0;
}

// octets: compressed_headroom(len), and behind them len of the content; given; NULL: it does not gain.
void compressed_conclude(compressed *c, char *octets, size_t len);

static inline compressed_state compressed_state_of(compressed *c)
{
    return (compressed_state)atomic_load_explicit(&c->state, memory_order_acquire);
}

// Adds a reference, and drops one.  Thread: any.
compressed *compressed_ref(compressed *c);
void compressed_unref(void *c);

// Lets the caller's worker write to the room before the content, until it drops its reference by the second. Returns
// false while that is another one's: each worker writes heads of its own there, at the same time.  Thread: any.
bool compressed_take_headroom(compressed *c);
void compressed_unref_headroom(void *c);

static inline slice compressed_content(const compressed *c)
{
    return slice_make(c->octets + compressed_headroom(c->octets_len), c->octets_len);
}

#endif
