// SPDX-License-Identifier: MIT
//
// A server over the simulated kernel, with a handler for each way of reading and answering, for
// tests of the whole. Everything it leaves to chance comes from the kernel's seed.
//
//     /hello          answers "Hello", whatever content comes with it
//     /echo           collects or spools the content and answers with it
//     /count          reads the content piece by piece and answers with its length and sum
//     /pull/TAG/LEN   answers octets of the pattern, of a length not known before, with a trailer
//     /length/TAG/LEN the same with its length known
//     /lent/TAG/LEN   lends them
//     /later/TAG/LEN  answers them when site_act comes to it
//     /ticket/TAG/LEN the same by a ticket, perhaps when it is too late
//     /blocking       a blocking handler answers with the content
//     /stream/TAG/LEN writes them piece by piece, of a length known or not
//     /duplex/TAG/LEN writes the content while it is still coming
//     /tunnel/TAG/LEN becomes a tunnel that sends back up to LEN octets
//     /fail/TAG/LEN   a source that fails after LEN octets
//     /file           the file that is beneath the site's folder, and
//     /dir/file       the same by skua_route_directory
#ifndef TESTS_SITE_H
#define TESTS_SITE_H

#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"

enum { SITE_FILE_OCTETS = 90000, SITE_FILE_TAG = 7 };

// Asks for two parts of the file.
extern const char site_parts_line[];

// Whether content is a whole answer to that.
bool site_parts_are_right(slice content);

typedef struct site_visit site_visit;

typedef struct site {
    sim_kernel *kernel;
    skua_server *server;
    skua_root *root;
    int listener;
    site_visit *visits;
    unsigned begun, ended;  // calls of handlers, and of their on_end
    unsigned entered, left; // calls of middleware's before, and of its end
    unsigned lent, released;
    unsigned granted, resumed; // resumptions, and calls of their function
    unsigned posted, ran;      // functions posted, and called
    bool stopped, over;
} site;

// Makes the folder with the file in it, once per process, and removes it. path has room for 64
// octets.
bool site_folder_make(char *path);
void site_folder_remove(const char *path);

// False when memory ran out or the server did not start.
bool site_open(site *s, const skua_config *config, const sim_config *sim, const char *folder);

// One turn, unless the server has ended.
void site_turn(site *s, int64_t timeout_ns);

// Does one of the things that handlers have put off, chosen at random; false: there is none.
bool site_act(site *s);

void site_stop(site *s, int64_t grace_ns);

// Ends the server and the kernel. Returns what was wrong with the run, in words, or NULL.
const char *site_close(site *s);

// Octet number i of the pattern of that tag.
static inline char site_octet(uint64_t tag, uint64_t i)
{
    return (char)("abcdefghijklmnopqrstuvwxyz0123456789"[(tag * 7 + i * 5 + i / 97) % 36]);
}

// The answer of /count: NUL-terminated, at most 63 octets.
void site_count_text(char *text, uint64_t octets, uint64_t sum);

static inline uint64_t site_sum(uint64_t sum, char octet)
{
    return (sum * 31 + (unsigned char)octet) % 1000000007;
}

#endif
