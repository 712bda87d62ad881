// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a server and the handlers it owns, tickets, timers, and what else outlives a request.
#ifndef SKUA_CPP_SERVER_HPP
#define SKUA_CPP_SERVER_HPP

#include "request.hpp"
#include "routes.hpp"
#include "task.hpp"
#include "websocket.hpp"

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
    const char *trusted = nullptr;
    skua_forwarded forwarded = SKUA_FORWARDED_NONE;
    bool stats = false;

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
        c.trusted = trusted;
        c.forwarded = forwarded;
        c.stats = stats;
        return c;
    }
};

// A response of server::test, as skua_test_response.
struct test_response {
    int status = 0;
    std::string content, fields;

    // The value of a field, its first line; "" without one.
    std::string_view field(const char *name) const
    {
        const skua_test_response read{ status, {}, slice(fields), {} };
        return view(skua_test_field(&read, name));
    }
};

// ---- Servers ----------------------------------------------------------------------------------

// A server. Everything it was given (handlers, and what they captured) lives until it is destroyed.
class server : public detail::routes<server> {
public:
    explicit server(const config &desc = {}) : server(static_cast<skua_config>(desc)) {}
    template <std::same_as<skua_config> C> explicit server(const C &desc) : raw_(skua_server_new(&desc))
    {
        if (!raw_) throw std::bad_alloc();
    }

    skua_server *raw() const noexcept { return raw_.get(); }

    // Compresses the responses below a prefix.
    server &compress(const char *prefix, const skua_compression &how = {})
    {
        return judge(skua_use_compression(raw(), prefix, &how));
    }

    server &directory(const char *pattern, const char *path, const skua_directory_config &config = {})
    {
        return judge(skua_route_directory(raw(), pattern, path, &config));
    }

    // Serves files that are part of the program: see skua_route_assets.
    server &assets(const char *pattern, const skua_assets &files, const skua_assets_config &config = {})
    {
        return judge(skua_route_assets(raw(), pattern, &files, &config));
    }

    server &listen(const char *address) { return judge(skua_listen(raw(), address)); }
    server &listen_forwarded(size_t index, skua_forwarded forwarded)
    {
        return judge(skua_listen_forwarded(raw(), index, forwarded));
    }

    // Change a server that runs, or one that does not yet: see skua_listener_add, skua_listener_remove and
    // skua_workers_set.  Thread: any but workers.
    std::size_t listener_add(const skua_listener_desc &desc)
    {
        std::size_t index = 0;
        judge(skua_listener_add(raw(), &desc, &index));
        return index;
    }
    server &listener_remove(std::size_t index) { return judge(skua_listener_remove(raw(), index)); }
    server &workers(unsigned count) { return judge(skua_workers_set(raw(), count)); }

    void start() { judge(skua_start(raw())); }
    void wait() { judge(skua_wait(raw())); }
    void run() // what is thrown says why
    {
        start();
        wait();
    }
    void stop(std::chrono::nanoseconds grace = std::chrono::seconds(10)) noexcept { skua_stop(raw(), grace.count()); }

    // Lets clients go with their next responses; it goes on accepting. See skua_drain.  Thread: any, and signal handlers.
    void drain() noexcept { skua_drain(raw()); }

    // Lets SIGINT and SIGTERM stop it: with that grace, or at once if it stops already.
    server &stop_on_signals(std::chrono::nanoseconds grace = std::chrono::seconds(10))
    {
        return judge(skua_stop_on_signals(raw(), grace.count()));
    }

    // Where it listens, with the real port; empty past the last.
    std::string_view address(std::size_t index = 0) const
    {
        const char *text = skua_server_address(raw(), index);
        return text ? text : "";
    }

    // Publishes a message to all who have joined a topic. SKUA_ELIMIT: too many are on their way. See skua_topic_publish.
    // Thread: any.
    skua_status publish(std::string_view topic, const publication &message) const noexcept
    {
        skua_publication out{};
        out.octets = slice(message.octets);
        out.binary = message.binary;
        out.event = slice(message.event);
        out.id = slice(message.id);
        out.except = message.except.raw();
        return skua_topic_publish(raw(), slice(topic), &out);
    }
    skua_status publish(std::string_view topic, std::string_view text) const noexcept
    {
        return publish(topic, publication{ .octets = text });
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

    // Sends one request, without a socket, and returns the response: see skua_test.
    test_response test(const char *method, const char *target, const char *content = nullptr)
    {
        skua_test_response answer{};
        judge(skua_test(raw(), method, target, content, &answer));
        test_response copy{ answer.status, std::string(view(answer.content)), std::string(view(answer.fields)) };
        skua_test_free(answer.received);
        return copy;
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
    struct freer {
        void operator()(skua_server *raw) const noexcept { skua_server_free(raw); }
    };

    friend class detail::routes<server>;
    template <class> friend class detail::route_group;

    skua_status add(const char *pattern, skua_handler *fn, void *user) { return skua_route(raw(), pattern, fn, user); }
    skua_status add_blocking(const char *pattern, skua_handler *fn, void *user)
    {
        return skua_route_blocking(raw(), pattern, fn, user);
    }
    skua_status add_middleware(const char *prefix, const skua_middleware *desc) { return skua_use(raw(), prefix, desc); }
    skua_status add_error(const char *prefix, skua_error_fn *fn, void *user)
    {
        return skua_on_error(raw(), prefix, fn, user);
    }
    skua_status add_websocket(const char *pattern, const skua_websocket_desc *desc)
    {
        return skua_websocket(raw(), pattern, desc);
    }
    detail::kept_objects &objects() noexcept { return objects_; }

    server &judge(skua_status status)
    {
        if (status) throw error(status, skua_server_error(raw()));
        return *this;
    }

    detail::kept_objects objects_; // destroyed after the server, whose handlers use them
    std::unique_ptr<skua_server, freer> raw_;
};

// ---- Sites ------------------------------------------------------------------------------------

// Routes, middleware and error functions for some hosts of a server, which may run: made, filled, and put into it.
// Everything it was given lives until the last of its requests has ended. See skua_site.
class site : public detail::routes<site> {
public:
    site(server &of, const char *hosts) : objects_(std::make_unique<detail::kept_objects>())
    {
        skua_site_desc desc{};
        desc.hosts = hosts;
        desc.release = [](void *user) { delete static_cast<detail::kept_objects *>(user); };
        desc.user = objects_.get();
        raw_.reset(skua_site_new(of.raw(), &desc));
        if (!raw_) throw std::bad_alloc();
        kept_ = objects_.release(); // released with the site
    }

    skua_site *raw() const noexcept { return raw_.get(); }

    site &directory(const char *pattern, const char *path, const skua_directory_config &config = {})
    {
        return judge(skua_site_directory(raw(), pattern, path, &config));
    }
    site &assets(const char *pattern, const skua_assets &files, const skua_assets_config &config = {})
    {
        return judge(skua_site_assets(raw(), pattern, &files, &config));
    }

    // Its hosts are its own from now on. It is the server's then, and nothing more can be added.
    void put()
    {
        judge(skua_site_put(raw()));
        (void)raw_.release();
        kept_ = nullptr;
    }

private:
    friend class detail::routes<site>;
    template <class> friend class detail::route_group;

    struct freer {
        void operator()(skua_site *raw) const noexcept { skua_site_free(raw); }
    };

    skua_status add(const char *pattern, skua_handler *fn, void *user)
    {
        return skua_site_route(raw(), pattern, fn, user);
    }
    skua_status add_blocking(const char *pattern, skua_handler *fn, void *user)
    {
        skua_route_desc desc{};
        desc.pattern = pattern;
        desc.blocking = fn;
        desc.user = user;
        return skua_site_route_add(raw(), &desc);
    }
    skua_status add_middleware(const char *prefix, const skua_middleware *desc)
    {
        return skua_site_use(raw(), prefix, desc);
    }
    skua_status add_error(const char *prefix, skua_error_fn *fn, void *user)
    {
        return skua_site_on_error(raw(), prefix, fn, user);
    }
    skua_status add_websocket(const char *pattern, const skua_websocket_desc *desc)
    {
        return skua_site_websocket(raw(), pattern, desc);
    }
    detail::kept_objects &objects()
    {
        if (!kept_) throw error(SKUA_ESTATE, "the site has been put, and nothing more can be added to it");
        return *kept_;
    }

    site &judge(skua_status status)
    {
        if (status) throw error(status, skua_site_error(raw()));
        return *this;
    }

    std::unique_ptr<detail::kept_objects> objects_; // until the site has them
    detail::kept_objects *kept_ = nullptr;
    std::unique_ptr<skua_site, freer> raw_;
};

} // namespace skua

#endif // SKUA_CPP_SERVER_HPP
