// SPDX-License-Identifier: MIT
//
// A single-page application and its interface: spa 127.0.0.1:8080 FOLDER. Paths without a file belong to the page, and
// a signed cookie says who has logged in.
// curl -c jar -d name=Ada http://127.0.0.1:8080/api/login ; curl -b jar http://127.0.0.1:8080/api/me
#include <skua/middleware/session.h>
#include <skua/skua.hpp>

#include <string>
#include <sys/random.h>

int main(int argc, char **argv)
{
    using namespace skua::literals;
    static char key[32]; // a new one at each start: whoever was logged in logs in again
    static skua_session_desc sessions{};
    if (getrandom(key, sizeof key, 0) != sizeof key) return 1;
    sessions.signing.key = { key, sizeof key };
    const skua_middleware middleware = skua_session_middleware(&sessions);

    skua::server app({ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    app.use("/api/", middleware);
    app.on_error("/api/", [](skua::request &req, int status, std::string_view) {
        req.status(status).json("{\"error\":", std::to_string(status), "}\n");
    });
    app.post("/api/login", [](skua::request req) -> skua::task<> {
        co_await req.body(4_KiB);
        auto name = req.form("name", std::string_view());
        if (name.empty() || name.find_first_of("\"\\") != name.npos) throw skua::http_error(400);
        if (skua_session_set(req.raw(), &sessions, "name", { name.data(), name.size() }))
            throw skua::http_error(413);
        req.respond(204);
    });
    app.get("/api/me", [](skua::request &req) {
        skua_slice name = skua_session_get(req.raw(), &sessions, "name");
        if (!name.ptr) throw skua::http_error(401);
        req.json("{\"name\":\"", std::string_view(name.ptr, name.len), "\"}\n");
    });
    app.get("/api/{other...}", [](skua::request &) { throw skua::http_error(404); }); // not the page
    app.directory("/", argc > 2 ? argv[2] : "public", { .fallback = "index.html" });
    app.run();
}
