// SPDX-License-Identifier: MIT
//
// Script: the acts of a client in a scenario, step by step. Each step is in its transcript; each
// "expect" waits for what it says, however long the pieces it comes in, and fails the test when it
// does not come.
#ifndef TESTS_SCENARIOS_SCRIPT_H
#define TESTS_SCENARIOS_SCRIPT_H

#include "scenarios/run.h"

struct client {
    client *next;
    run *run;
    const char *title;
    unsigned number;
    wire wire;
    text outbox;   // not sent yet,
    size_t out_at; // from here on
    bool finishes; // FIN behind it
    bool over;     // its end has been seen
    size_t seen;   // so much of what was received is in the transcript
    size_t needs;  // so much is to be received before it is worth looking
    size_t peeked; // so much had been when that was done last
    bool states;   // the answer that is awaited states its length
    text story;
};

client *client_connect(run *r);
// Somebody of that title, who has such a connection already.
client *client_take(run *r, const char *title, const wire *w);
void client_free(client *c);

void client_send(client *c, const char *octets);
void client_send_pattern(client *c, uint64_t tag, size_t len); // as app_octet says
void client_send_chunk(client *c, uint64_t tag, size_t len);
void client_finish(client *c);                        // sends no more
void client_send_last(client *c, const char *octets); // both at once
void client_reset(client *c);
void client_pause(client *c);  // reads no more,
void client_resume(client *c); // or again
void client_rest(client *c);   // until everything there is to do has been done

// The next response, interim or final.
void client_expect(client *c);
void client_expect_to_head(client *c);
// One that begins, but ends with the connection.
void client_expect_part(client *c);
// A head, whatever follows: its content is left to the next step.
void client_expect_head(client *c);
// So many octets, and what they are.
void client_expect_octets(client *c, size_t len);
// Nothing more, and that the server has closed.
void client_expect_end(client *c);
// That it has closed or reset, after whatever it had sent.
void client_expect_cut(client *c);

// Sends a piece of what is to be sent and takes what has come. Returns whether there was anything.
bool client_round(client *c);

#endif
