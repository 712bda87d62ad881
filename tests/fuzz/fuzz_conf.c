// SPDX-License-Identifier: MIT
//
// The reader of skua.conf. Whatever the text, the same tree and the same faults come of it in one piece and
// octet by octet; a text without a fault closes what it opens, and no place lies outside of it.
// Input: the text.

#include "program/conf/reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

typedef struct reading {
    conf_memory memory;
    conf_findings findings;
    conf_reader reader;
    const conf_directive *first;
} reading;

static reading whole, pieces;

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static const char *variable(const char *name)
{
    return strlen(name) % 2 ? "a {b\"" : NULL;
}

static void read_in(reading *r, const char *text, size_t len, size_t piece)
{
    memset(&r->findings, 0, sizeof r->findings);
    r->memory = (conf_memory){ 0 };
    r->findings.memory = &r->memory;
    conf_reader_begin(&r->reader, "f", &r->findings, variable);
    for (size_t i = 0; i < len; i += piece)
        conf_reader_feed(&r->reader, text + i, len - i < piece ? len - i : piece);
    r->first = conf_reader_end(&r->reader);
}

static void require_same_place(const conf_place *a, const conf_place *b, size_t len)
{
    require(a->line == b->line && a->column == b->column);
    require(a->line >= 1 && a->column >= 1 && a->line <= len + 1 && a->column <= len + 1);
}

static void require_same(const conf_directive *a, const conf_directive *b, size_t len)
{
    for (; a && b; a = a->next, b = b->next) {
        require(a->count == b->count && a->count >= 1 && a->has_block == b->has_block);
        require(a->has_block || !a->inner);
        for (unsigned i = 0; i < a->count; i++) {
            require(strcmp(a->words[i].text, b->words[i].text) == 0);
            require(a->words[i].is_quoted == b->words[i].is_quoted);
            require_same_place(&a->words[i].at, &b->words[i].at, len);
        }
        require_same(a->inner, b->inner, len);
    }
    require(!a && !b);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len == 0) return 0;
    read_in(&whole, (const char *)octets, len, len);
    read_in(&pieces, (const char *)octets, len, 1);
    require_same(whole.first, pieces.first, len);
    const conf_finding *a = whole.findings.first, *b = pieces.findings.first;
    for (; a && b; a = a->next, b = b->next) {
        require_same_place(&a->at, &b->at, len);
        require(strcmp(a->sentence, b->sentence) == 0);
    }
    require(!a && !b && whole.findings.count == pieces.findings.count);
    require(whole.reader.is_wrong == (whole.findings.count > 0));
    require(whole.reader.is_wrong || whole.reader.depth == 0);
    conf_memory_free(&whole.memory);
    conf_memory_free(&pieces.memory);
    return 0;
}
