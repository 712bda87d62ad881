// SPDX-License-Identifier: MIT
//
// A database behind a blocking route: the handler runs on a thread of the pool, where it may wait.
// curl -d 'a note' http://127.0.0.1:8080/notes ; curl http://127.0.0.1:8080/notes/1
#include <skua/skua.h>

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static sqlite3 *db; // in serialised mode: any thread may use it

static void add_note(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)user;
    sqlite3_stmt *insert = NULL;
    char text[32];
    if (sqlite3_prepare_v2(db, "INSERT INTO notes(text) VALUES (?) RETURNING id", -1, &insert,
                           NULL) == SQLITE_OK &&
        sqlite3_bind_text(insert, 1, content.len ? content.ptr : "", (int)content.len,
                          SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_ROW) {
        int len = snprintf(text, sizeof text, "%lld\n", (long long)sqlite3_column_int64(insert, 0));
        skua_respond(request, 201, "text/plain", (skua_slice){ text, (size_t)len });
    } else {
        skua_refuse(request, 500, SKUA_SLICE("The database failed."));
    }
    (void)sqlite3_finalize(insert);
}

static void get_note(skua_request *request, void *user)
{
    (void)user;
    sqlite3_stmt *select = NULL;
    skua_slice id = skua_request_param(request, "id");
    int found = sqlite3_prepare_v2(db, "SELECT text FROM notes WHERE id = ?", -1, &select, NULL);
    if (found == SQLITE_OK)
        found = sqlite3_bind_text(select, 1, id.ptr, (int)id.len, SQLITE_STATIC);
    if (found == SQLITE_OK) found = sqlite3_step(select);
    if (found == SQLITE_ROW) {
        skua_slice text = { (const char *)sqlite3_column_text(select, 0),
                            (size_t)sqlite3_column_bytes(select, 0) };
        skua_respond(request, 200, "text/plain; charset=utf-8", text);
    } else {
        skua_respond_error(request, found == SQLITE_DONE ? 404 : 500);
    }
    (void)sqlite3_finalize(select);
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080",
               *file = argc > 2 ? argv[2] : ":memory:";
    if (sqlite3_open(file, &db) ||
        sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, text)", NULL,
                     NULL, NULL)) {
        (void)fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
        return 1;
    }
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = address, .blocking_threads = 4 });
    if (!server || skua_route_blocking(server, "POST /notes", add_note, NULL) ||
        skua_route_blocking(server, "GET /notes/{id}", get_note, NULL))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
    (void)sqlite3_close(db);
}
