// SPDX-License-Identifier: MIT
//
// The kernel's interface of io_uring, as far as Skua uses it: our own declarations, because the
// headers of a distribution lag behind its kernel. Layouts are asserted here, and compared with
// liburing's in the tests.
#ifndef SKUA_IO_URING_ABI_H
#define SKUA_IO_URING_ABI_H

#include <stddef.h>
#include <stdint.h>

// Numbers of system calls, the same on every architecture that has them (but Alpha).
enum { URING_SYS_SETUP = 425, URING_SYS_ENTER = 426, URING_SYS_REGISTER = 427 };

// Operations that can be submitted.
typedef enum uring_opcode {
    URING_NOP = 0,
    URING_POLL_ADD = 6,
    URING_SENDMSG = 9,
    URING_ACCEPT = 13,
    URING_ASYNC_CANCEL = 14,
    URING_CLOSE = 19,
    URING_READ = 22,
    URING_SEND = 26,
    URING_RECV = 27,
} uring_opcode;

// uring_sqe.flags
enum {
    URING_SQE_FIXED_FILE = 1 << 0, // fd is a place in the ring's table of files
    URING_SQE_BUFFER_SELECT = 1 << 5,
    URING_SQE_SKIP_SUCCESS = 1 << 6
};

// uring_sqe.ioprio of ACCEPT and RECV
enum { URING_ACCEPT_MULTISHOT = 1 << 0, URING_RECV_MULTISHOT = 1 << 1 };

// uring_sqe.len of POLL_ADD
enum { URING_POLL_MULTISHOT = 1 << 0 };

// uring_params.flags
enum {
    URING_SETUP_CQSIZE = 1 << 3,
    URING_SETUP_R_DISABLED = 1 << 6,     // until some thread enables it, whose it is then
    URING_SETUP_SUBMIT_ALL = 1 << 7,     // go on behind a submission that is refused
    URING_SETUP_COOP_TASKRUN = 1 << 8,   // interrupt nobody for a completion
    URING_SETUP_SINGLE_ISSUER = 1 << 12, // one thread submits
    URING_SETUP_DEFER_TASKRUN = 1 << 13, // completions are made while that thread waits for them
};

// uring_params.features
enum {
    URING_FEAT_SINGLE_MMAP = 1 << 0,
    URING_FEAT_NODROP = 1 << 1,        // completions that find no room are kept
    URING_FEAT_SUBMIT_STABLE = 1 << 2, // what a submission points to is read before it returns
    URING_FEAT_FAST_POLL = 1 << 5,     // sockets are waited for without a thread
    URING_FEAT_EXT_ARG = 1 << 8,       // a time limit for waiting
    URING_FEAT_CQE_SKIP = 1 << 11,
    URING_FEAT_BUNDLE = 1 << 14, // of sends; what counts here: 6.10 or later has it
};

enum { URING_ENTER_GETEVENTS = 1 << 0, URING_ENTER_EXT_ARG = 1 << 3 };

enum {
    URING_UNREGISTER_FILES = 3,
    URING_REGISTER_FILES_UPDATE = 6,
    URING_REGISTER_PROBE = 8,
    URING_REGISTER_ENABLE_RINGS = 12,
    URING_REGISTER_FILES2 = 13,
    URING_REGISTER_PBUF_RING = 22,
};

// The flags at sq_off.flags.
enum { URING_SQ_CQ_OVERFLOW = 1 << 1 }; // completions wait for room

// uring_cqe.flags
enum { URING_CQE_BUFFER = 1 << 0, URING_CQE_MORE = 1 << 1, URING_CQE_BUFFER_SHIFT = 16 };

// uring_files_reg.flags
enum { URING_FILES_EMPTY = 1 << 0 };

enum { URING_OFF_RINGS = 0, URING_OFF_SQES = 0x10000000 };

enum { URING_OP_SUPPORTED = 1 << 0, URING_PROBE_OPS = 256 };

// A submission.
typedef struct uring_sqe {
    uint8_t opcode;
    uint8_t flags;
    uint16_t ioprio;
    int32_t fd;
    uint64_t offset; // or the address of an address's length
    uint64_t addr;
    uint32_t len;
    uint32_t op_flags; // of send, receive, accept, poll, cancel
    uint64_t user_data;
    uint16_t buf_group;
    uint16_t personality;
    union {
        uint32_t optlen;     // RECV: how many octets end a multishot
        uint32_t file_index; // CLOSE: above a place in the ring's table of files, by one
    };
    uint64_t addr3;
    uint64_t pad;
} uring_sqe;

// A completion.
typedef struct uring_cqe {
    uint64_t user_data;
    int32_t res; // as the system call would return, errors negated
    uint32_t flags;
} uring_cqe;

typedef struct uring_sq_offsets {
    uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, resv1;
    uint64_t user_addr;
} uring_sq_offsets;

typedef struct uring_cq_offsets {
    uint32_t head, tail, ring_mask, ring_entries, overflow, cqes, flags, resv1;
    uint64_t user_addr;
} uring_cq_offsets;

typedef struct uring_params {
    uint32_t sq_entries, cq_entries, flags, sq_thread_cpu, sq_thread_idle, features, wq_fd, resv[3];
    uring_sq_offsets sq_off;
    uring_cq_offsets cq_off;
} uring_params;

typedef struct uring_timespec {
    int64_t sec, nsec;
} uring_timespec;

typedef struct uring_wait_arg {
    uint64_t sigmask;
    uint32_t sigmask_octets;
    uint32_t min_wait_usec;
    uint64_t ts; // address of a uring_timespec: at most so long
} uring_wait_arg;

typedef struct uring_probe_op {
    uint8_t op, resv;
    uint16_t flags;
    uint32_t resv2;
} uring_probe_op;

typedef struct uring_probe {
    uint8_t last_op, ops_len;
    uint16_t resv;
    uint32_t resv2[3];
    uring_probe_op ops[URING_PROBE_OPS];
} uring_probe;

// A buffer offered to the kernel. The ring's tail lies in the resv of the first.
typedef struct uring_buffer {
    uint64_t addr;
    uint32_t len;
    uint16_t id;
    uint16_t resv;
} uring_buffer;

typedef struct uring_buffer_reg {
    uint64_t ring_addr;
    uint32_t ring_entries;
    uint16_t group;
    uint16_t flags;
    uint64_t resv[3];
} uring_buffer_reg;

// An empty table of files.
typedef struct uring_files_reg {
    uint32_t count;
    uint32_t flags;
    uint64_t resv;
    uint64_t descriptors, tags;
} uring_files_reg;

typedef struct uring_files_update {
    uint32_t first;
    uint32_t resv;
    uint64_t descriptors; // address of as many int32_t as are told; -1: none
} uring_files_update;

_Static_assert(sizeof(uring_files_reg) == 32, "io_uring ABI");
_Static_assert(sizeof(uring_files_update) == 16, "io_uring ABI");
_Static_assert(sizeof(uring_sqe) == 64, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, fd) == 4, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, offset) == 8, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, addr) == 16, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, len) == 24, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, op_flags) == 28, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, user_data) == 32, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, buf_group) == 40, "io_uring ABI");
_Static_assert(offsetof(uring_sqe, optlen) == 44, "io_uring ABI");
_Static_assert(sizeof(uring_cqe) == 16, "io_uring ABI");
_Static_assert(offsetof(uring_cqe, res) == 8, "io_uring ABI");
_Static_assert(sizeof(uring_sq_offsets) == 40, "io_uring ABI");
_Static_assert(sizeof(uring_cq_offsets) == 40, "io_uring ABI");
_Static_assert(sizeof(uring_params) == 120, "io_uring ABI");
_Static_assert(offsetof(uring_params, features) == 20, "io_uring ABI");
_Static_assert(offsetof(uring_params, sq_off) == 40, "io_uring ABI");
_Static_assert(sizeof(uring_timespec) == 16, "io_uring ABI");
_Static_assert(sizeof(uring_wait_arg) == 24, "io_uring ABI");
_Static_assert(offsetof(uring_wait_arg, ts) == 16, "io_uring ABI");
_Static_assert(sizeof(uring_probe_op) == 8, "io_uring ABI");
_Static_assert(offsetof(uring_probe, ops) == 16, "io_uring ABI");
_Static_assert(sizeof(uring_buffer) == 16, "io_uring ABI");
_Static_assert(offsetof(uring_buffer, resv) == 14, "io_uring ABI");
_Static_assert(sizeof(uring_buffer_reg) == 40, "io_uring ABI");
_Static_assert(offsetof(uring_buffer_reg, resv) == 16, "io_uring ABI");

#endif
