// SPDX-License-Identifier: MIT
//
// Messages in pieces that are sent back.
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>

void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "unexpected status: %s\n", skua_status_text(status));
    abort();
}

void echo_piece(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                void *user)
{
    (void)user;
    switch (event) {
    case SKUA_MESSAGE_BEGIN: must(skua_socket_begin(socket, text)); return;
    case SKUA_MESSAGE_DATA:
        must(skua_socket_write(socket, octets));
        skua_socket_consume(socket, octets.len);
        return;
    case SKUA_MESSAGE_END: must(skua_socket_end(socket)); return;
    }
}
