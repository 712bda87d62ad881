// SPDX-License-Identifier: MIT
//
// Tables of events that look whether the loop called the right one: that of the stream.
#ifndef SKUA_TESTS_TABLES_H
#define SKUA_TESTS_TABLES_H

#include "io/io.h"

// Defines the table kind_events, whose functions call kind_expect and then those of base.
// connected_: of streams that connect; NULL for the others.
#define TABLE_OF_EVENTS(kind, base, connected_)                                                    \
    static void kind##_received(io_stream *stream, char *octets, size_t len)                       \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_received(stream, octets, len);                                                      \
    }                                                                                              \
    static void kind##_ended(io_stream *stream, io_end how)                                        \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_ended(stream, how);                                                                 \
    }                                                                                              \
    static void kind##_kicked(io_stream *stream)                                                   \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_kicked(stream);                                                                     \
    }                                                                                              \
    static void kind##_sent(io_stream *stream, uint64_t n)                                         \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_sent(stream, n);                                                                    \
    }                                                                                              \
    static void kind##_send_failed(io_stream *stream)                                              \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_send_failed(stream);                                                                \
    }                                                                                              \
    static void kind##_closed(io_stream *stream)                                                   \
    {                                                                                              \
        kind##_expect(stream);                                                                     \
        base##_closed(stream);                                                                     \
    }                                                                                              \
    static const io_stream_events kind##_events = {                                                \
        .connected = (connected_),                                                                 \
        .received = kind##_received,                                                               \
        .ended = kind##_ended,                                                                     \
        .kicked = kind##_kicked,                                                                   \
        .sent = kind##_sent,                                                                       \
        .send_failed = kind##_send_failed,                                                         \
        .closed = kind##_closed,                                                                   \
    }

#endif
