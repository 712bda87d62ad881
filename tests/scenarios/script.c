// SPDX-License-Identifier: MIT
//
// The acts of a client in a scenario.

#include "scenarios/script.h"

#include "scenarios/transcript.h"
#include "support/responses.h"
#include "app/app.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    SCRIPT_OCTETS = 300,
    SCRIPT_SMALL = 16,
    SCRIPT_LARGE = 20000,
    SCRIPT_PRINTED = 900,
    SCRIPT_QUIET = 4
};

client *client_take(run *r, const char *title, const wire *w)
{
    client *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->run = r;
    c->title = title;
    c->wire = *w;
    c->number = ++r->client_count;
    *r->clients_tail = c;
    r->clients_tail = &c->next;
    return c;
}

static bool client_is_ended(const client *c)
{
    return wire_is_eof(&c->wire) || wire_is_reset(&c->wire);
}

// Until the handshake is complete, or there is nothing to do: the server may take no connections.
static void client_shake_hands(client *c)
{
    int64_t since = 0;
    for (int quiet = 0; !wire_is_open(&c->wire) && !client_is_ended(c) && quiet < SCRIPT_QUIET;) {
        quiet = run_round(c->run, HOST_TIME_STANDS) ? 0 : quiet + 1;
        run_be_patient(c->run, &since, "shaking hands");
    }
}

client *client_connect(run *r)
{
    wire w;
    wire_connect(&w, &r->host, r->scenario->receive_octets);
    if (w.h2 && r->scenario->wide) wire_h2_widen(w.h2);
    client *c = client_take(r, "client", &w);
    client_shake_hands(c);
    return c;
}

void client_free(client *c)
{
    wire_free(&c->wire);
    text_free(&c->outbox);
    text_free(&c->story);
    free(c);
}

// ---- Sending ----

// How much goes at once: tiny pieces at first, which split lines, larger ones later, or it would
// take for ever.
static size_t client_piece(const client *c, size_t left)
{
    run *r = c->run;
    size_t piece = left;
    if (r->cut == RUN_OCTETS)
        piece = c->out_at < SCRIPT_OCTETS ? 1 : 1 + run_random(r) % SCRIPT_LARGE;
    if (r->cut == RUN_RANDOM)
        piece = 1 + run_random(r) % (run_random(r) % 2 ? SCRIPT_SMALL : SCRIPT_LARGE);
    return piece < left ? piece : left;
}

// FIN goes together with the last octets.
static bool client_push(client *c)
{
    size_t left = c->outbox.len - c->out_at, sent = 0;
    if (left) {
        sent = wire_send(&c->wire, slice_make(c->outbox.octets + c->out_at, client_piece(c, left)));
        c->out_at += sent;
        if (sent < left) return sent > 0;
    }
    c->outbox.len = c->out_at = 0;
    if (!c->finishes) return sent > 0;
    c->finishes = false;
    wire_finish(&c->wire);
    return true;
}

bool client_round(client *c)
{
    bool sent = !c->over && client_push(c), received = wire_receive(&c->wire);
    return sent || received;
}

// Until it has left, or the server takes no more for now.
static void client_push_all(client *c)
{
    int64_t since = 0;
    while (c->out_at < c->outbox.len || c->finishes) {
        bool any = run_round(c->run, HOST_TIME_STANDS);
        if (!any && wire_may_stall(&c->wire)) return;
        run_be_patient(c->run, &since, "sending");
    }
}

static void client_send_slice(client *c, slice octets)
{
    text_add(&c->outbox, octets);
    client_push_all(c);
}

void client_send(client *c, const char *octets)
{
    transcript_octets(&c->story, "  > ", slice_of(octets));
    client_send_slice(c, slice_of(octets));
}

void client_send_last(client *c, const char *octets)
{
    transcript_octets(&c->story, "  > ", slice_of(octets));
    text_addf(&c->story, "  sends no more\n");
    c->finishes = true;
    client_send_slice(c, slice_of(octets));
}

static void text_add_pattern(text *t, uint64_t tag, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char octet = app_octet(tag, i);
        text_add(t, slice_make(&octet, 1));
    }
}

void client_send_pattern(client *c, uint64_t tag, size_t len)
{
    text octets = { .len = 0 };
    text_add_pattern(&octets, tag, len);
    transcript_octets(&c->story, "  > ", text_slice(&octets));
    client_send_slice(c, text_slice(&octets));
    text_free(&octets);
}

void client_send_chunk(client *c, uint64_t tag, size_t len)
{
    text chunk = { .len = 0 };
    text_addf(&chunk, "%zx\r\n", len);
    text_add_pattern(&chunk, tag, len);
    text_addf(&chunk, "\r\n");
    transcript_octets(&c->story, "  > ", text_slice(&chunk));
    client_send_slice(c, text_slice(&chunk));
    text_free(&chunk);
}

void client_finish(client *c)
{
    text_addf(&c->story, "  sends no more\n");
    c->finishes = true;
    client_push_all(c);
}

void client_reset(client *c)
{
    text_addf(&c->story, "  resets\n");
    c->over = true;
    wire_reset(&c->wire);
}

void client_pause(client *c)
{
    text_addf(&c->story, "  reads no more\n");
    wire_pause(&c->wire, true);
}

void client_resume(client *c)
{
    text_addf(&c->story, "  reads again\n");
    wire_pause(&c->wire, false);
}

void client_rest(client *c)
{
    run_rest(c->run);
}

// ---- Receiving ----

static slice client_unseen(const client *c)
{
    return slice_from(wire_received(&c->wire), c->seen);
}

static void client_fail(const client *c, const char *what)
{
    slice unseen = client_unseen(c);
    fprintf(stderr, "its story so far:\n%s", c->story.octets ? c->story.octets : "");
    fail_msg("%s, on %s: client %u: %s; left over: %.*s", c->run->scenario->name, c->run->backend,
             c->number, what, (int)(unseen.len < SCRIPT_PRINTED ? unseen.len : SCRIPT_PRINTED),
             unseen.len ? unseen.ptr : "");
}

// How long a step has waited. Time passes only once nothing else happens, and what is waited for
// was looked for again.
typedef struct patience {
    int64_t since_ns;
    bool busy;
} patience;

static void client_wait(client *c, patience *p, const char *what)
{
    p->busy = run_round(c->run, p->busy ? HOST_TIME_STANDS : HOST_TIME_PASSES);
    run_be_patient(c->run, &p->since_ns, what);
}

static void client_show_content(client *c, const read_response *a)
{
    if (a->content_len == 0) return;
    transcript_octets(&c->story, a->chunked ? "  < chunked| " : "  < | ",
                      slice_make(a->content, a->content_len));
}

static void client_show(client *c, const read_response *a)
{
    transcript_fields(&c->story, "  < ", a->head);
    text_addf(&c->story, "  <\n");
    client_show_content(c, a);
    if (a->trailers.len) transcript_fields(&c->story, "  < trailer| ", a->trailers);
}

// An answer is not read anew with each of its pieces: only once enough has come, or nothing comes.
static bool client_peek(client *c, bool to_head, bool idle, read_response *a, slice *rest)
{
    bool ended = client_is_ended(c);
    slice got = *rest = client_unseen(c);
    size_t needs = idle && !c->states ? c->peeked + 1 : c->needs;
    if (!ended && c->seen + got.len < needs) return false;
    c->peeked = c->seen + got.len;
    responses_state state = responses_read(rest, to_head, wire_is_eof(&c->wire), a);
    if (state == RESPONSE_IS_BROKEN) client_fail(c, a->why);
    if (state == RESPONSE_IS_WHOLE) return true;
    if (ended) client_fail(c, "the connection ended before an answer");
    c->states = a->has_head && a->has_length;
    c->needs = c->seen + (c->states ? a->head.len + 2 + a->length : got.len + got.len / 8 + 1);
    responses_free(a);
    return false;
}

static void client_expect_answer(client *c, bool to_head)
{
    read_response a;
    slice rest;
    patience p = { .busy = true };
    c->needs = c->peeked = 0;
    c->states = false;
    while (!client_peek(c, to_head, !p.busy, &a, &rest))
        client_wait(c, &p, "waiting for an answer");
    client_show(c, &a);
    c->seen = wire_received(&c->wire).len - rest.len;
    responses_free(&a);
}

void client_expect(client *c)
{
    client_expect_answer(c, false);
}

void client_expect_to_head(client *c)
{
    client_expect_answer(c, true);
}

static void client_wait_for_end(client *c)
{
    patience p = { .busy = true };
    while (!client_is_ended(c))
        client_wait(c, &p, "waiting for the end");
}

void client_expect_part(client *c)
{
    client_wait_for_end(c);
    slice rest = client_unseen(c);
    read_response a;
    responses_state state = responses_read(&rest, false, wire_is_eof(&c->wire), &a);
    if (state != RESPONSE_IS_PART || !a.has_head) client_fail(c, "no part of an answer");
    transcript_fields(&c->story, "  < ", a.head);
    text_addf(&c->story, "  <\n  < (a part of it)\n");
    c->seen = wire_received(&c->wire).len;
    responses_free(&a);
}

void client_expect_head(client *c)
{
    patience p = { .busy = true };
    const char *end;
    for (;;) {
        slice got = client_unseen(c);
        end = got.len ? memmem(got.ptr, got.len, "\r\n\r\n", 4) : NULL;
        if (end) break;
        if (client_is_ended(c)) client_fail(c, "the connection ended before a head");
        client_wait(c, &p, "waiting for a head");
    }
    slice got = client_unseen(c);
    size_t len = (size_t)(end + 4 - got.ptr);
    transcript_fields(&c->story, "  < ", slice_make(got.ptr, len - 2));
    text_addf(&c->story, "  <\n");
    c->seen += len;
}

void client_expect_octets(client *c, size_t len)
{
    patience p = { .busy = true };
    while (client_unseen(c).len < len) {
        if (client_is_ended(c)) client_fail(c, "the connection ended before what was to come");
        client_wait(c, &p, "waiting for octets");
    }
    transcript_octets(&c->story, "  < ", slice_make(client_unseen(c).ptr, len));
    c->seen += len;
}

// Who has seen the end closes its own side, so that nobody lingers for it.
static void client_hang_up(client *c, const char *how)
{
    text_addf(&c->story, "  %s\n", how);
    c->over = true;
    wire_hang_up(&c->wire);
}

void client_expect_end(client *c)
{
    client_wait_for_end(c);
    if (client_unseen(c).len) client_fail(c, "more came than was to come");
    client_hang_up(c, wire_is_eof(&c->wire) ? "end" : "reset");
}

void client_expect_cut(client *c)
{
    client_wait_for_end(c);
    client_hang_up(c, "end or reset");
}
