// SPDX-License-Identifier: MIT
//
// The HPACK decoder and encoder. Whatever the octets are, the decoder's table stays within its bounds
// and what it says of fields is what judging them says; and fields that it has read come back from an
// encoder and a second decoder, over one table for all blocks.
// Input: an octet that chooses the sizes, then blocks, each behind its length in two octets.

#include "http/hpack_decode.h"
#include "http/hpack_encode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

enum { FIELDS_MAX = 64 };

static budget whole;
static lease memory;

typedef struct kept {
    char *name, *value;
    size_t name_len, value_len;
} kept;

typedef struct talk {
    hpack_decoder in, back;
    hpack_encoder out;
    kept fields[FIELDS_MAX];
    size_t count;
} talk;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static char *copy(slice text)
{
    char *made = malloc(text.len + 1);
    require(made != NULL);
    if (text.len) memcpy(made, text.ptr, text.len);
    return made;
}

static void require_judged(const hpack_field *field)
{
    hpack_field again = { .name = field->name, .value = field->value };
    hpack_field_judge_name(&again);
    hpack_field_judge_value(&again);
    require(again.token == field->token && again.id == field->id);
    require(again.flags == (field->flags & ~HPACK_IS_NEVER_INDEXED));
    require(again.octets == field->octets);
}

static void require_bounds(const hpack_table *t)
{
    require(t->size <= t->size_max && t->used <= t->room && t->room <= HPACK_TABLE_OCTETS_MAX);
    require(hpack_table_count(t) <= t->size / HPACK_ENTRY_OVERHEAD);
}

// Keeps what can be written again: the encoder writes names in lower case, and none that are empty.
static void keep(talk *t, const hpack_field *field)
{
    if (t->count == FIELDS_MAX || !(field->flags & HPACK_NAME_IS_VALID)) return;
    t->fields[t->count++] =
        (kept){ copy(field->name), copy(field->value), field->name.len, field->value.len };
}

static bool read_block(talk *t, slice block)
{
    hpack_field field;
    hpack_event event;
    hpack_decoder_begin(&t->in, block);
    while ((event = hpack_decoder_next(&t->in, &field)) == HPACK_FIELD) {
        require_bounds(&t->in.table);
        if (field.flags & HPACK_IS_TOO_LONG) {
            require(field.octets > t->in.string_octets_max);
            continue;
        }
        require_judged(&field);
        keep(t, &field);
    }
    require(event == HPACK_END || event == HPACK_FAULT);
    return event == HPACK_END;
}

static char *write_block(talk *t, char **end)
{
    size_t room = HPACK_BEGIN_OCTETS_MAX;
    for (size_t i = 0; i < t->count; i++)
        room += hpack_encode_room(slice_make(t->fields[i].name, t->fields[i].name_len),
                                  slice_make(t->fields[i].value, t->fields[i].value_len));
    char *wire = malloc(room);
    require(wire != NULL);
    char *at = hpack_encode_begin(&t->out, wire);
    for (size_t i = 0; i < t->count; i++) {
        slice name = slice_make(t->fields[i].name, t->fields[i].name_len);
        slice value = slice_make(t->fields[i].value, t->fields[i].value_len);
        if (value.len % 7 == 6) at = hpack_encode_plain(at, name, value);
        else at = hpack_encode_field(&t->out, at, name, value, (hpack_indexing)(i % 5 ? 0 : i % 3));
        require((size_t)(at - wire) <= room);
    }
    *end = at;
    return wire;
}

static void require_round_trip(talk *t)
{
    char *end, *wire = write_block(t, &end);
    hpack_field field;
    hpack_decoder_begin(&t->back, slice_make(wire, (size_t)(end - wire)));
    for (size_t i = 0; i < t->count; i++) {
        kept *one = &t->fields[i];
        require(hpack_decoder_next(&t->back, &field) == HPACK_FIELD);
        require(slice_equal(field.name, slice_make(one->name, one->name_len)));
        require(slice_equal(field.value, slice_make(one->value, one->value_len)));
        require_judged(&field);
        free(one->name);
        free(one->value);
    }
    require(hpack_decoder_next(&t->back, &field) == HPACK_END);
    require(t->back.table.size == t->out.table.size);
    t->count = 0;
    free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    static const uint32_t sizes[] = { 4096, 0, 64, 200 };
    if (len < 1) return 0;
    talk t = { .count = 0 };
    uint32_t size = sizes[octets[0] & 3];
    budget_init(&whole, 1 << 24, 1);
    lease_init(&memory, &whole, 0, NULL);
    hpack_decoder_init(&t.in, &memory, size, octets[0] & 4 ? 100 : 65536);
    hpack_decoder_init(&t.back, &memory, 4096, 65536);
    hpack_encoder_init(&t.out, &memory, sizes[octets[0] >> 3 & 3]);
    bool goes_on = true;
    for (size_t at = 1; goes_on && len - at >= 2;) {
        size_t n = (size_t)octets[at] << 8 | octets[at + 1];
        at += 2;
        if (n > len - at) n = len - at;
        char *block = copy(slice_make((const char *)octets + at, n)); // where no octet follows
        goes_on = read_block(&t, slice_make(block, n));
        free(block);
        at += n;
        if (n % 16 == 15) hpack_encoder_drop(&t.out);
        if (n % 16 == 14) hpack_encoder_resize(&t.out, (uint32_t)n * 16);
        require_round_trip(&t);
    }
    hpack_decoder_deinit(&t.in);
    hpack_decoder_deinit(&t.back);
    hpack_encoder_deinit(&t.out);
    lease_end(&memory);
    return 0;
}
