// SPDX-License-Identifier: MIT

#include "log/line_json.h"

#include "log/line_target.h"
#include "log/mask.h"

// Seconds since 1970, to the microsecond.
static void json_put_time(line_text *text, int64_t unix_ns)
{
    uint64_t ns = unix_ns < 0 ? 0 : (uint64_t)unix_ns;
    line_puts(text, ",\"ts\":");
    line_put_number(text, ns / 1000000000, 1);
    line_putc(text, '.');
    line_put_number(text, ns % 1000000000 / 1000, 6);
}

// prefix: with the name, up to the value's opening quote.
static void json_put_member(line_text *text, const char *prefix, slice value, size_t max)
{
    line_puts(text, prefix);
    line_put_escaped(text, value, LINE_JSON, max);
    line_putc(text, '"');
}

static void json_put_count(line_text *text, const char *name, uint64_t count)
{
    line_puts(text, name);
    line_put_number(text, count, 1);
}

static void json_put_fields(line_text *text, const log_access *access, const char *secrets)
{
    char masked[LINE_FIELD_MAX];
    slice referer = mask_secrets(access->referer, secrets, masked, sizeof masked);
    bool both = access->user_agent.len && referer.len;
    line_puts(text, ",\"headers\":{");
    if (access->user_agent.len)
        json_put_member(text, "\"User-Agent\":[\"", access->user_agent, LINE_FIELD_MAX);
    if (access->user_agent.len) line_puts(text, both ? "]," : "]");
    if (referer.len) json_put_member(text, "\"Referer\":[\"", referer, LINE_FIELD_MAX);
    line_puts(text, referer.len ? "]}" : "}");
}

static void json_put_tls(line_text *text, const log_access *access)
{
    json_put_member(text, ",\"tls\":{\"version\":\"", slice_of(access->tls_version), LINE_TLS_MAX);
    json_put_member(text, ",\"cipher_suite\":\"", slice_of(access->tls_cipher), LINE_TLS_MAX);
    if (access->server_name.len)
        json_put_member(text, ",\"server_name\":\"", access->server_name, LINE_NAME_MAX);
    line_putc(text, '}');
}

static void json_put_request(line_text *text, const log_access *access, const char *secrets)
{
    json_put_member(text, ",\"request\":{\"remote_ip\":\"", slice_of(access->remote),
                    LINE_PEER_MAX);
    json_put_member(text, ",\"client_ip\":\"", slice_of(access->peer), LINE_PEER_MAX);
    line_puts(text, ",\"proto\":\"");
    if (access->version) line_puts(text, "HTTP/");
    if (access->version) line_puts(text, line_version(access->version));
    json_put_member(text, "\",\"method\":\"", access->method, LINE_METHOD_MAX);
    json_put_member(text, ",\"host\":\"", access->host, LINE_NAME_MAX);
    line_puts(text, ",\"uri\":\"");
    if (access->target.len) line_put_target(text, access, secrets, LINE_JSON);
    line_putc(text, '"');
    json_put_fields(text, access, secrets);
    if (access->tls_version) json_put_tls(text, access);
    line_putc(text, '}');
}

// Seconds, to the nanosecond.
static void json_put_duration(line_text *text, int64_t duration_ns)
{
    uint64_t ns = duration_ns < 0 ? 0 : (uint64_t)duration_ns;
    json_put_count(text, ",\"duration\":", ns / 1000000000);
    line_putc(text, '.');
    line_put_number(text, ns % 1000000000, 9);
}

// The first has the name that it has in Caddy's log.
static void json_put_trace(line_text *text, slice trace)
{
    json_put_member(text, ",\"traceID\":\"", trace, LINE_ID_MAX);
    json_put_member(text, ",\"parentID\":\"",
                    slice_make(trace.ptr + trace.len + 1, LINE_PARENT_OCTETS), LINE_ID_MAX);
}

// The members of Caddy come first, then those that it has no names for.
void line_json_request(line_text *text, const log_access *access, const char *secrets)
{
    line_puts(text, "{\"level\":\"info\"");
    json_put_time(text, access->unix_ns);
    line_puts(text, ",\"logger\":\"http.log.access\",\"msg\":\"handled request\"");
    json_put_request(text, access, secrets);
    json_put_duration(text, access->duration_ns);
    json_put_count(text, ",\"size\":", access->octets);
    json_put_count(text, ",\"status\":", access->status > 0 ? (uint64_t)access->status : 0);
    if (access->stream) json_put_count(text, ",\"stream\":", access->stream);
    if (access->id.len) json_put_member(text, ",\"request_id\":\"", access->id, LINE_ID_MAX);
    if (access->trace.len) json_put_trace(text, access->trace);
    if (access->route)
        json_put_member(text, ",\"route\":\"", slice_of(access->route), LINE_NAME_MAX);
    if (*access->end) json_put_member(text, ",\"end\":\"", slice_of(access->end), LINE_METHOD_MAX);
    if (access->reason)
        json_put_member(text, ",\"reason\":\"", slice_of(access->reason), LINE_REASON_MAX);
    line_putc(text, '}');
}

void line_json_message(line_text *text, int64_t unix_ns, slice message)
{
    line_puts(text, "{\"level\":\"info\"");
    json_put_time(text, unix_ns);
    json_put_member(text, ",\"logger\":\"skua\",\"msg\":\"", message, LINE_MESSAGE_MAX);
    line_putc(text, '}');
}
