// SPDX-License-Identifier: MIT
//
// An attribute for functions that every request calls, and that another file defines.
#ifndef SKUA_BASE_INLINE_H
#define SKUA_BASE_INLINE_H

// With BASE_INLINE, gcc inlines the function into callers that are compiled together with it (one
// header, all files at once, at link time). Without it gcc holds the function too long for that.
// clang chooses by itself, and would warn of such functions that are called in their own file.
#ifdef __clang__
#define BASE_INLINE
#else
#define BASE_INLINE inline
#endif

// For one that gcc holds too long for that in any case. There must be few callers.
#ifdef __clang__
#define BASE_INLINE_ALWAYS
#else
#define BASE_INLINE_ALWAYS __attribute__((always_inline)) inline
#endif

#endif
