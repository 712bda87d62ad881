// SPDX-License-Identifier: MIT
//
// Call: one run of a blocking handler. Invariant: from the time at which the handler is called until it
// has returned, the request's head, params, content and memory stay as they are.
#ifndef SKUA_EXCHANGE_CALL_H
#define SKUA_EXCHANGE_CALL_H

#include "exchange/recorder.h"
#include "io/io.h"
#include "thread/mailbox.h"
#include "thread/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>

// How far a handler that writes may be ahead of its worker.
enum { CALL_AHEAD_OCTETS = 65536 };

typedef struct call_field {
    struct call_field *next;
    const char *name;
    slice value;
} call_field;

typedef struct call_fields {
    call_field *first, **tail;
    size_t octets;
} call_fields;

// How far the handler has come with its response.
typedef enum call_saying {
    CALL_SILENT,
    CALL_GIVEN,   // a whole response
    CALL_STREAMS, // a response whose content it writes
    CALL_FINISHED,
    CALL_FAILED // 500 is to be responded
} call_saying;

// Content on its way to the worker.
typedef struct call_stream {
    pthread_mutex_t lock; // of what follows, down to letter
    pthread_cond_t moved; // the worker has taken some, or the request is gone
    char *waiting;
    size_t waiting_len, waiting_room;
    bool told; // the letter is under way
    bool finished;
    bool closes, aborts; // what is asked for
    mail letter;
    // The worker's.
    char *taken;
    size_t taken_len, taken_at, taken_room;
    bool begun, over;
} call_stream;

struct blocking_call {
    task task; // first
    mail letter;
    mail *also; // posted before letter; NULL: none
    skua_request *request;
    skua_handler *handler;
    void *user;
    io_address peer;
    bool peer_was_done;
    bool is_secure;
    bool is_inline;    // the handler runs on the worker's own thread
    skua_tls_info tls; // if is_secure; what it points to lies in memory
    struct {
        atomic_bool gone;
    } shared;

    // The worker's.
    bool returned; // the handler has
    bool ended;    // the request has, before that
    skua_end how;

    // The handler's until it returns, and the worker's from then on; of a stream, what it begins with is
    // the worker's from the letter on.
    recorder taken;
    block_store blocks;
    arena memory;
    call_saying saying;
    call_fields fields, trailers;
    call_fields marked; // fields before an error function of the program's was called
    bool spoiled;       // a field is lost
    bool marked_spoiled;
    const char *complaint; // for the log; a literal
    int status;
    const char *type; // NULL: none
    int64_t length;   // that is stated of a stream; -1: none
    int64_t left;     // of length
    char *octets;     // of a whole response
    size_t octets_len;
    call_stream stream;
};

extern const recorder_table call_table;

static inline bool call_is_gone(const blocking_call *call)
{
    return atomic_load_explicit(&call->shared.gone, memory_order_relaxed);
}

// Whether anything that the handler says is of use yet. The handler's alone.
static inline bool call_is_over(const blocking_call *call)
{
    return call_is_gone(call) || call->stream.aborts;
}

// Around a handler that runs on the worker's own thread, and around what the worker does meanwhile.
void call_enter_inline(blocking_call *call);
void call_leave_inline(blocking_call *call);

#endif
