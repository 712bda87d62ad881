// SPDX-License-Identifier: MIT
//
// A peer for the bench of WebSockets, by uWebSockets: PORT.
#include "App.h"

#include <cstdlib>
#include <string>

struct nothing {
};

static uWS::App *app;

static uWS::App::WebSocketBehavior<nothing> behaviour(bool publishes)
{
    uWS::App::WebSocketBehavior<nothing> made;
    made.compression = uWS::DISABLED;
    made.maxPayloadLength = 1024 * 1024;
    made.maxBackpressure = 1024 * 1024;
    made.idleTimeout = 120;
    if (publishes) {
        made.open = [](auto *socket) { socket->subscribe("all"); };
        made.message = [](auto *, std::string_view message, uWS::OpCode code) { app->publish("all", message, code, false); };
    } else {
        made.message = [](auto *socket, std::string_view message, uWS::OpCode code) { socket->send(message, code, false); };
    }
    return made;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    uWS::App here;
    app = &here;
    here.ws<nothing>("/echo", behaviour(false))
        .ws<nothing>("/publish", behaviour(true))
        .listen("127.0.0.1", std::stoi(argv[1]),
                [](auto *listener) {
                    if (!listener) std::exit(1);
                })
        .run();
}
