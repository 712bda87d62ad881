// SPDX-License-Identifier: MIT
//
// Recorder: records the response of a blocking handler, on a thread of the pool. The request
// belongs to the worker meanwhile, which carries the response out later. The functions of skua.h
// that respond call it on such a thread.
#ifndef SKUA_EXCHANGE_RECORDER_H
#define SKUA_EXCHANGE_RECORDER_H

#include "exchange/request.h"

typedef struct recorder recorder;

// Each as the function of skua.h it serves. function: the name of that, for what breaks the contract.
typedef struct recorder_table {
    skua_status (*add_field)(recorder *taken, slice name, slice value);
    skua_status (*add_trailer)(recorder *taken, slice name, slice value);
    skua_status (*lose_field)(recorder *taken, skua_status why);
    // Around an error function of the program's: what it has added is dropped if it does not respond.
    void (*mark_fields)(recorder *taken);
    void (*drop_fields)(recorder *taken);
    skua_status (*respond)(recorder *taken, const char *function, int status, const char *type,
                           slice content);
    skua_status (*begin)(recorder *taken, const char *function, int status, const char *type,
                         int64_t length);
    skua_status (*write)(recorder *taken, slice octets);
    uint64_t (*room)(recorder *taken);
    skua_status (*finish)(recorder *taken);
    // A response that cannot be given. is_misuse: skua_config.strict stops the process for it.
    skua_status (*decline)(recorder *taken, const char *function, skua_status why, const char *what,
                           bool is_misuse);
    void (*close)(recorder *taken);
    void (*abort)(recorder *taken);
    int (*status)(const recorder *taken);
    bool (*is_gone)(const recorder *taken);
} recorder_table;

// It has memory for one thread, as a request has for the worker.
struct recorder {
    const recorder_table *table;
    request_decoding decoding;
    request_object *objects;
    slice content; // of the request
    bool sends_events;
    bool is_erring; // an error function of the program's runs
};

// A blocking handler of that request runs on this thread from now on. Both NULL: none does.
void recorder_visit(const skua_request *r, recorder *taken);

// Whether a blocking handler runs on this thread.
bool recorder_is_visiting(void);

// The recorder of the handler that has the request on this thread; NULL: none has.
recorder *recorder_here(const skua_request *r);

// The same; stops the process if there is none.
__attribute__((cold)) recorder *recorder_of(const skua_request *r, const char *function);

#endif
