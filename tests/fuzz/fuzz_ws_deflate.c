// SPDX-License-Identifier: MIT
//
// Compression of WebSocket messages. Offers: what is agreed on is within what both sides can keep, and the answer is read
// as the same terms. Streams: a message inflates to the same octets, or is none, however input and room are cut; and what
// one stream deflates another inflates to the same octets, whole or piece by piece.
// Input: one octet that chooses the windows and the cuts, then an offer, a zero octet, and octets of a message.

#include "http/ws_deflate.h"
#include "http/ws_handshake.h"
#include "ws/zstream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

enum { OUT_OCTETS = 100000, TAIL_ROOM = 8192 };

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static void check_offer(slice line, unsigned bits)
{
    ws_deflate_terms terms = { 0 };
    char answer[WS_DEFLATE_FIELD_OCTETS_MAX];
    if (!ws_extensions_are_valid(line) || !ws_deflate_agree(line, bits, &terms)) return;
    require(terms.server_bits >= WS_DEFLATE_BITS_MIN && terms.server_bits <= WS_DEFLATE_BITS_MAX);
    require(terms.client_bits <= WS_DEFLATE_BITS_MAX);
    require(!terms.client_keeps || (bits && terms.client_bits <= bits));
    require(bits || (!terms.server_keeps && !terms.client_keeps));
    size_t len = ws_deflate_write(&terms, answer);
    require(len <= sizeof answer && ws_extensions_are_valid(slice_make(answer, len)));
}

#ifdef SKUA_ZLIB

static char whole[OUT_OCTETS + TAIL_ROOM], cut[OUT_OCTETS + TAIL_ROOM], packed[OUT_OCTETS];

// Inflates a message with so much input and room at a time. Returns: whether it is whole; *len: its octets.
static bool inflate_by(ws_inflater *i, slice wire, size_t step, size_t room, char *out, size_t *len)
{
    *len = 0;
    while (wire.len) {
        slice piece = slice_make(wire.ptr, wire.len < step ? wire.len : step);
        wire = slice_from(wire, piece.len);
        ws_inflated result = WS_INFLATED_MORE;
        while (result == WS_INFLATED_MORE) {
            size_t written, most = OUT_OCTETS - *len < room ? OUT_OCTETS - *len : room;
            if (!most) return false;
            result = ws_inflater_run(i, &piece, out + *len, most, &written);
            require(written <= most && result != WS_INFLATED_LACKS);
            *len += written;
        }
        if (result == WS_INFLATED_BAD) return false;
        require(piece.len == 0);
    }
    return true;
}

// A message as it comes, with what its sender has left out behind it. Returns: whether it is one.
static bool inflate_message(unsigned bits, slice wire, size_t step, size_t room, char *out,
                            size_t *len)
{
    ws_inflater *i = ws_inflater_open(NULL, bits);
    require(i != NULL);
    size_t more = 0;
    bool right = inflate_by(i, wire, step, room, out, len) &&
                 inflate_by(i, ws_inflater_tail(i), step, room, out + *len, &more) &&
                 ws_inflater_is_whole(i);
    *len += more;
    ws_inflater_close(i);
    return right;
}

// However it is cut, and wherever a stream ends inside of it, it is a message or it is none. A sender that refers further
// back than to the window that was agreed on is refused or not, as zlib likes: but what it says is the same.
static void check_wire(slice wire, unsigned bits, size_t step)
{
    size_t len, cut_len;
    bool right = inflate_message(WS_DEFLATE_BITS_MAX, wire, wire.len, OUT_OCTETS, whole, &len);
    bool cut_right = inflate_message(WS_DEFLATE_BITS_MAX, wire, step, step, cut, &cut_len);
    require(right == cut_right);
    require(!right || (len == cut_len && !memcmp(whole, cut, len)));
    if (bits == WS_DEFLATE_BITS_MAX) return;
    bool is_within = inflate_message(bits, wire, 1, 1, cut, &cut_len);
    require(!is_within || (right && len == cut_len && !memcmp(whole, cut, len)));
    cut_right = inflate_message(bits, wire, step, step, cut, &cut_len);
    require(cut_right || !is_within);
    require(!cut_right || (right && len == cut_len && !memcmp(whole, cut, len)));
}

// Twice by the same streams: the second message may refer to the first.
static void check_round(slice message, unsigned bits, size_t step)
{
    ws_deflater *d = ws_deflater_open(NULL, bits);
    ws_inflater *i = ws_inflater_open(NULL, bits);
    require(d && i);
    for (int round = 0; round < 2; round++) {
        size_t octets, len, more;
        if (!ws_deflater_run(d, message, packed, &octets)) break;
        require(octets < message.len);
        require(inflate_by(i, slice_make(packed, octets), step, step, whole, &len));
        require(inflate_by(i, ws_inflater_tail(i), step, step, whole + len, &more));
        require(len + more == message.len && !memcmp(whole, message.ptr, message.len));
        require(ws_inflater_is_whole(i));
    }
    ws_deflater_close(d);
    ws_inflater_close(i);
}

// One message of as many pieces, which are read as they come.
static void check_pieces(slice message, unsigned bits, size_t step)
{
    ws_deflater *d = ws_deflater_open(NULL, bits);
    ws_inflater *i = ws_inflater_open(NULL, bits);
    require(d && i);
    for (slice left = message; left.len;) {
        slice piece = slice_make(left.ptr, left.len < step * 9 ? left.len : step * 9);
        size_t octets, len;
        if (ws_deflater_run(d, piece, packed, &octets)) octets += WS_ZSTREAM_TAIL_OCTETS;
        else octets = ws_zstream_store(piece, packed);
        require(octets <= ws_zstream_stored_octets(piece.len));
        require(inflate_by(i, slice_make(packed, octets), step, step, whole, &len));
        require(len == piece.len && !memcmp(whole, piece.ptr, len) && ws_inflater_is_whole(i));
        left = slice_from(left, piece.len);
    }
    ws_deflater_close(d);
    ws_inflater_close(i);
}

static void check_streams(slice octets, unsigned bits, size_t step)
{
    if (!octets.len) return;
    check_pieces(octets, bits, step);
    check_wire(octets, bits, step);
    check_round(octets, bits, step);
}

#else

static void check_streams(slice octets, unsigned bits, size_t step)
{
    (void)octets, (void)bits, (void)step;
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < 1 || len > 20000) return 0;
    unsigned bits = WS_DEFLATE_BITS_MIN + octets[0] % WS_DEFLATE_WINDOWS;
    size_t step = 1 + octets[0] / WS_DEFLATE_WINDOWS;
    slice rest = slice_make((const char *)octets + 1, len - 1);
    const char *end = rest.len ? memchr(rest.ptr, 0, rest.len) : NULL;
    slice offer = slice_make(rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len);
    check_offer(offer, octets[0] % 2 ? bits : 0);
    if (end) check_streams(slice_from(rest, offer.len + 1), bits, step);
    return 0;
}
