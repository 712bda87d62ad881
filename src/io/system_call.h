// SPDX-License-Identifier: MIT
//
// System calls without libc between, for those that each message makes: syscall() is reached over a table, moves its
// seven arguments around and looks for errno, as many instructions as the library needs to read a short message.
#ifndef SKUA_IO_SYSTEM_CALL_H
#define SKUA_IO_SYSTEM_CALL_H

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define SYSTEM_CALL_IS_DIRECT

// Makes the call of that number with six arguments, of which it may need fewer.
// Returns: what the kernel does: a negated errno on failure.
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory"); // the first two: where it goes on, and the flags
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                     : "memory");
    return x0;
#endif
}

#endif

#endif
