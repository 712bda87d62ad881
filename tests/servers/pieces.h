// SPDX-License-Identifier: MIT
//
// Servers of sockets have this in common: messages in pieces that are sent back as they come.
#ifndef TESTS_SERVERS_PIECES_H
#define TESTS_SERVERS_PIECES_H

#include <skua/skua.h>

// Ends the process, unless it went well or the peer has left.
void must(skua_status status);

// skua_websocket_desc.receive.
void echo_piece(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                void *user);

#endif
