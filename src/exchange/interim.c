// SPDX-License-Identifier: MIT
//
// Interim responses, RFC 9110 §15.2: a head without content, before the final one.

#include "exchange/carrier.h"
#include "exchange/content.h"
#include "exchange/request.h"
#include "exchange/fields.h"
#include "exchange/respond.h"
#include "exchange/worker.h"

enum { INFORM_FIELDS_OCTETS_MAX = 8192 };

static skua_status inform_check(const skua_field *fields, size_t count, size_t *octets)
{
    *octets = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fields_take(fields[i].name, fields[i].value)) return SKUA_EINVAL;
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
    request_expect(r, __func__);
    CONTRACT(fields || !count, "fields must not be NULL");
    if (r->responding > RESPONSE_HEADING) return request_refusal(r);
    if (status < 100 || status > 199 || status == 101) return SKUA_EINVAL;
    size_t octets;
    skua_status checked = inform_check(fields, count, &octets);
    if (checked) return checked;
    if (!inform_is_heard(r, status)) return SKUA_OK;
    if (r->carrier->table->room(r) == 0) return SKUA_ELIMIT;
    skua_status informed = r->carrier->table->inform(r, status, fields, count, octets);
    if (informed) return informed;
    if (status == 100) request_set_expectation(r, EXPECTATION_MET);
    carrier_kick(r->carrier, r);
    return SKUA_OK;
}
