// SPDX-License-Identifier: MIT
//
// RAM: how much of it this process may use.
#ifndef SKUA_THREAD_RAM_H
#define SKUA_THREAD_RAM_H

#include <stdint.h>

// Octets: what the machine has, or what control groups allow when that is less; 0: nobody tells.
uint64_t ram_usable(void);

// The octets that the control groups of this process (version 1 or 2) allow; 0: all of the
// machine's. root: as of groups_least.
uint64_t ram_allowed(const char *root);

#endif
