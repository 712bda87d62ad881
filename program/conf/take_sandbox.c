// SPDX-License-Identifier: MIT
//
// Directives of the server process's sandbox.

#include "conf/files.h"
#include "conf/take.h"
#include "conf/value.h"
#include "common/source.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

void conf_take_sandbox(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    bool is_on = true;
    if (!conf_read_switch(d->words[1].text, &is_on, why))
        conf_find(c->findings, d->words[1].at, "%s: %s", kind->name, why);
    c->conf->is_open = !is_on;
}

void conf_take_sandbox_paths(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    (void)kind;
    for (unsigned i = 1; i < d->count; i++) {
        const conf_word *word = &d->words[i];
        const char *path = conf_files_resolve(c->findings->memory, word->text, word->at.file);
        conf_path *added = conf_take(c->findings->memory, sizeof *added);
        if (!path || !added) return;
        if (access(path, F_OK) != 0) conf_find(c->findings, word->at, "there is no %s", path);
        *added = (conf_path){ path, c->conf->sandbox_paths };
        c->conf->sandbox_paths = added;
    }
}

// A server process in its sandbox cannot look names up. It is given what the supervisor has checked.
void conf_take_user(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *user = &d->words[1], *group = d->count == 3 ? &d->words[2] : NULL;
    bool checks = !source_is_given();
    (void)kind;
    if (checks && !getpwnam(user->text))
        conf_find(c->findings, user->at, "this machine has no user %s", user->text);
    if (checks && group && !getgrnam(group->text))
        conf_find(c->findings, group->at, "this machine has no group %s", group->text);
    c->conf->user = user->text;
    c->conf->group = group ? group->text : NULL;
}
