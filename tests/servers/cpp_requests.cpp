// SPDX-License-Identifier: MIT
//
// Requests read by lists, responses that lend, work for helper threads, filters, codings, statistics, sites and servers in a
// server, in C++.
#include "cpp_parts.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

// ---- Requests ----

// Puts "name=value;" behind each other.
class listing
{
  public:
    void operator()(std::string_view name, std::string_view value)
    {
        text.append(name).append("=").append(value).append(";");
    }
    std::string text;
};

static void add_lists(skua::server &app)
{
    app.get("/parts/lists/{a}/{b...}", [](skua::request &req) {
        listing all;
        req.each_param(std::ref(all));
        req.each_query(std::ref(all));
        req.each_cookie(std::ref(all));
        req.each_field("X-A", [&](std::string_view value) { all("x-a", value); });
        all("plain", req.path_is_plain() ? "yes" : "no");
        all("conditional", req.is_conditional() ? "yes" : "no");
        req.text(all.text);
    });
    app.blocking("POST /parts/form", [](skua::request &req) {
        listing all;
        req.each_form(std::ref(all));
        all("first", req.form_in(req.content(), "a").value_or("none"));
        all("other", req.form_in("c=d%20e", "c").value_or("none"));
        all("trailer", req.trailer("X-Sum").value_or("none"));
        req.text(all.text);
    });
    app.get("/parts/range/{n}", [](skua::request &req) {
        int n = req.param<int>("n", 1, 10);
        req.text(std::to_string(n + req.query<int>("plus", 0, -5, 5)));
    });
}

// ---- Responses ----

static std::atomic<int> lent{ 0 };
static std::atomic<std::uint64_t> last_sent{ 0 };

static void add_lenders(skua::server &app)
{
    static std::string large(3000000, 'l');
    app.get("/parts/borrowed", [](skua::request &req) {
        lent++;
        req.status(203).respond_borrowed("text/plain", large, [] { lent--; });
    });
    app.get("/parts/borrowed-twice", [](skua::request &req) {
        req.text("once");
        lent++;
        req.respond_borrowed("text/plain", large, [] { lent--; }); // which fails, and gives back
    });
    app.get("/parts/owned/{n}", [](skua::request &req) {
        req.respond_owned("text/plain", std::string(req.param<std::size_t>("n"), 'o'));
    });
    app.get("/parts/literal", [](skua::request &req) { req.respond_borrowed("text/plain", "literal"); });
    app.get("/parts/lent-now", [](skua::request &req) { req.text(std::to_string(lent.load())); });
    app.get("/parts/format/{n}", [](skua::request &req) {
        req.on_end([req](skua_end) { last_sent = req.sent(); });
        req.status(202).format("application/json", "{\"n\":%d}", req.param<int>("n"));
    });
    app.get("/parts/sent", [](skua::request &req) {
        req.compress_off().text(std::to_string(last_sent.load()), req.compress_is_off() ? " off" : " on");
    });
}

// ---- Helper threads ----

static std::atomic<int> jobs{ 0 };

static void add_offloads(skua::server &app)
{
    app.get("/parts/offload/{ms}", [](skua::request &req) {
        auto pause = std::chrono::milliseconds(req.param<int>("ms"));
        auto held = std::make_shared<int>(7);
        jobs++;
        std::shared_ptr<void> guard(nullptr, [](void *) { jobs--; });
        skua::offload(
            req,
            [pause, held] {
                usleep(static_cast<useconds_t>(pause.count() * 1000));
                return *held;
            },
            [guard](skua::request &self, int got) { self.text("got ", std::to_string(got)); });
    });
    app.get("/parts/offload-throws", [](skua::request &req) {
        skua::offload(
            req, [] { throw skua::http_error(409, "work"); }, [](skua::request &self) { self.text("none"); });
    });
    app.get("/parts/done-throws", [](skua::request &req) {
        skua::offload(req, [] {}, [](skua::request &) { throw skua::http_error(410, "done"); });
    });
    app.get("/parts/jobs", [](skua::request &req) { req.text(std::to_string(jobs.load())); });
}

// ---- Filters and codings ----

static std::atomic<int> filters{ 0 };

// Writes capitals; fails at a "!".
class capitals
{
  public:
    capitals()
    {
        filters++;
    }
    capitals(const capitals &) = delete;
    capitals &operator=(const capitals &) = delete;
    ~capitals()
    {
        filters--;
    }
    skua_filtered run(std::string_view &content, skua_flush, std::span<char> out, std::size_t &octets)
    {
        octets = std::min(content.size(), out.size());
        std::transform(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(octets), out.begin(), [](char c) {
            if (c == '!') throw std::runtime_error("no capital of this");
            return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        });
        content.remove_prefix(octets);
        return content.empty() ? SKUA_FILTER_ALL : SKUA_FILTER_MORE;
    }
};

static void add_filters(skua::server &app)
{
    app.get("/parts/capitals/{word}", [](skua::request &req) {
        bool throws = req.query<bool>("throws", false), leaves = req.query<bool>("leaves", false);
        skua::filter_content(req, [throws, leaves](skua::request &of, int status) -> std::unique_ptr<capitals> {
            if (throws) throw std::runtime_error("no filter");
            of.set("X-Filtered", std::to_string(status));
            return leaves ? nullptr : std::make_unique<capitals>();
        });
        std::string text;
        for (int i = 0; i < 1000; i++)
            text.append(req.param("word"));
        if (text.size() < 1000000) {
            req.text(text);
            return;
        }
        req.stream(200, "text/plain"); // whose head leaves first
        for (std::size_t at = 0; at < text.size(); at += 1000)
            if (!req.write(std::string_view(text).substr(at, 1000))) return;
    });
    app.get("/parts/filters", [](skua::request &req) { req.text(std::to_string(filters.load())); });
    app.get("/parts/encoded/{n}", [](skua::request &req) {
        std::string content(req.param<std::size_t>("n"), 'x');
        auto shorter = skua::encode(SKUA_CODING_GZIP, SKUA_EFFORT_BEST, content);
        if (!shorter) throw skua::http_error(404);
        req.set("Content-Encoding", "gzip").respond("text/plain", *shorter);
    });
    app.get("/parts/told", [](skua::request &req) {
        auto digest = skua::sha256("abc");
        char text[3];
        (void)std::snprintf(text, sizeof text, "%02x", digest[0]);
        req.text(skua::version(), " ", skua::media_type("a.css"), " ", text,
                 skua::coding_is_built(SKUA_CODING_GZIP) && skua::compress_gains("text/css") ? " gains" : " loses");
    });
}

// ---- Statistics ----

static void add_statistics(skua::server &app)
{
    app.get("/parts/metrics", skua::respond_stats);
    app.get("/parts/stats", [&app](skua::request &req) {
        const skua_stats now = app.stats();
        bool right = now.responses[2] > 0 && skua::stats_quantile(now, 0.5) > 0ns &&
                     skua::stats_bound(0) == 1us &&
                     skua::stats_text(now).find("skua_http_server") != std::string::npos;
        req.text(right ? "right" : "wrong");
    });
}

// ---- Sites and servers ----

static std::atomic<int> freed{ 0 };

static skua::site made_for(skua::server &app, const char *host)
{
    skua::site made(app, host);
    made.get("/{$}", [name = std::string(host)](skua::request &req) { req.text(name); });
    made.on_free([] { freed++; });
    if (made.server() != app.raw()) throw std::logic_error("another server");
    return made;
}

static void add_sites(skua::server &app)
{
    app.post("/parts/sites", [&app](skua::request &req) {
        std::vector<skua::site> both;
        both.push_back(made_for(app, "one.test"));
        both.push_back(made_for(app, "two.test"));
        skua::site::replace(app, both);
        req.text("replaced");
    });
    app.post("/parts/sites-wrong", [&app](skua::request &req) {
        std::vector<skua::site> both;
        both.push_back(made_for(app, "three.test"));
        both.push_back(made_for(app, "no name"));
        both[1] = made_for(app, "not/a/name");
        try {
            skua::site::replace(app, both);
        } catch (const skua::error &e) {
            both.clear(); // they are still ours
            req.text(e.what());
        }
    });
    app.post("/parts/withdraw/{host}", [&app](skua::request &req) {
        req.text(app.withdraw(req.param<std::string>("host").c_str()) ? "withdrawn" : "none has it");
    });
    app.get("/parts/freed", [](skua::request &req) { req.text(std::to_string(freed.load())); });
    app.get("/parts/leave", [&app](skua::request &req) {
        app.leave();
        req.text("left");
    });
}

// A server that is started and ended: over TLS if that is built in.
static std::string one_more()
{
    std::string told;
    {
        const skua::tls_self_signed pair("localhost");
        skua::server inner({ .workers = 2, .tls = { .certificates = { pair } } });
        inner.listen("127.0.0.1:0").listen_fd(skua::socket_open("127.0.0.1:0")).listen_over_tls(1);
        inner.on_free([&] { told += " freed"; });
        bool third = inner.listener_add({ .fd = skua::socket_open("127.0.0.1:0") }) == 2;
        inner.start();
        told = std::to_string(inner.workers()) + (inner.backend().empty() ? " none" : " turns");
        told += inner.address_is_secure(0) ? " secure" : " clear";
        told += inner.address_is_secure(1) ? " secure" : " clear";
        if (third && !inner.address(2).empty()) inner.listener_remove(2);
        try {
            inner.listener_add({});
        } catch (const skua::error &) {
            told += inner.address(2).empty() ? " removed" : " stays";
        }
        inner.stop(0s);
        inner.wait();
        try {
            (void)skua::socket_open("nowhere");
        } catch (const skua::error &e) {
            told += e.status() == SKUA_EINVAL && e.what()[0] ? " refused" : " what?";
        }
    }
    return told;
}

static void add_servers(skua::server &app)
{
    app.blocking("GET /parts/server", [](skua::request &req) { req.text(one_more()); });
    app.get("/parts/logged", [&app](skua::request &req) {
        app.log("a line of the program's");
        req.text("logged");
    });
}

void turn(skua::server &app)
{
    app.open();
    do {
        pollfd waits{ app.fd(), POLLIN, 0 };
        auto most = app.timeout();
        (void)poll(&waits, 1, most ? static_cast<int>(*most / 1ms) + 1 : -1);
    } while (app.turn());
}

void add_requests(skua::server &app)
{
    add_lists(app);
    add_lenders(app);
    add_offloads(app);
    add_filters(app);
    add_statistics(app);
    add_sites(app);
    add_servers(app);
}
