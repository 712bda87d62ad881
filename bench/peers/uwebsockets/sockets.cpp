// SPDX-License-Identifier: MIT
//
// A peer for the bench of WebSockets, by uWebSockets: PORT [CERTIFICATE KEY].
#include "App.h"

#include <cstdlib>
#include <string>

struct nothing {
};

template <typename App> static App *app;

template <typename App> static typename App::template WebSocketBehavior<nothing> behaviour(bool publishes)
{
    typename App::template WebSocketBehavior<nothing> made;
    made.compression = uWS::DISABLED;
    made.maxPayloadLength = 1024 * 1024;
    made.maxBackpressure = 1024 * 1024;
    made.idleTimeout = 120;
    if (publishes) {
        made.open = [](auto *socket) { socket->subscribe("all"); };
        made.message = [](auto *, std::string_view message, uWS::OpCode code) {
            app<App>->publish("all", message, code, false);
        };
    } else {
        made.message = [](auto *socket, std::string_view message, uWS::OpCode code) { socket->send(message, code, false); };
    }
    return made;
}

template <typename App> static void serve(App here, int port)
{
    app<App> = &here;
    here.template ws<nothing>("/echo", behaviour<App>(false))
        .template ws<nothing>("/publish", behaviour<App>(true))
        .listen("127.0.0.1", port,
                [](auto *listener) {
                    if (!listener) std::exit(1);
                })
        .run();
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const int port = std::stoi(argv[1]);
#ifndef LIBUS_NO_SSL
    if (argc > 3) {
        uWS::SocketContextOptions options = {};
        options.cert_file_name = argv[2];
        options.key_file_name = argv[3];
        serve(uWS::SSLApp(options), port);
        return 0;
    }
#endif
    serve(uWS::App(), port);
}
