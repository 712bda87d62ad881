// SPDX-License-Identifier: MIT
//
// The routes of cpp_content.cpp.
#ifndef TESTS_SERVERS_CPP_CONTENT_HPP
#define TESTS_SERVERS_CPP_CONTENT_HPP

#include <skua/skua.hpp>

void add_content(skua::server &app);

#endif
