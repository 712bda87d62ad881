// SPDX-License-Identifier: MIT
//
// Clients: their scripts, with whatever a request may be made of.

#include "sim/clients.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void put(client *c, const char *octets, size_t len)
{
    if (c->len + len > c->room) {
        c->room = 2 * (c->len + len);
        c->script = realloc(c->script, c->room);
        assert_non_null(c->script);
    }
    memcpy(c->script + c->len, octets, len);
    c->len += len;
}

static void put_text(client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_text(client *c, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert_in_range(len, 0, sizeof line - 1);
    put(c, line, (size_t)len);
}

static void put_pattern(client *c, const asked *a, uint64_t from, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++) {
        char octet = app_octet(a->tag, from + i);
        put(c, &octet, 1);
    }
}

static void put_chunks(play *p, client *c, const asked *a)
{
    for (uint64_t at = 0; at < a->len;) {
        uint64_t n = 1 + dice(p, a->len - at < 5000 ? a->len - at : 5000);
        put_text(c, dice(p, 2) ? "%" PRIx64 "\r\n" : "%" PRIx64 ";a=b;c\r\n", n);
        put_pattern(c, a, at, n);
        put(c, "\r\n", 2);
        at += n;
    }
    put_text(c, dice(p, 2) ? "0\r\n\r\n" : "0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n");
}

static void put_head(play *p, client *c, const char *line)
{
    put_text(c, "%s\r\nHost: sim.example\r\n", line);
    for (uint64_t n = dice(p, 4); n; n--)
        put_text(c, "X-Field-%" PRIu64 ": %" PRIx64 "\r\n", n, dice(p, UINT64_MAX));
}

static void put_upload(play *p, client *c, const asked *a, const char *path, bool chunked)
{
    char line[64];
    (void)snprintf(line, sizeof line, "POST %s HTTP/1.1", path);
    put_head(p, c, line);
    if (chunked) put_text(c, "Transfer-Encoding: chunked\r\n");
    else put_text(c, "Content-Length: %" PRIu64 "\r\n", a->len);
    if (a->kind == ASK_ECHO_EXPECT) put_text(c, "Expect: 100-continue\r\n");
    put(c, "\r\n", 2);
    if (a->kind == ASK_ECHO_EXPECT) c->barrier = c->len;
    if (chunked) put_chunks(p, c, a);
    else put_pattern(c, a, 0, a->len);
}

static void put_get(play *p, client *c, const asked *a, const char *path)
{
    char line[64];
    (void)snprintf(line, sizeof line, "GET /%s/%" PRIu64 "/%" PRIu64 " HTTP/1.%d", path, a->tag,
                   a->len, a->kind != ASK_OLD);
    put_head(p, c, line);
    put(c, "\r\n", 2);
}

static void put_line(play *p, client *c, const char *line, const char *field)
{
    put_head(p, c, line);
    put_text(c, "%s\r\n", field);
}

// The octets behind the head may arrive with it.
static void put_tunnel(play *p, client *c, const asked *a)
{
    put_line(p, c, "GET /tunnel HTTP/1.1", "Connection: Upgrade\r\nUpgrade: echo\r\n");
    put_pattern(c, a, 0, a->len);
}

static const char *broken_head(play *p)
{
    static const char *const heads[] = {
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /hello HTTP/1.1\nHost: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost : a\r\n\r\n",
        ("POST /hello HTTP/1.1\r\nHost: a\r\n"
         "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1,1\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    return heads[dice(p, sizeof heads / sizeof *heads)];
}

static void put_asked(play *p, client *c, const asked *a)
{
    switch (a->kind) {
    case ASK_HELLO: put_line(p, c, "GET /hello HTTP/1.1", ""); return;
    case ASK_HEAD: put_line(p, c, "HEAD /hello HTTP/1.1", ""); return;
    case ASK_ECHO_EXPECT:
    case ASK_ECHO_LENGTH: put_upload(p, c, a, "/echo", false); return;
    case ASK_ECHO_CHUNKED: put_upload(p, c, a, "/echo", true); return;
    case ASK_COUNT_LENGTH: put_upload(p, c, a, "/sum", false); return;
    case ASK_COUNT_CHUNKED: put_upload(p, c, a, "/sum", true); return;
    case ASK_OLD:
    case ASK_PULL: put_get(p, c, a, "pull"); return;
    case ASK_LENGTH: put_get(p, c, a, "length"); return;
    case ASK_LENT: put_get(p, c, a, "lent"); return;
    case ASK_LATER: put_get(p, c, a, "later"); return;
    case ASK_TICKET: put_get(p, c, a, "ticket"); return;
    case ASK_BLOCKING: put_upload(p, c, a, "/blocking", a->tag & 1); return;
    case ASK_FAIL: put_get(p, c, a, "fail"); return;
    case ASK_FILE: put_line(p, c, "GET /file/file HTTP/1.1", ""); return;
    case ASK_DIRECTORY: put_line(p, c, "GET /files/file HTTP/1.1", ""); return;
    case ASK_KEPT: put_line(p, c, "GET /small/file HTTP/1.1", ""); return;
    case ASK_PARTS:
        put_line(p, c, a->tag & 1 ? "GET /files/file HTTP/1.1" : "GET /small/file HTTP/1.1",
                 site_parts_line);
        return;
    case ASK_MISSING: put_line(p, c, "GET /missing HTTP/1.1", ""); return;
    case ASK_BAD_METHOD: put_line(p, c, "DELETE /count HTTP/1.1", ""); return;
    case ASK_IGNORED: put_upload(p, c, a, "/hello", a->tag & 1); return;
    case ASK_BROKEN: put_text(c, "%s", broken_head(p)); return;
    case ASK_STREAM: put_get(p, c, a, "stream"); return;
    case ASK_DUPLEX_LENGTH: put_upload(p, c, a, "/duplex", false); return;
    case ASK_DUPLEX_CHUNKED: put_upload(p, c, a, "/duplex", true); return;
    case ASK_CLOSE: put_line(p, c, "GET /hello HTTP/1.1", "Connection: close\r\n"); return;
    case ASK_TUNNEL: put_tunnel(p, c, a); return;
    case ASK_KINDS: return;
    }
}

bool ask_ends(ask kind)
{
    return kind > ASK_KINDS;
}

// A client that has asked for the close sends nothing behind it; one whose request is refused may
// well have.
static bool ask_is_last(ask kind)
{
    return kind == ASK_OLD || kind == ASK_CLOSE || kind == ASK_TUNNEL;
}

static void client_ask(play *p, client *c, ask kind)
{
    static const uint64_t lens[] = { 0, 1, 7, 100, 1500, 9000, 30000, 120000 };
    asked *a = &c->asked[c->asked_count++];
    *a = (asked){ .kind = kind, .tag = dice(p, 100), .len = lens[dice(p, dice(p, 4) ? 6 : 8)] };
    if (kind == ASK_ECHO_EXPECT && (c->barrier || a->len == 0)) a->kind = ASK_ECHO_LENGTH;
    // a boundary is never the same again
    if (kind == ASK_PARTS && p->seed % REPLAYED == 0) a->kind = ASK_KEPT;
    put_asked(p, c, a);
    a->end = c->len;
}

void client_write_script(play *p, client *c)
{
    unsigned count = 1 + (unsigned)dice(p, ASKED_MAX);
    while (c->asked_count < count) {
        ask kind = (ask)dice(p, ASK_KINDS);
        if (dice(p, 12) == 0) kind = (ask)(ASK_KINDS + 1 + dice(p, 5));
        client_ask(p, c, kind);
        if (ask_is_last(kind)) break;
    }
    static const after afters[] = { AFTER_SHUTDOWN, AFTER_SHUTDOWN, AFTER_STAY, AFTER_STAY,
                                    AFTER_RESET,    AFTER_CUT,      AFTER_STALL };
    c->after = afters[dice(p, sizeof afters / sizeof *afters)];
    c->stop = c->len;
    if (c->after == AFTER_CUT || c->after == AFTER_STALL) c->stop = (size_t)dice(p, c->len);
}
