// SPDX-License-Identifier: MIT
//
// Memory of a configuration: allocated piece by piece, freed all at once.
#ifndef PROGRAM_CONF_MEMORY_H
#define PROGRAM_CONF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct conf_piece conf_piece;

// Zeroed before its first use.
typedef struct conf_memory {
    conf_piece *last;
    bool is_out; // none could be had at least once
} conf_memory;

// Zeroed octets, aligned for any object; NULL when there are none, and is_out is set.
void *conf_take(conf_memory *memory, size_t octets);

// A copy of len octets with a NUL behind them.
char *conf_copy(conf_memory *memory, const char *text, size_t len);

// A text as printf makes it.
__attribute__((format(printf, 2, 3))) char *conf_print(conf_memory *memory, const char *format,
                                                       ...);

// drop is called with user when the memory is freed, before any that was taken or asked for earlier is. Returns: false
// when there is no memory for it; drop is not called then.
bool conf_memory_on_free(conf_memory *memory, void (*drop)(void *user), void *user);

void conf_memory_free(conf_memory *memory);

#endif
