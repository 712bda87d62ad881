// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: coroutines. A handler's frames belong to the worker of its request. When the request is gone,
// everything that they await throws skua::cancelled, but not before operations that still run elsewhere have
// completed.
#ifndef SKUA_CPP_TASK_HPP
#define SKUA_CPP_TASK_HPP

#include "request.hpp"

#include <chrono>
#include <coroutine>
#include <memory>
#include <variant>

namespace skua {

template <class T = void> class task;

namespace detail {

// The part that all coroutines of a request share: their request, and the frame that continues when one is done.
struct promise_base {
    life *alive = nullptr;
    std::coroutine_handle<> next;
    std::exception_ptr thrown;

    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept
    {
        struct to_next {
            std::coroutine_handle<> next;
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept { return next; }
            void await_resume() noexcept {}
        };
        return to_next{ next };
    }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
};

template <class T> struct promise : promise_base {
    std::optional<T> value;
    task<T> get_return_object();
    template <class U> void return_value(U &&v) { value.emplace(std::forward<U>(v)); }
    T take() { return *std::move(value); }
};

template <> struct promise<void> : promise_base {
    task<void> get_return_object();
    void return_void() noexcept {}
    void take() noexcept {}
};

template <class P>
concept of_request = std::derived_from<P, promise_base>;

} // namespace detail

// A coroutine that runs when it is awaited. Owns its frame.
template <class T> class [[nodiscard]] task {
public:
    using promise_type = detail::promise<T>;

    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    task(task &&other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task &operator=(task &&) = delete;
    ~task()
    {
        if (frame_) frame_.destroy();
    }

    bool await_ready() const
    {
        if (!frame_ || frame_.done()) throw std::logic_error("a skua::task was awaited twice, or after it was moved");
        return false;
    }
    template <detail::of_request P> std::coroutine_handle<> await_suspend(std::coroutine_handle<P> next) noexcept
    {
        frame_.promise().alive = next.promise().alive;
        frame_.promise().next = next;
        return frame_;
    }
    T await_resume()
    {
        if (frame_.promise().thrown) std::rethrow_exception(frame_.promise().thrown);
        return frame_.promise().take();
    }

private:
    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T> task<T> promise<T>::get_return_object()
{
    return task<T>(std::coroutine_handle<promise<T>>::from_promise(*this));
}

inline task<void> promise<void>::get_return_object()
{
    return task<void>(std::coroutine_handle<promise<void>>::from_promise(*this));
}

// The outermost frame of a coroutine handler: it begins at once, and frees itself at its end.
struct flight {
    struct promise_type : promise_base {
        flight get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); } // flight_run catches everything
        // An awaited object finds the request through the promise.
        struct told {
            life *alive;
            bool await_ready() noexcept { return false; }
            bool await_suspend(std::coroutine_handle<promise_type> frame) noexcept
            {
                frame.promise().alive = alive;
                return false;
            }
            void await_resume() noexcept {}
        };
    };
};

// Ties a frame to its request: the request's memory stays as long as the frame, and the frame is notified when the
// request is gone.
class hold {
public:
    hold(skua_request *raw, life &alive) : raw_(raw)
    {
        extra &kept = extra_of(raw);
        skua_request_hold(raw);
        alive.raw = raw;
        alive.worker = skua_request_worker(raw);
        kept.alive = &alive;
        alive_ = &alive;
    }
    hold(const hold &) = delete;
    hold &operator=(const hold &) = delete;
    ~hold()
    {
        if (alive_->raw) extra_of(raw_).alive = nullptr;
        skua_request_drop(raw_);
    }

private:
    skua_request *raw_;
    life *alive_;
};

// Ends a request that its handler has not answered when it returns.
inline void flight_settle(life &alive)
{
    skua_request *raw = alive.raw;
    if (!raw) return;
    if (alive.streams) {
        check(skua_finish(raw));
    } else if (skua_request_status(raw) == 0) {
        throw std::logic_error("a coroutine ended without a response");
    }
}

template <class F> flight flight_run(F &fn, skua_request *raw)
{
    life alive;
    try {
        hold tie(raw, alive);
        co_await flight::promise_type::told{ &alive };
        try {
            co_await fn(request(raw, &alive));
            flight_settle(alive);
        } catch (...) {
            request::fail(raw, !alive.raw);
        }
    } catch (...) {
        request::fail(raw); // no memory to begin with
    }
}

// Like flight_run, for middleware: a request that it has not answered goes on.
template <class F> flight flight_pass(F &fn, skua_request *raw)
{
    bool is_open = false;
    try {
        life alive;
        hold tie(raw, alive);
        co_await flight::promise_type::told{ &alive };
        try {
            co_await fn(request(raw, &alive));
            is_open = alive.raw && skua_request_status(raw) == 0;
        } catch (...) {
            request::fail(raw, !alive.raw);
        }
    } catch (...) {
        request::fail(raw); // no memory to begin with
    }
    if (is_open) skua_next(raw); // its handler may be a coroutine, which the request then knows
}

// An awaited call into C that calls back once, perhaps before it returns.
struct once : waiter {
    std::coroutine_handle<> frame;
    life *alive = nullptr;
    bool suspended = false, called = false;

    void complete()
    {
        called = true;
        if (!suspended) return;
        if (alive->waits == this) alive->waits = nullptr;
        frame.resume();
    }
    // True: stay suspended.
    bool begun(life *of, std::coroutine_handle<> h)
    {
        alive = of;
        frame = h;
        if (called) return false;
        suspended = true;
        alive->waits = this;
        return true;
    }
    void judge() const
    {
        if (!alive->raw) throw cancelled();
    }
};

struct body_awaiter : once {
    request of;
    std::uint64_t limit;
    skua_status status = SKUA_OK;
    std::string_view content;

    body_awaiter(request r, std::uint64_t most) : of(r), limit(most) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        skua_status begins = skua_content_collect(of.raw(), limit, collected, this);
        if (begins == SKUA_OK) return begun(h.promise().alive, h); // collected may have given the reason already
        status = begins;
        return false;
    }
    static void collected(skua_request *, skua_status status, skua_slice content, void *user)
    {
        auto *self = static_cast<body_awaiter *>(user);
        self->status = status;
        self->content = view(content);
        self->complete();
    }
    std::string_view await_resume() const
    {
        if (status == SKUA_ECLOSED) throw cancelled();
        if (status == SKUA_ELIMIT) throw http_error(413);
        check(status);
        return content;
    }
};

struct send_awaiter : once {
    request of;
    std::string_view rest;

    send_awaiter(request r, std::string_view octets) : of(r), rest(octets) {}

    // Writes as much as there is room for; true when nothing is left.
    bool push()
    {
        skua_request *raw = of.raw();
        while (!rest.empty()) {
            std::uint64_t room = skua_write_room(raw);
            if (room == 0) return false;
            std::size_t n = rest.size() < room ? rest.size() : static_cast<std::size_t>(room);
            check(skua_write(raw, slice(rest.substr(0, n))));
            rest.remove_prefix(n);
        }
        return true;
    }
    bool await_ready()
    {
        if (skua_request_status(of.raw()) == 0) of.stream(200, "application/octet-stream");
        return push();
    }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        cancel = [](waiter *self) { static_cast<send_awaiter *>(self)->complete(); };
        drained = [](waiter *self) { static_cast<send_awaiter *>(self)->more(); };
        return begun(h.promise().alive, h);
    }
    void more() noexcept
    {
        try {
            if (!push()) return;
        } catch (...) {
            failed = std::current_exception();
        }
        complete();
    }
    void await_resume() const
    {
        if (failed) std::rethrow_exception(failed);
        if (alive) judge();
    }
    std::exception_ptr failed;
};

template <class T> struct result {
    std::variant<std::monostate, T, std::exception_ptr> held;
    template <class F> void run(F &fn) { held.template emplace<1>(fn()); }
    T take() { return std::get<1>(std::move(held)); }
};

template <> struct result<void> {
    std::variant<std::monostate, std::monostate, std::exception_ptr> held;
    template <class F> void run(F &fn) { fn(); }
    void take() {}
};

// Runs fn on a helper thread. The frame waits for its end, whatever happens to the request.
template <class F> struct blocking_awaiter : once {
    F fn;
    result<std::invoke_result_t<F &>> got;
    skua_status status = SKUA_OK;

    explicit blocking_awaiter(F f) : fn(std::move(f)) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        status = skua_offload(alive->worker, given(fn, work), done, this);
        return status ? false : begun(alive, h);
    }
    static void work(void *user)
    {
        auto *self = static_cast<blocking_awaiter *>(user);
        try {
            self->got.run(self->fn);
        } catch (...) {
            self->got.held.template emplace<2>(std::current_exception());
        }
    }
    static void done(skua_worker *, void *user) { static_cast<blocking_awaiter *>(user)->complete(); }
    auto await_resume()
    {
        judge();
        if (status == SKUA_ELIMIT) throw http_error(503);
        check(status);
        if (got.held.index() == 2) std::rethrow_exception(std::get<2>(got.held));
        return got.take();
    }
};

struct sleep_awaiter : once {
    std::chrono::nanoseconds delay;
    skua_timer timer{};
    skua_status status = SKUA_OK;

    explicit sleep_awaiter(std::chrono::nanoseconds d) : delay(d) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        status = skua_timer_start(alive->worker, delay.count(), 0, rung, this, &timer);
        if (status) return false;
        cancel = [](waiter *self) {
            auto *me = static_cast<sleep_awaiter *>(self);
            skua_timer_stop(me->timer);
            me->complete();
        };
        return begun(alive, h);
    }
    static void rung(skua_worker *, void *user) { static_cast<sleep_awaiter *>(user)->complete(); }
    void await_resume() const
    {
        judge();
        check(status);
    }
};

struct ready_awaiter : once {
    int fd;
    unsigned events, told = 0;
    skua_poll poll{};
    skua_status status = SKUA_OK;

    ready_awaiter(int descriptor, unsigned wanted) noexcept : fd(descriptor), events(wanted) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        status = skua_poll_start(alive->worker, fd, events | SKUA_POLL_ONCE, called_when, this, &poll);
        if (status) return false;
        cancel = [](waiter *self) {
            auto *me = static_cast<ready_awaiter *>(self);
            skua_poll_stop(me->poll);
            me->complete();
        };
        return begun(alive, h);
    }
    static void called_when(skua_worker *, int, unsigned events, void *user)
    {
        auto *self = static_cast<ready_awaiter *>(user);
        self->told = events;
        self->complete();
    }
    unsigned await_resume() const
    {
        judge();
        check(status);
        return told;
    }
};

} // namespace detail

inline auto request::body(std::uint64_t limit)
{
    return detail::body_awaiter(*this, limit);
}

inline auto request::send(std::string_view octets)
{
    return detail::send_awaiter(*this, octets);
}

// co_await skua::blocking([&] { return db.find(id); }) runs the function on a helper thread, then goes on here with
// its result.
template <std::invocable F> [[nodiscard("to be awaited")]] auto blocking(F fn)
{
    return detail::blocking_awaiter<F>(std::move(fn));
}

// The same for a handler that is not a coroutine: work() runs on a helper thread, then done(request &, its result) on
// the request's worker. An exception from either becomes the response. done is not called if the request has ended
// meanwhile.
// Cost: an allocation.
// Errors: http_error 503: too much is queued; cancelled: the request has ended.
template <std::invocable W, class D> void offload(const request &of, W work, D done)
{
    struct job {
        W work;
        D done;
        detail::result<std::invoke_result_t<W &>> got{};
    };
    auto held = std::make_unique<job>(job{ std::move(work), std::move(done) });
    skua_status status = skua_request_offload(
        of.raw(),
        detail::given(held->work, +[](void *user) noexcept {
            auto *self = static_cast<job *>(user);
            try {
                self->got.run(self->work);
            } catch (...) {
                self->got.held.template emplace<2>(std::current_exception());
            }
        }),
        detail::given(held->done, +[](skua_request *raw, void *user) noexcept {
            std::unique_ptr<job> now(static_cast<job *>(user));
            if (!raw) return;
            request::guard(raw, [&] {
                request self(raw);
                if (now->got.held.index() == 2) std::rethrow_exception(std::get<2>(now->got.held));
                if constexpr (std::is_void_v<std::invoke_result_t<W &>>) now->done(self);
                else now->done(self, now->got.take());
            });
        }),
        held.get());
    if (status == SKUA_ELIMIT) throw http_error(503);
    if (status == SKUA_ECLOSED) throw cancelled();
    check(status);
    (void)held.release();
}

// co_await skua::sleep(10ms)
[[nodiscard("to be awaited")]] inline auto sleep(std::chrono::nanoseconds delay)
{
    return detail::sleep_awaiter(delay);
}

// co_await skua::readable(fd), skua::writable(fd) wait until a descriptor can be read or written. No other coroutine
// or poll of this worker may wait for it meanwhile. The result has SKUA_POLL_ERROR if the kernel reports an error.
[[nodiscard("to be awaited")]] inline auto readable(int fd)
{
    return detail::ready_awaiter(fd, SKUA_POLL_READABLE);
}

[[nodiscard("to be awaited")]] inline auto writable(int fd)
{
    return detail::ready_awaiter(fd, SKUA_POLL_WRITABLE);
}

} // namespace skua

#endif // SKUA_CPP_TASK_HPP
