// SPDX-License-Identifier: MIT
//
// The routes of cpp_parts.cpp, and what it wants of the configuration.
#ifndef TESTS_SERVERS_CPP_PARTS_HPP
#define TESTS_SERVERS_CPP_PARTS_HPP

#include <skua/skua.hpp>

void add_parts_to(skua::config &config);
void add_parts(skua::server &app);

#endif
