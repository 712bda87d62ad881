// SPDX-License-Identifier: MIT
//
// Configuration: zero means default. The table is docs/limits.md.

#include "server/config.h"

#include "server/server.h"
#include "base/sized.h"
#include "io/reserve.h"
#include "net/tls_sized.h"

#include <string.h>

// Room for a few requests at their limits.
enum { CONFIG_MEMORY_MIN = 1 << 20 };

#define SECONDS(n) ((int64_t)(n) * 1000000000)

enum {
    CONFIG_TLS_AT = offsetof(skua_config, tls),
    CONFIG_REST_AT = offsetof(skua_config, on_worker_start)
};

_Static_assert(CONFIG_REST_AT == CONFIG_TLS_AT + sizeof(skua_tls_desc) + sizeof(skua_http2_desc),
               "no gaps");
_Static_assert(sizeof(skua_tls_desc) % _Alignof(skua_config) == 0 &&
                   sizeof(skua_http2_desc) % _Alignof(skua_config) == 0,
               "nothing lies between them and what follows");

void config_take(const char *function, const skua_config *given, const skua_sizes *sizes,
                 skua_config *own)
{
    const char *from = (const char *)given;
    size_t http2_at = CONFIG_TLS_AT + (size_t)sizes->tls_desc;
    size_t rest_at = http2_at + sizes->http2_desc;
    if (sizes->config < rest_at)
        contract_broken(function, "sizes->config is smaller than what is in it");
    sized_take(function, from, CONFIG_TLS_AT, own, CONFIG_TLS_AT);
    tls_desc_take(function, from + CONFIG_TLS_AT, sizes, &own->tls);
    sized_take(function, from + http2_at, sizes->http2_desc, &own->http2, sizeof own->http2);
    sized_take(function, from + rest_at, sizes->config - rest_at, (char *)own + CONFIG_REST_AT,
               sizeof *own - CONFIG_REST_AT);
}

static void config_limits(skua_config *c)
{
    if (!c->backlog) c->backlog = 4096;
    if (!c->connections_max) c->connections_max = 65536;
    if (!c->head_octets_max) c->head_octets_max = 16384;
    if (!c->target_octets_max) c->target_octets_max = 8192;
    if (!c->fields_max) c->fields_max = 100;
    if (!c->params_max) c->params_max = 1000;
    if (!c->trailer_octets_max) c->trailer_octets_max = 8192;
    if (!c->chunk_ext_octets_max) c->chunk_ext_octets_max = 4096;
    if (!c->content_octets_max) c->content_octets_max = 1048576;
    if (!c->content_window_octets) c->content_window_octets = 65536;
    if (!c->discard_octets_max) c->discard_octets_max = 65536;
    if (!c->out_octets_max) c->out_octets_max = 262144;
    if (!c->send_turn_octets_max) c->send_turn_octets_max = 2097152;
    if (!c->linger_octets_max) c->linger_octets_max = 262144;
    if (!c->rate_octets_min) c->rate_octets_min = 128;
    if (!c->parts_max) c->parts_max = 128;
    if (!c->part_head_octets_max) c->part_head_octets_max = 8192;
    if (!c->part_files_max) c->part_files_max = 32;
    if (!c->disk_threads) c->disk_threads = 16;
    if (!c->blocking_threads) c->blocking_threads = 16;
    if (!c->blocking_queue_max) c->blocking_queue_max = 256;
    if (!c->log_buffer_max) c->log_buffer_max = 16777216;
}

static void config_http2(skua_http2_desc *h2)
{
    if (!h2->streams_max) h2->streams_max = 100;
    if (!h2->continuations_max) h2->continuations_max = 8;
    if (!h2->settings_max) h2->settings_max = 32;
    if (!h2->replies_max) h2->replies_max = 64;
    if (!h2->empty_frames_max) h2->empty_frames_max = 100;
    if (!h2->resets_max) h2->resets_max = 100;
    if (!h2->resets_per_second) h2->resets_per_second = 33;
    if (!h2->small_frames_max) h2->small_frames_max = 1000;
    if (!h2->small_frames_per_second) h2->small_frames_per_second = 200;
    if (!h2->held_octets_max) h2->held_octets_max = 1048576;
}

// The error's name, or NULL.
static const char *config_check_http2(const skua_http2_desc *h2)
{
    enum { BUDGET_MAX = 1000000 };
    if (h2->streams_max > 1000) return "http2.streams_max";
    if (h2->continuations_max > 255) return "http2.continuations_max";
    if (h2->settings_max > 1000) return "http2.settings_max";
    if (h2->replies_max > BUDGET_MAX) return "http2.replies_max";
    if (h2->empty_frames_max > 65535) return "http2.empty_frames_max";
    if (h2->resets_max > BUDGET_MAX) return "http2.resets_max";
    if (h2->resets_per_second > BUDGET_MAX) return "http2.resets_per_second";
    if (h2->small_frames_max > BUDGET_MAX) return "http2.small_frames_max";
    if (h2->small_frames_per_second > BUDGET_MAX) return "http2.small_frames_per_second";
    bool held = h2->held_octets_max >= 65535 && h2->held_octets_max <= INT32_MAX;
    return held ? NULL : "http2.held_octets_max";
}

static void config_deadlines(skua_config *c)
{
    if (!c->head_timeout_ns) c->head_timeout_ns = SECONDS(10);
    if (!c->keep_alive_timeout_ns) c->keep_alive_timeout_ns = SECONDS(60);
    if (!c->stall_timeout_ns) c->stall_timeout_ns = SECONDS(30);
    if (!c->rate_window_ns) c->rate_window_ns = SECONDS(15);
    if (!c->linger_timeout_ns) c->linger_timeout_ns = SECONDS(2);
    if (!c->stream_idle_timeout_ns) c->stream_idle_timeout_ns = SECONDS(600);
    if (!c->unanswered_log_ns) c->unanswered_log_ns = SECONDS(30);
}

#undef SECONDS

static bool config_deadline_is_valid(int64_t ns)
{
    return ns > 0 && ns <= (int64_t)86400 * 365 * 1000000000;
}

bool config_accept(const char *accept, bool *handoff)
{
    *handoff = !socket_sharing_balances();
    if (!accept || strcmp(accept, "auto") == 0) return true;
    *handoff = strcmp(accept, "handoff") == 0;
    return *handoff || strcmp(accept, "reuseport") == 0;
}

static bool config_is_address(slice word)
{
    return word.len > 2 && word.ptr[word.len - 1] == ']' &&
           1 + strspn(word.ptr + 1, "0123456789abcdefABCDEF:.") == word.len - 1;
}

// Names are compared with what Host says before its colon, without a dot at its end: any other would never be
// found.
static bool config_is_name(slice word)
{
    static const char octets[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_~.";
    if (slice_equal(word, SKUA_SLICE("*"))) return true;
    if (word.ptr[0] == '[') return config_is_address(word);
    if (word.len > 2 && word.ptr[0] == '*' && word.ptr[1] == '.') word = slice_from(word, 2);
    if (word.ptr[0] == '.' || word.ptr[word.len - 1] == '.') return false;
    return strspn(word.ptr, octets) >= word.len;
}

bool config_hosts_are_names(const char *hosts)
{
    for (const char *at = hosts ? hosts : ""; *at;) {
        size_t len = strcspn(at, " ");
        if (len && !config_is_name(slice_make(at, len))) return false;
        at += len + (at[len] == ' ');
    }
    return true;
}

const char *config_complete(skua_config *c, const skua_config *given)
{
    *c = given ? *given : (skua_config){ 0 };
    config_limits(c);
    config_deadlines(c);
    config_http2(&c->http2);
#ifdef SKUA_NO_HTTP2
    c->http2.off = true;
#endif
    if (!config_hosts_are_names(c->hosts)) return "hosts";
    if ((unsigned)c->forwarded > SKUA_FORWARDED_PROXY || (c->forwarded && !c->trusted))
        return "forwarded";
    if (c->workers > SERVER_WORKERS_MAX) return "workers";
    if (c->connections_max > IO_STREAMS_MAX) return "connections_max";
    if (c->head_octets_max < 64 || c->head_octets_max > 65535) return "head_octets_max";
    if (c->target_octets_max > 65535) return "target_octets_max";
    if (c->fields_max > 1000) return "fields_max";
    if (c->part_head_octets_max < 64 || c->part_head_octets_max > 65536)
        return "part_head_octets_max";
    if (c->memory_max && c->memory_max < CONFIG_MEMORY_MIN) return "memory_max";
    if (c->disk_threads > 1024) return "disk_threads";
    if (c->blocking_threads > 1024) return "blocking_threads";
    if (c->files_reserve > RESERVE_MAX) return "files_reserve";
    if (c->linger_octets_max > UINT32_MAX / 2) return "linger_octets_max";
    if (!config_deadline_is_valid(c->head_timeout_ns)) return "head_timeout_ns";
    if (!config_deadline_is_valid(c->keep_alive_timeout_ns)) return "keep_alive_timeout_ns";
    if (!config_deadline_is_valid(c->stall_timeout_ns)) return "stall_timeout_ns";
    if (!config_deadline_is_valid(c->rate_window_ns)) return "rate_window_ns";
    if (!config_deadline_is_valid(c->linger_timeout_ns)) return "linger_timeout_ns";
    if (!config_deadline_is_valid(c->stream_idle_timeout_ns)) return "stream_idle_timeout_ns";
    if (!config_deadline_is_valid(c->unanswered_log_ns)) return "unanswered_log_ns";
    if (c->handler_timeout_ns && !config_deadline_is_valid(c->handler_timeout_ns))
        return "handler_timeout_ns";
    return config_check_http2(&c->http2);
}
