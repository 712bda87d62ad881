// SPDX-License-Identifier: MIT
//
// Heads of frames: each at every split, flush against a forbidden page, with the octet at which a
// fault is found; what is written can be read by the numbers of RFC 6455 §5.2. Payloads of closes.

#include "http/ws_frame.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct head_case {
    const char *name, *octets;
    size_t len;
    bool open;
    const char *reason; // of the fault; NULL: none
    size_t fault_at;    // octets after which it is known
    uint64_t payload;
} head_case;

#define OCTETS(text) text, sizeof(text) - 1
#define KEY "\x01\x02\x03\x04"

static const head_case cases[] = {
    { "text", OCTETS("\x81\x85" KEY), false, NULL, 0, 5 },
    { "binary", OCTETS("\x82\x80" KEY), false, NULL, 0, 0 },
    { "beginning", OCTETS("\x01\xfd" KEY), false, NULL, 0, 125 },
    { "continuation", OCTETS("\x80\x81" KEY), true, NULL, 0, 1 },
    { "126", OCTETS("\x82\xfe\x00\x7e" KEY), false, NULL, 0, 126 },
    { "65535", OCTETS("\x82\xfe\xff\xff" KEY), false, NULL, 0, 65535 },
    { "65536", OCTETS("\x82\xff\0\0\0\0\0\x01\0\0" KEY), false, NULL, 0, 65536 },
    { "63 bits", OCTETS("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" KEY), false, NULL, 0,
      INT64_MAX },
    { "ping", OCTETS("\x89\xfd" KEY), false, NULL, 0, 125 },
    { "ping in a message", OCTETS("\x89\x80" KEY), true, NULL, 0, 0 },
    { "pong", OCTETS("\x8a\x80" KEY), false, NULL, 0, 0 },
    { "close", OCTETS("\x88\x82" KEY), true, NULL, 0, 2 },
    { "reserved 1", OCTETS("\xc1\x80" KEY), false, "a reserved bit is set", 1, 0 },
    { "reserved 2", OCTETS("\xa1\x80" KEY), false, "a reserved bit is set", 1, 0 },
    { "reserved 3", OCTETS("\x91\x80" KEY), false, "a reserved bit is set", 1, 0 },
    { "reserved in a ping", OCTETS("\xc9\x80" KEY), false, "a reserved bit is set", 1, 0 },
    { "opcode 3", OCTETS("\x83\x80" KEY), false, "unknown opcode", 1, 0 },
    { "opcode 7", OCTETS("\x87\x80" KEY), true, "unknown opcode", 1, 0 },
    { "opcode 11", OCTETS("\x8b\x80" KEY), false, "unknown opcode", 1, 0 },
    { "opcode 15", OCTETS("\x8f\x80" KEY), false, "unknown opcode", 1, 0 },
    { "ping in fragments", OCTETS("\x09\x80" KEY), false, "a control frame in fragments", 1, 0 },
    { "close in fragments", OCTETS("\x08\x80" KEY), true, "a control frame in fragments", 1, 0 },
    { "a long ping", OCTETS("\x89\xfe\x00\x7e" KEY), false, "a control frame that is too long", 2,
      0 },
    { "a long close", OCTETS("\x88\xff\0\0\0\0\0\x01\0\0" KEY), false,
      "a control frame that is too long", 2, 0 },
    { "no mask", OCTETS("\x81\x05Hello"), false, "a frame without a mask", 2, 0 },
    { "continuation of nothing", OCTETS("\x80\x81" KEY), false, "a continuation of nothing", 1, 0 },
    { "text in a message", OCTETS("\x81\x81" KEY), true, "a message within a message", 1, 0 },
    { "binary in a message", OCTETS("\x02\x81" KEY), true, "a message within a message", 1, 0 },
    { "125 in two octets", OCTETS("\x82\xfe\x00\x7d" KEY), false,
      "a length that is not in its shortest form", 4, 0 },
    { "65535 in eight", OCTETS("\x82\xff\0\0\0\0\0\0\xff\xff" KEY), false,
      "a length that is not in its shortest form", 10, 0 },
    { "64 bits", OCTETS("\x82\xff\x80\0\0\0\0\0\0\0" KEY), false, "a length beyond 63 bits", 10,
      0 },
};

static ws_head_result read_guarded(ws_head *head, const char *octets, size_t len, bool open,
                                   size_t *used, ws_fault *fault)
{
    char *copy = guarded_copy(octets, len);
    slice input = slice_make(copy, len);
    ws_head_result result = ws_head_read(head, &input, open, fault);
    *used += len - input.len;
    guarded_free(copy, len);
    return result;
}

static void check_result(const head_case *c, size_t split, ws_head_result result, size_t used,
                         const ws_head *head, const ws_fault *fault)
{
    size_t wanted = c->reason ? c->fault_at : c->len;
    if (used != wanted) fail_msg("%s, split %zu: %zu octets were used", c->name, split, used);
    assert_int_equal(result, c->reason ? WS_HEAD_FAULT : WS_HEAD_READ);
    if (c->reason) {
        assert_string_equal(fault->reason, c->reason);
        assert_int_equal(fault->code, WS_CODE_PROTOCOL);
        return;
    }
    assert_true(head->payload == c->payload);
    assert_memory_equal(head->key, KEY, WS_KEY_OCTETS);
    assert_int_equal(head->opcode, (uint8_t)c->octets[0] & 15);
    assert_int_equal(head->final, (uint8_t)c->octets[0] >> 7);
}

static void test_heads_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const head_case *c = &cases[i];
        for (size_t split = 0; split <= c->len; split++) {
            ws_head head = { 0 };
            ws_fault fault = { 0 };
            size_t used = 0;
            ws_head_result result = read_guarded(&head, c->octets, split, c->open, &used, &fault);
            if (result == WS_HEAD_MORE)
                result =
                    read_guarded(&head, c->octets + split, c->len - split, c->open, &used, &fault);
            check_result(c, split, result, used, &head, &fault);
        }
    }
}

typedef struct written_case {
    uint64_t payload;
    ws_opcode opcode;
    bool final;
    const char *octets;
    size_t len;
} written_case;

static void test_heads_are_written(void **state)
{
    (void)state;
    static const written_case written[] = {
        { 0, WS_TEXT, true, OCTETS("\x81\x00") },
        { 125, WS_BINARY, true, OCTETS("\x82\x7d") },
        { 126, WS_BINARY, false, OCTETS("\x02\x7e\x00\x7e") },
        { 65535, WS_CONTINUATION, true, OCTETS("\x80\x7e\xff\xff") },
        { 65536, WS_CONTINUATION, false, OCTETS("\x00\x7f\0\0\0\0\0\x01\0\0") },
        { INT64_MAX, WS_TEXT, true, OCTETS("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff") },
        { 2, WS_CLOSE, true, OCTETS("\x88\x02") },
        { 4, WS_PING, true, OCTETS("\x89\x04") },
        { 4, WS_PONG, true, OCTETS("\x8a\x04") },
    };
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        const written_case *w = &written[i];
        char out[WS_SENT_HEAD_OCTETS_MAX];
        assert_int_equal(ws_head_write(out, w->opcode, w->final, w->payload), w->len);
        assert_int_equal(ws_head_octets(w->payload), w->len);
        assert_memory_equal(out, w->octets, w->len);
    }
}

// ---- Closes ----

static void test_codes(void **state)
{
    (void)state;
    static const unsigned sendable[] = { 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010,
                                         1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999 };
    static const unsigned others[] = { 0,    999,  1004, 1005, 1006, 1015,
                                       1016, 1100, 2000, 2999, 5000, 65535 };
    for (size_t i = 0; i < sizeof sendable / sizeof *sendable; i++)
        assert_true(ws_code_is_sendable(sendable[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(ws_code_is_sendable(others[i]));
}

static void expect_close(const char *octets, size_t len, uint16_t code, const char *reason,
                         uint16_t fault_code)
{
    char *payload = guarded_copy(octets, len);
    uint16_t said = 0;
    slice text = { 0 };
    ws_fault fault = { 0 };
    assert_int_equal(ws_close_read(slice_make(payload, len), &said, &text, &fault), !fault_code);
    assert_int_equal(fault.code, fault_code);
    assert_int_equal(said, code);
    assert_true(slice_equal(text, slice_of(reason)));
    guarded_free(payload, len);
}

static void test_payloads_of_closes(void **state)
{
    (void)state;
    expect_close(OCTETS(""), WS_CODE_NONE, "", 0);
    expect_close(OCTETS("\x03\xe8"), 1000, "", 0);
    expect_close(OCTETS("\x0f\xa0h\xc3\xa9"), 4000, "h\xc3\xa9", 0);
    expect_close(OCTETS("\x03"), 0, "", WS_CODE_PROTOCOL);
    expect_close(OCTETS("\x03\xed"), 0, "", WS_CODE_PROTOCOL);
    expect_close(OCTETS("\x03\xe8\xc3"), 0, "", WS_CODE_NOT_TEXT);
    expect_close(OCTETS("\x03\xe8\xff"), 0, "", WS_CODE_NOT_TEXT);
}

static void test_closes_are_written(void **state)
{
    (void)state;
    char out[WS_CONTROL_OCTETS_MAX], reason[200];
    memset(reason, 'r', sizeof reason);
    assert_int_equal(ws_close_write(out, WS_CODE_NONE, SKUA_SLICE("x")), 0);
    assert_int_equal(ws_close_write(out, 1001, SKUA_SLICE("bye")), 5);
    assert_memory_equal(out,
                        "\x03\xe9"
                        "bye",
                        5);
    assert_int_equal(ws_close_write(out, 1000, slice_make(reason, 123)), 125);
    assert_int_equal(ws_close_write(out, 1000, slice_make(reason, 124)), 125);
    memcpy(reason + 121, "\xe2\x82\xac", 3); // a character that ends past the room
    assert_int_equal(ws_close_write(out, 1000, slice_make(reason, 124)), 123);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_at_every_split),
        cmocka_unit_test(test_heads_are_written),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_payloads_of_closes),
        cmocka_unit_test(test_closes_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
