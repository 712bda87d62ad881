// SPDX-License-Identifier: MIT

#include "super/conf.h"

#ifdef __linux__

#include "conf/load.h"
#include "conf/serve.h"
#include "common/source.h"
#include "super/sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void conf_write_fault(const conf *c, super_fault *fault)
{
    const conf_finding *first = c ? c->findings.first : NULL;
    fault->count = c ? c->findings.count : 0;
    if (first)
        (void)snprintf(fault->first, sizeof fault->first, "%s:%u:%u: %s", first->at.file,
                       first->at.line, first->at.column, first->sentence);
    else (void)snprintf(fault->first, sizeof fault->first, "%s", skua_status_text(SKUA_ENOMEM));
}

static bool conf_read_sound(conf *c, const char *file)
{
    if (!conf_serve_check(c, file)) return false;
    bool opened = super_sockets_open(c);
    if (!opened) (void)conf_is_sound(c);
    return opened;
}

bool super_read(const char *file, super_conf *read, super_fault *fault)
{
    source_keep();
    conf *c = conf_new();
    bool is_sound = c && conf_read_sound(c, file);
    if (!is_sound) conf_write_fault(c, fault);
    int kept = source_kept();
    if (is_sound && kept >= 0) {
        *read = (super_conf){ c, kept };
        return true;
    }
    if (is_sound) conf_write_fault(NULL, fault);
    if (kept >= 0) (void)close(kept);
    conf_drop(c);
    return false;
}

void super_drop(super_conf *c)
{
    conf_drop(c->conf);
    if (c->source >= 0) (void)close(c->source);
    *c = (super_conf){ NULL, -1 };
}

bool super_check(const char *file, super_fault *fault)
{
    conf *c = conf_new();
    bool is_sound = c && conf_serve_check(c, file);
    if (!is_sound) conf_write_fault(c, fault);
    conf_drop(c);
    return is_sound;
}

void super_started(super_state *s, const super_conf *c)
{
    super_conf before = s->started;
    s->started = (super_conf){ NULL, -1 };
    if (c) s->started = (super_conf){ conf_hold(c->conf), fcntl(c->source, F_DUPFD_CLOEXEC, 3) };
    super_drop(&before);
}

#endif
