// SPDX-License-Identifier: MIT
//
// Directives of limits per client.

#include "conf/take.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_FAIL(c, word, ...) conf_find((c)->findings, (word)->at, __VA_ARGS__)

// Returns: whether a limit is meant; nothing takes an outer one away.
static bool limit_is_meant(conf_checker *c, const conf_word *word)
{
    if (strcmp(word->text, "off") != 0) return true;
    LIMIT_FAIL(c, word,
               "limits add up, so that none can be taken away; put this one where it is to hold");
    return false;
}

static void limit_add(conf_checker *c, const conf_directive *d, conf_limit limit)
{
    conf_limit *added = conf_take(c->findings->memory, sizeof *added);
    if (!added) return;
    limit.at = d->words[0].at;
    limit.methods = c->methods;
    limit.next = c->scope->limits;
    *added = limit;
    c->scope->limits = added;
}

void conf_take_limit(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    double per_s;
    uint64_t burst = 0;
    const char *text = d->words[1].text;
    if (!limit_is_meant(c, &d->words[1])) return;
    if (!conf_read_rate(text, &per_s, why)) {
        LIMIT_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
    } else if (d->count > 2 && strcmp(d->words[2].text, "burst") != 0) {
        LIMIT_FAIL(c, &d->words[2], "behind the rate there may be burst and a number, not \"%s\"",
                   d->words[2].text);
    } else if (d->count == 3) {
        LIMIT_FAIL(c, &d->words[2], "burst lacks its number: %s", kind->example);
    } else if (d->count == 4 && !conf_read_number(d->words[3].text, 1, 1000000, &burst, why)) {
        LIMIT_FAIL(c, &d->words[3], "%s: %s", kind->name, why);
    } else {
        limit_add(c, d, (conf_limit){ .per_s = per_s, .burst = (double)burst });
    }
}

void conf_take_connections(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    uint64_t most;
    if (!limit_is_meant(c, &d->words[1])) return;
    if (conf_read_number(d->words[1].text, 1, 1000000, &most, why))
        limit_add(c, d, (conf_limit){ .running_max = (unsigned)most });
    else LIMIT_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_bandwidth(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    const char *slash = strrchr(word->text, '/');
    const uint64_t most = (uint64_t)1 << 40;
    conf_why why;
    uint64_t octets;
    if (!limit_is_meant(c, word)) return;
    if (!slash || strcmp(slash, "/s") != 0) {
        LIMIT_FAIL(c, word, "%s: use octets per second, such as 10MiB/s, not \"%s\"", kind->name,
                   word->text);
        return;
    }
    const char *size = conf_copy(c->findings->memory, word->text, (size_t)(slash - word->text));
    if (size && conf_read_octets(size, 1024, most, &octets, why))
        limit_add(c, d, (conf_limit){ .octets_per_s = (double)octets });
    else if (size) LIMIT_FAIL(c, word, "%s: %s", kind->name, why);
}
