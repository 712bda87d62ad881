// SPDX-License-Identifier: MIT
//
// The routes of cpp_parts.cpp and cpp_requests.cpp, and their wishes about the configuration.
#ifndef TESTS_SERVERS_CPP_PARTS_HPP
#define TESTS_SERVERS_CPP_PARTS_HPP

#include <skua/skua.hpp>

void add_parts_to(skua::config &config);
void add_parts(skua::server &app);
void add_requests(skua::server &app);

// Runs a server by a loop of its own, until it is stopped.
void turn(skua::server &app);

#endif
