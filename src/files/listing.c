// SPDX-License-Identifier: MIT
//
// Gathering and ordering of a directory's entries.

#include "files/listing.h"

#include "base/memory.h"

#include <stdlib.h>

// Octets that an allocator adds to a name on the heap, roughly.
enum { LISTING_NAME_OCTETS = 16 };

static bool listing_grow(listing *l)
{
    size_t room = l->room ? 2 * l->room : 64;
    listing_entry *grown = memory_resize(l->entries, room * sizeof *grown);
    if (!grown) return false;
    l->octets += (room - l->room) * sizeof *grown;
    l->entries = grown;
    l->room = room;
    return true;
}

static bool listing_keep(listing *l, const char *name, const skua_file_info *info)
{
    if (l->count == l->room && !listing_grow(l)) return false;
    char *copy = memory_text(name);
    if (!copy) return false;
    l->octets += strlen(name) + LISTING_NAME_OCTETS;
    l->entries[l->count++] = (listing_entry){ copy, info->size, info->mtime_ns, info->kind };
    return true;
}

static bool listing_begins(const char *name, slice with)
{
    for (size_t i = 0; i < with.len; i++) {
        if (!name[i] || octet_lower(name[i]) != octet_lower(with.ptr[i])) return false;
    }
    return true;
}

static bool listing_has(const char *name, slice search)
{
    if (!search.len) return true;
    for (; *name; name++) {
        if (listing_begins(name, search)) return true;
    }
    return false;
}

bool listing_add(const char *name, const skua_file_info *info, void *user)
{
    listing *l = user;
    if (name[0] == '.' && !l->dotfiles) return true;
    if (!listing_has(name, l->search)) return true;
    if (l->count == LISTING_ENTRIES_MAX) {
        l->cut = true;
        return false;
    }
    if (listing_keep(l, name, info)) return true;
    l->failed = true;
    return false;
}

void listing_free(listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        memory_free(l->entries[i].name);
    memory_free(l->entries);
    *l = (listing){ 0 };
}

// ---- Order --------------------------------------------------------------------------------------

static bool listing_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Compares the numbers that *a and *b begin with, and moves both past them.
static int listing_compare_numbers(const char **a, const char **b)
{
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    size_t a_len = 0, b_len = 0;
    while (listing_is_digit((*a)[a_len]))
        a_len++;
    while (listing_is_digit((*b)[b_len]))
        b_len++;
    int order = a_len == b_len ? memcmp(*a, *b, a_len) : a_len < b_len ? -1 : 1;
    *a += a_len;
    *b += b_len;
    return order;
}

static int listing_compare_names(const char *a, const char *b)
{
    const char *a_start = a, *b_start = b;
    while (*a && *b) {
        if (listing_is_digit(*a) && listing_is_digit(*b)) {
            int order = listing_compare_numbers(&a, &b);
            if (order) return order;
        } else {
            int order = (unsigned char)octet_lower(*a++) - (unsigned char)octet_lower(*b++);
            if (order) return order;
        }
    }
    if (*a || *b) return *a ? 1 : -1;
    return strcmp(a_start, b_start); // names that only look equal still have one order
}

static int listing_compare_kinds(const listing_entry *a, const listing_entry *b)
{
    return (b->kind == SKUA_FILE_DIRECTORY) - (a->kind == SKUA_FILE_DIRECTORY);
}

static int listing_by_name(const void *left, const void *right)
{
    const listing_entry *a = left, *b = right;
    int order = listing_compare_kinds(a, b);
    return order ? order : listing_compare_names(a->name, b->name);
}

// Directories count as empty: the size that the system tells says nothing of what is in them.
static int listing_by_size(const void *left, const void *right)
{
    const listing_entry *a = left, *b = right;
    if (a->kind == SKUA_FILE_DIRECTORY || b->kind == SKUA_FILE_DIRECTORY || a->size == b->size) {
        return listing_by_name(a, b);
    }
    return a->size < b->size ? -1 : 1;
}

static int listing_by_time(const void *left, const void *right)
{
    const listing_entry *a = left, *b = right;
    int order = listing_compare_kinds(a, b);
    if (order) return order;
    if (a->mtime_ns == b->mtime_ns) return listing_compare_names(a->name, b->name);
    return a->mtime_ns < b->mtime_ns ? -1 : 1;
}

static void listing_reverse(listing_entry *entries, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        listing_entry swapped = entries[i];
        entries[i] = entries[count - 1 - i];
        entries[count - 1 - i] = swapped;
    }
}

static int (*const listing_compare[])(const void *, const void *) = {
    listing_by_name,
    listing_by_size,
    listing_by_time,
};

void listing_order(listing *l, listing_sort sort, bool descending)
{
    if (l->count == 0) return;
    qsort(l->entries, l->count, sizeof *l->entries, listing_compare[sort]);
    if (!descending) return;
    size_t directories = 0;
    while (directories < l->count && l->entries[directories].kind == SKUA_FILE_DIRECTORY)
        directories++;
    listing_reverse(l->entries, directories);
    listing_reverse(l->entries + directories, l->count - directories);
}

static bool listing_comes_after(const listing_entry *entry, const listing_entry *last,
                                listing_sort sort, bool descending)
{
    int order = listing_compare_kinds(entry, last);
    if (order) return order > 0;
    order = listing_compare[sort](entry, last);
    return descending ? order < 0 : order > 0;
}

size_t listing_after(const listing *l, const listing_entry *last, listing_sort sort,
                     bool descending)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (listing_comes_after(&l->entries[middle], last, sort, descending)) high = middle;
        else low = middle + 1;
    }
    return low;
}
