// SPDX-License-Identifier: MIT
//
// Misuses of skua.hpp: commits the one that is named, in a server that is tested in this process.
// tests/e2e/test_cpp_misuses.py knows what each is told.

#include "skua/skua.hpp"

#include <cstdio>
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
    MISUSE(server_that_was_moved),
    MISUSE(request_on_another_thread),
    MISUSE(request_that_is_gone),
    MISUSE(coroutine_on_another_thread),
    MISUSE(timer_on_another_thread),
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
