// SPDX-License-Identifier: MIT
//
// Locks: the passwords and tokens that apply to a request. Those of the blocks around it add up;
// "off" removes the outer ones of its kind.
#ifndef PROGRAM_CONF_LOCK_H
#define PROGRAM_CONF_LOCK_H

#include "conf/table.h"

// Whether a guard is among those that hold for a method. first: the innermost one; NULL: there are none.
bool conf_lock_holds(const conf_lock *first, const conf_guard *guard, skua_slice method);

// Whether every lock that holds there has been opened by whoever has opened those of another scope. own, locks: the
// innermost of each.
bool conf_lock_is_open(const conf_lock *own, const conf_lock *locks, skua_slice method);

// The same of the locks that a scope has beside those that it shares with own, of outer blocks: what own takes away of
// these counts as opened.
bool conf_lock_adds_none(const conf_scope *own, const conf_scope *scope, skua_slice method);

// Looks whether the locks of a scope can be opened. A request has one Authorization field, with a password or a token.
void conf_check_locks(conf_checker *checker, const conf_scope *scope);

#endif
