// SPDX-License-Identifier: MIT
//
// A restart that no client notices: on SIGHUP a new process takes over the listening socket, and
// the old one finishes what it has begun. kill -HUP PID; the process's number is what
// http://127.0.0.1:8080/ answers.
#include <skua/skua.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LISTEN_FD = 3 }; // where LISTEN_FDS has it

static void on_page(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    (void)snprintf(text, sizeof text, "%ld\n", (long)getpid());
    skua_respond_text(request, 200, text);
}

// The first process makes the socket; it stays at LISTEN_FD, without close-on-exec, for those that
// follow.
static bool make_socket(const char *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one)) return false;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1024)) return false;
    return fd == LISTEN_FD || dup2(fd, LISTEN_FD) == LISTEN_FD;
}

static void start_successor(char **argv)
{
    char pid[32];
    if (fork() != 0) return;
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    (void)setenv("LISTEN_PID", pid, 1);
    (void)setenv("LISTEN_FDS", "1", 1);
    (void)execv(argv[0], argv);
    _exit(1);
}

int main(int argc, char **argv)
{
    sigset_t signals;
    int number = 0;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL); // taken by sigwait below
    (void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL); // no zombies
    bool first = !getenv("LISTEN_FDS");
    if (first && !make_socket(argc > 1 ? argv[1] : "8080")) {
        perror("restart");
        return 1;
    }
    skua_server *server = skua_server_new(NULL);
    if (!server || skua_listen_fd(server, dup(LISTEN_FD)) ||
        skua_route(server, "GET /{$}", on_page, NULL))
        return 1;
    if (skua_start(server)) {
        (void)fprintf(stderr, "restart: %s\n", skua_server_error(server));
        return 1;
    }
    (void)sigwait(&signals, &number);
    if (number == SIGHUP) start_successor(argv);
    skua_stop(server, 10000000000);
    skua_wait(server);
    skua_server_free(server);
}
