// SPDX-License-Identifier: MIT
//
// Frames of HTTP/2, RFC 9113 §4 to §6: their heads, read and written, and what can be said against
// one by its head alone.
#ifndef SKUA_HTTP_H2_FRAME_H
#define SKUA_HTTP_H2_FRAME_H

#ifndef SKUA_NO_HTTP2

#include "base/slice.h"
#include "http/fault.h"

#include <stdbool.h>

enum {
    H2_HEAD_OCTETS = 9,           // of a frame
    H2_PAYLOAD_OCTETS_MAX = 16384 // of a frame, as long as no larger size is agreed on
};

// The most that a window can be.
#define H2_WINDOW_MAX 0x7fffffff

// The octets that every client sends first, RFC 9113 §3.4.
#define H2_PREFACE SKUA_SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

typedef enum h2_type {
    H2_DATA,
    H2_HEADERS,
    H2_PRIORITY,
    H2_RST_STREAM,
    H2_SETTINGS,
    H2_PUSH_PROMISE,
    H2_PING,
    H2_GOAWAY,
    H2_WINDOW_UPDATE,
    H2_CONTINUATION,
    H2_PRIORITY_UPDATE = 16 // RFC 9218 §7.1
} h2_type;

// Flags; their meaning depends on the type.
enum {
    H2_FLAG_END_STREAM = 1,
    H2_FLAG_ACK = 1,
    H2_FLAG_END_HEADERS = 4,
    H2_FLAG_PADDED = 8,
    H2_FLAG_PRIORITY = 32
};

typedef enum h2_code {
    H2_NO_ERROR,
    H2_PROTOCOL_ERROR,
    H2_INTERNAL_ERROR,
    H2_FLOW_CONTROL_ERROR,
    H2_SETTINGS_TIMEOUT,
    H2_STREAM_CLOSED,
    H2_FRAME_SIZE_ERROR,
    H2_REFUSED_STREAM,
    H2_CANCEL,
    H2_COMPRESSION_ERROR,
    H2_CONNECT_ERROR,
    H2_ENHANCE_YOUR_CALM,
    H2_INADEQUATE_SECURITY,
    H2_HTTP_1_1_REQUIRED
} h2_code;

typedef enum h2_setting {
    H2_SETTING_HEADER_TABLE_SIZE = 1,
    H2_SETTING_ENABLE_PUSH,
    H2_SETTING_MAX_CONCURRENT_STREAMS,
    H2_SETTING_INITIAL_WINDOW_SIZE,
    H2_SETTING_MAX_FRAME_SIZE,
    H2_SETTING_MAX_HEADER_LIST_SIZE,
    H2_SETTING_ENABLE_CONNECT_PROTOCOL = 8, // RFC 8441 §3
    H2_SETTING_NO_RFC7540_PRIORITIES        // RFC 9218 §2.1
} h2_setting;

enum { H2_SETTING_OCTETS = 6 };

typedef struct h2_frame {
    uint32_t len; // of the payload
    uint32_t stream;
    uint8_t type; // h2_type, or one that is not known here
    uint8_t flags;
} h2_frame;

static inline uint32_t h2_read16(const char *at)
{
    return (uint32_t)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

static inline uint32_t h2_read32(const char *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// A number of 31 bits: the bit before it is reserved, and ignored.
static inline uint32_t h2_read31(const char *at)
{
    return h2_read32(at) & H2_WINDOW_MAX;
}

static inline char *h2_write16(char *at, uint32_t n)
{
    at[0] = (char)(n >> 8);
    at[1] = (char)n;
    return at + 2;
}

// In one piece, which compilers do not see in the shifts of a frame's head.
static inline char *h2_write32(char *at, uint32_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    n = __builtin_bswap32(n);
#endif
    memcpy(at, &n, sizeof n);
    return at + sizeof n;
}

// at: H2_HEAD_OCTETS.
static inline h2_frame h2_read_head(const char *at)
{
    return (h2_frame){ .len = h2_read32(at) >> 8,
                       .type = (uint8_t)at[3],
                       .flags = (uint8_t)at[4],
                       .stream = h2_read31(at + 5) };
}

// Writes H2_HEAD_OCTETS. Returns: the octet behind them.
static inline char *h2_write_head(char *at, h2_frame frame)
{
    at = h2_write32(at, frame.len << 8 | frame.type);
    *at++ = (char)frame.flags;
    return h2_write32(at, frame.stream);
}

// A fault of the whole connection, and one of a stream, which leaves the others alone. reason: a
// literal.
static inline fault h2_fault(h2_code code, const char *reason)
{
    return (fault){ FAULT_CONNECTION, 400, (uint16_t)code, reason };
}

static inline fault h2_stream_fault(h2_code code, const char *reason)
{
    return (fault){ FAULT_STREAM, 400, (uint16_t)code, reason };
}

// The fault of a frame that its head alone shows: a size, or a stream that its type may not have.
// Its h2_code is H2_NO_ERROR where there is none.
fault h2_check_head(const h2_frame *frame);

// Takes padding off the payload of a DATA or HEADERS frame, and the priority of RFC 7540 off that of
// HEADERS. *depends_on: the stream that it names; 0: none.
// Returns: false if there is more padding than payload.
bool h2_unpad(const h2_frame *frame, slice *payload, uint32_t *depends_on);

#endif
#endif
