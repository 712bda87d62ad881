// SPDX-License-Identifier: MIT
//
// Media types of names.

#include "base/slice.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

typedef struct case_type {
    const char *name, *type;
} case_type;

static const char *const unknown = "application/octet-stream";

static const case_type cases[] = {
    { "index.html", "text/html; charset=utf-8" },
    { "a.htm", "text/html; charset=utf-8" },
    { "a.css", "text/css; charset=utf-8" },
    { "a.js", "text/javascript; charset=utf-8" },
    { "a.mjs", "text/javascript; charset=utf-8" },
    { "a.cjs", "text/javascript; charset=utf-8" },
    { "a.json", "application/json" },
    { "a.js.map", "application/json" },
    { "a.webmanifest", "application/manifest+json" },
    { "a.svg", "image/svg+xml" },
    { "a.png", "image/png" },
    { "a.jpg", "image/jpeg" },
    { "a.jpeg", "image/jpeg" },
    { "a.gif", "image/gif" },
    { "a.webp", "image/webp" },
    { "a.avif", "image/avif" },
    { "favicon.ico", "image/vnd.microsoft.icon" },
    { "a.woff", "font/woff" },
    { "a.woff2", "font/woff2" },
    { "a.ttf", "font/ttf" },
    { "a.otf", "font/otf" },
    { "a.wasm", "application/wasm" },
    { "a.mp4", "video/mp4" },
    { "a.webm", "video/webm" },
    { "a.mp3", "audio/mpeg" },
    { "a.ogg", "audio/ogg" },
    { "a.pdf", "application/pdf" },
    { "a.xml", "application/xml" },
    { "a.txt", "text/plain; charset=utf-8" },
    { "a.md", "text/markdown; charset=utf-8" },
    { "a.csv", "text/csv; charset=utf-8" },
    { "a.vtt", "text/vtt; charset=utf-8" },
    { "a.zip", "application/zip" },
    { "a.tar.gz", "application/gzip" },
    { "a.3gp", "video/3gpp" },
    { "a.zst", "application/zstd" },
    // Whatever the case; the last ending counts; the last segment counts.
    { "A.HTML", "text/html; charset=utf-8" },
    { "a.Jpg", "image/jpeg" },
    { "a.html.txt", "text/plain; charset=utf-8" },
    { "site.html/data", "application/octet-stream" },
    { "a/b/c.css", "text/css; charset=utf-8" },
    // No ending, or none that is known.
    { "", "application/octet-stream" },
    { ".", "application/octet-stream" },
    { "html", "application/octet-stream" },
    { ".html", "application/octet-stream" },
    { "a/.html", "application/octet-stream" },
    { "a.", "application/octet-stream" },
    { "a.htmlx", "application/octet-stream" },
    { "a.ht", "application/octet-stream" },
    { "a.zzz", "application/octet-stream" },
    { "a.0", "application/octet-stream" },
    { "a.webmanifestwebmanifest", "application/octet-stream" },
    { "a.\xff\xff", "application/octet-stream" },
};

static void test_media_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].name);
        char *name = guarded_copy(cases[i].name, len);
        assert_string_equal(skua_media_type(slice_make(name, len)), cases[i].type);
        guarded_free(name, len);
    }
}

// A table out of order hides some of its entries from a binary search: every ending of up to three
// octets is tried
// and as many must be known as the table has with types of their own.
static void test_media_finds_all_short_endings(void **state)
{
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned found = 0;
    for (size_t a = 0; a < 36; a++) {
        for (size_t b = 0; b < 37; b++) {
            for (size_t c = 0; c < (b < 36 ? 37u : 1u); c++) {
                char name[] = {
                    'x', '.', letters[a], b < 36 ? letters[b] : 0, c < 36 ? letters[c] : 0, 0
                };
                found += strcmp(skua_media_type(slice_of(name)), unknown) != 0;
            }
        }
    }
    assert_int_equal(found, 78);
}

static void test_media_text_is_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *type = skua_media_type(slice_of(cases[i].name));
        if (strncmp(type, "text/", 5) == 0) assert_non_null(strstr(type, "; charset=utf-8"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media_types),
        cmocka_unit_test(test_media_finds_all_short_endings),
        cmocka_unit_test(test_media_text_is_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
