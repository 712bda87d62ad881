// SPDX-License-Identifier: MIT
//
// Heads of frames and payloads of closes. Two readers that disagree about a frame's length can be
// played against each other, so lengths have their shortest form, and no reserved bit is looked over.

#include "http/ws_frame.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/inline.h"
#include "http/ws_utf8.h"

enum {
    WS_FINAL = 0x80,
    WS_RESERVED = 0x70,
    WS_OPCODE = 0x0f,
    WS_MASKED = 0x80,
    WS_LENGTH = 0x7f,
    WS_LENGTH_2 = 126, // the length is in two octets behind this one
    WS_LENGTH_8 = 127,
    WS_REASON_OCTETS_MAX = WS_CONTROL_OCTETS_MAX - 2
};

static ws_head_result ws_head_fail(ws_fault *fault, const char *reason)
{
    *fault = (ws_fault){ WS_CODE_PROTOCOL, reason };
    return WS_HEAD_FAULT;
}

static bool ws_opcode_is_known(unsigned opcode)
{
    return opcode <= WS_BINARY || (opcode >= WS_CLOSE && opcode <= WS_PONG);
}

// A message's first frame says what it is, and the others that they go on with it.
static ws_head_result ws_on_message_opcode(unsigned opcode, bool open, ws_fault *fault)
{
    bool goes_on = opcode == WS_CONTINUATION;
    if (goes_on && !open) return ws_head_fail(fault, "a continuation of nothing");
    if (!goes_on && open) return ws_head_fail(fault, "a message within a message");
    return WS_HEAD_MORE;
}

// Only the first frame of a message says that it is compressed, RFC 7692 §6; a control frame never is.
static bool ws_may_be_compressed(const ws_head *head, unsigned first)
{
    unsigned opcode = first & WS_OPCODE;
    return head->deflates && (first & WS_RESERVED) == WS_COMPRESSED &&
           (opcode == WS_TEXT || opcode == WS_BINARY);
}

static ws_head_result ws_on_first(ws_head *head, bool open, ws_fault *fault)
{
    unsigned first = head->octets[0], opcode = first & WS_OPCODE;
    head->compressed = (first & WS_RESERVED) != 0;
    if (head->compressed && !ws_may_be_compressed(head, first))
        return ws_head_fail(fault, "a reserved bit is set");
    if (!ws_opcode_is_known(opcode)) return ws_head_fail(fault, "unknown opcode");
    head->opcode = (ws_opcode)opcode;
    head->final = (first & WS_FINAL) != 0;
    if (!ws_is_control(head->opcode)) return ws_on_message_opcode(opcode, open, fault);
    if (!head->final) return ws_head_fail(fault, "a control frame in fragments");
    return WS_HEAD_MORE;
}

static ws_head_result ws_on_second(ws_head *head, ws_fault *fault)
{
    unsigned second = head->octets[1], len = second & WS_LENGTH;
    if (!(second & WS_MASKED)) return ws_head_fail(fault, "a frame without a mask");
    if (ws_is_control(head->opcode) && len > WS_CONTROL_OCTETS_MAX)
        return ws_head_fail(fault, "a control frame that is too long");
    head->payload = len;
    return WS_HEAD_MORE;
}

static size_t ws_length_octets(const ws_head *head)
{
    unsigned len = head->octets[1] & WS_LENGTH;
    return len == WS_LENGTH_8 ? 8 : len == WS_LENGTH_2 ? 2 : 0;
}

static ws_head_result ws_on_length(ws_head *head, size_t octets, ws_fault *fault)
{
    uint64_t len = 0;
    for (size_t i = 0; i < octets; i++)
        len = len << 8 | head->octets[2 + i];
    if (len >> 63) return ws_head_fail(fault, "a length beyond 63 bits");
    if (len < (octets == 2 ? WS_LENGTH_2 : UINT64_C(0x10000)))
        return ws_head_fail(fault, "a length that is not in its shortest form");
    head->payload = len;
    return WS_HEAD_MORE;
}

// One octet more has come. The bit that would make a length of eight octets too long is in their
// first one, but the length is looked at as a whole.
static ws_head_result ws_head_on_octet(ws_head *head, bool open, ws_fault *fault)
{
    if (head->len == 1) return ws_on_first(head, open, fault);
    if (head->len == 2) return ws_on_second(head, fault);
    size_t octets = ws_length_octets(head), key_at = 2 + octets;
    if (octets && head->len == key_at) return ws_on_length(head, octets, fault);
    if (head->len < key_at + WS_KEY_OCTETS) return WS_HEAD_MORE;
    memcpy(head->key, head->octets + key_at, WS_KEY_OCTETS);
    return WS_HEAD_READ;
}

BASE_INLINE bool ws_brief_read(slice input, ws_brief *brief)
{
    const uint8_t *in = (const uint8_t *)input.ptr;
    size_t head = 2 + WS_KEY_OCTETS;
    if (input.len < head) return false;
    unsigned kind = in[0] - (WS_FINAL | (unsigned)WS_TEXT), len = in[1] - (unsigned)WS_MASKED;
    if (kind > WS_BINARY - WS_TEXT || len >= WS_LENGTH_8) return false;
    if (len == WS_LENGTH_2) {
        len = (unsigned)in[2] << 8 | in[3];
        head += 2;
        if (len < WS_LENGTH_2 || input.len < head) return false;
    }
    if (len > input.len - head) return false;
    *brief = (ws_brief){ head, len, in + head - WS_KEY_OCTETS, kind == 0 };
    return true;
}

ws_head_result ws_head_read(ws_head *head, slice *input, bool open, ws_fault *fault)
{
    while (input->len) {
        head->octets[head->len++] = (uint8_t)input->ptr[0];
        *input = slice_from(*input, 1);
        ws_head_result result = ws_head_on_octet(head, open, fault);
        if (result != WS_HEAD_MORE) return result;
    }
    return WS_HEAD_MORE;
}

// ---- Writing ----

size_t ws_head_octets(uint64_t payload)
{
    return payload < WS_LENGTH_2 ? 2 : payload <= 0xffff ? 4 : WS_SENT_HEAD_OCTETS_MAX;
}

size_t ws_head_write(char *out, ws_opcode opcode, bool final, uint64_t payload)
{
    size_t octets = ws_head_octets(payload), more = octets - 2;
    out[0] = (char)((final ? WS_FINAL : 0) | (unsigned)opcode);
    out[1] = (char)(more == 0 ? payload : more == 2 ? WS_LENGTH_2 : WS_LENGTH_8);
    for (size_t i = 0; i < more; i++)
        out[2 + i] = (char)(payload >> (8 * (more - 1 - i)));
    return octets;
}

// ---- Closes ----

// 1004 means nothing; 1005, 1006 and 1015 are for programs and never sent.
bool ws_code_is_sendable(unsigned code)
{
    if (code >= 3000) return code <= 4999;
    return code >= 1000 && code <= 1014 && (code <= 1003 || code >= 1007);
}

static bool ws_close_fail(ws_fault *fault, uint16_t code, const char *reason)
{
    *fault = (ws_fault){ code, reason };
    return false;
}

bool ws_close_read(slice payload, uint16_t *code, slice *reason, ws_fault *fault)
{
    if (payload.len == 0) {
        *code = WS_CODE_NONE;
        *reason = payload;
        return true;
    }
    if (payload.len == 1) return ws_close_fail(fault, WS_CODE_PROTOCOL, "a close of one octet");
    const uint8_t *octets = (const uint8_t *)payload.ptr;
    unsigned said = (unsigned)octets[0] << 8 | octets[1];
    if (!ws_code_is_sendable(said))
        return ws_close_fail(fault, WS_CODE_PROTOCOL, "a close with a code that is not to be sent");
    slice text = slice_from(payload, 2);
    ws_utf8 state = { 0 };
    if (ws_utf8_check(&state, text) < text.len || !ws_utf8_is_whole(&state))
        return ws_close_fail(fault, WS_CODE_NOT_TEXT, "a close whose reason is not UTF-8");
    *code = (uint16_t)said;
    *reason = text;
    return true;
}

slice ws_close_reason(slice reason)
{
    size_t len = reason.len < WS_REASON_OCTETS_MAX ? reason.len : WS_REASON_OCTETS_MAX;
    while (len < reason.len && len > 0 && ((unsigned char)reason.ptr[len] & 0xc0) == 0x80)
        len--;
    return slice_make(reason.ptr, len);
}

size_t ws_close_write(char *out, uint16_t code, slice reason)
{
    if (code == WS_CODE_NONE) return 0;
    reason = ws_close_reason(reason);
    out[0] = (char)(code >> 8);
    out[1] = (char)(code & 0xff);
    if (reason.len) memcpy(out + 2, reason.ptr, reason.len);
    return 2 + reason.len;
}

#endif
