// SPDX-License-Identifier: MIT
//
// TLS as a transport. Handshakes are OpenSSL's. After one of TLS 1.3 the records are ours, and the
// SSL object is freed: a connection keeps its keys alone. Others keep their SSL object.

#include "net/tls.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "net/tls_batch.h"
#include "net/tls_cursor.h"
#include "net/tls_facts.h"
#include "net/tls_handshake.h"
#include "net/tls_protection.h"
#include "net/tls_reader.h"

#include <openssl/err.h>
#include <string.h>

// A record of ours lies in one block. So many pieces of a queue go into one.
enum { TLS_OWN_PLAIN_MAX = BLOCK_OCTETS - TLS_AROUND_OCTETS, TLS_PIECES_MAX = 16 };

typedef enum tls_stage {
    TLS_SHAKES_HANDS,
    TLS_IS_OPEN,
    TLS_IS_BROKEN // nothing can be read or protected any more
} tls_stage;

// Octets that came while the handshake waited for its next step, and how many have been used.
typedef struct tls_kept {
    uint32_t len, used;
    char octets[];
} tls_kept;

// An idle connection is little else, so what is needed only while something is under way is in what
// it points to.
typedef struct tls {
    transport base; // first
    tls_worker *worker;
    tls_handshake *handshake; // NULL: complete
    tls_flight *flight;       // NULL: at rest
    tls_kept *kept;           // NULL: none
    uint32_t on_wire;         // octets of the session's queue that the wire holds
    uint16_t counted;         // octets of OpenSSL's, as they are taken to be
    uint8_t stage;            // tls_stage
    bool by_openssl;          // the records are OpenSSL's
    bool has_ended;           // close_notify was put on the wire
    bool peer_ended;          // close_notify came
    uint8_t fresh;            // the last flight's, in small records
    uint32_t flown;           // when it was given back, in units of TLS_REST_UNIT_BITS
    tls_reader reader;
    union { // when the handshake is complete
        tls_protection protection;
        tls_pipe pipe; // by_openssl
    };
} tls;

_Static_assert(sizeof(tls) <= 424, "an idle connection costs at most 640 octets");

// The host that its peer has come for is where they begin. NULL: the handshake is not complete.
static tls_facts *tls_facts_of(const tls *t)
{
    return (tls_facts *)(void *)t->base.host;
}

static tls *tls_of(transport *t)
{
    return (tls *)(void *)t;
}

static uint32_t tls_rest_units(const tls *t)
{
    return (uint32_t)((uint64_t)t->worker->loop->now_ns >> TLS_REST_UNIT_BITS);
}

static bool tls_take_flight(tls *t)
{
    if (t->flight) return true;
    t->flight = tls_worker_take_flight(t->worker);
    if (!t->flight) return false;
    out_init(&t->base.wire, t->worker->blocks, t->flight->segments, TLS_SEGMENTS);
    bool rested = tls_rest_units(t) - t->flown > 1;
    t->flight->fresh = rested ? 0 : (uint32_t)t->fresh * TLS_SMALL_RECORD_OCTETS;
    return true;
}

static void tls_give_flight(tls *t)
{
    if (!t->flight) return;
    out_deinit(&t->base.wire);
    const uint32_t most = TLS_SMALL_RECORDS_OCTETS / TLS_SMALL_RECORD_OCTETS + 1;
    uint32_t fresh = t->flight->fresh / TLS_SMALL_RECORD_OCTETS;
    t->fresh = (uint8_t)(fresh < most ? fresh : most);
    t->flown = tls_rest_units(t);
    tls_worker_give_flight(t->worker, t->flight);
    t->flight = NULL;
}

static void tls_count_openssl(tls *t, uint16_t octets)
{
    lease_add(t->worker->memory, octets);
    lease_drop(t->worker->memory, t->counted);
    t->counted = octets;
}

static transport_news tls_broken(tls *t)
{
    t->stage = TLS_IS_BROKEN;
    return TRANSPORT_FAILED;
}

// ---- Octets that were kept ----

static void tls_forget_kept(tls *t)
{
    counted_free(t->kept);
    t->kept = NULL;
}

// Keeps octets until the next turn. Nothing more is received meanwhile.
static transport_news tls_keep(tls *t, transport_input *input)
{
    if (input->len) {
        uint32_t before = t->kept ? t->kept->len : 0;
        size_t octets = sizeof *t->kept + before + input->len;
        tls_kept *grown = counted_resize(t->worker->memory, t->kept, octets);
        if (!grown) return tls_broken(t);
        if (!t->kept) grown->used = 0;
        memcpy(grown->octets + before, input->octets, input->len);
        grown->len = before + (uint32_t)input->len;
        t->kept = grown;
        input->len = 0;
    }
    io_recv_stop(t->base.stream);
    io_kick_later(t->worker->loop, t->base.stream);
    return TRANSPORT_NEEDS_MORE;
}

static bool tls_kept_is_used(const tls *t)
{
    return t->kept && t->kept->used == t->kept->len;
}

// The octets to go on with: those that were kept, then those that came.
static transport_input tls_input(tls *t, const transport_input *input)
{
    if (tls_kept_is_used(t)) tls_forget_kept(t);
    tls_kept *kept = t->kept;
    if (!kept) return *input;
    return (transport_input){ .octets = kept->octets + kept->used, .len = kept->len - kept->used };
}

// left: what was not used of them.
static void tls_used(tls *t, transport_input *input, transport_input left)
{
    if (t->kept) t->kept->used = t->kept->len - (uint32_t)left.len;
    else *input = left;
}

// ---- Handshake ----

static void tls_close_handshake(tls *t)
{
    if (t->handshake) tls_handshake_close(t->handshake);
    counted_free(t->handshake);
    t->handshake = NULL;
}

// Whether the records of what was agreed on can be ours.
static bool tls_can_take_over(const tls *t, tls_suite *suite)
{
    const tls_handshake *h = t->handshake;
    const SSL *ssl = h->pipe.ssl;
    if (h->choice.acceptor->context->records_by_openssl || SSL_version(ssl) != TLS1_3_VERSION ||
        !h->pipe.counts)
        return false;
    return tls_suite_of(SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl)), suite) &&
           tls_contexts_have(&t->worker->contexts, *suite) &&
           h->secret_len == tls_suite_secret_octets(*suite) && !SSL_has_pending(ssl);
}

// The SSL object stays, and all else of the handshake is freed.
static transport_news tls_leave_to_openssl(tls *t)
{
    t->by_openssl = true;
    tls_pipe_move(&t->handshake->pipe, &t->pipe);
    tls_close_handshake(t);
    tls_count_openssl(t, TLS_OPENSSL_OCTETS);
    return TRANSPORT_OPENED;
}

static transport_news tls_take_over(tls *t)
{
    tls_handshake *h = t->handshake;
    tls_pipe *pipe = &h->pipe;
    tls_suite suite;
    if (!tls_can_take_over(t, &suite) || !tls_library_finish(pipe->ssl, &pipe->sent.records))
        return tls_leave_to_openssl(t);
    if (!tls_protection_init(&t->protection, &t->worker->contexts, suite, h->client_secret,
                             h->server_secret, pipe->sent.records,
                             tls_library_plain_max(pipe->ssl)))
        return tls_broken(t);
    tls_close_handshake(t);
    tls_count_openssl(t, 0);
    return TRANSPORT_OPENED;
}

static transport_news tls_shake_hands(tls *t, transport_input *input, slice *plain)
{
    if (!tls_take_flight(t)) return tls_broken(t);
    transport_input from = tls_input(t, input);
    const char *at = from.octets;
    tls_step step = tls_handshake_step(t->handshake, &at, &from.len);
    from.octets += at - from.octets;
    tls_used(t, input, from);
    switch (step) {
    case TLS_STEP_MORE: return TRANSPORT_NEEDS_MORE;
    case TLS_STEP_IS_HTTP: *plain = slice_make(from.octets, from.len); return TRANSPORT_IS_PLAIN;
    case TLS_STEP_FAILED: return tls_broken(t);
    case TLS_STEP_DONE: break;
    }
    tls_facts *facts =
        tls_facts_new(t->worker->memory, t->handshake->pipe.ssl, &t->handshake->choice);
    if (!facts) return tls_broken(t);
    t->base.host = &tls_facts_share(facts, &t->worker->recent_facts)->server_name;
    t->stage = TLS_IS_OPEN;
    return tls_take_over(t);
}

// A step costs as much as a hundred requests, so only some are taken in a turn.
static transport_news tls_shake_hands_in_turn(tls *t, transport_input *input, slice *plain)
{
    if (input->len == 0 && !t->kept) return TRANSPORT_NEEDS_MORE;
    if ((input->len && t->kept) || !tls_worker_steps(t->worker)) return tls_keep(t, input);
    io_recv(t->worker->loop, t->base.stream);
    return tls_shake_hands(t, input, plain);
}

// ---- Reading ----

static transport_news tls_read_openssl(tls *t, transport_input *from, slice *plain)
{
    tls_pipe *pipe = &t->pipe;
    size_t n = 0;
    if (!tls_take_flight(t)) return tls_broken(t); // reading may have to send
    tls_pipe_lend(pipe, from->octets, from->len);
    ERR_clear_error();
    int result = SSL_read_ex(pipe->ssl, t->worker->plain, sizeof t->worker->plain, &n);
    int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(pipe->ssl, result);
    ERR_clear_error();
    size_t used = from->len - pipe->in_len;
    if (used) from->octets += used; // there may be no octets at all
    from->len -= used;
    tls_pipe_lend(pipe, NULL, 0);
    if (pipe->no_memory) return tls_broken(t);
    *plain = slice_make(t->worker->plain, n);
    if (error == SSL_ERROR_NONE) return TRANSPORT_OCTETS;
    if (error == SSL_ERROR_WANT_READ) return TRANSPORT_NEEDS_MORE;
    return error == SSL_ERROR_ZERO_RETURN ? TRANSPORT_ENDED : tls_broken(t);
}

static bool tls_put_alert(tls *t, tls_alert alert)
{
    if (!tls_take_flight(t)) return false;
    char *record = out_reserve(&t->base.wire, TLS_ALERT_RECORD_OCTETS, NULL);
    size_t octets = record ? tls_seal_alert(&t->protection, alert, record) : 0;
    if (octets) out_commit(&t->base.wire, octets);
    return octets > 0;
}

// Most that comes is one record.
static transport_news tls_read_own(tls *t, transport_input *from, slice *plain)
{
    if (from->len == 0) return TRANSPORT_NEEDS_MORE;
    switch (tls_reader_next(&t->reader, &t->protection, &from->octets, &from->len, plain)) {
    case TLS_READ_MORE: return TRANSPORT_NEEDS_MORE;
    case TLS_READ_DATA:
        return from->len || t->kept || t->reader.is_lent ? TRANSPORT_OCTETS : TRANSPORT_LAST;
    case TLS_READ_CLOSED: return TRANSPORT_ENDED;
    case TLS_READ_ALERTED: break;
    case TLS_READ_FAULTY:
    case TLS_READ_NO_MEMORY: (void)tls_put_alert(t, (tls_alert)t->reader.alert); break;
    }
    return tls_broken(t);
}

static transport_news tls_read_records(tls *t, transport_input *input, slice *plain)
{
    for (;;) {
        transport_input from = tls_input(t, input);
        bool kept = t->kept != NULL;
        transport_news news =
            t->by_openssl ? tls_read_openssl(t, &from, plain) : tls_read_own(t, &from, plain);
        tls_used(t, input, from);
        if (news == TRANSPORT_ENDED) t->peer_ended = true;
        if (news != TRANSPORT_NEEDS_MORE || !kept) return news;
    }
}

static transport_news tls_read_some(transport *base, transport_input *input, slice *plain)
{
    tls *t = tls_of(base);
    switch ((tls_stage)t->stage) {
    case TLS_SHAKES_HANDS: return tls_shake_hands_in_turn(t, input, plain);
    case TLS_IS_OPEN:
        if (t->peer_ended) return TRANSPORT_NEEDS_MORE;
        return tls_read_records(t, input, plain);
    case TLS_IS_BROKEN: break;
    }
    return TRANSPORT_FAILED;
}

// ---- Sending ----

static transport_filled tls_put_openssl(tls *t, tls_cursor *from, size_t room)
{
    size_t written = 0;
    struct iovec staged = { .iov_base = t->worker->staged, .iov_len = room };
    ssize_t n = tls_cursor_copy(from, t->worker->loop, t->base.stream, t->flight, &staged, 1);
    if (n <= 0) return n < 0 ? TRANSPORT_NO_FILE : TRANSPORT_FILLED;
    ERR_clear_error();
    bool done = SSL_write_ex(t->pipe.ssl, t->worker->staged, (size_t)n, &written) == 1;
    ERR_clear_error();
    t->on_wire += (uint32_t)n;
    return done && written == (size_t)n ? TRANSPORT_FILLED : TRANSPORT_NO_MEMORY;
}

static bool tls_put_update(tls *t)
{
    char *record = out_reserve(&t->base.wire, TLS_UPDATE_RECORD_OCTETS, NULL);
    size_t octets = record ? tls_seal_update(&t->protection, record) : 0;
    if (octets) out_commit(&t->base.wire, octets);
    return octets > 0;
}

static transport_filled tls_put_record(tls *t, const slice *pieces, size_t count, char *record)
{
    size_t octets = tls_seal(&t->protection, TLS_CONTENT_APPLICATION, pieces, count, record);
    if (octets == 0) return TRANSPORT_NO_MEMORY;
    out_commit(&t->base.wire, octets);
    t->on_wire += (uint32_t)(octets - TLS_AROUND_OCTETS);
    return TRANSPORT_FILLED;
}

// The content of a record that comes behind so many fresh octets, where left octets are to be sent.
static size_t tls_record_room(const tls *t, uint32_t fresh, uint64_t left)
{
    size_t room = t->by_openssl ? sizeof t->worker->staged : TLS_OWN_PLAIN_MAX;
    if (fresh < TLS_SMALL_RECORDS_OCTETS) room = TLS_SMALL_RECORD_OCTETS;
    if (!t->by_openssl && room > t->protection.plain_max) room = t->protection.plain_max;
    return left < room ? (size_t)left : room;
}

static void tls_lay_out(const tls *t, uint64_t left, tls_batch *batch)
{
    uint64_t records = tls_protection_records_left(&t->protection);
    uint32_t fresh = t->flight->fresh, room = TLS_FLIGHT_OCTETS - t->on_wire;
    for (uint32_t octets = 0; octets < room && octets < left && batch->count < records;) {
        size_t len = tls_record_room(t, fresh, left - octets);
        if (!tls_batch_add(batch, len)) return;
        octets += (uint32_t)len;
        fresh += (uint32_t)len;
    }
}

static transport_filled tls_put_batch(tls *t, tls_cursor *from, tls_batch *batch)
{
    if (batch->count == 0) return TRANSPORT_NO_MEMORY;
    ssize_t n = tls_cursor_copy(from, t->worker->loop, t->base.stream, t->flight, batch->contents,
                                batch->count);
    if (n <= 0) return n < 0 ? TRANSPORT_NO_FILE : TRANSPORT_FILLED;
    if (!tls_batch_seal(batch, &t->protection, (size_t)n, &t->base.wire))
        return TRANSPORT_NO_MEMORY;
    t->on_wire += (uint32_t)n;
    return TRANSPORT_FILLED;
}

// A file, and what comes before it, is read to where it is sealed, a whole flight at once.
static transport_filled tls_put_file(tls *t, tls_cursor *from)
{
    tls_batch batch;
    tls_batch_init(&batch, t->worker->blocks, out_segments_left(&t->base.wire));
    tls_lay_out(t, from->queue->octets - t->on_wire, &batch);
    transport_filled filled = tls_put_batch(t, from, &batch);
    tls_batch_deinit(&batch);
    return filled;
}

static transport_filled tls_put_own(tls *t, tls_cursor *from, size_t room)
{
    slice pieces[TLS_PIECES_MAX];
    size_t octets;
    if (tls_protection_owes_update(&t->protection) && !tls_put_update(t))
        return TRANSPORT_NO_MEMORY;
    size_t count = tls_cursor_pieces(from, room, pieces, TLS_PIECES_MAX, &octets);
    if (octets < room && tls_cursor_is_at_file(from, octets)) return tls_put_file(t, from);
    char *record = out_reserve(&t->base.wire, octets + TLS_AROUND_OCTETS, NULL);
    if (!record) return TRANSPORT_NO_MEMORY;
    tls_cursor_skip(from, octets);
    return tls_put_record(t, pieces, count, record);
}

static transport_filled tls_fill_from(tls *t, out_queue *plain)
{
    tls_cursor from = { .queue = plain };
    while (t->on_wire < TLS_FLIGHT_OCTETS && t->on_wire < plain->octets) {
        uint32_t before = t->on_wire;
        if (out_is_full(&t->base.wire)) break;
        size_t room = tls_record_room(t, t->flight->fresh, plain->octets - before);
        transport_filled filled =
            t->by_openssl ? tls_put_openssl(t, &from, room) : tls_put_own(t, &from, room);
        if (filled != TRANSPORT_FILLED) return filled;
        if (t->on_wire == before) break; // a file is being loaded
        if (t->flight->fresh < TLS_SMALL_RECORDS_OCTETS) t->flight->fresh += t->on_wire - before;
    }
    return TRANSPORT_FILLED;
}

// ---- Sending what is short ----

// Content that is one piece of memory, and fits in a record, however small that has to be.
static bool tls_is_short(const tls *t, out_queue *plain)
{
    return plain->count == 1 && plain->octets <= TLS_SMALL_RECORD_OCTETS && !t->by_openssl &&
           plain->octets <= t->protection.plain_max && out_segment_at(plain, 0)->kind != OUT_FILE &&
           !tls_protection_owes_update(&t->protection);
}

// Counts octets that leave without a flight, or with the one that there is.
static void tls_count_fresh(tls *t, uint32_t octets)
{
    if (t->flight) {
        if (t->flight->fresh < TLS_SMALL_RECORDS_OCTETS) t->flight->fresh += octets;
        return;
    }
    uint32_t now = tls_rest_units(t);
    if (now - t->flown > 1) t->fresh = 0;
    t->flown = now;
}

// Returns: false when memory ran out.
static bool tls_keep_rest(tls *t, const char *record, size_t octets, uint64_t sent)
{
    return tls_take_flight(t) && out_copy(&t->base.wire, slice_make(record + sent, octets - sent));
}

// A record that the kernel takes at once, as nearly all, needs no queue. What it does not take is put there.
static transport_filled tls_send_short(transport *base, out_queue *plain, uint64_t *sent)
{
    tls *t = tls_of(base);
    bool is_busy = base->wire.octets || t->on_wire || t->has_ended || t->stage != TLS_IS_OPEN;
    if (is_busy || !tls_is_short(t, plain)) return TRANSPORT_NOT_SHORT;
    const out_segment *only = out_segment_at(plain, 0);
    slice piece = slice_make(only->ptr, (size_t)only->len);
    char *record = t->worker->staged;
    size_t octets = tls_seal(&t->protection, TLS_CONTENT_APPLICATION, &piece, 1, record);
    if (octets == 0) return TRANSPORT_NO_MEMORY;
    tls_count_fresh(t, (uint32_t)piece.len);
    *sent = io_send_now(t->worker->loop, base->stream, record, octets);
    if (*sent == octets) return TRANSPORT_FILLED;
    if (!tls_keep_rest(t, record, octets, *sent)) return TRANSPORT_NO_MEMORY;
    t->on_wire = (uint32_t)piece.len;
    return TRANSPORT_FILLED;
}

static transport_filled tls_put_short(tls *t, out_queue *plain)
{
    const out_segment *only = out_segment_at(plain, 0);
    slice piece = slice_make(only->ptr, (size_t)only->len);
    char *record = out_append(&t->base.wire, piece.len + TLS_AROUND_OCTETS);
    if (!record || tls_seal(&t->protection, TLS_CONTENT_APPLICATION, &piece, 1, record) == 0)
        return TRANSPORT_NO_MEMORY;
    tls_count_fresh(t, (uint32_t)piece.len);
    t->on_wire = (uint32_t)piece.len;
    return TRANSPORT_FILLED;
}

// ---- The end ----

static void tls_end(tls *t)
{
    t->has_ended = true;
    if (!t->by_openssl) {
        (void)tls_put_alert(t, TLS_ALERT_CLOSE_NOTIFY);
        return;
    }
    ERR_clear_error();
    (void)SSL_shutdown(t->pipe.ssl);
    ERR_clear_error();
}

static transport_filled tls_fill(transport *base, out_queue *plain, bool ends)
{
    tls *t = tls_of(base);
    bool has_octets = plain && plain->octets;
    if (t->stage != TLS_IS_OPEN || (!has_octets && !ends)) return TRANSPORT_FILLED;
    bool waits = t->on_wire && base->wire.octets; // a ticket alone may go with what follows it
    if (waits || t->has_ended || (base->stream->flags & IO_COLD)) return TRANSPORT_FILLED;
    if (!tls_take_flight(t)) return TRANSPORT_NO_MEMORY;
    transport_filled filled = TRANSPORT_FILLED;
    if (has_octets && t->on_wire == 0 && !out_is_full(&base->wire) && tls_is_short(t, plain))
        filled = tls_put_short(t, plain);
    else if (has_octets) filled = tls_fill_from(t, plain);
    if (filled == TRANSPORT_FILLED && ends && (!has_octets || t->on_wire == plain->octets))
        tls_end(t);
    return filled;
}

// A record is longer than its content: so much of that is left at most as there is on the wire.
static uint64_t tls_left(transport *base)
{
    tls *t = tls_of(base);
    uint64_t stays = base->wire.octets < t->on_wire ? base->wire.octets : t->on_wire;
    uint64_t left = t->on_wire - stays;
    t->on_wire = (uint32_t)stays;
    return left;
}

// A handshake that is not complete, or has failed, has no end of its own.
static bool tls_has_ended(const transport *base)
{
    const tls *t = (const tls *)(const void *)base;
    return t->has_ended || t->stage != TLS_IS_OPEN;
}

// ---- Life ----

static void tls_rest(transport *base)
{
    tls *t = tls_of(base);
    tls_reader_rest(&t->reader);
    if (tls_kept_is_used(t)) tls_forget_kept(t);
    if (base->wire.octets) return;
    tls_give_flight(t);
}

static void tls_give(transport *base)
{
    tls *t = tls_of(base);
    tls_give_flight(t);
    tls_count_openssl(t, 0);
    tls_forget_kept(t);
    tls_reader_deinit(&t->reader);
    if (t->by_openssl) tls_pipe_close(&t->pipe);
    else if (!t->handshake) tls_protection_wipe(&t->protection);
    tls_close_handshake(t);
    tls_facts_unref(tls_facts_of(t));
    counted_free(t);
}

static bool tls_info(const transport *base, skua_tls_info *info)
{
    const tls *t = (const tls *)(const void *)base;
    const tls_facts *facts = tls_facts_of(t);
    if (facts) *info = tls_facts_info(facts);
    return facts != NULL;
}

static bool tls_misdirects(const transport *base, slice host)
{
    const tls *t = (const tls *)(const void *)base;
    const tls_facts *facts = tls_facts_of(t);
    return facts && tls_facts_misdirect(facts, host);
}

static size_t tls_held_octets(const transport *base)
{
    const tls *t = (const tls *)(const void *)base;
    size_t handshake = t->handshake ? sizeof *t->handshake : 0;
    size_t kept = t->kept ? sizeof *t->kept + t->kept->len : 0;
    return sizeof *t + handshake + t->counted + kept + tls_reader_octets(&t->reader);
}

static const transport_table tls_table = {
    .read = tls_read_some,
    .fill = tls_fill,
    .send_short = tls_send_short,
    .left = tls_left,
    .has_ended = tls_has_ended,
    .rest = tls_rest,
    .give = tls_give,
    .info = tls_info,
    .misdirects = tls_misdirects,
    .octets = tls_held_octets,
};

transport *tls_accept(tls_worker *w, tls_acceptor *acceptor)
{
    tls *t = counted_zeroed(w->memory, sizeof *t);
    tls_handshake *handshake = t ? counted_alloc(w->memory, sizeof *handshake) : NULL;
    if (!handshake || !tls_handshake_open(handshake, acceptor, &t->base.wire)) {
        counted_free(handshake);
        counted_free(t);
        return NULL;
    }
    t->base.table = &tls_table;
    t->worker = w;
    t->handshake = handshake;
    tls_count_openssl(t, TLS_HANDSHAKE_OCTETS);
    tls_reader_init(&t->reader);
    return &t->base;
}

#endif
