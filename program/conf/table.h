// SPDX-License-Identifier: MIT
//
// The table of directives. The checker goes by it, and the manual and the tests are compared with it.
#ifndef PROGRAM_CONF_TABLE_H
#define PROGRAM_CONF_TABLE_H

#include "conf/conf.h"
#include "conf/value.h"

enum {
    CONF_IN_FILE = 1,
    CONF_IN_DEFAULTS = 2,
    CONF_IN_SITE = 4,
    CONF_IN_PATH = 8,
    CONF_IN_METHOD = 16
};

// The reading of one configuration.
typedef struct conf_checker {
    conf *conf;
    conf_findings *findings;
    conf_site *site;     // NULL: outside of sites
    conf_scope *scope;   // NULL: outside of all that has one
    const char *methods; // of the block, with spaces between them; NULL: it is for all
} conf_checker;

typedef struct conf_kind conf_kind;

// Takes a directive, whose words are as many as its kind allows. Faults become findings.
typedef void conf_take_fn(conf_checker *checker, const conf_kind *kind,
                          const conf_directive *given);

struct conf_kind {
    const char *name;
    unsigned where;
    const char *arguments; // as they are written in the manual
    const char *otherwise; // the default; "" where there is none
    const char *example;
    conf_take_fn *take;
    unsigned least, most; // arguments
    bool repeats;         // may stand several times in a block
    bool has_block;
    bool is_live; // of those of the file: a reload changes it, and not the next start alone
    // Of those that set one member of skua_config.
    size_t offset, width; // in octets
    uint64_t min, max;
};

// All of them, by numbers from 0 on; NULL behind the last.
const conf_kind *conf_kind_at(unsigned number);

// NULL: there is none of that name.
const conf_kind *conf_kind_find(const char *name);

// Looks at each directive of a block, and lets its kind take it.
void conf_check_block(conf_checker *checker, const conf_directive *first, unsigned where);

// Whether a directive has that name, and a block.
bool conf_is(const conf_directive *directive, const char *name);

// The name of the directive that may be meant; NULL: none is near. Names from other servers are known.
const char *conf_kind_nearest(const char *name);

#endif
