// SPDX-License-Identifier: MIT
//
// Frames of WebSocket, RFC 6455 §5: their heads, read octet by octet, and written.
#ifndef SKUA_HTTP_WS_FRAME_H
#define SKUA_HTTP_WS_FRAME_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/slice.h"
#include "http/ws_mask.h"

typedef enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
} ws_opcode;

// Codes of a close, RFC 6455 §7.4.1, that this side sends by itself.
enum {
    WS_CODE_NORMAL = 1000,
    WS_CODE_GOING_AWAY = 1001,
    WS_CODE_PROTOCOL = 1002,
    WS_CODE_NONE = 1005,     // never sent: a close without a code
    WS_CODE_ABNORMAL = 1006, // never sent: no close came
    WS_CODE_NOT_TEXT = 1007,
    WS_CODE_POLICY = 1008,
    WS_CODE_TOO_BIG = 1009,
    WS_CODE_INTERNAL = 1011,
    WS_CODE_TRY_LATER = 1013
};

enum {
    WS_CONTROL_OCTETS_MAX = 125,  // of the payload of a control frame
    WS_HEAD_OCTETS_MAX = 14,      // of a client's frame: with a key
    WS_SENT_HEAD_OCTETS_MAX = 10, // of a server's: without one
    WS_COMPRESSED = 0x40          // RSV1, added to a message's opcode that is written: RFC 7692 §6
};

// A violation of the protocol: the code that ends the connection, 0 for none, and words for the log.
typedef struct ws_fault {
    uint16_t code;
    const char *reason;
} ws_fault;

// A frame's head, while it is read and behind that. To begin with: zero.
typedef struct ws_head {
    uint8_t len;
    uint8_t octets[WS_HEAD_OCTETS_MAX];
    bool final;
    bool
        deflates; // set by whoever reads: permessage-deflate was agreed on, and is kept from head to head
    bool compressed; // the frame begins a message that is compressed
    ws_opcode opcode;
    uint64_t payload; // octets
    uint8_t key[WS_KEY_OCTETS];
} ws_head;

typedef enum ws_head_result { WS_HEAD_MORE, WS_HEAD_READ, WS_HEAD_FAULT } ws_head_result;

static inline bool ws_is_control(ws_opcode opcode)
{
    return opcode >= WS_CLOSE;
}

// A message of one frame, as it lies in the input.
typedef struct ws_brief {
    size_t head, payload; // octets
    const uint8_t *key;
    bool is_text;
} ws_brief;

// Looks whether the input begins with a message of one frame that has come whole, is not compressed and has nothing
// wrong with its head: most messages are such. Nothing else is looked for, and nothing is said of what is wrong.
bool ws_brief_read(slice input, ws_brief *brief);

// Reads on in a client's frame; *input is moved past what was used. A fault is found at its octet.
// open: whether the frames of a message have begun and not ended.
ws_head_result ws_head_read(ws_head *head, slice *input, bool open, ws_fault *fault);

// Writes the head of a server's frame.
// Returns: its length, at most WS_SENT_HEAD_OCTETS_MAX.
size_t ws_head_write(char *out, ws_opcode opcode, bool final, uint64_t payload);

// How long such a head is.
size_t ws_head_octets(uint64_t payload);

// Reads the payload of a close. *code: WS_CODE_NONE when it is empty. *reason: within payload.
// Returns false, and *fault, for one octet, a code that may not be sent, a reason that is not UTF-8.
bool ws_close_read(slice payload, uint16_t *code, slice *reason, ws_fault *fault);

// Cuts a reason that is too long for a close, between characters.
slice ws_close_reason(slice reason);

// Writes the payload of a close: out has WS_CONTROL_OCTETS_MAX octets. WS_CODE_NONE writes none.
// A reason that is too long is cut.
// Returns: its length.
size_t ws_close_write(char *out, uint16_t code, slice reason);

// Whether a code may be sent in a close: RFC 6455 §7.4, and the registry as of 2026.
bool ws_code_is_sendable(unsigned code);

#endif
#endif
