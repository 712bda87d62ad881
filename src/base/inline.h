// SPDX-License-Identifier: MIT
//
// A function that every request calls, and that another file defines.
#ifndef SKUA_BASE_INLINE_H
#define SKUA_BASE_INLINE_H

// Has gcc inline the function where its caller is compiled together with it (one header, all files at
// once, at link time), which it would hold too long for that. clang chooses by itself, and would warn
// of functions of the same file that are called.
#ifdef __clang__
#define BASE_INLINE
#else
#define BASE_INLINE inline
#endif

#endif
