// SPDX-License-Identifier: MIT

#include "conf/take.h"
#include "conf/upload.h"

#include <string.h>

#define UPLOAD_OCTETS_MAX ((uint64_t)1 << 50)

static bool upload_take_word(conf_checker *c, const conf_kind *kind, const conf_word *word,
                             conf_upload *upload)
{
    static const char *const names[] = { "overwrite", "delete", "anyone", NULL };
    bool *const members[] = { &upload->place.overwrites, &upload->place.deletes,
                              &upload->is_for_anyone };
    conf_why why;
    size_t at;
    bool is_one = conf_read_choice(word->text, names, &at, why);
    if (is_one) *members[at] = true;
    else conf_find(c->findings, word->at, "%s: %s", kind->name, why);
    return is_one;
}

void conf_take_upload(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    conf_why why;
    conf_upload *upload = conf_take(c->findings->memory, sizeof *upload);
    if (d->count == 2 && strcmp(word->text, "off") == 0) {
        c->scope->upload = NULL;
        return;
    }
    if (!upload) return;
    upload->at = d->words[0].at;
    upload->place.path = c->scope->path;
    if (c->scope->is_exact) {
        conf_find(c->findings, upload->at, "%s is for a folder; leave out the \"=\" before %s",
                  kind->name, c->scope->path);
    } else if (!conf_read_octets(word->text, 1, UPLOAD_OCTETS_MAX, &upload->place.octets_max,
                                 why)) {
        conf_find(c->findings, word->at, "%s: %s", kind->name, why);
    } else {
        for (unsigned i = 2; i < d->count; i++)
            if (!upload_take_word(c, kind, &d->words[i], upload)) return;
        c->scope->upload = upload;
    }
}
