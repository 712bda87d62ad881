// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a connection, and an object that it keeps.
#ifndef SKUA_CPP_CONNECTION_HPP
#define SKUA_CPP_CONNECTION_HPP

#include "worker.hpp"

#include <string>
#include <utility>

namespace skua {

namespace detail {

// Its address tells a type from all others.
template <class T> inline char type_key = 0;

// An object that a connection keeps.
struct attached {
    const void *type;
    void (*drop)(attached *self) noexcept;
};

template <class T> struct attached_of : attached {
    T object;
    template <class... A>
    explicit attached_of(A &&...given)
        : attached{ &type_key<T>, [](attached *self) noexcept { delete static_cast<attached_of *>(self); } },
          object(std::forward<A>(given)...)
    {
    }
};

inline void detach(skua_connection *raw) noexcept
{
    auto *kept = static_cast<attached *>(skua_connection_get(raw));
    if (!kept) return;
    skua_connection_set(raw, nullptr);
    kept->drop(kept);
}

} // namespace detail

// A view of a connection; copying it copies a pointer. It converts to false if there is no connection. Valid from
// config::on_connect until config::on_close has returned, on its worker.
class connection {
public:
    connection() = default;
    explicit connection(skua_connection *raw) noexcept : raw_(raw) {}

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    skua_connection *raw() const noexcept { return raw_; }

    // The address of the other end, "127.0.0.1", "::1" or "unix". Behind a proxy it is the proxy's, unless that uses
    // the PROXY protocol.
    std::string peer() const
    {
        char text[128];
        return std::string(text, skua_connection_peer(raw_, text, sizeof text));
    }

    // Its number, from 1, among all that the server has accepted since its start; see skua_connection_id.
    std::uint64_t id() const { return skua_connection_id(raw_); }
    skua::worker worker() const { return skua_connection_worker(raw_); }

    // Makes an object that the connection keeps until it is closed and its last request has ended. A former object is
    // destroyed first. Only for servers that were made of a skua::config: others would not destroy the object.
    // Cost: one allocation.
    template <class T, class... A> T &emplace(A &&...given)
    {
        detail::detach(raw_);
        auto *made = new detail::attached_of<T>(std::forward<A>(given)...);
        skua_connection_set(raw_, static_cast<detail::attached *>(made));
        return made->object;
    }

    // The object; NULL if there is none, or one of another type.
    template <class T> T *get() const
    {
        auto *kept = static_cast<detail::attached *>(skua_connection_get(raw_));
        return kept && kept->type == &detail::type_key<T> ? &static_cast<detail::attached_of<T> *>(kept)->object : nullptr;
    }

private:
    skua_connection *raw_ = nullptr;
};

} // namespace skua

#endif // SKUA_CPP_CONNECTION_HPP
