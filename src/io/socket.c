// SPDX-License-Identifier: MIT
//
// Addresses and listening sockets over the BSD interface.
// Invariant: a socket_address holds a sockaddr_in, sockaddr_in6 or sockaddr_un of len octets; an
// IPv4 address written as IPv6 is held as IPv4.

#include "io/socket.h"

#include "base/assert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(sizeof(struct sockaddr_un) <= sizeof((socket_address){ 0 }.octets),
               "every address fits");

#ifdef __linux__
enum { SOCKET_HAS_ABSTRACT = 1 };
#else
enum { SOCKET_HAS_ABSTRACT = 0 };
#endif

enum { SOCKET_UNIX_ROOM = sizeof((struct sockaddr_un){ 0 }.sun_path) };

// ---- Reading ----

static bool socket_read_port(slice text, uint16_t *port)
{
    if (text.len == 0 || text.len > 5) return false;
    unsigned n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(unsigned char)text.ptr[i] - '0';
        if (digit > 9) return false;
        n = n * 10 + digit;
    }
    if (n > UINT16_MAX) return false;
    *port = (uint16_t)n;
    return true;
}

static void socket_set_ip4(socket_address *address, const uint8_t octets[4], uint16_t port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    memcpy(&in.sin_addr, octets, 4);
    *address = (socket_address){ .len = sizeof in, .is_loopback = octets[0] == 127 };
    memcpy(address->octets, &in, sizeof in);
}

static bool socket_is_mapped(const uint8_t octets[16])
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    return memcmp(octets, prefix, sizeof prefix) == 0;
}

static void socket_set_ip6(socket_address *address, const uint8_t octets[16], uint16_t port)
{
    if (socket_is_mapped(octets)) {
        socket_set_ip4(address, octets + 12, port);
        return;
    }
    static const uint8_t any[16], loopback[16] = { [15] = 1 };
    struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    memcpy(&in.sin6_addr, octets, 16);
    *address = (socket_address){
        .len = sizeof in,
        .is_loopback = memcmp(octets, loopback, 16) == 0,
        .dual_stack = memcmp(octets, any, 16) == 0,
    };
    memcpy(address->octets, &in, sizeof in);
}

// A path, or after "@" a name without a file, which the kernel marks by a NUL in front.
static skua_status socket_read_unix(slice path, socket_address *address)
{
    if (path.len == 0 || path.len >= SOCKET_UNIX_ROOM || memchr(path.ptr, 0, path.len))
        return SKUA_EINVAL;
    bool abstract = path.ptr[0] == '@';
    if (abstract && (path.len == 1 || !SOCKET_HAS_ABSTRACT)) return SKUA_EINVAL;
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    memcpy(un.sun_path, path.ptr, path.len);
    if (abstract) un.sun_path[0] = 0;
    *address = (socket_address){ .is_unix = true, .is_loopback = true };
    address->len = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + path.len + !abstract);
    memcpy(address->octets, &un, sizeof un);
    return SKUA_OK;
}

static bool socket_read_host6(slice host, uint16_t port, socket_address *address)
{
    char text[INET6_ADDRSTRLEN];
    uint8_t octets[16];
    if (host.len >= sizeof text) return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = 0;
    if (strlen(text) != host.len || inet_pton(AF_INET6, text, octets) != 1) return false;
    socket_set_ip6(address, octets, port);
    return true;
}

static bool socket_read_host4(slice host, uint16_t port, socket_address *address)
{
    char text[INET_ADDRSTRLEN];
    uint8_t octets[4] = { 127, 0, 0, 1 };
    if (!slice_equal_nocase(host, slice_of("localhost"))) {
        if (host.len >= sizeof text) return false;
        memcpy(text, host.ptr, host.len);
        text[host.len] = 0;
        if (strlen(text) != host.len || inet_pton(AF_INET, text, octets) != 1) return false;
    }
    socket_set_ip4(address, octets, port);
    return true;
}

static bool socket_read_host(slice host, uint16_t port, socket_address *address)
{
    static const uint8_t any[16];
    if (host.len == 0 || slice_equal(host, slice_of("*"))) {
        socket_set_ip6(address, any, port);
        return true;
    }
    if (host.ptr[0] != '[') return socket_read_host4(host, port, address);
    if (host.ptr[host.len - 1] != ']') return false;
    return socket_read_host6(slice_make(host.ptr + 1, host.len - 2), port, address);
}

__attribute__((cold)) skua_status socket_address_read(slice text, socket_address *address)
{
    slice unix_prefix = SKUA_SLICE("unix:");
    if (text.len >= unix_prefix.len && memcmp(text.ptr, unix_prefix.ptr, unix_prefix.len) == 0) {
        return socket_read_unix(slice_from(text, unix_prefix.len), address);
    }
    size_t host_len = text.len;
    while (host_len && text.ptr[host_len - 1] != ':')
        host_len--;
    if (host_len-- == 0) return SKUA_EINVAL; // the colon is not the host's
    uint16_t port;
    if (!socket_read_port(slice_from(text, host_len + 1), &port)) return SKUA_EINVAL;
    return socket_read_host(slice_make(text.ptr, host_len), port, address) ? SKUA_OK : SKUA_EINVAL;
}

// ---- Writing ----

static int socket_family(const socket_address *address)
{
    sa_family_t family;
    memcpy(&family, address->octets + offsetof(struct sockaddr, sa_family), sizeof family);
    return family;
}

static void socket_write_unix(const socket_address *address, char text[SOCKET_TEXT_OCTETS])
{
    struct sockaddr_un un;
    memcpy(&un, address->octets, sizeof un);
    bool abstract = un.sun_path[0] == 0;
    size_t len = address->len - offsetof(struct sockaddr_un, sun_path) - !abstract;
    if (abstract) un.sun_path[0] = '@';
    (void)snprintf(text, SOCKET_TEXT_OCTETS, "unix:%.*s", (int)len, un.sun_path);
}

static void socket_write_ip4(const socket_address *address, char text[SOCKET_TEXT_OCTETS])
{
    struct sockaddr_in in;
    char host[INET_ADDRSTRLEN] = "";
    memcpy(&in, address->octets, sizeof in);
    (void)inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
    (void)snprintf(text, SOCKET_TEXT_OCTETS, "%s:%u", host, (unsigned)ntohs(in.sin_port));
}

static void socket_write_ip6(const socket_address *address, char text[SOCKET_TEXT_OCTETS])
{
    struct sockaddr_in6 in;
    char host[INET6_ADDRSTRLEN] = "";
    memcpy(&in, address->octets, sizeof in);
    (void)inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof host);
    (void)snprintf(text, SOCKET_TEXT_OCTETS, "[%s]:%u", host, (unsigned)ntohs(in.sin6_port));
}

__attribute__((cold)) void socket_address_write(const socket_address *address,
                                                char text[SOCKET_TEXT_OCTETS])
{
    if (address->is_unix) {
        socket_write_unix(address, text);
    } else if (socket_family(address) == AF_INET) {
        socket_write_ip4(address, text);
    } else {
        socket_write_ip6(address, text);
    }
}

// Written by hand, as it is done for each connection that is logged, and snprintf takes longer than
// the rest of the line.
static size_t socket_write_quad(const uint8_t octets[4], char text[INET_ADDRSTRLEN])
{
    char *at = text;
    for (int i = 0; i < 4; i++) {
        unsigned n = octets[i];
        if (i) *at++ = '.';
        if (n >= 100) *at++ = (char)('0' + n / 100);
        if (n >= 10) *at++ = (char)('0' + n / 10 % 10);
        *at++ = (char)('0' + n % 10);
    }
    *at = 0;
    return (size_t)(at - text);
}

static void socket_write_peer(const io_address *address, char text[INET6_ADDRSTRLEN])
{
    if (address->family == 4) {
        (void)socket_write_quad(address->octets, text);
    } else if (address->family == 6 && socket_is_mapped(address->octets)) {
        (void)socket_write_quad(address->octets + 12, text);
    } else if (address->family == 6) {
        if (!inet_ntop(AF_INET6, address->octets, text, INET6_ADDRSTRLEN)) text[0] = 0;
    } else {
        (void)snprintf(text, INET6_ADDRSTRLEN, "%s",
                       address->family == IO_FAMILY_UNIX ? "unix" : "unknown");
    }
}

size_t io_address_write(const io_address *address, char *text, size_t room)
{
    if (room == 0) return 0;
    char whole[INET6_ADDRSTRLEN];
    socket_write_peer(address, whole);
    size_t len = strlen(whole);
    if (len >= room) len = room - 1;
    memcpy(text, whole, len);
    text[len] = 0;
    return len;
}

// ---- Listening ----

static skua_status socket_status(int error)
{
    switch (error) {
    case EADDRINUSE: return SKUA_EADDRINUSE;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENODEV:
    case ENOENT: // the directory of a Unix socket
    case ENOTDIR: return SKUA_EADDRNOTAVAIL;
    case EACCES:
    case EPERM:
    case EROFS: return SKUA_EACCES;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM:
    case ENOBUFS: return SKUA_ENOMEM;
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG: return SKUA_EINVAL;
    default: return SKUA_EIO;
    }
}

static const struct sockaddr *socket_sockaddr(const socket_address *address)
{
    return (const struct sockaddr *)(const void *)address->octets;
}

static int socket_get(int fd, int name)
{
    int value;
    socklen_t len = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 ? value : -1;
}

static bool socket_set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

#ifdef __APPLE__

static int socket_make(const socket_address *address)
{
    int fd = socket(socket_family(address), SOCK_STREAM, 0);
    if (fd < 0) return fd;
    (void)socket_set(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

#else

static int socket_make(const socket_address *address)
{
    return socket(socket_family(address), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

#endif

// The kernel of Linux spreads connections over the sockets that share an address. FreeBSD's does if it is told to; that of
// macOS never does.
#ifdef SO_REUSEPORT_LB
enum { SOCKET_SHARE = SO_REUSEPORT_LB, SOCKET_BALANCES = 1 };
#elif defined(__linux__)
enum { SOCKET_SHARE = SO_REUSEPORT, SOCKET_BALANCES = 1 };
#else
enum { SOCKET_SHARE = SO_REUSEPORT, SOCKET_BALANCES = 0 };
#endif

bool socket_sharing_balances(void)
{
    return SOCKET_BALANCES;
}

// Options that decide whether a bind succeeds.
static bool socket_set_sharing(const socket_address *address, int fd, bool shared)
{
    if (address->is_unix) return true;
    if (!socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1)) return false;
    if (shared && !socket_set(fd, SOL_SOCKET, SOCKET_SHARE, 1)) return false;
    if (socket_family(address) != AF_INET6) return true;
    return socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, !address->dual_stack);
}

// Options without which the server is slower, not wrong.
static void socket_set_speed(const socket_address *address, int fd)
{
    if (address->is_unix) return;
    (void)socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
#ifdef TCP_DEFER_ACCEPT
    (void)socket_set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
#endif
#ifdef TCP_CONGESTION
    // A congestion control that paces (BBR) sets a timer for each segment after the first. On
    // loopback, where a proxy in front or a developer's browser is, nothing can be congested: a
    // file costs a third less without.
    if (address->is_loopback) (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
#endif
}

#if defined(__APPLE__)
enum { SOCKET_KEEP_IDLE = TCP_KEEPALIVE };
#else
enum { SOCKET_KEEP_IDLE = TCP_KEEPIDLE };
#endif

// A peer that vanished says nothing, and without this is found out by a deadline, or never where
// there is none. Accepted sockets inherit it. A listener of somebody else's may have it already, in
// their way.
static void socket_set_keep_alive(const socket_address *address, int fd)
{
    if (address->is_unix || socket_get(fd, SO_KEEPALIVE) > 0) return;
    (void)socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    (void)socket_set(fd, IPPROTO_TCP, SOCKET_KEEP_IDLE, SOCKET_KEEP_IDLE_S);
    (void)socket_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, SOCKET_KEEP_INTERVAL_S);
    (void)socket_set(fd, IPPROTO_TCP, TCP_KEEPCNT, SOCKET_KEEP_COUNT);
}

// Options that accepted sockets are to inherit.
static void socket_set_options(const socket_address *address, int fd)
{
    socket_set_speed(address, fd);
    socket_set_keep_alive(address, fd);
}

// Opens and binds. Returns the descriptor, or a negated errno.
static int socket_bind(const socket_address *address, bool shared)
{
    int fd = socket_make(address);
    if (fd < 0) return -errno;
    if (socket_set_sharing(address, fd, shared) &&
        bind(fd, socket_sockaddr(address), address->len) == 0) {
        return fd;
    }
    int error = errno;
    (void)close(fd);
    return -error;
}

// Every address, on a machine without IPv6 (or with it turned off, which only bind tells), is
// IPv4's.
static bool socket_fall_back(socket_address *address, int error)
{
    if (!address->dual_stack || (error != EAFNOSUPPORT && error != EADDRNOTAVAIL)) return false;
    struct sockaddr_in6 in;
    memcpy(&in, address->octets, sizeof in);
    static const uint8_t any[4];
    socket_set_ip4(address, any, ntohs(in.sin6_port));
    return true;
}

static bool socket_is_file(const socket_address *address)
{
    return address->is_unix && address->octets[offsetof(struct sockaddr_un, sun_path)];
}

// Connects to the address, to see whether somebody listens. Returns 0 or an errno.
static int socket_try(const socket_address *address)
{
    int fd = socket_make(address);
    if (fd < 0) return errno;
    int error = connect(fd, socket_sockaddr(address), address->len) == 0 ? 0 : errno;
    (void)close(fd);
    return error;
}

// Whether the address names a socket file on which nobody listens.
static bool socket_is_stale(const socket_address *address)
{
    struct stat st;
    const char *path = address->octets + offsetof(struct sockaddr_un, sun_path);
    if (!socket_is_file(address) || lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
    return socket_try(address) == ECONNREFUSED;
}

static void socket_unlink_stale(const socket_address *address)
{
    if (socket_is_stale(address))
        (void)unlink(address->octets + offsetof(struct sockaddr_un, sun_path));
}

static int socket_bind_anyhow(socket_address *address, bool shared)
{
    int fd = socket_bind(address, shared);
    if (fd < 0 && socket_fall_back(address, -fd)) fd = socket_bind(address, shared);
    if (fd == -EADDRINUSE && socket_is_file(address)) {
        socket_unlink_stale(address);
        fd = socket_bind(address, shared);
    }
    return fd;
}

static bool socket_ask_port(socket_address *address, int fd)
{
    if (address->is_unix) return true;
    struct sockaddr_storage storage;
    socklen_t len = sizeof storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &len) != 0) return false;
    SKUA_ASSERT(len == address->len);
    memcpy(address->octets, &storage, len);
    return true;
}

__attribute__((cold)) skua_status socket_listen(socket_address *address, int backlog, bool shared,
                                                int *fd)
{
    socket_address chosen = *address;
    int made = socket_bind_anyhow(&chosen, shared);
    if (made < 0) return socket_status(-made);
    socket_set_options(&chosen, made);
    if (listen(made, backlog) != 0 || !socket_ask_port(&chosen, made)) {
        skua_status status = socket_status(errno);
        socket_close(&chosen, made);
        return status;
    }
    *address = chosen;
    *fd = made;
    return SKUA_OK;
}

// ---- Sockets of others ----

// Some systems number no sockets.
uint64_t socket_listener_id(int fd)
{
    struct stat st;
    if (socket_get(fd, SO_ACCEPTCONN) != 1 || fstat(fd, &st) != 0) return 0;
    return (uint64_t)st.st_ino ? (uint64_t)st.st_ino : 1;
}

static bool socket_address_of(int fd, socket_address *address)
{
    struct sockaddr_storage storage = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &len) != 0) return false;
    if (storage.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &storage, sizeof in);
        socket_set_ip4(address, (const uint8_t *)&in.sin_addr, ntohs(in.sin_port));
    } else if (storage.ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, &storage, sizeof in);
        socket_set_ip6(address, in.sin6_addr.s6_addr, ntohs(in.sin6_port));
    } else if (storage.ss_family == AF_UNIX && len <= sizeof(struct sockaddr_un)) {
        *address = (socket_address){ .len = len, .is_unix = true, .is_loopback = true };
        memcpy(address->octets, &storage, len);
    } else {
        return false;
    }
    return true;
}

__attribute__((cold)) skua_status socket_adopt(int fd, socket_address *address)
{
    socket_address found;
    if (socket_get(fd, SO_TYPE) != SOCK_STREAM || socket_get(fd, SO_ACCEPTCONN) != 1)
        return SKUA_EINVAL;
    if (!socket_address_of(fd, &found)) return SKUA_EINVAL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return SKUA_EINVAL;
    }
    socket_set_options(&found, fd);
    *address = found;
    return SKUA_OK;
}

// A full backlog, or a socket of another type, is somebody too.
static bool socket_in_use_unix(const socket_address *address)
{
    int error = socket_try(address);
    return error == 0 || error == EAGAIN || error == EPROTOTYPE;
}

// Binding without SO_REUSEPORT fails while anybody listens, whatever options they set.
bool socket_in_use(const socket_address *address)
{
    if (address->is_unix) return socket_in_use_unix(address);
    socket_address probed = *address;
    int fd = socket_bind_anyhow(&probed, false);
    if (fd >= 0) (void)close(fd);
    return fd == -EADDRINUSE;
}

// ---- Connecting ----

static skua_status socket_status_of_connecting(int error)
{
    switch (error) {
    case 0: return SKUA_OK;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOENT: return SKUA_ECLOSED;
    case EAGAIN: return SKUA_ESTATE;
    case EACCES:
    case EPERM: return SKUA_EACCES;
    case EADDRNOTAVAIL: return SKUA_EADDRNOTAVAIL;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM:
    case ENOBUFS: return SKUA_ENOMEM;
    default: return SKUA_EIO;
    }
}

int socket_connect(const socket_address *to, bool *waits)
{
    int fd = socket_make(to);
    if (fd < 0) return -(int)socket_status_of_connecting(errno);
    if (!to->is_unix) (void)socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_set_keep_alive(to, fd);
    bool connected = connect(fd, socket_sockaddr(to), to->len) == 0;
    *waits = !connected && (errno == EINPROGRESS || errno == EINTR);
    if (connected || *waits) return fd;
    skua_status status = socket_status_of_connecting(errno);
    (void)close(fd);
    return -(int)status;
}

// A kernel that tells of an error may take it from the socket by that: then there is no peer.
skua_status socket_connect_status(int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    int error = socket_get(fd, SO_ERROR);
    if (error == 0 && getpeername(fd, (struct sockaddr *)&peer, &len) != 0) error = ECONNREFUSED;
    return socket_status_of_connecting(error);
}

// ---- The end of listening ----

#ifdef SO_ATTACH_FILTER

// Of classic BPF, as the kernel has them.
typedef struct socket_step {
    uint16_t code;
    uint8_t when_true, when_false;
    uint32_t k;
} socket_step;

typedef struct socket_filter {
    uint16_t count;
    const socket_step *steps;
} socket_filter;

// A segment begins with the header of TCP. The first of a handshake is dropped, as if it were lost on its way.
static void socket_drop_beginnings(int fd)
{
    static const socket_step steps[] = {
        { 0x30, 0, 0, 13 },        // load the octet of flags
        { 0x54, 0, 0, 0x12 },      // of it SYN and ACK
        { 0x15, 0, 1, 0x02 },      // is it SYN alone?
        { 0x06, 0, 0, 0 },         // drop
        { 0x06, 0, 0, UINT32_MAX } // take all of it
    };
    const socket_filter filter = { sizeof steps / sizeof *steps, steps };
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

__attribute__((cold)) void socket_turn_away(int fd)
{
    socket_drop_beginnings(fd);
    (void)socket_set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
}

#else

__attribute__((cold)) void socket_turn_away(int fd)
{
    (void)fd;
}

#endif

void socket_retract(const socket_address *address)
{
    if (socket_is_file(address))
        (void)unlink(address->octets + offsetof(struct sockaddr_un, sun_path));
}

// The file goes only if nobody answers on it any more: somebody else may have taken the name since.
void socket_close(const socket_address *address, int fd)
{
    (void)close(fd);
    socket_unlink_stale(address);
}
