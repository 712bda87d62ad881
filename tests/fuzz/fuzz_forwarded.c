// SPDX-License-Identifier: MIT
//
// Whom proxies name. What is said of a client is an address or a name of safe octets; an address that
// ends the walk is no trusted one's, unless the walk is as long as it may be; a list that is split
// between lines at a comma outside of quotation marks says the same.
// Input: one octet that says which fields, then the value.

#include "http/forwarded.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void require_sound(const forwarded_client *client)
{
    require(client->entries <= FORWARDED_ENTRIES_MAX);
    size_t len = strnlen(client->name, sizeof client->name);
    require(len < sizeof client->name);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)client->name[i];
        require(isalnum(c) || c == '.' || c == '_' || c == '-');
    }
    if (client->entries == 0 || len) return;
    bool trusted = network_list_has(client->trusted, client->octets);
    require(trusted || client->found);
}

static void require_same(const forwarded_client *a, const forwarded_client *b)
{
    require(a->entries == b->entries && a->found == b->found && a->scheme == b->scheme);
    require(strcmp(a->name, b->name) == 0 && memcmp(a->octets, b->octets, NETWORK_OCTETS) == 0);
}

// X-Forwarded-For has no quotation marks, so each comma splits it.
static void require_same_split(slice value, const network_list *trusted)
{
    forwarded_client whole, split;
    forwarded_begin(&whole, trusted);
    forwarded_read_for(&whole, value);
    for (size_t i = 0; i < value.len && i < 256; i++) {
        if (value.ptr[i] != ',') continue;
        forwarded_begin(&split, trusted);
        forwarded_read_for(&split, slice_from(value, i + 1));
        forwarded_read_for(&split, slice_make(value.ptr, i));
        require_same(&whole, &split);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len == 0) return 0;
    slice value = slice_make((const char *)octets + 1, len - 1);
    network_list trusted;
    if (octets[0] == 'n') {
        if (!network_list_read(value, &trusted)) return 0;
        for (unsigned i = 0; i < trusted.count; i++)
            require(network_list_has(&trusted, trusted.at[i].octets));
        return 0;
    }
    require(network_list_read(SKUA_SLICE("10.0.0.0/8 fd00::/8"), &trusted));
    forwarded_client client;
    forwarded_begin(&client, &trusted);
    if (octets[0] == 'x') {
        forwarded_read_for(&client, value);
        require_sound(&client);
        forwarded_read_proto(&client, value);
        require_same_split(value, &trusted);
    } else {
        forwarded_read(&client, value);
    }
    require_sound(&client);
    return 0;
}
