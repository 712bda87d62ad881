// SPDX-License-Identifier: MIT
//
// An answer has one Content-Type: of what was added as a field and what the answer states, the later
// counts.

#include <skua/skua.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct type_case {
    const char *first, *second; // added by the handler, NULL: not
    const char *stated;         // by the answer, NULL: none
    const char *behind;         // added by middleware to the head, NULL: not
    bool prepared;
    const char *sent; // NULL: no Content-Type
} type_case;

static const type_case cases[] = {
    { NULL, NULL, NULL, NULL, false, NULL },    { "a/a", NULL, NULL, NULL, false, "a/a" },
    { "a/a", "b/b", NULL, NULL, false, "b/b" }, { "a/a", "b/b", "c/c", NULL, false, "c/c" },
    { "a/a", NULL, "c/c", NULL, true, "c/c" },  { "a/a", NULL, NULL, NULL, true, "a/a" },
    { NULL, NULL, "c/c", "d/d", false, "d/d" }, { NULL, NULL, "c/c", "d/d", true, "d/d" },
    { "a/a", NULL, NULL, "d/d", true, "d/d" },
};

static const type_case *played;

static void add_type(skua_request *request, const char *type)
{
    if (!type) return;
    skua_slice value = { type, strlen(type) };
    assert_int_equal(skua_field_add(request, "content-TYPE", value), SKUA_OK);
}

static void on_request(skua_request *request, void *user)
{
    (void)user;
    add_type(request, played->first);
    add_type(request, played->second);
    if (!played->prepared) {
        assert_int_equal(skua_respond(request, 200, played->stated, SKUA_SLICE("x")), SKUA_OK);
        return;
    }
    skua_field type = { SKUA_SLICE("Content-Type"),
                        { played->stated, played->stated ? strlen(played->stated) : 0 } };
    skua_answer *answer;
    const skua_answer_desc desc = { .status = 200,
                                    .fields = &type,
                                    .fields_count = played->stated ? 1 : 0,
                                    .content = SKUA_SLICE("x") };
    assert_int_equal(skua_answer_new(skua_request_worker(request), &desc, &answer), SKUA_OK);
    assert_int_equal(skua_respond_answer(request, answer), SKUA_OK);
    skua_answer_unref(answer);
}

static void on_head(skua_request *request, int status, void *user)
{
    (void)status, (void)user;
    add_type(request, played->behind);
}

static void check(skua_slice answer)
{
    const char *type = strcasestr(answer.ptr, "content-type: ");
    if (!played->sent) {
        assert_null(type);
        return;
    }
    assert_non_null(type);
    assert_memory_equal(type + 14, played->sent, strlen(played->sent));
    assert_null(strcasestr(type + 14, "content-type: "));
    assert_non_null(strstr(answer.ptr, "Content-Length: 1\r\n"));
    assert_memory_equal(answer.ptr + answer.len - 5, "\r\n\r\nx", 5);
}

static void test_respond_later_type_replaces(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "/", on_request, NULL), SKUA_OK);
    assert_int_equal(skua_use(server, "/", &(skua_middleware){ .head = on_head }), SKUA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        skua_slice answer;
        played = &cases[i];
        assert_int_equal(
            skua_test_request(server, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &answer),
            SKUA_OK);
        check(answer);
        skua_test_free(answer);
    }
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_respond_later_type_replaces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
