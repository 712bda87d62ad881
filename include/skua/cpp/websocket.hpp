// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: WebSockets.
#ifndef SKUA_CPP_WEBSOCKET_HPP
#define SKUA_CPP_WEBSOCKET_HPP

#include "request.hpp"

#include <functional>

namespace skua
{

// A WebSocket that a client has opened: a value, to be copied and kept anywhere. It never dangles.
class socket
{
  public:
    socket() noexcept = default;
    explicit socket(skua_socket raw) noexcept : raw_(raw)
    {
    }

    skua_socket raw() const noexcept
    {
        return raw_;
    }

    // Sends a message. SKUA_ELIMIT: its reader is slow, and nothing was sent; SKUA_ECLOSED: it is closed. See
    // skua_socket_text.  Thread: any.
    skua_status text(std::string_view message) const noexcept
    {
        return skua_socket_text(raw_, slice(message));
    }
    skua_status binary(std::string_view message) const noexcept
    {
        return skua_socket_binary(raw_, slice(message));
    }
    skua_status binary(std::span<const std::byte> message) const noexcept
    {
        return skua_socket_binary(raw_, slice(message));
    }

    // Closes it, when what was sent before has left.  Thread: any.
    skua_status close(unsigned code = 1000, std::string_view reason = {}) const noexcept
    {
        return skua_socket_close(raw_, code, slice(reason));
    }

    // Joins a topic, or leaves it. See skua_socket_join.  Thread: the socket's worker.
    skua_status join(std::string_view topic) const noexcept
    {
        return skua_socket_join(raw_, slice(topic));
    }
    void leave(std::string_view topic) const noexcept
    {
        skua_socket_leave(raw_, slice(topic));
    }

    // The request that it was opened by; empty when it is closed. The subprotocol that was agreed on.
    // Thread: the socket's worker.
    request opened_by() const noexcept
    {
        return request(skua_socket_request(raw_));
    }
    std::string_view protocol() const noexcept
    {
        return view(skua_socket_protocol(raw_));
    }

    friend bool operator==(const socket &a, const socket &b) noexcept
    {
        return a.raw_.value == b.raw_.value;
    }

  private:
    skua_socket raw_{};
};

// A message for a topic: see skua_publication.
struct publication {
    std::string_view octets;
    bool binary = false;
    std::string_view event = {}, id = {};
    socket except = {};
};

// The functions of a route of sockets; those that are empty are not called. What one throws is logged, and the socket
// is closed, 1011. how: its functions and user are not looked at. See skua_websocket_desc.
struct websocket {
    std::function<void(socket, request &)> open{};
    std::function<void(socket, std::string_view message, bool text)> message{};
    std::function<void(socket)> drain{};
    std::function<void(socket, unsigned code, std::string_view reason)> close{};
    skua_websocket_desc how{};
};

namespace detail
{

template <class F> void socket_call(skua_socket raw, F &&fn) noexcept
{
    skua_request *of = skua_socket_request(raw);
    bool done = false;
    log_throw_of(of, [&] {
        fn();
        done = true;
    });
    if (!done) skua_socket_close(raw, 1011, {});
}

inline void socket_open(skua_socket raw, skua_request *of, void *user) noexcept
{
    socket_call(raw, [&] {
        request self(of);
        static_cast<websocket *>(user)->open(socket(raw), self);
    });
}

inline void socket_message(skua_socket raw, skua_slice octets, bool text, void *user) noexcept
{
    socket_call(raw,
                [&] { static_cast<websocket *>(user)->message(socket(raw), view(octets), text); });
}

inline void socket_drain(skua_socket raw, void *user) noexcept
{
    socket_call(raw, [&] { static_cast<websocket *>(user)->drain(socket(raw)); });
}

inline void socket_close(skua_socket raw, unsigned code, skua_slice reason, void *user) noexcept
{
    socket_call(raw,
                [&] { static_cast<websocket *>(user)->close(socket(raw), code, view(reason)); });
}

inline skua_websocket_desc websocket_desc(websocket &of) noexcept
{
    skua_websocket_desc desc = of.how;
    desc.open = of.open ? socket_open : nullptr;
    desc.message = of.message ? socket_message : nullptr;
    desc.drain = of.drain ? socket_drain : nullptr;
    desc.close = of.close ? socket_close : nullptr;
    desc.origin = nullptr;
    desc.receive = nullptr;
    desc.blocking = nullptr;
    desc.user = &of;
    return desc;
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_WEBSOCKET_HPP
