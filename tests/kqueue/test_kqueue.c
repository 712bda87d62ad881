// SPDX-License-Identifier: MIT
//
// The shim against what kqueue(2) and sendfile(2) of FreeBSD state. Quotations are theirs.

#include <sys/event.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int queue;
static int near, far; // two ends of a TCP connection
static int listener;
static struct kevent got[8];

static int listen_here(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof *at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
    return fd;
}

static int connect_there(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof *at), 0);
    return fd;
}

static struct sockaddr_in address;

static int set_up(void **state)
{
    (void)state;
    queue = kqueue();
    listener = listen_here(&address);
    far = connect_there(&address);
    near = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(queue >= 0 && near >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    int fds[] = { queue, listener, near, far };
    for (size_t i = 0; i < 4; i++) {
        if (fds[i] >= 0) (void)close(fds[i]);
    }
    return 0;
}

static struct kevent make(int ident, int filter, int flags, void *udata)
{
    return (struct kevent){ .ident = (uintptr_t)ident,
                            .filter = (short)filter,
                            .flags = (unsigned short)flags,
                            .udata = udata };
}

// Applies one change, taking no events. Returns 0 or the errno.
static int change(int ident, int filter, int flags, void *udata)
{
    struct kevent made = make(ident, filter, flags, udata);
    return kevent(queue, &made, 1, NULL, 0, NULL) == 0 ? 0 : errno;
}

static int wait_ms(int ms)
{
    struct timespec most = { .tv_nsec = ms * 1000000L };
    memset(got, 0, sizeof got);
    return kevent(queue, NULL, 0, got, 8, &most);
}

static void say(int fd, size_t octets)
{
    static const char text[1000];
    assert_int_equal(send(fd, text, octets, 0), (ssize_t)octets);
}

static size_t hear(int fd)
{
    char text[1000];
    ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

// ---- EVFILT_READ ----

// "EV_CLEAR: After the event is retrieved by the user, its state is reset."
static void clear_tells_each_arrival_once(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_CLEAR, &near), 0);
    assert_int_equal(wait_ms(0), 0);
    say(far, 10);
    assert_int_equal(wait_ms(1000), 1);
    assert_ptr_equal(got[0].udata, &near);
    assert_int_equal(got[0].ident, near);
    assert_int_equal(got[0].filter, EVFILT_READ);
    // "data contains the number of bytes in the protocol buffer available to read"
    assert_int_equal(got[0].data, 10);
    assert_int_equal(got[0].flags & (EV_EOF | EV_ERROR), 0);
    assert_int_equal(wait_ms(0), 0);
    say(far, 5);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].data, 15);
}

static void without_clear_it_is_told_until_it_is_read(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD, NULL), 0);
    say(far, 10);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(wait_ms(0), 1);
    assert_int_equal(hear(near), 10);
    assert_int_equal(wait_ms(0), 0);
}

static void adding_tells_what_is_there_already(void **state)
{
    (void)state;
    say(far, 10);
    struct kevent add = make(near, EVFILT_READ, EV_ADD | EV_CLEAR, NULL);
    struct timespec most = { .tv_sec = 1 };
    assert_int_equal(kevent(queue, &add, 1, got, 8, &most), 1); // in the same call
    assert_int_equal(got[0].data, 10);
}

// "If the read direction of the socket has shutdown, then the filter also sets EV_EOF in flags. It
// is possible for EOF to be returned (indicating the connection is gone) while there is still data
// pending in the socket buffer."
static void eof_comes_with_the_data_before_it(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_CLEAR, NULL), 0);
    say(far, 10);
    assert_int_equal(shutdown(far, SHUT_WR), 0);
    struct kevent last = { .data = 0 };
    while (!(last.flags & EV_EOF)) {
        assert_int_equal(wait_ms(1000), 1);
        last = got[0];
    }
    assert_int_equal(last.data, 10);
    assert_int_equal(last.fflags, 0);
}

// "... and returns the socket error (if any) in fflags."
static void a_reset_is_in_fflags_and_stays_in_the_socket(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_CLEAR, NULL), 0);
    struct linger reset = { .l_onoff = 1 };
    assert_int_equal(setsockopt(far, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(far);
    far = -1;
    assert_int_equal(wait_ms(1000), 1);
    assert_true(got[0].flags & EV_EOF);
    assert_int_equal(got[0].fflags, ECONNRESET);
    char octet;
    assert_int_equal(recv(near, &octet, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
}

// "Sockets which have previously been passed to listen() return when there is an incoming
// connection pending. data contains the size of the listen backlog."
static void a_listener_counts_who_waits(void **state)
{
    (void)state;
    assert_int_equal(change(listener, EVFILT_READ, EV_ADD, NULL), 0);
    int clients[3];
    for (int i = 0; i < 3; i++)
        clients[i] = connect_there(&address);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].data, 3);
    for (int i = 0; i < 3; i++)
        close(clients[i]);
}

// ---- EVFILT_WRITE ----

static void writing_is_told_when_there_is_room_again(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_WRITE, EV_ADD | EV_CLEAR, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].filter, EVFILT_WRITE);
    // "data will contain the amount of space remaining in the write buffer"
    assert_true(got[0].data > 0);
    assert_int_equal(wait_ms(0), 0);
    static const char text[65536];
    while (send(near, text, sizeof text, MSG_NOSIGNAL) > 0) {
    }
    assert_int_equal(wait_ms(0), 0);
    static char heard[1 << 20];
    int n = 0;
    while ((n = wait_ms(0)) == 0 && recv(far, heard, sizeof heard, 0) > 0) {
    }
    assert_int_equal(n, 1);
}

// An edge of one filter says nothing of the other: who missed that would hang on a BSD.
static void the_filters_are_apart(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_WRITE, EV_ADD | EV_CLEAR, NULL), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_CLEAR, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].filter, EVFILT_WRITE);
    say(far, 1);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].filter, EVFILT_READ);
}

static void own_shutdown_is_an_end_without_an_error(void **state)
{
    (void)state;
    assert_int_equal(shutdown(near, SHUT_WR), 0);
    assert_int_equal(change(near, EVFILT_WRITE, EV_ADD | EV_CLEAR, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_true(got[0].flags & EV_EOF);
    assert_int_equal(got[0].fflags, 0);
}

// ---- Changes ----

// "EV_RECEIPT: This flag is useful for making bulk changes to a kqueue without draining any pending
// events. When passed as input, it forces EV_ERROR to always be returned. When a filter is
// successfully added the data field will be zero."
static void receipts_leave_events_alone(void **state)
{
    (void)state;
    say(far, 1);
    struct kevent changes[] = {
        make(near, EVFILT_READ, EV_ADD | EV_CLEAR | EV_RECEIPT, &near),
        make(near, EVFILT_WRITE, EV_DELETE | EV_RECEIPT, &far),
    };
    assert_int_equal(kevent(queue, changes, 2, got, 8, NULL), 2);
    assert_true(got[0].flags & EV_ERROR);
    assert_int_equal(got[0].data, 0);
    assert_ptr_equal(got[0].udata, &near);
    // "The event could not be found to be modified or deleted."
    assert_int_equal(got[1].data, ENOENT);
    assert_ptr_equal(got[1].udata, &far);
    assert_int_equal(wait_ms(1000), 1);
}

// "If an error occurs while processing an element of the changelist and there is enough room in the
// eventlist, then the event will be placed in the eventlist with EV_ERROR set in flags and the
// system error in data. Otherwise, -1 will be returned." Nothing is waited for then.
static void errors_take_the_place_of_events(void **state)
{
    (void)state;
    struct kevent changes[] = { make(1000, EVFILT_READ, EV_ADD, &far),
                                make(near, EVFILT_READ, EV_ADD, NULL) };
    assert_int_equal(kevent(queue, changes, 2, got, 8, NULL), 1);
    assert_true(got[0].flags & EV_ERROR);
    assert_int_equal(got[0].data, EBADF);
    assert_ptr_equal(got[0].udata, &far);
    assert_int_equal(change(1000, EVFILT_READ, EV_ADD, NULL), EBADF);
    say(far, 1);
    assert_int_equal(wait_ms(1000), 1); // the other change was made
}

static void what_is_disabled_is_told_when_enabled(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD, &near), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_DISABLE, &near), 0);
    say(far, 1);
    assert_int_equal(wait_ms(20), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_ENABLE, &far), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_ptr_equal(got[0].udata, &far);
    assert_int_equal(change(near, EVFILT_READ, EV_DELETE, NULL), 0);
    assert_int_equal(wait_ms(0), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_ENABLE, NULL), ENOENT);
}

static void oneshot_and_dispatch_are_told_once(void **state)
{
    (void)state;
    say(far, 1);
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_ONESHOT, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(wait_ms(0), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_DELETE, NULL), ENOENT);
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_DISPATCH, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(wait_ms(0), 0);
    assert_int_equal(change(near, EVFILT_READ, EV_ENABLE, NULL), 0);
    assert_int_equal(wait_ms(1000), 1);
}

// "Calling close() on a file descriptor will remove any kevents that reference the descriptor."
// Another that gets its number has none.
static void closing_forgets(void **state)
{
    (void)state;
    assert_int_equal(change(near, EVFILT_READ, EV_ADD | EV_CLEAR, &near), 0);
    int number = near;
    close(near);
    assert_int_equal(change(number, EVFILT_READ, EV_DELETE, NULL), EBADF);
    int client = connect_there(&address);
    assert_int_equal(client, number);
    near = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    say(near, 1);
    assert_int_equal(wait_ms(20), 0);
    assert_int_equal(change(client, EVFILT_READ, EV_DELETE, NULL), ENOENT);
    assert_int_equal(change(client, EVFILT_READ, EV_ADD | EV_CLEAR, &client), 0);
    assert_int_equal(wait_ms(1000), 1);
    assert_ptr_equal(got[0].udata, &client);
    close(client);
}

// ---- EVFILT_USER ----

static void *trigger(void *user)
{
    struct kevent made = make(7, EVFILT_USER, 0, user);
    made.fflags = NOTE_TRIGGER;
    (void)usleep(20000);
    return kevent(queue, &made, 1, NULL, 0, NULL) == 0 ? NULL : user;
}

static void a_trigger_wakes_from_another_thread(void **state)
{
    (void)state;
    int mark;
    pthread_t thread;
    assert_ptr_equal(trigger(&mark), &mark); // nobody is registered
    assert_int_equal(change(7, EVFILT_USER, EV_ADD | EV_CLEAR, NULL), 0);
    assert_int_equal(wait_ms(0), 0);
    assert_int_equal(pthread_create(&thread, NULL, trigger, &mark), 0);
    assert_int_equal(kevent(queue, NULL, 0, got, 8, NULL), 1);
    assert_int_equal(got[0].filter, EVFILT_USER);
    assert_int_equal(got[0].ident, 7);
    assert_ptr_equal(got[0].udata, &mark);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(wait_ms(0), 0);
    assert_null(trigger(NULL));
    assert_null(trigger(NULL));
    assert_int_equal(wait_ms(0), 1); // several in one
    assert_int_equal(wait_ms(0), 0);
}

// ---- A queue in a queue, and time ----

static void a_queue_can_be_waited_for(void **state)
{
    (void)state;
    int inner = kqueue();
    struct kevent add = make(near, EVFILT_READ, EV_ADD | EV_CLEAR, NULL);
    assert_int_equal(kevent(inner, &add, 1, NULL, 0, NULL), 0);
    assert_int_equal(change(inner, EVFILT_READ, EV_ADD, NULL), 0);
    assert_int_equal(wait_ms(0), 0);
    say(far, 1);
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].ident, inner);
    close(inner);
}

static void the_timeout_is_kept(void **state)
{
    (void)state;
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(wait_ms(30), 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t ns =
        (int64_t)(after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
    assert_in_range(ns, 30000000, 5000000000);
}

// ---- EVFILT_VNODE ----

static void put(const char *folder, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static int watch(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct kevent add = make(fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, NULL);
    add.fflags = NOTE_WRITE | NOTE_DELETE | NOTE_RENAME | NOTE_ATTRIB | NOTE_EXTEND;
    assert_int_equal(kevent(queue, &add, 1, NULL, 0, NULL), 0);
    return fd;
}

static void a_directory_tells_of_its_entries_only(void **state)
{
    (void)state;
    char folder[] = "/tmp/skua-test-XXXXXX", path[64], moved[64];
    assert_non_null(mkdtemp(folder));
    int directory = watch(folder);
    put(folder, "file");
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].fflags, NOTE_WRITE);
    assert_int_equal(wait_ms(0), 0);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int file = watch(path);
    put(folder, "file");
    assert_int_equal(wait_ms(1000), 1);
    assert_int_equal(got[0].ident, file);
    assert_true(got[0].fflags & NOTE_WRITE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(wait_ms(1000), 2);
    for (int i = 0; i < 2; i++)
        assert_true(got[i].fflags & ((int)got[i].ident == file ? NOTE_DELETE : NOTE_WRITE));
    (void)snprintf(moved, sizeof moved, "%s-moved", folder);
    assert_int_equal(rename(folder, moved), 0);
    assert_true(wait_ms(1000) >= 1);
    close(file);
    close(directory);
    assert_int_equal(rmdir(moved), 0);
}

// ---- sendfile ----

// "... the number of bytes sent on the socket in *sbytes", also with EAGAIN, and 0 with success at
// the file's end.
static void sendfile_says_what_was_sent(void **state)
{
    (void)state;
    off_t sent = -1;
    int file = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, 100000000), 0);
    assert_int_equal(sendfile(file, near, 99999900, 1000, NULL, &sent, 0), 0);
    assert_int_equal(sent, 100);
    assert_int_equal(sendfile(file, near, 100000000, 1000, NULL, &sent, 0), 0);
    assert_int_equal(sent, 0);
    assert_int_equal(sendfile(file, near, 0, 100000000, NULL, &sent, 0), -1);
    assert_int_equal(errno, EAGAIN);
    assert_in_range(sent, 1, 99999999);
    assert_int_equal(sendfile(file, near, 0, 10, NULL, &sent, 0), -1);
    assert_int_equal(sent, 0);
    close(file);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(clear_tells_each_arrival_once),
        EACH(without_clear_it_is_told_until_it_is_read),
        EACH(adding_tells_what_is_there_already),
        EACH(eof_comes_with_the_data_before_it),
        EACH(a_reset_is_in_fflags_and_stays_in_the_socket),
        EACH(a_listener_counts_who_waits),
        EACH(writing_is_told_when_there_is_room_again),
        EACH(the_filters_are_apart),
        EACH(own_shutdown_is_an_end_without_an_error),
        EACH(receipts_leave_events_alone),
        EACH(errors_take_the_place_of_events),
        EACH(what_is_disabled_is_told_when_enabled),
        EACH(oneshot_and_dispatch_are_told_once),
        EACH(closing_forgets),
        EACH(a_trigger_wakes_from_another_thread),
        EACH(a_queue_can_be_waited_for),
        EACH(the_timeout_is_kept),
        EACH(a_directory_tells_of_its_entries_only),
        EACH(sendfile_says_what_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
