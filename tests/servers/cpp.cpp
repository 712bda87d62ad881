// SPDX-License-Identifier: MIT
//
// Everything skua.hpp offers, behind routes that the end-to-end tests ask for: cpp --port N [--workers N].
#include "cpp_content.hpp"
#include "cpp_parts.hpp"
#include "cpp_sockets.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace skua::literals;
using namespace std::chrono_literals;

// Of C++'s allocations, so far: allocations.cpp counts them.
extern std::atomic<unsigned long> allocations;

// ---- Handlers with state ----

class counter
{
  public:
    void add(skua::request &req)
    {
        req.text(std::to_string(++count_));
    }
    skua::task<> add_later(skua::request req)
    {
        co_await skua::sleep(1ms);
        req.text(std::to_string(++count_));
    }

  private:
    std::atomic<int> count_{ 0 };
};

// Counts coroutine frames that are there, and those that learnt that their request was gone.
static std::atomic<int> frames{ 0 }, cancels{ 0 };

struct frame_count {
    frame_count()
    {
        frames++;
    }
    ~frame_count()
    {
        frames--;
    }
};

static skua::task<std::size_t> count_body(skua::request req)
{
    std::string_view body = co_await req.body(1_MiB);
    co_return body.size();
}

// Sets what a handler's own copy of the request answers with.
static void say_not_found(skua::request copy)
{
    copy.status(404);
}

// A pair of connected sockets.
struct sockets {
    int ends[2] = { -1, -1 };
    sockets()
    {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) throw std::runtime_error("no sockets");
    }
    sockets(const sockets &) = delete;
    sockets &operator=(const sockets &) = delete;
    ~sockets()
    {
        close(ends[0]);
        close(ends[1]);
    }
    void say(const char *octet) const
    {
        (void)!write(ends[1], octet, 1);
    }
};

// Waits until a socket can be read, which is said by another thread after so long; 0: never.
static skua::task<> waits_to_read(skua::request req, std::chrono::milliseconds pause)
{
    frame_count here;
    sockets pair;
    co_await skua::writable(pair.ends[0]);
    std::thread other;
    if (pause.count())
        other = std::thread([&] {
            std::this_thread::sleep_for(pause);
            pair.say("r");
        });
    try {
        co_await skua::readable(pair.ends[0]);
    } catch (const skua::cancelled &) {
        cancels++;
        if (other.joinable()) other.join();
        throw;
    }
    if (other.joinable()) other.join();
    char octet = 0;
    (void)!read(pair.ends[0], &octet, 1);
    req.text("read ", std::string_view(&octet, 1));
}

static skua::task<> slow(skua::request req, std::chrono::milliseconds pause)
{
    frame_count here;
    try {
        co_await skua::sleep(pause);
        req.text("slept");
    } catch (const skua::cancelled &) {
        cancels++;
        throw;
    }
}

static std::string describe(const std::optional<skua::tls_info> &tls)
{
    if (!tls) return "in the clear";
    std::string text = std::string(tls->version) + ' ' + std::string(tls->cipher) + ' ' +
                       std::string(tls->server_name);
    return text + ' ' + std::string(tls->client) + ' ' +
           std::to_string(tls->client_fingerprint.size());
}

static void add_plain(skua::server &app)
{
    app.get("/tls", [](skua::request &req) {
        req.text(req.scheme(), req.is_secure() ? " secure " : " ", describe(req.tls()));
    });
    app.blocking("GET /blocking-tls", [](skua::request &req) {
        req.text((req.is_secure() ? "secure " : "") + describe(req.tls()));
    });
    app.get("/hello/{name}",
            [](skua::request &req) { req.text("Hello, ", req.param("name"), "!"); });
    app.get("/square/{n}", [](skua::request &req) {
        int n = req.param<int>("n");
        req.json(std::to_string(n * n + req.query<int>("plus", 0)));
    });
    app.get("/flag", [](skua::request &req) {
        req.text(req.query<bool>("on").value_or(false) ? "on" : "off");
    });
    app.get("/teapot", [](skua::request &req) {
        req.status(418).set("X-Kind", "pot").text("short and stout");
    });
    app.get("/cookie", [](skua::request &req) {
        req.set(skua::cookie{ .name = "id", .value = "a1", .max_age = 60s });
        req.text(req.cookie("id").value_or("none"));
    });
    app.get("/copied", [](skua::request &req) {
        say_not_found(req);
        req.text("not here");
    });
    app.on_error("/told/", [](skua::request &req, int status, std::string_view sentence) {
        std::string thrown = "nothing";
        try {
            if (std::current_exception()) std::rethrow_exception(std::current_exception());
        } catch (const std::exception &e) {
            thrown = e.what();
        }
        req.json("{\"status\":", std::to_string(status), ",\"sentence\":\"", sentence,
                 "\",\"thrown\":\"", thrown, "\"}");
    });
    app.blocking("POST /form", [](skua::request &req) {
        req.text(req.form("name").value_or("nobody"), " ", std::to_string(req.form<int>("age", 0)));
    });
    auto api = app.group("/api");
    api.get("/users/{id}", [](skua::request &req) { req.text("user ", req.param("id")); });
    api.on_head("/", [](skua::request &req, int) { req.set("X-Api", "yes"); });
    auto deep = api.group("/deep").group("/er");
    deep.blocking("GET /{$}", [](skua::request &req) { req.text("deeper"); });
    deep.before("GET /", [](skua::request &req) { req.set("X-Deep", "yes"); });
    deep.get("/est", [](skua::request &req) { req.text("deepest"); });
    api.get("/deep/er", [](skua::request &req) { req.text("without a slash"); });
    app.post("/sites/{name}", [&app](skua::request &req) {
        skua::site made(app, (std::string(req.param("name")) + ".test").c_str());
        made.get("/{$}", [name = std::string(req.param("name"))](skua::request &there) {
            there.text("site ", name);
        });
        made.get("/throws", [](skua::request &) { throw std::runtime_error("in a site"); });
        made.blocking("GET /blocking", [](skua::request &there) { there.text("blocking"); });
        made.on_head("/", [](skua::request &there, int) { there.set("X-Site", "yes"); });
        made.on_error("/", [](skua::request &there, int, std::string_view) {
            there.text("the site's error");
        });
        made.put();
        req.text("put");
    });
    app.get("/told/throws", [](skua::request &) { throw std::runtime_error("by a handler"); });
    app.get("/told/refuses", [](skua::request &) { throw skua::http_error(409, "no such pot"); });
    app.get("/throws", [](skua::request &) { throw std::runtime_error("thrown by a handler"); });
    app.get("/throws/{code}",
            [](skua::request &req) { throw skua::http_error(req.param<int>("code")); });
    app.get("/throws/{code}/{why}", [](skua::request &req) {
        throw skua::http_error(req.param<int>("code"), req.param<std::string>("why"));
    });
    app.get("/twice", [](skua::request &req) {
        req.text("first");
        req.text("second");
    });
    app.get("/fields", [](skua::request &req) {
        std::string all;
        req.each_field([&](std::string_view name, std::string_view value) {
            all.append(name).append("=").append(value).append("\n");
        });
        req.text(all);
    });
    app.post("/collect", [](skua::request &req) {
        req.collect(
            100, [](skua::request &self, std::string_view content) { self.text("got ", content); });
    });
    app.get("/allocations", [](skua::request &req) {
        char text[24];
        int len = std::snprintf(text, sizeof text, "%lu", allocations.load());
        req.text(std::string_view(text, static_cast<std::size_t>(len)));
    });
    app.get("/frames", [](skua::request &req) {
        req.text(std::to_string(frames.load()), " ", std::to_string(cancels.load()));
    });
}

// Echoes twice, from here and from a thread; closes when it is told to, throws when it is told to.
static void add_socket(skua::server &app)
{
    skua::websocket fns;
    fns.how.protocols = "b a";
    fns.how.keeps_request = true;
    fns.open = [](skua::socket socket, skua::request &req) {
        (void)socket.text(req.param("name"));
    };
    fns.message = [](skua::socket socket, std::string_view message, bool text) {
        if (message == "throw") throw std::runtime_error("unlucky");
        if (message == "close") {
            (void)socket.close(4000, "asked");
            return;
        }
        std::string copy(message);
        (void)(text ? socket.text(copy) : socket.binary(copy));
        std::thread([socket, copy] { (void)socket.text(copy + " from a thread"); }).detach();
    };
    fns.close = [&app](skua::socket socket, unsigned code, std::string_view) {
        std::string name(socket.opened_by().param("name"));
        skua_log(app.raw(), skua::slice("socket " + std::to_string(code) + " of " + name));
    };
    app.websocket("GET /socket/{name}", std::move(fns));
}

// An object of a socket, which counts those that are there.
struct watched {
    static inline std::atomic<int> count;
    std::string name;
    explicit watched(std::string of) : name(std::move(of)) { count++; }
    watched(const watched &) = delete;
    watched &operator=(const watched &) = delete;
    ~watched() { count--; }
};

// Its request is gone when messages come. What it keeps is gone with it.
static void add_socket_without_request(skua::server &app)
{
    app.get("/watched", [](skua::request &req) { req.text(std::to_string(watched::count.load())); });
    skua::websocket fns;
    fns.open = [](skua::socket socket, skua::request &req) {
        socket.emplace<std::string>("replaced");
        socket.emplace<watched>(std::string(req.param("name")));
        (void)socket.text(socket.opened_by().raw() == req.raw() ? req.param("name") : "another");
    };
    fns.message = [](skua::socket socket, std::string_view message, bool) {
        if (message == "throw") throw std::runtime_error("unlucky without a request");
        const watched *kept = socket.get<watched>();
        (void)socket.text(socket.opened_by() || socket.get<std::string>() ? "there" : "gone, and " + kept->name);
    };
    fns.close = [&app](skua::socket socket, unsigned, std::string_view) {
        skua_log(app.raw(), skua::slice(socket.get<watched>()->name + " closes"));
    };
    app.group("/socket").websocket("GET /without/{name}", std::move(fns));
}

// Everything that a socket or an event stream of a room hears comes from the other sockets.
static void add_topics(skua::server &app)
{
    skua::websocket fns;
    fns.how.keeps_request = true;
    fns.open = [](skua::socket socket, skua::request &req) {
        if (socket.join(req.param("name"))) (void)socket.close(1011);
        (void)socket.text("joined");
    };
    fns.message = [&app](skua::socket socket, std::string_view message, bool) {
        std::string room(socket.opened_by().param("name"));
        (void)app.publish(room, { .octets = message, .event = "said", .except = socket });
        if (message == "leave") socket.leave(room);
    };
    app.websocket("GET /room/{name}", std::move(fns));
    app.get("/room-events/{name}", [](skua::request &req) {
        req.events();
        req.join_topic(req.param("name"));
        (void)req.emit({ .data = "joined" });
    });
}

static void add_late(skua::server &app)
{
    app.get("/ticket", [](skua::request &req) {
        std::thread([later = skua::ticket(req)] {
            std::this_thread::sleep_for(10ms);
            later.resume([](skua::request &self) {
                if (self) self.text("from a thread");
            });
        }).detach();
    });
    // A timer that destroys itself, and with it the function that is running.
    app.get("/timer", [](skua::request &req) {
        auto held = std::make_shared<std::optional<skua::timer>>();
        held->emplace(req.worker(), 1ms, 1ms, [held, later = skua::ticket(req)] {
            held->reset();
            later.resume([](skua::request &self) { self.text("rung once"); });
        });
    });
    // A poll that destroys itself, and with it the function that is running, when it has seen both directions.
    app.get("/poll", [](skua::request &req) {
        auto held = std::make_shared<std::optional<skua::poll>>();
        auto pair = std::make_shared<sockets>();
        held->emplace(req.worker(), pair->ends[0], skua::ready::writable,
                      [held, pair, later = skua::ticket(req)](skua::ready is) {
                          if (skua::has(is, skua::ready::writable)) {
                              (*held)->change(skua::ready::readable);
                              pair->say("x");
                              return;
                          }
                          auto last = pair;
                          held->reset();
                          later.resume([](skua::request &self) { self.text("polled both ways"); });
                      });
    });
    app.blocking("POST /blocking/{n}", [](skua::request &req) {
        int n = req.param<int>("n");
        if (n == 13) throw std::runtime_error("unlucky");
        if (n == 14) throw skua::http_error(409);
        if (n == 15) throw skua::http_error(503, "the <database> is down");
        skua::request copy = req;
        if (n == 16) copy.status(404);
        if (n == 16) return req.text("not here");
        req.set("X-N", std::to_string(n)).status(201).text(req.content());
    });
}

// ---- Several at a time ----

// Gives a number after a while; throws for those below 0.
static skua::task<int> number(int n, std::chrono::milliseconds pause)
{
    frame_count here;
    try {
        co_await skua::sleep(pause);
    } catch (const skua::cancelled &) {
        cancels++;
        throw;
    }
    if (n < 0) throw skua::http_error(409, "below 0");
    co_return n;
}

static skua::task<> nap(std::chrono::milliseconds pause)
{
    co_await number(0, pause);
}

// Threads that call back, all of them before the server is destroyed.
static std::atomic<int> callers;

static void ask_elsewhere(std::function<void(int)> back)
{
    callers++;
    std::thread([back = std::move(back)]() mutable {
        std::this_thread::sleep_for(20ms);
        back(42);
        back(43); // the first counts
        back = nullptr;
        callers--;
        callers.notify_all();
    }).detach();
}

static void wait_for_callers()
{
    for (int left; (left = callers.load()) != 0;)
        callers.wait(left);
}

// after: 0: the stop is behind the end.
static skua::task<> stopped(skua::request req, std::chrono::milliseconds after)
{
    frame_count here;
    std::stop_source source;
    std::jthread stopper([&source, after] {
        std::this_thread::sleep_for(after);
        if (after.count()) source.request_stop();
    });
    try {
        co_await skua::stoppable(req, source.get_token(), number(1, after.count() ? 60s : 30ms));
        source.request_stop();
        req.text("done");
    } catch (const skua::cancelled &) {
        req.text("stopped");
    }
}

static void add_together(skua::server &app)
{
    app.get("/co/all", [](skua::request req) -> skua::task<> {
        frame_count here;
        auto [a, none, b] = co_await skua::when_all(number(1, 60ms), nap(20ms), number(2, 40ms));
        (void)none;
        req.text(std::to_string(a), " ", std::to_string(b));
    });
    app.get("/co/all-fail/{n}", [](skua::request req) -> skua::task<> {
        frame_count here;
        int n = req.param<int>("n");
        co_await skua::when_all(number(1, 60s), number(n, 20ms), number(3, 60s));
        req.text("never");
    });
    app.get("/co/list/{n}", [](skua::request req) -> skua::task<> {
        std::vector<skua::task<int>> tasks;
        for (int i = 0; i < req.param<int>("n"); i++)
            tasks.push_back(number(i, std::chrono::milliseconds(i % 7)));
        int sum = 0;
        for (int each : co_await skua::when_all(std::move(tasks)))
            sum += each;
        req.text(std::to_string(sum));
    });
    app.get("/co/any", [](skua::request req) -> skua::task<> {
        frame_count here;
        auto first = co_await skua::when_any(number(7, 10s), nap(30ms), number(9, 10s));
        req.text(std::to_string(first.index()));
    });
    app.get("/co/within/{ms}", [](skua::request req) -> skua::task<> {
        try {
            int n = co_await skua::within(
                100ms, number(5, std::chrono::milliseconds(req.param<int>("ms"))));
            req.text(std::to_string(n));
        } catch (const skua::timed_out &) {
            req.text("too late");
        }
    });
    app.get("/co/nested", [](skua::request req) -> skua::task<> {
        auto inner = []() -> skua::task<int> {
            auto [a, b] =
                co_await skua::when_all(number(1, 10ms), skua::within(1s, number(2, 20ms)));
            co_return a + b;
        };
        auto [x, y] = co_await skua::when_all(inner(), inner());
        req.text(std::to_string(x + y));
    });
    app.get("/co/helpers", [](skua::request req) -> skua::task<> {
        auto slowly = [](int n) -> skua::task<int> {
            co_return co_await skua::blocking([n] {
                std::this_thread::sleep_for(30ms);
                return n;
            });
        };
        auto [a, b] = co_await skua::when_all(slowly(3), slowly(4));
        req.text(std::to_string(a * b));
    });
    app.get("/co/callback", [](skua::request req) -> skua::task<> {
        frame_count here;
        skua::callback<int> answer(req);
        ask_elsewhere(answer.resolver());
        int n = co_await answer;
        req.text(std::to_string(n));
    });
    app.get("/co/stop/{ms}", [](skua::request req) {
        return stopped(req, std::chrono::milliseconds(req.param<int>("ms")));
    });
}

static void add_coroutines(skua::server &app)
{
    add_together(app);
    app.post("/count", [](skua::request req) -> skua::task<> {
        frame_count here;
        std::size_t n = co_await count_body(req);
        std::size_t twice = co_await skua::blocking([&] { return 2 * n; });
        req.text(std::to_string(twice));
    });
    // Stores what was sent, unless there is more than ten octets of it.
    auto stored = std::make_shared<int>(0);
    app.post("/co/store", [stored](skua::request req) -> skua::task<> {
        std::string_view body = co_await req.body(10);
        ++*stored;
        req.text("stored ", body);
    });
    app.get("/co/stored", [stored](skua::request &req) { req.text(std::to_string(*stored)); });
    app.get("/co/copied", [](skua::request req) -> skua::task<> {
        say_not_found(req);
        co_await skua::sleep(1ms);
        req.text("not here");
    });
    app.get("/co/throws", [](skua::request) -> skua::task<> {
        co_await skua::sleep(1ms);
        throw std::runtime_error("thrown by a coroutine");
    });
    app.get("/co/blocking-throws", [](skua::request req) -> skua::task<> {
        try {
            co_await skua::blocking([]() -> int { throw std::out_of_range("row"); });
        } catch (const std::out_of_range &e) {
            req.text("caught ", e.what());
        }
    });
    app.get("/co/nothing", [](skua::request) -> skua::task<> { co_return; });
    app.get("/co/stream/{n}", [](skua::request req) -> skua::task<> {
        frame_count here;
        req.stream(200, "text/plain");
        std::string piece(4096, 'x');
        for (int n = req.param<int>("n"); n > 0; n--)
            co_await req.send(piece);
    });
    app.get("/co/breaks", [](skua::request req) -> skua::task<> {
        co_await req.send("begun");
        throw std::runtime_error("thrown in the middle");
    });
    app.get("/co/sleep/{ms}", [](skua::request req) {
        return slow(req, std::chrono::milliseconds(req.param<int>("ms")));
    });
    app.get("/co/readable/{ms}", [](skua::request req) {
        return waits_to_read(req, std::chrono::milliseconds(req.param<int>("ms")));
    });
    app.get("/co/unreadable", [](skua::request req) -> skua::task<> {
        try {
            co_await skua::readable(-1);
        } catch (const skua::error &e) {
            req.text("refused: ", e.what());
        }
    });
    app.get("/co/job/{ms}", [](skua::request req) -> skua::task<> {
        frame_count here;
        int ms = req.param<int>("ms");
        std::string_view path =
            req.path(); // of the request's memory, which stays while the frame does
        auto copy = co_await skua::blocking([=] {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            return std::string(path);
        });
        req.text(copy);
    });
}

// Whether something is refused with that status.
template <class F> static bool refuses(skua_status status, F &&fn)
{
    try {
        fn();
    } catch (const skua::error &e) {
        return e.status() == status;
    }
    return false;
}

static std::string told; // by functions that were set while the end of /ending was told

static void add_middleware(skua::server &app)
{
    app.on_head("/guarded/", [](skua::request &req, int status) {
        req.set("X-Status", std::to_string(status));
    });
    app.before("/guarded/", [](skua::request &req) {
        if (req.field("authorization") != "Bearer sesame") throw skua::http_error(401);
    });
    app.get("/guarded/{rest...}", [](skua::request &req) { req.text("inside"); });
    app.before("/waiting/", [](skua::request req) -> skua::task<> {
        std::string_view asked = req.query("who").value_or("");
        std::string who = co_await skua::blocking([&] { return std::string(asked); });
        if (who == "late") co_await skua::sleep(std::chrono::seconds(30));
        if (who == "nobody") throw skua::http_error(403);
        if (who == "guest") req.status(202).text("from the door");
        else req.set("X-Who", who);
    });
    app.get("/waiting/plain", [](skua::request &req) { req.text("plain"); });
    app.get("/waiting/task", [](skua::request req) -> skua::task<> {
        co_await skua::sleep(std::chrono::milliseconds(1));
        req.text("task");
    });
    app.blocking("GET /waiting/blocking", [](skua::request &req) { req.text("blocking"); });
    app.get("/ended", [count = std::make_shared<std::atomic<int>>(0)](skua::request &req) {
        req.on_end([count](skua_end how) { *count += how == SKUA_END_SENT; });
        req.on_end([count](skua_end) { *count += 100; });
        req.text(std::to_string(count->load()));
    });
    app.on_end("/ending", [](skua::request &req, skua_end) {
        req.on_end([req, alive = std::make_shared<int>(1)](skua_end) mutable {
            told += "middleware's, ";
            req.on_end([alive](skua_end) { told += alive ? "its own, " : "a dead one's, "; });
        });
    });
    app.get("/ending", [](skua::request &req) {
        skua_on_end(
            req.raw(),
            [](skua_request *raw, skua_end, void *) {
                skua::request late(raw);
                if (refuses(SKUA_ECLOSED, [&] { late.on_end([](skua_end) { told += "what is lost, "; }); })) told += "too late";
            },
            nullptr);
        req.text("ending");
    });
    app.get("/told", [](skua::request &req) { req.text(told); });
}

static skua::server *running;

static bool refuses_what_is_wrong()
{
    skua::server app;
    auto group = app.group("/api");
    auto nothing = [](skua::request &) {};
    if (!refuses(SKUA_EINVAL, [&] { group.get("users", nothing); })) return false;
    if (!refuses(SKUA_EINVAL, [&] { group.route("GET example.org/x", nothing); })) return false;
    if (!refuses(SKUA_EINVAL, [&] { group.before("v2", nothing); })) return false;
    skua::site made(app, "a.test");
    made.put();
    return refuses(SKUA_ESTATE, [&] { made.get("/late", nothing); });
}

static bool self_test()
{
    if (!refuses_what_is_wrong() || !sockets_are_refused()) return false;
    skua::server app;
    add_plain(app);
    app.get("/tagged", [](skua::request &asked) { asked.respond_tagged("text/plain", "tagged"); });
    app.put("/tagged", [](skua::request &asked) {
        if (asked.etag("\"1\"")) asked.respond(204);
    });
    std::string answer =
        app.test("GET /hello/test HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    if (!app.test("GET", "/tagged").field("etag").starts_with('"') ||
        app.test("PUT", "/tagged").status != 204)
        return false;
    skua::test_response read = app.test("GET", "/hello/test");
    if (read.status != 200 || read.content != "Hello, test!" ||
        !read.field("content-type").starts_with("text/plain"))
        return false;
    return answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nHello, test!");
}

static int serve(const skua::config &config, bool turned, int fd)
{
    counter counts;
    skua::server app(config);
    add_plain(app);
    add_late(app);
    add_socket(app);
    add_socket_without_request(app);
    add_sockets(app);
    add_topics(app);
    add_coroutines(app);
    add_middleware(app);
    add_content(app);
    add_parts(app);
    add_requests(app);
    app.route("GET /counter", counts, &counter::add)
        .route("GET /counter-later", counts, &counter::add_later);
    if (!self_test()) {
        std::fputs("cpp: the server does not answer itself\n", stderr);
        return 1;
    }
    running = &app;
    struct sigaction action = {};
    action.sa_handler = [](int) { running->stop(5s); };
    sigaction(SIGTERM, &action, nullptr);
    if (fd >= 0 && app.listen_inherited() != 1) return 1;
    if (turned) turn(app);
    else app.run();
    wait_for_callers();
    return 0;
}

// A socket as systemd would hand it over.
static int inherit(const char *address)
{
    int fd = skua::socket_open(address);
    if (fd != 3) {
        dup2(fd, 3);
        close(fd);
    }
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    return 3;
}

int main(int argc, char **argv)
{
    std::string listen = "127.0.0.1:0", listen_tls;
    skua::tls_certificate certificate;
    bool turned = false;
    int fd = -1;
    skua::config config{ .hosts = "*", .workers = 1, .http2 = { .tunnels = true } };
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--port") == 0) listen = "127.0.0.1:" + std::string(argv[i + 1]);
        if (std::strcmp(argv[i], "--tls-port") == 0)
            listen_tls = "127.0.0.1:" + std::string(argv[i + 1]);
        if (std::strcmp(argv[i], "--cert") == 0) certificate.file = argv[i + 1];
        if (std::strcmp(argv[i], "--key") == 0) certificate.key_file = argv[i + 1];
        if (std::strcmp(argv[i], "--turned") == 0) turned = true;
        if (std::strcmp(argv[i], "--inherited") == 0) fd = inherit(listen.c_str());
        if (std::strcmp(argv[i], "--workers") == 0)
            config.workers = skua::parse<unsigned>(argv[i + 1]).value_or(1);
    }
    config.listen = listen.c_str();
    add_parts_to(config);
    if (!listen_tls.empty()) {
        config.tls = { .listen = listen_tls.c_str(),
                       .certificates = { certificate },
                       .clients = { .asking = SKUA_TLS_ASK, .ca_file = certificate.file } };
    }
    try {
        if (fd >= 0) config.listen = nullptr;
        return serve(config, turned, fd);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "cpp: %s\n", e.what());
        return 1;
    }
}
