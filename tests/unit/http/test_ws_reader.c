// SPDX-License-Identifier: MIT
//
// Messages and control frames: each case at every split and octet by octet, flush against a
// forbidden page, with and without ws_reader_whole. A message is told as t"…" or b"…", a ping as P(…), a pong as p(…), a close as
// C1000(…), a fault as its code. Frames are written "OPCODE length-or-text", and masked here.

#include "http/ws_reader.h"

#include "support/support.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const ws_limits limits = { .message_octets_max = 300, .fragments_max = 4 };

typedef struct telling {
    ws_reader reader;
    char message[512];
    size_t message_len;
    char text[2048];
    size_t len;
    bool ended;
    bool at_once; // ws_reader_whole is asked first
} telling;

static void say(telling *t, const char *octets, size_t len)
{
    assert_true(t->len + len < sizeof t->text);
    if (len) memcpy(t->text + t->len, octets, len);
    t->len += len;
    t->text[t->len] = 0;
}

static void say_enclosed(telling *t, const char *before, const char *octets, size_t len,
                         const char *behind)
{
    say(t, before, strlen(before));
    say(t, octets, len);
    say(t, behind, strlen(behind));
}

static void say_code(telling *t, char letter, unsigned code, slice reason)
{
    char words[16];
    (void)snprintf(words, sizeof words, "%c%u(", letter, code);
    say_enclosed(t, words, reason.ptr, reason.len, ")");
    t->ended = true;
}

static void tell(telling *t, ws_event event, slice *input)
{
    ws_reader *reader = &t->reader;
    switch (event) {
    case WS_EVENT_MORE:
    case WS_EVENT_FRAME: break;
    case WS_EVENT_PAYLOAD: {
        size_t room = ws_reader_room(reader, *input);
        assert_true(t->message_len + room <= limits.message_octets_max);
        if (ws_reader_take(reader, input, t->message + t->message_len)) t->message_len += room;
        break;
    }
    case WS_EVENT_MESSAGE:
        say_enclosed(t, reader->is_text ? "t\"" : "b\"", t->message, t->message_len, "\"");
        t->message_len = 0;
        break;
    case WS_EVENT_PING: say_enclosed(t, "P(", reader->control, reader->control_len, ")"); break;
    case WS_EVENT_PONG: say_enclosed(t, "p(", reader->control, reader->control_len, ")"); break;
    case WS_EVENT_CLOSE: say_code(t, 'C', reader->code, reader->reason); break;
    case WS_EVENT_FAULT: say_code(t, 'F', reader->fault.code, (slice){ 0 }); break;
    }
}

static bool tell_whole(telling *t, slice *input)
{
    slice message;
    if (!t->at_once ||
        !ws_reader_whole(&t->reader, input, t->message, limits.message_octets_max, &message))
        return false;
    assert_ptr_equal(message.ptr, t->message);
    t->message_len = message.len;
    tell(t, WS_EVENT_MESSAGE, input);
    return true;
}

static void feed(telling *t, const char *octets, size_t len)
{
    char *copy = guarded_copy(octets, len);
    slice input = slice_make(copy, len);
    ws_event event = WS_EVENT_FRAME;
    while (event != WS_EVENT_MORE && !t->ended) {
        if (tell_whole(t, &input)) continue;
        event = ws_reader_next(&t->reader, &input);
        tell(t, event, &input);
    }
    if (!t->ended) assert_int_equal(input.len, 0);
    guarded_free(copy, len);
}

// ---- Frames ----

typedef struct wire {
    char octets[2048];
    size_t len;
} wire;

static void put_frame(wire *w, uint8_t first, const char *payload, size_t len)
{
    char head[WS_SENT_HEAD_OCTETS_MAX];
    uint8_t key[WS_KEY_OCTETS] = { 0xa0, 0x91, (uint8_t)w->len, 0x5c };
    size_t head_len = ws_head_write(head, WS_TEXT, true, len);
    head[0] = (char)first;
    head[1] = (char)(head[1] | (char)0x80);
    memcpy(w->octets + w->len, head, head_len);
    w->len += head_len;
    memcpy(w->octets + w->len, key, sizeof key);
    w->len += sizeof key;
    if (len) (void)ws_unmask(w->octets + w->len, payload, len, key, 0);
    w->len += len;
}

typedef struct frame {
    uint8_t first;
    const char *payload;
} frame;

typedef struct reader_case {
    const char *name;
    frame frames[7];
    const char *told;
} reader_case;

static void check(const char *name, const wire *w, const char *told)
{
    static telling t;
    for (size_t split = 0; split <= w->len * 2 + 1; split++) {
        size_t first = split / 2;
        t = (telling){ .reader = { .limits = &limits }, .at_once = split % 2 };
        feed(&t, w->octets, first);
        feed(&t, w->octets + first, w->len - first);
        if (strcmp(t.text, told) != 0) fail_msg("%s, split %zu: %s", name, first, t.text);
    }
    t = (telling){ .reader = { .limits = &limits } };
    for (size_t i = 0; i < w->len; i++)
        feed(&t, w->octets + i, 1);
    assert_string_equal(t.text, told);
}

static void check_cases(const reader_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wire w = { .len = 0 };
        for (const frame *f = cases[i].frames; f->payload; f++)
            put_frame(&w, f->first, f->payload, strlen(f->payload));
        check(cases[i].name, &w, cases[i].told);
    }
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_messages(void **state)
{
    (void)state;
    static const reader_case cases[] = {
        { "text", { { 0x81, "Hello" } }, "t\"Hello\"" },
        { "binary", { { 0x82, "\xff\xfe" } }, "b\"\xff\xfe\"" },
        { "empty", { { 0x81, "" }, { 0x82, "" } }, "t\"\"b\"\"" },
        { "two", { { 0x81, "a" }, { 0x81, "b" } }, "t\"a\"t\"b\"" },
        { "fragments", { { 0x01, "Hel" }, { 0x00, "l" }, { 0x80, "o" } }, "t\"Hello\"" },
        { "empty fragments", { { 0x02, "" }, { 0x00, "" }, { 0x80, "" } }, "b\"\"" },
        { "a character over fragments",
          { { 0x01, "a\xe2" }, { 0x00, "\x82" }, { 0x00, "" }, { 0x80, "\xac" } },
          "t\"a\xe2\x82\xac\"" },
        { "a ping between fragments",
          { { 0x01, "Hel" }, { 0x89, "?" }, { 0x80, "lo" } },
          "P(?)t\"Hello\"" },
        { "a text after one that was not ASCII",
          { { 0x81, "\xc3\xa9" }, { 0x81, "e" } },
          "t\"\xc3\xa9\"t\"e\"" },
    };
    CHECK_CASES(cases);
}

static void test_control_frames(void **state)
{
    (void)state;
    static const reader_case cases[] = {
        { "ping", { { 0x89, "abc" } }, "P(abc)" },
        { "empty ping", { { 0x89, "" }, { 0x89, "" } }, "P()P()" },
        { "pong", { { 0x8a, "abc" }, { 0x8a, "" } }, "p(abc)p()" },
        { "close", { { 0x88, "" } }, "C1005()" },
        { "close with a code", { { 0x88, "\x03\xe8" } }, "C1000()" },
        { "close with a reason",
          { { 0x88, "\x0f\xa0"
                    "bye" } },
          "C4000(bye)" },
        { "nothing behind a close", { { 0x88, "\x03\xe8" }, { 0x81, "x" } }, "C1000()" },
        { "close in a message", { { 0x01, "x" }, { 0x88, "" } }, "C1005()" },
    };
    CHECK_CASES(cases);
}

static void test_faults(void **state)
{
    (void)state;
    static const reader_case cases[] = {
        { "reserved bit", { { 0x81, "a" }, { 0xc1, "b" } }, "t\"a\"F1002()" },
        { "unknown opcode", { { 0x83, "b" } }, "F1002()" },
        { "continuation of nothing", { { 0x80, "b" } }, "F1002()" },
        { "continuation of an ended one", { { 0x81, "a" }, { 0x80, "b" } }, "t\"a\"F1002()" },
        { "a text in a text", { { 0x01, "a" }, { 0x81, "b" } }, "F1002()" },
        { "fragmented ping", { { 0x09, "a" } }, "F1002()" },
        { "close of one octet", { { 0x88, "\x03" } }, "F1002()" },
        { "close with 1005", { { 0x88, "\x03\xed" } }, "F1002()" },
        { "close with a bad reason", { { 0x88, "\x03\xe8\xff" } }, "F1007()" },
        { "not UTF-8",
          { { 0x81, "abc\xff"
                    "def" } },
          "F1007()" },
        { "cut character", { { 0x81, "abc\xe2\x82" } }, "F1007()" },
        { "cut over fragments", { { 0x01, "\xe2" }, { 0x80, "" } }, "F1007()" },
        { "surrogate over fragments", { { 0x01, "\xed" }, { 0x00, "\xa0" } }, "F1007()" },
        { "ASCII within a character", { { 0x01, "\xe2" }, { 0x80, "abc" } }, "F1007()" },
        { "nothing behind a fault", { { 0x80, "b" }, { 0x89, "x" } }, "F1002()" },
    };
    CHECK_CASES(cases);
}

// The frame is not whole: a text of 100 octets of which the fault is the 3rd.
static void test_a_fault_is_found_at_its_octet(void **state)
{
    (void)state;
    char text[100];
    memset(text, 'a', sizeof text);
    text[2] = (char)0xf4;
    text[3] = (char)0x90;
    wire w = { .len = 0 };
    put_frame(&w, 0x81, text, sizeof text);
    static telling t;
    t = (telling){ .reader = { .limits = &limits } };
    feed(&t, w.octets, 2 + WS_KEY_OCTETS + 3);
    assert_string_equal(t.text, "");
    feed(&t, w.octets + 2 + WS_KEY_OCTETS + 3, 1);
    assert_string_equal(t.text, "F1007()");
}

static void test_limits_at_their_edge(void **state)
{
    (void)state;
    char text[301], told[320];
    memset(text, 'a', sizeof text);
    wire fits = { .len = 0 };
    put_frame(&fits, 0x01, text, 100);
    put_frame(&fits, 0x80, text, 200);
    (void)snprintf(told, sizeof told, "t\"%.300s\"", text);
    check("300 octets", &fits, told);
    wire large = { .len = 0 };
    put_frame(&large, 0x02, text, 100);
    put_frame(&large, 0x80, text, 201);
    check("301 octets", &large, "F1009()");
    wire whole = { .len = 0 };
    put_frame(&whole, 0x82, text, 301);
    check("301 octets in one", &whole, "F1009()");
    wire few = { .len = 0 }, many = { .len = 0 };
    for (int i = 0; i < 4; i++) {
        put_frame(&few, (uint8_t)((i == 0 ? 2 : 0) | (i == 3 ? 0x80 : 0)), "", 0);
        put_frame(&many, i == 0 ? 2 : 0, "", 0);
    }
    check("4 fragments", &few, "b\"\"");
    put_frame(&many, 0x80, "", 0);
    check("5 fragments", &many, "F1008()");
}

// The head alone is a fault: no octet of so many is waited for.
static void test_a_length_of_63_bits_is_too_big(void **state)
{
    (void)state;
    static telling t;
    t = (telling){ .reader = { .limits = &limits } };
    feed(&t, "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\1\2\3\4", 14);
    assert_string_equal(t.text, "F1009()");
}

// Octets that are not read at once are not touched.
static void test_whole_messages(void **state)
{
    (void)state;
    static const struct {
        uint8_t first;
        size_t payload, cut, room; // cut: octets that have not come
        bool is_read;
    } cases[] = {
        { 0x81, 5, 0, 5, true },      { 0x82, 300, 0, 300, true }, { 0x81, 5, 0, 4, false },
        { 0x81, 5, 1, 5, false },     { 0x01, 5, 0, 5, false },    { 0x80, 5, 0, 5, false },
        { 0x89, 5, 0, 5, false },     { 0xc1, 5, 0, 5, false },    { 0x83, 5, 0, 5, false },
        { 0x82, 301, 0, 400, false },
    };
    char payload[400], out[400];
    memset(payload, 'a', sizeof payload);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire w = { .len = 0 };
        put_frame(&w, cases[i].first, payload, cases[i].payload);
        ws_reader reader = { .limits = &limits };
        size_t len = w.len - cases[i].cut;
        slice input = slice_make(w.octets, len), message;
        bool is_read = ws_reader_whole(&reader, &input, out, cases[i].room, &message);
        if (is_read != cases[i].is_read) fail_msg("case %zu: %d", i, is_read);
        assert_int_equal(input.len, is_read ? 0 : len);
        assert_true(ws_reader_is_between(&reader));
        if (!is_read) continue;
        assert_int_equal(message.len, cases[i].payload);
        assert_memory_equal(message.ptr, payload, message.len);
        assert_int_equal(reader.is_text, cases[i].first == 0x81);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_control_frames),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_a_fault_is_found_at_its_octet),
        cmocka_unit_test(test_limits_at_their_edge),
        cmocka_unit_test(test_whole_messages),
        cmocka_unit_test(test_a_length_of_63_bits_is_too_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
