// SPDX-License-Identifier: MIT
//
// Cores: how many of them this process may keep busy.
#ifndef SKUA_THREAD_CORES_H
#define SKUA_THREAD_CORES_H

// At least 1: the cores it may run on, or as many as its share of time comes to when that is less.
unsigned cores_usable(void);

// The cores that the control groups of this process (version 1 or 2) allow, rounded up; 0: any
// number.
// root: the folder that stands for "/", without a slash at its end: "" but in tests.
unsigned cores_allowed(const char *root);

#endif
