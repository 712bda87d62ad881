// SPDX-License-Identifier: MIT
//
// A server with everything, and a client. Wherever the program's code runs, the row is committed if
// that is its place.

#include "misuses/scene.h"

#include "support/socket.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t scene_lock = PTHREAD_MUTEX_INITIALIZER;

static void scene_commit(scene *s)
{
    s->ran = true;
    s->row->commit(s);
}

static void scene_at(scene *s, place where)
{
    if (s->row->where == where) scene_commit(s);
}

static void *scene_thread(void *user)
{
    scene_commit(user);
    return NULL;
}

static void scene_commit_elsewhere(scene *s)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, scene_thread, s) == 0) (void)pthread_join(thread, NULL);
}

// ---- What the server calls ----

static void scene_posted(skua_worker *worker, void *user)
{
    (void)worker;
    scene *s = user;
    if (s->row->where == GONE) skua_request_drop(s->request);
    scene_commit(s);
    if (s->row->where == ENDED) skua_request_drop(s->request);
}

static void scene_ended(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)how;
    scene *s = user;
    scene_at(s, LAST_WORDS);
    if (s->row->where == ENDED || s->row->where == GONE)
        (void)!skua_post(s->server, 0, scene_posted, s);
}

static void scene_read(skua_request *request, skua_content_event event, skua_slice octets,
                       void *user)
{
    (void)octets;
    if (event == SKUA_CONTENT_DATA) scene_at(user, CONTENT);
    if (event == SKUA_CONTENT_LOST) scene_at(user, LOST);
    if (event == SKUA_CONTENT_END && skua_request_status(request) == 0)
        (void)!skua_respond(request, 204, NULL, SKUA_SLICE(""));
}

static void scene_opened(skua_worker *worker, skua_status status, skua_file *file,
                         const skua_file_info *info, void *user)
{
    (void)worker;
    (void)info;
    scene *s = user;
    if (status) return;
    s->file = file;
    scene_at(s, FILE_HERE);
    if (s->row->where == FILE_ELSEWHERE) scene_commit_elsewhere(s);
    skua_file_unref(file);
    if (skua_request_status(s->request) == 0)
        (void)!skua_respond(s->request, 204, NULL, SKUA_SLICE(""));
}

static void scene_make_prepared(scene *s, skua_worker *worker)
{
    (void)!skua_prepared_new(worker, &(skua_prepared_desc){ .status = 200 }, &s->prepared);
}

static bool scene_is_about_the_end(const scene *s)
{
    place where = s->row->where;
    return where == LAST_WORDS || where == ENDED || where == GONE || where == REPLACED;
}

// Leaves the request to end by its client's leaving.
static void scene_abandon(scene *s)
{
    if (s->row->where == ENDED || s->row->where == GONE) skua_request_hold(s->request);
    skua_on_end(s->request, scene_ended, s);
}

static void scene_poll(scene *s)
{
    (void)!pipe(s->pipe);
    (void)!skua_poll_start(s->worker, s->pipe[0], SKUA_POLL_READABLE, nothing_polled, NULL,
                           &s->poll);
}

static void scene_handle(skua_request *request, void *user)
{
    scene *s = user;
    place where = s->row->where;
    s->request = request;
    s->worker = skua_request_worker(request);
    s->connection = skua_request_connection(request);
    if (scene_is_about_the_end(s)) {
        scene_abandon(s);
    } else if (where == CONTENT || where == LOST) {
        (void)!skua_content_read(request, scene_read, s);
    } else if (where == FILE_HERE || where == FILE_ELSEWHERE) {
        skua_file_open(s->worker, s->root, SKUA_SLICE("file"), scene_opened, s);
    } else {
        (void)!skua_timer_start(s->worker, INT64_MAX, 0, nothing_done, NULL, &s->timer);
        scene_poll(s);
        if (where == ELSEWHERE) scene_make_prepared(s, s->worker);
        if (where == HANDLER || where == TWO_SERVERS || where == TURN || where == TEST)
            scene_commit(s);
        if (where == ELSEWHERE) scene_commit_elsewhere(s);
        if (skua_request_status(request) == 0)
            (void)!skua_respond(request, 204, NULL, SKUA_SLICE(""));
    }
}

static void scene_answer(skua_request *request, void *user)
{
    (void)user;
    (void)!skua_respond(request, 204, NULL, SKUA_SLICE(""));
}

static void scene_block(skua_request *request, void *user)
{
    scene *s = user;
    (void)pthread_mutex_lock(&scene_lock);
    s->read = request;
    (void)pthread_mutex_unlock(&scene_lock);
    scene_at(s, BLOCKING);
    (void)!skua_respond(request, 204, NULL, SKUA_SLICE(""));
}

static void scene_socket(skua_socket socket, skua_request *request, void *user)
{
    (void)request;
    scene *s = user;
    s->socket = socket;
    scene_at(s, SOCKET_HERE);
    if (s->row->where == SOCKET_ELSEWHERE) scene_commit_elsewhere(s);
}

static bool scene_opens_socket(const scene *s)
{
    return s->row->where == SOCKET_HERE || s->row->where == SOCKET_ELSEWHERE;
}

static void scene_before(skua_request *request, void *user)
{
    if (!((scene *)user)->request) ((scene *)user)->request = request;
    scene_at(user, BEFORE);
    skua_next(request);
}

static void scene_head(skua_request *request, int status, void *user)
{
    (void)status;
    (void)request;
    scene_at(user, HEAD);
}

static void scene_starts(skua_worker *worker, void *user)
{
    ((scene *)user)->worker = worker;
    scene_at(user, START_HOOK);
}

static bool scene_connects(skua_connection *connection, void *user)
{
    ((scene *)user)->connection = connection;
    scene_at(user, CONNECT_HOOK);
    return true;
}

static void scene_after_close(skua_worker *worker, void *user)
{
    (void)worker;
    scene_commit(user);
}

static void scene_closes(skua_connection *connection, void *user)
{
    (void)connection;
    scene *s = user;
    if (s->row->where == CLOSED) (void)!skua_post(s->server, 0, scene_after_close, s);
}

static void *scene_make(skua_worker *worker, void *user)
{
    (void)worker;
    return user;
}

static void scene_drop(skua_worker *worker, void *object, void *user)
{
    (void)worker;
    (void)object;
    scene_at(user, DROP);
}

static void scene_release(void *user)
{
    scene_at(user, RELEASE);
}

static void scene_log(skua_slice octets, void *user)
{
    (void)octets;
    (void)user;
}

// ---- The server and its client ----

static bool scene_open(scene *s, const char *folder)
{
    s->server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0",
                                                .workers = 1,
                                                .log_write = scene_log,
                                                .on_worker_start = scene_starts,
                                                .on_connect = scene_connects,
                                                .on_close = scene_closes,
                                                .hook_user = s });
    const skua_middleware middleware = { .before = scene_before, .head = scene_head, .user = s };
    const skua_websocket_desc sockets = { .open = scene_socket, .user = s };
    const skua_directory_config served = { .opened = &s->directory };
    const skua_local_desc local = { .make = scene_make, .drop = scene_drop, .user = s };
    return s->server && skua_root_open(folder, &s->root) == SKUA_OK &&
           skua_server_on_free(s->server, scene_release, s) == SKUA_OK &&
           skua_use(s->server, "/", &middleware) == SKUA_OK &&
           skua_route_directory(s->server, "/served/", folder, &served) == SKUA_OK &&
           skua_local_add(s->server, &local, &s->key) == SKUA_OK &&
           skua_route(s->server, "/{$}", scene_handle, s) == SKUA_OK &&
           skua_route(s->server, "/other", scene_answer, s) == SKUA_OK &&
           skua_websocket(s->server, "GET /socket", &sockets) == SKUA_OK &&
           skua_route_blocking(s->server, "/blocking", scene_block, s) == SKUA_OK;
}

static const char *scene_request(const scene *s)
{
    place where = s->row->where;
    if (where == BLOCKING)
        return "GET /blocking HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (scene_opens_socket(s))
        return "GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (where == LOST)
        return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhello";
    if (where == CONTENT)
        return "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Content-Length: 5\r\n\r\nhello";
    return "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

// Asks, leaves if that is what it is about, and reads until the server has closed.
static void scene_ask_for(const scene *s, const char *wire)
{
    char answer[1024];
    int fd = socket_connect_to(skua_server_address(s->server, 0));
    (void)!send(fd, wire, strlen(wire), MSG_NOSIGNAL);
    if (scene_is_about_the_end(s) || s->row->where == LOST || scene_opens_socket(s))
        (void)shutdown(fd, SHUT_WR);
    while (recv(fd, answer, sizeof answer, 0) > 0) {
    }
    (void)close(fd);
}

static void scene_ask(const scene *s)
{
    scene_ask_for(s, scene_request(s));
}

// Others, who may have its memory.
static void scene_replace(scene *s)
{
    for (int i = 0; i < 10; i++)
        scene_ask_for(s, "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    (void)!skua_post(s->server, 0, scene_posted, s);
}

static void *scene_client(void *user)
{
    scene *s = user;
    scene_ask(s);
    skua_stop(s->server, 0);
    return NULL;
}

static bool scene_play_turned(scene *s)
{
    pthread_t client;
    if (skua_open(s->server)) return false;
    if (s->row->where == TURNED_BY) {
        scene_commit_elsewhere(s);
        return true;
    }
    if (pthread_create(&client, NULL, scene_client, s)) return false;
    while (skua_turn(s->server, -1) == SKUA_OK) {
    }
    (void)pthread_join(client, NULL);
    return true;
}

static bool scene_play_tested(scene *s)
{
    skua_slice answer;
    const char *wire = scene_request(s);
    if (skua_test_request(s->server, (skua_slice){ wire, strlen(wire) }, &answer)) return false;
    skua_test_free(answer);
    if (s->row->where == TESTED_BY) scene_commit_elsewhere(s);
    return true;
}

// ---- Another server ----

static sem_t other_is_ready;

static void other_opened(skua_worker *worker, skua_status status, skua_file *file,
                         const skua_file_info *info, void *user)
{
    (void)worker;
    (void)info;
    if (status == SKUA_OK) ((scene *)user)->file = file;
    (void)sem_post(&other_is_ready);
}

static void other_starts(skua_worker *worker, void *user)
{
    scene_make_prepared(user, worker);
    skua_file_open(worker, ((scene *)user)->root, SKUA_SLICE("file"), other_opened, user);
}

// It runs until the process is stopped.
static bool scene_start_other(scene *s)
{
    skua_server *server = skua_server_new(&(skua_config){
        .listen = "127.0.0.1:0", .workers = 1, .on_worker_start = other_starts, .hook_user = s });
    if (!server || sem_init(&other_is_ready, 0, 0) || skua_start(server)) return false;
    return sem_wait(&other_is_ready) == 0 && s->prepared && s->file;
}

// ---- Playing ----

static void scene_use_local(skua_worker *worker, void *user)
{
    (void)skua_local(worker, ((scene *)user)->key);
}

static bool scene_play_started(scene *s)
{
    if (s->row->where == TWO_SERVERS && !scene_start_other(s)) return false;
    if (skua_start(s->server)) return false;
    (void)!skua_post(s->server, 0, scene_use_local, s);
    scene_at(s, RUNNING);
    if (s->row->where == STRANGER) scene_commit_elsewhere(s);
    else if (s->row->where != RUNNING) scene_ask(s);
    if (s->row->where == REPLACED) scene_replace(s);
    skua_stop(s->server, 10000000000);
    return skua_wait(s->server) == SKUA_OK;
}

static bool scene_play_outside(scene *s)
{
    scene_commit(s);
    return true;
}

static bool scene_play_server(scene *s)
{
    place where = s->row->where;
    if (where == OUTSIDE) return scene_play_outside(s);
    if (where == TURN || where == TURNED_BY) return scene_play_turned(s);
    if (where == TEST || where == TESTED_BY) return scene_play_tested(s);
    return scene_play_started(s);
}

bool scene_play(const misuse *row, const char *folder)
{
    scene s = { .row = row };
    bool played = scene_open(&s, folder) && scene_play_server(&s);
    skua_server_free(s.server);
    skua_root_close(s.root);
    return played && s.ran && s.right;
}

// ---- Functions that are given ----

bool server_is_made(const skua_config *config)
{
    skua_server *server = skua_server_new(config);
    skua_server_free(server);
    return server != NULL;
}

void nothing(void *user)
{
    (void)user;
}

void nothing_handled(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

void nothing_blocked(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

skua_status (*const misuse_format)(skua_request *request, int status, const char *type,
                                   const char *format, ...) = skua_respond_format;

static skua_status (*const misuse_of_list)(skua_request *request, int status, const char *type,
                                           const char *format,
                                           va_list arguments) = skua_respond_vformat;

skua_status misuse_vformat(skua_request *request, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    skua_status given = misuse_of_list(request, 200, NULL, format, arguments);
    va_end(arguments);
    return given;
}

void nothing_offloaded(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

int nothing_decided(skua_request *request, skua_slice path, const skua_file_info *info, void *user)
{
    (void)request;
    (void)path;
    (void)info;
    (void)user;
    return 0;
}

const skua_sizes *scene_sizes(size_t at, int more)
{
    static skua_sizes sizes;
    sizes = *skua_sizes_here();
    ((uint32_t *)&sizes)[at / sizeof(uint32_t)] += (uint32_t)more;
    return &sizes;
}

skua_site *scene_site(const scene *s)
{
    return skua_site_new(s->server, &(skua_site_desc){ .hosts = "site.test" });
}

skua_site *scene_put_site(const scene *s)
{
    skua_site *site = scene_site(s);
    return skua_site_put(site) ? NULL : site;
}

void nothing_told(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)request;
    (void)status;
    (void)sentence;
    (void)user;
}

void nothing_done(skua_worker *worker, void *user)
{
    (void)worker;
    (void)user;
}

static void *filter_nothing(skua_request *request, int status, void *user)
{
    (void)request, (void)status, (void)user;
    return NULL;
}

static skua_filtered filter_never(void *state, skua_slice *content, skua_flush flush, char *out,
                                  size_t room, size_t *octets)
{
    (void)state, (void)content, (void)flush, (void)out, (void)room, (void)octets;
    return SKUA_FILTER_FAILED;
}

const skua_assets no_assets = { .asset_octets = sizeof(skua_asset) };
static const skua_asset disordered[] = { { .path = "b" }, { .path = "a" } };
const skua_assets disordered_assets = { disordered, 2, sizeof(skua_asset) };

const skua_filter whole_filter = { .begin = filter_nothing, .run = filter_never };

void nothing_polled(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)fd;
    (void)events;
    nothing_done(worker, user);
}

void nothing_resumed(skua_request *request, void *user)
{
    nothing_handled(request, user);
}

void nothing_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how, (void)user;
}

void nothing_drained(skua_request *request, void *user)
{
    nothing_handled(request, user);
}

void nothing_read(skua_request *request, skua_content_event event, skua_slice octets, void *user)
{
    (void)event;
    (void)octets;
    nothing_handled(request, user);
}

void nothing_messaged(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)socket, (void)message, (void)text, (void)user;
}

void nothing_received(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                      void *user)
{
    (void)socket, (void)event, (void)octets, (void)text, (void)user;
}

void nothing_waited(skua_socket socket, skua_request *request, void *user)
{
    (void)socket, (void)request, (void)user;
}

void nothing_collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)status;
    (void)content;
    nothing_handled(request, user);
}

void nothing_spooled(skua_request *request, skua_status status, const skua_upload *upload,
                     void *user)
{
    (void)status;
    (void)upload;
    nothing_handled(request, user);
}

void nothing_parted(skua_request *request, skua_part_event event, const skua_part *part,
                    skua_slice octets, void *user)
{
    (void)event;
    (void)part;
    (void)octets;
    nothing_handled(request, user);
}

void nothing_formed(skua_request *request, skua_status status, const skua_form_part *parts,
                    size_t count, void *user)
{
    (void)status;
    (void)parts;
    (void)count;
    nothing_handled(request, user);
}

// Says that it gave octets.
skua_pulled nothing_pulled(skua_request *request, char *buffer, size_t room, size_t *octets,
                           void *user)
{
    (void)buffer;
    (void)room;
    (void)octets;
    nothing_handled(request, user);
    return SKUA_PULL_OCTETS;
}

// Says that it gave more than there was room for.
skua_pulled too_much_pulled(skua_request *request, char *buffer, size_t room, size_t *octets,
                            void *user)
{
    (void)buffer;
    *octets = room + 1;
    nothing_handled(request, user);
    return SKUA_PULL_OCTETS;
}

void nothing_opened(skua_worker *worker, skua_status status, skua_file *file,
                    const skua_file_info *info, void *user)
{
    (void)status;
    (void)file;
    (void)info;
    nothing_done(worker, user);
}

void nothing_loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)status;
    (void)octets;
    nothing_done(worker, user);
}

bool nothing_listed(const char *name, const skua_file_info *info, void *user)
{
    (void)name;
    (void)info;
    (void)user;
    return false;
}

void *nothing_made(skua_worker *worker, void *user)
{
    (void)worker;
    return user;
}
