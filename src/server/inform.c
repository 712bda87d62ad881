// SPDX-License-Identifier: MIT
//
// Interim responses, RFC 9110 §15.2: a head without content, before the final one.

#include "http/h1_write.h"
#include "server/connection.h"
#include "server/page.h"
#include "server/respond.h"
#include "server/worker.h"

enum { INFORM_FIELDS_OCTETS_MAX = 8192 };

static skua_status inform_check(const skua_field *fields, size_t count, size_t *octets)
{
    *octets = 0;
    for (size_t i = 0; i < count; i++) {
        if (!respond_takes_field(fields[i].name, fields[i].value)) return SKUA_EINVAL;
        if (fields[i].name.len > INFORM_FIELDS_OCTETS_MAX ||
            fields[i].value.len > INFORM_FIELDS_OCTETS_MAX) {
            return SKUA_ELIMIT;
        }
        *octets += fields[i].name.len + fields[i].value.len + 4;
        if (*octets > INFORM_FIELDS_OCTETS_MAX) return SKUA_ELIMIT;
    }
    return SKUA_OK;
}

// A 100 is for a client that waits with its content, once (RFC 9110 §10.1.1); HTTP/1.0 knows no
// interim responses.
static bool inform_is_heard(const skua_request *r, int status)
{
    if (r->head.version == 10) return false;
    return status != 100 || request_awaits_continue(r);
}

skua_status skua_inform(skua_request *r, int status, const skua_field *fields, size_t count)
{
    if (r->answering != ANSWER_NONE) return SKUA_ESTATE;
    if (status < 100 || status > 199 || status == 101) return SKUA_EINVAL;
    size_t octets;
    skua_status checked = inform_check(fields, count, &octets);
    if (checked) return checked;
    session *s = r->session;
    if (!inform_is_heard(r, status)) return SKUA_OK;
    if (out_is_full(&s->out) || s->out.octets > worker_config(r->worker)->out_octets_max)
        return SKUA_ELIMIT;
    char *start = out_reserve(&s->out, H1_STATUS_LINE_OCTETS_MAX + octets + 2, NULL);
    if (!start) return SKUA_ENOMEM;
    char *at = h1_write_status(start, status, slice_of(page_reason(status)));
    for (size_t i = 0; i < count; i++)
        at = h1_write_field(at, fields[i].name, fields[i].value);
    at = H1_WRITE(at, "\r\n");
    out_commit(&s->out, (size_t)(at - start));
    if (status == 100) r->continued = true;
    if (r != s->current || !s->running) connection_kick(s->conn);
    return SKUA_OK;
}
