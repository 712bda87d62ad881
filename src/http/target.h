// SPDX-License-Identifier: MIT
//
// The request target, RFC 9112 §3.2, and the one normalisation of its path.
#ifndef SKUA_HTTP_TARGET_H
#define SKUA_HTTP_TARGET_H

#include "base/slice.h"
#include "http/fault.h"

typedef enum target_form {
    TARGET_ORIGIN,
    TARGET_ABSOLUTE,
    TARGET_AUTHORITY,
    TARGET_ASTERISK
} target_form;

typedef struct target {
    target_form form;
    slice authority; // of absolute-form and authority-form; else {NULL, 0}
    // as sent; "/" when an absolute-form has none; "*" for asterisk-form; empty for authority-form
    slice raw_path;
    slice query; // without "?"; {NULL, 0} when there is none
    // raw_path is its own normal form, and plain: nothing to decode, remove or merge
    bool clean;
} target;

// Splits and checks a target. What may stand in it are the octets of RFC 3986, those that the URL
// standard has browsers leave as they are (| [ ] { } ^ ` and in the query a backslash, and "%"
// without digits), and valid UTF-8; strict: RFC 3986 alone.
// Faults are 400: a fragment, any other octet, broken percent-encoding or %00 in the path, "*" for
// another method than OPTIONS, authority-form for another than CONNECT (and CONNECT needs
// host:port), userinfo, a scheme other than http or https, a bad authority. Nothing of *out is valid
// then.
fault target_parse(slice method, slice text, bool strict, target *out);

// Writes the normal form of raw_path to out, which has room for raw_path.len + 1 octets:
// percent-decoded once, slashes merged, dot segments removed (RFC 3986 §5.2.4; encoded dots count
// as dots), starting with one "/".
// *plain: false if %2F, %5C or a backslash stood in it; such a path never names a file. An encoded
// slash is written as "%2F" so that it never separates segments.
// Returns: the length. raw_path must come from target_parse.
size_t target_normalise(slice raw_path, char *out, bool *plain);

// Writes path, a normal form, percent-encoded for a Location or an href: unreserved, sub-delims,
// ":", "@" and "/" stand for themselves. Starts with exactly one "/". out has room for 3 * path.len
// + 1. Returns: the length.
size_t target_encode(slice path, char *out);

// Writes text, a target or a reference as somebody gave it, as it may leave again, in a Location, a
// log or a request of our own: octets outside RFC 3986 are percent-encoded, and a "%" that begins
// no encoded octet; brackets are outside but in an authority. Ends early when fewer than three
// octets of room are left; *used is how much of text was written. Returns: the length.
size_t target_escape(slice text, char *out, size_t room, size_t *used);

#endif
