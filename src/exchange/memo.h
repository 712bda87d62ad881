// SPDX-License-Identifier: MIT
//
// Memo: the remains of a request that was given back while its tunnel goes on. A request is made
// from it again when something happens on the tunnel.
#ifndef SKUA_EXCHANGE_MEMO_H
#define SKUA_EXCHANGE_MEMO_H

#include "exchange/request.h"

enum { MEMO_COUNTS = 4 };

// The part that few need: the head for the line in the access log, and a site that is to stay.
typedef struct memo_more {
    const route *route;
    site_seat *seat;                      // NULL: the server's own
    uint64_t counts[MEMO_COUNTS];         // of the protocol on the tunnel, for the log
    uint32_t authority_at, authority_len; // within the head's octets
    request_head head;                    // of no octets: it is not needed
    char octets[]; // of the head, and behind them its fields, which are not aligned
} memo_more;

typedef struct request_memo {
    int64_t began_ns;
    uint64_t sent_octets;
    memo_more *more; // NULL: there is nothing more to be known
} request_memo;

// Whether the request can be given back: it has no hold, ticket or object, and no function waits
// for its end.
bool memo_suffices(const skua_request *r);

// Gives back a request for which a memo suffices, and of which its carrier knows no more.
// Errors: SKUA_ENOMEM: nothing has changed.
skua_status memo_take(skua_request *r, request_memo *memo);

// Makes a request of a memo again, as the tunnel of that carrier, and empties the memo. NULL when memory ran out:
// the memo is as it was.
skua_request *memo_recall(request_memo *memo, skua_worker *w, carrier *c);

// Drops a memo of which no request will be made.
void memo_drop(request_memo *memo);

#endif
