// SPDX-License-Identifier: MIT
//
// Compression of responses: a filter that the library brings along. Whether a response is compressed is
// decided when its head is known, by its fields, and by what the client takes.

#include "coding/encoder.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "exchange/request.h"
#include "exchange/worker.h"
#include "http/coding.h"
#include "http/compressible.h"
#include "http/syntax.h"

#include <stdio.h>

enum {
    COMPRESS_LINES_MAX = 8 // of Accept-Encoding that are read
};

typedef struct compress_rule {
    size_t octets_min;
    bool off;
    char *types; // NULL: the usual ones
} compress_rule;

static const compress_rule compress_usual = { .octets_min = COMPRESSIBLE_OCTETS_MIN };

// Those that are built in, the one that is best for content made at once first.
static const content_coding compress_order[] = {
#ifdef SKUA_ZSTD
    CODING_ZSTD,
#endif
#ifdef SKUA_BROTLI
    CODING_BROTLI,
#endif
#ifdef SKUA_ZLIB
    CODING_GZIP,
#endif
    CODING_IDENTITY
};

enum { COMPRESS_CODINGS = sizeof compress_order / sizeof compress_order[0] - 1 };

// ---- The state ----

// The encoder is opened when there is content: a response to HEAD needs none.
typedef struct compressing {
    const encoder_table *table;
    lease *memory;
    void *encoder;
} compressing;

static skua_filtered compress_run(void *state, slice *content, skua_flush flush, char *out,
                                  size_t room, size_t *octets)
{
    compressing *c = state;
    if (!c->encoder) c->encoder = c->table->open(c->memory, SKUA_EFFORT_STREAM, 0);
    if (!c->encoder) return SKUA_FILTER_FAILED;
    return c->table->run(c->encoder, content, flush, out, room, octets);
}

static void compress_end(void *state)
{
    compressing *c = state;
    if (c->encoder) c->table->close(c->encoder);
}

// ---- Whether it gains ----

static bool compress_has_member(slice list, const char *name)
{
    slice member;
    while (syntax_list_next(&list, &member)) {
        if (slice_equal_nocase(member, slice_of(name))) return true;
    }
    return false;
}

// A response that is coded or a part already, that must not be changed, or whose octets are vouched for
// by a field, stays as it is.
static bool compress_may_change(const skua_request *r, int status)
{
    static const char *const fields[] = { "content-encoding", "content-range", "content-digest",
                                          "repr-digest",      "digest",        "content-md5" };
    if (status == 206 || response_is_bare(status)) return false;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (skua_response_field(r, fields[i]).ptr) return false;
    }
    return !compress_has_member(skua_response_field(r, "cache-control"), "no-transform");
}

// ---- What the client takes ----

static content_coding compress_choose(const skua_request *r)
{
    slice lines[COMPRESS_LINES_MAX];
    size_t count = 0, index = 0;
    while (count < COMPRESS_LINES_MAX &&
           skua_request_field_next(r, "accept-encoding", &index, &lines[count]))
        count++;
    coding_wishes wishes = coding_read(lines, count);
    return coding_choose(&wishes, compress_order, COMPRESS_CODINGS);
}

// A cache that keeps the response must know that another client may get another one, RFC 9110 §12.5.5.
static void compress_vary(skua_request *r)
{
    slice vary = skua_response_field(r, "vary");
    if (compress_has_member(vary, "accept-encoding") || compress_has_member(vary, "*")) return;
    (void)skua_field_add(r, "Vary", SKUA_SLICE("Accept-Encoding"));
}

// A 304 has no type to judge by, so each says that its response varies.
static void *compress_begin(skua_request *r, int status, void *user)
{
    const compress_rule *rule = user;
    if (r->stays_plain) return NULL;
    if (status == 304) compress_vary(r);
    if (!compress_may_change(r, status) ||
        !compressible_type(skua_response_field(r, "content-type"), rule->types))
        return NULL;
    compress_vary(r);
    int64_t length = skua_response_length(r);
    if (length >= 0 && (uint64_t)length < rule->octets_min) return NULL;
    content_coding coding = compress_choose(r);
    // A client that refuses all gets the response as it is: its request has done what it does.
    if (coding == CODING_IDENTITY || coding == CODING_COUNT) return NULL;
    compressing *c = skua_request_alloc(r, sizeof *c);
    if (!c) return NULL;
    *c = (compressing){ .table = encoder_of(coding), .memory = &r->worker->memory };
    (void)skua_field_add(r, "Content-Encoding", coding_name(coding));
    return c;
}

static skua_status compress_by(skua_request *r, const compress_rule *rule)
{
    // The filter is copied, and its rule is only read.
    union {
        const compress_rule *rule;
        void *user;
    } handed = { .rule = rule };
    return skua_filter_add(r, &(skua_filter){ .begin = compress_begin,
                                              .run = compress_run,
                                              .end = compress_end,
                                              .user = handed.user });
}

bool skua_compress_gains(skua_slice type)
{
    CONTRACT_SLICE(type);
    return compressible_type(type, NULL);
}

void skua_compress_off(skua_request *r)
{
    request_expect(r, __func__);
    r->stays_plain = true;
}

bool skua_compress_is_off(const skua_request *r)
{
    request_expect(r, __func__);
    return r->stays_plain;
}

skua_status skua_compress(skua_request *r)
{
    request_expect(r, __func__);
    if (!COMPRESS_CODINGS) return SKUA_EUNSUPPORTED;
    return compress_by(r, &compress_usual);
}

// ---- Middleware ----

static const char compress_key; // of requests whose rule has been found

// Heads are told in reverse, so that the rule that was added last comes first, and the others find that
// it has.
static void compress_head(skua_request *r, int status, void *user)
{
    (void)status;
    const compress_rule *rule = user;
    if (skua_request_get(r, &compress_key)) return;
    if (skua_request_set(r, &compress_key, user)) return;
    if (!rule->off) (void)compress_by(r, rule);
}

static void compress_free(void *user)
{
    compress_rule *rule = user;
    memory_free(rule->types);
    memory_free(rule);
}

skua_status skua_use_compression_sized(skua_server *server, const char *prefix,
                                       const skua_compression *compression, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(prefix);
    CONTRACT_SIZES(sizes);
    skua_compression own = { 0 };
    compression = compression ? SIZED_GIVEN(compression, sizes->compression, &own) : &own;
    if (!COMPRESS_CODINGS) {
        skua_server_set_error(server, "compression: neither zlib nor brotli nor zstd is built in");
        return SKUA_EUNSUPPORTED;
    }
    compress_rule *rule = memory_zeroed(sizeof *rule);
    if (!rule) return SKUA_ENOMEM;
    rule->octets_min = compression->octets_min ? compression->octets_min : COMPRESSIBLE_OCTETS_MIN;
    rule->off = compression->off;
    rule->types = compression->types ? memory_text(compression->types) : NULL;
    bool lacks = compression->types && !rule->types;
    skua_status status = lacks ? SKUA_ENOMEM : skua_server_on_free(server, compress_free, rule);
    if (status) {
        compress_free(rule);
        return status;
    }
    return skua_use(server, prefix, &(skua_middleware){ .head = compress_head, .user = rule });
}
