// SPDX-License-Identifier: MIT
//
// Cached: a file prepared for responses: validators, a whole 200, a whole 304, and either its
// content (small files) or an open descriptor. It belongs to one worker. A response under way holds
// its own references, so a cached file may be freed at any time.
#ifndef SKUA_FILES_CACHED_H
#define SKUA_FILES_CACHED_H

#include "files/compressed.h"
#include "files/kept.h"
#include "files/watches.h"
#include "http/etag.h"
#include "http/preconditions.h"

// Which representation of a name it is; part of its key: a content_coding, or the page of a 404.
typedef enum cached_variant {
    CACHED_IDENTITY = CODING_IDENTITY,
    CACHED_ERROR_PAGE = CODING_COUNT
} cached_variant;

enum {
    // W/"hash-coding", the hash of 32 digits, or W/"size-mtime-coding", these of 16 each at most
    CACHED_ETAG_OCTETS = SKUA_FILE_ETAG_OCTETS,
    // The largest file whose entity tag is a hash of its content. Fixed, whatever the options, so
    // that machines that share files and nothing else agree about them.
    CACHED_HASHED_OCTETS = 32768
};

typedef struct cached cached;

// The part that a file compressed here shares with the file as it is.
typedef struct cached_origin {
    skua_file_info info;
    file_version version;
    int64_t last_modified; // seconds since 1970; -1: none
    const char *type;
    uint8_t etag_len; // 0: none
    char etag[CACHED_ETAG_OCTETS];
} cached_origin;

struct cached {
    // The cache's.
    cached *chain;         // in its bucket
    cached *newer, *older; // by last use
    uint64_t hash;

    int64_t seen_ns;        // when it was last found good
    int64_t fresh_until_ns; // when it has to be revalidated
    uint64_t changes;       // the watches' sum before it was opened
    skua_prepared *ok, *not_modified;
    uint8_t variant;  // cached_variant
    uint8_t siblings; // codings of files beside it, as siblings.h has them
    uint8_t offers;   // codings in which it can be compressed here, in the same form
    bool
        is_made; // it was compressed here: its version is that of the file as it is, and so is its freshness
    bool weak;      // it may yet change without its ctime showing that
    bool is_wanted; // in memory: it was asked for while it was fresh
    bool is_kept;   // in memory, beside its descriptor
    bool varies;    // by Accept-Encoding
    size_t key_len, path_len;
    size_t octets; // of content in memory, and of the key

    skua_file *file; // NULL: the content is in ok alone
    watches watches;
    cached_origin origin; // of a made one that of the file as it is, but for its etag
    char key[];           // and behind it the path of the file
};

static inline slice cached_path(const cached *c)
{
    return slice_make(c->key + c->key_len, c->path_len);
}

// The things that a cached is made of.
typedef struct cached_source {
    const site *site;
    skua_worker *worker;
    slice key;
    slice path; // of the file, beneath the root
    cached_variant variant;
    const char *type;
    skua_file *file;
    const skua_file_info *info;
    slice content;   // all of a file that is small, or whose entity tag is a hash
    slice tag;       // by content_tag.h, of a file that is larger; empty: none
    kept_file *kept; // all of a larger one that is to be kept in memory; NULL: none
} cached_source;

// Whether a file is answered from memory.
bool cached_is_small(const site *s, const skua_file_info *info);

// Whether a file that is sent from its descriptor is worth being kept in memory if it is asked for often: over TLS, which
// copies and seals its octets each time, or in the clear, where one send of it costs less than a head and sendfile.
static inline bool cached_may_be_kept(const site *s, const cached *c, bool is_secure)
{
    size_t octets_max = is_secure ? s->kept_octets_max : s->kept_clear_octets_max;
    return c->file && !c->is_kept && !c->weak && c->origin.info.size <= octets_max;
}

// Whether its entity tag is a hash of its content that is made when it is opened.
static inline bool cached_is_hashed(const site *s, const skua_file_info *info)
{
    bool by_content = s->etags == SKUA_ETAGS_AUTO || s->etags == SKUA_ETAGS_CONTENT;
    return by_content && info->size <= CACHED_HASHED_OCTETS;
}

// Whether its entity tag is a hash that content_tag.h makes.
static inline bool cached_is_hashed_apart(const site *s, const skua_file_info *info)
{
    return s->etags == SKUA_ETAGS_CONTENT && info->size > CACHED_HASHED_OCTETS;
}

// Whether its times tell its versions apart: see cached.c.
bool cached_is_settled(const skua_file_info *info, int64_t unix_ns);

// Makes one; watches and freshness are the caller's to set, by cached_renew. It takes source->kept.
// Errors: SKUA_ENOMEM; the content that was to be kept is the caller's then.
SKUA_NODISCARD skua_status cached_new(const cached_source *source, cached **made);

// Makes one of what was compressed here, of which it holds a reference. source: without file and content.
// Errors: SKUA_ENOMEM.
SKUA_NODISCARD skua_status cached_new_compressed(const cached_source *source,
                                                 const cached_origin *origin, compressed *made,
                                                 cached **coded);

// Makes one that no request is answered with: it tells of a version of a file in which codings compressing it may gain.
// source: without file and content.  of: the file as it is.
// Errors: SKUA_ENOMEM.
SKUA_NODISCARD skua_status cached_new_note(const cached_source *source, const cached *of,
                                           cached **note);

void cached_free(cached *c, const site *s);

// Whether what was made from a file is still good for a file opened again. Never if it is weak, nor where the clock has been
// set to a time before its Last-Modified.
bool cached_is_same(const cached *c, const skua_file_info *info, int64_t unix_ns);

// Found good at a time: takes the watches and their sum from before the opening. *taken is empty
// afterwards.
void cached_renew(cached *c, const site *s, skua_worker *worker, int64_t opened_ns, watches *taken,
                  uint64_t changes);

// For a file that could not be looked at for want of descriptors: it may be used unseen for another
// second, but not past ten after it was found good. Returns false if it is too old for that.
bool cached_stretch(cached *c, int64_t now_ns);

// Whether coded, which was made here, is of the version of a file that is fresh.
static inline bool cached_is_of(const cached *coded, const cached *file)
{
    return coded->is_made && coded->origin.last_modified == file->origin.last_modified &&
           file_version_equal(&coded->origin.version, &file->origin.version);
}

static inline bool cached_is_fresh(const cached *c, int64_t now_ns)
{
    return now_ns < c->fresh_until_ns && !c->is_made && watches_changes(&c->watches) == c->changes;
}

#endif
