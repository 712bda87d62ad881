// SPDX-License-Identifier: MIT
//
// The client's end of a connection.

#include "scenarios/wire.h"

#include "support/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WIRE_PIECE_OCTETS = 65536 };

// Octets are to arrive as they are sent, in pieces.
static void wire_prepare_real(const wire *w)
{
    int one = 1;
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fcntl(w->fd, F_SETFL, O_NONBLOCK) != 0) abort();
}

void wire_connect(wire *w, const host *h, int receive_octets)
{
    *w = (wire){ .fd = -1, .tls = wire_tls_new() };
    w->h2 = wire_h2_new(w->tls ? "https" : "http");
    if (!h->kernel) {
        w->fd = socket_connect_small(h->address, receive_octets);
        wire_prepare_real(w);
        return;
    }
    w->end = sim_connect(h->kernel, h->listener);
    if (!w->end) abort();
}

bool wire_accept(wire *w, int listener)
{
    *w = (wire){ .fd = accept(listener, NULL, NULL) };
    if (w->fd >= 0) wire_prepare_real(w);
    return w->fd >= 0;
}

void wire_free(wire *w)
{
    if (w->fd >= 0) (void)close(w->fd);
    wire_tls_free(w->tls);
    wire_h2_free(w->h2);
    text_free(&w->got);
}

static size_t wire_send_real(wire *w, slice octets)
{
    if (w->fd < 0 || w->lost) return octets.len;
    ssize_t n = send(w->fd, octets.ptr, octets.len, MSG_NOSIGNAL);
    if (n >= 0) return (size_t)n;
    if (errno == EAGAIN || errno == EINTR) return 0;
    w->lost = true; // what came before can still be read
    return octets.len;
}

static size_t wire_send_raw(wire *w, slice octets)
{
    if (!w->end) return wire_send_real(w, octets);
    if (!sim_client_send(w->end, octets)) abort();
    return octets.len;
}

static void wire_finish_raw(wire *w)
{
    w->finishes = false;
    if (w->end) sim_client_shutdown(w->end);
    else if (w->fd >= 0) (void)shutdown(w->fd, SHUT_WR);
}

static bool wire_flush_tls(wire *w)
{
    for (slice unsent; (unsent = wire_tls_unsent(w->tls)).len;) {
        size_t n = w->reset ? unsent.len : wire_send_raw(w, unsent);
        if (n == 0) return false;
        wire_tls_sent(w->tls, n);
    }
    return true;
}

// Over TLS, frames become records, which leave with the next flush.
static size_t wire_send_frames(wire *w, slice octets)
{
    if (!w->tls) return wire_send_raw(w, octets);
    wire_tls_write(w->tls, octets);
    return octets.len;
}

static bool wire_flush_h2(wire *w)
{
    bool is_mute = w->reset || w->ended || (w->finned && !w->finishes); // windows go on opening
    if (w->tls && !wire_tls_is_open(w->tls)) return false;
    for (slice unsent; (unsent = wire_h2_unsent(w->h2)).len;) {
        size_t n = is_mute ? unsent.len : wire_send_frames(w, unsent);
        if (n == 0) return false;
        wire_h2_sent(w->h2, n);
    }
    if (wire_h2_is_held_up(w->h2)) return false;
    if (wire_h2_is_finished(w->h2) && !w->finned) w->finned = w->finishes = true;
    if (!w->finishes || !w->tls || w->ended) return true;
    wire_tls_finish(w->tls);
    w->ended = true;
    return true;
}

// Sends what TLS or HTTP/2 has for the wire. Returns whether all of it has left.
static bool wire_flush(wire *w)
{
    bool all = !w->h2 || wire_flush_h2(w);
    if (w->tls && !wire_flush_tls(w)) return false;
    if (all && w->finishes) wire_finish_raw(w);
    return all;
}

static bool wire_is_over(const wire *w)
{
    return w->lost || wire_is_eof(w) || wire_is_reset(w);
}

static size_t wire_send_tls(wire *w, slice octets)
{
    if (wire_is_over(w)) return octets.len;
    if (!wire_tls_is_open(w->tls) || !wire_flush(w)) return 0;
    wire_tls_write(w->tls, octets);
    (void)wire_flush(w);
    return octets.len;
}

static size_t wire_send_h2(wire *w, slice octets)
{
    if (wire_is_over(w)) return octets.len;
    if (!wire_is_open(w) || !wire_flush(w)) return 0;
    wire_h2_write(w->h2, octets);
    (void)wire_flush(w);
    return octets.len;
}

size_t wire_send(wire *w, slice octets)
{
    if (w->h2) return wire_send_h2(w, octets);
    return w->tls ? wire_send_tls(w, octets) : wire_send_raw(w, octets);
}

bool wire_may_stall(const wire *w)
{
    return !w->end || !wire_is_open(w) || w->h2;
}

bool wire_is_open(const wire *w)
{
    return !w->tls || wire_tls_is_open(w->tls);
}

void wire_finish(wire *w)
{
    w->finned = true;
    if (!w->tls && !w->h2) {
        wire_finish_raw(w);
        return;
    }
    if (w->tls && !w->h2) wire_tls_finish(w->tls);
    w->finishes = true;
    (void)wire_flush(w);
}

void wire_hang_up(wire *w)
{
    bool finishes = w->end || w->tls || w->h2;
    if (finishes && !w->finned) wire_finish(w);
    if (w->h2 && w->finishes) wire_finish_raw(w); // content that waits for a window is left
    if (w->fd >= 0) (void)close(w->fd);
    w->fd = -1;
}

void wire_reset(wire *w)
{
    if (w->end) sim_client_reset(w->end);
    else socket_reset(w->fd);
    w->fd = -1;
    w->reset = true;
}

void wire_pause(wire *w, bool paused)
{
    w->paused = paused;
    if (w->end) sim_client_pause(w->end, paused);
}

static bool wire_receive_piece(wire *w)
{
    static char octets[WIRE_PIECE_OCTETS];
    ssize_t n = recv(w->fd, octets, sizeof octets, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n > 0) text_add(&w->got, slice_make(octets, (size_t)n));
    w->eof = n == 0;
    w->reset = n < 0;
    return true;
}

static slice wire_received_raw(const wire *w)
{
    return w->end ? sim_client_received(w->end) : text_slice(&w->got);
}

bool wire_receive(wire *w)
{
    bool any = false;
    while (!w->end && w->fd >= 0 && !w->paused && !w->eof && !w->reset && wire_receive_piece(w))
        any = true;
    if (w->tls) {
        wire_tls_feed(w->tls, wire_received_raw(w));
        (void)wire_flush(w);
    }
    if (w->h2 && !w->reset) {
        wire_h2_feed(w->h2, w->tls ? wire_tls_received(w->tls) : wire_received_raw(w));
        (void)wire_flush(w);
    }
    return any;
}

slice wire_received(const wire *w)
{
    if (w->h2) return wire_h2_received(w->h2);
    return w->tls ? wire_tls_received(w->tls) : wire_received_raw(w);
}

static bool wire_is_eof_raw(const wire *w)
{
    return w->end ? sim_client_is_eof(w->end) : w->eof;
}

bool wire_is_eof(const wire *w)
{
    return wire_is_eof_raw(w) && (!w->tls || wire_tls_is_ended(w->tls));
}

bool wire_is_reset(const wire *w)
{
    bool is_reset = w->end ? sim_client_is_reset(w->end) : w->reset;
    if (w->h2 && wire_h2_is_cut(w->h2)) return true;
    return is_reset || (wire_is_eof_raw(w) && !wire_is_eof(w));
}
