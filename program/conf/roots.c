// SPDX-License-Identifier: MIT

#include "conf/roots.h"

#include <stdio.h>
#include <sys/stat.h>

void conf_root_note(conf_root *root, const char *path)
{
    struct stat found;
    *root = (conf_root){ .is_gone = stat(path, &found) != 0 };
    if (root->is_gone) return;
    root->device = (uint64_t)found.st_dev;
    root->number = (uint64_t)found.st_ino;
}

static void roots_say(void (*say)(const char *line), const char *path, const char *what)
{
    char line[512];
    (void)snprintf(line, sizeof line, "the root %.300s %s", path, what);
    say(line);
}

// One that is another folder is noted as such, so that it asks for a reload once: the next may be refused.
static bool roots_look_at(conf_scope *scope, void (*say)(const char *line))
{
    conf_root now, before = scope->root_seen;
    conf_root_note(&now, scope->root);
    if (now.is_gone) {
        if (!before.is_gone)
            roots_say(say, scope->root, "is gone: it is served as far as it is still open");
        scope->root_seen.is_gone = true;
        return false;
    }
    scope->root_seen = now;
    if (now.device != before.device || now.number != before.number) {
        roots_say(say, scope->root, "is another folder: the configuration is read again");
        return true;
    }
    if (before.is_gone) roots_say(say, scope->root, "is there again");
    return false;
}

bool conf_roots_look(conf *c, void (*say)(const char *line))
{
    bool is_due = false;
    for (conf_site *site = c->sites; site; site = site->next) {
        if (site->scope.root) is_due |= roots_look_at(&site->scope, say);
        for (conf_scope *path = site->paths; path; path = path->next) {
            if (path->root) is_due |= roots_look_at(path, say);
        }
    }
    return is_due;
}
