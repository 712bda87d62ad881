// SPDX-License-Identifier: MIT
//
// Expiry: until when the certificates in use are valid, for the status listener. They are noted when they are read.
#ifndef PROGRAM_TLS_EXPIRY_H
#define PROGRAM_TLS_EXPIRY_H

#include "common/options.h"

enum {
    EXPIRY_CERTIFICATES_MAX = 64,
    EXPIRY_NAME_OCTETS = 96
}; // more are not shown, and names are cut

typedef struct expiry {
    char name
        [EXPIRY_NAME_OCTETS]; // the names that it is for, separated by spaces; "*": those that it has in it
    char file[EXPIRY_NAME_OCTETS]; // the end of its path
    int64_t unix_s;
} expiry;

// Reads the certificates of the options, which are in use from now on. One that cannot be read is left out.
void expiry_note(const options *o);

// Copies what has been noted, up to room of them. Returns how many. Thread: any, as of the other.
unsigned expiry_get(expiry *all, unsigned room);

#endif
