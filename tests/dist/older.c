// SPDX-License-Identifier: MIT
//
// A program that fills each kind of struct, and prints what came of it. test_sizes.py compiles it with the header as it
// is, and runs it with a library whose structs have more members.

#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

static void respond(skua_request *request, void *user)
{
    (void)user;
    const skua_cookie cookie = {
        .name = "c", .value = SKUA_SLICE("1"), .path = "/", .http_only = true
    };
    skua_cookie_set(request, &cookie);
    skua_respond_text(request, 200, skua_request_route(request));
}

static void pass(skua_request *request, void *user)
{
    (void)user;
    skua_field_add(request, "X-Passed", SKUA_SLICE("yes"));
    skua_next(request);
}

static void send_events(skua_request *request, void *user)
{
    (void)user;
    if (skua_events_open(request, NULL, NULL)) return;
    const skua_event event = { .data = SKUA_SLICE("news"), .name = SKUA_SLICE("n"), .retry_ms = 5 };
    if (skua_event_send(request, &event)) skua_request_abort(request);
    skua_finish(request);
}

static void take_form(skua_request *request, skua_status status, const skua_form_part *parts,
                      size_t count, void *user)
{
    (void)user;
    char text[256] = "";
    size_t len = 0;
    for (size_t i = 0; i < count && !status; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s=%.*s;",
                                (int)parts[i].part.name.len, parts[i].part.name.ptr,
                                (int)parts[i].upload.octets.len, parts[i].upload.octets.ptr);
    skua_respond_text(request, 200, text);
}

static void read_form(skua_request *request, void *user)
{
    (void)user;
    if (skua_multipart_collect(request, 0, 0, take_form, NULL)) skua_respond_error(request, 400);
}

static void respond_prepared(skua_request *request, void *user)
{
    (void)user;
    skua_prepared *prepared;
    const skua_prepared_desc desc = { .status = 201, .content = SKUA_SLICE("made") };
    if (skua_prepared_new(skua_request_worker(request), &desc, &prepared)) return;
    skua_respond_prepared(request, prepared);
    skua_prepared_unref(prepared);
}

static void *begin(skua_request *request, int status, void *user)
{
    (void)request;
    (void)status;
    return user;
}

static skua_filtered upper(void *state, skua_slice *content, skua_flush flush, char *out,
                           size_t room, size_t *octets)
{
    (void)state;
    (void)flush;
    for (; content->len && *octets < room; content->ptr++, content->len--)
        out[(*octets)++] = (char)(*content->ptr - ('a' - 'A'));
    return content->len ? SKUA_FILTER_MORE : SKUA_FILTER_ALL;
}

static void respond_filtered(skua_request *request, void *user)
{
    static int state;
    const skua_filter filter = { .begin = begin, .run = upper, .user = &state };
    (void)user;
    skua_filter_add(request, &filter);
    skua_respond_text(request, 200, "small");
}

static void begun(skua_worker *worker, void *user)
{
    printf("worker %u began, %s\n", skua_worker_index(worker), (const char *)user);
}

static bool list(const char *name, const skua_file_info *info, void *user)
{
    (void)user;
    if (strcmp(name, "page.md") == 0) printf("%s: %u octets\n", name, (unsigned)info->size);
    return true;
}

static void ask(skua_server *server, const char *octets)
{
    skua_slice received;
    skua_slice request = { octets, strlen(octets) };
    if (skua_test_request(server, request, &received)) {
        printf("nothing\n");
        return;
    }
    for (const char *at = received.ptr; *at;) {
        size_t len = strcspn(at, "\n");
        bool is_time = strncmp(at, "Date:", 5) == 0 || strncmp(at, "Last-Modified:", 14) == 0;
        if (!is_time) printf("%.*s\n", (int)(len && at[len - 1] == '\r' ? len - 1 : len), at);
        at += len + (at[len] != 0);
    }
    printf("\n--\n");
    skua_test_free(received);
}

static bool add(skua_server *server, const char *folder)
{
    static char said[] = "hook";
    const skua_middleware around[] = { { .before = pass }, { .user = said } };
    const skua_media types[] = { { .ending = ".none", .type = "a/b" },
                                 { .ending = ".md", .type = "text/x-first" } };
    const skua_directory_config how = { .types = types, .types_count = 2, .etags = SKUA_ETAGS_OFF };
    const skua_route_desc routes[] = {
        { .pattern = "GET /one", .handler = respond, .name = "first" },
        { .pattern = "GET /two", .handler = respond, .name = "second" },
        { .pattern = "GET /files/", .directory = folder, .directory_config = &how }
    };
    const skua_group group = { .prefix = "/api",
                               .middleware = around,
                               .middleware_count = 2,
                               .routes = routes,
                               .route_count = 3 };
    const skua_site_desc site = { .hosts = "site.test" };
    const skua_route_desc of_site = { .pattern = "/", .handler = respond, .name = "the site's" };
    const skua_websocket_desc sockets = { .deflate_octets_min = 5 };
    const skua_compression compression = { .octets_min = 100000 };
    skua_site *other = skua_site_new(server, &site);
    skua_status compressed = skua_use_compression(server, "/", &compression);
    return other && !skua_route_group(server, &group) && !skua_site_route_add(other, &of_site) &&
           !skua_site_put(other) && !skua_websocket(server, "GET /socket", &sockets) &&
           (!compressed || compressed == SKUA_EUNSUPPORTED) &&
           !skua_route(server, "GET /events", send_events, NULL) &&
           !skua_route(server, "POST /form", read_form, NULL) &&
           !skua_route(server, "GET /prepared", respond_prepared, NULL) &&
           !skua_route(server, "GET /filtered", respond_filtered, NULL);
}

int main(int count, char **words)
{
    static char said[] = "said so";
    const skua_config config = { .hosts = "a",
                                 .target_octets_max = 64,
                                 .http2 = { .off = true },
                                 .on_worker_start = begun,
                                 .hook_user = said,
                                 .trusted = "unix",
                                 .stats = true };
    skua_server *server = skua_server_new(&config);
    if (count != 2 || !server || !add(server, words[1])) return 1;
    ask(server, "GET /api/one HTTP/1.1\r\nHost: a\r\n\r\nGET /api/two HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server, "GET /api/files/page.md HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server, "GET /x HTTP/1.1\r\nHost: site.test\r\n\r\n");
    ask(server, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server, "GET /prepared HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server, "GET /filtered HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server,
        "GET /0123456789012345678901234567890123456789012345678901234567890123456789 HTTP/1.1\r\nHost: a\r\n\r\n");
    ask(server,
        "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 114\r\n\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n12\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n345\r\n--x--\r\n");
    skua_test_response response;
    if (skua_test(server, "GET", "/prepared", NULL, &response)) return 1;
    printf("%d, %.*s octets\n", response.status,
           (int)skua_test_field(&response, "Content-Length").len,
           skua_test_field(&response, "Content-Length").ptr);
    skua_test_free(response.received);
    struct {
        skua_stats stats;
        char behind[64];
    } counted;
    memset(&counted, 'x', sizeof counted);
    skua_server_stats(server, &counted.stats);
    printf("%u responses of 200, written behind: %d\n", (unsigned)counted.stats.responses[2],
           counted.behind[0] != 'x' || counted.behind[63] != 'x');
    skua_root *root;
    if (skua_root_open(words[1], &root) || skua_root_list(root, SKUA_SLICE(""), list, NULL))
        return 1;
    skua_root_close(root);
    skua_server_free(server);
    return 0;
}
