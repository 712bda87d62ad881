// SPDX-License-Identifier: MIT
//
// The page of the status listener. It loads nothing but its events.
#ifndef PROGRAM_STATUS_PAGE_H
#define PROGRAM_STATUS_PAGE_H

#include <stddef.h>

extern const char *const status_page[]; // its lines, then NULL
extern const char status_page_policy[]; // its Content-Security-Policy

#endif
