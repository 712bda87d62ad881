# SPDX-License-Identifier: MIT
"""A client of HTTP/2 that asks for one thing in batches, for figures: what its requests hold is what h2load sends."""

import struct

import hpack
from h2_socket import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, frame

AT_A_TIME = 32


class Batches:
    """One connection, whose window never shuts."""

    def __init__(self, connected, scheme="http", path="/"):
        self.socket, self.scheme, self.path = connected, scheme, path
        self.encoder, self.next, self.buffer = hpack.Encoder(), 1, b""
        self.socket.sendall(PREFACE + frame(SETTINGS) + frame(SETTINGS, ACK)
                            + frame(WINDOW_UPDATE, payload=struct.pack(">I", 0x7000_0000)))

    def ask(self, requests=AT_A_TIME):
        """Sends so many at once, and reads until each stream has ended."""
        sent, open_streams = b"", set()
        for _ in range(requests):
            block = self.encoder.encode([(":method", "GET"), (":scheme", self.scheme), (":path", self.path),
                                         (":authority", "localhost"), ("user-agent", "h2load nghttp2/1.52.0")])
            sent += frame(HEADERS, END_HEADERS | END_STREAM, self.next, block)
            open_streams.add(self.next)
            self.next += 2
        self.socket.sendall(sent)
        while open_streams:
            kind, flags, stream = self.read()
            assert kind in (DATA, HEADERS, SETTINGS, WINDOW_UPDATE), f"frame {kind}"
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                open_streams.remove(stream)

    def read(self):
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            more = self.socket.recv(65536)
            assert more, "the connection ended"
            self.buffer += more
        size, kind, flags = int.from_bytes(self.buffer[:3], "big"), self.buffer[3], self.buffer[4]
        stream = int.from_bytes(self.buffer[5:9], "big")
        self.buffer = self.buffer[9 + size:]
        return kind, flags, stream
