// SPDX-License-Identifier: MIT
//
// URL of a store. Its grammar is that of RFC 3986 with the schemes that clients of Redis know.

#include "bridge/url.h"

enum { BRIDGE_PORT = 6379, BRIDGE_PORT_MAX = 65535 };

// ---- Parts ----

static int bridge_url_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = octet_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A NUL would end the text early, so it is refused.
static skua_status bridge_url_decode(slice from, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < from.len; i++) {
        char c = from.ptr[i];
        if (c == '%') {
            bool is_whole = from.len - i > 2;
            int high = is_whole ? bridge_url_digit(from.ptr[i + 1]) : -1;
            int low = is_whole ? bridge_url_digit(from.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) return SKUA_EINVAL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == 0) return SKUA_EINVAL;
        if (len == BRIDGE_URL_PART_MAX) return SKUA_ELIMIT;
        to[len++] = c;
    }
    to[len] = 0;
    return SKUA_OK;
}

static skua_status bridge_url_number(slice text, int64_t max, unsigned *number)
{
    int64_t value;
    if (!skua_slice_i64(text, &value) || value < 0 || value > max) return SKUA_EINVAL;
    *number = (unsigned)value;
    return SKUA_OK;
}

// The octets before the first c, or before the last; all, and false, where there is none.
static bool bridge_url_cut(slice *text, char c, bool last, slice *before)
{
    size_t at = text->len;
    for (size_t i = 0; i < text->len && (last || at == text->len); i++) {
        if (text->ptr[i] == c) at = i;
    }
    if (at == text->len) return false;
    *before = slice_make(text->ptr, at);
    *text = slice_from(*text, at + 1);
    return true;
}

// ---- The whole ----

static skua_status bridge_url_credentials(slice *text, bridge_url *url)
{
    slice who, user;
    if (!bridge_url_cut(text, '@', true, &who)) return SKUA_OK;
    if (!bridge_url_cut(&who, ':', false, &user)) return SKUA_EINVAL;
    skua_status status = bridge_url_decode(user, url->user);
    return status ? status : bridge_url_decode(who, url->password);
}

static skua_status bridge_url_host(slice text, bridge_url *url)
{
    slice host = text, port = slice_make("", 0);
    if (text.len && text.ptr[0] == '[') {
        text = slice_from(text, 1);
        if (!bridge_url_cut(&text, ']', false, &host)) return SKUA_EINVAL;
        if (text.len && text.ptr[0] != ':') return SKUA_EINVAL;
        if (text.len) port = slice_from(text, 1);
    } else if (bridge_url_cut(&text, ':', false, &host)) port = text;
    if (!host.len) return SKUA_EINVAL;
    url->port = BRIDGE_PORT;
    skua_status status = bridge_url_decode(host, url->host);
    if (!status && port.len) status = bridge_url_number(port, BRIDGE_PORT_MAX, &url->port);
    return status ? status : url->port ? SKUA_OK : SKUA_EINVAL;
}

static skua_status bridge_url_tcp(slice text, bridge_url *url)
{
    slice place;
    skua_status status = SKUA_OK;
    if (!bridge_url_cut(&text, '/', false, &place)) place = text;
    else if (text.len) status = bridge_url_number(text, BRIDGE_DATABASE_MAX, &url->database);
    return status ? status : bridge_url_host(place, url);
}

static skua_status bridge_url_unix(slice text, bridge_url *url)
{
    slice path;
    skua_status status = SKUA_OK;
    if (!bridge_url_cut(&text, '?', false, &path)) path = text;
    else if (!skua_slice_starts(text, "db=")) return SKUA_EINVAL;
    else status = bridge_url_number(slice_from(text, 3), BRIDGE_DATABASE_MAX, &url->database);
    if (!path.len || path.ptr[0] != '/') return SKUA_EINVAL;
    return status ? status : bridge_url_decode(path, url->path);
}

skua_status bridge_url_read(slice text, bridge_url *url)
{
    bridge_url read = { .port = 0 };
    bool is_unix = skua_slice_starts(text, "unix://");
    if (!is_unix && !skua_slice_starts(text, "redis://")) return SKUA_EINVAL;
    text = slice_from(text, is_unix ? 7 : 8);
    skua_status status = bridge_url_credentials(&text, &read);
    if (!status) status = is_unix ? bridge_url_unix(text, &read) : bridge_url_tcp(text, &read);
    if (!status) *url = read;
    return status;
}
