// SPDX-License-Identifier: MIT
//
// A peer for the bench: hello by uWebSockets, over TLS with a certificate and a key.
#include "App.h"

#include <cstdlib>
#include <string>

template <typename Server> static void serve(Server &&server, int port)
{
    server
        .get("/*",
             [](auto *response, auto *) {
                 response->writeHeader("Content-Type", "text/plain")->end("Hello, World!");
             })
        .listen("127.0.0.1", port,
                [](auto *listener) {
                    if (!listener) std::exit(1);
                })
        .run();
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    int port = std::stoi(argv[1]);
    if (argc > 3) serve(uWS::SSLApp({ .key_file_name = argv[3], .cert_file_name = argv[2] }), port);
    else serve(uWS::App(), port);
}
