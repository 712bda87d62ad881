// SPDX-License-Identifier: MIT
//
// A reply is read when those before it have been passed on, so that its first object is made when it is known
// whether anybody waits for it. One that cannot be made is a fault of the connection's.

#include "bridge/unasked.h"

#include <stddef.h>

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

static const redisReplyObjectFunctions *bridge_usual(const redisReadTask *reading)
{
    const bridge_unasked *guard = reading->privdata;
    return guard->usual;
}

static void *bridge_make_string(const redisReadTask *reading, char *octets, size_t len)
{
    return bridge_is_unasked(reading) ? NULL
                                      : bridge_usual(reading)->createString(reading, octets, len);
}

static void *bridge_make_array(const redisReadTask *reading, bridge_length count)
{
    if (bridge_is_unasked(reading) || bridge_is_endless(reading, count)) return NULL;
    return bridge_usual(reading)->createArray(reading, count);
}

static void *bridge_make_integer(const redisReadTask *reading, long long value)
{
    return bridge_is_unasked(reading) ? NULL : bridge_usual(reading)->createInteger(reading, value);
}

static void *bridge_make_nil(const redisReadTask *reading)
{
    return bridge_is_unasked(reading) ? NULL : bridge_usual(reading)->createNil(reading);
}

#if HIREDIS_MAJOR >= 1
static void *bridge_make_double(const redisReadTask *reading, double value, char *text, size_t len)
{
    return bridge_is_unasked(reading)
               ? NULL
               : bridge_usual(reading)->createDouble(reading, value, text, len);
}

static void *bridge_make_bool(const redisReadTask *reading, int value)
{
    return bridge_is_unasked(reading) ? NULL : bridge_usual(reading)->createBool(reading, value);
}
#endif

void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked)
{
    guard->asked = asked;
    guard->why = NULL;
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
