// SPDX-License-Identifier: MIT

#include "archive/seat.h"

#include <skua/middleware/limit_network.h>

#include <pthread.h>
#include <string.h>

enum { SEAT_NETWORK_OCTETS = 128 };

struct seat {
    bool is_taken;
    size_t network_len; // 0: the client has no address
    char network[SEAT_NETWORK_OCTETS];
};

static struct {
    struct {
        pthread_mutex_t lock; // of all that follows
        seat list[SEATS_MAX];
        unsigned refused; // clients, since seats were free
    } shared;
} seats = { .shared.lock = PTHREAD_MUTEX_INITIALIZER };

// All clients of a Unix socket have one name, and those that a proxy does not name.
static size_t seat_network(skua_request *request, char network[SEAT_NETWORK_OCTETS])
{
    size_t len = skua_request_peer(request, network, SEAT_NETWORK_OCTETS);
    bool is_named = strcmp(network, "unix") != 0 && strcmp(network, "unknown") != 0;
    return is_named ? skua_limit_network(network, len) : 0;
}

static unsigned seat_count_of(const char *network, size_t len)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SEATS_MAX; i++) {
        const seat *at = &seats.shared.list[i];
        count +=
            at->is_taken && len && at->network_len == len && memcmp(at->network, network, len) == 0;
    }
    return count;
}

static seat *seat_find_free(void)
{
    for (unsigned i = 0; i < SEATS_MAX; i++)
        if (!seats.shared.list[i].is_taken) return &seats.shared.list[i];
    return NULL;
}

seat *seat_take(skua_request *request)
{
    char network[SEAT_NETWORK_OCTETS];
    size_t len = seat_network(request, network);
    (void)pthread_mutex_lock(&seats.shared.lock);
    bool has_half = seat_count_of(network, len) >= SEATS_OF_ONE_MAX;
    seat *found = has_half ? NULL : seat_find_free();
    if (found) {
        found->is_taken = true;
        found->network_len = len;
        if (len) memcpy(found->network, network, len);
    } else if (!has_half && seats.shared.refused < SEATS_MAX) {
        seats.shared.refused++;
    }
    (void)pthread_mutex_unlock(&seats.shared.lock);
    return found;
}

void seat_give(seat *taken)
{
    (void)pthread_mutex_lock(&seats.shared.lock);
    taken->is_taken = false;
    if (seats.shared.refused) seats.shared.refused--;
    (void)pthread_mutex_unlock(&seats.shared.lock);
}

// Who has been refused is counted down when the seat is given, so that no more are lost than somebody wants.
bool seat_is_lost(const seat *taken, uint64_t octets)
{
    if (octets >= (uint64_t)SEAT_OCTETS_MIN * SEAT_WINDOW_S) return false;
    (void)pthread_mutex_lock(&seats.shared.lock);
    bool is_lost = taken->is_taken && seats.shared.refused > 0;
    (void)pthread_mutex_unlock(&seats.shared.lock);
    return is_lost;
}
