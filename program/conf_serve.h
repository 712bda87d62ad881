// SPDX-License-Identifier: MIT
//
// Serving what a skua.conf says, checking it, and explaining it.
#ifndef PROGRAM_CONF_SERVE_H
#define PROGRAM_CONF_SERVE_H

#include <stdbool.h>

// Serves until it is stopped. quiet: nothing is said but faults. Returns whether it was stopped, and did not
// fail; why has then been said.
bool conf_serve(const char *file, bool quiet);

// Says what is wrong in the file, or that nothing is.
bool conf_is_right(const char *file);

// Says what a request for the URL would meet, and what its response would be.
bool conf_explain_url(const char *file, const char *url);

#endif
