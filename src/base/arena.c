// SPDX-License-Identifier: MIT
//
// Arena: the slow half, where a block is used up or a piece does not fit into any.
// Invariant: at and end lie in the newest block; while there is none, in what was lent or made room, or are both
// NULL.

#include "base/arena.h"

#include "base/assert.h"

struct arena_piece {
    arena_piece *next;
    _Alignas(16) char data[];
};

void arena_init(arena *a, block_store *store)
{
    *a = (arena){ .store = store };
}

// Pieces too large for a block leave the newest block as it is: small ones go on filling it.
void *arena_alloc_apart(arena *a, size_t octets)
{
    if (octets > SIZE_MAX - sizeof(arena_piece)) return NULL;
    arena_piece *piece = counted_alloc(a->store->memory, sizeof *piece + octets);
    if (!piece) return NULL;
    piece->next = a->pieces;
    a->pieces = piece;
    return piece->data;
}

bool arena_make_room(arena *a, size_t octets)
{
    if (a->blocks || arena_has_room(a, octets)) return true;
    char *room = arena_alloc_apart(a, octets);
    if (room) arena_lend(a, room, octets);
    return room != NULL;
}

static bool arena_add_block(arena *a)
{
    block *b = block_take(a->store);
    if (!b) return false;
    b->next = a->blocks;
    a->blocks = b;
    a->at = b->data;
    a->end = b->data + b->room;
    return true;
}

void *arena_alloc_slow(arena *a, size_t octets)
{
    if (octets > BLOCK_OCTETS) return arena_alloc_apart(a, octets);
    if (!arena_add_block(a)) return NULL;
    // Nothing was asked for: NULL would look like memory having run out, so one octet is given.
    return arena_alloc(a, octets ? octets : 1);
}

slice arena_copy(arena *a, slice text)
{
    char *copy = text.len < SIZE_MAX ? arena_alloc(a, text.len + 1) : NULL;
    if (!copy) return slice_make(NULL, 0);
    if (text.len) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return slice_make(copy, text.len);
}

void arena_reset_slow(arena *a)
{
    while (a->blocks) {
        block *b = a->blocks;
        a->blocks = b->next;
        block_give(a->store, &b);
    }
    while (a->pieces) {
        arena_piece *piece = a->pieces;
        a->pieces = piece->next;
        counted_free(piece);
    }
}
