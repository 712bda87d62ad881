// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a server with its handlers, and tickets, timers and polls, which outlive a request.
#ifndef SKUA_CPP_SERVER_HPP
#define SKUA_CPP_SERVER_HPP

#include "lifetime.hpp"
#include "request.hpp"
#include "routes.hpp"
#include "task.hpp"
#include "websocket.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace skua {

// ---- From other threads -----------------------------------------------------------------------

// A request that will be answered later, from any thread. It can be resumed once; copies are the same ticket.
class ticket {
public:
    explicit ticket(const request &of) : server_(skua_request_server(of.raw()))
    {
        check(skua_ticket_take(of.raw(), &raw_));
    }

    // Calls fn(request &) once on the request's worker, with an empty request if it is gone by then.
    // Returns: whether fn will be called; false if the ticket was resumed already or the request is gone.  Thread:
    // any.
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

// Calls a function on a worker, once or repeatedly, until this object is destroyed. Destroy it on that worker, also
// inside the function, or on any thread once the worker has ended.
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

// The events of a descriptor, as in skua_poll_event.
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

// Calls a function on a worker while a descriptor is ready, until this object is destroyed. Destroy it before the
// descriptor is closed, on that worker, also inside the function, or on any thread once the worker has ended. See
// skua_poll_start.
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

    // Changes the events; ready::none waits for nothing.
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

// ---- Tests ---------------------------------------------------------------------------------------

// A response of server::test, as skua_test_response.
struct test_response {
    int status = 0;
    std::string content, fields;

    // The value of the first field of that name; "" without one.
    std::string_view field(const char *name) const
    {
        const skua_test_response read{ status, {}, slice(fields), {} };
        return view(skua_test_field(&read, name));
    }
};

// ---- Servers ----------------------------------------------------------------------------------

// A server. Handlers, and the objects that they have captured, live until it is destroyed.
class server : public detail::routes<server> {
public:
    explicit server(const config &desc = {}) : hooks_(std::make_unique<detail::hooks>(desc))
    {
        const detail::certificates list(desc.tls.certificates);
        make(detail::converted(desc, list, *hooks_));
        hooks_->server = raw();
    }
    // Makes a server of C's configuration. Its functions and their objects are the caller's.
    template <std::same_as<skua_config> C> explicit server(const C &desc) { make(desc); }
    server(server &&) noexcept = default;
    // The former server ends first, while the objects that its handlers have captured still exist.
    server &operator=(server &&other) noexcept
    {
        server ends(std::move(*this));
        raw_ = std::move(other.raw_);
        life_ = std::move(other.life_);
        hooks_ = std::move(other.hooks_);
        objects_ = std::move(other.objects_);
        return *this;
    }

    skua_server *raw() const noexcept { return raw_.get(); }

    // Used by objects of this header that belong to the server.
    const std::shared_ptr<detail::server_life> &life() const noexcept { return life_; }

    // Compresses the responses below a prefix.
    server &compress(const char *prefix, const compression &how = {})
    {
        const skua_compression desc = how;
        return judge(skua_use_compression(raw(), prefix, &desc));
    }

    // Serves the files below path at pattern, which ends in "/": see skua_route_directory.
    server &directory(const char *pattern, const char *path, const directory_config &how = {})
    {
        const skua_directory_config desc = detail::converted(how, keep_functions(how));
        return judge(skua_route_directory(raw(), pattern, path, &desc));
    }

    // Serves files that are embedded in the program: see skua_route_assets.
    server &assets(const char *pattern, const skua_assets &files, const assets_config &how = {})
    {
        const skua_assets_config desc = how;
        return judge(skua_route_assets(raw(), pattern, &files, &desc));
    }

    server &listen(const char *address) { return judge(skua_listen(raw(), address)); }
    // Listens on an existing listening socket; on success it belongs to the server. See skua_listen_fd.
    server &listen_fd(int fd) { return judge(skua_listen_fd(raw(), fd)); }
    // Listens on the sockets that systemd passed to this process, and returns their number. See skua_listen_inherited.
    // Thread: one at a time with everything that uses the environment.
    unsigned listen_inherited()
    {
        unsigned count = 0;
        judge(skua_listen_inherited(raw(), &count));
        return count;
    }
    // Before start, for address number index, from 0: listen_over_tls makes it speak TLS; listen_forwarded chooses how
    // proxies tell the client's address there. See skua_listen_over_tls, skua_listen_forwarded.
    server &listen_over_tls(std::size_t index) { return judge(skua_listen_over_tls(raw(), index)); }
    server &listen_forwarded(size_t index, skua_forwarded forwarded)
    {
        return judge(skua_listen_forwarded(raw(), index, forwarded));
    }

    // Change a server, before or after its start: see skua_listener_add, skua_listener_remove, skua_listeners_remove
    // and skua_workers_set.  Thread: any but workers.
    std::size_t listener_add(const listener &at)
    {
        const skua_listener_desc desc = at;
        std::size_t index = 0;
        judge(skua_listener_add(raw(), &desc, &index));
        return index;
    }
    server &listener_remove(std::size_t index) { return judge(skua_listener_remove(raw(), index)); }
    server &listeners_remove(std::span<const std::size_t> indices)
    {
        return judge(skua_listeners_remove(raw(), indices.data(), indices.size()));
    }
    server &workers(unsigned count) { return judge(skua_workers_set(raw(), count)); }

    void start() { judge(skua_start(raw())); }
    void wait() { judge(skua_wait(raw())); }
    void run() { judge(skua_run(raw())); } // the exception and the log say why it failed

    // Opens the server for a loop of the caller's: whenever fd is readable or timeout has passed, call turn. See
    // skua_open.
    // Thread: the one that then calls the other three, and destroys the server.
    void open() { judge(skua_open(raw())); }
    int fd() const { return skua_fd(raw()); } // belongs to the server; -1 when it is not open
    // How long the caller may wait before it calls turn; nothing: without limit.
    std::optional<std::chrono::nanoseconds> timeout() const
    {
        std::int64_t ns = skua_timeout_ns(raw());
        return ns < 0 ? std::nullopt : std::optional<std::chrono::nanoseconds>(ns);
    }
    // Waits until there is something to do, at most that long (below 0: without limit), and does it.
    // Returns: false once the server has ended after stop, or if it was not open.
    // Errors: skua::error, SKUA_EIO: the server has ended by itself.
    bool turn(std::chrono::nanoseconds wait = std::chrono::nanoseconds(0))
    {
        skua_status status = skua_turn(raw(), wait.count() < 0 ? -1 : wait.count());
        if (status != SKUA_ECLOSED) judge(status);
        return status == SKUA_OK;
    }

    void stop(std::chrono::nanoseconds grace = std::chrono::seconds(10)) noexcept { skua_stop(raw(), grace.count()); }

    // Closes connections with their next responses, and goes on accepting. See skua_drain.  Thread: any, and signal
    // handlers.
    void drain() noexcept { skua_drain(raw()); }

    // Stops accepting, because another process has the same sockets: see skua_leave.  Thread: any, and signal
    // handlers.
    void leave() noexcept { skua_leave(raw()); }

    // Makes SIGINT and SIGTERM stop the server: with that grace period, or at once if it is stopping already.
    server &stop_on_signals(std::chrono::nanoseconds grace = std::chrono::seconds(10))
    {
        return judge(skua_stop_on_signals(raw(), grace.count()));
    }

    // The address of that number, with the actual port; empty past the last.
    std::string_view address(std::size_t index = 0) const
    {
        const char *text = skua_server_address(raw(), index);
        return text ? text : "";
    }

    bool address_is_secure(std::size_t index = 0) const { return skua_server_address_is_secure(raw(), index); }

    // The number of workers and the name of the backend, after start.
    unsigned workers() const { return skua_server_workers(raw()); }
    std::string_view backend() const { return skua_server_backend(raw()); }

    // Reads the statistics: see skua_server_stats.  Thread: any.  Cost: about a thousand loads for each worker.
    skua_stats stats() const
    {
        skua_stats counts{};
        skua_server_stats(raw(), &counts);
        return counts;
    }

    // Writes a line to the error log.  Thread: any.
    void log(std::string_view message) const { skua_log(raw(), slice(message)); }

    // Registers fn to be called when the server is freed, after the last objects of its workers; the last registered
    // first.
    template <std::invocable F> server &on_free(F fn)
    {
        auto held = std::make_unique<F>(std::move(fn));
        check(skua_server_on_free(raw(), detail::call_once<F>, held.get()));
        (void)held.release();
        return *this;
    }

    // Changes how the server speaks TLS, from the next handshake on; the member listen is ignored. With choose, the
    // server must have been made of a skua::config. See skua_tls_reload.
    // Errors: skua::error with a sentence; nothing has changed then.  Thread: any.
    void tls_reload(const tls &how)
    {
        const detail::certificates list(how.certificates);
        skua_tls_desc desc = detail::converted(how, list);
        std::shared_ptr<const detail::hooks::chooser> before;
        if (how.choose) {
            if (!hooks_) throw error(SKUA_ESTATE, "tls.choose is for servers that were made of a skua::config");
            before = hooks_->choose_by(std::make_shared<const detail::hooks::chooser>(how.choose));
            hooks_->put_into(desc);
        }
        char why[detail::why_room] = "";
        skua_status status = skua_tls_reload(raw(), &desc, why, sizeof why);
        if (status && how.choose) hooks_->choose_by(std::move(before));
        detail::check_why(status, why);
    }

    // Carries topics between servers that have a bridge to the same store, before start: see skua_topic_bridge.
    server &bridge(const topic_bridge &to)
    {
        struct gap_told {
            std::function<void()> fn;
        };
        skua_topic_bridge_desc desc{};
        desc.url = to.url;
        desc.stream = to.stream;
        desc.retained_max = to.retained_max;
        desc.waiting_octets_max = to.waiting_octets_max;
        desc.message_octets_max = to.message_octets_max;
        desc.gap_text = to.gap_text;
        if (to.gap) {
            desc.user = keep(gap_told{ to.gap });
            desc.gap = [](skua_server *of, void *user) {
                detail::log_throw(of, "a bridge's gap", [&] { static_cast<gap_told *>(user)->fn(); });
            };
        }
        return judge(skua_topic_bridge(raw(), &desc));
    }

    // Publishes a message to all that have joined a topic. See skua_topic_publish.
    // Returns: SKUA_ELIMIT: too many are on their way to the workers.  Thread: any.
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

    // Sends octets as one client's connection, without a socket, and returns everything that the client would have
    // received.
    std::string test(std::string_view octets)
    {
        skua_slice answer{};
        judge(skua_test_request(raw(), slice(octets), &answer));
        std::string text(view(answer));
        skua_test_free(answer);
        return text;
    }

    // Takes hosts away from the sites that have them. See skua_site_withdraw.
    // Returns: false: no site has any of them.  Thread: any.
    bool withdraw(const char *hosts)
    {
        skua_status status = skua_site_withdraw(raw(), hosts);
        if (status != SKUA_ENOENT) check(status);
        return status == SKUA_OK;
    }

private:
    struct freer {
        void operator()(skua_server *raw) const noexcept { skua_server_free(raw); }
    };

    friend class detail::routes<server>;
    template <class> friend class detail::route_group;

    void make(const skua_config &desc)
    {
        raw_.reset(skua_server_new(&desc));
        if (!raw_) throw std::bad_alloc();
        check(skua_server_on_free(raw(), [](void *user) { static_cast<detail::server_life *>(user)->end(); }, life_.get()));
        life_->begin(raw());
    }

    // For a route with only a handler, messages are about a handler.
    skua_status add(const skua_route_desc &desc)
    {
        if (detail::has_more(desc)) return skua_route_add(raw(), &desc);
        return skua_route(raw(), desc.pattern, desc.handler, desc.user);
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
    skua_server *of_server() noexcept { return raw(); }

    server &judge(skua_status status)
    {
        if (status) throw error(status, skua_server_error(raw()));
        return *this;
    }

    detail::kept_objects objects_; // destroyed after the server, because its handlers use them
    std::unique_ptr<detail::hooks> hooks_; // likewise, and the next one
    std::shared_ptr<detail::server_life> life_ = std::make_shared<detail::server_life>();
    std::unique_ptr<skua_server, freer> raw_;
};

} // namespace skua

#endif // SKUA_CPP_SERVER_HPP
