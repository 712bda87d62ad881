// SPDX-License-Identifier: MIT
//
// The upgrade: another program goes on in the process of this one, and starts a server of its own beside the one that
// serves. When that is not ready, the program before comes back.
#ifndef PROGRAM_SUPER_UPGRADE_H
#define PROGRAM_SUPER_UPGRADE_H

#include "super/exec.h"

// Begins it: the new program is tried by another process first.
void super_upgrade_begin(super_state *s);

// A process that is no server has ended, or time has passed.
void super_upgrade_tried(super_state *s, pid_t pid, int status);
void super_upgrade_look(super_state *s, int64_t now_ns);

// In the new program: starts its server. In the one before: says why that came to nothing.
void super_upgrade_go_on(super_state *s, const char *refusal);

// Gives the upgrade up in the new program. Returns only when the one before cannot be had again.
void super_upgrade_back(super_state *s, const char *why);

// In a process that tries: whether this program can go on from the state, with the configuration as it is now.
bool super_try(const super_inherited *handed);

#endif
