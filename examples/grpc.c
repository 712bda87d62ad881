// SPDX-License-Identifier: MIT
//
// A gRPC service with the four kinds of calls; the messages of Protocol Buffers are written by hand.
// In the clear: grpc 127.0.0.1:8080. Over TLS: grpc 127.0.0.1:8443 cert.pem key.pem
//
//     service Numbers {
//         rpc Square(Number) returns (Number);
//         rpc Count(Number) returns (stream Number);       // 1, 2 and so on up to n
//         rpc Sum(stream Number) returns (Number);
//         rpc Sums(stream Number) returns (stream Number); // the sum so far, after each
//     }
//     message Number { uint64 n = 1; }
#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

enum { OK, INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8, OUT_OF_RANGE = 11, UNIMPLEMENTED = 12 };

// A message has a prefix, the octet 1 if it is compressed and then its length in four. A Number is
// empty, which is zero, or the tag of field 1 and a varint.
enum { PREFIX_OCTETS = 5, NUMBER_OCTETS_MAX = 11, TAG = 1 << 3 };

// Requests of one window make responses of less than four, for which half of the queue is enough.
enum { WINDOW_OCTETS = 16384, QUEUE_OCTETS = 8 * WINDOW_OCTETS };

typedef enum method { SQUARE, COUNT, SUM, SUMS, UNKNOWN } method;

typedef struct call {
    skua_request *request;
    method method;
    bool has_begun;                                           // the response
    unsigned char message[PREFIX_OCTETS + NUMBER_OCTETS_MAX]; // that is coming
    size_t len;                                               // of it, so far
    size_t taken;                                             // octets that are not consumed yet
    unsigned messages;                                        // that have come
    uint64_t n;                                               // the result, or where Count ends
    uint64_t next;                                            // of Count; 0: it has not begun
} call;

// Ends a call. The status is in the trailers; of a call that was sent no message, in the fields.
// why: ASCII without controls and "%". Returns: false, as the call is over.
static bool end(call *c, int status, const char *why)
{
    skua_status (*add)(skua_request *, const char *, skua_slice) =
        c->has_begun ? skua_trailer_add : skua_field_add;
    char text[12];
    skua_slice number = { text, (size_t)snprintf(text, sizeof text, "%d", status) };
    if (add(c->request, "grpc-status", number) ||
        (*why && add(c->request, "grpc-message", (skua_slice){ why, strlen(why) })) ||
        (c->has_begun ? skua_finish(c->request)
                      : skua_respond(c->request, 200, "application/grpc", (skua_slice){ 0 })))
        skua_request_abort(c->request);
    return false;
}

static skua_drained_fn go_on;

// Sends a Number. SKUA_ELIMIT: there is no room, and go_on will be called.
static skua_status send_number(call *c, uint64_t n)
{
    char octets[PREFIX_OCTETS + NUMBER_OCTETS_MAX] = { 0 };
    size_t len = PREFIX_OCTETS;
    if (n) octets[len++] = TAG;
    for (; n; n >>= 7)
        octets[len++] = (char)(n > 0x7f ? n | 0x80 : n);
    octets[PREFIX_OCTETS - 1] = (char)(len - PREFIX_OCTETS);
    if (!c->has_begun) {
        skua_status status = skua_respond_stream(c->request, 200, "application/grpc", -1, go_on, c);
        if (status) return status;
        c->has_begun = true;
    }
    return skua_write(c->request, (skua_slice){ octets, len });
}

// Sends one for which there should be room. Returns: whether the call goes on.
static bool reply(call *c, uint64_t n)
{
    skua_status status = send_number(c, n);
    if (status == SKUA_ELIMIT) // queues are shorter while memory is short
        return end(c, RESOURCE_EXHAUSTED, "the server is short of memory");
    if (status) skua_request_abort(c->request);
    return !status;
}

static void count(call *c)
{
    skua_status status = SKUA_OK;
    while (!status && c->next <= c->n) {
        status = send_number(c, c->next);
        if (!status) c->next++;
    }
    if (!status) end(c, OK, "");
    else if (status != SKUA_ELIMIT) skua_request_abort(c->request);
}

// There is room for responses: takes more requests.
static void go_on(skua_request *request, void *user)
{
    call *c = user;
    skua_content_consume(request, c->taken);
    c->taken = 0;
    if (c->next) count(c);
}

static bool on_number(call *c, uint64_t n)
{
    c->messages++;
    if (c->method == SQUARE && n > UINT32_MAX)
        return end(c, OUT_OF_RANGE, "the square is too large");
    if (c->method == SQUARE) c->n = n * n;
    if (c->method == COUNT) c->n = n;
    if (c->method == SUM || c->method == SUMS) c->n += n;
    return c->method != SUMS || reply(c, c->n);
}

static bool number_of(const unsigned char *octets, size_t len, uint64_t *n)
{
    *n = 0;
    for (size_t i = 1; i < len; i++) {
        *n |= (uint64_t)(octets[i] & 0x7f) << (7 * (i - 1));
        if (octets[i] <= 0x7f) return octets[0] == TAG && i + 1 == len;
    }
    return len == 0;
}

// Looks at a message whose prefix has come, and perhaps all of it. Returns: whether the call goes on.
static bool look(call *c)
{
    const unsigned char *m = c->message;
    size_t len = (size_t)m[1] << 24 | (size_t)m[2] << 16 | (size_t)m[3] << 8 | m[4];
    uint64_t n;
    if (m[0]) return end(c, UNIMPLEMENTED, "messages may not be compressed");
    if (len > NUMBER_OCTETS_MAX) return end(c, RESOURCE_EXHAUSTED, "a message is too long");
    if (c->len < PREFIX_OCTETS + len) return true;
    c->len = 0;
    return number_of(m + PREFIX_OCTETS, len, &n) ? on_number(c, n)
                                                 : end(c, INVALID_ARGUMENT, "it is no Number");
}

static void on_last(call *c)
{
    if (c->len) {
        end(c, INVALID_ARGUMENT, "the last message is not whole");
    } else if ((c->method == SQUARE || c->method == COUNT) && c->messages != 1) {
        end(c, UNIMPLEMENTED, "the method takes one message");
    } else if (c->method == COUNT) {
        c->next = 1;
        count(c);
    } else if (c->method == SUMS || reply(c, c->n)) {
        end(c, OK, "");
    }
}

static void take(skua_request *request, skua_content_event event, skua_slice octets, void *user)
{
    call *c = user;
    if (event == SKUA_CONTENT_END) on_last(c);
    if (event != SKUA_CONTENT_DATA) return; // or lost: the client went, or the call is over
    for (size_t i = 0; i < octets.len; i++) {
        c->message[c->len++] = (unsigned char)octets.ptr[i];
        if (c->len >= PREFIX_OCTETS && !look(c)) return;
    }
    c->taken += octets.len;
    // else the queue is more than half full, and go_on is called when it no longer is
    if (!c->has_begun || skua_write_room(request) >= QUEUE_OCTETS / 2) go_on(request, c);
}

static void on_call(skua_request *request, void *user)
{
    static const char type[] = "application/grpc";
    skua_slice given = skua_request_field(request, "content-type");
    call *c = skua_request_alloc(request, sizeof *c);
    if (!c || given.len < sizeof type - 1 || memcmp(given.ptr, type, sizeof type - 1)) {
        skua_respond_error(request, c ? 415 : 503);
        return;
    }
    *c = (call){ .request = request, .method = *(const method *)user };
    if (c->method == UNKNOWN) end(c, UNIMPLEMENTED, "there is no such method");
    else if (skua_content_read(request, take, c)) skua_request_abort(request);
}

int main(int argc, char **argv)
{
    static method methods[] = { SQUARE, COUNT, SUM, SUMS, UNKNOWN };
    static const char *const patterns[] = { "POST /Numbers/Square", "POST /Numbers/Count",
                                            "POST /Numbers/Sum", "POST /Numbers/Sums", "POST /" };
    const char *listen = argc > 1 ? argv[1] : "127.0.0.1:8080";
    skua_config config = { .content_window_octets = WINDOW_OCTETS, .out_octets_max = QUEUE_OCTETS };
    skua_tls_certificate certificate;
    if (argc > 3) {
        certificate = (skua_tls_certificate){ .file = argv[2], .key_file = argv[3] };
        config.tls.listen = listen;
        config.tls.certificates = &certificate;
        config.tls.certificate_count = 1;
    } else {
        config.listen = listen;
    }
    skua_server *server = skua_server_new(&config);
    for (size_t i = 0; server && i < sizeof methods / sizeof *methods; i++)
        if (skua_route(server, patterns[i], on_call, &methods[i])) return 1;
    if (!server || skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
