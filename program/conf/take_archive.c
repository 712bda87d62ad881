// SPDX-License-Identifier: MIT

#include "archive/archive.h"
#include "conf/take.h"

#include <string.h>

void conf_take_archive(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const char *names[] = { archive_formats[0]->name, archive_formats[1]->name, NULL };
    unsigned archives = 0;
    bool is_off = d->count == 2 && strcmp(d->words[1].text, "off") == 0;
    for (unsigned i = 1; i < d->count && !is_off; i++) {
        conf_why why;
        size_t at;
        if (!conf_read_choice(d->words[i].text, names, &at, why)) {
            conf_find(c->findings, d->words[i].at, "%s: %s", kind->name, why);
            return;
        }
        archives |= 1u << at;
    }
    c->scope->archives = archives;
    c->scope->archives_of = c->scope->path;
    c->scope->archives_at = d->words[0].at;
    if (archives && c->scope->is_exact)
        conf_find(c->findings, d->words[0].at, "%s is for a folder; leave out the \"=\" before %s",
                  kind->name, c->scope->path);
}
