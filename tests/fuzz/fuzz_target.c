// SPDX-License-Identifier: MIT
//
// Request targets. What is accepted consists of what was sent; its normal form leads nowhere but
// down from "/", is its own normal form when written encoded, and is the raw path when that was
// called clean. What is accepted strictly is accepted otherwise too, and read the same; what leaves
// again is accepted strictly, and means the same.
// Input: an octet that chooses the method, then the target.

#include "http/target.h"

#include "base/utf8.h"
#include "http/query.h"
#include "http/syntax.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static bool lies_inside(slice part, slice text)
{
    return part.len == 0 || (part.ptr >= text.ptr && part.ptr + part.len <= text.ptr + text.len);
}

static bool is_slash(slice s)
{
    return s.len == 1 && s.ptr[0] == '/';
}

static bool has(slice text, const char *needle)
{
    return text.len && memmem(text.ptr, text.len, needle, strlen(needle)) != NULL;
}

static bool ends_in(slice text, const char *end)
{
    size_t n = strlen(end);
    return text.len >= n && memcmp(text.ptr + text.len - n, end, n) == 0;
}

static void require_parts(slice method, slice text, const target *t)
{
    require(lies_inside(t->raw_path, text) ||
            (t->form == TARGET_ABSOLUTE && is_slash(t->raw_path)));
    require(lies_inside(t->query, text));
    require(lies_inside(t->authority, text));
    require((t->form == TARGET_AUTHORITY) == slice_equal(method, slice_of("CONNECT")));
    require(t->form != TARGET_ASTERISK || slice_equal(method, slice_of("OPTIONS")));
    bool needs_authority = t->form == TARGET_ABSOLUTE || t->form == TARGET_AUTHORITY;
    require(needs_authority == (t->authority.len > 0));
    require(!has(t->authority, "@") && !has(t->authority, "\\") && !has(t->raw_path, "\\"));
}

// Nothing that ends a target elsewhere, and nothing that two readers could take for two texts.
static void require_octets(slice text)
{
    while (text.len) {
        uint32_t point;
        size_t len = utf8_read(text, &point);
        require(len > 0 && point > ' ' && point != 0x7f && !strchr("\"<>#", text.ptr[0]));
        text = slice_from(text, len);
    }
}

static bool is_same(slice a, slice b)
{
    return slice_equal(a, b) && !a.ptr == !b.ptr;
}

static void require_strict_is_less(slice method, slice text, const target *t)
{
    target strict;
    if (target_parse(method, text, true, &strict).status) return;
    require(strict.form == t->form && strict.clean == t->clean);
    require(is_same(strict.raw_path, t->raw_path) && is_same(strict.query, t->query));
    require(is_same(strict.authority, t->authority));
}

static void require_normal(slice normal)
{
    require(normal.len > 0 && normal.ptr[0] == '/');
    require(!memchr(normal.ptr, '\0', normal.len));
    require(!has(normal, "//") && !has(normal, "/./") && !has(normal, "/../"));
    require(!ends_in(normal, "/.") && !ends_in(normal, "/.."));
}

static void require_encoded(slice encoded)
{
    require(encoded.len > 0 && encoded.ptr[0] == '/');
    require(encoded.len == 1 || encoded.ptr[1] != '/');
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.ptr[i];
        require(c == '/' || c == '%' || syntax_is(c, SYNTAX_PATH_PLAIN));
    }
}

// The encoded normal form is a target whose normal form is the same.
static void require_idempotent(slice normal)
{
    char *encoded = malloc(3 * normal.len + 1);
    require(encoded != NULL);
    slice text = slice_make(encoded, target_encode(normal, encoded));
    require(text.len <= 3 * normal.len + 1);
    require_encoded(text);
    target t;
    bool plain;
    require(target_parse(slice_of("GET"), text, true, &t).status == 0);
    require(t.form == TARGET_ORIGIN && t.raw_path.len == text.len);
    char *again = malloc(text.len + 1);
    require(again != NULL);
    require(slice_equal(slice_make(again, target_normalise(text, again, &plain)), normal));
    free(again);
    free(encoded);
}

static void require_path(const target *t)
{
    bool plain;
    char *out = malloc(t->raw_path.len + 1);
    require(out != NULL);
    slice normal = slice_make(out, target_normalise(t->raw_path, out, &plain));
    require(normal.len <= t->raw_path.len + 1);
    require_normal(normal);
    bool same = slice_equal(normal, t->raw_path);
    require(t->clean == (same && !has(t->raw_path, "%")));
    require(plain || !t->clean);
    require(!plain || !has(normal, "\\"));
    require_idempotent(normal);
    free(out);
}

static slice decoded(slice query, char **memory)
{
    *memory = malloc(query.len + 1);
    require(*memory != NULL);
    return slice_make(*memory, query_decode(query, *memory));
}

static slice normal_of(slice raw_path, char **memory)
{
    bool plain;
    *memory = malloc(raw_path.len + 1);
    require(*memory != NULL);
    return slice_make(*memory, target_normalise(raw_path, *memory, &plain));
}

static void require_same_meaning(const target *a, const target *b)
{
    char *memory[4];
    require(a->form == b->form && slice_equal(a->authority, b->authority));
    require(slice_equal(normal_of(a->raw_path, &memory[0]), normal_of(b->raw_path, &memory[1])));
    require(slice_equal(decoded(a->query, &memory[2]), decoded(b->query, &memory[3])));
    require(!a->query.ptr == !b->query.ptr);
    for (size_t i = 0; i < 4; i++)
        free(memory[i]);
}

static void require_escaped(slice method, slice text, const target *t)
{
    size_t room = 3 * text.len, used;
    char *escaped = malloc(room + 1);
    require(escaped != NULL);
    slice leaving = slice_make(escaped, target_escape(text, escaped, room, &used));
    require(used == text.len && leaving.len <= room);
    target again;
    require(target_parse(method, leaving, true, &again).status == 0);
    require_same_meaning(t, &again);
    free(escaped);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    static const char *const methods[] = { "GET", "OPTIONS", "CONNECT" };
    if (len < 1) return 0;
    slice method = slice_of(methods[octets[0] % 3]);
    slice text = slice_make((const char *)octets + 1, len - 1);
    target t;
    fault f = target_parse(method, text, false, &t);
    require(f.status == 0 || f.status == 400);
    if (f.status) return 0;
    require_parts(method, text, &t);
    require_octets(text);
    require_strict_is_less(method, text, &t);
    require_escaped(method, text, &t);
    if (t.form == TARGET_ORIGIN || t.form == TARGET_ABSOLUTE) require_path(&t);
    return 0;
}
