// SPDX-License-Identifier: MIT
//
// The kernel's interface as Skua declares it, against liburing's declarations and functions.

#include "io/uring_ring.h"

#include <liburing.h>

#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SAME_MEMBER(ours, our_member, theirs, their_member)                                        \
    do {                                                                                           \
        assert_int_equal(offsetof(ours, our_member), offsetof(struct theirs, their_member));       \
        assert_int_equal(sizeof((ours){ 0 }.our_member),                                           \
                         sizeof((struct theirs){ 0 }.their_member));                               \
    } while (0)

static void test_layouts(void **state)
{
    (void)state;
    assert_int_equal(sizeof(uring_sqe), sizeof(struct io_uring_sqe));
    SAME_MEMBER(uring_sqe, opcode, io_uring_sqe, opcode);
    SAME_MEMBER(uring_sqe, flags, io_uring_sqe, flags);
    SAME_MEMBER(uring_sqe, ioprio, io_uring_sqe, ioprio);
    SAME_MEMBER(uring_sqe, fd, io_uring_sqe, fd);
    SAME_MEMBER(uring_sqe, offset, io_uring_sqe, off);
    SAME_MEMBER(uring_sqe, addr, io_uring_sqe, addr);
    SAME_MEMBER(uring_sqe, len, io_uring_sqe, len);
    SAME_MEMBER(uring_sqe, op_flags, io_uring_sqe, msg_flags);
    SAME_MEMBER(uring_sqe, op_flags, io_uring_sqe, accept_flags);
    SAME_MEMBER(uring_sqe, op_flags, io_uring_sqe, poll32_events);
    SAME_MEMBER(uring_sqe, op_flags, io_uring_sqe, cancel_flags);
    SAME_MEMBER(uring_sqe, user_data, io_uring_sqe, user_data);
    SAME_MEMBER(uring_sqe, buf_group, io_uring_sqe, buf_group);
    SAME_MEMBER(uring_sqe, personality, io_uring_sqe, personality);
    SAME_MEMBER(uring_sqe, optlen, io_uring_sqe, file_index);
    SAME_MEMBER(uring_sqe, file_index, io_uring_sqe, file_index);
    SAME_MEMBER(uring_cqe, user_data, io_uring_cqe, user_data);
    SAME_MEMBER(uring_cqe, res, io_uring_cqe, res);
    SAME_MEMBER(uring_cqe, flags, io_uring_cqe, flags);
}

static void test_layouts_of_setup(void **state)
{
    (void)state;
    assert_int_equal(sizeof(uring_params), sizeof(struct io_uring_params));
    SAME_MEMBER(uring_params, sq_entries, io_uring_params, sq_entries);
    SAME_MEMBER(uring_params, cq_entries, io_uring_params, cq_entries);
    SAME_MEMBER(uring_params, flags, io_uring_params, flags);
    SAME_MEMBER(uring_params, features, io_uring_params, features);
    SAME_MEMBER(uring_params, sq_off, io_uring_params, sq_off);
    SAME_MEMBER(uring_params, cq_off, io_uring_params, cq_off);
    SAME_MEMBER(uring_sq_offsets, head, io_sqring_offsets, head);
    SAME_MEMBER(uring_sq_offsets, tail, io_sqring_offsets, tail);
    SAME_MEMBER(uring_sq_offsets, flags, io_sqring_offsets, flags);
    SAME_MEMBER(uring_sq_offsets, array, io_sqring_offsets, array);
    SAME_MEMBER(uring_cq_offsets, head, io_cqring_offsets, head);
    SAME_MEMBER(uring_cq_offsets, tail, io_cqring_offsets, tail);
    SAME_MEMBER(uring_cq_offsets, cqes, io_cqring_offsets, cqes);
    assert_int_equal(sizeof(uring_wait_arg), sizeof(struct io_uring_getevents_arg));
    SAME_MEMBER(uring_wait_arg, sigmask, io_uring_getevents_arg, sigmask);
    SAME_MEMBER(uring_wait_arg, sigmask_octets, io_uring_getevents_arg, sigmask_sz);
    SAME_MEMBER(uring_wait_arg, ts, io_uring_getevents_arg, ts);
    assert_int_equal(sizeof(uring_timespec), sizeof(struct __kernel_timespec));
    SAME_MEMBER(uring_timespec, nsec, __kernel_timespec, tv_nsec);
}

static void test_layouts_of_registration(void **state)
{
    (void)state;
    assert_int_equal(sizeof(uring_probe_op), sizeof(struct io_uring_probe_op));
    SAME_MEMBER(uring_probe_op, flags, io_uring_probe_op, flags);
    SAME_MEMBER(uring_probe, last_op, io_uring_probe, last_op);
    assert_int_equal(offsetof(uring_probe, ops), offsetof(struct io_uring_probe, ops));
    assert_int_equal(sizeof(uring_buffer), sizeof(struct io_uring_buf));
    SAME_MEMBER(uring_buffer, addr, io_uring_buf, addr);
    SAME_MEMBER(uring_buffer, len, io_uring_buf, len);
    SAME_MEMBER(uring_buffer, id, io_uring_buf, bid);
    assert_int_equal(offsetof(uring_buffer, resv), offsetof(struct io_uring_buf_ring, tail));
    assert_int_equal(sizeof(uring_buffer_reg), sizeof(struct io_uring_buf_reg));
    SAME_MEMBER(uring_buffer_reg, ring_addr, io_uring_buf_reg, ring_addr);
    SAME_MEMBER(uring_buffer_reg, ring_entries, io_uring_buf_reg, ring_entries);
    SAME_MEMBER(uring_buffer_reg, group, io_uring_buf_reg, bgid);
    assert_int_equal(sizeof(uring_files_reg), sizeof(struct io_uring_rsrc_register));
    SAME_MEMBER(uring_files_reg, count, io_uring_rsrc_register, nr);
    assert_int_equal(sizeof(uring_files_update), sizeof(struct io_uring_files_update));
    SAME_MEMBER(uring_files_update, first, io_uring_files_update, offset);
    SAME_MEMBER(uring_files_update, descriptors, io_uring_files_update, fds);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t ours, theirs;
    } numbers[] = {
        { "io_uring_setup", URING_SYS_SETUP, __NR_io_uring_setup },
        { "io_uring_enter", URING_SYS_ENTER, __NR_io_uring_enter },
        { "io_uring_register", URING_SYS_REGISTER, __NR_io_uring_register },
        { "NOP", URING_NOP, IORING_OP_NOP },
        { "POLL_ADD", URING_POLL_ADD, IORING_OP_POLL_ADD },
        { "SENDMSG", URING_SENDMSG, IORING_OP_SENDMSG },
        { "ACCEPT", URING_ACCEPT, IORING_OP_ACCEPT },
        { "ASYNC_CANCEL", URING_ASYNC_CANCEL, IORING_OP_ASYNC_CANCEL },
        { "CLOSE", URING_CLOSE, IORING_OP_CLOSE },
        { "READ", URING_READ, IORING_OP_READ },
        { "SEND", URING_SEND, IORING_OP_SEND },
        { "RECV", URING_RECV, IORING_OP_RECV },
        { "FIXED_FILE", URING_SQE_FIXED_FILE, IOSQE_FIXED_FILE },
        { "BUFFER_SELECT", URING_SQE_BUFFER_SELECT, IOSQE_BUFFER_SELECT },
        { "SKIP_SUCCESS", URING_SQE_SKIP_SUCCESS, IOSQE_CQE_SKIP_SUCCESS },
        { "ACCEPT_MULTISHOT", URING_ACCEPT_MULTISHOT, IORING_ACCEPT_MULTISHOT },
        { "RECV_MULTISHOT", URING_RECV_MULTISHOT, IORING_RECV_MULTISHOT },
        { "POLL_MULTISHOT", URING_POLL_MULTISHOT, IORING_POLL_ADD_MULTI },
        { "CQSIZE", URING_SETUP_CQSIZE, IORING_SETUP_CQSIZE },
        { "R_DISABLED", URING_SETUP_R_DISABLED, IORING_SETUP_R_DISABLED },
        { "SUBMIT_ALL", URING_SETUP_SUBMIT_ALL, IORING_SETUP_SUBMIT_ALL },
        { "COOP_TASKRUN", URING_SETUP_COOP_TASKRUN, IORING_SETUP_COOP_TASKRUN },
        { "SINGLE_ISSUER", URING_SETUP_SINGLE_ISSUER, IORING_SETUP_SINGLE_ISSUER },
        { "DEFER_TASKRUN", URING_SETUP_DEFER_TASKRUN, IORING_SETUP_DEFER_TASKRUN },
        { "SINGLE_MMAP", URING_FEAT_SINGLE_MMAP, IORING_FEAT_SINGLE_MMAP },
        { "NODROP", URING_FEAT_NODROP, IORING_FEAT_NODROP },
        { "SUBMIT_STABLE", URING_FEAT_SUBMIT_STABLE, IORING_FEAT_SUBMIT_STABLE },
        { "FAST_POLL", URING_FEAT_FAST_POLL, IORING_FEAT_FAST_POLL },
        { "EXT_ARG", URING_FEAT_EXT_ARG, IORING_FEAT_EXT_ARG },
        { "CQE_SKIP", URING_FEAT_CQE_SKIP, IORING_FEAT_CQE_SKIP },
        { "GETEVENTS", URING_ENTER_GETEVENTS, IORING_ENTER_GETEVENTS },
        { "ENTER_EXT_ARG", URING_ENTER_EXT_ARG, IORING_ENTER_EXT_ARG },
        { "UNREGISTER_FILES", URING_UNREGISTER_FILES, IORING_UNREGISTER_FILES },
        { "FILES_UPDATE", URING_REGISTER_FILES_UPDATE, IORING_REGISTER_FILES_UPDATE },
        { "REGISTER_FILES2", URING_REGISTER_FILES2, IORING_REGISTER_FILES2 },
        { "REGISTER_PROBE", URING_REGISTER_PROBE, IORING_REGISTER_PROBE },
        { "ENABLE_RINGS", URING_REGISTER_ENABLE_RINGS, IORING_REGISTER_ENABLE_RINGS },
        { "PBUF_RING", URING_REGISTER_PBUF_RING, IORING_REGISTER_PBUF_RING },
        { "F_BUFFER", URING_CQE_BUFFER, IORING_CQE_F_BUFFER },
        { "F_MORE", URING_CQE_MORE, IORING_CQE_F_MORE },
        { "SQ_CQ_OVERFLOW", URING_SQ_CQ_OVERFLOW, IORING_SQ_CQ_OVERFLOW },
        { "BUFFER_SHIFT", URING_CQE_BUFFER_SHIFT, IORING_CQE_BUFFER_SHIFT },
        { "OFF_RINGS", URING_OFF_RINGS, IORING_OFF_SQ_RING },
        { "OFF_SQES", URING_OFF_SQES, IORING_OFF_SQES },
        { "OP_SUPPORTED", URING_OP_SUPPORTED, IO_URING_OP_SUPPORTED },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].ours != numbers[i].theirs) fail_msg("%s", numbers[i].name);
    }
}

static bool ring_is_offered(uring_ring *ring)
{
    const char *call;
    if (uring_ring_open(ring, &call)) {
        print_message("io_uring is not to be had here: %s\n", call);
        return false;
    }
    assert_int_equal(uring_ring_enable(ring, &call), SKUA_OK);
    return true;
}

// A submission that liburing wrote, run by our ring.
static void test_submission_of_liburing(void **state)
{
    (void)state;
    uring_ring ring;
    uring_cqe cqe;
    int ends[2];
    char room[8] = "";
    if (!ring_is_offered(&ring)) skip();
    assert_int_equal(pipe(ends), 0);
    struct io_uring_sqe theirs;
    memset(&theirs, 0, sizeof theirs);
    io_uring_prep_read(&theirs, ends[0], room, sizeof room, 0);
    io_uring_sqe_set_data64(&theirs, 77);
    memcpy(uring_ring_submission(&ring), &theirs, sizeof theirs);
    assert_int_equal(uring_ring_queued(&ring), 1);
    assert_int_equal(uring_ring_enter(&ring, 1000000), SKUA_OK);
    assert_int_equal(uring_ring_queued(&ring), 0);
    assert_false(uring_ring_take(&ring, &cqe));
    assert_int_equal(write(ends[1], "skua", 4), 4);
    assert_int_equal(uring_ring_enter(&ring, -1), SKUA_OK);
    assert_true(uring_ring_take(&ring, &cqe));
    assert_int_equal(cqe.user_data, 77);
    assert_int_equal(cqe.res, 4);
    assert_memory_equal(room, "skua", 4);
    uring_ring_close(&ring);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

// More submissions than there is room for are submitted on the way.
static void test_more_submissions_than_room(void **state)
{
    (void)state;
    uring_ring ring;
    uring_cqe cqe;
    unsigned done = 0;
    if (!ring_is_offered(&ring)) skip();
    for (unsigned i = 0; i < 3 * URING_SQ_ENTRIES; i++) {
        uring_sqe *sqe = uring_ring_submission(&ring);
        assert_non_null(sqe);
        sqe->opcode = URING_NOP;
        sqe->user_data = i;
    }
    while (done < 3 * URING_SQ_ENTRIES) {
        assert_int_equal(uring_ring_enter(&ring, 1000000000), SKUA_OK);
        while (uring_ring_take(&ring, &cqe))
            assert_int_equal(cqe.user_data, done++);
    }
    uring_ring_close(&ring);
}

static void test_probe(void **state)
{
    (void)state;
    uring_ring ring;
    const char *call = NULL;
    if (!ring_is_offered(&ring)) skip();
    uring_ring_close(&ring);
    assert_int_equal(uring_ring_probe(&call), SKUA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_layouts_of_setup),
        cmocka_unit_test(test_layouts_of_registration),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_submission_of_liburing),
        cmocka_unit_test(test_more_submissions_than_room),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
