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

static bool bridge_is_unasked(const redisReadTask *task)
{
    bridge_unasked *guard = task->privdata;
    if (task->parent || *guard->asked || task->type == REDIS_REPLY_ERROR) return false;
    guard->came = true;
    return true;
}

static const redisReplyObjectFunctions *bridge_usual(const redisReadTask *task)
{
    const bridge_unasked *guard = task->privdata;
    return guard->usual;
}

static void *bridge_make_string(const redisReadTask *task, char *octets, size_t len)
{
    return bridge_is_unasked(task) ? NULL : bridge_usual(task)->createString(task, octets, len);
}

static void *bridge_make_array(const redisReadTask *task, bridge_length count)
{
    return bridge_is_unasked(task) ? NULL : bridge_usual(task)->createArray(task, count);
}

static void *bridge_make_integer(const redisReadTask *task, long long value)
{
    return bridge_is_unasked(task) ? NULL : bridge_usual(task)->createInteger(task, value);
}

static void *bridge_make_nil(const redisReadTask *task)
{
    return bridge_is_unasked(task) ? NULL : bridge_usual(task)->createNil(task);
}

#if HIREDIS_MAJOR >= 1
static void *bridge_make_double(const redisReadTask *task, double value, char *text, size_t len)
{
    return bridge_is_unasked(task) ? NULL
                                   : bridge_usual(task)->createDouble(task, value, text, len);
}

static void *bridge_make_bool(const redisReadTask *task, int value)
{
    return bridge_is_unasked(task) ? NULL : bridge_usual(task)->createBool(task, value);
}
#endif

void bridge_unasked_refuse(bridge_unasked *guard, redisReader *reader, const unsigned *asked)
{
    guard->asked = asked;
    guard->came = false;
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
