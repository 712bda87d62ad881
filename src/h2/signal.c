// SPDX-License-Identifier: MIT
//
// Signals: frames of few octets, and what is to be known of them later.

#include "h2/signal.h"

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"
#include "http/h2_head.h"

enum { H2_CONTROL_OCTETS_MAX = 128 };

// Queues a frame of few octets.
void h2_signal_send(h2_session *s, h2_type type, uint8_t flags, uint32_t stream, slice payload)
{
    size_t len = H2_HEAD_OCTETS + payload.len;
    SKUA_ASSERT(len <= H2_CONTROL_OCTETS_MAX);
    char *at = out_reserve(s->base.out, len, NULL);
    if (!at) {
        h2_session_break(s);
        return;
    }
    at = h2_write_head(at, (h2_frame){ .len = (uint32_t)payload.len,
                                       .type = (uint8_t)type,
                                       .flags = flags,
                                       .stream = stream });
    if (payload.len) memcpy(at, payload.ptr, payload.len);
    out_commit(s->base.out, len);
}

static char *h2_signal_put(char *at, h2_setting setting, uint32_t value)
{
    return h2_write32(h2_write16(at, (uint32_t)setting), value);
}

uint32_t h2_signal_window(const h2_session *s)
{
    size_t window = h2_config(s)->content_window_octets;
    size_t most = h2_config(s)->http2.held_octets_max;
    return (uint32_t)(window < most ? window : most);
}

void h2_signal_credit_all(h2_session *s)
{
    int64_t most = (int64_t)h2_config(s)->http2.held_octets_max;
    int64_t credit = most - s->recv_window - s->held;
    if (credit < most / 4 || credit <= 0) return;
    s->recv_window += (int32_t)credit;
    h2_signal_credit(s, 0, (uint32_t)credit);
}

void h2_signal_greet(h2_session *s)
{
    char text[H2_CONTROL_OCTETS_MAX], *at = text;
    const head_limits *heads = &s->base.worker->head_bounds;
    at = h2_signal_put(at, H2_SETTING_MAX_CONCURRENT_STREAMS, h2_config(s)->http2.streams_max);
    at = h2_signal_put(at, H2_SETTING_INITIAL_WINDOW_SIZE, h2_signal_window(s));
    at = h2_signal_put(at, H2_SETTING_MAX_HEADER_LIST_SIZE, (uint32_t)h2_list_octets_max(heads));
    at = h2_signal_put(at, H2_SETTING_NO_RFC7540_PRIORITIES, 1);
    if (h2_config(s)->http2.tunnels) at = h2_signal_put(at, H2_SETTING_ENABLE_CONNECT_PROTOCOL, 1);
    h2_signal_send(s, H2_SETTINGS, 0, 0, slice_make(text, (size_t)(at - text)));
    s->settings_ns = s->base.worker->loop.now_ns;
    h2_signal_credit_all(s);
}

void h2_signal_credit(h2_session *s, uint32_t stream, uint32_t octets)
{
    char text[4];
    (void)h2_write32(text, octets);
    h2_signal_send(s, H2_WINDOW_UPDATE, 0, stream, slice_make(text, sizeof text));
}

void h2_signal_goaway(h2_session *s, uint32_t last, h2_code code, const char *reason)
{
    enum { REASON_OCTETS_MAX = H2_CONTROL_OCTETS_MAX - H2_HEAD_OCTETS - 8 };
    char text[H2_CONTROL_OCTETS_MAX];
    char *at = h2_write32(h2_write32(text, last), (uint32_t)code);
    slice words = slice_of(reason);
    if (words.len > REASON_OCTETS_MAX) words.len = REASON_OCTETS_MAX;
    if (words.len) memcpy(at, words.ptr, words.len);
    h2_signal_send(s, H2_GOAWAY, 0, 0, slice_make(text, 8 + words.len));
}

void h2_signal_ping(h2_session *s)
{
    h2_signal_send(s, H2_PING, 0, 0, SKUA_SLICE("skua\0\0\0\0"));
}

// ---- Streams of the past ----

static uint64_t *h2_signal_word(h2_session *s, uint32_t stream, uint64_t *bit)
{
    uint32_t index = stream / 2 % H2_REMEMBERED;
    *bit = (uint64_t)1 << index % 64;
    return &s->reset_by_us[index / 64];
}

void h2_signal_reset(h2_session *s, uint32_t stream, h2_code code)
{
    char text[4];
    uint64_t bit;
    (void)h2_write32(text, (uint32_t)code);
    h2_signal_send(s, H2_RST_STREAM, 0, stream, slice_make(text, sizeof text));
    *h2_signal_word(s, stream, &bit) |= bit;
    s->has_reset = true;
}

void h2_signal_remember(h2_session *s, uint32_t stream)
{
    uint64_t bit;
    uint32_t passed = (stream - s->last_stream + 1) / 2;
    s->last_stream = stream;
    if (!s->has_reset) return; // no bit is set
    if (passed > H2_REMEMBERED) passed = H2_REMEMBERED;
    for (uint32_t i = 0; i < passed; i++)
        *h2_signal_word(s, stream - 2 * i, &bit) &= ~bit;
}

// Of streams that were too long ago nothing is known: the doubt is in the client's favour.
bool h2_signal_has_reset(const h2_session *s, uint32_t stream)
{
    if ((s->last_stream - stream) / 2 >= H2_REMEMBERED) return true;
    if (s->stage >= H2_LEAVES && stream > s->goaway_stream) return true; // it was never taken
    uint32_t index = stream / 2 % H2_REMEMBERED;
    return s->reset_by_us[index / 64] >> index % 64 & 1;
}

void h2_signal_forgive(h2_session *s, uint32_t stream)
{
    uint64_t bit;
    if ((s->last_stream - stream) / 2 < H2_REMEMBERED) *h2_signal_word(s, stream, &bit) &= ~bit;
}

#endif
