// SPDX-License-Identifier: MIT
//
// Frames of HTTP/2: each type at the edges of the sizes and streams that it may have, heads read and
// written, and padding.

#include "http/h2_frame.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { CONNECTION = FAULT_CONNECTION, STREAM = FAULT_STREAM, UNKNOWN_TYPE = 0x42 };

// ---- Heads ----

// Also with the reserved bit before the stream, which is ignored (RFC 9113 §4.1).
static void test_h2_frame_heads_are_read_as_written(void **state)
{
    (void)state;
    static const h2_frame frames[] = {
        { .len = 0, .type = H2_DATA, .flags = 0, .stream = 0 },
        { .len = 0xffffff, .type = 0xff, .flags = 0xff, .stream = H2_WINDOW_MAX },
        { .len = 0x010203, .type = 4, .flags = 5, .stream = 0x06070809 },
        { .len = 0x800000, .type = 0x80, .flags = 0x80, .stream = 0x00800080 },
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        for (int reserved = 0; reserved < 2; reserved++) {
            char *head = guarded_copy("123456789", H2_HEAD_OCTETS);
            assert_ptr_equal(h2_write_head(head, frames[i]), head + H2_HEAD_OCTETS);
            if (reserved) head[5] = (char)((unsigned char)head[5] | 0x80u);
            h2_frame read = h2_read_head(head);
            assert_int_equal(read.len, frames[i].len);
            assert_int_equal(read.type, frames[i].type);
            assert_int_equal(read.flags, frames[i].flags);
            assert_int_equal(read.stream, frames[i].stream);
            guarded_free(head, H2_HEAD_OCTETS);
        }
    }
}

static void test_h2_frame_head_is_in_network_order(void **state)
{
    (void)state;
    char head[H2_HEAD_OCTETS];
    h2_write_head(head, (h2_frame){ .len = 0x010203, .type = 4, .flags = 5, .stream = 0x06070809 });
    assert_memory_equal(head, "\1\2\3\4\5\6\7\10\11", sizeof head);
}

// ---- Sizes and streams ----

// The frame at these lengths; h2_code H2_NO_ERROR: it may be so.
static const struct {
    int type, flags;
    uint32_t stream, len;
    int scope, code;
} cases[] = {
    { H2_DATA, 0, 1, 0, 0, H2_NO_ERROR },
    { H2_DATA, 0, 1, 16384, 0, H2_NO_ERROR },
    { H2_DATA, 0, 1, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_DATA, 0, 1, 0xffffff, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_DATA, 0, 0, 0, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_DATA, 0, H2_WINDOW_MAX, 0, 0, H2_NO_ERROR },
    { H2_HEADERS, 0, 1, 0, 0, H2_NO_ERROR },
    { H2_HEADERS, 0, 1, 16384, 0, H2_NO_ERROR },
    { H2_HEADERS, 0, 1, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_HEADERS, 0, 0, 1, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_PRIORITY, 0, 1, 5, 0, H2_NO_ERROR },
    { H2_PRIORITY, 0, 1, 0, STREAM, H2_FRAME_SIZE_ERROR },
    { H2_PRIORITY, 0, 1, 4, STREAM, H2_FRAME_SIZE_ERROR },
    { H2_PRIORITY, 0, 1, 6, STREAM, H2_FRAME_SIZE_ERROR },
    { H2_PRIORITY, 0, 1, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_PRIORITY, 0, 0, 5, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_PRIORITY, 0, 0, 4, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_RST_STREAM, 0, 1, 4, 0, H2_NO_ERROR },
    { H2_RST_STREAM, 0, 1, 3, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_RST_STREAM, 0, 1, 5, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_RST_STREAM, 0, 0, 4, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_SETTINGS, 0, 0, 0, 0, H2_NO_ERROR },
    { H2_SETTINGS, 0, 0, 5, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_SETTINGS, 0, 0, 6, 0, H2_NO_ERROR },
    { H2_SETTINGS, 0, 0, 7, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_SETTINGS, 0, 0, 12, 0, H2_NO_ERROR },
    { H2_SETTINGS, 0, 1, 6, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_SETTINGS, H2_FLAG_ACK, 0, 0, 0, H2_NO_ERROR },
    { H2_SETTINGS, H2_FLAG_ACK, 0, 1, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_SETTINGS, H2_FLAG_ACK, 0, 6, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_PUSH_PROMISE, 0, 1, 4, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_PUSH_PROMISE, 0, 0, 0, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_PING, 0, 0, 8, 0, H2_NO_ERROR },
    { H2_PING, H2_FLAG_ACK, 0, 8, 0, H2_NO_ERROR },
    { H2_PING, 0, 0, 7, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_PING, H2_FLAG_ACK, 0, 9, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_PING, 0, 1, 8, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_GOAWAY, 0, 0, 7, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_GOAWAY, 0, 0, 8, 0, H2_NO_ERROR },
    { H2_GOAWAY, 0, 0, 16384, 0, H2_NO_ERROR },
    { H2_GOAWAY, 0, 0, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_GOAWAY, 0, 1, 8, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_WINDOW_UPDATE, 0, 0, 4, 0, H2_NO_ERROR },
    { H2_WINDOW_UPDATE, 0, 1, 4, 0, H2_NO_ERROR },
    { H2_WINDOW_UPDATE, 0, 0, 3, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_WINDOW_UPDATE, 0, 1, 5, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_CONTINUATION, 0, 1, 0, 0, H2_NO_ERROR },
    { H2_CONTINUATION, 0, 1, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_CONTINUATION, 0, 0, 0, CONNECTION, H2_PROTOCOL_ERROR },
    { H2_PRIORITY_UPDATE, 0, 0, 3, CONNECTION, H2_FRAME_SIZE_ERROR },
    { H2_PRIORITY_UPDATE, 0, 0, 4, 0, H2_NO_ERROR },
    { H2_PRIORITY_UPDATE, 0, 1, 4, CONNECTION, H2_PROTOCOL_ERROR },
    { UNKNOWN_TYPE, 0xff, 0, 0, 0, H2_NO_ERROR },
    { UNKNOWN_TYPE, 0xff, 1, 16384, 0, H2_NO_ERROR },
    { UNKNOWN_TYPE, 0, 1, 16385, CONNECTION, H2_FRAME_SIZE_ERROR },
};

static void test_h2_frame_sizes_and_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const h2_frame frame = { .len = cases[i].len,
                                 .stream = cases[i].stream,
                                 .type = (uint8_t)cases[i].type,
                                 .flags = (uint8_t)cases[i].flags };
        fault why = h2_check_head(&frame);
        bool is_right = why.h2_code == cases[i].code && (why.status != 0) == (why.h2_code != 0) &&
                        (!why.status || (int)why.scope == cases[i].scope);
        if (!is_right)
            fail_msg("type %d, stream %u, %u octets: %d of %d (%s)", cases[i].type, frame.stream,
                     frame.len, why.h2_code, (int)why.scope, why.reason);
    }
}

// ---- Padding ----

// Constants, as an initializer needs them.
#define OCTETS(literal) { literal, sizeof(literal) - 1 }

typedef struct padding_case {
    int type, flags;
    slice payload;
    bool is_right;
    slice left;
    uint32_t depends_on;
} padding_case;

static const padding_case paddings[] = {
    { H2_DATA, 0, OCTETS(""), true, OCTETS(""), 0 },
    { H2_DATA, 0, OCTETS("\5abc"), true, OCTETS("\5abc"), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS(""), false, OCTETS(""), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\0"), true, OCTETS(""), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\1"), false, OCTETS(""), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\0abc"), true, OCTETS("abc"), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\2abc"), true, OCTETS("a"), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\3abc"), true, OCTETS(""), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\4abc"), false, OCTETS(""), 0 },
    { H2_DATA, H2_FLAG_PADDED, OCTETS("\377abc"), false, OCTETS(""), 0 },
    // The flag means nothing in DATA.
    { H2_DATA, H2_FLAG_PRIORITY, OCTETS("abc"), true, OCTETS("abc"), 0 },
    { H2_HEADERS, H2_FLAG_PRIORITY, OCTETS("\0\0\0\3"), false, OCTETS(""), 0 },
    { H2_HEADERS, H2_FLAG_PRIORITY, OCTETS("\0\0\0\3\1"), true, OCTETS(""), 3 },
    { H2_HEADERS, H2_FLAG_PRIORITY, OCTETS("\200\0\0\3\1a"), true, OCTETS("a"), 3 },
    { H2_HEADERS, H2_FLAG_PRIORITY, OCTETS("\377\377\377\377\1a"), true, OCTETS("a"),
      H2_WINDOW_MAX },
    { H2_HEADERS, H2_FLAG_PADDED | H2_FLAG_PRIORITY, OCTETS("\1\0\0\0\3\1"), false, OCTETS(""), 0 },
    { H2_HEADERS, H2_FLAG_PADDED | H2_FLAG_PRIORITY, OCTETS("\1\0\0\0\3\1a"), true, OCTETS(""), 3 },
    { H2_HEADERS, H2_FLAG_PADDED | H2_FLAG_PRIORITY, OCTETS("\1\0\0\0\3\1ab"), true, OCTETS("a"),
      3 },
    { H2_HEADERS, H2_FLAG_PADDED | H2_FLAG_PRIORITY, OCTETS("\0\0\0\3"), false, OCTETS(""), 0 },
};

static void test_h2_frame_padding(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        slice given = paddings[i].payload, left = paddings[i].left;
        char *guarded = guarded_copy(given.ptr, given.len);
        slice payload = slice_make(guarded, given.len);
        const h2_frame frame = { .len = (uint32_t)given.len,
                                 .stream = 1,
                                 .type = (uint8_t)paddings[i].type,
                                 .flags = (uint8_t)paddings[i].flags };
        uint32_t depends_on = 77;
        bool is_right = h2_unpad(&frame, &payload, &depends_on);
        if (is_right != paddings[i].is_right) fail_msg("case %zu: %d", i, is_right);
        if (is_right) {
            if (!slice_equal(payload, left)) fail_msg("case %zu: %zu octets left", i, payload.len);
            assert_int_equal(depends_on, paddings[i].depends_on);
        }
        guarded_free(guarded, given.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_frame_heads_are_read_as_written),
        cmocka_unit_test(test_h2_frame_head_is_in_network_order),
        cmocka_unit_test(test_h2_frame_sizes_and_streams),
        cmocka_unit_test(test_h2_frame_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
