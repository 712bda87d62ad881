// SPDX-License-Identifier: MIT
//
// Misuses of skua.hpp: commits the one that is named, in a server that is tested in this process.
// tests/e2e/test_cpp_misuses.py knows what each is told.

#include "skua/skua.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace
{

const char asks[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// The sentence of the server's when the handler is fn.
template <class F> std::string told(F fn)
{
    skua::server app;
    app.get("/", std::move(fn));
    return app.test(asks);
}

void on_another_thread(const std::function<void()> &fn)
{
    std::thread(fn).join();
}

// Goes on with a coroutine on a thread of its own.
struct elsewhere {
    std::thread &runs;
    bool await_ready() const noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> frame)
    {
        runs = std::thread(frame);
    }
    void await_resume() const noexcept
    {
    }
};

skua::task<> nothing_to_do()
{
    co_return;
}

// ---- Functions that are nothing ----

void null_handler()
{
    skua::server app;
    app.get("/", static_cast<void (*)(skua::request &)>(nullptr));
}

void empty_handler()
{
    skua::server app;
    app.get("/", std::function<void(skua::request &)>());
}

void empty_blocking_handler()
{
    skua::server app;
    app.blocking("/", std::function<void(skua::request &)>());
}

void empty_middleware()
{
    skua::server app;
    app.before("/", std::function<void(skua::request &)>());
}

void empty_post()
{
    skua::server app;
    app.post_to(0, std::function<void(skua_worker *)>());
}

void empty_timer()
{
    told([](skua::request &r) { skua::timer(r.worker(), {}, {}, std::function<void()>()); });
}

void empty_poll()
{
    told([](skua::request &r) { skua::poll(r.worker(), 0, skua::ready::none, std::function<void(skua::ready)>()); });
}

void empty_resumption()
{
    told([](skua::request &r) { skua::ticket(r).resume(std::function<void(skua::request &)>()); });
}

void empty_collector()
{
    told([](skua::request &r) {
        r.collect(0, std::function<void(skua::request &, std::string_view)>());
    });
}

void empty_work()
{
    told([](skua::request) -> skua::task<> { co_await skua::blocking(std::function<void()>()); });
}

// ---- Servers ----

void server_destroyed_in_a_handler()
{
    auto app = std::make_unique<skua::server>();
    app->get("/", [&](skua::request &) { app.reset(); });
    app->test(asks);
}

void server_waited_for_in_a_handler()
{
    skua::server app;
    app.get("/", [&](skua::request &) { app.wait(); });
    app.test(asks);
}

void a_panic_of_its_own()
{
    skua::server app({ .panic = [](const char *sentence) { std::fprintf(stderr, "told: %s\n", sentence); } });
    app.get("/", static_cast<void (*)(skua::request &)>(nullptr));
}

void server_that_was_moved()
{
    skua::server app, other = std::move(app);
    app.listen("127.0.0.1:0");
}

// ---- Requests ----

void request_on_another_thread()
{
    told([](skua::request &r) { on_another_thread([&] { r.text("x"); }); });
}

void request_that_is_gone()
{
    std::optional<skua::request> kept;
    skua::server app;
    app.get("/", [&](skua::request &r) {
        kept = r;
        r.text("x");
    });
    app.test(asks);
    (void)kept->path();
}

void coroutine_on_another_thread()
{
    std::thread runs;
    told([&](skua::request r) -> skua::task<> {
        co_await elsewhere{ runs };
        r.text("x");
    });
}

void timer_on_another_thread()
{
    told([](skua::request &r) {
        auto timer = std::make_unique<skua::timer>(r.worker(), std::chrono::hours(1),
                                                   std::chrono::hours(1), [] {});
        on_another_thread([&] { timer.reset(); });
    });
}

void prepared_dropped_on_another_thread()
{
    told([](skua::request &r) {
        auto made = std::make_unique<skua::prepared>(r.worker(), skua::prepared_response{ .content = "x" });
        on_another_thread([&] { made.reset(); });
    });
}

void local_on_another_thread()
{
    skua::server app;
    skua::local<int> number(app);
    app.get("/", [&](skua::request &r) { on_another_thread([&, on = r.worker()] { number(on) = 1; }); });
    app.test(asks);
}

// ---- Objects of a server that are used or destroyed after it ----

// Counts those that are there.
struct counted {
    static inline int here = 0;
    counted()
    {
        here++;
    }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted()
    {
        here--;
    }
};

[[noreturn]] void complain(const char *what)
{
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

void local_captured_by_a_handler()
{
    {
        skua::server app;
        app.get("/", [mine = skua::local<counted>(app)](skua::request &r) {
            (void)mine(r.worker());
            r.text(std::to_string(counted::here));
        });
        if (app.test("GET", "/").content != "1") complain("no object");
    }
    if (counted::here) complain("the object was not dropped");
}

void local_destroyed_before_its_server()
{
    skua::server app;
    auto mine = std::make_optional<skua::local<counted>>(app);
    app.get("/", [&](skua::request &r) {
        if (mine) (void)(*mine)(r.worker());
        r.text(std::to_string(counted::here));
    });
    if (app.test("GET", "/").content != "1") complain("no object");
    mine.reset();
    if (app.test("GET", "/").content != "0") complain("the object was not dropped");
}

void local_destroyed_after_its_server()
{
    auto app = std::make_optional<skua::server>();
    skua::local<counted> mine(*app), moved = std::move(mine);
    app->get("/", [&](skua::request &r) {
        (void)moved(r.worker());
        try {
            (void)mine(r.worker());
        } catch (const std::logic_error &) {
            r.text("refused");
        }
    });
    if (app->test("GET", "/").content != "refused") complain("one that was moved has an object");
    app.reset();
    if (counted::here) complain("the object was not dropped");
}

void local_of_another_server()
{
    skua::server app, other;
    skua::local<counted> mine(other);
    app.get("/", [&](skua::request &r) { (void)mine(r.worker()); });
    std::puts(app.test(asks).c_str());
}

void watch_captured_by_a_handler()
{
    skua::root root(".");
    skua::server app;
    app.get("/", [seen = skua::watch(app, root, "")](skua::request &r) { r.text(std::to_string(seen.changes() < 100)); });
    if (app.test("GET", "/").content != "1") complain("no count");
}

void watch_used_after_its_server()
{
    skua::root root(".");
    auto app = std::make_optional<skua::server>();
    skua::watch one(*app, root, ""), moved = std::move(one);
    (void)moved.changes();
    app.reset();
    for (const skua::watch *each : { &one, &moved }) {
        try {
            (void)each->changes();
            complain("it counts");
        } catch (const skua::error &e) {
            if (e.status() != SKUA_ECLOSED) complain("it fails otherwise");
        }
    }
    skua::server next;
    moved = skua::watch(next, root, "");
    (void)moved.changes();
}

// Captured objects are there until their server has ended, also where another one takes its place.
void server_that_is_assigned()
{
    skua::root root(".");
    skua::server app;
    app.get("/", [mine = skua::local<counted>(app), seen = skua::watch(app, root, "")](skua::request &r) {
        r.on_end([&](skua_end) { (void)seen.changes(); });
        (void)mine(r.worker());
        r.text("x");
    });
    (void)app.test("GET", "/");
    app = skua::server({ .log_write = [](std::string_view) {} });
    if (counted::here) complain("the object was not dropped");
    app.get("/", [](skua::request &r) { r.text("the other one"); });
    if (app.test("GET", "/").content != "the other one") complain("the other one does not serve");
}

// ---- Tasks: an exception, so that the request is answered 500 ----

void task_awaited_twice()
{
    std::puts(told([](skua::request) -> skua::task<> {
                  skua::task<> twice = nothing_to_do();
                  co_await twice;
                  co_await twice;
              }).c_str());
}

void task_that_was_moved()
{
    std::puts(told([](skua::request) -> skua::task<> {
                  skua::task<> moved = nothing_to_do(), other = std::move(moved);
                  co_await moved;
                  co_await other;
              }).c_str());
}

const struct {
    const char *name;
    void (*commit)();
} misuses[] = {
#define MISUSE(name) { #name, name }
    MISUSE(null_handler),
    MISUSE(empty_handler),
    MISUSE(empty_blocking_handler),
    MISUSE(empty_middleware),
    MISUSE(empty_post),
    MISUSE(empty_timer),
    MISUSE(empty_poll),
    MISUSE(empty_resumption),
    MISUSE(empty_collector),
    MISUSE(empty_work),
    MISUSE(server_destroyed_in_a_handler),
    MISUSE(server_waited_for_in_a_handler),
    MISUSE(a_panic_of_its_own),
    MISUSE(server_that_was_moved),
    MISUSE(request_on_another_thread),
    MISUSE(request_that_is_gone),
    MISUSE(coroutine_on_another_thread),
    MISUSE(timer_on_another_thread),
    MISUSE(prepared_dropped_on_another_thread),
    MISUSE(local_on_another_thread),
    MISUSE(local_captured_by_a_handler),
    MISUSE(local_destroyed_before_its_server),
    MISUSE(local_destroyed_after_its_server),
    MISUSE(local_of_another_server),
    MISUSE(watch_captured_by_a_handler),
    MISUSE(watch_used_after_its_server),
    MISUSE(server_that_is_assigned),
    MISUSE(task_awaited_twice),
    MISUSE(task_that_was_moved),
#undef MISUSE
};

} // namespace

// Without a name: lists them.
int main(int count, char **words)
{
    for (const auto &misuse : misuses) {
        if (count < 2) std::puts(misuse.name);
        else if (std::strcmp(words[1], misuse.name) == 0) misuse.commit();
    }
    return 0;
}
