// SPDX-License-Identifier: MIT
//
// The shortest server in C++: curl http://127.0.0.1:8080/hello/you
#include <skua/skua.hpp>

#include <cstdio>

int main(int argc, char **argv)
try {
    skua::server app({ .log = SKUA_LOG_SHORT });
    app.get("/hello/{name}", [](skua::request &req) { req.text("Hello, ", req.param("name"), "!\n"); });
    app.get("/sum/{a}/{b}", [](skua::request &req) {
        req.json(std::to_string(req.param<int>("a") + req.param<int>("b"))); // 400 for what is no int
    });
    app.listen(argc > 1 ? argv[1] : "127.0.0.1:8080");
    app.run();
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "hello: %s\n", e.what());
    return 1;
}
