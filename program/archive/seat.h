// SPDX-License-Identifier: MIT
//
// Seat: the right to make an archive. There are few, so that no client network has more than half of them, and who reads
// slowly loses his while others wait for one.
#ifndef PROGRAM_ARCHIVE_SEAT_H
#define PROGRAM_ARCHIVE_SEAT_H

#include <skua/skua.h>

enum {
    SEATS_MAX = 8, // in the process
    SEATS_OF_ONE_MAX = SEATS_MAX / 2,
    SEAT_WINDOW_S = 15,
    SEAT_OCTETS_MIN = 16384 // each second over a window, while others have been refused
};

typedef struct seat seat;

// Takes a seat for the client of a request.  Returns: NULL: all are taken, or half of them by this client's network.
seat *seat_take(skua_request *request);
void seat_give(seat *taken);

// To be asked after each window. octets: that the client has taken in it.  Returns: whether the seat is to be given up for somebody who was
// refused; that one is not told, but comes again.
bool seat_is_lost(const seat *taken, uint64_t octets);

#endif
