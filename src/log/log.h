// SPDX-License-Identifier: MIT
//
// The logs. A worker formats a line into its own lane; a thread reads the lanes and owns the
// descriptor. A worker never waits: what cannot be written yet is kept, up to a limit, and a line
// beyond it is counted; the count is written as a line of its own once there is room.
#ifndef SKUA_LOG_LOG_H
#define SKUA_LOG_LOG_H

#include "base/budget.h"
#include "base/slice.h"

typedef struct server_log server_log;
typedef struct log_lane log_lane;

// A request that has ended, as the access log tells of it. Slices are untrusted: everything is
// escaped.
typedef struct log_access {
    int64_t unix_ns;     // when the request ended
    int64_t duration_ns; // since its head was complete
    const char *peer;    // the client's address as text
    const char *remote;  // that of the connection
    slice method, target, host;
    int version;     // 10, 11 or 20; 0: the request line could not be read
    uint32_t stream; // of HTTP/2; 0: none
    int status;
    uint64_t octets; // of content handed to the kernel
    slice referer, user_agent;
    slice id;    // a name of the request; empty: it has none
    slice trace; // a trace-id of W3C Trace Context, and behind it "-" and a parent-id; empty: none
    const char *route;                    // its name; NULL: it has none
    const char *tls_version, *tls_cipher; // NULL: it came in the clear
    slice server_name;                    // that the client sent in its handshake
    const char *end;    // "" for a response that was sent whole, else "closed", "timeout", "error"
    const char *reason; // why it was refused, a few words; NULL for none
} log_access;

typedef struct log_config {
    skua_log_format format;
    size_t
        buffer_max; // octets of memory for lines that wait to be written; a lane has 128 KiB in any case
    const char *secrets;   // names of query parameters whose values are masked; NULL: none. Kept
    skua_log_write *write; // NULL for standard output
    void *user;
} log_config;

// NULL when memory or threads ran out. The thread starts at once, or, where requests are not logged, with the first
// line.
server_log *log_new(const log_config *config);

// Writes what is queued and ends the thread, if there is one. NULL is allowed.
void log_free(server_log *log);

// A lane for one worker; NULL when memory ran out. Closed by log_free.
log_lane *log_lane_open(server_log *log);

// Formats a request by the log's format.  Thread: the lane's worker.
void log_request(log_lane *to, const log_access *access);

// Writes "skua: MESSAGE" with controls escaped, to standard error, or by write if that was given
// (then as an object, if the format is JSON).  Thread: any.
void log_message(server_log *log, slice message);

// Octets of memory that the lanes hold.  Thread: any.
size_t log_octets(const server_log *log);

// Lines that were lost since it was made, because there was no room for them.  Thread: any.
uint64_t log_lost(const server_log *log);

// Counts that as part of a budget.  To be called before any line is written.
void log_count(server_log *log, budget *of);

#endif
