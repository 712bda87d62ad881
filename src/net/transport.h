// SPDX-License-Identifier: MIT
//
// Transport: what stands between the octets of the wire and those of a session. A connection in the
// clear has none: its session's queue is what the loop sends. Any other transport begins with a wire
// queue, which the stream sends instead, and is a table of functions that the connection calls.
//
// Octets that have been put on the wire stay in the session's queue until the kernel has all of
// them, so that a session learns what has left and not what has been protected.
#ifndef SKUA_NET_TRANSPORT_H
#define SKUA_NET_TRANSPORT_H

#include "io/io.h"

typedef struct transport transport;

typedef enum transport_news {
    TRANSPORT_NEEDS_MORE, // every octet has been used
    TRANSPORT_OPENED,     // the handshake is complete
    TRANSPORT_OCTETS,     // octets for the session, lent until the next call
    TRANSPORT_LAST,       // the same, and then NEEDS_MORE, which need not be asked for
    TRANSPORT_ENDED,      // the peer has said, in the transport's own way, that it sends no more
    TRANSPORT_FAILED,     // nothing can be read any more; what is queued says why
    TRANSPORT_IS_PLAIN    // the peer speaks none: its octets are for a session in the clear
} transport_news;

typedef enum transport_filled {
    TRANSPORT_FILLED,    // as much as there is room for
    TRANSPORT_NO_MEMORY, // nothing more can be sent
    TRANSPORT_NOT_SHORT, // of send_short: nothing was done
    TRANSPORT_NO_FILE    // a file is shorter than was said, or cannot be read
} transport_filled;

// Octets of the wire, writable, lent until the callback that brought them returns.
typedef struct transport_input {
    char *octets;
    size_t len;
} transport_input;

typedef struct transport_table {
    // Goes on with what came. To be called until it answers NEEDS_MORE or FAILED.
    // *plain: set with OCTETS and LAST, and with IS_PLAIN to all that came, which lives as long as input and the transport do.
    transport_news (*read)(transport *t, transport_input *input, slice *plain);

    // Puts octets of the session's queue, which stay in it, on the wire, if none of them is on it.
    // plain: NULL while there is no session.
    // ends: the transport's end is to follow the queue's last octet.
    transport_filled (*fill)(transport *t, out_queue *plain, bool ends);

    // Puts all of the session's queue on the wire as fill does, and sends it by a plain call before it returns, where that
    // is little and nothing is on the wire or about to end.
    // sent: how many octets of the wire have left; the others are on it.
    transport_filled (*send_short)(transport *t, out_queue *plain, uint64_t *sent);

    // Returns: how many octets of the session's queue have left for sure since this was called last;
    // all that were on the wire when that is empty. They are to be popped from the queue.
    uint64_t (*left)(transport *t);

    // Whether the end that was asked for is on the wire, or was.
    bool (*has_ended)(const transport *t);

    // Nothing is under way: gives back what is not needed until something is.
    void (*rest)(transport *t);

    // Frees it. Nothing of the wire is sent any more.
    void (*give)(transport *t);

    // Tells how the connection is protected. info: lives as long as the transport.
    // Returns: false before the handshake is complete.
    bool (*info)(const transport *t, skua_tls_info *info);

    // Whether a request for host, without its port, has come by the wrong connection: 421.
    bool (*misdirects)(const transport *t, slice host);

    // Octets that it takes.
    size_t (*octets)(const transport *t);
} transport_table;

struct transport {
    out_queue wire; // first: what the stream sends
    const transport_table *table;
    io_stream *stream;
    slice *host;   // that the peer has come for, folded; empty: it did not say. NULL until OPENED
    uint32_t turn; // that turn_octets counts for: the low half of its time
    uint32_t turn_octets; // that left in it
};

static inline transport *transport_of(const io_stream *stream)
{
    return (transport *)(void *)stream->out;
}

#endif
