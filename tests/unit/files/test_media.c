// SPDX-License-Identifier: MIT
//
// Media types of names.

#include "files/media.h"
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
    { "a.jsx", "text/plain; charset=utf-8" },
    { "a.tsx", "text/plain; charset=utf-8" },
    { "a.ts", "text/plain; charset=utf-8" },
    { "a.vue", "text/plain; charset=utf-8" },
    { "a.scss", "text/plain; charset=utf-8" },
    { "a.go", "text/plain; charset=utf-8" },
    { "a.java", "text/plain; charset=utf-8" },
    { "a.rb", "text/plain; charset=utf-8" },
    { "a.php", "text/plain; charset=utf-8" },
    { "a.sh", "text/plain; charset=utf-8" },
    { "a.toml", "application/toml" },
    { "a.yaml", "application/yaml" },
    { "a.jsonl", "application/jsonl" },
    { "a.ipynb", "application/x-ipynb+json" },
    { "a.srt", "application/x-subrip" },
    { "a.heif", "image/heif" },
    { "a.jfif", "image/jpeg" },
    { "a.aiff", "audio/aiff" },
    { "a.m3u", "audio/mpegurl" },
    { "a.m4b", "audio/mp4" },
    { "a.gpx", "application/gpx+xml" },
    { "a.kml", "application/vnd.google-earth.kml+xml" },
    { "a.apk", "application/vnd.android.package-archive" },
    { "a.ttc", "font/collection" },
    { "Makefile", "text/plain; charset=utf-8" },
    { "a/README", "text/plain; charset=utf-8" },
    { "LICENSE", "text/plain; charset=utf-8" },
    { "LICENSE/a", "application/octet-stream" },
    { "README.zzz", "application/octet-stream" },
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
    assert_int_equal(found, 93);
}

static void test_media_text_is_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *type = skua_media_type(slice_of(cases[i].name));
        if (strncmp(type, "text/", 5) == 0) assert_non_null(strstr(type, "; charset=utf-8"));
    }
}

typedef struct case_look {
    const char *name;
    const char *content;
    size_t len;
    const char *type; // NULL: text/plain in UTF-8
} case_look;

#define CONTENT(text) (text), sizeof(text) - 1

static const case_look looks[] = {
    { "notes", CONTENT("plain text\r\n\twith \x1b[1mcolours\x1b[0m\n"), NULL },
    { "notes",
      CONTENT("Gr\xc3\xbc\xc3\x9f"
              "e \xf0\x9f\x98\x80"),
      NULL },
    { "notes", CONTENT("\xef\xbb\xbfwith a mark"), NULL },
    { "empty", CONTENT(""), NULL },
    { "page", CONTENT("<!doctype html><script>alert(1)</script>"), NULL },
    { "image", CONTENT("\x89PNG\r\n\x1a\n"), "application/octet-stream" },
    { "nul", CONTENT("text\0text"), "application/octet-stream" },
    { "delete", CONTENT("text\x7f"), "application/octet-stream" },
    { "latin",
      CONTENT("Gr\xfc\xdf"
              "e"),
      "application/octet-stream" },
    { "cut", CONTENT("Gr\xc3"), "application/octet-stream" },
    { "utf-16", CONTENT("\xff\xfeG\0"), "application/octet-stream" },
    { "a.zzz", CONTENT("text"), NULL },
    { ".profile", CONTENT("text"), NULL },
    { "a.ts", CONTENT("export const a = 1;\n"), NULL },
    { "a.ts", CONTENT("Given(1);\n"), NULL },
    { "a.ts", CONTENT(""), NULL },
    { "a.TS", CONTENT("\x47\x40\x11\x10\x00"), "video/mp2t" },
    { "a.ts", CONTENT("\x00\x01"), "application/octet-stream" },
    // A name that tells is believed.
    { "a.bin", CONTENT("text"), "application/octet-stream" },
    { "a.png", CONTENT("text"), "image/png" },
    { "a.txt", CONTENT("\x00"), NULL },
};

static void test_media_looks_at_what_has_no_known_ending(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        const char *type = looks[i].type ? looks[i].type : "text/plain; charset=utf-8";
        char *content = guarded_copy(looks[i].content, looks[i].len);
        slice beginning = slice_make(content, looks[i].len);
        assert_string_equal(media_type(slice_of(looks[i].name), beginning), type);
        guarded_free(content, looks[i].len);
    }
}

// Only so much is looked at, and the end of that may lie inside a character.
static void test_media_looks_at_the_beginning_only(void **state)
{
    (void)state;
    static char content[2 * MEDIA_LOOK_OCTETS];
    for (size_t before = 1; before < 5; before++) {
        memset(content, 'a', sizeof content);
        memcpy(content + MEDIA_LOOK_OCTETS - before, "\xf0\x9f\x98\x80", 4);
        slice all = slice_make(content, sizeof content);
        content[sizeof content - 1] = 0;
        assert_string_equal(media_type(slice_of("a"), all), "text/plain; charset=utf-8");
        slice first = slice_make(content, MEDIA_LOOK_OCTETS);
        assert_string_equal(media_type(slice_of("a"), first), "text/plain; charset=utf-8");
        content[MEDIA_LOOK_OCTETS - before] = (char)0xff;
        assert_string_equal(media_type(slice_of("a"), first), "application/octet-stream");
    }
}

// A file that a browser would not run without a type is not run with one either: no script of a
// type of its own, and no page.
static void test_media_makes_nothing_run(void **state)
{
    (void)state;
    static const char *const names[] = { "a.jsx", "a.tsx",  "a.ts",   "a.vue", "a.scss",
                                         "a.go",  "a.php",  "a.rb",   "a.sh",  "a.gpx",
                                         "a.kml", "README", "a.java", "page",  "a.zzz" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        skua_field guard;
        const char *type = media_type(slice_of(names[i]), slice_of("<script>alert(1)</script>"));
        assert_true(media_guard(type, &guard));
        if (strstr(type, "+xml")) assert_true(slice_equal(guard.value, slice_of("sandbox")));
        else assert_true(slice_equal(guard.value, slice_of("nosniff")));
    }
    skua_field none;
    assert_false(media_guard("text/html; charset=utf-8", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media_types),
        cmocka_unit_test(test_media_finds_all_short_endings),
        cmocka_unit_test(test_media_text_is_utf8),
        cmocka_unit_test(test_media_looks_at_what_has_no_known_ending),
        cmocka_unit_test(test_media_looks_at_the_beginning_only),
        cmocka_unit_test(test_media_makes_nothing_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
