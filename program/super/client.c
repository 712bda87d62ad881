// SPDX-License-Identifier: MIT
//
// The socket is in the abstract namespace, where nothing is left behind by a process that is killed. Its name comes from
// the path of the configuration, and that of a second one from the number of the process, for commands that know it by
// its pid_file. Everybody can connect, and everybody can take a name, so each side asks the kernel who the other one is.

#include "super/client.h"

#ifdef __linux__

#include "super/control.h"
#include "super/trust.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const client_names[SUPER_TASKS] = {
    [SUPER_IDLE] = "", [SUPER_RELOAD] = "reload", [SUPER_UPGRADE] = "upgrade", [SUPER_STOP] = "stop"
};

typedef struct super_client {
    int fd;
    super_task asked; // SUPER_IDLE: nothing yet
    bool has_begun;
} super_client;

enum { CLIENT_OF_FILE, CLIENT_OF_PROCESS, CLIENT_LISTENERS };

static struct {
    int listeners[CLIENT_LISTENERS]; // -1: there is none
    super_client all[SUPER_CLIENTS_MAX];
    unsigned count;
} clients = { .listeners = { -1, -1 } };

// ---- The name ----

// FNV-1a. Returns: false when the file has no path, as a pipe has none.
static bool client_write_address(const char *file, struct sockaddr_un *address, socklen_t *len)
{
    char path[PATH_MAX];
    uint64_t hash = 0xcbf29ce484222325u;
    if (!realpath(file, path)) return false;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "skua-%016llx",
                     (unsigned long long)hash);
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return true;
}

static void client_write_process(pid_t pid, struct sockaddr_un *address, socklen_t *len)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "skua-process-%ld",
                     (long)pid);
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// ---- The supervisor's side ----

static int client_listen_at(const struct sockaddr_un *address, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (bind(fd, (const struct sockaddr *)address, len) == 0 && listen(fd, SUPER_CLIENTS_MAX) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

// In containers that share a network, processes of the same number exist; the second one has its file's socket alone.
bool super_client_listen(const char *file)
{
    struct sockaddr_un address;
    socklen_t len;
    client_write_process(getpid(), &address, &len);
    clients.listeners[CLIENT_OF_PROCESS] = client_listen_at(&address, len);
    if (!client_write_address(file, &address, &len)) return true;
    clients.listeners[CLIENT_OF_FILE] = client_listen_at(&address, len);
    return clients.listeners[CLIENT_OF_FILE] >= 0;
}

void super_client_save(FILE *to, int (*lend)(int fd))
{
    for (unsigned i = 0; i < CLIENT_LISTENERS; i++) {
        if (clients.listeners[i] >= 0)
            (void)fprintf(to, "client %d listens %u 0\n", lend(clients.listeners[i]), i);
    }
    for (unsigned i = 0; i < clients.count; i++) {
        const super_client *one = &clients.all[i];
        (void)fprintf(to, "client %d asks %u %d\n", lend(one->fd), (unsigned)one->asked,
                      one->has_begun);
    }
}

// "listens PLACE 0" or "asks TASK BEGUN"
bool super_client_restore(int fd, const char *text)
{
    const char *numbers = strchr(text, ' ');
    char *end = NULL;
    if (!numbers) return false;
    unsigned long number = strtoul(numbers, &end, 10);
    bool has_begun = strtoul(end, NULL, 10) != 0, listens = *text == 'l';
    if (listens && number < CLIENT_LISTENERS) clients.listeners[number] = fd;
    if (listens) return number < CLIENT_LISTENERS;
    if (number >= SUPER_TASKS || clients.count == SUPER_CLIENTS_MAX) return false;
    clients.all[clients.count++] = (super_client){ fd, (super_task)number, has_begun };
    return true;
}

static void client_drop(unsigned i)
{
    (void)close(clients.all[i].fd);
    clients.all[i] = clients.all[--clients.count];
}

void super_client_close(void)
{
    while (clients.count)
        client_drop(clients.count - 1);
    for (unsigned i = 0; i < CLIENT_LISTENERS; i++) {
        if (clients.listeners[i] >= 0) (void)close(clients.listeners[i]);
        clients.listeners[i] = -1;
    }
}

unsigned super_client_poll(struct pollfd *on, unsigned room)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CLIENT_LISTENERS; i++) {
        if (clients.listeners[i] >= 0 && clients.count < SUPER_CLIENTS_MAX && count < room)
            on[count++] = (struct pollfd){ .fd = clients.listeners[i], .events = POLLIN };
    }
    for (unsigned i = 0; i < clients.count && count < room; i++)
        on[count++] = (struct pollfd){ .fd = clients.all[i].fd, .events = POLLIN };
    return count;
}

static void client_accept(int listener)
{
    while (listener >= 0 && clients.count < SUPER_CLIENTS_MAX) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        if (super_trust_is_own(fd)) clients.all[clients.count++] = (super_client){ .fd = fd };
        else (void)close(fd);
    }
}

// Returns: false when the client is gone, or has said what it must not.
static bool client_hear(super_client *one, bool asked[SUPER_TASKS])
{
    static control_message m;
    control_got got = control_receive(one->fd, false, &m);
    if (got != CONTROL_MESSAGE) return got == CONTROL_NOTHING;
    control_close(&m);
    for (unsigned task = SUPER_RELOAD; task < SUPER_TASKS && !one->asked; task++) {
        if (!control_is(&m, client_names[task], NULL)) continue;
        one->asked = (super_task)task;
        asked[task] = true;
        return true;
    }
    return false;
}

void super_client_look(bool asked[SUPER_TASKS])
{
    for (unsigned i = 0; i < CLIENT_LISTENERS; i++)
        client_accept(clients.listeners[i]);
    for (unsigned i = clients.count; i-- > 0;) {
        if (!client_hear(&clients.all[i], asked)) client_drop(i);
    }
}

void super_client_begin(super_task task)
{
    for (unsigned i = 0; i < clients.count; i++) {
        if (clients.all[i].asked == task) clients.all[i].has_begun = true;
    }
}

void super_client_answer(super_task task, bool done, const char *text)
{
    for (unsigned i = clients.count; i-- > 0;) {
        const super_client *one = &clients.all[i];
        if (one->asked != task || !one->has_begun) continue;
        (void)control_send(one->fd, NULL, 0, "%s %s", done ? "done" : "failed", text);
        client_drop(i);
    }
}

// ---- The command's side ----

static int client_connect_to(const struct sockaddr_un *address, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, len) == 0) return fd;
    (void)close(fd);
    return -1;
}

// The server that was found. fd: -1: none. has_other: somebody else had taken its name; who: the user of that process.
typedef struct client_found {
    int fd;
    uid_t who;
    bool has_other;
} client_found;

static void client_try(client_found *found, const super_trust *trust, super_way way,
                       const struct sockaddr_un *address, socklen_t len)
{
    int fd = client_connect_to(address, len);
    if (fd < 0) return;
    if (super_trust_is_server(trust, fd, way, &found->who)) {
        found->fd = fd;
        return;
    }
    found->has_other = true;
    (void)close(fd);
}

static void client_say_none(const client_found *found, const char *file, char *why, size_t room)
{
    if (!found->has_other) (void)snprintf(why, room, "no server runs with %.500s", file);
    else if (geteuid() != 0)
        (void)snprintf(why, room, "another user runs what answers for %.500s", file);
    else
        (void)snprintf(why, room,
                       "the user %lu runs what answers for %.500s, and neither that file, nor a "
                       "pid_file that it names, nor /run/skua belongs to that user",
                       (unsigned long)found->who, file);
}

// The number leads past somebody who has taken the name of the file before its server.
static int client_connect(const char *file, char *why, size_t room)
{
    struct sockaddr_un address;
    socklen_t len;
    super_trust trust;
    client_found found = { .fd = -1 };
    if (!client_write_address(file, &address, &len) || !super_trust_look(&trust, file)) {
        (void)snprintf(why, room, "there is no file %.500s", file);
        return -1;
    }
    client_try(&found, &trust, SUPER_BY_FILE, &address, len);
    client_write_process(trust.number.pid, &address, &len);
    if (found.fd < 0 && trust.number.pid > 0)
        client_try(&found, &trust, SUPER_BY_NUMBER, &address, len);
    if (found.fd < 0) client_say_none(&found, file, why, room);
    return found.fd;
}

bool super_client_ask(super_task task, const char *file, char *text, size_t room)
{
    static control_message m;
    const char *rest;
    int fd = client_connect(file, text, room);
    if (fd < 0) return false;
    bool heard = control_send(fd, NULL, 0, "%s", client_names[task]) &&
                 control_receive(fd, true, &m) == CONTROL_MESSAGE;
    bool done = heard && control_is(&m, "done", &rest);
    (void)close(fd);
    if (heard) control_close(&m);
    if (done || (heard && control_is(&m, "failed", &rest))) (void)snprintf(text, room, "%s", rest);
    else
        (void)snprintf(text, room, "the server ended, or turned this away, before %s was done",
                       client_names[task]);
    return done;
}

#endif
