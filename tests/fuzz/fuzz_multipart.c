// SPDX-License-Identifier: MIT
//
// The multipart parser. However the wire is cut, it comes to the same parts and the same end or
// fault; and what a part holds has no delimiter in it.
// Input: two octets that choose the split, then the wire; the boundary is "AaB03x".

#include "http/multipart.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static const multipart_limits limits = { .parts_max = 6, .head_octets_max = 160 };
static const char delimiter[] = "\r\n--AaB03x";

// The events, written down: heads, contents and ends, each with a letter before it.
typedef struct telling {
    multipart parser;
    char head[160];
    char *text;
    size_t len, room;
    size_t part; // where the content of the part that is read begins
    multipart_event last;
} telling;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void write_down(telling *t, slice octets)
{
    if (t->len + octets.len > t->room) {
        t->room = (t->len + octets.len) * 2;
        t->text = realloc(t->text, t->room);
        require(t->text != NULL);
    }
    if (octets.len) memcpy(t->text + t->len, octets.ptr, octets.len);
    t->len += octets.len;
}

static void write_number(telling *t, size_t n)
{
    write_down(t, slice_make((const char *)&n, sizeof n));
}

static void write_part(telling *t, const skua_part *part)
{
    write_down(t, SKUA_SLICE("B"));
    const slice texts[] = { part->name, part->filename, part->type };
    for (int i = 0; i < 3; i++) {
        require(texts[i].len <= sizeof t->head);
        write_number(t, texts[i].ptr ? texts[i].len + 1 : 0);
        write_down(t, texts[i]);
    }
    for (size_t i = 0; i < part->fields_count; i++) {
        require(part->fields[i].name.len > 0);
        write_down(t, part->fields[i].name);
        write_down(t, part->fields[i].value);
    }
    write_down(t, SKUA_SLICE("C"));
    t->part = t->len;
}

static void check_content(const telling *t)
{
    size_t len = t->len - t->part, n = sizeof delimiter - 1;
    const char *content = t->text + t->part;
    for (size_t i = 0; i + n <= len; i++)
        require(memcmp(content + i, delimiter, n) != 0);
    require(len < n - 2 || memcmp(content, delimiter + 2, n - 2) != 0);
}

static void tell(telling *t, slice wire)
{
    slice data;
    while (t->last != MULTIPART_FAULT) {
        size_t before = wire.len;
        t->last = multipart_next(&t->parser, &wire, &data);
        switch (t->last) {
        case MULTIPART_MORE: require(wire.len == 0); return;
        case MULTIPART_BEGIN: write_part(t, &t->parser.part); break;
        case MULTIPART_DATA:
            require(data.len > 0);
            write_down(t, data);
            break;
        case MULTIPART_END:
            check_content(t);
            write_down(t, SKUA_SLICE("E"));
            break;
        case MULTIPART_FAULT:
            require(t->parser.fault.status == 400 || t->parser.fault.status == 413);
            break;
        }
        require(wire.len <= before);
    }
}

static void tell_pieces(telling *t, slice wire, size_t first, size_t step)
{
    *t = (telling){ 0 };
    multipart_init(&t->parser, &limits, SKUA_SLICE("AaB03x"), t->head);
    for (size_t at = 0, n = first; at < wire.len; at += n, n = step) {
        if (n > wire.len - at) n = wire.len - at;
        tell(t, slice_make(wire.ptr + at, n));
    }
    write_number(t, multipart_finish(&t->parser));
    write_number(t, t->parser.fault.status);
    if (t->parser.fault.reason)
        write_down(t, slice_make(t->parser.fault.reason, strlen(t->parser.fault.reason)));
}

static void require_same(const telling *a, const telling *b)
{
    require(slice_equal(slice_make(a->text, a->len), slice_make(b->text, b->len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < 2) return 0;
    slice wire = slice_make((const char *)octets + 2, len - 2);
    size_t number = (size_t)octets[0] << 8 | octets[1];
    telling whole, halves, single, some;
    tell_pieces(&whole, wire, wire.len + 1, 1);
    tell_pieces(&halves, wire, number % (wire.len + 1), wire.len + 1);
    tell_pieces(&single, wire, 1, 1);
    tell_pieces(&some, wire, number % 3 + 1, number % 7 + 1);
    require_same(&whole, &halves);
    require_same(&whole, &single);
    require_same(&whole, &some);
    free(whole.text);
    free(halves.text);
    free(single.text);
    free(some.text);
    char boundary[MULTIPART_BOUNDARY_MAX];
    size_t boundary_len;
    if (multipart_boundary(wire, boundary, &boundary_len))
        require(boundary_len > 0 && boundary_len <= sizeof boundary);
    return 0;
}
