// SPDX-License-Identifier: MIT
//
// skua_topic_bridge: what it refuses, and what there is of it in a library without hiredis.

#include "base/contract.h"
#include "base/sized.h"
#include "bridge/bridge.h"
#include "server/server.h"

#ifdef SKUA_REDIS

#include "topic/topic.h"

enum { BRIDGE_STREAM_OCTETS_MAX = 512, BRIDGE_GAP_OCTETS_MAX = 4096 };

// Which member is out of its range; NULL: none.
static const char *bridge_wrong_member(const skua_topic_bridge_desc *desc)
{
    uint64_t waiting_max = SIZE_MAX / 2;
    if (desc->message_octets_max > TOPIC_PENDING_OCTETS_MAX / 2) return "message_octets_max";
    if (desc->waiting_octets_max > waiting_max) return "waiting_octets_max";
    if (desc->retained_max > INT64_MAX) return "retained_max";
    if (desc->stream && (!desc->stream[0] || strlen(desc->stream) > BRIDGE_STREAM_OCTETS_MAX))
        return "stream";
    if (desc->gap_text && strlen(desc->gap_text) > BRIDGE_GAP_OCTETS_MAX) return "gap_text";
    return NULL;
}

static skua_status bridge_check(skua_server *server, const skua_topic_bridge_desc *desc,
                                bridge_url *url)
{
    if (server->started)
        return server_fail(server, SKUA_ESTATE, "the server has been started already");
    if (server->relay) return server_fail(server, SKUA_EEXIST, "the server has a bridge already");
    const char *wrong = bridge_wrong_member(desc);
    if (wrong)
        return server_fail(server, SKUA_EINVAL, "%s of the bridge is out of its range", wrong);
    if (bridge_url_read(slice_of(desc->url), url))
        return server_fail(server, SKUA_EINVAL,
                           "the URL of the bridge's store is none; one looks like "
                           "redis://:password@host:6379/0, or unix:///path");
    return SKUA_OK;
}

__attribute__((cold)) skua_status skua_topic_bridge_sized(skua_server *server,
                                                          const skua_topic_bridge_desc *desc,
                                                          const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_topic_bridge_desc own;
    desc = SIZED_GIVEN(desc, sizes->topic_bridge_desc, &own);
    CONTRACT_GIVEN(desc->url);
    bridge_url url;
    skua_status status = bridge_check(server, desc, &url);
    return status ? status : bridge_add_to(server, desc, &url);
}

#else

__attribute__((cold)) skua_status skua_topic_bridge_sized(skua_server *server,
                                                          const skua_topic_bridge_desc *desc,
                                                          const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_topic_bridge_desc own;
    desc = SIZED_GIVEN(desc, sizes->topic_bridge_desc, &own);
    CONTRACT_GIVEN(desc->url);
    return server_fail(server, SKUA_EUNSUPPORTED,
                       "the library was built without SKUA_REDIS, by which topics reach other "
                       "machines");
}

#endif
