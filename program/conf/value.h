// SPDX-License-Identifier: MIT
//
// Values of skua.conf: numbers with their units. Each function writes its result only on success, and
// otherwise a sentence that names what would be right.
#ifndef PROGRAM_CONF_VALUE_H
#define PROGRAM_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONF_WHY_OCTETS = 512 };

typedef char conf_why[CONF_WHY_OCTETS];

// "10", without a sign.
bool conf_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number, conf_why why);

// Nanoseconds of "500ms", "10s", "5min", "2h", "30d".
bool conf_read_duration(const char *text, int64_t min_ns, int64_t max_ns, int64_t *ns,
                        conf_why why);

// Octets of "4096", "16KiB", "1MiB", "2GiB".
bool conf_read_octets(const char *text, uint64_t min, uint64_t max, uint64_t *octets, conf_why why);

// "on" or "off".
bool conf_read_switch(const char *text, bool *is_on, conf_why why);

// Requests per second of "50/s", "600/min", "1000/h".
bool conf_read_rate(const char *text, double *per_s, conf_why why);

// The place of text in words, of which the last is NULL.
bool conf_read_choice(const char *text, const char *const *words, size_t *place, conf_why why);

#endif
