// SPDX-License-Identifier: MIT
//
// The contract of skua.h, as far as the program has to keep it. A violation stops the process, in
// release builds too, with a sentence that names the function that was called and says what to do
// instead. Nothing that a peer, the kernel or a disk can cause is a violation: such errors are
// values.
#ifndef SKUA_BASE_CONTRACT_H
#define SKUA_BASE_CONTRACT_H

#include "base/slice.h"

// Builds that look for faults take longer to use the memory of what is gone again: those for a
// sanitizer, and those without optimisation.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define CONTRACT_IS_SEARCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONTRACT_IS_SEARCHED 1
#else
#define CONTRACT_IS_SEARCHED 0
#endif
#else
#define CONTRACT_IS_SEARCHED 0
#endif

// To be used in functions of skua.h alone, whose name is told.
// kept: what must be true. sentence: why not, and the remedy.
#define CONTRACT(kept, sentence) CONTRACT_OF(__func__, kept, sentence)

// The same on behalf of a function of skua.h, for what several have in common.
#define CONTRACT_OF(function, kept, sentence)                                                      \
    (__builtin_expect(!(kept), 0) ? contract_broken(function, sentence) : (void)0)

// An argument that must not be NULL, under its name in skua.h.
#define CONTRACT_GIVEN(argument) CONTRACT_GIVEN_TO(__func__, argument)
#define CONTRACT_GIVEN_TO(function, argument)                                                      \
    CONTRACT_OF(function, argument, #argument " must not be NULL")

// A slice that must have octets where it has a length.
#define CONTRACT_SLICE(argument)                                                                   \
    CONTRACT((argument).ptr || !(argument).len, #argument " has a length, but ptr is NULL")

#define CONTRACT_SERVER(server)                                                                    \
    CONTRACT(server, "server must not be NULL; look at what skua_server_new has returned")

// The function of skua.h on whose behalf this thread calls another one of them: its name is told if
// that other one finds the contract broken. NULL: none.
extern _Thread_local const char *contract_speaker;

// How much of the name of a function is told: that which the program calls.
int contract_name_octets(const char *function);

__attribute__((noreturn, cold)) void contract_broken(const char *function, const char *sentence);

#endif
