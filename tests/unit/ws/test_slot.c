// SPDX-License-Identifier: MIT
//
// Slots of sockets that have closed while letters to them are under way.

#include "ws/slot.h"

#include "thread/here.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#ifndef SKUA_NO_WEBSOCKET

static skua_worker worker;

static void test_a_closed_socket_is_nobodys_while_a_letter_is_under_way(void **state)
{
    (void)state;
    ws_slot *slot;
    uint64_t word;
    int object = 0;
    worker.disk.thread = thread_here();
    assert_int_equal(ws_slot_take(&worker, &slot), SKUA_OK);
    skua_socket socket = ws_slot_open(slot, NULL);
    assert_int_equal(skua_socket_set(socket, &object), SKUA_OK);
    assert_ptr_equal(ws_slot_find(socket, &word), slot);
    assert_int_equal(ws_slot_pin(slot, word, true), SKUA_OK);
    assert_ptr_equal(skua_socket_get(socket), &object); // it closes, and has not yet

    ws_slot_close(slot);
    assert_int_equal(worker.orphans, 1);
    assert_null(skua_socket_get(socket));
    assert_int_equal(skua_socket_set(socket, &object), SKUA_ECLOSED);

    ws_slot_unpin(slot);
    assert_int_equal(worker.orphans, 0);
    assert_null(skua_socket_get(socket));
    ws_slot_give_back(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_closed_socket_is_nobodys_while_a_letter_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
