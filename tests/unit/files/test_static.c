// SPDX-License-Identifier: MIT
//
// A directory served by a real server to a plain socket: what the cache does that nobody should
// notice, and the registration. Rules of the wire are the end-to-end tests'.

#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 17 };

typedef struct fixture {
    char folder[64];
    skua_server *server;
    uint16_t port;
    int fd; // kept alive
} fixture;

// ---- Files ----

static void write_file(const fixture *f, const char *name, const char *content, size_t len)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, len), (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static void remove_file(const fixture *f, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, name);
    assert_int_equal(unlink(path), 0);
}

static char large_octet(size_t i, unsigned number)
{
    return (char)('A' + (i * 7 + i / 251 + number) % 26);
}

static void write_large(const fixture *f, unsigned number, size_t len)
{
    char name[32];
    char *content = malloc(len);
    assert_non_null(content);
    for (size_t i = 0; i < len; i++)
        content[i] = large_octet(i, number);
    (void)snprintf(name, sizeof name, "large%u", number);
    write_file(f, name, content, len);
    free(content);
}

// ---- The server ----

static void folder_make(fixture *f)
{
    *f = (fixture){ .fd = -1 };
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/skua-static-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
}

static void start(fixture *f, const skua_directory_config *config)
{
    f->server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .workers = 1 });
    assert_non_null(f->server);
    assert_int_equal(skua_route_directory(f->server, "/files/", f->folder, config), SKUA_OK);
    assert_int_equal(skua_start(f->server), SKUA_OK);
    const char *colon = strrchr(skua_server_address(f->server, 0), ':');
    assert_non_null(colon);
    f->port = (uint16_t)strtoul(colon + 1, NULL, 10);
}

static void stop(fixture *f)
{
    if (f->fd >= 0) (void)close(f->fd);
    skua_stop(f->server, 0);
    skua_wait(f->server);
    skua_server_free(f->server);
    DIR *folder = opendir(f->folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] != '.') remove_file(f, entry->d_name);
    }
    (void)closedir(folder);
    assert_int_equal(rmdir(f->folder), 0);
}

// ---- The client ----

static void client_connect(fixture *f)
{
    if (f->fd >= 0) return;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(f->port) };
    struct timeval limit = { .tv_sec = 10 };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(f->fd >= 0);
    assert_int_equal(setsockopt(f->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(connect(f->fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
}

typedef struct reply {
    int status;
    slice head, content;
    char octets[ANSWER_MAX];
} reply;

static reply the_reply;

static size_t content_length(slice head)
{
    const char *field = strstr(head.ptr, "\r\nContent-Length: ");
    assert_non_null(field);
    return strtoul(field + 18, NULL, 10);
}

// Reads on until need octets are there.
static void receive(const fixture *f, size_t *len, size_t need)
{
    while (*len < need) {
        ssize_t n = recv(f->fd, the_reply.octets + *len, sizeof the_reply.octets - 1 - *len, 0);
        assert_true(n > 0);
        *len += (size_t)n;
        the_reply.octets[*len] = 0;
    }
}

// Sends a GET with more field lines, each ended by CRLF, and reads its answer to the_reply.
static int get(fixture *f, const char *path, const char *fields)
{
    char text[512];
    size_t len = 0;
    client_connect(f);
    int n =
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, fields);
    assert_int_equal(send(f->fd, text, (size_t)n, MSG_NOSIGNAL), n);
    the_reply.octets[0] = 0;
    char *end = NULL;
    while (!(end = strstr(the_reply.octets, "\r\n\r\n")))
        receive(f, &len, len + 1);
    size_t head = (size_t)(end - the_reply.octets) + 4;
    the_reply.status = (int)strtol(the_reply.octets + 9, NULL, 10);
    the_reply.head = slice_make(the_reply.octets, head);
    size_t length = the_reply.status == 304 ? 0 : content_length(the_reply.head);
    receive(f, &len, head + length);
    assert_int_equal(len, head + length);
    the_reply.content = slice_make(the_reply.octets + head, length);
    return the_reply.status;
}

static void expect_content(const char *text)
{
    assert_int_equal(the_reply.status, 200);
    assert_int_equal(the_reply.content.len, strlen(text));
    if (*text) assert_memory_equal(the_reply.content.ptr, text, the_reply.content.len);
}

static void expect_large(unsigned number, size_t first, size_t len)
{
    assert_int_equal(the_reply.content.len, len);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(the_reply.content.ptr[i], large_octet(first + i, number));
    }
}

// The field line in the last answer, for use in the next request; ended by CRLF.
static void copy_field(const char *name, const char *as, char *line, size_t room)
{
    char mark[64];
    (void)snprintf(mark, sizeof mark, "\r\n%s: ", name);
    const char *field = strstr(the_reply.octets, mark);
    assert_non_null(field);
    const char *value = field + strlen(mark);
    const char *end = strstr(value, "\r\n");
    assert_non_null(end);
    (void)snprintf(line, room, "%s: %.*s\r\n", as, (int)(end - value), value);
}

// ---- Serving ----

// More files than may be cached, large and small, over and over: each answer is right.
static void serve_many(const skua_directory_config *config)
{
    enum { FILES = 12, LARGE = 50000 };
    fixture f;
    folder_make(&f);
    char name[64], content[64];
    for (unsigned i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "small%u", i);
        (void)snprintf(content, sizeof content, "content of number %u", i);
        write_file(&f, name, content, strlen(content));
        write_large(&f, i, LARGE + i);
    }
    start(&f, config);
    for (unsigned turn = 0; turn < 10 * FILES; turn++) {
        unsigned i = turn * 5 % FILES;
        (void)snprintf(name, sizeof name, "/files/small%u", i);
        (void)snprintf(content, sizeof content, "content of number %u", i);
        assert_int_equal(get(&f, name, ""), 200);
        expect_content(content);
        (void)snprintf(name, sizeof name, "/files/large%u", i);
        assert_int_equal(get(&f, name, ""), 200);
        expect_large(i, 0, LARGE + i);
        assert_int_equal(get(&f, name, "Range: bytes=1000-1999\r\n"), 206);
        expect_large(i, 1000, 1000);
    }
    stop(&f);
}

static void test_static_with_a_large_cache(void **state)
{
    (void)state;
    serve_many(NULL);
}

static void test_static_with_a_tiny_cache(void **state)
{
    (void)state;
    serve_many(&(skua_directory_config){ .cache_entries_max = 2 });
    serve_many(&(skua_directory_config){ .cache_octets_max = 50 });
    serve_many(&(skua_directory_config){ .cache_octets_max = 1 }); // nothing fits
    serve_many(&(skua_directory_config){ .small_octets_max = 1 });
    serve_many(&(skua_directory_config){ .small_octets_max = 1 << 20 });
}

// The tag of a file of 20,000 octets, its first answer's and its second's.
static void tags_with(const skua_directory_config *config, char *tag, size_t room)
{
    fixture f;
    folder_make(&f);
    write_large(&f, 0, 20000);
    start(&f, config);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(get(&f, "/files/large0", ""), 200);
        const char *field = strstr(the_reply.head.ptr, "\r\nETag: ");
        assert_non_null(field);
        size_t len = strcspn(field + 2, "\r");
        assert_true(len < room);
        if (i == 0) (void)snprintf(tag, room, "%.*s", (int)len, field + 2);
        assert_memory_equal(tag, field + 2, len);
    }
    stop(&f);
}

// Neither what is cached nor how decides about the tag.
static void test_static_tag_depends_on_nothing_else(void **state)
{
    (void)state;
    static const skua_directory_config configs[] = {
        { .small_octets_max = 1 },
        { .small_octets_max = 1 << 20 },
        { .cache_octets_max = 1 },
        { .cache_entries_max = 2 },
    };
    char tag[100], other[100];
    tags_with(NULL, tag, sizeof tag);
    assert_non_null(strstr(tag, "ETag: \""));
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tags_with(&configs[i], other, sizeof other);
        assert_string_equal(tag, other);
    }
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

// The cache holds no more than an eighth of the descriptors there may be.
static void test_static_holds_few_descriptors(void **state)
{
    (void)state;
    enum { FILES = 60, LIMIT = 128 };
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = LIMIT;
    fixture f;
    folder_make(&f);
    for (unsigned i = 0; i < FILES; i++)
        write_large(&f, i, 40000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    start(&f, NULL);
    assert_int_equal(get(&f, "/files/none", ""), 404);
    unsigned idle = open_descriptors();
    for (unsigned i = 0; i < FILES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "/files/large%u", i);
        assert_int_equal(get(&f, name, ""), 200);
        expect_large(i, 0, 40000);
    }
    unsigned held = open_descriptors() - idle;
    assert_true(held > 0);
    assert_true(held <= LIMIT / 8 + 1); // and the one whose answer has only just left
    stop(&f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Seen at once through the watch, or, where the kernel has none, within a second.
static void expect_soon(fixture *f, const char *path, int status, const char *content)
{
    for (unsigned tries = 0; tries < 300; tries++) {
        get(f, path, "");
        bool same = the_reply.status == status;
        if (content) same = same && slice_equal(the_reply.content, slice_of(content));
        if (same) return;
        (void)usleep(10000);
    }
    fail_msg("%s does not change to %s", path, content ? content : "an error");
}

static void test_static_shows_changes(void **state)
{
    (void)state;
    fixture f;
    folder_make(&f);
    start(&f, NULL);
    assert_int_equal(get(&f, "/files/a", ""), 404);
    for (char c = 'a'; c < 'k'; c++) {
        char content[] = { c, 0 };
        write_file(&f, "a", content, 1);
        expect_soon(&f, "/files/a", 200, content);
    }
    remove_file(&f, "a");
    expect_soon(&f, "/files/a", 404, NULL);
    stop(&f);
}

// Weak while young, strong once the clock of the file system has moved on, without a change of the
// file.
static void test_static_tag_becomes_strong(void **state)
{
    (void)state;
    fixture f;
    folder_make(&f);
    static char content[32769]; // of a smaller one it is a hash
    write_file(&f, "a", content, sizeof content);
    start(&f, NULL);
    char line[160] = "";
    for (int tries = 0; tries < 20 && !strstr(line, "W/\"");
         tries++) { // it may grow old on the way
        write_file(&f, "a", content, sizeof content);
        assert_int_equal(get(&f, "/files/a", ""), 200);
        copy_field("ETag", "If-None-Match", line, sizeof line);
    }
    assert_non_null(strstr(line, "W/\""));
    assert_int_equal(get(&f, "/files/a", line), 304);
    (void)usleep(2300000);
    assert_int_equal(get(&f, "/files/a", line), 304); // the same, compared weakly
    assert_int_equal(get(&f, "/files/a", ""), 200);
    copy_field("ETag", "If-Match", line, sizeof line);
    assert_null(strstr(line, "W/"));
    assert_int_equal(get(&f, "/files/a", line), 200);
    stop(&f);
}

static void test_static_listing_waits_for_nobody(void **state)
{
    (void)state;
    fixture f;
    folder_make(&f);
    write_file(&f, "a&b", "x", 1);
    start(&f, &(skua_directory_config){ .list = true });
    for (unsigned i = 0; i < 50; i++) { // gone before it is there
        client_connect(&f);
        static const char request[] = "GET /files/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_int_equal(send(f.fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
        struct linger hard = { .l_onoff = 1 };
        assert_int_equal(setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
        (void)close(f.fd);
        f.fd = -1;
    }
    assert_int_equal(get(&f, "/files/", ""), 200);
    assert_non_null(strstr(the_reply.content.ptr, "href=\"./a%26b\""));
    assert_int_equal(get(&f, "/files", ""), 301);
    assert_non_null(strstr(the_reply.octets, "\r\nLocation: /files/\r\n"));
    assert_int_equal(get(&f, "/files/none/", ""), 404);
    assert_int_equal(get(&f, "/files/a&b/", ""), 404);
    stop(&f);
}

// ---- Registration ----

static void test_static_refuses_bad_registrations(void **state)
{
    (void)state;
    static const skua_media no_ending[] = { { "", "text/plain" } };
    static const skua_media bad_type[] = { { ".a", "text/plain\r\nA: b" } };
    static skua_media many_types[65];
    for (size_t i = 0; i < 65; i++)
        many_types[i] = (skua_media){ ".a", "text/plain" };
    static const struct {
        const char *pattern, *path;
        skua_directory_config config;
        skua_status status;
    } cases[] = {
        { "/a", "/tmp", { 0 }, SKUA_EINVAL },
        { "", "/tmp", { 0 }, SKUA_EINVAL },
        { "a/", "/tmp", { 0 }, SKUA_EINVAL },
        { "POST /", "/tmp", { 0 }, SKUA_EINVAL },
        { "/{name}/", "/tmp", { 0 }, SKUA_EINVAL },
        { "/", "/tmp", { .index = "" }, SKUA_EINVAL },
        { "/", "/tmp", { .index = "a/b" }, SKUA_EINVAL },
        { "/", "/tmp", { .index = ".." }, SKUA_EINVAL },
        { "/", "/tmp", { .cache_control = "a\r\nb" }, SKUA_EINVAL },
        { "/", "/tmp", { .list_script = "f()" }, SKUA_EINVAL },
        { "/", "/tmp", { .list_script_hash = "sha256-a" }, SKUA_EINVAL },
        { "/", "/tmp", { .list_script = "f()", .list_script_hash = "a' *" }, SKUA_EINVAL },
        { "/", "/tmp", { .etags = (skua_etags)(SKUA_ETAGS_CONTENT + 1) }, SKUA_EINVAL },
        { "/", "/tmp", { .types_count = 1 }, SKUA_EINVAL },
        { "/", "/tmp", { .types = no_ending, .types_count = 1 }, SKUA_EINVAL },
        { "/", "/tmp", { .types = bad_type, .types_count = 1 }, SKUA_EINVAL },
        { "/", "/tmp", { .types = many_types, .types_count = 65 }, SKUA_EINVAL },
        { "/", "/nowhere/at/all", { 0 }, SKUA_ENOENT },
        { "/", "/dev/null", { 0 }, SKUA_ENOENT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        skua_server *server = skua_server_new(NULL);
        assert_non_null(server);
        skua_status status =
            skua_route_directory(server, cases[i].pattern, cases[i].path, &cases[i].config);
        assert_int_equal(status, cases[i].status);
        assert_true(strlen(skua_server_error(server)) > 0);
        skua_server_free(server);
    }
}

static void test_static_is_freed_unstarted(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_non_null(server);
    assert_int_equal(skua_route_directory(server, "/", "/tmp", NULL), SKUA_OK);
    assert_int_equal(skua_route_directory(server, "GET /b/", "/tmp", NULL), SKUA_OK);
    assert_int_equal(skua_route_directory(server, "/", "/tmp", NULL), SKUA_EEXIST);
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static_with_a_large_cache),
        cmocka_unit_test(test_static_with_a_tiny_cache),
        cmocka_unit_test(test_static_holds_few_descriptors),
        cmocka_unit_test(test_static_shows_changes),
        cmocka_unit_test(test_static_tag_becomes_strong),
        cmocka_unit_test(test_static_tag_depends_on_nothing_else),
        cmocka_unit_test(test_static_listing_waits_for_nobody),
        cmocka_unit_test(test_static_refuses_bad_registrations),
        cmocka_unit_test(test_static_is_freed_unstarted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
