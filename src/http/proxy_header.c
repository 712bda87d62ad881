// SPDX-License-Identifier: MIT
//
// The header of the PROXY protocol. Whoever sends it is a proxy that is trusted, so one that is against
// the protocol means a wrong configuration, and nothing of it is guessed.

#include "http/proxy_header.h"

#include "http/network.h"

enum {
    PROXY_SIGNATURE_OCTETS = 12, // of version 2
    PROXY_FIXED_OCTETS = 16,     // with the version, the family and the length
    PROXY_V4_OCTETS = 12,        // two addresses and two ports
    PROXY_V6_OCTETS = 36,
    PROXY_TLV_SSL = 0x20,
    PROXY_TLV_SSL_OCTETS_MIN = 5,
    PROXY_TLV_SSL_CLIENT = 1 // by TLS
};

static const char proxy_word[] = "PROXY ";
static const uint8_t proxy_signature[PROXY_SIGNATURE_OCTETS] = {
    '\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T', '\n'
};

static proxy_news proxy_wrong(proxy_header *header, const char *why)
{
    header->why = why;
    return PROXY_WRONG;
}

// ---- Version 1 ----

// Takes a word and the space behind it; the last word of a line ends with the line.
static bool proxy_take_word(slice *line, slice *word)
{
    const char *space = line->len ? memchr(line->ptr, ' ', line->len) : NULL;
    size_t len = space ? (size_t)(space - line->ptr) : line->len;
    *word = slice_make(line->ptr, len);
    *line = slice_from(*line, space ? len + 1 : len);
    return len > 0;
}

static bool proxy_read_port(slice text, uint16_t *port)
{
    unsigned n = 0;
    if (text.len == 0 || text.len > 5 || (text.len > 1 && text.ptr[0] == '0')) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        n = n * 10 + (unsigned)(text.ptr[i] - '0');
    }
    *port = (uint16_t)n;
    return n <= UINT16_MAX;
}

static bool proxy_read_address(slice text, bool v6, uint8_t octets[NETWORK_OCTETS])
{
    bool has_colon = memchr(text.ptr, ':', text.len) != NULL;
    return has_colon == v6 && network_read_address(text, octets);
}

// line: from the family on, without CR LF.
static proxy_news proxy_read_addresses(proxy_header *header, slice line, bool v6)
{
    uint8_t from[NETWORK_OCTETS], to[NETWORK_OCTETS];
    uint16_t to_port;
    slice words[4];
    for (unsigned i = 0; i < 4; i++) {
        bool last = i == 3;
        if (last && memchr(line.ptr, ' ', line.len))
            return proxy_wrong(header, "the line goes on behind the ports");
        if (!proxy_take_word(&line, &words[i]))
            return proxy_wrong(header, "the line ends too early");
    }
    if (!proxy_read_address(words[0], v6, from) || !proxy_read_address(words[1], v6, to))
        return proxy_wrong(header, "an address is none of its family");
    if (!proxy_read_port(words[2], &header->port) || !proxy_read_port(words[3], &to_port))
        return proxy_wrong(header, "a port is none");
    header->family = v6 ? 6 : 4;
    if (v6) memcpy(header->octets, from, sizeof from);
    else memcpy(header->octets, from + 12, 4);
    return PROXY_COMPLETE;
}

// Behind UNKNOWN anything may stand up to the line's end.
static proxy_news proxy_read_line(proxy_header *header)
{
    slice line = slice_make((const char *)header->held, header->at), family;
    if (line.len < 2 || line.ptr[line.len - 2] != '\r')
        return proxy_wrong(header, "the line does not end with CR LF");
    line.len -= 2;
    line = slice_from(line, sizeof proxy_word - 1);
    (void)proxy_take_word(&line, &family);
    if (slice_equal(family, SKUA_SLICE("UNKNOWN"))) return PROXY_COMPLETE;
    if (slice_equal(family, SKUA_SLICE("TCP4"))) return proxy_read_addresses(header, line, false);
    if (slice_equal(family, SKUA_SLICE("TCP6"))) return proxy_read_addresses(header, line, true);
    return proxy_wrong(header, "the family is not TCP4, TCP6 or UNKNOWN");
}

static proxy_news proxy_take_text(proxy_header *header, uint8_t octet)
{
    size_t at = header->at;
    if (at < sizeof proxy_word - 1 && octet != (uint8_t)proxy_word[at])
        return proxy_wrong(header, "it begins with no signature");
    if (at >= PROXY_LINE_OCTETS_MAX)
        return proxy_wrong(header, "the line is longer than 107 octets");
    header->held[header->at++] = octet;
    return octet == '\n' ? proxy_read_line(header) : PROXY_NEEDS_MORE;
}

// ---- Version 2 ----

// The first 16 octets are there. A connection of the proxy's own, and a family that it does not name,
// have nothing in the rest that is looked at.
static proxy_news proxy_read_fixed(proxy_header *header)
{
    const uint8_t *held = header->held;
    bool is_local = held[12] == 0x20;
    size_t rest = (size_t)held[14] << 8 | held[15], addresses = 0;
    if (!is_local && held[12] != 0x21)
        return proxy_wrong(header, "the version or the command is none");
    if (rest > PROXY_REST_OCTETS_MAX) return proxy_wrong(header, "it is longer than 4096 octets");
    header->end = (uint16_t)(PROXY_FIXED_OCTETS + rest);
    header->plain = header->end;
    if (is_local || held[13] == 0) return rest ? PROXY_NEEDS_MORE : PROXY_COMPLETE;
    if (held[13] == 0x11) addresses = PROXY_V4_OCTETS;
    else if (held[13] == 0x21) addresses = PROXY_V6_OCTETS;
    else return proxy_wrong(header, "the family is not TCP over IPv4 or IPv6");
    if (rest < addresses) return proxy_wrong(header, "its length has no room for the addresses");
    header->plain = (uint16_t)(PROXY_FIXED_OCTETS + addresses);
    return PROXY_NEEDS_MORE;
}

static void proxy_read_binary(proxy_header *header)
{
    bool v6 = header->held[13] == 0x21;
    size_t len = v6 ? 16 : 4;
    const uint8_t *port = header->held + PROXY_FIXED_OCTETS + 2 * len;
    header->family = v6 ? 6 : 4;
    memcpy(header->octets, header->held + PROXY_FIXED_OCTETS, len);
    header->port = (uint16_t)(port[0] << 8 | port[1]);
}

// The length of a value is known.
static bool proxy_tlv_fits(const proxy_header *header)
{
    if (header->tlv_type == PROXY_TLV_SSL && header->tlv_len < PROXY_TLV_SSL_OCTETS_MIN)
        return false;
    return header->tlv_len <= header->end - header->at;
}

static bool proxy_take_tlv(proxy_header *header, uint8_t octet)
{
    bool fits = true;
    switch (header->tlv_at++) {
    case 0: header->tlv_type = octet; return true;
    case 1: header->tlv_len = (uint16_t)(octet << 8); return true;
    case 2:
        header->tlv_len |= octet;
        fits = proxy_tlv_fits(header);
        break;
    case 3:
        if (header->tlv_type == PROXY_TLV_SSL) header->tls = octet & PROXY_TLV_SSL_CLIENT;
        break;
    default: break;
    }
    if (header->tlv_at == header->tlv_len + 3) header->tlv_at = 0;
    return fits;
}

static proxy_news proxy_take_binary(proxy_header *header, uint8_t octet)
{
    size_t at = header->at++;
    if (at < PROXY_SIGNATURE_OCTETS && octet != proxy_signature[at])
        return proxy_wrong(header, "it begins with no signature");
    if (at < PROXY_FIXED_OCTETS + PROXY_V6_OCTETS) header->held[at] = octet;
    if (at < PROXY_FIXED_OCTETS - 1) return PROXY_NEEDS_MORE;
    if (at == PROXY_FIXED_OCTETS - 1) return proxy_read_fixed(header);
    if (at >= header->plain && !proxy_take_tlv(header, octet))
        return proxy_wrong(header, "a value does not fit its length");
    if (header->at < header->end) return PROXY_NEEDS_MORE;
    if (header->tlv_at) return proxy_wrong(header, "it ends inside a value");
    if (header->held[12] == 0x21 && header->held[13]) proxy_read_binary(header);
    return PROXY_COMPLETE;
}

proxy_news proxy_header_read(proxy_header *header, slice *octets)
{
    proxy_news news = PROXY_NEEDS_MORE;
    while (news == PROXY_NEEDS_MORE && octets->len) {
        uint8_t octet = (uint8_t)octets->ptr[0];
        bool is_text = header->at ? header->held[0] == 'P' : octet == 'P';
        news = is_text ? proxy_take_text(header, octet) : proxy_take_binary(header, octet);
        *octets = slice_from(*octets, 1);
    }
    return news;
}
