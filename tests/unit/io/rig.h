// SPDX-License-Identifier: MIT
//
// A loop with real sockets: a listener, clients that are plain descriptors, and streams whose owner
// checks in each callback what io.h promises. The same check runs on io_uring with receives armed
// once, on io_uring with receives armed each time (as kernels before 6.17 need it), on epoll, and on
// kqueue where the build has the shim.
#ifndef SKUA_TESTS_RIG_H
#define SKUA_TESTS_RIG_H

#include "base/assert.h"
#include "io/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { RIG_TURN_NS = 2000000 }; // a turn with nothing to do waits so long
enum { PEERS_MAX = 512, TURNS_MAX = 20000 };

// A stream of the loop, and what has happened to it.
typedef struct peer {
    io_stream stream;
    out_queue out;
    out_segment segments[48]; // of out
    char *got;
    size_t got_octets, got_room;
    size_t longest; // that came in one piece
    bool many;      // it expects many octets whenever some come
    uint64_t sent;
    unsigned full; // it was told so often that the socket was full before anything left
    bool near, fin, reset, closed, stops;
    bool send_failed;         // a file of it
    bool resets;              // rig_close resets
    unsigned kicks;           // it was kicked so often, and kicks itself again
    bool connects, connected; // by io_stream_connect
    skua_status refusal;      // why it is not connected
} peer;

// How the loop talks to the kernel.
typedef enum rig_kind { RIG_MULTISHOT, RIG_EACH, RIG_EPOLL, RIG_KQUEUE } rig_kind;

typedef struct rig {
    io_loop loop;
    pool peers;
    block_store store;
    rig_kind kind;
    socket_address address;
    io_op accept;
    unsigned accepted, closed, evictions;
    int64_t refusal; // that ended accepting
    bool shy;        // accepted streams do not receive
    bool discards;   // octets are counted, not kept
    peer *last;
} rig;

// Returns false if this system has no such backend.
bool rig_open(rig *r, rig_kind kind);

// Closes the loop. Every peer must have been closed.
void rig_finish(rig *r);

// One turn of 2 ms at most, or n of them.
void rig_turn(rig *r);
void rig_turns(rig *r, int n);

#define RIG_UNTIL(r, condition)                                                                    \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            if (++turns_ == TURNS_MAX) fail_msg("never: %s", #condition);                          \
            rig_turn(r);                                                                           \
        }                                                                                          \
    } while (0)

// A client's descriptor, connected; rig_client's has been accepted and is r->last.
int rig_connect(rig *r);
int rig_client(rig *r);

// A stream that the loop opens.
peer *rig_connect_out(rig *r, const socket_address *to);

// Closes a peer and waits until that is complete.
void rig_close(rig *r, peer *p);

// Closes all that are open.
void rig_close_all(rig *r);

// Octets that tell where they belong. The caller frees them.
char *pattern_of(size_t len);

void write_all(int fd, const char *octets, size_t len);

// Closes a client's descriptor with a reset.
void reset_client(int fd);

// ---- A check on each backend ----

typedef void check(rig *r);

// Opens a rig, checks, and closes it. Skips where there is no such backend.
void rig_run(rig_kind kind, check *checks);

// A test is a check on one backend.
#define RIG_ON(name, where, kind)                                                                  \
    static void test_##name##_##where(void **state)                                                \
    {                                                                                              \
        (void)state;                                                                               \
        rig_run(kind, check_##name);                                                               \
    }
#define RIG_TEST(name, where) cmocka_unit_test(test_##name##_##where)

// kqueue's tests exist only where it does: in the build over the shim.
#ifdef IO_HAS_KQUEUE
#define RIG_ON_KQUEUE(name) RIG_ON(name, kqueue, RIG_KQUEUE)
#define RIG_TEST_KQUEUE(name) , RIG_TEST(name, kqueue)
#else
#define RIG_ON_KQUEUE(name)
#define RIG_TEST_KQUEUE(name)
#endif

// ON_EACH defines the tests of check_name, and EACH lists them for cmocka.
#define ON_EACH(name)                                                                              \
    RIG_ON(name, multishot, RIG_MULTISHOT)                                                         \
    RIG_ON(name, each, RIG_EACH)                                                                   \
    RIG_ON(name, epoll, RIG_EPOLL)                                                                 \
    RIG_ON_KQUEUE(name)

#define EACH(name)                                                                                 \
    RIG_TEST(name, multishot), RIG_TEST(name, each), RIG_TEST(name, epoll) RIG_TEST_KQUEUE(name)

#endif
