// SPDX-License-Identifier: MIT
//
// Bed: a server with one worker on the simulated kernel. The test turns the worker, whose time is the kernel's.
//
//     bed b;
//     bed_open(&b, NULL);
//     assert_int_equal(skua_route(b.server, "GET /", on_hello, NULL), SKUA_OK);
//     bed_start(&b);
//     sim_client *client = bed_send(&b, SKUA_SLICE("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
//     bed_turn_for(&b, 1000000000);
//     bed_close(&b);
#ifndef TESTS_UNIT_BED_H
#define TESTS_UNIT_BED_H

#include "http/h2_frame.h"
#include "io/sim.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct bed {
    sim_kernel *kernel;
    skua_server *server;
    server_worker *worker; // as of bed_start
    int listener;
} bed;

// config: NULL: the default.
static inline void bed_open(bed *b, const skua_config *config)
{
    *b = (bed){ .server = skua_server_new(config),
                .kernel = sim_kernel_new(&(sim_config){ .seed = 1 }) };
    assert_true(b->server && b->kernel);
    b->listener = sim_listen(b->kernel);
}

// Behind the routes.
static inline void bed_start(bed *b)
{
    assert_int_equal(server_start_on(b->server, &io_backend_sim, b->kernel, b->listener), SKUA_OK);
    b->worker = b->server->workers[0];
}

static inline void bed_turn_for(const bed *b, int64_t ns)
{
    for (int64_t until = sim_now(b->kernel) + ns; sim_now(b->kernel) < until;)
        assert_true(worker_turn(b->worker, 10000000));
}

// A client that has connected, and sends octets when the worker is turned.
static inline sim_client *bed_send(const bed *b, slice octets)
{
    sim_client *client = sim_connect(b->kernel, b->listener);
    assert_non_null(client);
    if (octets.len) assert_true(sim_client_send(client, octets));
    return client;
}

#ifndef SKUA_NO_HTTP2

static inline void bed_send_frame(sim_client *client, h2_type type, unsigned flags, uint32_t stream,
                                  slice payload)
{
    char head[H2_HEAD_OCTETS];
    (void)h2_write_head(head, (h2_frame){ .len = (uint32_t)payload.len,
                                          .type = (uint8_t)type,
                                          .flags = (uint8_t)flags,
                                          .stream = stream });
    assert_true(sim_client_send(client, slice_make(head, sizeof head)));
    if (payload.len) assert_true(sim_client_send(client, payload));
}

#endif

static inline void bed_close(const bed *b)
{
    skua_stop(b->server, 0);
    while (worker_turn(b->worker, -1))
        ;
    sim_listener_close(b->kernel, b->listener);
    skua_server_free(b->server);
    sim_kernel_free(b->kernel);
}

#endif
