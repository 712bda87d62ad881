// SPDX-License-Identifier: MIT
//
// Skua as the bench of WebSockets asks it: PORT BACKEND [CERTIFICATE KEY]. /echo sends each message back; /publish sends each to everybody
// there, the sender too.
#include <skua/skua.h>

#include <stdio.h>

static const skua_slice topic = { "all", 3 };
static skua_server *server;

static void on_echo(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)text, (void)user;
    if (skua_socket_binary(socket, message)) (void)!skua_socket_close(socket, 1011, SKUA_SLICE(""));
}

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    (void)request, (void)user;
    if (skua_socket_join(socket, topic)) (void)!skua_socket_close(socket, 1011, SKUA_SLICE(""));
}

static void on_publish(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)socket, (void)text, (void)user;
    (void)!skua_topic_publish(server, topic,
                              &(skua_publication){ .octets = message, .binary = true });
}

int main(int argc, char **argv)
{
    char listen[32];
    if (argc < 3) return 2;
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%s", argv[1]);
    skua_config config = { .workers = 1, .hosts = "*", .backend = argv[2] };
    skua_tls_certificate certificate = { 0 };
    if (argc > 4) {
        certificate.file = argv[3];
        certificate.key_file = argv[4];
        config.tls = (skua_tls_desc){ .listen = listen,
                                      .certificates = &certificate,
                                      .certificate_count = 1 };
    } else {
        config.listen = listen;
    }
    server = skua_server_new(&config);
    const skua_websocket_desc echo = { .message = on_echo, .messages_per_second_max = UINT32_MAX };
    const skua_websocket_desc publish = { .open = on_open,
                                          .message = on_publish,
                                          .messages_per_second_max = UINT32_MAX };
    if (!server || skua_websocket(server, "GET /echo", &echo) ||
        skua_websocket(server, "GET /publish", &publish))
        return 1;
    return skua_run(server) ? 1 : 0;
}
