// SPDX-License-Identifier: MIT
//
// Request targets. What is accepted consists of what was sent; its normal form leads nowhere but
// down from "/", is its own normal form when written encoded, and is the raw path when that was
// called clean.
// Input: an octet that chooses the method, then the target.

#include "http/target.h"

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
    require(!has(t->authority, "@") && !has(text, "#") && !has(text, "\\"));
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
    require(target_parse(slice_of("GET"), text, &t).status == 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    static const char *const methods[] = { "GET", "OPTIONS", "CONNECT" };
    if (len < 1) return 0;
    slice method = slice_of(methods[octets[0] % 3]);
    slice text = slice_make((const char *)octets + 1, len - 1);
    target t;
    fault f = target_parse(method, text, &t);
    require(f.status == 0 || f.status == 400);
    if (f.status) return 0;
    require_parts(method, text, &t);
    if (t.form == TARGET_ORIGIN || t.form == TARGET_ABSOLUTE) require_path(&t);
    return 0;
}
