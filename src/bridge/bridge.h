// SPDX-License-Identifier: MIT
//
// Bridge: carries the topics of a server to others and back, by a stream in a store. It runs on
// worker 0, with two connections: one adds entries to the stream, the other waits for new entries.
#ifndef SKUA_BRIDGE_BRIDGE_H
#define SKUA_BRIDGE_BRIDGE_H

#include "bridge/link.h"
#include "bridge/lookup.h"
#include "bridge/origins.h"
#include "bridge/waiting.h"
#include "server/relay.h"

#ifdef SKUA_REDIS

enum { BRIDGE_LINE_OCTETS = 512 }; // of the log

typedef enum bridge_state {
    BRIDGE_IS_OFF,  // the worker does not turn
    BRIDGE_IS_AWAY, // from the store: it waits before it tries again
    BRIDGE_SEEKS,   // the host's address
    BRIDGE_GREETS,  // is about to find out where the stream is
    BRIDGE_SENDS,   // and is about to receive too
    BRIDGE_IS_UP
} bridge_state;

// for a reply
#define BRIDGE_PATIENCE_NS ((int64_t)5000000000)

typedef struct topic_bridge {
    server_relay relay; // first
    skua_server *server;
    bridge_url url;
    char *stream, *gap_text; // gap_text NULL: event streams alone are told
    uint64_t retained_max;
    size_t waiting_octets_max;
    void (*gap)(skua_server *server, void *user);
    void *user;

    // Of one run of the server, on its worker.
    skua_worker *worker;
    bridge_state state;
    bridge_lookup lookup;
    const char *address; // of the connections, one of lookup's
    bridge_link adder, reader;
    bridge_waiting waiting;
    bridge_origins origins;
    char instance[BRIDGE_INSTANCE_OCTETS + 1];
    char last[BRIDGE_STREAM_ID_OCTETS]; // entry that was read last; empty: not known yet
    bool last_is_entry;                 // and not only a time
    int64_t store_ms, timed_ns;         // the store's time when it was asked for it; 0: it was not
    size_t entries_max;                 // of a reply, as more were too long; 0: as usual
    bool gap_due;                       // readers are to be told that something is missing
    bool owes_count;                    // others are to be told how far the numbers have come
    bool told_away, told_ignored;       // by the log
    unsigned attempts;                  // to connect, since it was up for a while
    unsigned alone;                     // publications to be sent one by one, as all were refused
    uint64_t refused;                   // number of the publication that the store refused last
    unsigned refusals;                  // how often it did, without another one between
    skua_timer again;                   // of the next attempt, or of reading on
    int64_t begun_ns, up_ns;            // when it began, and when it was up last
} topic_bridge;

// Closes both connections and tries again later. reason: for the log.
void bridge_go_away(topic_bridge *b, const char *reason);

// Writes a line of the log, of at most 511 octets.
void bridge_log(const topic_bridge *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Gives a server a bridge. url: of desc, read. Each number of desc is within its range.
skua_status bridge_add_to(skua_server *server, const skua_topic_bridge_desc *desc,
                          const bridge_url *url);

#endif
#endif
