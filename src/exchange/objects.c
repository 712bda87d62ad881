// SPDX-License-Identifier: MIT
//
// Objects that middleware and handlers keep with a request, for those that come later.

#include "exchange/objects.h"

#include "base/contract.h"
#include "exchange/recorder.h"

struct request_object {
    request_object *next;
    const void *key;
    void *object;
};

static request_object *object_find(request_object *at, const void *key)
{
    while (at && at->key != key)
        at = at->next;
    return at;
}

static bool object_add(request_object **list, arena *memory, const void *key, void *object)
{
    request_object *made = arena_alloc(memory, sizeof *made);
    if (!made) return false;
    *made = (request_object){ .next = *list, .key = key, .object = object };
    *list = made;
    return true;
}

bool objects_copy(const skua_request *r, request_object **list, arena *memory)
{
    for (const request_object *at = r->objects; at; at = at->next) {
        if (!object_add(list, memory, at->key, at->object)) return false;
    }
    return true;
}

skua_status skua_request_set(skua_request *r, const void *key, void *object)
{
    recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_GIVEN(key);
    request_object **list = taken ? &taken->objects : &r->objects;
    request_object *at = object_find(*list, key);
    if (at) {
        at->object = object;
        return SKUA_OK;
    }
    arena *memory = taken ? taken->decoding.memory : &r->memory;
    return object_add(list, memory, key, object) ? SKUA_OK : SKUA_ENOMEM;
}

void *skua_request_get(const skua_request *r, const void *key)
{
    const recorder *taken = request_is_here(r) ? NULL : recorder_of(r, __func__);
    CONTRACT_GIVEN(key);
    const request_object *at = object_find(taken ? taken->objects : r->objects, key);
    return at ? at->object : NULL;
}
