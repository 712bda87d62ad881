// SPDX-License-Identifier: MIT
//
// Assertions about the library itself. When one is false, the process is stopped, in release builds
// too. Nothing that a peer, the kernel or a disk can cause is asserted. The rules that the program
// has to keep are checked in contract.h.
#ifndef SKUA_BASE_ASSERT_H
#define SKUA_BASE_ASSERT_H

// A program may define its own, which must not return when the condition is false.
#ifdef SKUA_ASSERT
#define ASSERT_IS_THE_PROGRAMS 1
#else
#define ASSERT_IS_THE_PROGRAMS 0
#define SKUA_ASSERT(condition)                                                                     \
    (__builtin_expect(!(condition), 0) ? assert_failed(#condition, __FILE__, __LINE__) : (void)0)
#endif

__attribute__((noreturn, cold)) void assert_failed(const char *condition, const char *file,
                                                   int line);

enum { ASSERT_SENTENCE_OCTETS = 512 };

// Tells a sentence, on standard error unless assert_tell said otherwise.
void assert_say(const char *sentence);

// Makes assert_say call tell; NULL: it writes to standard error.  Thread: any.
void assert_tell(void (*tell)(const char *sentence));

#endif
