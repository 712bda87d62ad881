// SPDX-License-Identifier: MIT

#include "conf/advice.h"
#include "conf/archive.h"
#include "conf/load.h"

#include "conf/check.h"
#include "conf/files.h"
#include "conf/upload.h"
#include "common/say.h"

static void load_certificates(conf *c)
{
    char why[512];
    for (unsigned i = 0; i < c->certificate_count; i++) {
        skua_tls_identity *identity = NULL;
        why[0] = '\0';
        skua_status status =
            skua_tls_identity_new(&c->certificates[i], 1, &identity, why, sizeof why);
        if (status)
            conf_find(&c->findings, c->certificates_at[i], "%s",
                      *why ? why : skua_status_text(status));
        skua_tls_identity_unref(identity);
    }
}

bool conf_is_sound(const conf *c)
{
    if (!c->is_silent) conf_findings_say(&c->findings);
    if (c->memory.is_out && !c->is_silent) say_error("%s", skua_status_text(SKUA_ENOMEM));
    return !c->findings.count && !c->memory.is_out;
}

bool conf_load(conf *to, const char *file)
{
    to->first = conf_files_read(file, &to->findings);
    if (!to->findings.count) conf_check(to, to->first, file, &to->findings);
    if (!to->findings.count) load_certificates(to);
    if (!to->findings.count) conf_upload_open(to);
    if (!to->findings.count) conf_archive_open(to);
    if (!to->findings.count) conf_advise(to);
    return conf_is_sound(to);
}

const options *conf_options(conf *c)
{
    options *o = conf_take(&c->memory, sizeof *o);
    if (!o) return NULL;
    for (unsigned i = 0; i < c->listen_count && !o->tls; i++)
        o->tls = c->listens[i].tls;
    o->certificates = c->certificates;
    o->certificate_count = c->certificate_count;
    o->ticket_keys = c->server.tls.ticket_file;
    o->tls_settings = c->server.tls;
    return o;
}
