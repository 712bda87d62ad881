// SPDX-License-Identifier: MIT
//
// A reply is read when those before it have been passed on, so that its first object is made when it is known
// whether anybody waits for it. One that cannot be made is a fault of the connection's.

#include "bridge/unasked.h"

#include <stddef.h>
#include <string.h>

#ifdef SKUA_REDIS

#if HIREDIS_MAJOR >= 1
typedef size_t bridge_length;
#else
typedef int bridge_length;
#endif

static bool bridge_is_unasked(const redisReadTask *reading)
{
    bridge_unasked *guard = reading->privdata;
    if (reading->parent || *guard->asked || reading->type == REDIS_REPLY_ERROR) return false;
    guard->why = "it replies though nothing was asked";
    return true;
}

static bool bridge_is_endless(const redisReadTask *reading, bridge_length count)
{
    bridge_unasked *guard = reading->privdata;
    if (count <= BRIDGE_ELEMENTS_MAX) return false;
    guard->why = "its reply has too many elements";
    return true;
}

// ---- Long replies ----

static void bridge_begin_reply(bridge_unasked *guard)
{
    guard->octets_before += guard->octets;
    guard->octets = guard->objects = 0;
    guard->entry_id[0] = 0;
}

static bool bridge_has_grown_long(bridge_unasked *guard, size_t unread)
{
    size_t octets = guard->octets + unread + guard->objects * BRIDGE_OBJECT_OCTETS;
    if (octets <= BRIDGE_REPLY_OCTETS_MAX) return false;
    guard->is_long = true;
    guard->why = "its reply has too many octets";
    return true;
}

bool bridge_unasked_is_long(bridge_unasked *guard, const redisReader *reader)
{
    return bridge_has_grown_long(guard, reader->len - reader->pos);
}

// [[stream, [[id, [name, value, ...]], ...]]]
static void bridge_note_entry(const redisReadTask *reading, const char *octets, size_t len)
{
    bridge_unasked *guard = reading->privdata;
    unsigned depth = 0;
    for (const redisReadTask *at = reading->parent; at; at = at->parent)
        depth++;
    if (depth != 4 || reading->idx != 0 || len >= sizeof guard->entry_id) return;
    memcpy(guard->entry_id, octets, len);
    guard->entry_id[len] = 0;
    guard->entry = (size_t)reading->parent->idx;
}

// ---- Objects ----

// Whether one more object is made, with so many octets of its own.
static bool bridge_admits(const redisReadTask *reading, size_t octets)
{
    bridge_unasked *guard = reading->privdata;
    if (bridge_is_unasked(reading)) return false;
    if (!reading->parent) bridge_begin_reply(guard);
    guard->octets += octets;
    guard->objects++;
    return !bridge_has_grown_long(guard, 0);
}

static const redisReplyObjectFunctions *bridge_usual(const redisReadTask *reading)
{
    const bridge_unasked *guard = reading->privdata;
    return guard->usual;
}

static void *bridge_make_string(const redisReadTask *reading, char *octets, size_t len)
{
    bridge_note_entry(reading, octets, len);
    return bridge_admits(reading, len) ? bridge_usual(reading)->createString(reading, octets, len)
                                       : NULL;
}

static void *bridge_make_array(const redisReadTask *reading, bridge_length count)
{
    if (!bridge_admits(reading, 0) || bridge_is_endless(reading, count)) return NULL;
    return bridge_usual(reading)->createArray(reading, count);
}

static void *bridge_make_integer(const redisReadTask *reading, long long value)
{
    return bridge_admits(reading, 0) ? bridge_usual(reading)->createInteger(reading, value) : NULL;
}

static void *bridge_make_nil(const redisReadTask *reading)
{
    return bridge_admits(reading, 0) ? bridge_usual(reading)->createNil(reading) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *bridge_make_double(const redisReadTask *reading, double value, char *text, size_t len)
{
    return bridge_admits(reading, len)
               ? bridge_usual(reading)->createDouble(reading, value, text, len)
               : NULL;
}

static void *bridge_make_bool(const redisReadTask *reading, int value)
{
    return bridge_admits(reading, 0) ? bridge_usual(reading)->createBool(reading, value) : NULL;
}
#endif

void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked)
{
    guard->asked = asked;
    guard->why = NULL;
    guard->is_long = false;
    guard->octets = guard->objects = 0;
    guard->octets_before = 0;
    guard->entry_id[0] = 0;
    guard->usual = reader->fn;
    guard->ours = *reader->fn;
    guard->ours.createString = bridge_make_string;
    guard->ours.createArray = bridge_make_array;
    guard->ours.createInteger = bridge_make_integer;
    guard->ours.createNil = bridge_make_nil;
#if HIREDIS_MAJOR >= 1
    guard->ours.createDouble = bridge_make_double;
    guard->ours.createBool = bridge_make_bool;
#endif
    reader->fn = &guard->ours;
    reader->privdata = guard;
}

#endif
