// SPDX-License-Identifier: MIT
//
// Session of HTTP/2, RFC 9113: one connection's streams, windows and compression. It lasts as long
// as the connection. What only matters while streams are open is work, which an idle one gives back.
#ifndef SKUA_H2_SESSION_H
#define SKUA_H2_SESSION_H

#ifndef SKUA_NO_HTTP2

#include "exchange/request.h"
#include "exchange/session.h"
#include "exchange/worker.h"
#include "h2/limits.h"
#include "h2/stream.h"
#include "http/h2_frame.h"
#include "http/h2_run.h"
#include "http/hpack_encode.h"

#include <stddef.h>

enum {
    H2_SEGMENTS = 48,
    H2_BUCKETS = 64,  // of streams by number; a power of two
    H2_URGENCIES = 8, // RFC 9218 §4.1
    // Content is put behind so much and not more. What a batch of small files takes leaves at once,
    // and is still in the processor's cache when the kernel copies it.
    H2_QUEUED_OCTETS_MAX = 163840,
    H2_WINDOW_INITIAL = 65535 // as long as nothing else is agreed on
};

// Streams that are ready to send, of one urgency.
typedef struct h2_ready {
    h2_stream *first, *last;
} h2_ready;

// The priority of a stream that is to come.
typedef struct h2_early {
    uint32_t number; // 0: none
    h2_priority priority;
} h2_early;

// After so many responses of a second, its date is put into the encoder's table: it will come again.
enum { H2_DATED = 2 };

enum { H2_OPENING_OCTETS = 64, H2_OPENING_SHORT_OCTETS = 16, H2_OPENING_TYPE_OCTETS = 32 };

// How the block of the last usual response began: :status, date and content-type, which the next one
// mostly repeats. Behind them is its content-length. It holds for a second, and as long as the encoder's table is the same.
typedef struct h2_opening {
    int64_t date_from_ns; // as skua_worker's
    uint64_t changes;     // of the encoder's table until then
    size_t stated;        // the content-length
    uint16_t status;      // 0: there was none
    uint8_t type_len, len;
    uint8_t stated_len; // with the content-length
    // The type, and behind it the block's octets: most are so few that all lies in one line of the cache.
    char text[H2_OPENING_TYPE_OCTETS + H2_OPENING_OCTETS];
} h2_opening;

enum { H2_KEPT_BLOCKS = 4, H2_KEPT_OCTETS = 118 };

// The block of a prepared response that has been answered with lately. It holds for a second, and as
// long as the encoder's table is the same.
typedef struct h2_kept {
    uint64_t number;      // the prepared response's; 0: there is none
    int64_t date_from_ns; // as skua_worker's
    uint64_t changes;     // of the encoder's table until then
    uint8_t len;
    char octets[H2_KEPT_OCTETS];
} h2_kept;

// Memory that a session needs while anything is under way. The next session that has something to do has it then, while
// it is still in the processor's cache.
typedef struct h2_work h2_work;

struct h2_work {
    h2_work *next; // free
    out_queue out; // the session's
    // All of them are NULL between two sessions.
    h2_stream *buckets[H2_BUCKETS];
    h2_ready ready[H2_URGENCIES][2];   // by stream number, and in turn: incremental ones
    h2_stream *leaving, *leaving_last; // answered, oldest first
    h2_stream *kicked;                 // to be gone on with from the loop
    h2_stream *resumed;                // those of which that is being done with
    h2_stream *waiting;                // for their handlers to begin, oldest first
    uint32_t lingering;                // slots that are kept only for their occupants
    block *staging;                    // where a source writes; NULL: not taken
    out_segment *segments;             // H2_SEGMENTS of them, of out; NULL: given back
};

// The last requests of a session, as it remembers them for a second: most clients ask again soon, and alike.
typedef struct h2_memory h2_memory;

struct h2_memory {
    // A usual request needs these two alone.
    h2_opening opening;
    h2_run run;
    h2_kept *kept; // H2_KEPT_BLOCKS of them, by the lowest bits of the number; NULL: none yet
    int64_t date_from_ns;    // as skua_worker's, of the last response
    unsigned dated;          // responses of that second, up to H2_DATED
    int64_t opening_ns;      // since when opened is counted; 0: it is not, as nobody waits
    uint64_t opened;         // octets by which the client has opened the connection's window
    int64_t weighed_ns;      // since when credit is counted; 0: not yet
    uint64_t credit;         // octets by which it has, whether anybody waits or not
    bool pays_little;        // it was less than the minimum rate, over the last window of that
    h2_memory *next, **link; // of the worker's
    struct h2_session *session;
};

// The part of a frame that is awaited.
typedef enum h2_input {
    H2_INPUT_PREFACE,
    H2_INPUT_FRAME,
    H2_INPUT_DATA, // content, which is not waited for as a whole
    H2_INPUT_SKIP, // a payload that is not looked at
    H2_INPUT_OVER  // nothing is read any more
} h2_input;

// How far the connection is from its end.
typedef enum h2_stage {
    H2_OPEN,
    H2_WARNED, // GOAWAY has been sent, for no stream in particular: new ones are still taken
    H2_LEAVES, // and for all streams above last_stream
    H2_FAILED  // of the connection: what is queued says why
} h2_stage;

// Of many connections each has left the processor's cache when it has its turn, and every line of it that a request needs
// is waited for. So what every request needs lies in four lines: three from the last members of base to the first of limits,
// and one with the end of encoder and the beginning of decoder. h2_session_new puts them where lines begin.
struct h2_session {
    session base;      // first
    h2_work *work;     // NULL: nothing is under way
    h2_memory *memory; // NULL: it has rested for a second

    int32_t send_window;    // octets, of the connection
    int32_t initial_window; // of a stream, as the client wants it
    int32_t recv_window;    // of the connection, that the client has left
    uint32_t held;          // content that nobody has taken yet
    uint32_t last_stream;   // the highest that the client has opened
    uint32_t open_streams;  // by the protocol's count
    uint32_t streams;       // slots
    uint32_t waiting;       // of these
    uint32_t ready_mask;    // bit u: urgency u has streams that are ready
    uint32_t block_stream;  // of a header block in part; 0: there is none
    uint32_t in_len;        // octets of a frame in part
    uint8_t input;          // h2_input
    uint8_t stage;          // h2_stage
    bool has_reset;         // a stream, ever
    bool settled;           // ours have been acknowledged once
    bool peer_settled;      // the client's first SETTINGS have come
    bool peer_over;         // the peer sends no more
    bool pinged;            // since heard_ns, to hear whether the client is still there
    h2_early *early;        // streams_max of them; NULL: none has come
    int64_t heard_ns;       // when octets came last
    int64_t settings_ns;    // when ours were sent that are not acknowledged; 0: all are
    h2_limits limits;

    // Input. A frame in part, with its head, is kept in in.
    char *in;
    uint32_t in_room;
    h2_frame frame;   // of INPUT_DATA and INPUT_SKIP
    uint32_t left;    // octets of its payload that are to come
    uint32_t padding; // of these, at the end
    uint8_t prefaced; // octets of the preface that have come

    // A header block in part: that of stream block_stream.
    uint8_t block_flags;
    uint8_t block_frames;
    bool slowed; // credit of a stream's was held back, as there is no memory
    char *block;
    uint32_t block_len, block_room;

    hpack_encoder encoder;
    hpack_decoder decoder;

    uint32_t paid_window;                     // what send_window was when content was counted last
    uint32_t goaway_stream;                   // the highest that is taken, from H2_LEAVES on
    uint32_t turn;                            // frames that streams have had
    uint64_t reset_by_us[H2_REMEMBERED / 64]; // of the last streams: see h2/limits.h
    int64_t shut_ns; // since when streams wait for the window of the connection; 0: none does
};

enum {
    H2_SESSION_HOT = offsetof(h2_session, base.link.peer_is_done),
    H2_SESSION_HOT_END = offsetof(h2_session, limits.resets.parts),
    H2_SESSION_CODED = offsetof(h2_session, encoder.is_resized),
    H2_SESSION_CODED_END = offsetof(h2_session, decoder.table)
};

_Static_assert(H2_SESSION_HOT % _Alignof(h2_session) == 0, "counted_alloc_lined keeps it aligned");
_Static_assert(sizeof(void *) != 8 ||
                   (H2_SESSION_HOT_END - H2_SESSION_HOT - 1) / BUDGET_LINE_OCTETS == 2,
               "three lines");
_Static_assert(sizeof(void *) != 8 ||
                   (H2_SESSION_CODED - H2_SESSION_HOT) / BUDGET_LINE_OCTETS ==
                       (H2_SESSION_CODED_END - H2_SESSION_HOT - 1) / BUDGET_LINE_OCTETS,
               "one line");

static inline h2_session *h2_session_of(session *base)
{
    return (h2_session *)(void *)base;
}

static inline const h2_session *h2_session_of_const(const session *base)
{
    return (const h2_session *)(const void *)base;
}

static inline const skua_config *h2_config(const h2_session *s)
{
    return s->base.worker->config;
}

// A session that is all zero but for its worker and its queue; NULL when memory ran out. And gives it back.
h2_session *h2_session_new(skua_worker *w);
void h2_session_free(h2_session *s);

// Takes the memory that it needs while anything is under way. Returns: false when memory ran out.
bool h2_session_work(h2_session *s);

// Asks for the lines of a session that is about to be used, all at once: they would come one by one.
static inline void h2_session_near(const session *base)
{
    const char *hot = (const char *)base + H2_SESSION_HOT;
    __builtin_prefetch(hot);
    __builtin_prefetch(hot + BUDGET_LINE_OCTETS);
    __builtin_prefetch(hot + 2 * BUDGET_LINE_OCTETS);
    __builtin_prefetch((const char *)base + H2_SESSION_CODED);
}

// The same for what it remembers, of a usual request: one line of the opening, three of the run.
static inline void h2_session_memory_near(const h2_session *s)
{
    const char *run = (const char *)&s->memory->run;
    __builtin_prefetch(&s->memory->opening);
    __builtin_prefetch(run);
    __builtin_prefetch(run + BUDGET_LINE_OCTETS);
    __builtin_prefetch(run + 2 * BUDGET_LINE_OCTETS);
}

// How many segments there may be before its queue is full. Those that were given back come again with what is queued.
static inline unsigned h2_session_segments_left(const h2_session *s)
{
    return s->base.out->room ? out_segments_left(s->base.out) : H2_SEGMENTS - OUT_SEGMENTS_KEPT;
}

static inline bool h2_session_queue_is_full(const h2_session *s)
{
    return out_is_full(s->base.out) && s->base.out->room;
}

// The blocks of prepared responses that it remembers; NULL when memory ran out.
h2_kept *h2_session_kept(h2_session *s);

// Octets that it holds, without those of its input and of the tables.
size_t h2_session_octets(const h2_session *s);

// Nothing can be sent any more.
void h2_session_break(h2_session *s);

// Nothing is under way: gives back the room for octets, and while memory is scarce all that an idle
// session does not need.
void h2_session_pause(h2_session *s);

// Gives back all that an idle session does not need.
void h2_session_idle(h2_session *s);

// The worker's deadline has fired: does so with the sessions that have been idle for a second. Those with parked tunnels
// alone give back what they need to send.
void h2_session_rest_all(skua_worker *w);

// Frees what is kept for the next sessions.
void h2_session_free_all(skua_worker *w);

// Frees that of it that has not been used since the last sweep. Returns: octets that were freed.
size_t h2_session_sweep(skua_worker *w);

#endif
#endif
