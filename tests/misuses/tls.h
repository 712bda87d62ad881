// SPDX-License-Identifier: MIT
//
// Misuses of certificates: a table, as scene.h says, with no include guard.

STOPS(skua_tls_identity_new, no_certificates, OUTSIDE, NO(certificates),
      s->status = skua_tls_identity_new(NULL, 1, &(skua_tls_identity *){ NULL }, NULL, 0))
STOPS(skua_tls_identity_new, none_of_them, OUTSIDE, "count must not be 0",
      s->status = skua_tls_identity_new(&(skua_tls_certificate){ .names = NULL }, 0,
                                        &(skua_tls_identity *){ NULL }, NULL, 0))
STOPS(skua_tls_identity_new, no_identity, OUTSIDE, NO(identity),
      s->status = skua_tls_identity_new(&(skua_tls_certificate){ .names = NULL }, 1, NULL, NULL, 0))
STOPS(skua_tls_identity_ref, nothing, OUTSIDE, NO(identity), (void)skua_tls_identity_ref(NULL))
GIVES(skua_tls_identity_unref, nothing, OUTSIDE, (skua_tls_identity_unref(NULL), true))
STOPS(skua_tls_reload, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_tls_reload(NULL, &(skua_tls_desc){ .listen = NULL }, NULL, 0))
STOPS(skua_tls_reload, no_desc, OUTSIDE, NO(desc),
      s->status = skua_tls_reload(s->server, NULL, NULL, 0))
GIVES(skua_tls_reload, of_a_server_that_speaks_none, RUNNING,
      skua_tls_reload(s->server, &(skua_tls_desc){ .listen = NULL }, NULL, 0) != SKUA_OK)
STOPS(skua_tls_self_signed, no_names, OUTSIDE, NO(names),
      s->status = skua_tls_self_signed(NULL, 0, &s->octets, &s->octets))
STOPS(skua_tls_self_signed, no_certificate, OUTSIDE, NO(certificate_pem),
      s->status = skua_tls_self_signed("localhost", 0, NULL, &s->octets))
STOPS(skua_tls_self_signed, no_key, OUTSIDE, NO(key_pem),
      s->status = skua_tls_self_signed("localhost", 0, &s->octets, NULL))
STOPS(skua_tls_fingerprint, no_octets, OUTSIDE, NO_OCTETS(certificate_pem),
      s->status = skua_tls_fingerprint(NOWHERE, (char[96]){ "" }, NULL))
STOPS(skua_tls_fingerprint, no_text, OUTSIDE, NO(text),
      s->status = skua_tls_fingerprint(SKUA_SLICE(""), NULL, NULL))
STOPS(skua_tls_free, no_octets, OUTSIDE, NO_OCTETS(octets), skua_tls_free(NOWHERE))
GIVES(skua_tls_free, nothing, OUTSIDE, (skua_tls_free((skua_slice){ NULL, 0 }), true))
