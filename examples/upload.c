// SPDX-License-Identifier: MIT
//
// Uploads with progress: curl -T file http://127.0.0.1:8080/upload/1, and meanwhile
// curl http://127.0.0.1:8080/progress/1. The content is read as it arrives and never kept as a whole.
#include <skua/skua.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

enum { UPLOADS = 10 };

static atomic_ullong got[UPLOADS]; // octets, by the upload's number; any worker may be asked

typedef struct upload {
    unsigned number;
    uint32_t sum; // what is made of the content: the sum of its octets
} upload;

static bool number_of(const skua_request *request, unsigned *number)
{
    skua_slice text = skua_request_param(request, "number");
    if (text.len != 1 || text.ptr[0] < '0' || text.ptr[0] > '9') return false;
    *number = (unsigned)(text.ptr[0] - '0');
    return true;
}

static void answer(skua_request *request, int status, unsigned long long n, const char *unit)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%llu %s\n", n, unit);
    skua_respond(request, status, "text/plain", (skua_slice){ text, (size_t)len });
}

static void take(skua_request *request, skua_content_event event, skua_slice octets, void *user)
{
    upload *u = user;
    if (event == SKUA_CONTENT_END) answer(request, 201, u->sum, "is the sum");
    if (event != SKUA_CONTENT_DATA) return; // or lost: the peer went, and on_end would tell
    for (size_t i = 0; i < octets.len; i++)
        u->sum += (unsigned char)octets.ptr[i];
    atomic_fetch_add(&got[u->number], octets.len);
    // more may come: what is not consumed holds the peer back
    skua_content_consume(request, octets.len);
}

static void on_upload(skua_request *request, void *user)
{
    (void)user;
    unsigned number;
    upload *u = skua_request_alloc(request, sizeof *u);
    if (!u || !number_of(request, &number)) {
        answer(request, u ? 404 : 503, 0, "octets taken");
        return;
    }
    *u = (upload){ .number = number };
    atomic_store(&got[number], 0);
    if (skua_content_read(request, take, u)) skua_request_abort(request);
}

static void on_progress(skua_request *request, void *user)
{
    (void)user;
    unsigned number;
    bool known = number_of(request, &number);
    answer(request, known ? 200 : 404, known ? atomic_load(&got[number]) : 0, "octets so far");
}

int main(int argc, char **argv)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    if (!server || skua_route(server, "PUT /upload/{number}", on_upload, NULL) ||
        skua_route(server, "GET /progress/{number}", on_progress, NULL))
        return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
