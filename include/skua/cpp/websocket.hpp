// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: routes of WebSockets.
#ifndef SKUA_CPP_WEBSOCKET_HPP
#define SKUA_CPP_WEBSOCKET_HPP

#include "async_socket.hpp"

#include <functional>
#include <string>

namespace skua
{

// A message for a topic: see skua_publication.
struct publication {
    std::string_view octets;
    bool binary = false;
    std::string_view event = {}, id = {};
    socket except = {};
};

// How the sockets of a route are served: see skua_websocket_desc, also for the defaults; 0 and nullptr mean default.
// New members are only ever added at the end.
struct websocket_options {
    const char *protocols = nullptr, *origins = nullptr;
    skua_websocket_slow slow = SKUA_WEBSOCKET_WAIT;
    std::uint64_t message_octets_max = 0, queued_octets_max = 0;
    unsigned fragments_max = 0, messages_per_second_max = 0;
    std::chrono::nanoseconds ping{ 0 }, idle_timeout{ 0 }; // below 0: never
    std::chrono::nanoseconds close_timeout{ 0 }, lifetime{ 0 };
    skua_websocket_deflate deflate = SKUA_WEBSOCKET_DEFLATE_OFF;
    unsigned deflate_window_bits = 0;
    std::size_t deflate_octets_min = 0, deflate_memory_max = 0;
    bool keeps_request = false; // where a coroutine serves sockets, it has the request anyhow

    operator skua_websocket_desc() const noexcept
    {
        skua_websocket_desc c{};
        c.protocols = protocols;
        c.origins = origins;
        c.slow = slow;
        c.message_octets_max = message_octets_max;
        c.queued_octets_max = queued_octets_max;
        c.fragments_max = fragments_max;
        c.messages_per_second_max = messages_per_second_max;
        c.ping_ns = ping.count();
        c.idle_timeout_ns = idle_timeout.count();
        c.close_timeout_ns = close_timeout.count();
        c.lifetime_ns = lifetime.count();
        c.deflate = deflate;
        c.deflate_window_bits = deflate_window_bits;
        c.deflate_octets_min = deflate_octets_min;
        c.deflate_memory_max = deflate_memory_max;
        c.keeps_request = keeps_request;
        return c;
    }
};

// The functions of a route for WebSockets; empty ones are not called. An exception is logged, and the socket is closed
// with code 1011. See skua_websocket_desc.
// A socket is served by open, message or receive, drain, closing and close, which are called on the worker; or by
// serve, a coroutine; or by blocking, on a thread that may wait. origin can be used with each.
struct websocket {
    std::function<void(socket, request &)> open{};
    std::function<void(socket, std::string_view message, bool text)> message{};
    std::function<void(socket)> drain{};
    std::function<void(socket, unsigned code, std::string_view reason)> close{};
    std::function<void(socket, unsigned code, std::string_view reason)> closing{}; // this side has begun to close it
    websocket_options how{};
    // Decides about an origin that how.origins does not allow. An exception counts as false.
    std::function<bool(request &, std::string_view origin)> origin{};
    // Receives messages piece by piece, in place of message; socket::consume gives the octets back.
    std::function<void(socket, skua_message_event event, std::string_view octets, bool text)> receive{};
    // Serves a socket from its opening to its end: see async_socket.
    std::function<task<>(async_socket &, request)> serve{};
    // The same on a thread of the pool: see blocking_socket.
    std::function<void(blocking_socket &, request &)> blocking{};
};

namespace detail
{

// A route, and how the log names it where the request of a socket is gone.
struct socket_route : websocket {
    socket_route(websocket fns, skua_server *of, std::string_view at)
        : websocket(std::move(fns)), server(of), pattern(at)
    {
    }
    skua_server *server;
    std::string pattern;
};

inline socket_route &route_of(void *user) noexcept
{
    return *static_cast<socket_route *>(user);
}

template <class F> void socket_call(skua_socket raw, const skua_request *of, F &&fn) noexcept
{
    bool done = false;
    log_throw_of(of, [&] {
        fn();
        done = true;
    });
    if (!done) skua_socket_close(raw, 1011, {});
}

// The same by a function that is not told of the request, which may be gone.
template <class F> void socket_call(skua_socket raw, void *user, F &&fn) noexcept
{
    if (const skua_request *of = skua_socket_request(raw)) {
        socket_call(raw, of, std::forward<F>(fn));
        return;
    }
    bool done = false;
    log_throw(route_of(user).server, route_of(user).pattern.c_str(), [&] {
        fn();
        done = true;
    });
    if (!done) skua_socket_close(raw, 1011, {});
}

inline void socket_open(skua_socket raw, skua_request *of, void *user) noexcept
{
    socket_call(raw, of, [&] {
        request self(of);
        route_of(user).open(socket(raw), self);
    });
}

inline void socket_message_came(skua_socket raw, skua_slice octets, bool text, void *user) noexcept
{
    socket_call(raw, user, [&] { route_of(user).message(socket(raw), view(octets), text); });
}

inline void socket_drain(skua_socket raw, void *user) noexcept
{
    socket_call(raw, user, [&] { route_of(user).drain(socket(raw)); });
}

inline void socket_close(skua_socket raw, unsigned code, skua_slice reason, void *user) noexcept
{
    if (route_of(user).close) socket_call(raw, user, [&] { route_of(user).close(socket(raw), code, view(reason)); });
    detach(raw);
}

inline void socket_closing(skua_socket raw, unsigned code, skua_slice reason, void *user) noexcept
{
    socket_call(raw, user, [&] { route_of(user).closing(socket(raw), code, view(reason)); });
}

inline bool socket_origin(skua_request *of, skua_slice origin, void *user) noexcept
{
    bool may = false;
    log_throw_of(of, [&] {
        request self(of);
        may = route_of(user).origin(self, view(origin));
    });
    return may;
}

inline void socket_receive(skua_socket raw, skua_message_event event, skua_slice octets, bool text,
                           void *user) noexcept
{
    socket_call(raw, user, [&] { route_of(user).receive(socket(raw), event, view(octets), text); });
}

inline void socket_serve(skua_socket raw, skua_request *of, void *user) noexcept
{
    socket_call(raw, of, [&] { socket_run(route_of(user).serve, raw, of); });
}

inline void socket_block(skua_socket raw, skua_request *of, void *user) noexcept
{
    socket_call(raw, of, [&] {
        blocking_socket here(raw);
        request self(of);
        route_of(user).blocking(here, self);
    });
}

inline bool serves_alone(const websocket &of) noexcept
{
    if (!of.serve) return true;
    return !of.open && !of.message && !of.receive && !of.drain && !of.close && !of.closing && !of.blocking;
}

inline skua_websocket_desc websocket_desc(socket_route &of)
{
    if (!serves_alone(of)) throw error(SKUA_EINVAL, "a coroutine serves sockets alone");
    skua_websocket_desc desc = of.how;
    desc.open = of.open ? socket_open : nullptr;
    desc.message = of.message ? socket_message_came : nullptr;
    desc.drain = of.drain ? socket_drain : nullptr;
    desc.close = of.blocking ? nullptr : socket_close; // it may keep an object
    desc.closing = of.closing ? socket_closing : nullptr;
    desc.origin = of.origin ? socket_origin : nullptr;
    desc.receive = of.receive ? socket_receive : nullptr;
    desc.blocking = of.blocking ? socket_block : nullptr;
    desc.user = &of;
    if (!of.serve) return desc;
    desc.keeps_request = true;
    desc.open = socket_serve;
    desc.message = async_message;
    desc.drain = async_drain;
    desc.close = async_close;
    desc.closing = async_closing;
    return desc;
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_WEBSOCKET_HPP
