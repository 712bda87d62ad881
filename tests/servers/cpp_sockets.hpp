// SPDX-License-Identifier: MIT
//
// The routes of cpp_sockets.cpp.
#ifndef TESTS_SERVERS_CPP_SOCKETS_HPP
#define TESTS_SERVERS_CPP_SOCKETS_HPP

#include <skua/skua.hpp>

void add_sockets(skua::server &app);

// Whether descriptions that cannot be are refused.
bool sockets_are_refused();

#endif
