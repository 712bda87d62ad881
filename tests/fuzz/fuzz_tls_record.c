// SPDX-License-Identifier: MIT
//
// The reader of TLS records. However the wire is cut, the same data, end or alert comes of it, and the
// same keys are left.
// Input: an octet for the suite and the limit of a record, two that choose the split, then the script
// of a client. Each of its steps is an octet that says what, one with a length, and so many octets:
// content to be sealed, octets for the wire as they are, or what the last record's is changed by.

#include "net/tls_reader.h"

#include "support/tls.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

enum { WIRE_OCTETS_MAX = 1 << 20, KINDS = 8 };

typedef enum step_kind {
    STEP_DATA,
    STEP_PADDED,
    STEP_ALERT,
    STEP_MESSAGE,
    STEP_UPDATE,
    STEP_LONG,
    STEP_RAW,
    STEP_CHANGE
} step_kind;

typedef struct reading {
    tls_protection protection;
    tls_reader reader;
    char *data; // room for as many octets as the wire has
    size_t data_len;
    unsigned closed;
    tls_read last;
} reading;

typedef struct script {
    tls_protection *client;
    char *wire;
    size_t wire_len, last; // last: where the last record begins
} script;

static tls_contexts contexts;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

// ---- The wire ----

static void seal(script *s, uint8_t type, slice content)
{
    s->last = s->wire_len;
    s->wire_len += tls_seal(s->client, (tls_content)type, &content, 1, s->wire + s->wire_len);
    require(s->wire_len > s->last);
}

// The content is repeated to be as long as its first two octets say.
static void seal_long(script *s, slice content)
{
    static char text[TLS_SEALED_OCTETS_MAX];
    if (content.len < 2) return;
    size_t len = (size_t)(uint8_t)content.ptr[0] << 8 | (uint8_t)content.ptr[1];
    len %= TLS_SEALED_OCTETS_MAX - TLS_TAG_OCTETS;
    for (size_t i = 0; i < len; i++)
        text[i] = content.ptr[i % content.len];
    seal(s, TLS_CONTENT_APPLICATION, slice_make(text, len));
}

// The content's first octet is the type, and the second how much padding follows.
static void seal_padded(script *s, slice content)
{
    char text[256 + 256] = { 0 };
    if (content.len < 2) return;
    size_t padding = (uint8_t)content.ptr[1];
    memcpy(text, content.ptr + 2, content.len - 2);
    text[content.len - 2] = content.ptr[0];
    seal(s, 0, slice_make(text, content.len - 1 + padding));
}

static void change(script *s, slice by)
{
    for (size_t i = 0; i < by.len && s->last + i < s->wire_len; i++)
        s->wire[s->last + i] ^= by.ptr[i];
}

static void play_step(script *s, step_kind kind, slice content)
{
    switch (kind) {
    case STEP_DATA: seal(s, TLS_CONTENT_APPLICATION, content); break;
    case STEP_PADDED: seal_padded(s, content); break;
    case STEP_ALERT: seal(s, TLS_CONTENT_ALERT, content); break;
    case STEP_MESSAGE: seal(s, TLS_CONTENT_HANDSHAKE, content); break;
    case STEP_UPDATE:
        s->last = s->wire_len;
        s->wire_len += tls_seal_update(s->client, s->wire + s->wire_len);
        break;
    case STEP_LONG: seal_long(s, content); break;
    case STEP_RAW:
        memcpy(s->wire + s->wire_len, content.ptr, content.len);
        s->wire_len += content.len;
        break;
    case STEP_CHANGE: change(s, content); break;
    }
}

static void play(script *s, slice text)
{
    while (text.len >= 2 && s->wire_len < WIRE_OCTETS_MAX - 2 * TLS_SEALED_OCTETS_MAX) {
        size_t len = (uint8_t)text.ptr[1];
        uint8_t kind = (uint8_t)text.ptr[0] % KINDS;
        text = slice_from(text, 2);
        if (len > text.len) len = text.len;
        play_step(s, (step_kind)kind, slice_make(text.ptr, len));
        text = slice_from(text, len);
    }
}

// ---- Reading ----

static void reading_begin(reading *r, const tls_protection *fresh, size_t room)
{
    *r = (reading){ .protection = *fresh, .data = malloc(room + 1) };
    tls_reader_init(&r->reader);
    require(r->data != NULL);
}

static void reading_end(reading *r)
{
    tls_reader_deinit(&r->reader);
    tls_protection_wipe(&r->protection);
    free(r->data);
}

static bool is_final(tls_read read)
{
    return read == TLS_READ_FAULTY || read == TLS_READ_ALERTED;
}

// The octets are copied, because the reader writes over them.
static void feed(reading *r, const char *wire, size_t len)
{
    char *lent = malloc(len + 1), *octets = lent;
    slice plain;
    require(lent != NULL);
    memcpy(lent, wire, len);
    while (!is_final(r->last)) {
        r->last = tls_reader_next(&r->reader, &r->protection, &octets, &len, &plain);
        require(r->last != TLS_READ_NO_MEMORY);
        if (r->last == TLS_READ_MORE) break;
        r->closed += r->last == TLS_READ_CLOSED;
        if (r->last != TLS_READ_DATA) continue;
        require(plain.len > 0 && plain.len <= r->protection.plain_max && !r->closed);
        memcpy(r->data + r->data_len, plain.ptr, plain.len);
        r->data_len += plain.len;
    }
    require(is_final(r->last) || len == 0);
    tls_reader_rest(&r->reader);
    free(lent);
}

static void require_same(const reading *a, const reading *b)
{
    require(a->last == b->last && a->closed == b->closed && a->closed <= 1);
    require(a->reader.alert == b->reader.alert);
    require(a->data_len == b->data_len && memcmp(a->data, b->data, a->data_len) == 0);
    require(a->protection.owes_update == b->protection.owes_update);
    require(tls_reader_is_within(&a->reader) == tls_reader_is_within(&b->reader));
    require(memcmp(&a->protection.keys, &b->protection.keys, sizeof a->protection.keys) == 0);
}

static void read_in_every_way(const tls_protection *fresh, slice wire, size_t split)
{
    reading whole, halves, single;
    reading_begin(&whole, fresh, wire.len);
    feed(&whole, wire.ptr, wire.len);
    reading_begin(&halves, fresh, wire.len);
    feed(&halves, wire.ptr, split);
    feed(&halves, wire.ptr + split, wire.len - split);
    require_same(&whole, &halves);
    reading_begin(&single, fresh, wire.len);
    for (size_t i = 0; i < wire.len && wire.len < 4096; i++)
        feed(&single, wire.ptr + i, 1);
    if (wire.len < 4096) require_same(&whole, &single);
    reading_end(&single);
    reading_end(&halves);
    reading_end(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    static char wire[WIRE_OCTETS_MAX];
    tls_ends ends;
    if (len < 3) return 0;
    if (!contexts.pairs_max) require(tls_contexts_init(&contexts, NULL));
    contexts.pairs_max = 3;
    require(tls_ends_init(&ends, &contexts, &contexts, (tls_suite)(octets[0] % TLS_SUITES), 8));
    if (octets[0] & 0x80) ends.server.plain_max = 512;
    ends.client.plain_max = UINT16_MAX; // it may write what is too long
    script s = { .client = &ends.client, .wire = wire };
    play(&s, slice_make((const char *)octets + 3, len - 3));
    size_t split = ((size_t)octets[1] << 8 | octets[2]) % (s.wire_len + 1);
    read_in_every_way(&ends.server, slice_make(wire, s.wire_len), split);
    tls_ends_wipe(&ends);
    require(contexts.pairs == 0);
    return 0;
}
