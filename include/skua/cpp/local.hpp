// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: objects that each worker has one of, so that no lock is needed.
#ifndef SKUA_CPP_LOCAL_HPP
#define SKUA_CPP_LOCAL_HPP

#include "lifetime.hpp"
#include "server.hpp"

#include <atomic>
#include <stdexcept>

namespace skua {

namespace detail {

// An exception of a local's function, on its way through C.
inline std::exception_ptr &thrown_by_make() noexcept
{
    static thread_local std::exception_ptr thrown;
    return thrown;
}

// Shared by a local and the objects that workers have of it; the last one frees it.
template <class T> struct local_state {
    void leave() noexcept
    {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) free(this);
    }

    std::atomic<unsigned> holders{ 1 };
    T *(*make)(local_state *self, worker on) = nullptr;
    void (*free)(local_state *self) noexcept = nullptr;
};

template <class T, class F> struct local_state_of : local_state<T> {
    F fn;
    explicit local_state_of(F &&f) : fn(std::move(f))
    {
        this->make = [](local_state<T> *self, worker on) { return new T(static_cast<local_state_of *>(self)->fn(on)); };
        this->free = [](local_state<T> *self) noexcept { delete static_cast<local_state_of *>(self); };
    }
};

} // namespace detail

// An object of T for each worker of a server. It is made when the worker first asks for it, and destroyed on the
// worker when this object or the worker ends, after the worker's last request.
//
//     skua::local<cache> caches(app, [](skua::worker) { return cache(1_MiB); });
//     app.get("/", [&](skua::request &req) { req.text(caches(req.worker()).find(req.path())); });
//
// T may have bool evict(), called when descriptors ran out: it closes those that can be done without, and returns
// whether any was closed; and void shrink(), called when memory is short, often while it is. Exceptions from them are
// logged. See skua_local_desc.
template <class T> class local : private detail::of_server {
public:
    // make: called on each worker, as T make(skua::worker); several workers call it at once.
    // Errors: skua::error, SKUA_ELIMIT: the server has 1024.  Thread: any.
    template <std::invocable<worker> F>
    local(server &of, F make) : of_server(close), state_(new detail::local_state_of<T, F>(std::move(make))), of_(of.raw())
    {
        skua_local_desc desc{};
        desc.make = made;
        desc.drop = dropped;
        if constexpr (requires(T &object) { { object.evict() } -> std::convertible_to<bool>; }) desc.evict = evicted;
        if constexpr (requires(T &object) { object.shrink(); }) desc.shrink = shrunk;
        desc.user = state_;
        if (skua_status status = skua_local_add(of.raw(), &desc, &key_)) {
            state_->leave();
            check(status);
        }
        join(of.life());
    }
    explicit local(server &of) requires std::default_initializable<T> : local(of, [](worker) { return T(); }) {}
    local(local &&other) noexcept : of_server(close), state_(std::exchange(other.state_, nullptr)), of_(other.of_), key_(other.key_)
    {
        replace(other);
    }
    local &operator=(local &&) = delete;
    ~local()
    {
        leave();
        if (state_) state_->leave();
    }

    // The object of this worker. If make throws, the exception is passed on, and the next call tries again.
    // Thread: the worker's. Not after the server's end.
    T &operator()(worker on) const
    {
        if (!state_ || on.server() != of_) throw std::logic_error("a skua::local was moved, or is of another server");
        if (void *object = skua_local(on, key_)) return *static_cast<T *>(object);
        if (std::exception_ptr thrown = std::exchange(detail::thrown_by_make(), nullptr)) std::rethrow_exception(thrown);
        throw std::bad_alloc();
    }

private:
    using state = detail::local_state<T>;

    static void *made(skua_worker *on, void *user) noexcept
    {
        auto *self = static_cast<state *>(user);
        try {
            T *object = self->make(self, on);
            self->holders.fetch_add(1, std::memory_order_relaxed);
            return object;
        } catch (...) {
            detail::thrown_by_make() = std::current_exception();
            return nullptr;
        }
    }
    static void dropped(skua_worker *, void *object, void *user) noexcept
    {
        delete static_cast<T *>(object);
        static_cast<state *>(user)->leave();
    }
    static bool evicted(skua_worker *on, void *object, void *) noexcept
    {
        bool any = false;
        detail::log_throw(skua_worker_server(on), "evict", [&] { any = static_cast<T *>(object)->evict(); });
        return any;
    }
    static void shrunk(skua_worker *on, void *object, void *) noexcept
    {
        detail::log_throw(skua_worker_server(on), "shrink", [&] { static_cast<T *>(object)->shrink(); });
    }
    static void close(of_server *self, skua_server *of) noexcept { skua_local_remove(of, static_cast<local *>(self)->key_); }

    state *state_;
    skua_server *of_;
    unsigned key_ = 0;
};

} // namespace skua

#endif // SKUA_CPP_LOCAL_HPP
