// SPDX-License-Identifier: MIT
//
// The rings: system calls, mappings, and what is required of the kernel (6.1 or later).

#include "io/uring_ring.h"

#ifdef __linux__

#include "base/assert.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    URING_SETUP_FLAGS = URING_SETUP_CQSIZE | URING_SETUP_R_DISABLED | URING_SETUP_SUBMIT_ALL |
                        URING_SETUP_COOP_TASKRUN | URING_SETUP_SINGLE_ISSUER |
                        URING_SETUP_DEFER_TASKRUN,
    URING_FEATURES_NEEDED = URING_FEAT_SINGLE_MMAP | URING_FEAT_NODROP | URING_FEAT_SUBMIT_STABLE |
                            URING_FEAT_FAST_POLL | URING_FEAT_EXT_ARG | URING_FEAT_CQE_SKIP
};

// Between two attempts to enter a kernel that is short of memory.
static const int64_t uring_nap_ns = 1000000;

static const size_t uring_buffers_octets = URING_BUFFERS * sizeof(uring_buffer);
static const size_t uring_octets_octets = (size_t)URING_BUFFERS * URING_BUFFER_OCTETS;

static int uring_setup(uint32_t entries, uring_params *params)
{
    return (int)syscall(URING_SYS_SETUP, entries, params);
}

static int uring_register(int fd, unsigned opcode, void *argument, unsigned count)
{
    return (int)syscall(URING_SYS_REGISTER, fd, opcode, argument, count);
}

static int uring_enter(int fd, uint32_t submit, uint32_t wait, uint32_t flags,
                       const uring_wait_arg *arg)
{
    return (int)syscall(URING_SYS_ENTER, fd, submit, wait, flags, arg, sizeof *arg);
}

// ---- Opening ----

static skua_status uring_fail(const char **call, const char *failed)
{
    *call = failed;
    switch (errno) {
    case EACCES:
    case EPERM: return SKUA_EACCES;
    case EAGAIN:
    case ENOMEM: return SKUA_ENOMEM;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    default: return SKUA_EUNSUPPORTED;
    }
}

static size_t uring_rings_octets(const uring_params *params)
{
    size_t sq = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    size_t cq = params->cq_off.cqes + params->cq_entries * sizeof(uring_cqe);
    return sq > cq ? sq : cq;
}

static void *uring_map(size_t octets, int fd, off_t offset)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    void *map = mmap(NULL, octets, PROT_READ | PROT_WRITE, flags, fd, offset);
    return map == MAP_FAILED ? NULL : map;
}

static _Atomic uint32_t *uring_word(const uring_ring *ring, uint32_t offset)
{
    return (_Atomic uint32_t *)(void *)(ring->rings + offset);
}

// Submissions are used in order, so the indirection that the kernel offers is filled once.
static void uring_ring_lay_out(uring_ring *ring, const uring_params *params)
{
    ring->sq_head = uring_word(ring, params->sq_off.head);
    ring->sq_tail = uring_word(ring, params->sq_off.tail);
    ring->sq_flags = uring_word(ring, params->sq_off.flags);
    ring->sq_entries = params->sq_entries;
    ring->sq_mask = params->sq_entries - 1;
    ring->cq_head = uring_word(ring, params->cq_off.head);
    ring->cq_tail = uring_word(ring, params->cq_off.tail);
    ring->cq_mask = params->cq_entries - 1;
    ring->cqes = (uring_cqe *)(void *)(ring->rings + params->cq_off.cqes);
    uint32_t *order = (uint32_t *)(void *)(ring->rings + params->sq_off.array);
    for (uint32_t i = 0; i < params->sq_entries; i++)
        order[i] = i;
}

static bool uring_ring_map(uring_ring *ring, const uring_params *params)
{
    ring->rings_octets = uring_rings_octets(params);
    ring->rings = uring_map(ring->rings_octets, ring->fd, URING_OFF_RINGS);
    ring->sqes = uring_map(URING_SQ_ENTRIES * sizeof(uring_sqe), ring->fd, URING_OFF_SQES);
    ring->buffers = uring_map(uring_buffers_octets, -1, 0);
    ring->octets = uring_map(uring_octets_octets, -1, 0);
    if (!ring->rings || !ring->sqes || !ring->buffers || !ring->octets) return false;
    uring_ring_lay_out(ring, params);
    return true;
}

static bool uring_ring_offer_buffers(uring_ring *ring)
{
    uring_buffer_reg reg = { .ring_addr = (uint64_t)(uintptr_t)ring->buffers,
                             .ring_entries = URING_BUFFERS };
    if (uring_register(ring->fd, URING_REGISTER_PBUF_RING, &reg, 1) != 0) return false;
    for (uint32_t id = 0; id < URING_BUFFERS; id++)
        uring_ring_give(ring, id);
    return true;
}

// A kernel before 6.4 lets go of a file a second after it was taken out, and so would end
// connections late: none of those that are too old to say so has a table. As many files as there may
// be descriptors is what the kernel allows.
static void uring_ring_offer_files(uring_ring *ring, uint32_t features)
{
    struct rlimit limit;
    if (!(features & URING_FEAT_BUNDLE) || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    uring_files_reg reg = {
        .count = limit.rlim_cur < URING_FILES ? (uint32_t)limit.rlim_cur : URING_FILES,
        .flags = URING_FILES_EMPTY,
    };
    if (uring_register(ring->fd, URING_REGISTER_FILES2, &reg, sizeof reg) == 0)
        ring->files = reg.count;
}

static bool uring_ring_has_operations(const uring_ring *ring)
{
    static const uint8_t needed[] = { URING_POLL_ADD,     URING_SENDMSG, URING_ACCEPT,
                                      URING_ASYNC_CANCEL, URING_READ,    URING_SEND,
                                      URING_RECV,         URING_CLOSE };
    uring_probe probe;
    memset(&probe, 0, sizeof probe);
    if (uring_register(ring->fd, URING_REGISTER_PROBE, &probe, URING_PROBE_OPS) != 0) return false;
    for (size_t i = 0; i < sizeof needed; i++) {
        if (needed[i] <= probe.last_op && probe.ops[needed[i]].flags & URING_OP_SUPPORTED) continue;
        errno = ENOSYS;
        return false;
    }
    return true;
}

static bool uring_ring_setup(uring_ring *ring, uring_params *params)
{
    *params = (uring_params){ .flags = URING_SETUP_FLAGS, .cq_entries = URING_CQ_ENTRIES };
    ring->fd = uring_setup(URING_SQ_ENTRIES, params);
    if (ring->fd < 0) return false;
    if ((params->features & URING_FEATURES_NEEDED) == URING_FEATURES_NEEDED) return true;
    errno = ENOSYS;
    return false;
}

static skua_status uring_ring_make(uring_ring *ring, const char **call)
{
    uring_params params;
    if (!uring_ring_setup(ring, &params)) return uring_fail(call, "io_uring_setup");
    if (!uring_ring_map(ring, &params)) return uring_fail(call, "mmap");
    if (!uring_ring_has_operations(ring)) return uring_fail(call, "io_uring_register");
    if (!uring_ring_offer_buffers(ring)) return uring_fail(call, "io_uring_register");
    uring_ring_offer_files(ring, params.features);
    return SKUA_OK;
}

static void uring_unmap(void *map, size_t octets)
{
    if (map) (void)munmap(map, octets);
}

__attribute__((cold)) void uring_ring_close(uring_ring *ring)
{
    if (ring->fd >= 0) (void)close(ring->fd);
    uring_unmap(ring->rings, ring->rings_octets);
    uring_unmap(ring->sqes, URING_SQ_ENTRIES * sizeof(uring_sqe));
    uring_unmap(ring->buffers, uring_buffers_octets);
    uring_unmap(ring->octets, uring_octets_octets);
    *ring = (uring_ring){ .fd = -1 };
}

static skua_status uring_ring_open_here(uring_ring *ring, const char **call)
{
    *ring = (uring_ring){ .fd = -1 };
    skua_status status = uring_ring_make(ring, call);
    if (status) uring_ring_close(ring);
    return status;
}

// ---- Enabling ----

skua_status uring_ring_enable(uring_ring *ring, const char **call)
{
    SKUA_ASSERT(!ring->enabled);
    if (uring_register(ring->fd, URING_REGISTER_ENABLE_RINGS, NULL, 0) != 0)
        return uring_fail(call, "io_uring_register");
    ring->enabled = true;
    return SKUA_OK;
}

// ---- Submitting and waiting ----

uring_sqe *uring_ring_submission(uring_ring *ring)
{
    if (uring_ring_queued(ring) == ring->sq_entries && ring->enabled) {
        atomic_store_explicit(ring->sq_tail, ring->sq_local, memory_order_release);
        (void)uring_enter(ring->fd, ring->sq_entries, 0, 0, NULL);
    }
    if (uring_ring_queued(ring) == ring->sq_entries) return NULL;
    uring_sqe *sqe = &ring->sqes[ring->sq_local++ & ring->sq_mask];
    memset(sqe, 0, sizeof *sqe);
    return sqe;
}

// These errors are no failure of the ring: the time is over, a signal came, or the kernel is short
// of memory and is to be asked again.
static bool uring_is_passing(int error)
{
    return error == ETIME || error == EINTR || error == EAGAIN || error == EBUSY || error == ENOMEM;
}

// A kernel without memory does not wait as it was asked to, and may not for long.
static void uring_ring_nap(const uring_ring *ring, int64_t timeout_ns)
{
    int64_t left = timeout_ns < 0 || timeout_ns > uring_nap_ns ? uring_nap_ns : timeout_ns;
    if (!uring_ring_has_completion(ring))
        nanosleep(&(struct timespec){ .tv_nsec = (long)left }, NULL);
}

skua_status uring_ring_enter(uring_ring *ring, int64_t timeout_ns)
{
    uring_timespec limit = { .sec = timeout_ns / 1000000000, .nsec = timeout_ns % 1000000000 };
    uring_wait_arg arg = { .ts = timeout_ns < 0 ? 0 : (uint64_t)(uintptr_t)&limit };
    atomic_store_explicit(ring->sq_tail, ring->sq_local, memory_order_release);
    uint32_t flags = URING_ENTER_GETEVENTS | URING_ENTER_EXT_ARG;
    int n = uring_enter(ring->fd, uring_ring_queued(ring), timeout_ns != 0, flags, &arg);
    if (n >= 0) return SKUA_OK;
    if (!uring_is_passing(errno)) return SKUA_EIO;
    if (errno == EAGAIN || errno == ENOMEM) uring_ring_nap(ring, timeout_ns);
    return SKUA_OK;
}

// ---- Buffers ----

void uring_ring_give(uring_ring *ring, uint32_t id)
{
    uring_buffer *buffer = &ring->buffers[ring->buffers_tail & (URING_BUFFERS - 1)];
    buffer->addr = (uint64_t)(uintptr_t)uring_ring_buffer(ring, id);
    buffer->len = URING_BUFFER_OCTETS;
    buffer->id = (uint16_t)id;
    _Atomic uint16_t *tail = (_Atomic uint16_t *)(void *)&ring->buffers[0].resv;
    atomic_store_explicit(tail, ++ring->buffers_tail, memory_order_release);
}

// ---- Files ----

bool uring_ring_set_file(const uring_ring *ring, uint32_t place, int fd)
{
    int32_t descriptor = fd;
    uring_files_update update = { .first = place, .descriptors = (uint64_t)(uintptr_t)&descriptor };
    return uring_register(ring->fd, URING_REGISTER_FILES_UPDATE, &update, 1) == 1;
}

void uring_ring_drop_files(uring_ring *ring)
{
    if (ring->files) (void)uring_register(ring->fd, URING_UNREGISTER_FILES, NULL, 0);
    ring->files = 0;
}

// ---- Probing ----

static bool uring_ring_runs(uring_ring *ring)
{
    uring_cqe cqe;
    uring_sqe *sqe = uring_ring_submission(ring);
    if (!sqe) return false;
    sqe->opcode = URING_NOP;
    return uring_ring_enter(ring, 1000000000) == SKUA_OK && uring_ring_take(ring, &cqe) &&
           cqe.res == 0;
}

static skua_status uring_ring_try(uring_ring *ring, const char **call)
{
    skua_status status = uring_ring_open_here(ring, call);
    if (status) return status;
    status = uring_ring_enable(ring, call);
    if (!status && !uring_ring_runs(ring)) status = uring_fail(call, "io_uring_enter");
    uring_ring_close(ring);
    return status;
}

// ---- On a thread of their own ----

// The kernel takes a ring apart some milliseconds after it was closed, and interrupts every living
// thread that has opened or
// entered it: a call that blocks there, epoll_wait or a recv with a timeout, fails with EINTR, long
// after anything that would explain it. So the program's threads, which start and stop servers,
// touch no ring.
typedef struct uring_errand {
    skua_status (*run)(uring_ring *ring, const char **call);
    uring_ring *ring;
    const char *call;
    skua_status status;
} uring_errand;

static void *uring_errand_thread(void *user)
{
    uring_errand *errand = user;
    errand->status = errand->run(errand->ring, &errand->call);
    return NULL;
}

// The thread takes no signals, as they are the program's.
static int uring_errand_start(uring_errand *errand, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(thread, NULL, uring_errand_thread, errand);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static skua_status uring_errand_do(uring_errand *errand, const char **call)
{
    pthread_t thread;
    errno = uring_errand_start(errand, &thread);
    if (errno) return uring_fail(call, "clone");
    pthread_join(thread, NULL);
    if (errand->status) *call = errand->call;
    return errand->status;
}

__attribute__((cold)) skua_status uring_ring_open(uring_ring *ring, const char **call)
{
    return uring_errand_do(&(uring_errand){ .run = uring_ring_open_here, .ring = ring }, call);
}

__attribute__((cold)) skua_status uring_ring_probe(const char **call)
{
    uring_ring ring;
    return uring_errand_do(&(uring_errand){ .run = uring_ring_try, .ring = &ring }, call);
}

#endif
