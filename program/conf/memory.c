// SPDX-License-Identifier: MIT

#include "conf/memory.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conf_piece {
    conf_piece *before;
    void (*drop)(void *user); // NULL: it has octets alone
    void *user;
    alignas(max_align_t) char octets[];
};

void *conf_take(conf_memory *memory, size_t octets)
{
    conf_piece *piece = calloc(1, sizeof *piece + octets);
    if (!piece) {
        memory->is_out = true;
        return NULL;
    }
    piece->before = memory->last;
    memory->last = piece;
    return piece->octets;
}

char *conf_copy(conf_memory *memory, const char *text, size_t len)
{
    char *copy = conf_take(memory, len + 1);
    if (copy) memcpy(copy, text, len);
    return copy;
}

char *conf_print(conf_memory *memory, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    char *text = len < 0 ? NULL : conf_take(memory, (size_t)len + 1);
    if (text) (void)vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

bool conf_memory_on_free(conf_memory *memory, void (*drop)(void *user), void *user)
{
    if (!conf_take(memory, 0)) return false;
    memory->last->drop = drop;
    memory->last->user = user;
    return true;
}

void conf_memory_free(conf_memory *memory)
{
    while (memory->last) {
        conf_piece *piece = memory->last;
        memory->last = piece->before;
        if (piece->drop) piece->drop(piece->user);
        free(piece);
    }
}
