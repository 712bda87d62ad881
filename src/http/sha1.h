// SPDX-License-Identifier: MIT
//
// SHA-1, RFC 3174, of short texts. It protects nothing here: RFC 6455 §1.3 has a server show by it
// that it has read the client's key.
#ifndef SKUA_HTTP_SHA1_H
#define SKUA_HTTP_SHA1_H
#ifndef SKUA_NO_WEBSOCKET

#include "base/slice.h"

enum { SHA1_OCTETS = 20 };

void sha1_of(slice text, uint8_t digest[SHA1_OCTETS]);

#endif
#endif
