// SPDX-License-Identifier: MIT
//
// Configuration, connections, certificates, prepared responses, objects of workers and watches in C++. With PARTS_LOG
// lines of the log go by a function to standard error. PARTS_STORE is that of a bridge. Files are those of CPP_FILES.
#include "cpp_parts.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

using namespace std::chrono_literals;

// ---- Configuration ----

static std::atomic<int> sessions{ 0 }, closed{ 0 }, workers_begun{ 0 };

// Kept by each connection.
struct session {
    int requests = 0;
    session()
    {
        sessions++;
    }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    ~session()
    {
        sessions--;
    }
};

// Whether connections are refused from now on: not, by false, or by an exception.
enum class door { open, shut, throws };
static std::atomic<door> door_is{ door::open };

static bool connected(skua::connection connection)
{
    connection.emplace<session>();
    door is = door_is.exchange(door::open);
    if (is == door::throws) throw std::runtime_error("the door is stuck");
    return is == door::open;
}

void add_parts_to(skua::config &config)
{
    config.on_worker_start = [](skua::worker) { workers_begun++; };
    config.on_worker_end = [](skua::worker on) { std::fprintf(stderr, "worker %u has ended\n", on.index()); };
    config.on_connect = connected;
    config.on_close = [](skua::connection connection) {
        if (connection.get<session>()) closed++;
    };
    config.http2.streams_max = 77;
    config.stats = true;
    if (!std::getenv("PARTS_LOG")) return;
    config.log = SKUA_LOG_SHORT;
    config.log_secrets = "hush";
    config.log_write = [](std::string_view lines) {
        std::fprintf(stderr, "by a function: %.*s", static_cast<int>(lines.size()), lines.data());
    };
}

static void add_connections(skua::server &app)
{
    app.get("/parts/session", [](skua::request &req) {
        skua::connection by = req.connection();
        auto *kept = by.get<session>();
        bool right = by.peer() == "127.0.0.1" && by.id() > 0 && !by.get<int>();
        right = right && by.worker().index() == req.worker().index();
        req.text(std::to_string(kept->requests++), right ? " right" : " wrong");
    });
    app.get("/parts/sessions", [](skua::request &req) {
        req.text(std::to_string(sessions.load()), " ", std::to_string(closed.load()), " ",
                 std::to_string(workers_begun.load()));
    });
    app.get("/parts/door/{is}", [](skua::request &req) {
        door_is = req.param("is") == "throws" ? door::throws : door::shut;
        req.text("so it is");
    });
    app.get("/parts/memory", [&app](skua::request &req) {
        const std::size_t before = app.stats().memory_octets;
        skua::counted_memory held(req.worker(), 1u << 20), moved = std::move(held);
        moved.resize(3u << 20);
        req.text(std::to_string((app.stats().memory_octets - before) >> 20));
    });
    app.get("/parts/time", [](skua::request &req) {
        auto off = std::chrono::system_clock::now() - req.worker().time();
        req.text(off > -60s && off < 60s && req.worker().now() > 0s ? "right" : "wrong");
    });
}

// ---- Topics of several machines ----

static std::atomic<int> gaps{ 0 };

static void add_bridge(skua::server &app)
{
    if (const char *store = std::getenv("PARTS_STORE"))
        app.bridge({ .url = store, .stream = "cpp:topics", .gap = [] { gaps++; } });
    app.get("/parts/gaps", [](skua::request &req) { req.text(std::to_string(gaps.load())); });
}

// ---- Routes with more, directories ----

static void add_routes(skua::server &app)
{
    app.get(
        "/parts/late/{name}", [](skua::request) -> skua::task<> { co_await skua::sleep(60s); },
        { .timeout = 100ms });
    app.blocking(
        "POST /parts/little", [](skua::request &req) { req.text(req.route()); },
        { .content_octets_max = 10, .name = "little" });
    const char *folder = std::getenv("CPP_FILES");
    if (!folder) return;
    skua::directory_config how{ .list = true, .types = { { ".txt", "text/x-mine" } }, .tries = { "{path}.txt" } };
    how.decide = [](skua::request &req, std::string_view path, const skua_file_info &info) {
        req.set("X-Decided", std::string(path) + " " + std::to_string(info.size));
        if (path == "hidden.txt") return 404;
        if (path == "odd.txt") throw skua::http_error(409, "odd");
        return 0;
    };
    how.list_markup = "<p>of all</p>";
    how.list_markup_of = [which = std::string("<p>of this</p>")](std::string_view path) {
        return path == "/parts/files/" ? which.c_str() : nullptr;
    };
    app.directory("/parts/files/", folder, how);
    app.compress("/parts/long", { .octets_min = 2000 });
    app.get("/parts/long/{n}", [](skua::request &req) {
        req.text(std::string(req.param<std::size_t>("n"), 'x'));
    });
}

// ---- Certificates ----

static const skua::tls_self_signed &made_here()
{
    static const skua::tls_self_signed made("chosen.test localhost 127.0.0.1");
    return made;
}

static skua::tls_identity chosen(std::string_view name)
{
    static const skua::tls_identity identity(made_here()), copy = identity;
    if (name == "throws.test") throw std::runtime_error("no choice");
    return name == "chosen.test" ? copy : skua::tls_identity();
}

static void add_certificates(skua::server &app)
{
    app.get("/parts/fingerprint", [](skua::request &req) {
        const skua::tls_fingerprint print(made_here().certificate());
        bool year = print.not_after > std::chrono::system_clock::now() + 363 * 24h;
        req.text(print.text(), year ? "" : " of another year");
    });
    app.get("/parts/reload", [&app](skua::request &req) {
        app.tls_reload({ .certificates = { made_here() }, .choose = chosen });
        req.text("reloaded");
    });
    app.get("/parts/reload-wrong", [&app](skua::request &req) {
        try {
            app.tls_reload({ .certificates = { { .file = "/nowhere.pem" } }, .choose = chosen });
        } catch (const skua::error &e) {
            req.text(e.what());
        }
    });
    app.get("/parts/identity-wrong", [](skua::request &req) {
        try {
            skua::tls_identity none(skua::tls_certificate{ .pem = "none" });
        } catch (const skua::error &e) {
            req.text(e.what());
        }
    });
}

// ---- Prepared responses, objects of workers, watches ----

static std::atomic<int> released{ 0 }, made{ 0 }, shrunk{ 0 };

// One of each worker.
struct mine {
    skua::prepared hello, lent;
    int asked = 0;

    explicit mine(skua::worker on)
        : hello(on, { .status = 203, .fields = fields, .content = "prepared" }),
          lent(on, { .content = "lent octets" }, [] { released++; })
    {
        made++;
    }
    mine(const mine &) = delete;
    mine &operator=(const mine &) = delete;
    bool evict()
    {
        return false;
    }
    void shrink()
    {
        shrunk++;
    }
    static inline const skua_field fields[] = { skua::field("X-Made", "in advance") };
};

static void add_prepared(skua::server &app)
{
    app.get("/parts/hello", [each = skua::local<mine>(app, [](skua::worker on) {
        return mine(on);
    })](skua::request &req) {
        mine &here = each(req.worker());
        req.set("X-Asked", std::to_string(here.asked++));
        skua::respond_prepared(req, here.hello);
    });
    app.get("/parts/lent", [&app](skua::request &req) {
        skua::local<mine> each(app, [](skua::worker on) { return mine(on); }); // dropped behind this request
        const skua::prepared copy = each(req.worker()).lent;
        skua::respond_prepared(req, copy);
    });
    app.get("/parts/made", [](skua::request &req) {
        req.text(std::to_string(made.load()), " ", std::to_string(released.load()));
    });
    app.get("/parts/unmade", [each = skua::local<int>(app, [tries = std::make_shared<int>(0)](skua::worker) {
        if ((*tries)++ == 0) throw std::runtime_error("not at once");
        return 7;
    })](skua::request &req) { req.text(std::to_string(each(req.worker()))); });
    app.get("/parts/no-field", [](skua::request &req) {
        const skua_field wrong[] = { skua::field("Content-Length", "7") };
        skua::prepared none(req.worker(), { .fields = wrong }, [] { std::abort(); });
    });
}

static void add_watches(skua::server &app)
{
    const char *folder = std::getenv("CPP_FILES");
    if (!folder) return;
    static const skua::root files(folder); // which outlives the server
    app.get("/parts/file/{path...}", [](skua::request req) -> skua::task<> {
        skua::opened found = co_await skua::open(files, req.param("path"));
        skua::prepared whole(req.worker(), { .file = found.file, .length = found.info.size });
        char room[64];
        std::size_t n = co_await skua::load(found.file, 0, room);
        skua::file_etag tag(found.info, { room, n }, req.worker().time().time_since_epoch());
        skua::etag_hash pieces;
        pieces.add({ room, n / 2 });
        pieces.add({ room + n / 2, n - n / 2 });
        if (pieces.end() != std::string_view(tag)) throw std::logic_error("two tags of one content");
        if (tag && req.etag(tag)) skua::respond_prepared(req, whole);
    });
    app.get("/parts/watched", [&app, kept = std::optional<skua::watch>()](skua::request req) mutable -> skua::task<> {
        if (!kept) kept = co_await skua::open_watch(app, files, "");
        req.text(std::to_string(kept->changes()), skua::watch::includes_writes() ? " and writes" : "");
    });
    app.get("/parts/watched/{path...}", [&app](skua::request req) -> skua::task<> {
        try {
            skua::watch none = co_await skua::open_watch(app, files, req.param<std::string>("path"));
            req.text("watched");
        } catch (const skua::error &e) {
            req.text(e.what());
        }
    });
}

void add_parts(skua::server &app)
{
    add_prepared(app);
    add_watches(app);
    add_bridge(app);
    add_connections(app);
    add_routes(app);
    add_certificates(app);
}
