// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: objects that belong to a server and may be destroyed after it, such as objects that a handler has
// captured.
#ifndef SKUA_CPP_LIFETIME_HPP
#define SKUA_CPP_LIFETIME_HPP

#include "values.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace skua {

namespace detail {

class server_life;

// An object of a server that is closed before the server is gone, or by its own end.
class of_server {
public:
    of_server(const of_server &) = delete;
    of_server &operator=(const of_server &) = delete;

protected:
    // close: called once, while the server is there.
    explicit of_server(void (*close)(of_server *self, skua_server *of) noexcept) noexcept : close_(close) {}
    ~of_server() = default;

    void join(std::shared_ptr<server_life> of) noexcept;
    void replace(of_server &other) noexcept; // other is closed from then on, and this one is open
    void leave() noexcept;

private:
    friend class server_life;

    void (*close_)(of_server *self, skua_server *of) noexcept;
    std::shared_ptr<server_life> life_;
    // Guarded by the lock of life_.
    of_server *previous_ = nullptr, *next_ = nullptr;
    bool is_open_ = false;
};

// Whether a server exists. The server and the objects that belong to it share it.
class server_life {
public:
    void begin(skua_server *of) noexcept { server_ = of; }

    // Called by the server at its end.
    void end() noexcept
    {
        const std::lock_guard<std::recursive_mutex> guard(lock_);
        while (of_server *one = first_)
            close(*one);
        server_ = nullptr;
    }

private:
    friend class of_server;

    void link(of_server &one) noexcept
    {
        one.previous_ = nullptr;
        one.next_ = first_;
        if (first_) first_->previous_ = &one;
        first_ = &one;
        one.is_open_ = true;
    }
    void unlink(of_server &one) noexcept
    {
        (one.previous_ ? one.previous_->next_ : first_) = one.next_;
        if (one.next_) one.next_->previous_ = one.previous_;
        one.is_open_ = false;
    }
    void close(of_server &one) noexcept
    {
        unlink(one);
        one.close_(&one, server_);
    }

    std::recursive_mutex lock_; // closing one object may close another
    skua_server *server_ = nullptr;
    of_server *first_ = nullptr;
};

inline void of_server::join(std::shared_ptr<server_life> of) noexcept
{
    life_ = std::move(of);
    const std::lock_guard<std::recursive_mutex> guard(life_->lock_);
    life_->link(*this);
}

inline void of_server::replace(of_server &other) noexcept
{
    life_ = other.life_;
    if (!life_) return;
    const std::lock_guard<std::recursive_mutex> guard(life_->lock_);
    if (!other.is_open_) return;
    life_->unlink(other);
    life_->link(*this);
}

inline void of_server::leave() noexcept
{
    if (!life_) return;
    const std::lock_guard<std::recursive_mutex> guard(life_->lock_);
    if (is_open_) life_->close(*this);
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_LIFETIME_HPP
