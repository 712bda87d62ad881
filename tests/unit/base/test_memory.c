// SPDX-License-Identifier: MIT
//
// The allocator and the panic hook: everything a server allocates comes from the one it was given
// and goes back to it.

#include "base/memory.h"

#include <skua/skua.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// Counts, and marks what it gives, so that memory of anybody else's is noticed.
typedef struct counting {
    _Atomic(long) calls, in_use;
    _Atomic(bool) foreign;
} counting;

enum { MARK_OCTETS = 16 };

static const uint64_t mark = UINT64_C(0x736b75616d656d21);

static void *counting_alloc(size_t octets, void *user)
{
    counting *c = user;
    char *made = malloc(octets + MARK_OCTETS);
    if (!made) return NULL;
    memcpy(made, &mark, sizeof mark);
    c->calls++;
    c->in_use++;
    return made + MARK_OCTETS;
}

static char *counting_check(counting *c, void *memory)
{
    char *start = (char *)memory - MARK_OCTETS;
    if (memcmp(start, &mark, sizeof mark) != 0) c->foreign = true;
    return start;
}

static void *counting_resize(void *memory, size_t octets, void *user)
{
    counting *c = user;
    char *grown = realloc(counting_check(c, memory), octets + MARK_OCTETS);
    c->calls++;
    return grown ? grown + MARK_OCTETS : NULL;
}

static void counting_free(void *memory, void *user)
{
    counting *c = user;
    free(counting_check(c, memory));
    c->in_use--;
}

static skua_allocator counting_allocator(counting *c)
{
    return (skua_allocator){
        .alloc = counting_alloc, .resize = counting_resize, .free = counting_free, .user = c
    };
}

static void on_collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK)
        assert_int_equal(skua_respond(request, 200, "text/plain", content), SKUA_OK);
}

static void on_echo(skua_request *request, void *user)
{
    assert_int_equal(skua_content_collect(request, 0, on_collected, user), SKUA_OK);
}

static void a_server_lives_in_the_memory_it_is_given(void **state)
{
    (void)state;
    counting c = { .calls = 0 };
    skua_allocator allocator = counting_allocator(&c);
    char folder[] = "/tmp/skua-test-XXXXXX", request[70000];
    assert_non_null(mkdtemp(folder));
    skua_root *root; // from before the server until after it
    assert_int_equal(skua_root_open(folder, &root), SKUA_OK);
    skua_server *server = skua_server_new(&(skua_config){ .allocator = &allocator, .hosts = "a" });
    assert_non_null(server);
    allocator = (skua_allocator){ .user = NULL }; // it was copied
    assert_int_equal(skua_route(server, "POST /echo", on_echo, NULL), SKUA_OK);
    assert_int_equal(
        skua_route_directory(server, "/files/", folder, &(skua_directory_config){ .list = true }),
        SKUA_OK);
    int len = snprintf(request, sizeof request,
                       "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
    memset(request + len, 'x', 50000);
    skua_slice answer, listing;
    assert_int_equal(
        skua_test_request(server, (skua_slice){ request, (size_t)len + 50000 }, &answer), SKUA_OK);
    assert_true(answer.len > 50000);
    assert_int_equal(
        skua_test_request(server, SKUA_SLICE("GET /files/ HTTP/1.1\r\nHost: a\r\n\r\n"), &listing),
        SKUA_OK);
    assert_true(strncmp(listing.ptr, "HTTP/1.1 200 ", 13) == 0);
    assert_true(c.calls > 10);
    assert_true(c.in_use > 5);
    skua_server_free(server);
    assert_int_equal(c.in_use, 0);
    assert_false(c.foreign);
    skua_test_free(answer);
    skua_test_free(listing);
    skua_root_close(root);
    rmdir(folder);
}

static skua_status start_of(skua_server *server)
{
    skua_slice answer;
    skua_status status = skua_test_request(server, SKUA_SLICE(""), &answer);
    if (status == SKUA_OK) skua_test_free(answer);
    return status;
}

static void servers_alive_together_share_one(void **state)
{
    (void)state;
    counting one = { .calls = 0 }, two = { .calls = 0 };
    skua_allocator first = counting_allocator(&one), second = counting_allocator(&two);
    skua_server *a = skua_server_new(&(skua_config){ .allocator = &first });
    skua_server *b = skua_server_new(&(skua_config){ .allocator = &first });
    skua_server *wrong = skua_server_new(&(skua_config){ .allocator = &second });
    skua_server *none = skua_server_new(NULL);
    assert_int_equal(start_of(a), SKUA_OK);
    assert_int_equal(start_of(b), SKUA_OK);
    assert_int_equal(start_of(wrong), SKUA_EINVAL);
    assert_non_null(strstr(skua_server_error(wrong), "allocator"));
    assert_int_equal(start_of(none), SKUA_EINVAL);
    skua_server_free(a);
    skua_server_free(wrong);
    skua_server_free(b);
    assert_true(one.in_use > 0);
    skua_server_free(none);
    assert_int_equal(one.in_use, 0);
    assert_int_equal(two.calls, 0);
    skua_server *later = skua_server_new(&(skua_config){ .allocator = &second }); // now it may
    assert_int_equal(start_of(later), SKUA_OK);
    skua_server_free(later);
    assert_true(two.calls > 0);
    assert_int_equal(two.in_use, 0);
}

static void *no_alloc(size_t octets, void *user)
{
    (void)octets;
    (void)user;
    return NULL;
}

static void one_without_memory_makes_no_server(void **state)
{
    (void)state;
    skua_allocator empty = { .alloc = no_alloc };
    assert_null(skua_server_new(&(skua_config){ .allocator = &empty }));
    skua_server *server = skua_server_new(NULL); // and leaves nothing behind
    assert_int_equal(start_of(server), SKUA_OK);
    skua_server_free(server);
}

static void arrays_do_not_overflow(void **state)
{
    (void)state;
    assert_null(memory_array(SIZE_MAX / 2, 3));
    char *array = memory_array(3, 5);
    for (int i = 0; i < 15; i++)
        assert_int_equal(array[i], 0);
    memory_free(array);
    memory_free(NULL);
}

// ---- Panic ----

static int told_fd;

static void panic(const char *sentence)
{
    assert_true(write(told_fd, sentence, strlen(sentence)) > 0);
}

static void the_panic_hook_is_told_before_the_end(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        told_fd = ends[1];
        skua_server *server = skua_server_new(&(skua_config){ .panic = panic });
        if (skua_route(server, "/", NULL, NULL)) _exit(2); // a broken contract
        _exit(3);
    }
    close(ends[1]);
    char sentence[512] = "";
    assert_true(read(ends[0], sentence, sizeof sentence - 1) > 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_string_equal(sentence, "skua_route: handler must not be NULL");
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_lives_in_the_memory_it_is_given),
        cmocka_unit_test(servers_alive_together_share_one),
        cmocka_unit_test(one_without_memory_makes_no_server),
        cmocka_unit_test(arrays_do_not_overflow),
        cmocka_unit_test(the_panic_hook_is_told_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
