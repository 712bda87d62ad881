// SPDX-License-Identifier: MIT
//
// The certificate that the program makes for itself, and keeps in the user's configuration folder:
// $XDG_CONFIG_HOME/skua, or else ~/.config/skua.
#ifndef PROGRAM_TLS_CERTIFICATE_H
#define PROGRAM_TLS_CERTIFICATE_H

#include <skua/skua.h>

#include <limits.h>

enum {
    CERTIFICATE_OCTETS_MAX = 16384,  // of either file; one of 32 names has some 8,000
    CERTIFICATE_RENEW_S = 30 * 86400 // it is replaced so long before it expires
};

typedef struct certificate {
    char pem[CERTIFICATE_OCTETS_MAX], key[CERTIFICATE_OCTETS_MAX];
    size_t pem_len, key_len;
    char path[PATH_MAX]; // where the certificate is; empty: in memory alone
    char fingerprint[96];
    int64_t expires_unix_s;
} certificate;

// Takes the one that is kept, if it is for just these names, its key is for nobody else to read, and
// it does not expire soon; else makes one, and keeps it. names: separated by spaces. Where it cannot
// be kept, a warning says why.
// Returns: whether there is one; if not, it has been said why.
bool certificate_get(certificate *c, const char *names, int64_t unix_s);

// Wipes the key.
void certificate_forget(certificate *c);

#endif
