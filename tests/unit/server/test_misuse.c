// SPDX-License-Identifier: MIT
//
// Every misuse of skua.h that can be told stops the process with a sentence, and what is documented
// as an error is one. Each row of the tables is played in a process of its own.

#include "misuses/scene.h"

#include "app/app.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { TOLD_OCTETS = 4096, PATIENCE_S = 60 };

// ---- Sentences that are many functions' ----

#define NO(argument) #argument " must not be NULL"
#define NO_OCTETS(argument) #argument " has a length, but ptr is NULL"
#define NO_SERVER "server must not be NULL; look at what skua_server_new has returned"
#define IN_CALLBACK                                                                                \
    "called in a handler or callback of the server; call skua_stop there, and this where "         \
    "skua_start was called"
#define OTHER_THAN_START                                                                           \
    "called on another thread than skua_start or skua_open; skua_stop may be called on any"
#define OTHER_THAN_OPEN "called on another thread than skua_open"
#define OTHER_THAN_OPEN_OR_CALLBACK "called on another thread than skua_open, or in a callback"
#define ON_A_WORKER "called on a worker, which it waits for"
#define OTHER_THAN_WORKER "called on another thread than the worker's; use skua_post"
#define NO_BLOCKING_SOCKET "called outside of the blocking function of the socket"
#define NO_REQUEST                                                                                 \
    "request must not be NULL; a function that skua_resume calls is given NULL when its request "  \
    "is gone"
#define POLL_EVENTS                                                                                \
    "events must be made of SKUA_POLL_READABLE, SKUA_POLL_WRITABLE and SKUA_POLL_ONCE"
#define OTHER_THAN_REQUEST "called on another thread than the request's worker; use skua_resume"
#define IS_GONE                                                                                    \
    "the request is gone; keep it by skua_request_hold, or find it again by skua_ticket_take and " \
    "skua_resume"
#define IN_BLOCKING                                                                                \
    "called in a blocking handler; it is for the worker's thread, or for another request"
#define OTHER_THAN_CONNECTION "called on another thread than the connection's worker; use skua_post"
#define CONNECTION_GONE "the connection is gone; it is there until on_close has returned"
#define OTHERS_FILE "the file is another worker's; open it on each"
#define OTHERS_PREPARED                                                                            \
    "the prepared response is another worker's; make one on each, as by skua_local"
#define FREED "called while the server is being freed"
#define NOWHERE ((skua_slice){ NULL, 1 })

// ---- The tables ----

#define STOPS(function, what, where, sentence, code)                                               \
    static void function##_##what(scene *s)                                                        \
    {                                                                                              \
        (void)s;                                                                                   \
        code;                                                                                      \
    }
#define GIVES(function, what, where, expression)                                                   \
    static void function##_##what(scene *s)                                                        \
    {                                                                                              \
        skua_request *r = s->request;                                                              \
        (void)r;                                                                                   \
        s->right = (expression);                                                                   \
    }
#include "misuses/server.h"
#include "misuses/request.h"
#include "misuses/file.h"
#include "misuses/tls.h"
#include "misuses/site.h"
#include "misuses/sized.h"
#undef STOPS
#undef GIVES

static const misuse misuses[] = {
#define STOPS(function, what, where, sentence, code)                                               \
    { #function, #what, where, sentence, function##_##what },
#define GIVES(function, what, where, expression)                                                   \
    { #function, #what, where, NULL, function##_##what },
#include "misuses/server.h"
#include "misuses/request.h"
#include "misuses/file.h"
#include "misuses/tls.h"
#include "misuses/site.h"
#include "misuses/sized.h"
#undef STOPS
#undef GIVES
};

enum { MISUSES = sizeof misuses / sizeof *misuses };

// ---- Playing a row ----

static char folder[APP_FOLDER_OCTETS];

static void play_and_exit(const misuse *row, int told)
{
    (void)alarm(PATIENCE_S);
    if (dup2(told, STDERR_FILENO) < 0) _exit(2);
    _exit(scene_play(row, folder) ? 0 : 1);
}

// Plays the row in a process of its own, and returns how it ended. told: what it wrote to standard
// error.
static int play(const misuse *row, char *told)
{
    int ends[2], how = 0;
    size_t len = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) play_and_exit(row, ends[1]);
    (void)close(ends[1]);
    for (ssize_t n; len < TOLD_OCTETS - 1; len += (size_t)n) {
        n = read(ends[0], told + len, TOLD_OCTETS - 1 - len);
        if (n <= 0) break;
    }
    told[len] = 0;
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

// Returns whether the row is as it should be.
static bool check(const misuse *row)
{
    char told[TOLD_OCTETS], expected[TOLD_OCTETS] = "";
    int how = play(row, told);
    bool stopped = WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT;
    bool ended = row->sentence ? stopped : WIFEXITED(how) && WEXITSTATUS(how) == 0;
    if (row->sentence)
        (void)snprintf(expected, sizeof expected, "skua: %s: %s\n", row->function, row->sentence);
    if (ended && strcmp(told, expected) == 0) return true;
    print_error("%s, %s: wait status %d\n  expected: %s\n  told: %s\n", row->function, row->what,
                how, expected, told);
    return false;
}

static void every_misuse_is_told(void **state)
{
    (void)state;
    unsigned wrong = 0;
    assert_true(app_folder_make(folder));
    for (size_t i = 0; i < MISUSES; i++)
        wrong += !check(&misuses[i]);
    app_folder_remove(folder);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_misuse_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
