// SPDX-License-Identifier: MIT
//
// Error responses. Whatever fails, the client is told by a page it can show or a line it can print.

#include "exchange/error.h"

#include "base/assert.h"
#include "exchange/carrier.h"
#include "exchange/complaint.h"
#include "exchange/error_functions.h"
#include "exchange/page.h"
#include "exchange/recorder.h"
#include "exchange/respond.h"
#include "exchange/worker.h"
#include "http/syntax.h"

// ---- Pages ----

// A request that could not be read has not told what it accepts either.
static bool error_is_unread(const skua_request *r)
{
    return r->reading == READING_HEAD;
}

static bool error_wants_html(const skua_request *r)
{
    if (error_is_unread(r)) return false;
    slice rest = request_known_field(r, FIELD_ACCEPT), member;
    while (syntax_list_next(&rest, &member)) {
        if (member.len >= 9 &&
            slice_equal_nocase(slice_make(member.ptr, 9), SKUA_SLICE("text/html")))
            return true;
    }
    return false;
}

static skua_status error_page(skua_request *r, int status, slice sentence)
{
    char page[PAGE_OCTETS_MAX];
    if (error_functions_respond(r, status, sentence)) return SKUA_OK;
    if (!error_is_unread(r)) (void)skua_field_add(r, "Vary", SKUA_SLICE("Accept"));
    if (!error_wants_html(r)) {
        size_t len = page_write_text(status, r->method, sentence, page, sizeof page);
        return skua_respond(r, status, "text/plain; charset=utf-8", slice_make(page, len));
    }
    size_t len = page_write(status, r->method, sentence, page, sizeof page);
    (void)skua_field_add(r, "Content-Security-Policy", slice_of(page_policy));
    (void)skua_field_add(r, "X-Content-Type-Options", SKUA_SLICE("nosniff"));
    return skua_respond(r, status, "text/html; charset=utf-8", slice_make(page, len));
}

skua_status skua_refuse(skua_request *r, int status, slice sentence)
{
    const recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_SLICE(sentence);
    if (taken && taken->table->status(taken) != 0)
        return respond_decline(r, __func__, SKUA_ESTATE, RESPOND_SECOND);
    if (!taken && r->responding != RESPONSE_NONE)
        return complain_of_late(r, __func__, RESPOND_SECOND);
    if (status < 400 || status > 599)
        return respond_decline(r, __func__, SKUA_EINVAL,
                               "an error's status is 400 to 599; the response is 500 now");
    return error_page(r, status, sentence);
}

skua_status skua_respond_error(skua_request *r, int status)
{
    request_expect_reader(r, __func__);
    return skua_refuse(r, status, (slice){ 0 });
}

// ---- Errors of the server's own ----

// Allow belongs to a 405 that request_begin.c has just added it for; anything else a handler added is
// dropped.
__attribute__((cold)) void error_respond(skua_request *r, int status, bool close)
{
    SKUA_ASSERT(r->responding == RESPONSE_NONE);
    if (status != 405) r->fields = (response_fields){ 0 };
    r->typed = TYPE_OF_RESPONSE;
    r->spoiled = false;
    r->faulted = true;
    if (r->worker->tells & TELL_FIGURES) figures_count_refusal(r->worker->figures, status);
    bool short_of_memory = status == 503 && r->worker->pressure >= BUDGET_SCARCE;
    if (short_of_memory) (void)skua_field_add(r, "Retry-After", SKUA_SLICE("5"));
    if (close) r->close = true;
    if (skua_respond_error(r, status) != SKUA_OK && r->responding == RESPONSE_NONE)
        (void)respond_out_of_memory(r);
}

__attribute__((cold)) void error_refuse(skua_request *r, int status)
{
    if (r->responding == RESPONSE_NONE) error_respond(r, status, true);
    else if (!request_is_answered(r)) carrier_break(r->carrier);
}
