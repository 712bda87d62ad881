// SPDX-License-Identifier: MIT
//
// Upgrade: two fields have to name it, on any of their lines.

#include "h1/upgrade.h"

#include "exchange/request.h"
#include "http/syntax.h"

// Whether a list field has that member, on any of its lines.
static bool upgrade_lists(const skua_request *r, field_id id, slice wanted)
{
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id != id) continue;
        slice rest = head_value(&r->head, r->base, i), member;
        while (syntax_list_next(&rest, &member)) {
            if (slice_equal_nocase(member, wanted)) return true;
        }
    }
    return false;
}

// A server ignores Upgrade in HTTP/1.0, and where Connection does not name it: it was not meant for
// this hop.
bool upgrade_is_asked(const skua_request *r, slice protocol)
{
    return r->head.version >= 11 && upgrade_lists(r, FIELD_CONNECTION, SKUA_SLICE("upgrade")) &&
           upgrade_lists(r, FIELD_UPGRADE, protocol);
}
