// SPDX-License-Identifier: MIT
//
// Networks.

#include "http/network.h"

enum { NETWORK_V4_AT = 12, NETWORK_V4_BITS = 96 };

void network_map(const uint8_t quad[4], uint8_t octets[NETWORK_OCTETS])
{
    memset(octets, 0, 10);
    octets[10] = octets[11] = 0xff;
    memcpy(octets + NETWORK_V4_AT, quad, 4);
}

// A number of decimal digits at the start of the text, which it leaves. A leading zero is refused:
// some programs read it as octal, and so as another address.
static bool network_read_number(slice *text, unsigned max, unsigned *number)
{
    unsigned n = 0;
    size_t len = 0;
    while (len < text->len && text->ptr[len] >= '0' && text->ptr[len] <= '9') {
        n = n * 10 + (unsigned)(text->ptr[len] - '0');
        if (n > max || (len && text->ptr[0] == '0')) return false;
        len++;
    }
    if (len == 0) return false;
    *text = slice_from(*text, len);
    *number = n;
    return true;
}

static bool network_read_quad(slice text, uint8_t quad[4])
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned number;
        if (i) {
            if (text.len == 0 || text.ptr[0] != '.') return false;
            text = slice_from(text, 1);
        }
        if (!network_read_number(&text, 255, &number)) return false;
        quad[i] = (uint8_t)number;
    }
    return text.len == 0;
}

static bool network_read_group(slice *text, unsigned *group)
{
    unsigned n = 0;
    size_t len = 0;
    for (; len < text->len && len < 4; len++) {
        char c = octet_lower(text->ptr[len]);
        if (c >= '0' && c <= '9') n = n * 16 + (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f') n = n * 16 + (unsigned)(c - 'a') + 10;
        else break;
    }
    if (len == 0) return false;
    *text = slice_from(*text, len);
    *group = n;
    return true;
}

// Groups of one side of "::", or of all; the last two may be an address of IPv4.
// Returns: how many octets, or -1.
static int network_read_groups(slice text, uint8_t octets[NETWORK_OCTETS])
{
    int count = 0;
    while (text.len) {
        unsigned group;
        uint8_t quad[4];
        if (count <= NETWORK_V4_AT && network_read_quad(text, quad)) {
            memcpy(octets + count, quad, 4);
            return count + 4;
        }
        if (count == NETWORK_OCTETS || !network_read_group(&text, &group)) return -1;
        octets[count++] = (uint8_t)(group >> 8);
        octets[count++] = (uint8_t)group;
        if (text.len == 0) return count;
        if (text.ptr[0] != ':' || text.len == 1) return -1;
        text = slice_from(text, 1);
    }
    return count;
}

// The first "::" splits the text, so a second one is found where a group must be. It stands for one
// group at least. An address of IPv4 can only come at the end, not before "::".
static bool network_read_v6(slice text, uint8_t octets[NETWORK_OCTETS])
{
    uint8_t left[NETWORK_OCTETS] = { 0 }, right[NETWORK_OCTETS] = { 0 };
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != ':' || text.ptr[i + 1] != ':') continue;
        slice first = slice_make(text.ptr, i);
        int before = network_read_groups(first, left);
        int after = network_read_groups(slice_from(text, i + 2), right);
        if (before < 0 || after < 0 || before + after > NETWORK_OCTETS - 2) return false;
        if (i && memchr(first.ptr, '.', first.len)) return false;
        memcpy(octets, left, NETWORK_OCTETS);
        memcpy(octets + NETWORK_OCTETS - after, right, (size_t)after);
        return true;
    }
    if (network_read_groups(text, left) != NETWORK_OCTETS) return false;
    memcpy(octets, left, NETWORK_OCTETS);
    return true;
}

bool network_read_address(slice text, uint8_t octets[NETWORK_OCTETS])
{
    uint8_t quad[4];
    if (text.len == 0) return false;
    if (!network_read_quad(text, quad)) return network_read_v6(text, octets);
    network_map(quad, octets);
    return true;
}

// ---- Networks ----

static uint8_t network_mask(unsigned bits, size_t i)
{
    if (bits >= 8 * (i + 1)) return 0xff;
    if (bits <= 8 * i) return 0;
    return (uint8_t)(0xff << (8 - bits % 8) & 0xff);
}

// Bits behind the prefix are refused: 10.0.0.1/8 is a slip, and nobody knows which half is meant.
static bool network_read(slice text, network *read)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    slice address = slice_make(text.ptr, slash ? (size_t)(slash - text.ptr) : text.len);
    if (!network_read_address(address, read->octets)) return false;
    bool is_v6 = memchr(address.ptr, ':', address.len) != NULL;
    unsigned bits = is_v6 ? 128 : 32;
    if (slash) {
        slice rest = slice_from(text, address.len + 1);
        if (!network_read_number(&rest, bits, &bits) || rest.len) return false;
    }
    read->bits = (uint8_t)(is_v6 ? bits : bits + NETWORK_V4_BITS);
    for (size_t i = 0; i < NETWORK_OCTETS; i++) {
        if (read->octets[i] & ~network_mask(read->bits, i)) return false;
    }
    return true;
}

bool network_list_read(slice text, network_list *list)
{
    *list = (network_list){ 0 };
    for (slice rest = text; rest.len;) {
        const char *space = memchr(rest.ptr, ' ', rest.len);
        slice word = slice_make(rest.ptr, space ? (size_t)(space - rest.ptr) : rest.len);
        rest = slice_from(rest, word.len + (space ? 1 : 0));
        if (word.len == 0) continue;
        if (slice_equal(word, SKUA_SLICE("unix"))) {
            list->has_unix = true;
            continue;
        }
        if (list->count == NETWORKS_MAX || !network_read(word, &list->at[list->count]))
            return false;
        list->count++;
    }
    return true;
}

static bool network_has(const network *n, const uint8_t octets[NETWORK_OCTETS])
{
    for (size_t i = 0; i < NETWORK_OCTETS; i++) {
        if ((n->octets[i] ^ octets[i]) & network_mask(n->bits, i)) return false;
    }
    return true;
}

bool network_list_has(const network_list *list, const uint8_t octets[NETWORK_OCTETS])
{
    for (unsigned i = 0; i < list->count; i++) {
        if (network_has(&list->at[i], octets)) return true;
    }
    return false;
}
