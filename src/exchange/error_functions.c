// SPDX-License-Identifier: MIT
//
// Error functions.

#include "exchange/error_functions.h"

#include "base/memory.h"
#include "exchange/prefix.h"
#include "exchange/recorder.h"
#include "exchange/sites.h"

typedef struct error_function {
    prefix prefix;
    skua_error_fn *fn;
    void *user;
} error_function;

struct error_functions {
    unsigned count;
    error_function items[ERROR_FUNCTIONS_MAX];
};

skua_status error_functions_add(error_functions **set, const char *text, skua_error_fn *fn,
                                void *user, char *why, size_t room)
{
    static const char owner[] = "an error function";
    if (!*set) *set = memory_zeroed(sizeof **set);
    if (!*set) return prefix_refuse(SKUA_ENOMEM, why, room, owner, text, "memory ran out");
    if ((*set)->count == ERROR_FUNCTIONS_MAX)
        return prefix_refuse(SKUA_ELIMIT, why, room, owner, text, "there are 64 already");
    error_function *item = &(*set)->items[(*set)->count];
    skua_status status = prefix_read(&item->prefix, text, owner, why, room);
    if (status) return status;
    item->fn = fn;
    item->user = user;
    (*set)->count++;
    return SKUA_OK;
}

void error_functions_free(error_functions *set)
{
    if (!set) return;
    for (unsigned i = 0; i < set->count; i++)
        prefix_free(&set->items[i].prefix);
    memory_free(set);
}

// A host counts more than any path, and a path more than a method.
static size_t error_function_rank(const error_function *item)
{
    const route_pattern *p = &item->prefix.pattern;
    return (size_t)(p->host.len > 0) << 20 | p->path.len << 1 | (p->method.len > 0);
}

static const error_function *error_function_find(const error_functions *set, const skua_request *r)
{
    const error_function *found = NULL;
    for (unsigned i = 0; i < set->count; i++) {
        const error_function *item = &set->items[i];
        if (!prefix_takes(&item->prefix, r)) continue;
        if (!found || error_function_rank(item) > error_function_rank(found)) found = item;
    }
    return found;
}

// One that did not respond has perhaps added fields, which are not those of the server's page.
static bool error_function_call(const error_function *item, skua_request *r, int status,
                                slice sentence)
{
    response_fields before = r->fields;
    bool spoiled = r->spoiled;
    r->erring = true;
    item->fn(r, status, sentence, item->user);
    r->erring = false;
    if (r->responding != RESPONSE_NONE) return true;
    r->fields = before;
    r->typed = TYPE_OF_RESPONSE;
    r->spoiled = spoiled;
    return false;
}

// In a blocking handler that asks for an error, on its thread.
static bool error_function_call_there(const error_function *item, skua_request *r, recorder *taken,
                                      int status, slice sentence)
{
    taken->is_erring = true;
    taken->table->mark_fields(taken);
    item->fn(r, status, sentence, item->user);
    taken->is_erring = false;
    if (taken->table->status(taken) != 0) return true;
    taken->table->drop_fields(taken);
    return false;
}

bool error_functions_respond(skua_request *r, int status, slice sentence)
{
    recorder *taken = recorder_here(r);
    const error_functions *set = request_parts(r)->errors;
    if (!set || (taken ? taken->is_erring : r->erring)) return false;
    const error_function *item = error_function_find(set, r);
    if (!item) return false;
    if (taken) return error_function_call_there(item, r, taken, status, sentence);
    return error_function_call(item, r, status, sentence);
}
