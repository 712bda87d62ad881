# SPDX-License-Identifier: MIT
"""A client of WebSocket that sends exactly the frames it is told to, and reads those that come by the letter of RFC 6455."""

import base64
import hashlib
import random
import struct

from wire import request

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEYS = random.Random(6455)  # of frames: the same in every process that collects the tests
KEY = base64.b64encode(bytes(range(16))).decode()


def head(opcode, length, *, final=True, reserved=0, masked=True):
    """The head of a frame, without the key."""
    first = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    mask = 0x80 if masked else 0
    if length < 126:
        return first + bytes([mask | length])
    if length < 65536:
        return first + bytes([mask | 126]) + struct.pack(">H", length)
    return first + bytes([mask | 127]) + struct.pack(">Q", length)


def mask(payload, key):
    if not payload:
        return b""
    long_key = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(long_key, "big")).to_bytes(len(payload), "big")


def frame(opcode, payload=b"", *, final=True, reserved=0, masked=True):
    payload = payload.encode() if isinstance(payload, str) else payload
    begin = head(opcode, len(payload), final=final, reserved=reserved, masked=masked)
    if not masked:
        return begin + payload
    key = KEYS.randbytes(4)
    return begin + key + mask(payload, key)


def close(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def upgrade(path, *lines, key=KEY, version="13", host="localhost"):
    """A request for a socket."""
    fields = ["Connection: keep-alive, Upgrade", "Upgrade: websocket"]
    if key is not None:
        fields.append(f"Sec-WebSocket-Key: {key}")
    if version is not None:
        fields.append(f"Sec-WebSocket-Version: {version}")
    return request(path, *fields, *lines, host=host)


class Socket:
    """A WebSocket on a connection of a server's. behind: octets that are sent with the request."""

    def __init__(self, server, path, *lines, host="localhost", behind=b"", **options):
        self.connection = server.connect(http2=False, **options)
        self.connection.send(upgrade(path, *lines, host=host) + behind)
        self.response = self.connection.head()
        assert self.response.status == 101, self.response
        assert self.response.get("sec-websocket-accept") == accept_of(KEY)
        assert self.response.get("upgrade").lower() == "websocket"

    def send(self, octets):
        self.connection.send(octets)
        return self

    def frame(self):
        """(opcode, payload) of the next frame; the server masks none and sends each message whole unless in pieces."""
        opcode, final, payload = self.piece()
        assert final, (opcode, payload)
        return opcode, payload

    def piece(self):
        """(opcode, whether it is the last, payload) of the next frame."""
        first, second = self.connection.exactly(2)
        assert not first & 0x70 and not second & 0x80, (first, second)
        length = second & 127
        if length == 126:
            length = struct.unpack(">H", self.connection.exactly(2))[0]
            assert length > 125
        elif length == 127:
            length = struct.unpack(">Q", self.connection.exactly(8))[0]
            assert length > 65535
        return first & 15, bool(first & 0x80), self.connection.exactly(length)

    def message(self):
        opcode, payload = self.frame()
        assert opcode in (TEXT, BINARY), (opcode, payload)
        return payload.decode() if opcode == TEXT else payload

    def closed(self):
        """The code and reason of the close that comes next, with which the connection ends; None: a close without."""
        opcode, payload = self.frame()
        assert opcode == CLOSE, (opcode, payload)
        return (struct.unpack(">H", payload[:2])[0], payload[2:].decode()) if payload else None

    def ended(self):
        return self.connection.ended()

    def leave(self):
        self.connection.close()
