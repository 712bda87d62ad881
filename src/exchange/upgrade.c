// SPDX-License-Identifier: MIT
//
// Upgrade, RFC 9110 §7.8: after a 101 the connection is a tunnel of octets. What lies behind the
// request's head is its first input, and no other request is read.

#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/respond.h"
#include "exchange/spool.h"
#include "http/syntax.h"

enum { UPGRADE_PROTOCOL_OCTETS_MAX = 256 };

skua_status skua_upgrade(skua_request *r, const char *protocol, skua_drained_fn *drained,
                         void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(protocol);
    slice name = slice_of(protocol);
    if (r->responding != RESPONSE_NONE || r->reading != READING_DONE) return request_refusal(r);
    if (name.len > UPGRADE_PROTOCOL_OCTETS_MAX || !syntax_is_protocol(name)) return SKUA_EINVAL;
    skua_status given = r->carrier->table->upgrade(r, name);
    if (given == SKUA_ENOMEM) return respond_out_of_memory(r);
    if (given) return given;
    r->status = r->head.version == 20 ? 200 : 101;
    r->close = true; // the connection is the tunnel's, and ends with it
    r->pull_left = -1;
    r->wanted = 0;
    request_set_responding(r, RESPONSE_PUSHED);
    carrier_kick(r->carrier, r);
    request_set_push(r, PUSH_TUNNEL);
    r->drained = drained;
    r->drained_user = user;
    request_set_reading(r, READING_TUNNEL);
    // the request's content has been read; from here on another may read the tunnel's, with a whole
    // window: credit for content that nobody gave back would be missing for ever
    r->reader = NULL;
    request_set_delivery(r, DELIVERY_GOES_ON);
    r->unconsumed = 0;
    if (r->spools) spool_forget_credit(r);
    return SKUA_OK;
}
