// SPDX-License-Identifier: MIT
//
// The content of multipart/byteranges, whatever the pieces it is taken in.

#include "files/byteranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { TEXT_MAX = 8192 };

// Content of the file at an offset.
static char content_at(uint64_t offset)
{
    return (char)('a' + offset % 26);
}

// Takes it all, at most step octets at a time. Returns how many.
static size_t take(byteranges b, size_t step, char *text)
{
    char head[BYTERANGES_PART_OCTETS];
    size_t len = 0;
    for (;;) {
        byteranges_piece piece = byteranges_next(&b, head);
        if (piece.length == 0) return len;
        size_t n = piece.length < step ? (size_t)piece.length : step;
        assert_true(len + n <= TEXT_MAX);
        for (size_t i = 0; i < n; i++) {
            text[len + i] = piece.head ? piece.head[i] : content_at(piece.offset + i);
        }
        len += n;
        byteranges_advance(&b, n, &piece);
    }
}

static void test_byteranges_are_multipart(void **state)
{
    (void)state;
    static const char expected[] = "--skua-00000000000000ab\r\n"
                                   "Content-Type: text/plain\r\n"
                                   "Content-Range: bytes 3-5/100\r\n"
                                   "\r\n"
                                   "def"
                                   "\r\n--skua-00000000000000ab\r\n"
                                   "Content-Type: text/plain\r\n"
                                   "Content-Range: bytes 99-99/100\r\n"
                                   "\r\n"
                                   "v"
                                   "\r\n--skua-00000000000000ab--\r\n";
    const range list[] = { { 3, 3 }, { 99, 1 } };
    byteranges b;
    byteranges_init(&b, 0xab, "text/plain", 100, list, 2);
    assert_int_equal(byteranges_length(&b), sizeof expected - 1);
    for (size_t step = 1; step < sizeof expected; step++) {
        char text[TEXT_MAX];
        assert_int_equal(take(b, step, text), sizeof expected - 1);
        assert_memory_equal(text, expected, sizeof expected - 1);
    }
    char type[BYTERANGES_TYPE_OCTETS];
    byteranges_type(&b, type);
    assert_string_equal(type, "multipart/byteranges; boundary=skua-00000000000000ab");
}

static void test_byteranges_state_their_length(void **state)
{
    (void)state;
    range list[RANGES_MAX];
    for (unsigned count = 2; count <= RANGES_MAX; count++) {
        for (unsigned i = 0; i < count; i++)
            list[i] = (range){ 1000u * i, i * 7 + 1 };
        byteranges b;
        byteranges_init(&b, UINT64_MAX, "image/png", 123456789, list, count);
        char text[TEXT_MAX];
        assert_int_equal(take(b, 100, text), byteranges_length(&b));
    }
}

// Past 4 GiB, with the largest numbers there are, and the longest type of the table: no part head
// is cut.
static void test_byteranges_of_a_huge_file(void **state)
{
    (void)state;
    const range list[] = { { UINT64_MAX - 10, 5 }, { UINT64_MAX - 2, 1 } };
    const char *type = skua_media_type(SKUA_SLICE("a.pptx"));
    byteranges b;
    byteranges_init(&b, UINT64_MAX, type, UINT64_MAX, list, 2);
    char text[TEXT_MAX];
    size_t len = take(b, 1, text);
    assert_int_equal(len, byteranges_length(&b));
    text[len] = 0;
    assert_non_null(strstr(
        text, "bytes 18446744073709551605-18446744073709551609/18446744073709551615\r\n\r\n"));
    assert_non_null(strstr(text, type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byteranges_are_multipart),
        cmocka_unit_test(test_byteranges_state_their_length),
        cmocka_unit_test(test_byteranges_of_a_huge_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
