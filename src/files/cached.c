// SPDX-License-Identifier: MIT
//
// Making a file ready to be answered.

#include "files/cached.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/sized.h"
#include "base/memory.h"
#include "files/compression.h"
#include "files/media.h"
#include "http/compressible.h"
#include "http/date.h"

#include <stdio.h>

// A file system's clock ticks coarsely: within a tick content can change under the same ctime.
// After two seconds no tick is that long, and the entity tag is strong.
static const int64_t cached_settled_ns = 2000000000;
static const int64_t cached_second_ns = 1000000000;

// How long a file that cannot be looked at is better than none.
static const int64_t cached_stale_ns = 10000000000;

bool cached_is_settled(const skua_file_info *info, int64_t unix_ns)
{
    return info->ctime_ns <= unix_ns - cached_settled_ns;
}

// Builders of images set all times to the beginning of 1970, or a second later, so that the same
// files make the same image: such a time says nothing of when a file was modified.
static bool cached_has_time(const skua_file_info *info)
{
    return info->mtime_ns < -cached_second_ns || info->mtime_ns > cached_second_ns;
}

static int cached_write_time(const skua_file_info *info, bool weak, char etag[CACHED_ETAG_OCTETS])
{
    if (!cached_has_time(info)) return 0;
    return snprintf(etag, CACHED_ETAG_OCTETS, "%s\"%llx-%llx\"", weak ? "W/" : "",
                    (unsigned long long)info->size, (unsigned long long)info->mtime_ns);
}

static bool cached_is_coded(const cached *c)
{
    return c->variant != CACHED_IDENTITY && c->variant != CACHED_ERROR_PAGE;
}

// Two representations never have one tag, not even where somebody copied one file onto the other.
static int cached_name_coding(cached *c, int len)
{
    if (!len || !cached_is_coded(c)) return len;
    slice name = coding_name((content_coding)c->variant);
    return len - 1 +
           snprintf(c->origin.etag + len - 1, sizeof c->origin.etag - (size_t)len + 1, "-%.*s\"",
                    (int)name.len, name.ptr);
}

// A file whose content may yet change unseen has no version, unless it is its hash.
static void cached_set_version(cached *c, const site *s)
{
    file_version *version = &c->origin.version;
    const skua_file_info *info = &c->origin.info;
    bool is_tag_hash = cached_is_hashed(s, info) || (cached_is_hashed_apart(s, info) && !c->weak);
    bool has_hash = c->origin.etag_len && is_tag_hash;
    *version = (file_version){ .size = info->size };
    if (has_hash) {
        memcpy(version->hash, c->origin.etag + 1, sizeof version->hash);
        return;
    }
    version->inode = info->inode;
    version->mtime_ns = info->mtime_ns;
    version->ctime_ns = info->ctime_ns;
}

// The codings that compressing it here may gain by.
static void cached_set_offers(cached *c, const site *s)
{
    bool gains = s->compress && compressible_type(slice_of(c->origin.type), NULL);
    uint64_t size = c->origin.info.size;
    bool fits = size >= COMPRESSIBLE_OCTETS_MIN && size <= COMPRESSION_FILE_OCTETS_MAX &&
                size <= s->cache_octets_max;
    bool is_known = c->origin.version.hash[0] || !c->weak;
    c->varies = s->precompressed || gains;
    if (gains && fits && is_known && c->variant == CACHED_IDENTITY)
        c->offers = (uint8_t)compression_codings(s->codings);
}

// Without a tag of its own a file is looked at again each time, until it has one.
static int cached_copy_tag(cached *c, slice tag)
{
    c->weak = c->weak || !tag.len || *tag.ptr == 'W';
    SKUA_ASSERT(tag.len < sizeof c->origin.etag);
    if (tag.len) memcpy(c->origin.etag, tag.ptr, tag.len);
    return (int)tag.len;
}

static int cached_write_tag(cached *c, const site *s, const cached_source *source)
{
    if (s->etags == SKUA_ETAGS_OFF) return 0;
    if (cached_is_hashed(s, &c->origin.info))
        return (int)etag_write(source->content, c->origin.etag);
    if (cached_is_hashed_apart(s, &c->origin.info)) return cached_copy_tag(c, source->tag);
    return cached_write_time(&c->origin.info, c->weak, c->origin.etag);
}

size_t skua_file_etag_sized(const skua_file_info *info, slice content, int64_t unix_ns,
                            char etag[SKUA_FILE_ETAG_OCTETS], const skua_sizes *sizes)
{
    CONTRACT_GIVEN(info);
    CONTRACT_SIZES(sizes);
    skua_file_info own;
    info = SIZED_GIVEN(info, sizes->file_info, &own);
    CONTRACT_GIVEN(etag);
    CONTRACT_SLICE(content);
    bool is_hashed = info->size <= CACHED_HASHED_OCTETS;
    CONTRACT(!is_hashed || content.len == info->size, "content must be all of a small file");
    if (is_hashed) return etag_write(content, etag);
    return (size_t)cached_write_time(info, !cached_is_settled(info, unix_ns), etag);
}

static void cached_set_validators(cached *c, const cached_source *source, int64_t unix_ns)
{
    const site *s = source->site;
    const skua_file_info *info = &c->origin.info;
    c->weak = !cached_is_settled(info, unix_ns);
    int len = cached_name_coding(c, cached_write_tag(c, s, source));
    SKUA_ASSERT(len >= 0 && len < CACHED_ETAG_OCTETS);
    c->origin.etag_len = (uint8_t)len;
    cached_set_version(c, s);
    // A modification in the future would make Last-Modified later than Date, RFC 9110 §8.8.2.1.
    int64_t modified_ns = info->mtime_ns < unix_ns ? info->mtime_ns : unix_ns;
    bool known = cached_has_time(info) && modified_ns >= 0;
    c->origin.last_modified = known ? modified_ns / cached_second_ns : -1;
}

enum { CACHED_FIELDS_MAX = 8 };

typedef struct cached_fields {
    skua_field list[CACHED_FIELDS_MAX];
    size_t count;
} cached_fields;

static void cached_add_field(cached_fields *fields, const char *name, slice value)
{
    SKUA_ASSERT(fields->count < CACHED_FIELDS_MAX);
    fields->list[fields->count++] = (skua_field){ slice_of(name), value };
}

// Adds the fields that a 200 and its 304 share, RFC 9110 §15.4.5.
static void cached_add_common(cached_fields *fields, const cached *c, const site *s)
{
    if (c->varies) cached_add_field(fields, "Vary", SKUA_SLICE("Accept-Encoding"));
    if (c->origin.etag_len)
        cached_add_field(fields, "ETag", slice_make(c->origin.etag, c->origin.etag_len));
    if (s->cache_control) cached_add_field(fields, "Cache-Control", slice_of(s->cache_control));
}

// made: NULL: the content is that of source.
static skua_status cached_make_ok(cached *c, const cached_source *source, compressed *made)
{
    char date[DATE_OCTETS];
    bool is_page = c->variant == CACHED_ERROR_PAGE; // whose own state is not the resource's
    cached_fields fields = { .count = 0 };
    cached_add_field(&fields, "Content-Type", slice_of(c->origin.type));
    if (c->origin.last_modified >= 0 && !is_page) {
        date_write(date, c->origin.last_modified);
        cached_add_field(&fields, "Last-Modified", slice_make(date, sizeof date));
    }
    if (cached_is_coded(c))
        cached_add_field(&fields, "Content-Encoding", coding_name((content_coding)c->variant));
    if (!is_page) cached_add_common(&fields, c, source->site);
    if (!is_page && !c->is_made) cached_add_field(&fields, "Accept-Ranges", SKUA_SLICE("bytes"));
    skua_field guard;
    if (media_guard(c->origin.type, &guard)) fields.list[fields.count++] = guard;
    skua_prepared_desc desc = { .status = is_page ? 404 : 200,
                                .fields = fields.list,
                                .fields_count = fields.count };
    if (source->kept) {
        desc.content = slice_make(source->kept->octets, source->kept->len);
        desc.headroom = KEPT_HEADROOM_OCTETS;
        desc.release = kept_free;
        desc.release_user = source->kept;
    } else if (c->file) {
        desc.file = c->file;
        desc.length = c->origin.info.size;
    } else if (made) {
        desc.content = compressed_content(made);
        size_t headroom = compressed_headroom(desc.content.len);
        bool is_written = headroom && compressed_take_headroom(made);
        desc.headroom = is_written ? headroom : 0;
        desc.release = is_written ? compressed_unref_headroom : compressed_unref;
        desc.release_user = compressed_ref(made);
    } else {
        desc.content = source->content;
    }
    skua_status status = skua_prepared_new(source->worker, &desc, &c->ok);
    if (status && made) desc.release(made);
    return status;
}

static skua_status cached_make_not_modified(cached *c, const cached_source *source)
{
    cached_fields fields = { .count = 0 };
    cached_add_common(&fields, c, source->site);
    skua_prepared_desc desc = { .status = 304,
                                .fields = fields.list,
                                .fields_count = fields.count };
    return skua_prepared_new(source->worker, &desc, &c->not_modified);
}

bool cached_is_small(const site *s, const skua_file_info *info)
{
    return info->size <= s->small_octets_max;
}

static skua_status cached_make_responses(cached *c, const cached_source *source)
{
    if (cached_is_small(source->site, &c->origin.info)) {
        SKUA_ASSERT(source->content.len == c->origin.info.size);
        // it is copied behind as much room as what is compressed has
        c->octets += compressed_headroom(source->content.len) + source->content.len;
    } else {
        c->file = skua_file_ref(source->file);
    }
    if (source->kept) {
        SKUA_ASSERT(source->kept->len == c->origin.info.size);
        c->is_kept = true;
        c->octets += KEPT_HEADROOM_OCTETS + source->kept->len;
    }
    // what is kept is given last, when nothing can fail any more
    skua_status status = cached_make_not_modified(c, source);
    return status ? status : cached_make_ok(c, source, NULL);
}

static cached *cached_begin(const cached_source *source)
{
    SKUA_ASSERT(source->info->kind == SKUA_FILE_REGULAR);
    cached *c = memory_zeroed(sizeof *c + source->key.len + source->path.len);
    if (!c) return NULL;
    c->origin.info = *source->info;
    c->origin.type = source->type;
    c->variant = (uint8_t)source->variant;
    c->key_len = source->key.len;
    c->path_len = source->path.len;
    c->octets = source->key.len + source->path.len;
    if (source->key.len) memcpy(c->key, source->key.ptr, source->key.len);
    if (source->path.len) memcpy(c->key + c->key_len, source->path.ptr, source->path.len);
    return c;
}

// The octets are made anew, so that the tag is weak; and it is one of that coding.
static void cached_weaken_tag(cached *c, const cached_origin *origin)
{
    int len = origin->etag_len;
    if (!len) return;
    SKUA_ASSERT(origin->etag[0] == '"');
    memcpy(c->origin.etag, "W/", 2);
    memcpy(c->origin.etag + 2, origin->etag, (size_t)len);
    c->origin.etag_len = (uint8_t)cached_name_coding(c, len + 2);
}

skua_status cached_new_compressed(const cached_source *source, const cached_origin *origin,
                                  compressed *made, cached **coded)
{
    cached *c = cached_begin(source);
    if (!c) return SKUA_ENOMEM;
    c->is_made = true;
    c->varies = true;
    c->origin.version = origin->version;
    c->origin.last_modified = origin->last_modified;
    c->octets += compressed_headroom(made->octets_len) + made->octets_len;
    cached_weaken_tag(c, origin);
    skua_status status = cached_make_ok(c, source, made);
    if (!status) status = cached_make_not_modified(c, source);
    if (status) cached_free(c, source->site);
    else *coded = c;
    return status;
}

skua_status cached_new_note(const cached_source *source, const cached *of, cached **note)
{
    cached *c = cached_begin(source);
    if (!c) return SKUA_ENOMEM;
    c->origin = of->origin;
    c->origin.type = source->type;
    c->offers = of->offers;
    *note = c;
    return SKUA_OK;
}

skua_status cached_new(const cached_source *source, cached **made)
{
    cached *c = cached_begin(source);
    if (!c) return SKUA_ENOMEM;
    cached_set_validators(c, source, skua_worker_unix_ns(source->worker));
    cached_set_offers(c, source->site);
    skua_status status = cached_make_responses(c, source);
    if (status) {
        cached_free(c, source->site);
        return status;
    }
    *made = c;
    return SKUA_OK;
}

void cached_free(cached *c, const site *s)
{
    watches_close(&c->watches, s);
    if (c->ok) skua_prepared_unref(c->ok);
    if (c->not_modified) skua_prepared_unref(c->not_modified);
    if (c->file) skua_file_unref(c->file);
    memory_free(c);
}

bool cached_is_same(const cached *c, const skua_file_info *info, int64_t unix_ns)
{
    return !c->weak && c->origin.last_modified <= unix_ns / cached_second_ns &&
           c->origin.info.kind == info->kind && c->origin.info.inode == info->inode &&
           c->origin.info.size == info->size && c->origin.info.mtime_ns == info->mtime_ns &&
           c->origin.info.ctime_ns == info->ctime_ns;
}

// How long from now it may be used unseen: a second, but a weak one not past the moment it can be
// strong.
static int64_t cached_fresh_ns(const cached *c, int64_t unix_ns)
{
    if (!c->weak) return cached_second_ns;
    if (c->origin.info.ctime_ns >= unix_ns)
        return cached_second_ns; // no overflow with dates of the far future
    int64_t wait_ns = c->origin.info.ctime_ns + cached_settled_ns - unix_ns;
    return wait_ns < cached_second_ns ? wait_ns : cached_second_ns;
}

void cached_renew(cached *c, const site *s, skua_worker *worker, int64_t opened_ns, watches *taken,
                  uint64_t changes)
{
    watches_close(&c->watches, s);
    c->watches = *taken;
    taken->count = 0;
    c->changes = changes;
    c->seen_ns = opened_ns;
    c->fresh_until_ns = opened_ns + cached_fresh_ns(c, skua_worker_unix_ns(worker));
}

bool cached_stretch(cached *c, int64_t now_ns)
{
    int64_t end_ns = c->seen_ns + cached_stale_ns;
    if (now_ns >= end_ns) return false;
    c->changes = watches_changes(&c->watches);
    c->fresh_until_ns = now_ns + cached_second_ns < end_ns ? now_ns + cached_second_ns : end_ns;
    return true;
}
