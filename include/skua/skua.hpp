// SPDX-License-Identifier: MIT
//
// Skua for C++20: lambdas, typed parameters, RAII, exceptions and coroutines over skua.h.
//
//     #include <skua/skua.hpp>
//
//     int main()
//     {
//         skua::server app;
//         app.get("/hello/{name}", [](skua::request &req) {
//             req.text("Hello, ", req.param("name"), "!");
//         });
//         app.listen("127.0.0.1:8080");
//         app.run();
//     }
//
// Handlers are lambdas or objects; they live as long as the server. A handler that takes skua::request & responds before
// it returns, or later through a ticket. A handler that returns skua::task<> is a coroutine; it takes its skua::request by
// value, and is resumed on the request's worker.
//
// Exceptions never cross into C. An exception from a handler becomes a 500 response, and is logged with the request;
// skua::http_error becomes its own status, and its sentence is sent. For plain lambdas this header allocates nothing per
// request; for a coroutine the compiler allocates one frame.
//
// Lifetimes: views from a request live as long as the request; in a coroutine, as long as the coroutine.
// Threads: as in skua.h, whose names stay usable beside these.
#ifndef SKUA_HPP
#define SKUA_HPP

// Without C++20 nothing of what follows would compile, and the reason would be lost among hundreds of errors.
#if !defined(__cplusplus) || (__cplusplus < 201709L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L))
#error "skua.hpp is C++20: compile with -std=c++20, or include skua.h, which is C and any C++"
#else
#include "cpp/async_socket.hpp"
#include "cpp/codings.hpp"
#include "cpp/config.hpp"
#include "cpp/connection.hpp"
#include "cpp/content.hpp"
#include "cpp/directories.hpp"
#include "cpp/files.hpp"
#include "cpp/json.hpp"
#include "cpp/lifetime.hpp"
#include "cpp/local.hpp"
#include "cpp/prepared.hpp"
#include "cpp/request.hpp"
#include "cpp/routes.hpp"
#include "cpp/server.hpp"
#include "cpp/site.hpp"
#include "cpp/socket.hpp"
#include "cpp/stats.hpp"
#include "cpp/task.hpp"
#include "cpp/tls.hpp"
#include "cpp/together.hpp"
#include "cpp/watch.hpp"
#include "cpp/websocket.hpp"
#include "cpp/worker.hpp"
#endif

#endif // SKUA_HPP
