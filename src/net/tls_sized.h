// SPDX-License-Identifier: MIT
//
// Descriptions of TLS by structs of the sizes that the caller's header has, as structs of this library. Also where TLS
// is not built in: a configuration contains one in any case.
#ifndef SKUA_NET_TLS_SIZED_H
#define SKUA_NET_TLS_SIZED_H

#include "skua/skua.h"

// Takes a description, which has the demands on clients in its middle. from: of sizes->tls_desc octets; certificates
// stay the caller's. function: that of skua.h that was called.
void tls_desc_take(const char *function, const void *from, const skua_sizes *sizes,
                   skua_tls_desc *own);

// Certificates of the caller's: themselves where they are like this library's, else in memory, *made, which is to be
// freed. NULL, but for none: memory ran out.
const skua_tls_certificate *tls_certificates_take(const char *function,
                                                  const skua_tls_certificate *given, unsigned count,
                                                  const skua_sizes *sizes, void **made);

#endif
