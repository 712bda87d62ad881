// SPDX-License-Identifier: MIT
//
// Transfer, over Linux, FreeBSD and macOS.

#include "io/transfer.h"

#include "io/system_call.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef SKUA_KQUEUE_SHIM
#include "shim.h" // FreeBSD's sendfile
#elif defined(__linux__)
#include <sys/sendfile.h>
#include <sys/syscall.h>
#endif

#ifdef __APPLE__
#include <fcntl.h>
#elif !defined(__linux__)
#include <sys/filio.h>
#endif

enum { TRANSFER_IOV_MAX = 64 };

// ---- Accepting ----

void transfer_read_peer(io_address *peer, const struct sockaddr_storage *from)
{
    *peer = (io_address){ .family = from->ss_family == AF_UNIX ? IO_FAMILY_UNIX : 0 };
    if (from->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof in);
        peer->family = 4;
        peer->port = ntohs(in.sin_port);
        memcpy(peer->octets, &in.sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, from, sizeof in);
        peer->family = 6;
        peer->port = ntohs(in.sin6_port);
        memcpy(peer->octets, &in.sin6_addr, 16);
    }
}

#ifdef __APPLE__

// Systems without accept4: a descriptor may be inherited by a program that another thread starts
// between the two calls; the kernel offers nothing against it.
static int transfer_accept_from(int listener, struct sockaddr_storage *from, socklen_t *len)
{
    int fd = accept(listener, (struct sockaddr *)from, len);
    if (fd < 0) return fd;
    int on = 1;
    // refused once the peer has reset
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    (void)close(fd);
    errno = ECONNABORTED;
    return -1;
}

#else

static int transfer_accept_from(int listener, struct sockaddr_storage *from, socklen_t *len)
{
    return accept4(listener, (struct sockaddr *)from, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

#endif

int transfer_accept(int listener, io_address *peer)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    from.ss_family = AF_UNSPEC; // a peer that has gone already may leave no address
    int fd = transfer_accept_from(listener, &from, &len);
    if (fd >= 0) transfer_read_peer(peer, &from);
    return fd;
}

// ---- Memory ----

#if defined(__linux__) && !defined(SKUA_KQUEUE_SHIM)
enum { TRANSFER_MORE = MSG_MORE };
#else
enum { TRANSFER_MORE = 0 };
#endif

#ifdef __APPLE__
enum { TRANSFER_QUIET = 0 }; // SO_NOSIGPIPE was set
#else
enum { TRANSFER_QUIET = MSG_NOSIGNAL };
#endif

// libc's functions are points at which a thread may be cancelled. Where there are several threads, that is two locked
// instructions for each call, and nobody cancels a worker. Sanitizers know libc's functions alone, and tests wrap them
// in builds that are not optimised.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define TRANSFER_IS_SEARCHED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TRANSFER_IS_SEARCHED
#endif
#endif

#if defined(SYSTEM_CALL_IS_DIRECT) && defined(SYS_recvfrom) && !defined(TRANSFER_IS_SEARCHED)

static ssize_t transfer_result(long result)
{
    if (__builtin_expect(result >= 0, 1)) return result;
    errno = (int)-result;
    return -1;
}

ssize_t transfer_recv(int fd, char *octets, size_t room)
{
    return transfer_result(system_call(SYS_recvfrom, fd, (long)octets, (long)room, 0, 0, 0));
}

static ssize_t transfer_send_octets(int fd, const char *octets, size_t len, int flags)
{
    return transfer_result(system_call(SYS_sendto, fd, (long)octets, (long)len, flags, 0, 0));
}

#else

ssize_t transfer_recv(int fd, char *octets, size_t room)
{
    return recv(fd, octets, room, 0);
}

static ssize_t transfer_send_octets(int fd, const char *octets, size_t len, int flags)
{
    return send(fd, octets, len, flags);
}

#endif

// A head and its content are one piece where the content has room before it: the kernel takes that in less time than
// two, as most of what it does for a piece does not depend on how long it is. The copy is of a few hundred octets.
// Returns whether the second piece has become both.
static bool transfer_join(out_queue *out, struct iovec *iov)
{
    const out_segment *head = out_segment_at(out, 0), *content = out_segment_at(out, 1);
    size_t len = iov[0].iov_len;
    if (head->kind != OUT_COPIED || content->kind != OUT_LENT || len > content->headroom)
        return false;
    char *at = (char *)iov[1].iov_base - len;
    memcpy(at, iov[0].iov_base, len);
    iov[1].iov_base = at;
    iov[1].iov_len += len;
    return true;
}

__attribute__((noinline)) static ssize_t transfer_send_many(int fd, out_queue *out, uint64_t most,
                                                            bool last, uint64_t *asked)
{
    struct iovec all[TRANSFER_IOV_MAX], *iov = all;
    unsigned n = transfer_gather(out, most, iov, TRANSFER_IOV_MAX, asked);
    if (n > 1 && transfer_join(out, all)) {
        iov++;
        n--;
    }
    int flags = TRANSFER_QUIET | (*asked < out->octets || last ? TRANSFER_MORE : 0);
    if (n == 1) return transfer_send_octets(fd, iov[0].iov_base, iov[0].iov_len, flags);
    // an int, or a size_t
    struct msghdr message = { .msg_iov = iov, .msg_iovlen = (unsigned short)n };
    return sendmsg(fd, &message, flags);
}

// Octets before a file wait for it. The last octets wait for the FIN that follows at once, so that
// both leave in one segment: a third of the cost of a connection per request. Most queues are one segment.
ssize_t transfer_send(int fd, out_queue *out, uint64_t most, bool last, uint64_t *asked)
{
    const out_segment *first = out_segment_at(out, 0);
    if (most > TRANSFER_OCTETS_MAX) most = TRANSFER_OCTETS_MAX;
    if (out->count != 1 || first->len > most || first->kind == OUT_FILE)
        return transfer_send_many(fd, out, most, last, asked);
    *asked = first->len;
    int flags = TRANSFER_QUIET | (last ? TRANSFER_MORE : 0);
    return transfer_send_octets(fd, first->ptr, (size_t)first->len, flags);
}

size_t transfer_send_now(const io_loop *loop, const io_stream *stream, const char *octets,
                         size_t len)
{
    (void)loop;
    ssize_t n = transfer_send_octets(stream->fd, octets, len, TRANSFER_QUIET | MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

// ---- Files ----

#if defined(__linux__) && !defined(SKUA_KQUEUE_SHIM)

static ssize_t transfer_file(int fd, int file, off_t offset, uint64_t len)
{
    return sendfile(fd, file, &offset, (size_t)len);
}

#else

// Both kernels' calls say how much left even when they failed; a length of 0 would mean all of the
// file.
static ssize_t transfer_file(int fd, int file, off_t offset, uint64_t len)
{
#ifdef __APPLE__
    off_t sent = (off_t)len;
    int failed = sendfile(file, fd, offset, &sent, NULL, 0);
#else
    off_t sent = 0;
    int failed = sendfile(file, fd, offset, (size_t)len, NULL, &sent, 0);
#endif
    return failed && sent == 0 ? -1 : (ssize_t)sent;
}

#endif

ssize_t transfer_send_file(int fd, out_queue *out, uint64_t most, uint64_t *asked)
{
    const out_segment *segment = out_segment_at(out, 0);
    if (most > TRANSFER_OCTETS_MAX) most = TRANSFER_OCTETS_MAX;
    *asked = segment->len < most ? segment->len : most;
    return transfer_file(fd, segment->file, (off_t)segment->offset, *asked);
}

// It fails only where the peer has ended the connection already.
void transfer_close_resets(int fd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static int transfer_outgoing(int fd, int *octets)
{
#ifdef __APPLE__
    socklen_t len = sizeof *octets;
    return getsockopt(fd, SOL_SOCKET, SO_NWRITE, octets, &len);
#elif defined(__linux__)
    // TIOCOUTQ is what the kernel's headers call SIOCOUTQ for sockets: libc has only the former.
    return ioctl(fd, TIOCOUTQ, octets);
#else
    return ioctl(fd, FIONWRITE, octets);
#endif
}

uint64_t transfer_unsent_of(int fd)
{
    int octets = 0;
    return transfer_outgoing(fd, &octets) == 0 && octets > 0 ? (uint64_t)octets : 0;
}

uint64_t transfer_unsent(const io_stream *stream)
{
    return transfer_unsent_of(stream->fd);
}
