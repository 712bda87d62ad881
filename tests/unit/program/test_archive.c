// SPDX-License-Identifier: MIT
//
// The octets around files in archives, where numbers are at their edges. Programs that unpack archives
// are asked in tests/e2e/test_conf_archive.py.

#include "program/archive/crc.h"
#include "program/archive/disposition.h"
#include "program/archive/tar.h"
#include "program/archive/utf8.h"
#include "program/archive/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define OCTAL_MAX 077777777777ull

static archive_member member_of(const char *name)
{
    size_t len = strlen(name);
    return (archive_member){
        .name = name, .name_len = len, .is_folder = name[len - 1] == '/', .mtime_s = 1234567890
    };
}

static uint64_t number_at(const char *piece, unsigned octets)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < octets; i++)
        number |= (uint64_t)(unsigned char)piece[i] << 8 * i;
    return number;
}

static const char *text_in(const char *piece, size_t len, const char *text)
{
    return memmem(piece, len, text, strlen(text));
}

// ---- Checksums ----

static void test_crc(void **state)
{
    (void)state;
    static const char digits[] = "123456789";
    char zeros[32] = { 0 };
    assert_int_equal(crc_add(0, "", 0), 0);
    assert_int_equal(crc_add(0, digits, 9), 0xcbf43926);
    for (size_t split = 0; split <= 9; split++)
        assert_int_equal(crc_add(crc_add(0, digits, split), digits + split, 9 - split), 0xcbf43926);
    assert_int_equal(crc_add(0, zeros, sizeof zeros), 0x190a55ad);
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *octets;
        bool is_right;
    } cases[] = {
        { "", true },
        { "plain", true },
        { "\xc3\xb6", true },
        { "\xc2\x80", true },
        { "\xe0\xa0\x80", true },
        { "\xed\x9f\xbf", true },
        { "\xf0\x90\x80\x80", true },
        { "\xf4\x8f\xbf\xbf", true },
        { "\xc3", false },
        { "\xc3g", false },
        { "\x80", false },
        { "\xc0\xaf", false },
        { "\xc1\xbf", false },
        { "\xe0\x9f\xbf", false },
        { "\xed\xa0\x80", false },
        { "\xf0\x8f\xbf\xbf", false },
        { "\xf4\x90\x80\x80", false },
        { "\xf5\x80\x80\x80", false },
        { "\xff", false },
        { "a\xe2\x82", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(utf8_is_right(cases[i].octets, strlen(cases[i].octets)),
                         cases[i].is_right);
}

// ---- tar ----

static void assert_sealed(const char *block)
{
    unsigned sum = 0;
    for (size_t i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    assert_int_equal(strtoul(block + 148, NULL, 8), sum);
}

static void test_tar_header(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    archive_member member = member_of("a/b.txt");
    member.size = 1000;
    assert_int_equal(tar_format.head(&member, piece), 512);
    assert_string_equal(piece, "a/b.txt");
    assert_string_equal(piece + 100, "0000644");
    assert_string_equal(piece + 124, "00000001750");
    assert_string_equal(piece + 136, "11145401322");
    assert_int_equal(piece[156], '0');
    assert_memory_equal(piece + 257,
                        "ustar\0"
                        "00",
                        8);
    assert_sealed(piece);
    assert_int_equal(tar_format.tail(&member, piece), 24);
    member = member_of("a/");
    assert_int_equal(tar_format.head(&member, piece), 512);
    assert_int_equal(piece[156], '5');
    assert_int_equal(tar_format.tail(&member, piece), 0);
    assert_int_equal(tar_format.end(&(archive_index){ 0 }, piece), 1024);
}

static void test_tar_padding(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    static const struct {
        uint64_t size;
        size_t padding;
    } cases[] = {
        { 0, 0 }, { 1, 511 }, { 511, 1 }, { 512, 0 }, { 513, 511 }, { OCTAL_MAX + 1, 0 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        archive_member member = member_of("a");
        member.size = cases[i].size;
        assert_int_equal(tar_format.tail(&member, piece), cases[i].padding);
    }
}

// A name of 100 octets fits; one of 101 stands in a record, whose number counts itself.
static void test_tar_names(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX], name[ARCHIVE_NAME_OCTETS_MAX + 1];
    memset(name, 'n', sizeof name);
    name[100] = '\0';
    archive_member member = member_of(name);
    assert_int_equal(tar_format.head(&member, piece), 512);
    assert_memory_equal(piece, name, 100);
    name[100] = 'n';
    name[101] = '\0';
    member = member_of(name);
    assert_int_equal(tar_format.head(&member, piece), 1536);
    assert_int_equal(piece[156], 'x');
    assert_memory_equal(piece + 512, "111 path=n", 10);
    assert_int_equal(piece[512 + 110], '\n');
    assert_int_equal(strtoul(piece + 124, NULL, 8), 111);
    assert_sealed(piece);
    assert_sealed(piece + 1024);
    memset(name, 'n', sizeof name);
    name[ARCHIVE_NAME_OCTETS_MAX] = '\0';
    member = member_of(name);
    member.size = UINT64_MAX / 4;
    member.mtime_s = INT64_MIN / 2;
    assert_in_range(tar_format.head(&member, piece), 4096 + 512, ARCHIVE_PIECE_OCTETS_MAX);
}

// Around lengths where the number of digits changes, a record has no length that fits but one.
static void test_tar_records_count_themselves(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX], name[1200];
    for (size_t len = 101; len < 1100; len++) {
        memset(name, 'n', len);
        name[len] = '\0';
        archive_member member = member_of(name);
        (void)tar_format.head(&member, piece);
        unsigned long said = strtoul(piece + 512, NULL, 10);
        assert_int_equal(piece[512 + said - 1], '\n');
        if (said % 512) assert_int_equal(piece[512 + said], '\0');
    }
}

static void test_tar_beyond_ustar(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    archive_member member = member_of("large");
    member.size = OCTAL_MAX;
    assert_int_equal(tar_format.head(&member, piece), 512);
    assert_string_equal(piece + 124, "77777777777");
    member.size = OCTAL_MAX + 1;
    assert_int_equal(tar_format.head(&member, piece), 1536);
    assert_non_null(text_in(piece, 1024, "19 size=8589934592\n"));
    assert_string_equal(piece + 1024 + 124, "00000000000");
    member = member_of("old");
    member.mtime_s = -1;
    assert_int_equal(tar_format.head(&member, piece), 1536);
    assert_non_null(text_in(piece, 1024, "12 mtime=-1\n"));
    member = member_of("d\xc3\xb6");
    assert_int_equal(tar_format.head(&member, piece), 1536);
    assert_non_null(text_in(piece, 1024, "12 path=d\xc3\xb6\n"));
    member = member_of("\xff");
    assert_int_equal(tar_format.head(&member, piece), 512);
}

// ---- zip ----

static void test_zip_file(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    archive_member member = member_of("a.txt");
    member.size = 1000;
    member.crc = 0x12345678;
    member.offset = 77;
    assert_int_equal(zip_format.head(&member, piece), 30 + 5 + 9);
    assert_int_equal(number_at(piece, 4), 0x04034b50);
    assert_int_equal(number_at(piece + 4, 2), 20);
    assert_int_equal(number_at(piece + 6, 2), 0x0808);
    assert_int_equal(number_at(piece + 10, 4), 0x3a4dbbef); // 2009-02-13 23:31:30
    assert_int_equal(number_at(piece + 14, 4), 0);
    assert_int_equal(number_at(piece + 18, 4), 0);
    assert_int_equal(zip_format.tail(&member, piece), 16);
    assert_int_equal(number_at(piece, 4), 0x08074b50);
    assert_int_equal(number_at(piece + 4, 4), 0x12345678);
    assert_int_equal(number_at(piece + 12, 4), 1000);
    assert_int_equal(zip_format.entry(&member, piece), 46 + 5 + 9);
    assert_int_equal(number_at(piece, 4), 0x02014b50);
    assert_int_equal(number_at(piece + 38, 4), 0100644u << 16);
    assert_int_equal(number_at(piece + 42, 4), 77);
}

// A member without content has nothing behind it, and says so in its head.
static void test_zip_without_content(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    static const char *const names[] = { "a/", "empty", "\xff" };
    for (size_t i = 0; i < 3; i++) {
        archive_member member = member_of(names[i]);
        (void)zip_format.head(&member, piece);
        assert_int_equal(number_at(piece + 6, 2), i == 2 ? 0 : 0x0800);
        assert_int_equal(zip_format.tail(&member, piece), 0);
        (void)zip_format.entry(&member, piece);
        assert_int_equal(number_at(piece + 38, 4), i == 0 ? 040755u << 16 | 0x10 : 0100644u << 16);
    }
}

static void test_zip_64(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    archive_member member = member_of("a");
    member.size = 0xfffffffe;
    member.offset = 0xfffffffe;
    assert_int_equal(zip_format.head(&member, piece), 30 + 1 + 9);
    assert_int_equal(zip_format.tail(&member, piece), 16);
    assert_int_equal(zip_format.entry(&member, piece), 46 + 1 + 9);
    member.offset++;
    assert_int_equal(zip_format.entry(&member, piece), 46 + 1 + 9 + 12);
    assert_int_equal(number_at(piece + 46 + 1 + 9 + 4, 8), 0xffffffff);
    member.size++;
    assert_int_equal(zip_format.head(&member, piece), 30 + 1 + 9 + 20);
    assert_int_equal(number_at(piece + 4, 2), 45);
    assert_int_equal(number_at(piece + 18, 8), UINT64_MAX);
    assert_int_equal(zip_format.tail(&member, piece), 24);
    assert_int_equal(number_at(piece + 16, 8), 0xffffffff);
    assert_int_equal(zip_format.entry(&member, piece), 46 + 1 + 9 + 28);
}

static void test_zip_end(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    archive_index index = { 0xfffe, 0xfffffffe, 0xfffffffe };
    assert_int_equal(zip_format.end(&index, piece), 22);
    index.count++;
    assert_int_equal(zip_format.end(&index, piece), 56 + 20 + 22);
    assert_int_equal(number_at(piece + 32, 8), 0xffff);
    assert_int_equal(number_at(piece + 76 + 8, 4), 0xffffffff);
    index = (archive_index){ 1, 0xffffffff, 100 };
    assert_int_equal(zip_format.end(&index, piece), 56 + 20 + 22);
    assert_int_equal(number_at(piece + 56 + 8, 8), 0xffffffff + 100ull);
}

static void test_zip_times(void **state)
{
    (void)state;
    char piece[ARCHIVE_PIECE_OCTETS_MAX];
    static const struct {
        int64_t mtime_s;
        uint32_t dos;
        size_t extra;
    } cases[] = {
        { 0, 0x00210000, 9 },         { INT64_C(-5000000000), 0x00210000, 0 },
        { 315532799, 0x00210000, 9 }, { 315532800, 0x00210000, 9 },
        { 315532802, 0x00210001, 9 }, { INT64_C(99999999999), 0xff9f0000, 0 },
        { INT64_MAX, 0xff9f0000, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        archive_member member = member_of("a");
        member.mtime_s = cases[i].mtime_s;
        assert_int_equal(zip_format.head(&member, piece), 30 + 1 + cases[i].extra);
        if (cases[i].dos) assert_int_equal(number_at(piece + 10, 4), cases[i].dos);
    }
}

// ---- Names ----

static void test_dispositions(void **state)
{
    (void)state;
    static const struct {
        const char *path, *expected;
    } cases[] = {
        { "/", "attachment; filename=\"files.zip\"" },
        { "/a/b c/", "attachment; filename=\"b c.zip\"" },
        { "/a\"b/", "attachment; filename=\"a_b.zip\"; filename*=UTF-8''a%22b.zip" },
        { "/a\nb\x7f%/", "attachment; filename=\"a_b__.zip\"; filename*=UTF-8''a%0Ab%7F%25.zip" },
        { "/d\xc3\xb6/", "attachment; filename=\"d__.zip\"; filename*=UTF-8''d%C3%B6.zip" },
        { "/\xff/", "attachment; filename=\"_.zip\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char prefix[ARCHIVE_PREFIX_OCTETS], text[ARCHIVE_DISPOSITION_OCTETS];
        archive_prefix(prefix, skua_slice_of(cases[i].path));
        archive_disposition(text, prefix, "zip");
        assert_string_equal(text, cases[i].expected);
    }
}

static void test_a_long_name(void **state)
{
    (void)state;
    char path[300], prefix[ARCHIVE_PREFIX_OCTETS], text[ARCHIVE_DISPOSITION_OCTETS];
    for (size_t len = 254; len <= 256; len++) {
        path[0] = '/';
        for (size_t i = 0; i < len; i++)
            path[1 + i] = i % 2 ? '\xb6' : '\xc3';
        path[1 + len] = '/';
        archive_prefix(prefix, (skua_slice){ path, len + 2 });
        assert_int_equal(strlen(prefix), len <= 255 ? len + 1 : strlen("files/"));
        archive_disposition(text, prefix, "tar");
        assert_memory_equal(text + strlen(text) - 4,
                            len == 255   ? "tar\""
                            : len == 254 ? ".tar"
                                         : "tar\"",
                            4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_tar_header),
        cmocka_unit_test(test_tar_padding),
        cmocka_unit_test(test_tar_names),
        cmocka_unit_test(test_tar_records_count_themselves),
        cmocka_unit_test(test_tar_beyond_ustar),
        cmocka_unit_test(test_zip_file),
        cmocka_unit_test(test_zip_without_content),
        cmocka_unit_test(test_zip_64),
        cmocka_unit_test(test_zip_end),
        cmocka_unit_test(test_zip_times),
        cmocka_unit_test(test_dispositions),
        cmocka_unit_test(test_a_long_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
