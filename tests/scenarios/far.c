// SPDX-License-Identifier: MIT
//
// Somebody else, whom the server under test connects to.

#include "scenarios/far.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void far_read_address(far *f, const char *name)
{
    if (socket_address_read(slice_of(name), &f->address)) abort();
}

static void far_open_sim(far *f, sim_kernel *kernel, far_kind kind)
{
    far_read_address(f, "192.0.2.80:80");
    if (kind == FAR_IS_NOBODY) return;
    f->listener = sim_far_open(kernel, &f->address);
    if (f->listener < 0) abort();
    if (kind == FAR_IS_SILENT) sim_set_permille(kernel, SIM_CONNECT_UNANSWERED, 1000);
}

// With a full queue a kernel does not answer those who connect.
static void far_fill_queue(far *f)
{
    for (int i = 0; i < FAR_QUEUE; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) abort();
        (void)connect(fd, (struct sockaddr *)(void *)f->address.octets, f->address.len);
        f->queue[i] = fd;
    }
}

static void far_open_real(far *f, far_kind kind)
{
    far_read_address(f, "127.0.0.1:0");
    if (socket_listen(&f->address, kind == FAR_IS_SILENT ? 0 : 16, false, &f->listener)) abort();
    if (kind == FAR_IS_SILENT) far_fill_queue(f);
    if (kind != FAR_IS_NOBODY) return;
    socket_close(&f->address, f->listener);
    f->listener = -1;
}

void far_open(run *r, far_kind kind)
{
    r->far = calloc(1, sizeof *r->far);
    if (!r->far) abort();
    *r->far = (far){ .listener = -1, .queue = { -1, -1 } };
    if (r->host.kernel) far_open_sim(r->far, r->host.kernel, kind);
    else far_open_real(r->far, kind);
}

void far_close(run *r)
{
    far *f = r->far;
    if (!f) return;
    for (int i = 0; i < FAR_QUEUE; i++) {
        if (f->queue[i] >= 0) (void)close(f->queue[i]);
    }
    if (!r->host.kernel && f->listener >= 0) socket_close(&f->address, f->listener);
    free(f);
    r->far = NULL;
}

static bool far_try(const run *r, wire *w)
{
    if (!r->host.kernel) return wire_accept(w, r->far->listener);
    *w = (wire){ .fd = -1, .end = sim_far_accept(r->host.kernel, r->far->listener) };
    return w->end;
}

client *far_accept(run *r)
{
    wire w;
    int64_t since = 0;
    while (!far_try(r, &w)) {
        (void)run_round(r, HOST_TIME_STANDS);
        run_be_patient(r, &since, "waiting for the server to connect");
    }
    return client_take(r, "far end", &w);
}
