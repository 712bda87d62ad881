// SPDX-License-Identifier: MIT
//
// A response from another thread: the handler takes a ticket and returns; a thread of the program
// responds when it is done. curl http://127.0.0.1:8080/measure
#include <skua/skua.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static skua_ticket queue[QUEUE_MAX];
static int queued;

// On the request's worker again. It may have gone while the thread worked.
static void measured(skua_request *request, void *user)
{
    char *text = user;
    if (request) skua_respond(request, 200, "text/plain", (skua_slice){ text, 8 });
    free(text);
}

static void *measure(void *user)
{
    (void)user;
    for (;;) {
        (void)pthread_mutex_lock(&lock);
        while (queued == 0)
            (void)pthread_cond_wait(&more, &lock);
        skua_ticket ticket = queue[--queued];
        (void)pthread_mutex_unlock(&lock);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); // the slow thing
        char *text = malloc(9);
        if (!text) continue; // the request then ends by its handler_timeout_ns
        (void)snprintf(text, 9, "%05u C\n", (unsigned)clock() % 100000u);
        // it will not be called: the request is gone
        if (skua_resume(ticket, measured, text)) free(text);
    }
    return NULL;
}

static void on_measure(skua_request *request, void *user)
{
    (void)user;
    skua_ticket ticket;
    (void)pthread_mutex_lock(&lock);
    bool taken = queued < QUEUE_MAX && skua_ticket_take(request, &ticket) == SKUA_OK;
    if (taken) queue[queued++] = ticket;
    (void)pthread_cond_signal(&more);
    (void)pthread_mutex_unlock(&lock);
    if (!taken && skua_respond_error(request, 503)) skua_request_abort(request);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    skua_config config = { .listen = argc > 1 ? argv[1] : "127.0.0.1:8080",
                           .handler_timeout_ns = 5000000000 };
    skua_server *server = skua_server_new(&config);
    if (!server || skua_route(server, "GET /measure", on_measure, NULL)) return 1;
    if (pthread_create(&thread, NULL, measure, NULL)) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
