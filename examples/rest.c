// SPDX-License-Identifier: MIT
//
// A small REST interface with JSON (by the library jansson). It has one worker, so nothing needs a lock:
// curl -d '{"title":"write"}' 127.0.0.1:8080/tasks ; curl -X DELETE 127.0.0.1:8080/tasks/1
#include <skua/skua.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *tasks; // an object: id to title
static unsigned last_id;

static void give(skua_request *request, int status, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    if (text) skua_respond_json(request, status, (skua_slice){ text, strlen(text) });
    else skua_respond_error(request, 503);
    free(text);
    json_decref(value);
}

static const char *id_of(skua_request *request)
{
    static char text[16];
    skua_slice id = skua_request_param(request, "id");
    return snprintf(text, 16, "%.*s", (int)(id.len < 15 ? id.len : 15), id.ptr) < 0 ? "" : text;
}

static void on_list(skua_request *request, void *user)
{
    (void)user;
    give(request, 200, json_incref(tasks));
}

static void on_get(skua_request *request, void *user)
{
    (void)user;
    json_t *title = json_object_get(tasks, id_of(request));
    give(request, title ? 200 : 404, json_pack("{s:O?}", "title", title));
}

static void added(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status) return; // answered, or gone
    json_t *task = json_loadb(content.ptr, content.len, 0, NULL);
    json_t *title = json_object_get(task, "title");
    char id[16];
    (void)snprintf(id, sizeof id, "%u", last_id + 1);
    bool good = json_is_string(title) && json_object_set(tasks, id, title) == 0;
    if (good) last_id++;
    give(request, good ? 201 : 400, json_pack("{s:s, s:O?}", "id", id, "title", title));
    json_decref(task);
}

static void on_add(skua_request *request, void *user)
{
    if (skua_content_collect(request, 4096, added, user)) skua_request_abort(request);
}

static void on_delete(skua_request *request, void *user)
{
    (void)user;
    give(request, json_object_del(tasks, id_of(request)) ? 404 : 204, json_object());
}

int main(int argc, char **argv)
{
    skua_config config = { .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .workers = 1 };
    skua_server *server = skua_server_new(&config);
    if (!server || !(tasks = json_object()) || skua_route(server, "GET /tasks", on_list, NULL) ||
        skua_route(server, "POST /tasks", on_add, NULL) ||
        skua_route(server, "GET /tasks/{id}", on_get, NULL) ||
        skua_route(server, "DELETE /tasks/{id}", on_delete, NULL))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
    json_decref(tasks);
}
