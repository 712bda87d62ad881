// SPDX-License-Identifier: MIT
//
// The head of an HTTP/1 request: request line and field section, RFC 9112 §2 to §6.
// Incremental: the octets so far lie in one piece; after H1_MORE call again with the same octets
// and more behind them (the piece may have moved). Faults are found as soon as the octet that makes
// them has come, whatever the split; the outcome never depends on the split. Faults that an octet
// makes: those of the grammar; at the LF of a line, what that line means; at the last LF, what the
// head means.
#ifndef SKUA_HTTP_H1_HEAD_H
#define SKUA_HTTP_H1_HEAD_H

#include "http/head.h"

// Empty lines (CRLF) that may come before a request line, RFC 9112 §2.2.
enum { H1_EMPTY_LINES_MAX = 4 };

typedef enum h1_result { H1_MORE, H1_DONE, H1_FAULT } h1_result;

// Reads on. octets: everything since the head's first octet.
// Checks, with the status they answer (rules in RFC 9112, and stricter where peers disagree):
// request line (400, 505 for a major version other than 1, 414), method a token and not too long
// (501), target without controls, space, quotes, "<", ">" and "#" (its full grammar is target.h's),
// field lines (400), limits (431), Host missing in 1.1 or repeated or of bad form
// (400), Content-Length repeated, a list, or malformed (400; more than 19 digits or than INT64_MAX
// 400), with Transfer-Encoding (400), Transfer-Encoding in 1.0 (400), not ending in chunked or with
// it twice or with parameters (400), an unknown coding before a final chunked (501), Expect other
// than 100-continue (417, HTTP/1.1 only). Every fault is of the connection: what follows the head
// is not looked for.
h1_result h1_head_read(request_head *head, slice octets);

#endif
