// SPDX-License-Identifier: MIT
//
// Server names: how they are written, how a client sends one, and the table that leads from a name
// to what serves it. Octets and values only; nothing of OpenSSL.
#ifndef SKUA_NET_TLS_NAMES_H
#define SKUA_NET_TLS_NAMES_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "base/slice.h"

enum {
    TLS_NAME_OCTETS_MAX = 255, // RFC 1035 §2.3.4
    TLS_NAME_SLOTS = 3         // certificates for one name: one for each kind of key
};

#define TLS_NAMES_NONE UINT32_MAX

// Writes a host name as it is compared: in lower case, without a dot at its end. Returns its length,
// or 0 if it is none. A wildcard "*.example.org" is taken only if may_be_wild.
size_t tls_name_fold(slice name, bool may_be_wild, char folded[TLS_NAME_OCTETS_MAX]);

// The host name in the content of a server_name extension, RFC 6066 §3; empty if it has none, or is
// not of that form.
slice tls_name_of_extension(const unsigned char *octets, size_t len);

typedef struct tls_names_row {
    char *name;                     // folded, with a NUL
    uint32_t slots[TLS_NAME_SLOTS]; // numbers of certificates; TLS_NAMES_NONE: none
    uint32_t value;                 // for the owner of the table
} tls_names_row;

// Rows are added, then sorted, then found. All zero is an empty table.
typedef struct tls_names {
    tls_names_row *rows;
    size_t count, room;
} tls_names;

// Adds a folded name with number in that slot.
// Errors: SKUA_ENOMEM.
skua_status tls_names_add(tls_names *names, slice folded, unsigned slot, uint32_t number);

// Sorts, and makes one row of those with the same name.
// Returns the row of a name that has two numbers in one slot, with *other the second; NULL: none.
const tls_names_row *tls_names_sort(tls_names *names, uint32_t *other);

// The row for a folded name: its own, or else that of the wildcard which covers it; NULL: none.
const tls_names_row *tls_names_find(const tls_names *names, slice folded);

void tls_names_free(tls_names *names);

#endif
#endif
