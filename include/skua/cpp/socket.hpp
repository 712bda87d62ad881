// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: the handle of a WebSocket, and WebSockets that are served on a thread that may wait.
#ifndef SKUA_CPP_SOCKET_HPP
#define SKUA_CPP_SOCKET_HPP

#include "request.hpp"

#include <chrono>

namespace skua
{

namespace detail
{

inline void detach(skua_socket raw) noexcept
{
    auto *kept = static_cast<attached *>(skua_socket_get(raw));
    if (!kept) return;
    skua_socket_set(raw, nullptr);
    kept->drop(kept);
}

} // namespace detail

// A WebSocket that a client has opened. A plain value: copy it, keep it anywhere. It never dangles.
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

    // Send a message. See skua_socket_text.
    // Returns: SKUA_ELIMIT: its reader is slow, and nothing was sent; SKUA_ECLOSED: the socket is closed.  Thread:
    // any.
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

    // Closes the socket after the messages that were sent before.  Thread: any.
    skua_status close(unsigned code = 1000, std::string_view reason = {}) const noexcept
    {
        return skua_socket_close(raw_, code, slice(reason));
    }

    // Send a message piece by piece: see skua_socket_begin.  Thread: the socket's worker.
    skua_status begin(bool text) const noexcept
    {
        return skua_socket_begin(raw_, text);
    }
    skua_status write(std::string_view octets) const noexcept
    {
        return skua_socket_write(raw_, slice(octets));
    }
    skua_status end() const noexcept
    {
        return skua_socket_end(raw_);
    }

    // consume gives back octets that websocket::receive got. pause stops receiving messages, and resume continues.
    // Thread: the socket's worker.
    void consume(std::size_t octets) const noexcept
    {
        skua_socket_consume(raw_, octets);
    }
    void pause() const noexcept
    {
        skua_socket_pause(raw_);
    }
    void resume() const noexcept
    {
        skua_socket_resume(raw_);
    }

    // Join a topic; leave it. See skua_socket_join.  Thread: the socket's worker.
    skua_status join(std::string_view topic) const noexcept
    {
        return skua_socket_join(raw_, slice(topic));
    }
    void leave(std::string_view topic) const noexcept
    {
        skua_socket_leave(raw_, slice(topic));
    }

    // Makes an object that the socket keeps until websocket::close has returned. A former object is destroyed first.
    // Only for sockets of a skua::websocket without blocking: others would not destroy the object.
    // Throws: error with SKUA_ECLOSED.  Thread: the socket's worker.  Cost: one allocation.
    template <class T, class... A> T &emplace(A &&...given) const
    {
        detail::detach(raw_);
        auto made = std::make_unique<detail::attached_of<T>>(std::forward<A>(given)...);
        if (skua_status status = skua_socket_set(raw_, static_cast<detail::attached *>(made.get())))
            throw error(status, "the socket is closed");
        return made.release()->object;
    }

    // The object; NULL if there is none, or one of another type.  Thread: the socket's worker.
    template <class T> T *get() const noexcept
    {
        auto *kept = static_cast<detail::attached *>(skua_socket_get(raw_));
        return kept && kept->type == &detail::type_key<T> ? &static_cast<detail::attached_of<T> *>(kept)->object
                                                          : nullptr;
    }

    // The request that opened the socket, empty after websocket::open unless keeps_request is set; and the subprotocol
    // that was selected.  Thread: the socket's worker.
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

// A received message. octets: valid until the next receive.
struct socket_message {
    std::string_view octets;
    bool text = true;
};

namespace detail
{

// How a socket was closed.
class socket_end
{
  public:
    void set(unsigned code, std::string_view reason) noexcept
    {
        code_ = code;
        len_ = reason.copy(reason_, sizeof reason_);
    }
    unsigned code() const noexcept
    {
        return code_;
    }
    std::string_view reason() const noexcept
    {
        return { reason_, len_ };
    }

  private:
    unsigned code_ = 0; // none: it is open
    std::size_t len_ = 0;
    char reason_[123];
};

} // namespace detail

// A socket in its blocking function, on a thread of the pool. Sending waits for room there.
class blocking_socket : public socket
{
  public:
    explicit blocking_socket(skua_socket raw) noexcept : socket(raw)
    {
    }
    blocking_socket(const blocking_socket &) = delete;
    blocking_socket &operator=(const blocking_socket &) = delete;

    // Waits for the next message, as long as the socket is open, or at most within.
    // Returns: nothing if no message came in time, or the socket is closed; is_closed tells which.
    std::optional<socket_message> receive(std::chrono::nanoseconds within = std::chrono::nanoseconds(-1))
    {
        skua_message came{};
        skua_status status = skua_socket_receive(raw(), within.count(), &came);
        if (status == SKUA_OK) return socket_message{ view(came.octets), came.text };
        if (status == SKUA_ECLOSED) end_.set(came.code, view(came.octets));
        return std::nullopt;
    }

    // Whether receive has found the socket closed; then the code and the reason, as websocket::close gets them.
    bool is_closed() const noexcept
    {
        return end_.code() != 0;
    }
    unsigned code() const noexcept
    {
        return end_.code();
    }
    std::string_view reason() const noexcept
    {
        return end_.reason();
    }

  private:
    detail::socket_end end_;
};

} // namespace skua

#endif // SKUA_CPP_SOCKET_HPP
