// SPDX-License-Identifier: MIT
//
// TLS by structs of other sizes.

#include "net/tls_sized.h"

#include "base/memory.h"
#include "base/sized.h"

enum {
    TLS_CLIENTS_AT = offsetof(skua_tls_desc, clients),
    TLS_REST_AT = offsetof(skua_tls_desc, ticket_file)
};

// Members behind a nested struct move when that grows. By 8 octets, so that no gap between them changes.
_Static_assert(TLS_REST_AT == TLS_CLIENTS_AT + sizeof(skua_tls_clients), "no gap");
_Static_assert(sizeof(skua_tls_clients) % 8 == 0, "grows by 8 octets");

void tls_desc_take(const char *function, const void *from, const skua_sizes *sizes,
                   skua_tls_desc *own)
{
    const char *at = from;
    size_t rest_at = TLS_CLIENTS_AT + (size_t)sizes->tls_clients;
    if (sizes->tls_desc < rest_at)
        contract_broken(function, "sizes->tls_desc is smaller than what is in it");
    sized_take(function, at, TLS_CLIENTS_AT, own, TLS_CLIENTS_AT);
    sized_take(function, at + TLS_CLIENTS_AT, sizes->tls_clients, &own->clients,
               sizeof own->clients);
    sized_take(function, at + rest_at, sizes->tls_desc - rest_at, (char *)own + TLS_REST_AT,
               sizeof *own - TLS_REST_AT);
}

// Behind the certificates lie the demands on the clients of each.
const skua_tls_certificate *tls_certificates_take(const char *function,
                                                  const skua_tls_certificate *given, unsigned count,
                                                  const skua_sizes *sizes, void **made)
{
    const skua_sizes *ours = skua_sizes_here();
    *made = NULL;
    if (!given || !count ||
        (sizes->tls_certificate == ours->tls_certificate &&
         sizes->tls_clients == ours->tls_clients))
        return given;
    char *memory = *made = memory_alloc(count * (sizeof *given + sizeof(skua_tls_clients)));
    if (!memory) return NULL;
    skua_tls_certificate *own = (skua_tls_certificate *)(void *)memory;
    skua_tls_clients *clients = (skua_tls_clients *)(void *)(own + count);
    for (unsigned i = 0; i < count; i++) {
        const char *from = (const char *)given + (size_t)i * sizes->tls_certificate;
        sized_take(function, from, sizes->tls_certificate, &own[i], sizeof own[i]);
        if (!own[i].clients) continue;
        sized_take(function, own[i].clients, sizes->tls_clients, &clients[i], sizeof clients[i]);
        own[i].clients = &clients[i];
    }
    return own;
}
