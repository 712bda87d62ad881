// SPDX-License-Identifier: MIT
//
// The mark by which a thread is known.

#include "thread/here.h"

_Thread_local char here_mark;
