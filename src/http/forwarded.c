// SPDX-License-Identifier: MIT
//
// Reads the address of a client in the fields by which proxies pass it on.

#include "http/forwarded.h"

#include "http/syntax.h"

// An entry as it is written: quoted strings are still escaped.
typedef struct forwarded_entry {
    slice node; // without quotation marks; NULL: there is no for
    slice proto;
    bool says_anything; // an entry without a node hides it, and is not passed over
} forwarded_entry;

void forwarded_begin(forwarded_client *client, const network_list *trusted)
{
    *client = (forwarded_client){ .trusted = trusted };
}

// ---- Nodes ----

static void forwarded_name(forwarded_client *client, slice name)
{
    if (name.len >= FORWARDED_NAME_OCTETS) name = SKUA_SLICE("unknown");
    memcpy(client->name, name.ptr, name.len);
    client->name[name.len] = 0;
    client->found = true;
}

// obfnode and obfport, RFC 7239 §6.3.
static bool forwarded_is_obfuscated(slice name)
{
    if (name.len < 2 || name.ptr[0] != '_') return false;
    for (size_t i = 1; i < name.len; i++) {
        char c = octet_lower(name.ptr[i]);
        bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '.' && c != '_' && c != '-') return false;
    }
    return true;
}

static bool forwarded_is_port(slice port)
{
    if (forwarded_is_obfuscated(port)) return true;
    for (size_t i = 0; i < port.len; i++) {
        if (port.ptr[i] < '0' || port.ptr[i] > '9') return false;
    }
    return port.len >= 1 && port.len <= 5;
}

// Takes ":" and a port from behind a name. An address of IPv6 without brackets keeps all its colons.
static slice forwarded_without_port(slice node)
{
    const char *colon = memchr(node.ptr, ':', node.len);
    if (!colon) return node;
    slice name = slice_make(node.ptr, (size_t)(colon - node.ptr));
    return forwarded_is_port(slice_from(node, name.len + 1)) ? name : node;
}

// Leaves node as it is when it is not "[" and an address "]", with or without a port.
static slice forwarded_without_brackets(slice node)
{
    const char *end = memchr(node.ptr, ']', node.len);
    if (!end) return node;
    slice rest = slice_from(node, (size_t)(end - node.ptr) + 1);
    bool has_port = rest.len && rest.ptr[0] == ':' && forwarded_is_port(slice_from(rest, 1));
    if (rest.len && !has_port) return node;
    slice inside = slice_make(node.ptr + 1, (size_t)(end - node.ptr) - 1);
    return memchr(inside.ptr, ':', inside.len) ? inside : node;
}

// The client is behind this entry. A node that nobody understands hides it as "unknown" does.
static void forwarded_walk(forwarded_client *client, slice node, forwarded_scheme scheme)
{
    client->entries++;
    client->scheme = scheme;
    if (node.len && node.ptr[0] == '[') node = forwarded_without_brackets(node);
    else if (node.len) node = forwarded_without_port(node);
    if (network_read_address(node, client->octets))
        client->found = !network_list_has(client->trusted, client->octets) ||
                        client->entries == FORWARDED_ENTRIES_MAX;
    else if (forwarded_is_obfuscated(node)) forwarded_name(client, node);
    else forwarded_name(client, SKUA_SLICE("unknown"));
}

static forwarded_scheme forwarded_scheme_of(slice text)
{
    if (slice_equal_nocase(text, SKUA_SLICE("https"))) return FORWARDED_SCHEME_HTTPS;
    if (slice_equal_nocase(text, SKUA_SLICE("http"))) return FORWARDED_SCHEME_HTTP;
    return FORWARDED_SCHEME_UNSAID;
}

// ---- Forwarded ----

static void forwarded_skip_space(slice *rest)
{
    while (rest->len && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t'))
        *rest = slice_from(*rest, 1);
}

// quoted-string, RFC 9110 §5.6.4. What is inside stays escaped.
static bool forwarded_quoted(slice *rest, slice *value)
{
    for (size_t i = 1; i < rest->len; i++) {
        if (rest->ptr[i] == '"') {
            *value = slice_make(rest->ptr + 1, i - 1);
            *rest = slice_from(*rest, i + 1);
            return true;
        }
        if (rest->ptr[i] == '\\') i++;
    }
    return false;
}

static bool forwarded_token(slice *rest, slice *value)
{
    size_t len = syntax_span_token(rest->ptr, rest->len);
    *value = slice_make(rest->ptr, len);
    *rest = slice_from(*rest, len);
    return len > 0;
}

// token "=" ( token / quoted-string ). A name may stand once in an entry (RFC 7239 §4).
static bool forwarded_pair(slice *rest, forwarded_entry *entry)
{
    slice name, value;
    if (!forwarded_token(rest, &name) || rest->len < 2 || rest->ptr[0] != '=') return false;
    *rest = slice_from(*rest, 1);
    bool read =
        rest->ptr[0] == '"' ? forwarded_quoted(rest, &value) : forwarded_token(rest, &value);
    if (!read) return false;
    entry->says_anything = true;
    slice *place = NULL;
    if (slice_equal_nocase(name, SKUA_SLICE("for"))) place = &entry->node;
    if (slice_equal_nocase(name, SKUA_SLICE("proto"))) place = &entry->proto;
    if (!place) return true;
    if (place->ptr) return false;
    *place = value;
    return true;
}

// Pairs with semicolons between them, any of which may be missing, up to the next comma. Other
// servers take white space around semicolons, and so do we.
static bool forwarded_entry_read(slice *rest, forwarded_entry *entry)
{
    *entry = (forwarded_entry){ 0 };
    for (;;) {
        forwarded_skip_space(rest);
        if (rest->len && rest->ptr[0] != ';' && rest->ptr[0] != ',' && !forwarded_pair(rest, entry))
            return false;
        forwarded_skip_space(rest);
        if (rest->len == 0) return true;
        char c = rest->ptr[0];
        if (c != ';' && c != ',') return false;
        *rest = slice_from(*rest, 1);
        if (c == ',') return true;
    }
}

// A quoted-pair in an address or a scheme is allowed and needless. Returns: value without them, in
// memory of the caller's, or as it was when it is longer than anything that could be meant.
static slice forwarded_unescape(slice value, char memory[FORWARDED_NAME_OCTETS])
{
    if (value.len > FORWARDED_NAME_OCTETS || !value.len || !memchr(value.ptr, '\\', value.len))
        return value;
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '\\') i++;
        memory[len++] = value.ptr[i];
    }
    return slice_make(memory, len);
}

static void forwarded_walk_entry(forwarded_client *client, const forwarded_entry *entry)
{
    char node[FORWARDED_NAME_OCTETS], proto[FORWARDED_NAME_OCTETS];
    slice scheme = forwarded_unescape(entry->proto, proto);
    forwarded_walk(client, forwarded_unescape(entry->node, node), forwarded_scheme_of(scheme));
}

// Quotation marks can only be paired from the left, so the line is read from there, and its last
// entries are kept.
void forwarded_read(forwarded_client *client, slice value)
{
    forwarded_entry kept[FORWARDED_ENTRIES_MAX];
    size_t count = 0;
    if (client->found) return;
    while (value.len) {
        forwarded_entry *entry = &kept[count % FORWARDED_ENTRIES_MAX];
        if (!forwarded_entry_read(&value, entry)) {
            client->found = true;
            return;
        }
        if (entry->says_anything) count++;
    }
    for (size_t i = count; i > 0 && !client->found; i--)
        forwarded_walk_entry(client, &kept[(i - 1) % FORWARDED_ENTRIES_MAX]);
}

// ---- X-Forwarded-For, X-Forwarded-Proto ----

// Takes the last member of a list; empty ones do not count. Returns: false when there is none.
static bool forwarded_last(slice *rest, slice *member)
{
    while (rest->len) {
        size_t start = rest->len;
        while (start > 0 && rest->ptr[start - 1] != ',')
            start--;
        *member = slice_trim(slice_from(*rest, start));
        rest->len = start ? start - 1 : 0;
        if (member->len) return true;
    }
    return false;
}

void forwarded_read_for(forwarded_client *client, slice value)
{
    slice node;
    while (!client->found && forwarded_last(&value, &node))
        forwarded_walk(client, node, FORWARDED_SCHEME_UNSAID);
}

void forwarded_read_proto(forwarded_client *client, slice value)
{
    slice scheme;
    for (unsigned i = 0; (i == 0 || i < client->entries) && forwarded_last(&value, &scheme); i++)
        client->scheme = forwarded_scheme_of(scheme);
}
