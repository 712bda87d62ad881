// SPDX-License-Identifier: MIT
//
// Streams: content that the handler writes when it has some. Each write is framed where it is
// queued and taken whole or not at all; sending waits for the end of the turn, so that many small
// writes leave together.

#include "exchange/push.h"

#include "exchange/carrier.h"
#include "exchange/content.h"
#include "exchange/filter.h"
#include "exchange/prepared.h"
#include "exchange/recorder.h"
#include "exchange/request.h"
#include "exchange/respond.h"
#include "exchange/worker.h"

// ---- Room ----

static uint64_t stream_limit(const skua_request *r)
{
    return worker_config(r->worker)->out_octets_max;
}

static uint64_t stream_room(const skua_request *r)
{
    return r->carrier->table->room(r);
}

// The handler is told when this much room is there again: half of the limit, so that it writes more
// than drops.
static void stream_want(skua_request *r, uint64_t octets)
{
    uint64_t half = stream_limit(r) / 2;
    r->wanted = octets > half ? octets : half;
    if (r->wanted == 0) r->wanted = 1;
}

void stream_drain(skua_request *r)
{
    if (!r->wanted || r->carrier->broken || stream_room(r) < r->wanted) return;
    r->wanted = 0;
    if (r->drained) r->drained(r, r->drained_user);
}

uint64_t skua_write_room(const skua_request *r)
{
    if (!request_is_here(r)) {
        recorder *taken = recorder_of(r, __func__);
        return taken->table->room(taken);
    }
    if (r->responding != RESPONSE_PUSHED || r->push >= PUSH_TUNNEL_DONE || r->carrier->broken ||
        r->is_socket)
        return 0;
    return r->muted ? stream_limit(r) : stream_room(r);
}

// ---- Writing ----

// An event stream that nobody hears, the response to HEAD, is over before the handler knows.
static bool stream_is_dropped(const skua_request *r)
{
    return r->muted && r->life == LIFE_GOES_ON &&
           (r->responding == RESPONSE_PUSHED || r->push == PUSH_EVENTS);
}

// Nothing is sent, but the handler is not silent.
static skua_status stream_drop(const skua_request *r)
{
    if (r->responding == RESPONSE_PUSHED) r->carrier->dropped_ns = r->worker->loop.now_ns;
    return SKUA_OK;
}

static skua_status stream_check(const skua_request *r, uint64_t octets)
{
    if (r->responding != RESPONSE_PUSHED || r->push >= PUSH_TUNNEL_DONE || r->is_socket)
        return request_refusal(r);
    if (r->carrier->broken) return SKUA_ECLOSED;
    return r->pull_left >= 0 && octets > (uint64_t)r->pull_left ? SKUA_EINVAL : SKUA_OK;
}

static skua_status stream_refuse(skua_request *r, uint64_t octets)
{
    stream_want(r, octets);
    return SKUA_ELIMIT;
}

skua_status stream_reserve(skua_request *r, size_t len, stream_piece *piece)
{
    *piece = (stream_piece){ .len = len };
    if (stream_is_dropped(r)) return stream_drop(r);
    skua_status checked = stream_check(r, len);
    if (checked || len == 0) return checked; // a chunk of no octets would end the content
    if (len > stream_limit(r)) return SKUA_EINVAL;
    if (len > stream_room(r)) return stream_refuse(r, len);
    piece->lent = len > RESPONSE_COPY_MAX || filter_runs(r);
    piece->at = piece->lent ? counted_alloc(&r->worker->memory, len)
                            : r->carrier->table->reserve(r, len, NULL);
    return piece->at ? SKUA_OK : SKUA_ENOMEM;
}

static void stream_free(void *user)
{
    counted_free(user);
}

// Octets have been taken; the connection sends them at the end of the turn.
static void stream_taken(skua_request *r, uint64_t octets)
{
    SKUA_ASSERT(r->responding == RESPONSE_PUSHED);
    SKUA_ASSERT(r->pull_left < 0 || octets <= (uint64_t)r->pull_left);
    if (r->pull_left >= 0) r->pull_left -= (int64_t)octets;
    if (stream_room(r) < stream_limit(r) / 2) stream_want(r, 0);
    carrier_kick(r->carrier, r);
}

static void stream_queued(skua_request *r, uint64_t octets)
{
    r->sent_octets += octets;
    stream_taken(r, octets);
}

// Each piece is flushed: its handler cannot tell which is the last for a while.
static skua_status stream_filter(skua_request *r, slice octets)
{
    skua_status filtered = filter_push(r, octets, SKUA_FLUSH_NOW);
    if (filtered) carrier_kick(r->carrier, r);
    else stream_taken(r, octets.len);
    return filtered;
}

static skua_status stream_commit_filtered(skua_request *r, const stream_piece *piece)
{
    skua_status filtered = stream_filter(r, slice_make(piece->at, piece->len));
    counted_free(piece->at);
    return filtered;
}

// A long piece has memory of its own, which is lent to the queue.
skua_status stream_commit(skua_request *r, const stream_piece *piece)
{
    if (!piece->at) return SKUA_OK;
    if (filter_runs(r)) return stream_commit_filtered(r, piece);
    if (piece->lent) {
        response_source source = { .kind = SOURCE_LENT,
                                   .octets = slice_make(piece->at, piece->len),
                                   .length = (int64_t)piece->len,
                                   .release = stream_free,
                                   .user = piece->at };
        if (!r->carrier->table->lend(r, &source)) {
            counted_free(piece->at);
            return SKUA_ENOMEM;
        }
    } else {
        r->carrier->table->commit(r, piece->len);
    }
    stream_queued(r, piece->len);
    return SKUA_OK;
}

skua_status skua_write(skua_request *r, slice octets)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_SLICE(octets);
    if (taken) return taken->table->write(taken, octets);
    stream_piece piece;
    skua_status reserved = stream_reserve(r, octets.len, &piece);
    if (reserved || !piece.at) return reserved;
    memcpy(piece.at, octets.ptr, octets.len);
    return stream_commit(r, &piece);
}

static void stream_unref_file(void *user)
{
    skua_file_unref(user);
}

// Reads the file here, as no more than out_octets_max is taken.
static skua_status stream_filter_file(skua_request *r, skua_file *file, uint64_t offset,
                                      uint64_t length)
{
    stream_piece piece;
    skua_status reserved = stream_reserve(r, (size_t)length, &piece);
    if (reserved || !piece.at) return reserved;
    size_t octets = 0;
    skua_status read = skua_file_read(file, offset, piece.at, piece.len, &octets);
    if (!read && octets == piece.len) return stream_commit_filtered(r, &piece);
    counted_free(piece.at);
    return SKUA_EIO;
}

// A file's octets need no memory, so that any length is taken as soon as there is room at all.
skua_status skua_write_file(skua_request *r, skua_file *file, uint64_t offset, uint64_t length)
{
    request_expect(r, __func__);
    file_expect(file, __func__);
    if (length > INT64_MAX || offset > INT64_MAX - length) return SKUA_EINVAL;
    if (stream_is_dropped(r)) return stream_drop(r);
    skua_status checked = stream_check(r, length);
    if (checked || length == 0) return checked;
    if (filter_runs(r)) return stream_filter_file(r, file, offset, length);
    if (stream_room(r) == 0) return stream_refuse(r, 0);
    response_source source = { .kind = SOURCE_FILE,
                               .file = file->fd,
                               .offset = offset,
                               .length = (int64_t)length,
                               .release = stream_unref_file,
                               .user = skua_file_ref(file) };
    if (!r->carrier->table->lend(r, &source)) {
        skua_file_unref(file);
        return SKUA_ENOMEM;
    }
    stream_queued(r, length);
    return SKUA_OK;
}

// ---- Beginning and ending ----

skua_status stream_begin(skua_request *r, const char *function, int status, const char *type,
                         int64_t length, skua_drained_fn *drained, void *user)
{
    skua_status given = respond_push(r, function, status, type, length);
    if (given) return given;
    r->drained = drained;
    r->drained_user = user;
    return SKUA_OK;
}

skua_status skua_respond_stream(skua_request *r, int status, const char *type, int64_t length,
                                skua_drained_fn *drained, void *user)
{
    if (!request_is_here(r)) {
        recorder *taken = recorder_of(r, __func__);
        CONTRACT(!drained, "drained must be NULL in a blocking handler, where skua_write waits");
        return taken->table->begin(taken, __func__, status, type, length);
    }
    return stream_begin(r, __func__, status, type, length, drained, user);
}

static skua_status stream_finish(skua_request *r)
{
    if (r->muted) {
        request_set_responding(r, RESPONSE_QUEUED);
        return SKUA_OK;
    }
    bool is_short = r->pull_left > 0;
    if (!is_short && filter_runs(r)) {
        skua_status filtered = filter_push(r, (slice){ 0 }, SKUA_FLUSH_END);
        if (filtered) return filtered;
    }
    respond_finish(r);
    if (r->responding != RESPONSE_FAILED) return SKUA_OK;
    return is_short ? SKUA_EINVAL : SKUA_ENOMEM;
}

// The program may have aborted the request while octets of the same read are still told.
skua_status tunnel_finish(skua_request *r)
{
    if (r->push >= PUSH_TUNNEL_DONE || request_is_answered(r)) return SKUA_ESTATE;
    r->wanted = 0;
    request_set_push(r, PUSH_TUNNEL_DONE);
    if (r->reading == READING_DONE || !r->reader) request_set_responding(r, RESPONSE_QUEUED);
    carrier_kick(r->carrier, r);
    return SKUA_OK;
}

skua_status skua_finish(skua_request *r)
{
    if (!request_is_here(r)) {
        recorder *taken = recorder_of(r, __func__);
        return taken->table->finish(taken);
    }
    if (request_is_answered(r) && stream_is_dropped(r)) {
        request_set_push(r, PUSH_NONE);
        return SKUA_OK;
    }
    if (r->responding != RESPONSE_PUSHED || r->is_socket) return request_refusal(r);
    if (r->push >= PUSH_TUNNEL) return tunnel_finish(r);
    r->wanted = 0;
    skua_status finished = stream_finish(r);
    carrier_kick(r->carrier, r);
    return finished;
}

// ---- Tunnels ----

void tunnel_end_input(skua_request *r)
{
    SKUA_ASSERT(r->reading == READING_TUNNEL && r->push >= PUSH_TUNNEL);
    content_end(r);
    if (r->push >= PUSH_TUNNEL_DONE && !request_is_answered(r))
        request_set_responding(r, RESPONSE_QUEUED);
}

bool tunnel_close_half(skua_request *r)
{
    if (r->push != PUSH_TUNNEL_DONE) return false;
    request_set_push(r, PUSH_TUNNEL_SHUT);
    return true;
}
