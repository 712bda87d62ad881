// SPDX-License-Identifier: MIT
//
// Compression of one socket's messages, permessage-deflate. A side that keeps its window has a stream of the
// socket's own. One that does not uses a stream of the worker's, which is the socket's while a message comes.
// Without zlib nothing is agreed on, and no socket has any of this.
#ifndef SKUA_WS_DEFLATE_H
#define SKUA_WS_DEFLATE_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"
#include "http/ws_deflate.h"
#include "ws/share.h"

typedef struct ws_deflate ws_deflate;

// Whether compression is built in.
#ifdef SKUA_ZLIB
enum { WS_DEFLATE_IS_BUILT_IN = true };
#else
enum { WS_DEFLATE_IS_BUILT_IN = false };
#endif

enum { WS_DEFLATE_ROOM_OCTETS = 4 }; // more than the message, for what is compressed

// The outcome of inflating.
typedef enum ws_unpacked {
    WS_UNPACKED_ALL,    // the input is used up
    WS_UNPACKED_MORE,   // to be called again, with more room
    WS_UNPACKED_BAD,    // it is no DEFLATE
    WS_UNPACKED_SCARCE, // memory is so short that no window is begun
    WS_UNPACKED_LACKS   // memory ran out
} ws_unpacked;

// Counts octets of windows to be, unless there would be more than most.
bool ws_deflate_reserve(atomic_size_t *windows, size_t octets, size_t most);

// windows: where ws_deflate_memory of it has been reserved, which it gives back; also when this fails.
// Returns: NULL when memory ran out.
ws_deflate *ws_deflate_new(skua_worker *w, const ws_deflate_terms *terms, atomic_size_t *windows);
void ws_deflate_free(ws_deflate *d); // NULL is allowed

// The window by which a message of that length is compressed for all sockets that keep none; 0: this one has its own.
unsigned ws_deflate_shared_bits(const ws_deflate *d, size_t octets);

// Compresses a message that is not empty. out: room for its length and WS_DEFLATE_ROOM_OCTETS more.
// Returns: false when it does not get shorter, or memory ran out: it is to be sent as it is.
bool ws_deflate_pack(ws_deflate *d, slice message, char *out, size_t *octets);

// The same by a stream of the worker's, so that the message stands by itself.
bool ws_deflate_pack_alone(skua_worker *w, unsigned bits, slice message, char *out, size_t *octets);

// Compresses a piece of a message that is sent piece by piece. out: room for ws_deflate_piece_room octets.
// Returns: how many octets it has; it ends with a whole octet, so that the peer can inflate all of it.
size_t ws_deflate_piece_room(size_t octets);
size_t ws_deflate_pack_piece(ws_deflate *d, slice piece, char *out);

// The octets that were compressed last are not sent, so nothing may refer to them.
void ws_deflate_forget(ws_deflate *d);

// Inflates octets of the message that is coming, and counts them. *input is moved past what was used. room: at least 1.
ws_unpacked ws_deflate_unpack(ws_deflate *d, slice *input, char *out, size_t room, size_t *octets);

// How many octets the message that is coming has been inflated to.
uint64_t ws_deflate_octets(const ws_deflate *d);

// Whether the worker's sockets have inflated so much in this turn of the loop that the rest is for the next, or others
// have waited for that longer.
bool ws_deflate_is_to_wait(const ws_deflate *d);

// Waits to inflate: as ws_share_await.
bool ws_deflate_await(ws_deflate *d, ws_turn_fn *turn, void *user);

// Whether a message that comes holds a stream of the worker's.
bool ws_deflate_borrows(const ws_deflate *d);

// The octets to be inflated at the end of each message; and whether it can end there.
slice ws_deflate_tail(const ws_deflate *d);
bool ws_deflate_is_whole(const ws_deflate *d);

// The message has ended: a stream of the worker's goes back.
void ws_deflate_message_ends(ws_deflate *d);

#endif
#endif
