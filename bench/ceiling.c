// SPDX-License-Identifier: MIT
//
// The answer, the finding of requests, and the serving by plain system calls that ceilings share.
#include "ceiling.h"
#include "ceiling_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPIES_OCTETS = 65536 };

ceiling the;

void ceiling_die(const char *what)
{
    perror(what);
    exit(1);
}

// ---- Finding requests ----

// Goes on with a blank line that the previous read began. Returns the octets used up.
static size_t blank_line_resume(ceiling_conn *c, const char *octets, size_t len, unsigned *found)
{
    size_t at = 0;
    while (c->matched && at < len) {
        char wanted = "\r\n\r\n"[c->matched];
        if (octets[at] == wanted) {
            at++;
            if (++c->matched < 4) continue;
            ++*found;
        }
        c->matched = 0;
    }
    return at;
}

// How many octets at the end may be the beginning of CR LF CR LF.
static unsigned char blank_line_begun(const char *octets, size_t len)
{
    for (size_t n = len < 3 ? len : 3; n > 0; n--) {
        if (memcmp(octets + len - n, "\r\n\r\n", n) == 0) return (unsigned char)n;
    }
    return 0;
}

// Looks at every fourth octet only: a blank line cannot pass unseen.
static unsigned blank_lines(ceiling_conn *c, const char *octets, size_t len)
{
    unsigned found = 0;
    size_t at = blank_line_resume(c, octets, len, &found);
    size_t last = at;
    for (at += 3; at < len;) {
        char octet = octets[at];
        if (octet != '\r' && octet != '\n') {
            at += 4;
        } else if (octet == '\n' && memcmp(octets + at - 3, "\r\n\r", 3) == 0) {
            found++;
            last = at + 1;
            at += 4;
        } else {
            at++;
        }
    }
    if (last < len) c->matched = blank_line_begun(octets + last, len - last);
    return found;
}

void ceiling_count(ceiling_conn *c, const char *octets, size_t len)
{
    if (the.is_http2) ceiling_frames_count(c, octets, len);
    else c->owed += blank_lines(c, octets, len) * the.answer;
}

// ---- Sending ----

static size_t place_in_answer(const ceiling_conn *c)
{
    size_t rest = c->owed % the.answer;
    return rest ? the.answer - rest : 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void ceiling_sent(ceiling_conn *c, size_t octets)
{
    c->owed -= octets;
    if (the.is_http2) ceiling_frames_sent(c, octets);
}

const char *ceiling_owed(ceiling_conn *c, size_t *len)
{
    if (the.is_http2) return ceiling_frames_stage(c, len);
    size_t place = place_in_answer(c);
    *len = least(c->owed, the.canned_octets - place);
    return the.canned + place;
}

// Before a close the last octets wait (MSG_MORE) for the FIN and leave in one segment with it: a
// fifth less of the server's time than two segments take.
static ssize_t send_from_memory(int fd, ceiling_conn *c)
{
    size_t len;
    const char *octets = ceiling_owed(c, &len);
    return send(fd, octets, len, MSG_NOSIGNAL | (the.close_after ? MSG_MORE : 0));
}

static ssize_t send_from_file(int fd, const ceiling_conn *c)
{
    size_t place = place_in_answer(c);
    if (place < the.head)
        return send(fd, the.canned + place, the.head - place, MSG_NOSIGNAL | MSG_MORE);
    off_t offset = (off_t)(place - the.head);
    return sendfile(fd, the.file, &offset, least(the.step, the.answer - place));
}

bool ceiling_send(int fd, ceiling_conn *c)
{
    while (c->owed) {
        ssize_t n = the.by_sendfile ? send_from_file(fd, c) : send_from_memory(fd, c);
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        ceiling_sent(c, (size_t)n);
    }
    return !the.close_after;
}

// ---- Connections ----

ceiling_conn *ceiling_conn_new(int fd)
{
    if (fd >= CEILING_CONNS_MAX) ceiling_die("too many connections");
    the.conns[fd] = (ceiling_conn){ 0 };
    if (the.is_http2) ceiling_frames_begin(&the.conns[fd]);
    return &the.conns[fd];
}

bool ceiling_receive(int fd, ceiling_conn *c, bool ending)
{
    for (;;) {
        ssize_t n = recv(fd, the.input, sizeof the.input, 0);
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        ceiling_count(c, the.input, (size_t)n);
        if ((size_t)n < sizeof the.input && !ending) return true;
    }
}

bool ceiling_serve_accepted(int fd, ceiling_conn *c)
{
    return ceiling_receive(fd, c, false) && (!c->owed || ceiling_send(fd, c));
}

// ---- Setting up ----

static void listener_option(int level, int name, int value)
{
    if (setsockopt(the.listener, level, name, &value, sizeof value)) ceiling_die("setsockopt");
}

static void listener_open(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)the.port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    the.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (the.listener < 0) ceiling_die("socket");
    listener_option(SOL_SOCKET, SO_REUSEADDR, 1);
    listener_option(IPPROTO_TCP, TCP_NODELAY, 1);
    if (the.close_after) listener_option(IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
    // A congestion control that paces (BBR) sets a timer for each segment after the first, which on
    // loopback costs more than the segment and wins nothing. Every kernel has Reno, and accepted
    // sockets inherit it.
    (void)setsockopt(the.listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (bind(the.listener, (struct sockaddr *)&address, sizeof address)) ceiling_die("bind");
    if (listen(the.listener, 4096)) ceiling_die("listen");
}

// Returns an open file and its size.
static int file_open(const char *path, size_t *octets)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about)) ceiling_die(path);
    *octets = (size_t)about.st_size;
    return fd;
}

static void file_read(int fd, char *into, size_t octets)
{
    for (size_t at = 0; at < octets;) {
        ssize_t n = pread(fd, into + at, octets - at, (off_t)at);
        if (n <= 0) ceiling_die("pread");
        at += (size_t)n;
    }
}

ceiling_octets ceiling_file_load(const char *path)
{
    ceiling_octets whole;
    int fd = file_open(path, &whole.len);
    whole.octets = malloc(whole.len + 1);
    if (!whole.octets) ceiling_die("malloc");
    file_read(fd, whole.octets, whole.len);
    close(fd);
    return whole;
}

static void answer_load(const char *head_path, const char *file_path)
{
    size_t content = 0;
    int head = file_open(head_path, &the.head);
    if (file_path) the.file = file_open(file_path, &content);
    the.answer = the.head + content;
    if (the.answer == 0) ceiling_die("nothing to send");
    size_t copies = the.by_sendfile || the.answer >= COPIES_OCTETS ? 1 : COPIES_OCTETS / the.answer;
    the.canned_octets = the.answer * copies;
    the.canned = malloc(the.canned_octets);
    if (!the.canned) ceiling_die("malloc");
    file_read(head, the.canned, the.head);
    if (file_path) file_read(the.file, the.canned + the.head, content);
    for (size_t i = 1; i < copies; i++)
        memcpy(the.canned + i * the.answer, the.canned, the.answer);
    close(head);
}

// In the clear frames go from memory alone.
static void frames_load(const char *head, const char *first, const char *file)
{
    size_t octets;
    if (!file || the.close_after || (the.by_sendfile && !the.certificate)) ceiling_usage();
    ceiling_frames_load(first, head, file);
    the.file = file_open(file, &octets);
}

void ceiling_usage(void)
{
    fputs(
        "usage: ceiling_* --port N --head FILE [--file FILE] [--send memory|file] [--step OCTETS] "
        "[--close]\n"
        "       over HTTP/2: --port N --head BLOCK --first BLOCK --file FILE\n"
        "       ceiling_tls besides: --cert FILE --key FILE --records ready|keyed|openssl\n",
        stderr);
    exit(2);
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "head", required_argument, NULL, 'h' },
        { "file", required_argument, NULL, 'f' },
        { "send", required_argument, NULL, 's' },
        { "step", required_argument, NULL, 't' },
        { "close", no_argument, NULL, 'c' },
        { "cert", required_argument, NULL, 'C' },
        { "key", required_argument, NULL, 'K' },
        { "records", required_argument, NULL, 'R' },
        { "first", required_argument, NULL, 'F' },
        { NULL, 0, NULL, 0 },
    };
    const char *head = NULL, *file = NULL, *first = NULL;
    the.step = SIZE_MAX >> 1;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': the.port = (int)strtoul(optarg, NULL, 10); break;
        case 'h': head = optarg; break;
        case 'f': file = optarg; break;
        case 's': the.by_sendfile = strcmp(optarg, "file") == 0; break;
        case 't': the.step = strtoull(optarg, NULL, 10); break;
        case 'c': the.close_after = true; break;
        case 'C': the.certificate = optarg; break;
        case 'K': the.key = optarg; break;
        case 'R': the.records = optarg; break;
        case 'F': first = optarg; break;
        default: ceiling_usage();
        }
    }
    if (!head || !the.port || !the.step || (the.by_sendfile && !file)) ceiling_usage();
    the.is_http2 = first != NULL;
    if (!first) answer_load(head, file);
    else frames_load(head, first, file);
}

void ceiling_open(int argc, char **argv)
{
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    options_read(argc, argv);
    listener_open();
}
