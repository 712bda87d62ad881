// SPDX-License-Identifier: MIT
//
// A socket belongs to an address as it stands in the file: an address with port 0 keeps its port as long as it stands
// there.

#include "super/sockets.h"

#ifdef __linux__

#include "common/address.h"
#include "super/control.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SUPER_SOCKETS_MAX = 2 * (CONF_LISTENS_MAX + 1) }; // those of two configurations

typedef struct super_socket {
    char address[CONTROL_OCTETS_MAX / 2];
    int fd;
    bool is_gone; // no address of the configuration
} super_socket;

// Of classic BPF, as the kernel has them.
typedef struct super_step {
    uint16_t code;
    uint8_t when_true, when_false;
    uint32_t k;
} super_step;

typedef struct super_filter {
    uint16_t count;
    const super_step *steps;
} super_filter;

static struct {
    super_socket all[SUPER_SOCKETS_MAX];
    unsigned count;
} sockets;

// The addresses of a configuration; the one for its status comes last.
static const char *sockets_address(const conf *c, unsigned i, conf_place *at)
{
    bool is_status = i == c->listen_count;
    if (i > c->listen_count || (is_status && !c->status)) return NULL;
    *at = is_status ? c->status_at : c->listens[i].at;
    return is_status ? c->status : c->listens[i].address;
}

static super_socket *sockets_find(const char *address)
{
    for (unsigned i = 0; i < sockets.count; i++) {
        if (strcmp(sockets.all[i].address, address) == 0) return &sockets.all[i];
    }
    return NULL;
}

static bool sockets_add(const char *address, int fd)
{
    super_socket *added = &sockets.all[sockets.count];
    if (sockets.count == SUPER_SOCKETS_MAX || strlen(address) >= sizeof added->address)
        return false;
    (void)snprintf(added->address, sizeof added->address, "%s", address);
    added->fd = fd;
    added->is_gone = false;
    sockets.count++;
    return true;
}

static bool sockets_listens(int fd)
{
    int listens = 0;
    socklen_t len = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens;
}

// One that the process was started with is a descriptor already.
static int sockets_open_one(conf *c, const char *address, conf_place at)
{
    unsigned number;
    int fd = -1;
    char why[512] = "";
    if (address_is_fd(address, &number)) {
        if (sockets_listens((int)number)) fd = fcntl((int)number, F_DUPFD_CLOEXEC, 10);
        if (fd < 0)
            conf_find(&c->findings, at, "descriptor %u is not a listening stream socket", number);
    } else if (skua_socket_open(address, c->server.backlog, false, &fd, why, sizeof why)) {
        conf_find(&c->findings, at, "%s", why);
        fd = -1;
    }
    return fd;
}

// Servers that leave have it, too, until they end; no client is to wait for them. Whoever connects to a socket that
// goes has been accepted before: see super_sockets_turn_away.
static void sockets_drop(unsigned i, bool removes)
{
    const super_socket *gone = &sockets.all[i];
    unsigned number;
    if (!address_is_fd(gone->address, &number)) (void)shutdown(gone->fd, SHUT_RDWR);
    (void)close(gone->fd);
    if (removes && strncmp(gone->address, "unix:/", 6) == 0) (void)unlink(gone->address + 5);
    sockets.all[i] = sockets.all[--sockets.count];
}

static bool sockets_is_listen(const conf *c, const char *address)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        if (strcmp(c->listens[i].address, address) == 0) return true;
    }
    return false;
}

static bool sockets_is_unix(const super_socket *one)
{
    return strncmp(one->address, "unix:", 5) == 0;
}

// A SYN that begins a handshake is dropped as if it were lost: who sends it tries again in a second, and is refused
// when the socket has been closed. Sockets of others stay as they are. Filters of a Unix socket would see the octets.
static void sockets_refuse(const super_socket *one, bool refuses)
{
    static const super_step steps[] = {
        { 0x30, 0, 0, 13 },         // load the octet of flags
        { 0x54, 0, 0, 0x12 },       // of it SYN and ACK
        { 0x15, 0, 1, 0x02 },       // is it SYN alone?
        { 0x06, 0, 0, 0 },          // drop
        { 0x06, 0, 0, UINT32_MAX }, // take all of it
    };
    const super_filter filter = { sizeof steps / sizeof *steps, steps };
    unsigned number;
    if (address_is_fd(one->address, &number) || sockets_is_unix(one)) return;
    (void)setsockopt(one->fd, SOL_SOCKET, refuses ? SO_ATTACH_FILTER : SO_DETACH_FILTER, &filter,
                     sizeof filter);
}

// An address that had gone is there again. Its socket is, too, unless its file had gone already.
static void sockets_return(const char *address)
{
    super_socket *one = sockets_find(address);
    if (!one || !one->is_gone) return;
    one->is_gone = false;
    sockets_refuse(one, false);
    if (sockets_is_unix(one)) sockets_drop((unsigned)(one - sockets.all), false);
}

bool super_sockets_open(conf *c)
{
    conf_place at = { 0 };
    const char *address;
    unsigned before, faults = c->findings.count;
    for (unsigned i = 0; (address = sockets_address(c, i, &at)) != NULL; i++)
        sockets_return(address);
    before = sockets.count;
    for (unsigned i = 0; (address = sockets_address(c, i, &at)) != NULL; i++) {
        bool is_there = sockets_find(address) != NULL;
        if (is_there && i == c->listen_count && sockets_is_listen(c, address))
            conf_find(&c->findings, at, "%s is an address of listen already", address);
        int fd = is_there ? -1 : sockets_open_one(c, address, at);
        if (fd >= 0 && !sockets_add(address, fd)) (void)close(fd);
    }
    if (c->findings.count == faults) return true;
    while (sockets.count > before)
        sockets_drop(sockets.count - 1, true);
    return false;
}

bool super_sockets_send(const conf *c, int control)
{
    conf_place at;
    const char *address;
    for (unsigned i = 0; (address = sockets_address(c, i, &at)) != NULL; i++) {
        const super_socket *one = sockets_find(address);
        const char *what = i == c->listen_count ? "status" : "listen";
        if (!one || !control_send(control, &one->fd, 1, "%s %u", what, i)) return false;
    }
    return true;
}

static bool sockets_has(const conf *c, const char *address)
{
    conf_place at;
    const char *one;
    for (unsigned i = 0; (one = sockets_address(c, i, &at)) != NULL; i++) {
        if (strcmp(one, address) == 0) return true;
    }
    return false;
}

void super_sockets_tell_gone(const conf *former, const conf *next, int control)
{
    for (unsigned i = 0; i < former->listen_count; i++) {
        const char *address = former->listens[i].address;
        if (!sockets_has(next, address)) (void)control_send(control, NULL, 0, "drop %s", address);
    }
}

// The file of a Unix socket goes first, so that nobody finds it.
void super_sockets_turn_away(const conf *c)
{
    for (unsigned i = 0; i < sockets.count; i++) {
        super_socket *one = &sockets.all[i];
        if (one->is_gone || sockets_has(c, one->address)) continue;
        one->is_gone = true;
        sockets_refuse(one, true);
        if (strncmp(one->address, "unix:/", 6) == 0) (void)unlink(one->address + 5);
    }
}

bool super_sockets_are_awaited(const conf *c)
{
    bool awaited = false;
    for (unsigned i = 0; i < sockets.count && !awaited; i++) {
        struct pollfd on = { .fd = sockets.all[i].fd, .events = POLLIN };
        awaited = !sockets_has(c, sockets.all[i].address) && poll(&on, 1, 0) > 0;
    }
    return awaited;
}

void super_sockets_trim(const conf *c)
{
    for (unsigned i = sockets.count; i-- > 0;) {
        if (!sockets_has(c, sockets.all[i].address)) sockets_drop(i, true);
    }
}

void super_sockets_close(void)
{
    while (sockets.count)
        sockets_drop(sockets.count - 1, true);
}

void super_sockets_save(FILE *to, int (*lend)(int fd))
{
    for (unsigned i = 0; i < sockets.count; i++)
        (void)fprintf(to, "socket %d %s\n", lend(sockets.all[i].fd), sockets.all[i].address);
}

bool super_sockets_restore(int fd, const char *address)
{
    return sockets_add(address, fd);
}

#endif
