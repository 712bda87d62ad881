// SPDX-License-Identifier: MIT
//
// Reading a file without waiting for the disk, as a program does it, over a socket: by threads of
// the server's where it has to be waited for.

#include "base/memory.h"
#include "exchange/prepared.h"
#include "io/file.h"
#include "server/worker.h"
#include "support/socket.h"

#include "skua/skua.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { FILE_OCTETS = 100000, ROOM = FILE_OCTETS + 1000 };

typedef struct loading {
    skua_root *root;
    skua_file *file;
    skua_request *request;
    uint64_t offset;
    size_t room, octets;
    skua_status status;
    char buffer[ROOM];
} loading;

static char octet(size_t at)
{
    return (char)('a' + at % 23);
}

// The baton orders what the test and the worker share. It goes to and fro with a request and its
// answer, of which the thread sanitizer knows nothing on io_uring.
static atomic_uint baton;

static void pass_baton(void)
{
    (void)atomic_fetch_add(&baton, 1);
}

static void loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    loading *l = user;
    assert_ptr_equal(worker, skua_request_worker(l->request));
    l->status = status;
    l->octets = octets;
    skua_file_unref(l->file);
    pass_baton();
    assert_int_equal(skua_respond(l->request, 200, NULL, SKUA_SLICE("done")), SKUA_OK);
}

static void opened(skua_worker *worker, skua_status status, skua_file *file,
                   const skua_file_info *info, void *user)
{
    (void)worker;
    loading *l = user;
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(info->size, FILE_OCTETS);
    l->file = file;
    skua_file_load(file, l->offset, l->buffer, l->room, loaded, l);
}

static void load(skua_request *request, void *user)
{
    loading *l = user;
    pass_baton();
    l->request = request;
    skua_file_open(skua_request_worker(request), l->root, SKUA_SLICE("file"), opened, l);
}

static void ask(const skua_server *server)
{
    static const char wire[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[1024];
    int fd = socket_connect_to(skua_server_address(server, 0));
    pass_baton();
    assert_int_equal(send(fd, wire, sizeof wire - 1, MSG_NOSIGNAL), sizeof wire - 1);
    size_t len = 0;
    for (ssize_t n; (n = recv(fd, answer + len, sizeof answer - 1 - len, 0)) > 0;)
        len += (size_t)n;
    answer[len] = 0;
    assert_non_null(strstr(answer, "200 OK"));
    pass_baton();
    close(fd);
}

static void check(loading *l, const skua_server *server, uint64_t offset, size_t room,
                  size_t octets)
{
    l->offset = offset;
    l->room = room;
    l->octets = SIZE_MAX;
    memset(l->buffer, 0, sizeof l->buffer);
    ask(server);
    assert_int_equal(l->status, SKUA_OK);
    assert_int_equal(l->octets, octets);
    for (size_t i = 0; i < octets; i++)
        assert_int_equal(l->buffer[i], octet(offset + i));
    for (size_t i = octets; i < ROOM; i++)
        assert_int_equal(l->buffer[i], 0);
}

static void make_folder(char *folder)
{
    char path[64], octets[FILE_OCTETS];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < FILE_OCTETS; i++)
        octets[i] = octet(i);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, octets, sizeof octets), sizeof octets);
    close(fd);
}

static void remove_folder(const char *folder)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void run(file_method method)
{
    static loading l;
    char folder[] = "/tmp/skua-load-XXXXXX";
    make_folder(folder);
    file_method_set(method);
    assert_int_equal(skua_root_open(folder, &l.root), SKUA_OK);
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .workers = 1, .disk_threads = 1 });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", load, &l), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    check(&l, server, 0, FILE_OCTETS, FILE_OCTETS);
    check(&l, server, 100, 20, 20);
    check(&l, server, 0, ROOM, FILE_OCTETS); // the file ends
    check(&l, server, FILE_OCTETS - 7, 100, 7);
    check(&l, server, FILE_OCTETS + 7, 100, 0);
    check(&l, server, 0, 0, 0);
    skua_stop(server, 1000000000);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
    skua_root_close(l.root);
    file_method_set(FILE_METHOD_UNKNOWN);
    remove_folder(folder);
}

static void test_file_loads(void **state)
{
    (void)state;
    run(FILE_METHOD_UNKNOWN);
}

// Every opening is another thread's then.
static void test_file_loads_where_nobody_can_tell(void **state)
{
    (void)state;
    run(FILE_METHOD_WALK);
}

enum { OPENINGS = 6, CONNECTIONS = 2 };

typedef struct opening {
    skua_root *root;
    skua_request *request;
    unsigned opened, refused;
} opening;

static void opened_or_refused(skua_worker *worker, skua_status status, skua_file *file,
                              const skua_file_info *info, void *user)
{
    (void)worker, (void)info;
    opening *o = user;
    if (status == SKUA_OK) skua_file_unref(file);
    else assert_int_equal(status, SKUA_ELIMIT);
    if (status == SKUA_OK) o->opened++;
    else o->refused++;
    if (o->opened + o->refused < OPENINGS) return;
    pass_baton();
    assert_int_equal(skua_respond(o->request, 200, NULL, SKUA_SLICE("done")), SKUA_OK);
}

static void open_many(skua_request *request, void *user)
{
    opening *o = user;
    pass_baton();
    o->request = request;
    for (int i = 0; i < OPENINGS; i++) {
        skua_file_open(skua_request_worker(request), o->root, SKUA_SLICE("file"), opened_or_refused,
                       o);
    }
}

// Those who go away and come again while the disk is slow do not fill the memory.
static void test_file_opens_no_more_than_there_can_be_connections(void **state)
{
    (void)state;
    opening o = { .opened = 0 };
    char folder[] = "/tmp/skua-load-XXXXXX";
    make_folder(folder);
    file_method_set(FILE_METHOD_WALK);
    assert_int_equal(skua_root_open(folder, &o.root), SKUA_OK);
    skua_server *server = skua_server_new(
        &(skua_config){ .listen = "127.0.0.1:0", .workers = 1, .connections_max = CONNECTIONS });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", open_many, &o), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    ask(server);
    assert_int_equal(o.opened, CONNECTIONS);
    assert_int_equal(o.refused, OPENINGS - CONNECTIONS);
    skua_stop(server, 1000000000);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
    skua_root_close(o.root);
    file_method_set(FILE_METHOD_UNKNOWN);
    remove_folder(folder);
}

// Beliefs about a file's number are forgotten with the file, also where another thread closes it.
static void drop_scratch(skua_request *request, void *user)
{
    bool *forgotten = user;
    pass_baton();
    skua_worker *w = skua_request_worker(request);
    skua_file *file = memory_zeroed(sizeof *file);
    assert_non_null(file);
    *file = (skua_file){ .worker = w, .refs = 1, .is_scratch = true };
    file->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    io_resident *resident = &w->loop.resident[(unsigned)file->fd % IO_RESIDENT_MAX];
    *resident = (io_resident){ .fd = file->fd, .to = 1, .until_ns = INT64_MAX };
    skua_file_unref(file);
    *forgotten = resident->until_ns == 0;
    pass_baton();
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("done")), SKUA_OK);
}

static void test_file_without_a_name_is_forgotten(void **state)
{
    (void)state;
    bool forgotten = false;
    skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .workers = 1 });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "/", drop_scratch, &forgotten), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    ask(server);
    assert_true(forgotten);
    skua_stop(server, 1000000000);
    assert_int_equal(skua_wait(server), SKUA_OK);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_loads),
        cmocka_unit_test(test_file_loads_where_nobody_can_tell),
        cmocka_unit_test(test_file_opens_no_more_than_there_can_be_connections),
        cmocka_unit_test(test_file_without_a_name_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
