// SPDX-License-Identifier: MIT
//
// A chat with rooms and lists of their members: open http://127.0.0.1:8080/#kitchen/ann in a browser. On three machines behind
// a load balancer: chat 0.0.0.0:8080 redis://store a, and so on with b and c. It has one worker, so nothing needs a lock.
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Each machine tells every second who is with it. The list of one that has said nothing for three is dropped.
static const char page[] =
    "<!doctype html><meta charset=\"utf-8\"><title>Chat</title><p id=\"who\">…\n"
    "<pre id=\"log\"></pre><form id=\"form\"><input id=\"text\" autofocus></form><script>\n"
    "const [room, name] = (location.hash.slice(1) || 'lobby/somebody').split('/'), lists = {}\n"
    "const socket = new WebSocket(`/chat/${room}?name=${name}`)\n"
    "socket.onmessage = e => {\n"
    "  if (e.data[0] != '*') return log.append(e.data.slice(1) + '\\n')\n"
    "  const [machine, ...names] = e.data.slice(1).trim().split(' ')\n"
    "  lists[machine] = { names, came: Date.now() }\n"
    "  const fresh = Object.values(lists).filter(list => list.came > Date.now() - 3000)\n"
    "  who.textContent = `In ${room}: ${fresh.flatMap(list => list.names).sort().join(' ')}`\n}\n"
    "form.onsubmit = () => { socket.send(text.value); text.value = ''; return false }</script>\n";

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond_html(request, 200, page);
}

// Somebody in a room. The request that opened the socket is gone when messages come, so it has copies.
typedef struct member {
    struct member *next;
    char room[41], name[41];
} member;

static skua_server *server;
static const char *machine = "here";
static member *members;
static skua_timer every_second; // while there are some

static const member *next_in(const member *m, const char *room)
{
    while (m && strcmp(m->room, room) != 0)
        m = m->next;
    return m;
}

// Everybody in a room has joined the topic of its name, on whichever machine.
static void tell(const char *room, const char *text, int n)
{
    skua_publication said = { .octets = { text, (size_t)n } };
    (void)!skua_topic_publish(server, (skua_slice){ room, strlen(room) }, &said);
}

// Tells each room, once, who of this machine is in it: "*here ann ben ".
static void on_second(skua_worker *worker, void *user)
{
    (void)worker, (void)user;
    for (const member *last = members, *m; last; last = last->next) {
        if (next_in(last->next, last->room)) continue;
        char line[4096];
        int n = snprintf(line, sizeof line, "*%.20s ", machine);
        for (m = next_in(members, last->room); m; m = next_in(m->next, last->room))
            if (n < 4000) n += snprintf(line + n, sizeof line - (size_t)n, "%s ", m->name);
        tell(last->room, line, n);
    }
}

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    skua_slice room = skua_request_param(request, "room");
    skua_slice name = skua_request_query_param(request, "name");
    member *m = room.len <= 40 && !skua_socket_join(socket, room) ? malloc(sizeof *m) : NULL;
    if (!m || skua_socket_set(socket, m)) return;
    if (!name.len || name.len > 40) name = SKUA_SLICE("somebody");
    skua_worker *worker = skua_request_worker(request);
    if (!members) (void)!skua_timer_start(worker, 0, 1000000000, on_second, user, &every_second);
    m->next = members;
    snprintf(m->room, sizeof m->room, "%" SKUA_FMT, SKUA_ARG(room));
    snprintf(m->name, sizeof m->name, "%" SKUA_FMT, SKUA_ARG(name));
    members = m;
}

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    char line[2200];
    const member *m = skua_socket_get(socket);
    if (!m || !text) return;
    int n = snprintf(line, sizeof line, " %s: %" SKUA_FMT, m->name, SKUA_ARG(message));
    tell(m->room, line, n);
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)code, (void)reason, (void)user;
    member *m = skua_socket_get(socket), **place = &members;
    if (!m) return;
    while (*place != m)
        place = &(*place)->next;
    *place = m->next;
    free(m);
    if (!members) skua_timer_stop(every_second);
}

int main(int argc, char **argv)
{
    skua_config config = { .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .workers = 1 };
    skua_topic_bridge_desc store = { .url = argc > 2 ? argv[2] : NULL, .gap_text = " … a gap" };
    skua_websocket_desc chat = { on_open, on_message, NULL, on_close, .message_octets_max = 2000 };
    chat.slow = SKUA_WEBSOCKET_DROP;
    if (argc > 3) machine = argv[3];
    server = skua_server_new(&config);
    if (!server || (store.url && skua_topic_bridge(server, &store)) ||
        skua_route(server, "GET /{$}", on_page, NULL) ||
        skua_websocket(server, "GET /chat/{room}", &chat) || skua_run(server))
        return 1; // the log says why
    skua_server_free(server);
}
