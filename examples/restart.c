// SPDX-License-Identifier: MIT
//
// A restart that no client notices. On SIGHUP a new process takes over the listening socket, and
// the old one ends: idle connections stay until their next response, which says that they close.
// kill -HUP PID; http://127.0.0.1:8080/ responds with the process's number.
#include <skua/skua.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Where LISTEN_FDS has the socket, and how long connections may be idle in a process that leaves.
enum { LISTEN_FD = 3, LEAVE_SECONDS = 60 };

static void on_page(skua_request *request, void *user)
{
    (void)user;
    char text[32];
    (void)snprintf(text, sizeof text, "%ld\n", (long)getpid());
    skua_respond_text(request, 200, text);
}

// The first process makes the socket, which stays open at LISTEN_FD for those that follow.
static bool make_socket(const char *port)
{
    char address[64], why[512] = "no descriptor is left";
    int fd;
    (void)snprintf(address, sizeof address, "127.0.0.1:%s", port);
    if (!skua_socket_open(address, 0, false, &fd, why, sizeof why) && dup2(fd, LISTEN_FD) >= 0)
        return fcntl(LISTEN_FD, F_SETFD, 0) == 0;
    (void)fprintf(stderr, "restart: %s\n", why);
    return false;
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

// The successor gets who connects from now on.
static void leave(skua_server *server, char **argv)
{
    skua_stats stats = { .connections_open = 1 };
    start_successor(argv);
    skua_leave(server);
    for (int i = 0; i < LEAVE_SECONDS && stats.connections_open; i++) {
        (void)sleep(1);
        skua_server_stats(server, &stats);
    }
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
    if (first && !make_socket(argc > 1 ? argv[1] : "8080")) return 1;
    skua_server *server = skua_server_new(NULL);
    if (!server || skua_listen_fd(server, dup(LISTEN_FD)) ||
        skua_route(server, "GET /{$}", on_page, NULL) || skua_start(server))
        return 1;
    (void)sigwait(&signals, &number);
    if (number == SIGHUP) leave(server, argv);
    skua_stop(server, 10000000000);
    skua_wait(server);
    skua_server_free(server);
}
