// SPDX-License-Identifier: MIT
//
// PostgreSQL without threads: each worker has a few connections, whose sockets its own loop waits
// for. Start: postgres 127.0.0.1:8080 'host=/run/postgresql dbname=test'
// curl -d 'a note' http://127.0.0.1:8080/notes ; curl http://127.0.0.1:8080/notes/1
#include <skua/skua.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 4, WAITING_MAX = 1024 };

static const char *database;
static unsigned pool_key; // of each worker's pool

// A request and its statement with one parameter. It lies in the request's memory, which is held.
typedef struct job {
    struct job *next;
    skua_request *request;
    const char *sql;
    skua_slice parameter;
} job;

typedef struct link {
    struct pool *pool;
    PGconn *pg; // NULL: not connected, and not trying to be
    skua_poll poll;
    bool ready; // to be asked
    job *job;   // that it was asked for
} link;

typedef struct pool {
    skua_worker *worker;
    link links[LINKS];
    job *first, **last;
    unsigned waiting;
} pool;

static void link_next(link *l);

static void job_end(job *j, int status, skua_slice text)
{
    skua_respond(j->request, status, "text/plain; charset=utf-8", text);
    skua_request_drop(j->request); // the job is gone with it
}

static job *pool_take(pool *p)
{
    job *j = p->first;
    if (!j) return NULL;
    p->first = j->next;
    if (!p->first) p->last = &p->first;
    p->waiting--;
    return j;
}

static bool pool_has_links(const pool *p)
{
    for (int i = 0; i < LINKS; i++) {
        if (p->links[i].pg) return true;
    }
    return false;
}

// When the last connection has failed, the database is away: those who wait are told so, and the
// next request tries again.
static void link_fail(link *l)
{
    (void)fprintf(stderr, "postgres: %s", PQerrorMessage(l->pg));
    skua_poll_stop(l->poll); // before libpq closes the socket
    PQfinish(l->pg);
    l->pg = NULL;
    l->ready = false;
    job *j = l->job;
    l->job = NULL;
    if (!j && !pool_has_links(l->pool)) j = pool_take(l->pool);
    while (j) {
        job_end(j, 503, SKUA_SLICE("the database is away\n"));
        j = pool_has_links(l->pool) ? NULL : pool_take(l->pool);
    }
}

// ---- Asking ----

static void link_answered(link *l, const PGresult *result)
{
    job *j = l->job;
    l->job = NULL;
    ExecStatusType how = PQresultStatus(result);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool is_number = !state || strncmp(state, "22", 2) != 0; // 22: data that are not of the type
    if (how == PGRES_TUPLES_OK && PQntuples(result) == 1) {
        const char *text = PQgetvalue(result, 0, 0);
        job_end(j, 200, (skua_slice){ text, (size_t)PQgetlength(result, 0, 0) });
    } else if (how == PGRES_TUPLES_OK || !is_number) {
        job_end(j, 404, SKUA_SLICE("no such note\n"));
    } else {
        (void)fprintf(stderr, "postgres: %s", PQresultErrorMessage(result));
        job_end(j, 500, SKUA_SLICE("the database failed\n"));
    }
}

static void on_ready(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    link *l = user;
    int left = events & SKUA_POLL_WRITABLE ? PQflush(l->pg) : 0;
    if (left < 0 || !PQconsumeInput(l->pg)) {
        link_fail(l);
        return;
    }
    if (events & SKUA_POLL_WRITABLE && !left) skua_poll_change(l->poll, SKUA_POLL_READABLE);
    while (!l->ready && !PQisBusy(l->pg)) {
        PGresult *result = PQgetResult(l->pg);
        if (result && l->job) link_answered(l, result);
        l->ready = !result; // the statement is over
        PQclear(result);
    }
    link_next(l);
}

// Asks for what waits, if anything does. The parameter goes as it is, with its length.
static void link_next(link *l)
{
    job *j = l->ready ? pool_take(l->pool) : NULL;
    if (!j) return;
    l->job = j;
    l->ready = false;
    const char *value = j->parameter.len ? j->parameter.ptr : "";
    const int length = (int)j->parameter.len, binary = 1;
    int left = PQsendQueryParams(l->pg, j->sql, 1, NULL, &value, &length, &binary, 0)
                   ? PQflush(l->pg)
                   : -1;
    if (left < 0) link_fail(l);
    else if (left) skua_poll_change(l->poll, SKUA_POLL_READABLE | SKUA_POLL_WRITABLE);
}

// ---- Connecting ----

static void on_connecting(skua_worker *worker, int fd, unsigned events, void *user);

// While it connects, libpq may close its socket and try another one. So each wait is for once.
static void link_wait(link *l, unsigned events, skua_poll_fn *fn)
{
    if (skua_poll_start(l->pool->worker, PQsocket(l->pg), events, fn, l, &l->poll)) link_fail(l);
}

static void on_connecting(skua_worker *worker, int fd, unsigned events, void *user)
{
    (void)worker;
    (void)fd;
    (void)events;
    link *l = user;
    PostgresPollingStatusType next = PQconnectPoll(l->pg);
    if (next == PGRES_POLLING_READING) {
        link_wait(l, SKUA_POLL_READABLE | SKUA_POLL_ONCE, on_connecting);
    } else if (next == PGRES_POLLING_WRITING) {
        link_wait(l, SKUA_POLL_WRITABLE | SKUA_POLL_ONCE, on_connecting);
    } else if (next == PGRES_POLLING_OK && PQsetnonblocking(l->pg, 1) == 0) {
        l->ready = true;
        link_wait(l, SKUA_POLL_READABLE, on_ready);
        link_next(l);
    } else {
        link_fail(l);
    }
}

// The server ends statements that take too long, so that nobody waits for ever.
static void link_connect(link *l)
{
    static const char *const names[] = { "dbname", "options", "tcp_user_timeout", NULL };
    const char *const values[] = { database, "-c statement_timeout=5000", "5000", NULL };
    l->pg = PQconnectStartParams(names, values, 1);
    if (PQstatus(l->pg) == CONNECTION_BAD) link_fail(l);
    else link_wait(l, SKUA_POLL_WRITABLE | SKUA_POLL_ONCE, on_connecting);
}

// ---- The pool ----

static void pool_ask(skua_request *request, const char *sql, skua_slice parameter)
{
    pool *p = skua_local(skua_request_worker(request), pool_key);
    job *j = skua_request_alloc(request, sizeof *j);
    if (!p || !j || p->waiting == WAITING_MAX) {
        skua_respond(request, 503, NULL, SKUA_SLICE(""));
        return;
    }
    *j = (job){ .request = request, .sql = sql, .parameter = parameter };
    skua_request_hold(request);
    *p->last = j;
    p->last = &j->next;
    p->waiting++;
    for (int i = 0; i < LINKS && p->first; i++) {
        if (p->links[i].pg) link_next(&p->links[i]);
        else link_connect(&p->links[i]);
    }
}

static void *pool_make(skua_worker *worker, void *user)
{
    (void)user;
    pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->worker = worker;
    p->last = &p->first;
    for (int i = 0; i < LINKS; i++)
        p->links[i].pool = p;
    return p;
}

static void pool_drop(skua_worker *worker, void *object, void *user)
{
    (void)worker;
    (void)user;
    pool *p = object;
    for (int i = 0; i < LINKS; i++) {
        skua_poll_stop(p->links[i].poll);
        PQfinish(p->links[i].pg);
    }
    free(p);
}

// ---- Routes ----

static void get_note(skua_request *request, void *user)
{
    (void)user;
    pool_ask(request, "SELECT text FROM notes WHERE id = $1::text::bigint",
             skua_request_param(request, "id"));
}

static void added(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK)
        pool_ask(request, "INSERT INTO notes(text) VALUES ($1::text) RETURNING id", content);
}

static void add_note(skua_request *request, void *user)
{
    if (skua_content_collect(request, 65536, added, user)) skua_request_abort(request);
}

// Before the server starts there is nobody whom waiting would harm.
static bool table_is_there(void)
{
    PGconn *pg = PQconnectdb(database);
    PGresult *made = PQexec(pg, "SET client_min_messages = warning; CREATE TABLE IF NOT EXISTS "
                                "notes(id bigserial PRIMARY KEY, text text NOT NULL)");
    bool good = PQresultStatus(made) == PGRES_COMMAND_OK;
    if (!good) (void)fputs(PQerrorMessage(pg), stderr);
    PQclear(made);
    PQfinish(pg);
    return good;
}

int main(int argc, char **argv)
{
    skua_server *server = skua_server_new(
        &(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .workers = 2 });
    database = argc > 2 ? argv[2] : "";
    if (!server || !table_is_there() ||
        skua_local_add(server, &(skua_local_desc){ .make = pool_make, .drop = pool_drop },
                       &pool_key) ||
        skua_route(server, "POST /notes", add_note, NULL) ||
        skua_route(server, "GET /notes/{id}", get_note, NULL))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
