// SPDX-License-Identifier: MIT
//
// A chat with rooms, and who is in them: open http://127.0.0.1:8080/#kitchen/ann in a browser.
#include <skua/skua.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char page[] =
    "<!doctype html><meta charset=\"utf-8\"><title>Chat</title>\n"
    "<p id=\"who\">…<pre id=\"log\"></pre><form id=\"form\"><input id=\"text\" autofocus></form>\n"
    "<script>\n"
    "const [room, name] = (location.hash.slice(1) || 'lobby/somebody').split('/')\n"
    "const socket = new WebSocket(`/chat/${room}?name=${name}`)\n"
    "socket.onmessage = e => {\n"
    "  if (e.data[0] == '*') who.textContent = `In ${room}: ${e.data.slice(1)}`\n"
    "  else log.append(e.data.slice(1) + '\\n')\n"
    "}\n"
    "form.onsubmit = e => { e.preventDefault(); socket.send(text.value); text.value = '' }\n"
    "</script>\n";

static void on_page(skua_request *request, void *user)
{
    (void)user;
    skua_respond_html(request, 200, page);
}

// Somebody in a room, in the memory of the request that opened the socket, as the slices are: any
// worker may read it as long as it is in the list.
typedef struct member {
    struct member *next;
    skua_slice room, name;
} member;

static skua_server *server;
static const char member_key;
static member *members; // of all workers
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_in(const member *m, skua_slice room)
{
    return m->room.len == room.len && memcmp(m->room.ptr, room.ptr, room.len) == 0;
}

// Everybody in a room has joined the topic of its name.
static void tell(skua_slice room, const char *line, int len)
{
    skua_slice text = { line, (size_t)len };
    (void)!skua_topic_publish(server, room, &(skua_publication){ .octets = text });
}

// With the lock, so that the last to be told is how it is: "*ann ben".
static void tell_who(skua_slice room)
{
    char line[4096] = "*";
    int len = 1;
    for (const member *m = members; m; m = m->next) {
        if (is_in(m, room) && (size_t)len + m->name.len + 2 <= sizeof line)
            len += snprintf(line + len, sizeof line - (size_t)len, "%" SKUA_FMT " ",
                            SKUA_ARG(m->name));
    }
    tell(room, line, len);
}

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    member *m = skua_request_alloc(request, sizeof *m);
    if (!m || skua_request_set(request, &member_key, m)) return; // out of memory
    *m = (member){ .room = skua_request_param(request, "room"),
                   .name = skua_request_query_param(request, "name") };
    if (skua_socket_join(socket, m->room)) skua_socket_close(socket, 1011, SKUA_SLICE(""));
    if (!m->name.len || m->name.len > 40) m->name = SKUA_SLICE("somebody");
    (void)pthread_mutex_lock(&lock);
    m->next = members, members = m;
    tell_who(m->room);
    (void)pthread_mutex_unlock(&lock);
}

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    char line[2200];
    const member *m = skua_request_get(skua_socket_request(socket), &member_key);
    if (!m || !text) return;
    int len = snprintf(line, sizeof line, " %" SKUA_FMT ": %" SKUA_FMT, SKUA_ARG(m->name),
                       SKUA_ARG(message));
    tell(m->room, line, len);
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)code, (void)reason, (void)user;
    const member *m = skua_request_get(skua_socket_request(socket), &member_key);
    if (!m) return;
    (void)pthread_mutex_lock(&lock);
    member **place = &members;
    while (*place != m)
        place = &(*place)->next;
    *place = m->next;
    tell_who(m->room);
    (void)pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    const char *listen = argc > 1 ? argv[1] : "127.0.0.1:8080";
    server = skua_server_new(&(skua_config){ .listen = listen });
    const skua_websocket_desc chat = {
        on_open, on_message, NULL, on_close, .slow = SKUA_WEBSOCKET_DROP, .message_octets_max = 2000
    };
    if (!server || skua_route(server, "GET /{$}", on_page, NULL) ||
        skua_websocket(server, "GET /chat/{room}", &chat) || skua_run(server))
        return 1; // the log says why
    skua_server_free(server);
}
