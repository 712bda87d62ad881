// SPDX-License-Identifier: MIT
//
// A server inside a program that has a loop of its own: here poll(2) over standard input and the
// server.
// Lines typed are what the page shows. curl http://127.0.0.1:8080/
#include <skua/skua.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char line[256] = "nothing yet\n";
static size_t line_len = 12;

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond(request, 200, "text/plain", (skua_slice){ line, line_len });
}

// The wait poll takes, in milliseconds and never shorter than asked for.
static int wait_ms(const skua_server *server)
{
    int64_t ns = skua_timeout_ns(server);
    return ns < 0 ? -1 : (int)((ns + 999999) / 1000000);
}

static void read_line(skua_server *server)
{
    ssize_t n = read(STDIN_FILENO, line, sizeof line);
    if (n > 0) line_len = (size_t)n;
    else skua_stop(server, 1000000000); // end of input: finish what runs, for a second at most
}

static void loop(skua_server *server)
{
    bool open = true;
    while (skua_turn(server, 0) == SKUA_OK) {
        struct pollfd fds[2] = { { .fd = skua_fd(server), .events = POLLIN },
                                 { .fd = open ? STDIN_FILENO : -1, .events = POLLIN } };
        if (poll(fds, 2, wait_ms(server)) < 0) continue;
        if (!fds[1].revents) continue;
        read_line(server);
        open = line_len > 0 && !(fds[1].revents & POLLHUP && !(fds[1].revents & POLLIN));
    }
}

int main(int argc, char **argv)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    if (!server || skua_route(server, "GET /{$}", on_page, NULL)) return 1;
    if (skua_open(server)) {
        (void)fprintf(stderr, "foreign_loop: %s\n", skua_server_error(server));
        return 1;
    }
    loop(server);
    skua_server_free(server);
}
