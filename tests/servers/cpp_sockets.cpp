// SPDX-License-Identifier: MIT
//
// Sockets by skua.hpp that cpp serves: coroutines, functions that wait, pages' origins and messages in pieces.
#include "cpp_sockets.hpp"

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;

// Coroutines that have not ended, and those whose wait was ended by skua::cancelled.
static std::atomic<int> served{ 0 }, given_up{ 0 };

// Counts a coroutine, and says how it was ended.
class guard
{
  public:
    guard(skua::server &app, skua::async_socket &socket, std::string_view name)
        : app_(app), socket_(socket), name_(name)
    {
        served++;
    }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    ~guard()
    {
        char line[200];
        int len = std::snprintf(line, sizeof line, "%s ended %u %.*s", name_.c_str(), socket_.code(),
                                static_cast<int>(socket_.reason().size()), socket_.reason().data());
        skua_log(app_.raw(), { line, static_cast<std::size_t>(len) });
        served--;
    }

  private:
    skua::server &app_;
    skua::async_socket &socket_;
    std::string name_;
};

static skua::task<> counted_nap(std::chrono::nanoseconds pause)
{
    try {
        co_await skua::sleep(pause);
    } catch (const skua::cancelled &) {
        given_up++;
        throw;
    }
}

// By a copy, on a thread of its own.
static void close_elsewhere(skua::socket copy)
{
    std::thread([copy] { (void)copy.close(4013, "elsewhere"); }).detach();
}

// ---- One after the other ----

static void add_echoes(skua::server &app)
{
    app.websocket("GET /async/echo/{name}",
                  [&app](skua::async_socket &socket, skua::request req) -> skua::task<> {
                      guard here(app, socket, req.param("name"));
                      while (auto message = co_await socket.receive()) {
                          if (message->octets == "throw") throw std::runtime_error("unlucky coroutine");
                          if (message->octets == "return") co_return;
                          if (message->octets == "close elsewhere") close_elsewhere(socket);
                          else if (message->octets == "close") (void)socket.close(4000, "asked");
                          else co_await socket.send(*message);
                      }
                      if (!socket.is_closed()) throw std::logic_error("no message, and not closed");
                      if (co_await socket.receive()) throw std::logic_error("a message behind the end");
                      co_await socket.send("x");
                  });
    // Waits between messages: those that come meanwhile are kept, in their order, and then the client is not read.
    app.websocket("GET /async/slow/{name}",
                  [&app](skua::async_socket &socket, skua::request req) -> skua::task<> {
                      guard here(app, socket, req.param("name"));
                      while (auto message = co_await socket.receive()) {
                          co_await skua::sleep(1ms);
                          co_await socket.send(*message);
                      }
                  });
    // Takes nothing until the client has another request answered.
    static std::atomic<bool> is_woken{ false };
    app.websocket("GET /async/asleep",
                  [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
                      guard here(app, socket, "asleep");
                      while (!is_woken)
                          co_await counted_nap(5ms);
                      std::size_t octets = 0;
                      while (auto message = co_await socket.receive()) {
                          octets += message->octets.size();
                          if (!message->text) co_await socket.send(std::to_string(octets));
                      }
                  });
    app.get("/wake", [](skua::request &req) {
        is_woken = true;
        req.text("awake");
    });
}

// ---- Sending ----

static skua::task<> pour(skua::async_socket &socket)
{
    std::string piece(10000, 'x');
    for (int i = 0; i < 300; i++) {
        (void)std::snprintf(piece.data(), piece.size(), "%d", i);
        co_await socket.send_binary(piece);
    }
    co_await socket.send("all");
}

static void add_pouring(skua::server &app)
{
    auto pours = [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
        guard here(app, socket, "pour");
        try {
            co_await pour(socket);
        } catch (const skua::cancelled &) {
            given_up++;
            throw;
        }
    };
    skua::websocket_options how{ .close_timeout = 300ms };
    app.websocket("GET /async/pour", pours, how);
    how.lifetime = 300ms;
    how.close_timeout = 1h;
    app.websocket("GET /async/pour/briefly", pours, how);
    how.lifetime = {};
    how.close_timeout = 300ms;
    how.slow = SKUA_WEBSOCKET_CLOSE;
    app.websocket("GET /async/pour-close", pours, how);
    app.websocket("GET /async/wrong", [](skua::async_socket &socket, skua::request) -> skua::task<> {
        try {
            co_await socket.send("\xff");
        } catch (const skua::error &e) {
            (void)socket.text(e.status() == SKUA_EINVAL ? "refused" : "what else?");
        }
        std::byte octets[2]{ std::byte{ 1 }, std::byte{ 2 } };
        co_await socket.send_binary(std::span<const std::byte>(octets));
    });
}

// ---- Several at a time ----

static skua::task<> tell_ticks(skua::async_socket &socket)
{
    for (int i = 0;; i++) {
        co_await socket.send("tick " + std::to_string(i));
        co_await counted_nap(10ms);
    }
}

static skua::task<int> count_messages(skua::async_socket &socket, int most)
{
    int n = 0;
    while (n < most && co_await socket.receive())
        n++;
    co_return n;
}

static skua::task<> patient(skua::async_socket &socket)
{
    for (;;) {
        bool is_late = false;
        try {
            auto message = co_await skua::within(50ms, socket.receive_task());
            if (!message) co_return;
            co_await socket.send(*message);
        } catch (const skua::timed_out &) {
            is_late = true;
        }
        if (is_late) co_await socket.send("are you there?");
    }
}

static void add_together(skua::server &app)
{
    app.websocket("GET /async/patient",
                  [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
                      guard here(app, socket, "patient");
                      co_await patient(socket);
                      co_await counted_nap(1h); // nothing is waited for any more
                  });
    // Ticks until the third message, or the end.
    app.websocket("GET /async/ticks",
                  [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
                      guard here(app, socket, "ticks");
                      auto first = co_await skua::when_any(count_messages(socket, 3), tell_ticks(socket));
                      co_await socket.send("heard " + std::to_string(std::get<0>(first)));
                  });
    app.websocket("GET /async/twice",
                  [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
                      guard here(app, socket, "twice");
                      co_await skua::when_all(count_messages(socket, 1), count_messages(socket, 1));
                  });
    // Never looks at its messages.
    auto naps = [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
        guard here(app, socket, "naps");
        co_await counted_nap(1h);
    };
    app.websocket("GET /async/naps", naps);
    app.websocket("GET /async/naps/briefly", naps, skua::websocket_options{ .lifetime = 300ms });
    app.websocket("GET /async/jobs", [&app](skua::async_socket &socket, skua::request) -> skua::task<> {
        guard here(app, socket, "jobs");
        while (auto message = co_await socket.receive()) {
            std::string_view octets = message->octets;
            int n = co_await skua::blocking([octets] {
                std::this_thread::sleep_for(20ms);
                return static_cast<int>(octets.size());
            });
            co_await socket.send(std::to_string(n));
        }
    });
}

// ---- Functions ----

static void add_functions(skua::server &app)
{
    skua::websocket waits;
    waits.blocking = [&app](skua::blocking_socket &socket, skua::request &req) {
        std::string name(req.param("name"));
        if (socket.receive(1ms) || socket.is_closed()) throw std::logic_error("it has said nothing");
        (void)socket.text("waits");
        while (auto message = socket.receive()) {
            if (message->octets == "throw") throw std::runtime_error("unlucky thread");
            (void)(message->text ? socket.text(message->octets) : socket.binary(message->octets));
        }
        skua_log(app.raw(), skua::slice(name + " left " + std::to_string(socket.code()) + " " +
                                        std::string(socket.reason())));
    };
    app.websocket("GET /waits/{name}", std::move(waits));

    skua::websocket asked;
    asked.origin = [](skua::request &req, std::string_view origin) {
        if (origin == "https://throws.example") throw std::runtime_error("no idea of that origin");
        return origin == "https://" + std::string(req.param("name")) + ".example";
    };
    asked.message = [](skua::socket socket, std::string_view message, bool) { (void)socket.text(message); };
    app.websocket("GET /origin/{name}", std::move(asked));

    skua::websocket pieces;
    pieces.receive = [](skua::socket socket, skua_message_event event, std::string_view octets, bool text) {
        if (event == SKUA_MESSAGE_BEGIN) (void)socket.begin(text);
        if (event == SKUA_MESSAGE_END) (void)socket.end();
        if (event != SKUA_MESSAGE_DATA) return;
        if (octets == "throw") throw std::runtime_error("unlucky piece");
        if (socket.write(octets)) (void)socket.close(1011);
        socket.consume(octets.size());
    };
    app.websocket("GET /pieces", std::move(pieces));
}

static bool is_refused(skua::websocket fns)
{
    skua::server app;
    fns.serve = [](skua::async_socket &, skua::request) -> skua::task<> { co_return; };
    try {
        app.websocket("GET /both", std::move(fns));
    } catch (const skua::error &e) {
        return e.status() == SKUA_EINVAL;
    }
    return false;
}

bool sockets_are_refused()
{
    skua::websocket both;
    both.close = [](skua::socket, unsigned, std::string_view) {};
    return is_refused(std::move(both));
}

void add_sockets(skua::server &app)
{
    add_echoes(app);
    add_pouring(app);
    add_together(app);
    add_functions(app);
    // Octets that clients make the server hold.
    app.get("/held", [&app](skua::request &req) {
        skua_stats stats{};
        skua_server_stats(app.raw(), &stats);
        req.text(std::to_string(stats.memory_octets));
    });
    app.get("/async", [](skua::request &req) {
        req.text(std::to_string(served.load()), " ", std::to_string(given_up.load()));
    });
}
