// SPDX-License-Identifier: MIT
//
// Where a misuse happens, and what is there to be misused. The tables beside this file have a row
// for each misuse:
//
//     STOPS(function, what, PLACE, sentence, code)  code stops the process with "function: sentence"
//     GIVES(function, what, PLACE, expression)      it does not, and the expression is true
#ifndef TESTS_MISUSES_SCENE_H
#define TESTS_MISUSES_SCENE_H

#include "skua/skua.h"

typedef enum place {
    OUTSIDE,        // before the start
    RUNNING,        // on the thread that has started the server
    STRANGER,       // on another thread while it runs, not one of its own
    TURNED_BY,      // after skua_open, on another thread
    TURN,           // in a handler of a server that is turned by its caller
    TEST,           // in a handler, during skua_test_request
    TESTED_BY,      // after skua_test_request, on another thread
    START_HOOK,     // in on_worker_start
    CONNECT_HOOK,   // in on_connect
    CLOSED,         // after on_close, on the worker
    DROP,           // in the drop of a worker's object, after the last worker has ended
    RELEASE,        // in a function of skua_server_on_free
    BEFORE,         // in middleware's before
    HEAD,           // in middleware's head
    HANDLER,        // in a handler
    ELSEWHERE,      // on another thread, while the request's handler waits for it
    TWO_SERVERS,    // in a handler, with a prepared response and a file of another server's worker
    LAST_WORDS,     // in on_end of a request that was not answered
    ENDED,          // after that, while the request is held, on its worker
    GONE,           // after that, when it is not held any more
    REPLACED,       // after that, when others have been served, in builds that look for faults
    CONTENT,        // while content is read: five octets have been delivered
    LOST,           // when content is lost, as the client has left in the middle of it
    FILE_HERE,      // in a handler, when its file has been opened
    FILE_ELSEWHERE, // the same, on another thread
    SOCKET_HERE,    // when a WebSocket has been opened
    SOCKET_ELSEWHERE, // the same, on another thread
    BLOCKING          // in a blocking handler
} place;

typedef struct scene {
    const struct misuse *row;
    skua_server *server;
    unsigned key; // of the worker's object
    skua_worker *worker;
    skua_connection *connection;
    skua_request *request;
    const skua_request *read; // the same, in a blocking handler
    skua_root *root, *other;
    skua_directory *directory;
    skua_file *file;
    skua_prepared *prepared;
    skua_watch *watch;
    skua_timer timer;
    int pipe[2];    // in a handler, with
    skua_poll poll; // of its end for reading
    skua_ticket ticket;
    skua_socket socket;
    skua_message message;
    skua_slice octets;
    skua_field field;
    size_t index;
    char text[64];
    skua_status status; // of whatever need not be looked at
    bool ran, right;
} scene;

typedef struct misuse {
    const char *function, *what;
    place where;
    const char *sentence; // NULL: it does not stop
    void (*commit)(scene *s);
} misuse;

// Plays a row in this process, which may not return. Returns whether it went as the row says.
bool scene_play(const misuse *row, const char *folder);

// Whether a server can be made by config.
bool server_is_made(const skua_config *config);

// Functions that rows pass where one must be given.
void nothing(void *user);
void nothing_handled(skua_request *request, void *user);
void nothing_blocked(skua_request *request, void *user);
void nothing_done(skua_worker *worker, void *user);
extern const skua_filter whole_filter; // which wants no response

void nothing_polled(skua_worker *worker, int fd, unsigned events, void *user);
void nothing_resumed(skua_request *request, void *user);
void nothing_ended(skua_request *request, skua_end how, void *user);
// skua_respond_format and skua_respond_vformat, where the compiler does not look at the format.
extern skua_status (*const misuse_format)(skua_request *request, int status, const char *type,
                                          const char *format, ...);
skua_status misuse_vformat(skua_request *request, const char *format, ...);

// Assets without files, and some that are not sorted.
extern const skua_assets no_assets, disordered_assets;

// A site of the scene's server; and one that the server has been given.
skua_site *scene_site(const scene *s);

// The sizes of a header whose struct at that place of skua_sizes has so many octets more.
const skua_sizes *scene_sizes(size_t at, int more);
skua_site *scene_put_site(const scene *s);

void nothing_offloaded(skua_request *request, void *user);
void nothing_told(skua_request *request, int status, skua_slice sentence, void *user);
void nothing_drained(skua_request *request, void *user);
void nothing_read(skua_request *request, skua_content_event event, skua_slice octets, void *user);
void nothing_messaged(skua_socket socket, skua_slice message, bool text, void *user);
void nothing_received(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                      void *user);
void nothing_waited(skua_socket socket, skua_request *request, void *user);
void nothing_collected(skua_request *request, skua_status status, skua_slice content, void *user);
void nothing_spooled(skua_request *request, skua_status status, const skua_upload *upload,
                     void *user);
void nothing_parted(skua_request *request, skua_part_event event, const skua_part *part,
                    skua_slice octets, void *user);
void nothing_formed(skua_request *request, skua_status status, const skua_form_part *parts,
                    size_t count, void *user);
skua_pulled nothing_pulled(skua_request *request, char *buffer, size_t room, size_t *octets,
                           void *user);
skua_pulled too_much_pulled(skua_request *request, char *buffer, size_t room, size_t *octets,
                            void *user);
void nothing_opened(skua_worker *worker, skua_status status, skua_file *file,
                    const skua_file_info *info, void *user);
void nothing_loaded(skua_worker *worker, skua_status status, size_t octets, void *user);
int nothing_decided(skua_request *request, skua_slice path, const skua_file_info *info, void *user);
bool nothing_listed(const char *name, const skua_file_info *info, void *user);
void *nothing_made(skua_worker *worker, void *user);

#endif
