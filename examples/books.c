// SPDX-License-Identifier: MIT
//
// A REST interface over SQLite: JSON errors, a token, pages, entity tags. SQLite reads and writes the JSON.
//     H='Authorization: Bearer open-sesame'
//     curl -H "$H" -d '{"title":"Emma"}' http://127.0.0.1:8080/books
//     curl -H "$H" 'http://127.0.0.1:8080/books?limit=10&after=0'
#include <skua/middleware/authentication.h>
#include <skua/skua.h>

#include <sqlite3.h>
#include <stdio.h>

enum { PAGE_MAX = 100, BOOK_OCTETS_MAX = 4096 };

static sqlite3 *db; // in serialised mode: any thread may use it

static void as_json(skua_request *request, int status, skua_slice sentence, void *user)
{
    (void)user;
    skua_respond_format(request, status, "application/json", "{\"error\":\"%" SKUA_FMT "\"}\n",
                        SKUA_ARG(sentence));
}

static bool is_known(skua_slice name, skua_slice token, void *arg)
{
    (void)name;
    return skua_words_equal(token, skua_slice_of(arg));
}

typedef struct query {
    sqlite3_stmt *statement;
    int status; // of SQLite
} query;

static query begin(const char *sql)
{
    query q = { NULL, SQLITE_OK };
    q.status = sqlite3_prepare_v2(db, sql, -1, &q.statement, NULL);
    return q;
}

static void give_number(query *q, int place, int64_t value)
{
    if (q->status == SQLITE_OK) q->status = sqlite3_bind_int64(q->statement, place, value);
}

static void give_text(query *q, int place, skua_slice text)
{
    if (q->status != SQLITE_OK) return;
    q->status = sqlite3_bind_text(q->statement, place, text.len ? text.ptr : "", (int)text.len,
                                  SQLITE_STATIC);
}

// Runs a query that gives one row of JSON, and responds with it; without a row it is 404.
static void respond_with(skua_request *request, int status, query q)
{
    if (q.status == SQLITE_OK) q.status = sqlite3_step(q.statement);
    if (q.status == SQLITE_ROW) {
        skua_slice json = { (const char *)sqlite3_column_text(q.statement, 0),
                            (size_t)sqlite3_column_bytes(q.statement, 0) };
        if (status == 200) skua_respond_tagged(request, "application/json", json);
        else skua_respond_json(request, status, json);
    } else if (q.status == SQLITE_DONE)
        skua_refuse(request, 404, SKUA_SLICE("There is no such book."));
    else if (q.status == SQLITE_CONSTRAINT)
        skua_refuse(request, 422, SKUA_SLICE("A book has a title."));
    else skua_refuse(request, 500, SKUA_SLICE("The database failed."));
    (void)sqlite3_finalize(q.statement);
}

#define BOOK "json_object('id', id, 'title', title)"

static void list_books(skua_request *request, void *user)
{
    int64_t after, limit;
    (void)user;
    if (!skua_request_query_i64(request, "after", 0, 0, INT64_MAX, &after) ||
        !skua_request_query_i64(request, "limit", 20, 1, PAGE_MAX, &limit))
        return;
    query q =
        begin("SELECT json_object('books', json_group_array(json(book)), 'next', max(id)) FROM "
              "(SELECT id, " BOOK " AS book FROM books WHERE id > ? ORDER BY id LIMIT ?)");
    give_number(&q, 1, after);
    give_number(&q, 2, limit);
    respond_with(request, 200, q);
}

static void show_book(skua_request *request, void *user)
{
    int64_t id;
    (void)user;
    if (!skua_request_param_i64(request, "id", 1, INT64_MAX, &id)) return;
    query q = begin("SELECT " BOOK " FROM books WHERE id = ?");
    give_number(&q, 1, id);
    respond_with(request, 200, q);
}

// NULL where the content is no JSON or has no title
#define TITLE "iif(json_valid(?1), json_extract(?1, '$.title'), NULL)"

static void add_book(skua_request *request, void *user)
{
    (void)user;
    query q = begin("INSERT INTO books(title) VALUES (" TITLE ") RETURNING " BOOK);
    give_text(&q, 1, skua_request_content(request));
    respond_with(request, 201, q);
}

static void remove_book(skua_request *request, void *user)
{
    int64_t id;
    (void)user;
    if (!skua_request_param_i64(request, "id", 1, INT64_MAX, &id)) return;
    query q = begin("DELETE FROM books WHERE id = ? RETURNING " BOOK);
    give_number(&q, 1, id);
    respond_with(request, 202, q);
}

int main(int argc, char **argv)
{
    static char token[] = "open-sesame";
    static const skua_authentication guard = { .realm = "books", .check = is_known, .arg = token };
    const skua_middleware door = skua_bearer_middleware(&guard);
    const skua_route_desc routes[] = {
        { .pattern = "GET /books", .blocking = list_books },
        { .pattern = "GET /books/{id}", .blocking = show_book },
        { .pattern = "POST /books", .blocking = add_book, .content_octets_max = BOOK_OCTETS_MAX },
        { .pattern = "DELETE /books/{id}", .blocking = remove_book },
    };
    if (sqlite3_open(argc > 2 ? argv[2] : ":memory:", &db) ||
        sqlite3_exec(
            db, "CREATE TABLE IF NOT EXISTS books(id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
            NULL, NULL, NULL)) {
        (void)fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
        return 1;
    }
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    if (!server || skua_on_error(server, "/", as_json, NULL) || skua_use(server, "/", &door))
        return 1;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (skua_route_add(server, &routes[i])) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
    (void)sqlite3_close(db);
}
