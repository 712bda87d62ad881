// SPDX-License-Identifier: MIT
#include "socket_ceiling.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { KEY_OCTETS = 4 };

// of the key that the bench's client sends
const char socket_accepted[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
const size_t socket_accepted_octets = sizeof socket_accepted - 1;

_Noreturn void socket_die(const char *what)
{
    perror(what);
    exit(1);
}

static void unmask(char *at, size_t len, const char *key)
{
    uint32_t half;
    memcpy(&half, key, sizeof half);
    const uint64_t keys = (uint64_t)half << 32 | half;
    size_t i = 0;
    for (; len - i >= sizeof keys; i += sizeof keys) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        word ^= keys;
        memcpy(at + i, &word, sizeof word);
    }
    for (; i < len; i++)
        at[i] ^= ((const char *)&keys)[i % sizeof keys];
}

// Where the payload begins and how long it is. Returns: 0 while the head is not whole.
static size_t read_head(const unsigned char *in, size_t have, size_t *payload)
{
    if (have < 2) return 0;
    unsigned first = in[1] & 127;
    size_t octets = first == 127 ? 8 : first == 126 ? 2 : 0;
    if (have < 2 + octets) return 0;
    *payload = octets ? 0 : first;
    for (size_t i = 0; i < octets; i++)
        *payload = *payload << 8 | in[2 + i];
    return 2 + octets + KEY_OCTETS;
}

// The answer's head has the same length octets as the frame's, and stands where they and the key stood.
socket_answer socket_echo(char *in, size_t have)
{
    char key[KEY_OCTETS];
    size_t payload = 0, begin = read_head((const unsigned char *)in, have, &payload);
    if (payload > SOCKET_INPUT_OCTETS - 16) socket_die("a message is too long");
    if (!begin || have < begin + payload) return (socket_answer){ 0 };
    memcpy(key, in + begin - KEY_OCTETS, KEY_OCTETS);
    unmask(in + begin, payload, key);
    memmove(in + KEY_OCTETS, in, begin - KEY_OCTETS);
    in[KEY_OCTETS + 1] &= 127;
    return (socket_answer){ in + KEY_OCTETS, begin - KEY_OCTETS + payload, true };
}

int socket_listen(int port)
{
    const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) socket_die("socket");
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        socket_die("listen");
    return listener;
}
