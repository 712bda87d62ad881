// SPDX-License-Identifier: MIT
//
// The rings by system calls: one io_uring_enter submits and waits.
#include "ceiling_ring.h"

#include "ceiling.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    RING_SQ_ENTRIES = 1024,
    RING_CQ_ENTRIES = 4096,
    RING_SETUP = URING_SETUP_CQSIZE | URING_SETUP_SUBMIT_ALL | URING_SETUP_COOP_TASKRUN |
                 URING_SETUP_SINGLE_ISSUER | URING_SETUP_DEFER_TASKRUN
};

enum { RING_REGISTER_SLOTS = 13, RING_SLOTS_EMPTY = 1 };

typedef struct ring_slots {
    uint32_t count, flags;
    uint64_t resv, descriptors, tags;
} ring_slots;

_Static_assert(sizeof(ring_slots) == 32, "io_uring ABI");

ring_state ring;

// ---- Submitting and waiting ----

static uint32_t ring_queued(void)
{
    return ring.sq_local - atomic_load_explicit(ring.sq_head, memory_order_acquire);
}

static void ring_enter(uint32_t wait, uint32_t flags)
{
    atomic_store_explicit(ring.sq_tail, ring.sq_local, memory_order_release);
    long n = syscall(URING_SYS_ENTER, ring.fd, ring_queued(), wait, flags, NULL, 0);
    if (n < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) ceiling_die("io_uring_enter");
}

uring_sqe *ring_submission(uint8_t opcode, int fd, uint32_t kind)
{
    while (ring_queued() == ring.sq_entries)
        ring_enter(0, 0);
    uring_sqe *sqe = &ring.sqes[ring.sq_local++ & ring.sq_mask];
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = opcode;
    sqe->fd = fd;
    sqe->user_data = (uint64_t)kind << 32 | (uint32_t)fd;
    return sqe;
}

void ring_turn(void)
{
    ring_enter(1, URING_ENTER_GETEVENTS);
}

// ---- Buffers ----

void ring_give(uint32_t id)
{
    uring_buffer *buffer = &ring.buffers[ring.buffers_tail & (RING_BUFFERS - 1)];
    buffer->addr = (uint64_t)(uintptr_t)ring_buffer(id);
    buffer->len = RING_BUFFER_OCTETS;
    buffer->id = (uint16_t)id;
    _Atomic uint16_t *tail = (_Atomic uint16_t *)(void *)&ring.buffers[0].resv;
    atomic_store_explicit(tail, ++ring.buffers_tail, memory_order_release);
}

// ---- Opening ----

static char *ring_map(size_t octets, int fd, off_t offset)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *map = mmap(NULL, octets, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, offset);
    if (map == MAP_FAILED) ceiling_die("mmap");
    return map;
}

static _Atomic uint32_t *ring_word(char *rings, uint32_t offset)
{
    return (_Atomic uint32_t *)(void *)(rings + offset);
}

// Submissions are used in order, so the indirection that the kernel offers is filled once.
static void ring_lay_out(char *rings, const uring_params *params)
{
    ring.sq_head = ring_word(rings, params->sq_off.head);
    ring.sq_tail = ring_word(rings, params->sq_off.tail);
    ring.sq_entries = params->sq_entries;
    ring.sq_mask = params->sq_entries - 1;
    ring.cq_head = ring_word(rings, params->cq_off.head);
    ring.cq_tail = ring_word(rings, params->cq_off.tail);
    ring.cq_mask = params->cq_entries - 1;
    ring.cqes = (uring_cqe *)(void *)(rings + params->cq_off.cqes);
    uint32_t *order = (uint32_t *)(void *)(rings + params->sq_off.array);
    for (uint32_t i = 0; i < params->sq_entries; i++)
        order[i] = i;
}

static void ring_offer_buffers(void)
{
    ring.buffers = (uring_buffer *)(void *)ring_map(RING_BUFFERS * sizeof(uring_buffer), -1, 0);
    ring.octets = ring_map((size_t)RING_BUFFERS * RING_BUFFER_OCTETS, -1, 0);
    uring_buffer_reg reg = { .ring_addr = (uint64_t)(uintptr_t)ring.buffers,
                             .ring_entries = RING_BUFFERS };
    if (syscall(URING_SYS_REGISTER, ring.fd, URING_REGISTER_PBUF_RING, &reg, 1))
        ceiling_die("io_uring_register");
    for (uint32_t id = 0; id < RING_BUFFERS; id++)
        ring_give(id);
}

// As many as there may be descriptors, which is how many the kernel allows.
static void ring_offer_slots(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) ceiling_die("getrlimit");
    bool fewer = limit.rlim_cur < CEILING_CONNS_MAX;
    ring_slots slots = { .count = fewer ? (uint32_t)limit.rlim_cur : CEILING_CONNS_MAX,
                         .flags = RING_SLOTS_EMPTY };
    if (syscall(URING_SYS_REGISTER, ring.fd, RING_REGISTER_SLOTS, &slots, sizeof slots))
        ceiling_die("io_uring_register");
}

void ring_open(void)
{
    uring_params params = { .flags = RING_SETUP, .cq_entries = RING_CQ_ENTRIES };
    ring.fd = (int)syscall(URING_SYS_SETUP, RING_SQ_ENTRIES, &params);
    if (ring.fd < 0) ceiling_die("io_uring_setup");
    size_t sq = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    size_t cq = params.cq_off.cqes + params.cq_entries * sizeof(uring_cqe);
    size_t sqes = params.sq_entries * sizeof(uring_sqe);
    ring_lay_out(ring_map(sq > cq ? sq : cq, ring.fd, URING_OFF_RINGS), &params);
    ring.sqes = (uring_sqe *)(void *)ring_map(sqes, ring.fd, URING_OFF_SQES);
    ring_offer_buffers();
    ring_offer_slots();
    ring_enter(0, URING_ENTER_GETEVENTS); // which may be refused, too
}
