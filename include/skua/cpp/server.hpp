// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a server and the handlers it owns, tickets, timers, and what else outlives a request.
#ifndef SKUA_CPP_SERVER_HPP
#define SKUA_CPP_SERVER_HPP

#include "request.hpp"
#include "task.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace skua {

// ---- From other threads -----------------------------------------------------------------------

// A request to be answered later, from any thread. Resumed at most once; copies share that.
class ticket {
public:
    explicit ticket(const request &of) : server_(skua_request_server(of.raw()))
    {
        check(skua_ticket_take(of.raw(), &raw_));
    }

    // Calls fn(request &) once on the request's worker, with an empty request if it is gone by then. Returns
    // whether it will be called: not when it was resumed already or the request is gone already.
    template <std::invocable<request &> F> bool resume(F fn) const
    {
        struct call {
            F fn;
            skua_server *server;
        };
        auto held = std::make_unique<call>(call{ std::move(fn), server_ });
        skua_status status = skua_resume(
            raw_,
            detail::given(held->fn, +[](skua_request *raw, void *user) {
                std::unique_ptr<call> now(static_cast<call *>(user));
                request self(raw);
                if (raw) request::guard(raw, [&] { now->fn(self); });
                else detail::log_throw(now->server, "a ticket's function", [&] { now->fn(self); });
            }),
            held.get());
        if (status) return false;
        (void)held.release();
        return true;
    }

private:
    skua_ticket raw_{};
    skua_server *server_;
};

// ---- Timers -----------------------------------------------------------------------------------

// Calls a function on a worker, once or again and again, until it is destroyed: on that worker, also inside the
// function, or anywhere once the worker has ended.
class timer {
public:
    template <std::invocable F>
    timer(skua_worker *worker, std::chrono::nanoseconds delay, std::chrono::nanoseconds period, F fn)
        : held_(std::make_shared<state>(std::move(fn)))
    {
        check(skua_timer_start(worker, delay.count(), period.count(), detail::given(held_->fn, run), held_.get(),
                               &held_->raw));
    }
    timer(timer &&) noexcept = default;
    timer &operator=(timer &&) = delete;
    ~timer()
    {
        if (held_) skua_timer_stop(held_->raw);
    }

private:
    struct state : std::enable_shared_from_this<state> {
        explicit state(std::function<void()> f) : fn(std::move(f)) {}
        std::function<void()> fn;
        skua_timer raw{};
    };

    static void run(skua_worker *worker, void *user)
    {
        auto self = static_cast<state *>(user)->shared_from_this(); // the timer may be destroyed inside
        detail::log_throw(skua_worker_server(worker), "a timer's function", [&] { self->fn(); });
    }

    std::shared_ptr<state> held_;
};

// ---- Polls ------------------------------------------------------------------------------------

// The events of a descriptor, as SKUA_POLL_READABLE and its like.
enum class ready : unsigned { none = 0, readable = SKUA_POLL_READABLE, writable = SKUA_POLL_WRITABLE, error = SKUA_POLL_ERROR };

constexpr ready operator|(ready a, ready b) noexcept
{
    return static_cast<ready>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// Whether a has all of b.
constexpr bool has(ready a, ready b) noexcept
{
    return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) == static_cast<unsigned>(b);
}

// Calls a function on a worker while a descriptor is ready, until it is destroyed: on that worker, also inside the
// function, or anywhere once the worker has ended; and before the descriptor is closed. See skua_poll_start.
class poll {
public:
    template <std::invocable<ready> F>
    poll(skua_worker *worker, int fd, ready events, F fn) : held_(std::make_shared<state>(std::move(fn)))
    {
        check(skua_poll_start(worker, fd, static_cast<unsigned>(events), detail::given(held_->fn, run), held_.get(),
                              &held_->raw));
    }
    poll(poll &&) noexcept = default;
    poll &operator=(poll &&) = delete;
    ~poll()
    {
        if (held_) skua_poll_stop(held_->raw);
    }

    // Waits for other events, ready::none for nothing.
    void change(ready events) { check(skua_poll_change(held_->raw, static_cast<unsigned>(events))); }

private:
    struct state : std::enable_shared_from_this<state> {
        explicit state(std::function<void(ready)> f) : fn(std::move(f)) {}
        std::function<void(ready)> fn;
        skua_poll raw{};
    };

    static void run(skua_worker *worker, int, unsigned events, void *user)
    {
        auto self = static_cast<state *>(user)->shared_from_this(); // the poll may be destroyed inside
        detail::log_throw(skua_worker_server(worker), "a poll's function", [&] { self->fn(static_cast<ready>(events)); });
    }

    std::shared_ptr<state> held_;
};

// ---- Configuration ----------------------------------------------------------------------------

// skua_config with chrono's units, for designated initialisers. 0 and nullptr mean default. What is not here is
// set in the skua_config that it becomes.
struct config {
    using time = std::chrono::nanoseconds;

    const char *listen = nullptr, *hosts = nullptr, *backend = nullptr;
    unsigned workers = 0, backlog = 0, connections_max = 0;
    std::size_t head_octets_max = 0, target_octets_max = 0;
    unsigned fields_max = 0, params_max = 0;
    std::uint64_t content_octets_max = 0, discard_octets_max = 0, out_octets_max = 0;
    time head_timeout{}, keep_alive_timeout{}, stall_timeout{}, rate_window{}, handler_timeout{}, linger_timeout{};
    time stream_idle_timeout{}, unanswered_log{};
    bool half_close = false;
    std::uint64_t rate_octets_min = 0;
    skua_log_format log = SKUA_LOG_NONE;
    skua_log_write *log_write = nullptr;
    void *log_user = nullptr;
    std::size_t memory_max = 0, log_buffer_max = 0;
    skua_tls_desc tls{};

    operator skua_config() const noexcept
    {
        skua_config c{};
        c.listen = listen;
        c.hosts = hosts;
        c.backend = backend;
        c.workers = workers;
        c.backlog = backlog;
        c.connections_max = connections_max;
        c.head_octets_max = head_octets_max;
        c.target_octets_max = target_octets_max;
        c.fields_max = fields_max;
        c.params_max = params_max;
        c.content_octets_max = content_octets_max;
        c.discard_octets_max = discard_octets_max;
        c.out_octets_max = out_octets_max;
        c.head_timeout_ns = head_timeout.count();
        c.keep_alive_timeout_ns = keep_alive_timeout.count();
        c.stall_timeout_ns = stall_timeout.count();
        c.rate_window_ns = rate_window.count();
        c.handler_timeout_ns = handler_timeout.count();
        c.linger_timeout_ns = linger_timeout.count();
        c.stream_idle_timeout_ns = stream_idle_timeout.count();
        c.unanswered_log_ns = unanswered_log.count();
        c.half_close = half_close;
        c.rate_octets_min = rate_octets_min;
        c.log = log;
        c.log_write = log_write;
        c.log_user = log_user;
        c.memory_max = memory_max;
        c.log_buffer_max = log_buffer_max;
        c.tls = tls;
        return c;
    }
};

// ---- Servers ----------------------------------------------------------------------------------

namespace detail {

template <class F>
concept coroutine_handler = requires(F &fn, request r) {
    { fn(std::move(r)) } -> std::same_as<task<void>>;
};

template <class F>
concept plain_handler = requires(F &fn, request &r) {
    { fn(r) } -> std::same_as<void>;
};

template <class F> void handle(skua_request *raw, void *user) noexcept
{
    F &fn = *static_cast<F *>(user);
    if constexpr (coroutine_handler<F>) {
        flight_run(fn, raw);
    } else {
        request self(raw);
        request::guard(raw, [&] { fn(self); });
    }
}

} // namespace detail

template <class F>
concept handler = detail::plain_handler<F> || detail::coroutine_handler<F>;

// A server. Everything it was given (handlers, and what they captured) lives until it is destroyed.
class server {
public:
    explicit server(const config &desc = {}) : server(static_cast<skua_config>(desc)) {}
    template <std::same_as<skua_config> C> explicit server(const C &desc) : raw_(skua_server_new(&desc))
    {
        if (!raw_) throw std::bad_alloc();
    }

    skua_server *raw() const noexcept { return raw_.get(); }

    // pattern: as skua_route takes it, "GET /users/{id}".
    template <handler F> server &route(const char *pattern, F fn)
    {
        F *held = keep(std::move(fn));
        return judge(skua_route(raw(), pattern, detail::given(*held, detail::handle<F>), held));
    }
    template <handler F> server &get(std::string_view path, F fn) { return method("GET ", path, std::move(fn)); }
    template <handler F> server &post(std::string_view path, F fn) { return method("POST ", path, std::move(fn)); }
    template <handler F> server &put(std::string_view path, F fn) { return method("PUT ", path, std::move(fn)); }
    template <handler F> server &patch(std::string_view path, F fn) { return method("PATCH ", path, std::move(fn)); }
    template <handler F> server &del(std::string_view path, F fn) { return method("DELETE ", path, std::move(fn)); }
    template <handler F> server &any(std::string_view path, F fn) { return method("", path, std::move(fn)); }

    // A member function of an object that outlives the server: app.route("GET /x", object, &type::on_x).
    template <class T, class R> server &route(const char *pattern, T &object, R (T::*member)(request &))
    {
        return route(pattern, [&object, member](request &r) { (object.*member)(r); });
    }
    template <class T> server &route(const char *pattern, T &object, task<> (T::*member)(request))
    {
        return route(pattern, [&object, member](request r) { return (object.*member)(r); });
    }

    // fn(request &) runs on a thread of the pool, where it may wait, after the content has been collected.
    template <detail::plain_handler F> server &blocking(const char *pattern, F fn)
    {
        F *held = keep(std::move(fn));
        return judge(skua_route_blocking(raw(), pattern, detail::given(*held, detail::handle<F>), held));
    }

    // Middleware for every request at or below prefix. before(request &): answers, or returns and the request goes on.
    template <std::invocable<request &> F> server &before(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.before = [](skua_request *raw, void *user) {
            request::guard(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self);
            });
            if (skua_request_status(raw) == 0) skua_next(raw);
        };
        desc.user = held;
        return judge(skua_use(raw(), prefix, detail::given(*held, &desc)));
    }
    // fn(request &, int status): the response's head is about to be written; it may add fields.
    template <std::invocable<request &, int> F> server &on_head(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.head = [](skua_request *raw, int status, void *user) {
            detail::log_throw_of(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, status);
            });
        };
        desc.user = held;
        return judge(skua_use(raw(), prefix, detail::given(*held, &desc)));
    }
    // fn(request &, int status, std::string_view sentence) responds where there is an error to tell at or below
    // prefix, before it returns, or else the server's page is sent. Inside, std::current_exception() is what a
    // handler has thrown, if one has.
    template <std::invocable<request &, int, std::string_view> F> server &on_error(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        return judge(skua_on_error(
            raw(), prefix,
            detail::given(*held, +[](skua_request *raw, int status, skua_slice sentence, void *user) {
                detail::log_throw_of(raw, [&] {
                    request self(raw);
                    self.status(status);
                    (*static_cast<F *>(user))(self, status, view(sentence));
                });
            }),
            held));
    }
    // fn(request &, skua_end): the request has ended.
    template <std::invocable<request &, skua_end> F> server &on_end(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.end = [](skua_request *raw, skua_end how, void *user) {
            detail::log_throw_of(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, how);
            });
        };
        desc.user = held;
        return judge(skua_use(raw(), prefix, detail::given(*held, &desc)));
    }

    // Compresses the responses below a prefix.
    server &compress(const char *prefix, const skua_compression &how = {})
    {
        return judge(skua_use_compression(raw(), prefix, &how));
    }

    server &directory(const char *pattern, const char *path, const skua_directory_config &config = {})
    {
        return judge(skua_route_directory(raw(), pattern, path, &config));
    }

    server &listen(const char *address) { return judge(skua_listen(raw(), address)); }
    void start() { judge(skua_start(raw())); }
    void wait() { judge(skua_wait(raw())); }
    void run() // what is thrown says why
    {
        start();
        wait();
    }
    void stop(std::chrono::nanoseconds grace = std::chrono::seconds(10)) noexcept { skua_stop(raw(), grace.count()); }

    // Where it listens, with the real port; empty past the last.
    std::string_view address(std::size_t index = 0) const
    {
        const char *text = skua_server_address(raw(), index);
        return text ? text : "";
    }

    // Runs fn(skua_worker *) on worker number index.  Thread: any.
    template <std::invocable<skua_worker *> F> void post_to(unsigned index, F fn)
    {
        auto held = std::make_unique<F>(std::move(fn));
        check(skua_post(
            raw(), index,
            detail::given(*held, +[](skua_worker *worker, void *user) {
                std::unique_ptr<F> now(static_cast<F *>(user));
                detail::log_throw(skua_worker_server(worker), "a posted function", [&] { (*now)(worker); });
            }),
            held.get()));
        (void)held.release();
    }

    // Plays octets as one client's connection, without a socket, and returns what it would have received.
    std::string test(std::string_view octets)
    {
        skua_slice answer{};
        judge(skua_test_request(raw(), slice(octets), &answer));
        std::string text(view(answer));
        skua_test_free(answer);
        return text;
    }

private:
    struct kept {
        void *object;
        void (*drop)(void *object);
        kept(void *o, void (*d)(void *)) noexcept : object(o), drop(d) {}
        kept(kept &&other) noexcept : object(std::exchange(other.object, nullptr)), drop(other.drop) {}
        kept &operator=(kept &&) = delete;
        ~kept()
        {
            if (object) drop(object);
        }
    };

    struct freer {
        void operator()(skua_server *raw) const noexcept { skua_server_free(raw); }
    };

    template <class F> F *keep(F &&fn)
    {
        using held = std::remove_cvref_t<F>;
        auto made = std::make_unique<held>(std::forward<F>(fn));
        objects_.emplace_back(made.get(), [](void *object) { delete static_cast<held *>(object); });
        return made.release();
    }

    server &judge(skua_status status)
    {
        if (status) throw error(status, skua_server_error(raw()));
        return *this;
    }

    template <class F> server &method(const char *name, std::string_view path, F fn)
    {
        return route((name + std::string(path)).c_str(), std::move(fn));
    }

    std::vector<kept> objects_; // destroyed after the server, whose handlers use them
    std::unique_ptr<skua_server, freer> raw_;
};

} // namespace skua

#endif // SKUA_CPP_SERVER_HPP
