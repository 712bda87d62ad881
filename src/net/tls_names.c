// SPDX-License-Identifier: MIT
//
// Server names. A table is sorted once and never changed, so that every worker reads the same one.

#include "net/tls_names.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"

#include <stdlib.h>

// ---- How they are written ----

static bool name_takes(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Labels of host names, separated by dots. Underscores are no host name's, and in use.
static size_t name_fold_labels(slice name, char *folded)
{
    char before = '.';
    for (size_t i = 0; i < name.len; i++) {
        char c = octet_lower(name.ptr[i]);
        if (c == '.' ? before == '.' : !name_takes(c)) return 0;
        folded[i] = before = c;
    }
    return before == '.' ? 0 : name.len;
}

size_t tls_name_fold(slice name, bool may_be_wild, char folded[TLS_NAME_OCTETS_MAX])
{
    if (name.len && name.ptr[name.len - 1] == '.') name.len--;
    if (name.len > TLS_NAME_OCTETS_MAX) return 0;
    bool is_wild = may_be_wild && name.len > 2 && name.ptr[0] == '*' && name.ptr[1] == '.';
    if (!is_wild) return name_fold_labels(name, folded);
    size_t len = name_fold_labels(slice_from(name, 2), folded + 2);
    memcpy(folded, "*.", 2);
    return len ? len + 2 : 0;
}

static size_t name_u16(const unsigned char *octets)
{
    return (size_t)octets[0] << 8 | octets[1];
}

slice tls_name_of_extension(const unsigned char *octets, size_t len)
{
    slice none = { NULL, 0 };
    // the list's length, a type, which is 0 for host names, and the name's length
    if (len < 5 || name_u16(octets) != len - 2 || octets[2] != 0) return none;
    // A list of one: no other type of name was ever defined, and a second host name is forbidden.
    if (name_u16(octets + 3) != len - 5) return none;
    return slice_make((const char *)octets + 5, len - 5);
}

// ---- The table ----

static bool names_grow(tls_names *names)
{
    if (names->count < names->room) return true;
    size_t room = names->room ? names->room * 2 : 8;
    if (room > SIZE_MAX / sizeof(tls_names_row)) return false;
    tls_names_row *rows = names->rows ? memory_resize(names->rows, room * sizeof *rows)
                                      : memory_alloc(room * sizeof *rows);
    if (!rows) return false;
    names->rows = rows;
    names->room = room;
    return true;
}

skua_status tls_names_add(tls_names *names, slice folded, unsigned slot, uint32_t number)
{
    SKUA_ASSERT(slot < TLS_NAME_SLOTS);
    char *name = memory_alloc(folded.len + 1);
    if (!name || !names_grow(names)) {
        memory_free(name);
        return SKUA_ENOMEM;
    }
    memcpy(name, folded.ptr, folded.len);
    name[folded.len] = '\0';
    tls_names_row *row = &names->rows[names->count++];
    *row = (tls_names_row){ .name = name, .value = TLS_NAMES_NONE };
    for (unsigned i = 0; i < TLS_NAME_SLOTS; i++)
        row->slots[i] = i == slot ? number : TLS_NAMES_NONE;
    return SKUA_OK;
}

// The number of a row that was added, and not merged with others.
static uint32_t names_number(const tls_names_row *row)
{
    uint32_t number = row->slots[0];
    for (unsigned i = 1; i < TLS_NAME_SLOTS; i++) {
        if (row->slots[i] < number) number = row->slots[i];
    }
    return number;
}

// By name, and then in the order of the certificates, so that complaints are always the same.
static int names_compare(const void *a, const void *b)
{
    const tls_names_row *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    if (order) return order;
    return (names_number(one) > names_number(other)) - (names_number(one) < names_number(other));
}

// Takes over the slots of row. Returns false if both have a number in one.
static bool names_merge(tls_names_row *into, const tls_names_row *row)
{
    for (unsigned i = 0; i < TLS_NAME_SLOTS; i++) {
        if (row->slots[i] == TLS_NAMES_NONE || row->slots[i] == into->slots[i]) continue;
        if (into->slots[i] != TLS_NAMES_NONE) return false;
        into->slots[i] = row->slots[i];
    }
    return true;
}

const tls_names_row *tls_names_sort(tls_names *names, uint32_t *other)
{
    const tls_names_row *twice = NULL;
    size_t kept = 0;
    if (names->count) qsort(names->rows, names->count, sizeof *names->rows, names_compare);
    for (size_t i = 0; i < names->count; i++) {
        tls_names_row *row = &names->rows[i], *last = kept ? &names->rows[kept - 1] : NULL;
        if (!last || strcmp(last->name, row->name) != 0) {
            names->rows[kept++] = *row;
            continue;
        }
        if (!names_merge(last, row) && !twice) {
            twice = last;
            *other = names_number(row);
        }
        memory_free(row->name);
    }
    names->count = kept;
    return twice;
}

static int names_compare_text(slice name, const char *text)
{
    size_t len = strlen(text), shorter = name.len < len ? name.len : len;
    int order = memcmp(name.ptr, text, shorter);
    return order ? order : (name.len > len) - (name.len < len);
}

static const tls_names_row *names_search(const tls_names *names, slice name)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = names_compare_text(name, names->rows[middle].name);
        if (order == 0) return &names->rows[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

const tls_names_row *tls_names_find(const tls_names *names, slice folded)
{
    char wild[TLS_NAME_OCTETS_MAX + 1];
    if (folded.len == 0 || folded.len > TLS_NAME_OCTETS_MAX) return NULL;
    const tls_names_row *row = names_search(names, folded);
    const char *dot = memchr(folded.ptr, '.', folded.len);
    if (row || !dot) return row;
    // A wildcard stands for one label, the first: RFC 9525 §6.3.
    slice rest = slice_from(folded, (size_t)(dot - folded.ptr));
    wild[0] = '*';
    memcpy(wild + 1, rest.ptr, rest.len);
    return names_search(names, slice_make(wild, rest.len + 1));
}

void tls_names_free(tls_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        memory_free(names->rows[i].name);
    memory_free(names->rows);
    *names = (tls_names){ 0 };
}

#endif
