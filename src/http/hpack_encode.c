// SPDX-License-Identifier: MIT
//
// HPACK encoder. Entries of its table are found by a hash that leads to the last one that had it: an
// older one with the same is not found, which costs octets and no more. Strings that go to the table
// are sent once and so are worth Huffman's code; others are copied, which is what most fields of a
// response are.

#include "http/hpack_encode.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"
#include "base/inline.h"
#include "http/h1_write.h"
#include "http/hpack_static.h"
#include "http/huffman.h"
#include "http/octets.h"

enum {
    HPACK_PUT_INDEXED = 0x80,
    HPACK_PUT_ADDED = 0x40,
    HPACK_PUT_SIZE = 0x20,
    HPACK_PUT_NEVER = 0x10,
    HPACK_PUT_PLAIN = 0,
    HPACK_PUT_HUFFMAN = 0x80,

    HPACK_LOWER_OCTETS_MAX = 64, // longer names are not looked up
    HPACK_STATIC_VALUES = 16,    // the last static entry that has a value
    HPACK_ENTRY_SHARE = 4,       // of the table, that one entry may take
    HPACK_PLACE_BITS = 6,
    HPACK_PLACES = 1 << HPACK_PLACE_BITS, // by value; as many follow by name
    HPACK_DATE_PLACE = 2 * HPACK_PLACES,
    HPACK_ALL_PLACES = HPACK_DATE_PLACE + 1
};

// ---- Size ----

void hpack_encoder_init(hpack_encoder *e, lease *memory, uint32_t table_octets)
{
    SKUA_ASSERT(table_octets <= HPACK_TABLE_OCTETS_AT_FIRST);
    *e = (hpack_encoder){ .table_octets = table_octets,
                          .next_octets = table_octets,
                          .least_octets = table_octets,
                          .added = 1, // a place that is 0 leads nowhere
                          .is_resized = table_octets != HPACK_TABLE_OCTETS_AT_FIRST };
    hpack_table_init(&e->table, memory, table_octets);
}

static void hpack_encoder_forget(hpack_encoder *e)
{
    counted_free(e->places);
    e->places = NULL;
    hpack_table_deinit(&e->table);
}

void hpack_encoder_deinit(hpack_encoder *e)
{
    hpack_encoder_forget(e);
}

static void hpack_encoder_pass(hpack_encoder *e, uint32_t octets)
{
    if (octets < e->least_octets) e->least_octets = octets;
    e->is_resized = true;
}

void hpack_encoder_resize(hpack_encoder *e, uint32_t limit)
{
    if (limit > e->table_octets) limit = e->table_octets;
    if (limit == e->next_octets) return;
    e->next_octets = limit;
    hpack_encoder_pass(e, limit);
}

void hpack_encoder_drop(hpack_encoder *e)
{
    if (hpack_table_count(&e->table)) hpack_encoder_pass(e, 0);
    hpack_encoder_forget(e);
}

size_t hpack_encoder_octets(const hpack_encoder *e)
{
    return e->table.room + (e->places ? HPACK_ALL_PLACES * sizeof *e->places : 0);
}

// ---- Writing ----

static char *hpack_put_long(char *at, size_t n)
{
    for (; n >= 0x80; n >>= 7)
        *at++ = (char)(0x80 | (n & 0x7f));
    *at++ = (char)n;
    return at;
}

// An integer behind the bits of first; prefix: the greatest that fits there.
static inline char *hpack_put_integer(char *at, unsigned first, unsigned prefix, size_t n)
{
    if (n < prefix) {
        *at++ = (char)(first | (unsigned)n);
        return at;
    }
    *at++ = (char)(first | prefix);
    return hpack_put_long(at, n - prefix);
}

static inline char *hpack_put_raw(char *at, slice text)
{
    at = hpack_put_integer(at, 0, 0x7f, text.len);
    octets_copy(at, text);
    return at + text.len;
}

static char *hpack_put_coded(char *at, slice text)
{
    size_t len = huffman_encoded_len(text);
    if (len >= text.len) return hpack_put_raw(at, text);
    return huffman_encode(hpack_put_integer(at, HPACK_PUT_HUFFMAN, 0x7f, len), text);
}

// The beginning of a literal: its index, or 0 and the name.
static char *hpack_put_name(char *at, unsigned kind, unsigned index, slice name)
{
    unsigned prefix = kind == HPACK_PUT_ADDED ? HPACK_PUT_ADDED - 1 : HPACK_PUT_NEVER - 1;
    at = hpack_put_integer(at, kind, prefix, index);
    return index ? at : hpack_put_coded(at, name);
}

char *hpack_encode_size(hpack_encoder *e, char *at)
{
    if (e->least_octets < e->next_octets && e->least_octets < e->table.size_max) {
        at = hpack_put_integer(at, HPACK_PUT_SIZE, HPACK_PUT_SIZE - 1, e->least_octets);
        hpack_table_resize(&e->table, e->least_octets);
    }
    e->changes++;
    at = hpack_put_integer(at, HPACK_PUT_SIZE, HPACK_PUT_SIZE - 1, e->next_octets);
    hpack_table_resize(&e->table, e->next_octets);
    hpack_table_trim(&e->table);
    e->least_octets = e->next_octets;
    e->is_resized = false;
    return at;
}

// ---- Names ----

// How a field of that static name is written. Some have values that are not worth an entry of the table.
static unsigned hpack_kind_of_static(unsigned index)
{
    enum { P = 1, N = 2 };
    static const uint8_t kinds[HPACK_STATIC_COUNT + 1] = {
        [4] = P,                                          // :path
        [21] = P,                                         // age
        [23] = N,                                         // authorization
        [28] = P,                                         // content-length
        [30] = P,                                         // content-range
        [32] = N,                                         // cookie
        [33] = P,                                         // date
        [34] = P,                                         // etag
        [36] = P,                                         // expires
        [39] = P, [40] = P, [41] = P, [42] = P, [43] = P, // if-match to if-unmodified-since
        [44] = P,                                         // last-modified
        [46] = P,                                         // location
        [48] = N, [49] = N,                               // proxy-authenticate, -authorization
        [50] = P,                                         // range
        [55] = N,                                         // set-cookie
        [61] = N,                                         // www-authenticate
    };
    static const uint8_t kind_of[] = { HPACK_PUT_ADDED, HPACK_PUT_PLAIN, HPACK_PUT_NEVER };
    return kind_of[kinds[index]];
}

static unsigned hpack_kind_of_other(slice name)
{
    static const struct {
        slice name;
        uint8_t kind;
    } known[] = {
        { { "authentication-info", 19 }, HPACK_PUT_NEVER },
        { { "proxy-authentication-info", 25 }, HPACK_PUT_NEVER },
        { { "content-digest", 14 }, HPACK_PUT_PLAIN },
        { { "repr-digest", 11 }, HPACK_PUT_PLAIN },
        { { "server-timing", 13 }, HPACK_PUT_PLAIN },
        { { "traceparent", 11 }, HPACK_PUT_PLAIN },
        { { "x-request-id", 12 }, HPACK_PUT_PLAIN },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (slice_equal(name, known[i].name)) return known[i].kind;
    }
    return HPACK_PUT_ADDED;
}

static slice hpack_lower(char *out, slice name)
{
    octets_copy_lower(out, name);
    return slice_make(out, name.len);
}

// ---- The table ----

// Hashes the length and both ends of a text only, since texts that differ in the middle alone are rare.
static unsigned hpack_hash(uint64_t seed, slice text)
{
    uint64_t first, last = 0;
    if (text.len < sizeof first) {
        first = octets_load_few(text.ptr, text.len);
    } else {
        first = octets_load(text.ptr);
        last = octets_load(text.ptr + text.len - sizeof last);
    }
    uint64_t sum = (first ^ (last << 23 | last >> 41)) + (seed << 8) + text.len;
    return (unsigned)(sum * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HPACK_PLACE_BITS));
}

// The wire's index of the entry that a place leads to; 0: it has gone.
static inline unsigned hpack_index_at(const hpack_encoder *e, unsigned place,
                                      const hpack_entry **entry)
{
    if (!e->places) return 0;
    unsigned i = (uint16_t)(e->added - 1 - e->places[place]);
    if (i >= hpack_table_count(&e->table)) return 0;
    *entry = hpack_table_at(&e->table, i);
    return HPACK_STATIC_COUNT + 1 + i;
}

// Entries have the static index of their name as id, and 0 for other names.
static inline bool hpack_entry_has_name(const hpack_encoder *e, const hpack_entry *entry,
                                        unsigned index, slice name)
{
    return entry->id == index &&
           (index || octets_slice_equal(hpack_table_name(&e->table, entry), name));
}

static inline unsigned hpack_find(const hpack_encoder *e, unsigned place, unsigned index,
                                  slice name, slice value)
{
    const hpack_entry *entry;
    unsigned found = hpack_index_at(e, place, &entry);
    if (!found || !octets_slice_equal(hpack_table_value(&e->table, entry), value)) return 0;
    return hpack_entry_has_name(e, entry, index, name) ? found : 0;
}

// Two fields whose places are the same would drive each other out with every response: one of them is
// beside it.
static inline unsigned hpack_place_beside(unsigned place)
{
    return place ^ 1;
}

static unsigned hpack_place_to_take(const hpack_encoder *e, unsigned place)
{
    const hpack_entry *entry;
    unsigned beside = hpack_place_beside(place);
    return hpack_index_at(e, place, &entry) && !hpack_index_at(e, beside, &entry) ? beside : place;
}

static unsigned hpack_find_name(const hpack_encoder *e, unsigned place, slice name)
{
    const hpack_entry *entry;
    unsigned found = hpack_index_at(e, place, &entry);
    return found && hpack_entry_has_name(e, entry, 0, name) ? found : 0;
}

static bool hpack_has_places(hpack_encoder *e)
{
    if (!e->places)
        e->places = counted_zeroed(e->table.memory, HPACK_ALL_PLACES * sizeof *e->places);
    return e->places != NULL;
}

// Adds a field to the table, where its name has that static index or 0. Returns: whether it is there.
static bool hpack_add(hpack_encoder *e, unsigned place, unsigned index, slice name, slice value)
{
    size_t octets = name.len + value.len + HPACK_ENTRY_OVERHEAD;
    hpack_field field = {
        .name = name, .value = value, .octets = (uint32_t)octets, .id = (uint8_t)index
    };
    if (octets > e->table.size_max / HPACK_ENTRY_SHARE || !hpack_has_places(e)) return false;
    e->changes++;
    if (hpack_table_add(&e->table, &field) != HPACK_ADDED) return false;
    e->places[place] = e->added++;
    return true;
}

// ---- Fields ----

static inline char *hpack_put_literal(char *at, unsigned kind, unsigned index, slice name,
                                      slice value)
{
    return hpack_put_raw(hpack_put_name(at, kind, index, name), value);
}

static char *hpack_put_added(char *at, unsigned index, slice name, slice value)
{
    return hpack_put_coded(hpack_put_name(at, HPACK_PUT_ADDED, index, name), value);
}

static inline char *hpack_put_found(char *at, unsigned found)
{
    return hpack_put_integer(at, HPACK_PUT_INDEXED, 0x7f, found);
}

// A field that is in no table.
static char *hpack_encode_new(hpack_encoder *e, char *at, unsigned place, unsigned index,
                              slice value)
{
    slice name = hpack_static[index - 1].name;
    if (hpack_add(e, place, index, name, value)) return hpack_put_added(at, index, name, value);
    return hpack_put_literal(at, HPACK_PUT_PLAIN, index, name, value);
}

// A field that is not in its place.
__attribute__((noinline)) static char *
hpack_encode_displaced(hpack_encoder *e, char *at, unsigned place, unsigned index, slice value)
{
    unsigned found = hpack_find(e, hpack_place_beside(place), index, slice_make(NULL, 0), value);
    if (found) return hpack_put_found(at, found);
    return hpack_encode_new(e, at, hpack_place_to_take(e, place), index, value);
}

// Writes a field whose name is in the static table, without this value.
static BASE_INLINE_ALWAYS char *hpack_encode_common(hpack_encoder *e, char *at, unsigned index,
                                                    slice value)
{
    unsigned place = hpack_hash(index, value);
    unsigned found = hpack_find(e, place, index, slice_make(NULL, 0), value);
    if (!found) return hpack_encode_displaced(e, at, place, index, value);
    return hpack_put_found(at, found);
}

// A field whose name is not in the static table.
static char *hpack_encode_other(hpack_encoder *e, char *at, slice name, slice value)
{
    unsigned name_hash = hpack_hash(0, name);
    unsigned place = hpack_hash(HPACK_STATIC_COUNT + 1 + name_hash, value);
    unsigned found = hpack_find(e, place, 0, name, value);
    if (!found) found = hpack_find(e, hpack_place_beside(place), 0, name, value);
    if (found) return hpack_put_found(at, found);
    place = hpack_place_to_take(e, place);
    unsigned kind = hpack_kind_of_other(name);
    found = hpack_find_name(e, HPACK_PLACES + name_hash, name);
    if (kind == HPACK_PUT_ADDED && !found && hpack_add(e, place, 0, name, value)) {
        e->places[HPACK_PLACES + name_hash] = e->places[place];
        return hpack_put_added(at, 0, name, value);
    }
    if (kind == HPACK_PUT_ADDED) kind = HPACK_PUT_PLAIN;
    return hpack_put_literal(at, kind, found, name, value);
}

// A field that may be in a table. index: of its name in the static table, or 0.
static char *hpack_encode_indexed(hpack_encoder *e, char *at, unsigned index, slice name,
                                  slice value)
{
    if (index == 0) return hpack_encode_other(e, at, name, value);
    unsigned found = index <= HPACK_STATIC_VALUES ? hpack_static_find(name, value) : 0;
    if (found) return hpack_put_found(at, found);
    return hpack_encode_common(e, at, index, value);
}

// A name of the static table that has values there, or whose values are not worth an entry.
__attribute__((noinline)) static char *hpack_encode_rare(hpack_encoder *e, char *at, unsigned index,
                                                         slice value)
{
    unsigned kind = hpack_kind_of_static(index);
    slice name = hpack_static[index - 1].name;
    if (kind == HPACK_PUT_ADDED) return hpack_encode_indexed(e, at, index, name, value);
    return hpack_put_literal(at, kind, index, name, value);
}

char *hpack_encode_known(hpack_encoder *e, char *at, unsigned index, slice value)
{
    SKUA_ASSERT(index - 1 < HPACK_STATIC_COUNT);
    bool is_common = index > HPACK_STATIC_VALUES && hpack_kind_of_static(index) == HPACK_PUT_ADDED;
    return is_common ? hpack_encode_common(e, at, index, value)
                     : hpack_encode_rare(e, at, index, value);
}

// Date changes every second. It has a place of its own, because in a shared one it and a value of each response could
// drive each other out.
char *hpack_encode_date(hpack_encoder *e, char *at, slice value)
{
    unsigned found = hpack_find(e, HPACK_DATE_PLACE, HPACK_STATIC_DATE, slice_make(NULL, 0), value);
    if (!found) return hpack_encode_new(e, at, HPACK_DATE_PLACE, HPACK_STATIC_DATE, value);
    return hpack_put_found(at, found);
}

// A name that is too long to be looked up.
static char *hpack_encode_long_name(char *at, slice name, slice value, hpack_indexing how)
{
    *at++ = (char)(how == HPACK_INDEXING_NEVER ? HPACK_PUT_NEVER : HPACK_PUT_PLAIN);
    at = hpack_put_integer(at, 0, 0x7f, name.len);
    octets_copy_lower(at, name);
    return hpack_put_raw(at + name.len, value);
}

// A name in lower case.
static inline char *hpack_encode_lower(hpack_encoder *e, char *at, slice name, slice value,
                                       hpack_indexing how)
{
    unsigned index = hpack_static_find_name(name), kind = HPACK_PUT_PLAIN;
    switch (how) {
    case HPACK_INDEXING_BY_NAME: kind = hpack_kind_of_static(index); break;
    case HPACK_INDEXING_NONE: break;
    case HPACK_INDEXING_NEVER: kind = HPACK_PUT_NEVER; break;
    }
    if (kind != HPACK_PUT_ADDED) return hpack_put_literal(at, kind, index, name, value);
    if (index > HPACK_STATIC_VALUES) return hpack_encode_common(e, at, index, value);
    return hpack_encode_indexed(e, at, index, name, value);
}

// Any other name; one that is too long is not looked up.
__attribute__((noinline)) static char *hpack_encode_any(hpack_encoder *e, char *at, slice name,
                                                        slice value, hpack_indexing how)
{
    char lower[HPACK_LOWER_OCTETS_MAX];
    if (name.len > sizeof lower) return hpack_encode_long_name(at, name, value, how);
    return hpack_encode_lower(e, at, hpack_lower(lower, name), value, how);
}

char *hpack_encode_field(hpack_encoder *e, char *at, slice name, slice value, hpack_indexing how)
{
    SKUA_ASSERT(name.len > 0);
    if (name.len > HPACK_LOWER_OCTETS_MAX || octets_may_have_upper(name))
        return hpack_encode_any(e, at, name, value, how);
    return hpack_encode_lower(e, at, name, value, how);
}

char *hpack_encode_plain(char *at, slice name, slice value)
{
    SKUA_ASSERT(name.len > 0);
    char lower[HPACK_LOWER_OCTETS_MAX];
    if (name.len > sizeof lower)
        return hpack_encode_long_name(at, name, value, HPACK_INDEXING_NONE);
    name = hpack_lower(lower, name);
    unsigned index = hpack_static_find(name, value);
    if (index) return hpack_put_integer(at, HPACK_PUT_INDEXED, 0x7f, index);
    index = hpack_static_find_name(name);
    unsigned kind = index ? hpack_kind_of_static(index) : hpack_kind_of_other(name);
    if (kind == HPACK_PUT_ADDED) kind = HPACK_PUT_PLAIN;
    return hpack_put_coded(hpack_put_name(at, kind, index, name), value);
}

char *hpack_encode_other_status(hpack_encoder *e, char *at, int status)
{
    SKUA_ASSERT(status >= 100 && status <= 999);
    char digits[3] = { (char)('0' + status / 100), (char)('0' + status / 10 % 10),
                       (char)('0' + status % 10) };
    return hpack_encode_indexed(e, at, HPACK_STATIC_STATUS, SKUA_SLICE(":status"),
                                slice_make(digits, sizeof digits));
}

char *hpack_encode_length(char *at, uint64_t length)
{
    char *digits =
        hpack_put_integer(at, HPACK_PUT_PLAIN, HPACK_PUT_NEVER - 1, HPACK_STATIC_CONTENT_LENGTH) +
        1;
    char *end = h1_write_length(digits, length);
    digits[-1] = (char)(end - digits);
    return end;
}

#endif
