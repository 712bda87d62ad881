# SPDX-License-Identifier: MIT
"""HTTP/2 of the release build, in the clear: what a request executes and allocates, and what an idle connection holds.

Instructions are those of user space, by callgrind; SKUA_RECORD=1 writes down those that are lower. The client sends 32
requests at a time, each with the fields of h2load, as `h2load -c 1 -m 32` does.
"""

import os
import re
import socket
import struct

import hpack
import pytest
from instructions import SLACK, VALGRIND, compiler, known, record
from counting import Counted, make_shim, many_descriptors
from server import RELEASE, Server, free_port

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, WINDOW_UPDATE = 1, 4, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
AT_A_TIME = 32
REQUESTS = 3200
IDLE = 1000
IDLE_OCTETS = 1024
# A client's table after one request: four entries of 32 octets and what they hold, which the server keeps too.
TABLE_OCTETS = 256


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Client:
    """One connection, whose window never shuts."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.encoder, self.next, self.buffer = hpack.Encoder(), 1, b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0)
                            + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7000_0000)))

    def ask(self, requests):
        """Sends so many at once, and reads until each stream has ended."""
        sent, open_streams = b"", set()
        for _ in range(requests):
            block = self.encoder.encode([(":method", "GET"), (":scheme", "http"), (":path", "/"),
                                         (":authority", "localhost"), ("user-agent", "h2load nghttp2/1.52.0")])
            sent += frame(HEADERS, END_HEADERS | END_STREAM, self.next, block)
            open_streams.add(self.next)
            self.next += 2
        self.socket.sendall(sent)
        while open_streams:
            kind, flags, stream = self.read()
            assert kind in (0, HEADERS, SETTINGS, WINDOW_UPDATE), f"frame {kind}"
            if kind in (0, HEADERS) and flags & END_STREAM:
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


def executed(folder, requests):
    port, counts = free_port(), folder / f"callgrind.{requests}"
    server = Server([VALGRIND, "--tool=callgrind", "--quiet", f"--callgrind-out-file={counts}", RELEASE / "hello", "--port", port,
                     "--workers", "1", "--backend", "epoll"], ("127.0.0.1", port))
    try:
        client = Client(port)
        for _ in range(requests // AT_A_TIME):
            client.ask(AT_A_TIME)
        client.socket.close()
    finally:
        server.stop()
    return int(re.search(r"^totals: (\d+)", counts.read_text(), re.MULTILINE).group(1))


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_instructions(tmp_path):
    found = (executed(tmp_path, 2 * REQUESTS) - executed(tmp_path, REQUESTS)) / REQUESTS
    key, what = compiler(), "HTTP/2, 32 at a time"
    if os.environ.get("SKUA_RECORD"):
        record(key, what, found)
    budget = known(key, what)
    print(f"{found:.0f} instructions per request, of {budget} ({key})")
    assert 500 < found < 6000, "this counts something else"
    if budget is None:
        pytest.skip(f"no budget is known for {key}: {found:.0f} instructions per request")
    assert found <= budget * SLACK


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return make_shim(tmp_path_factory.mktemp("shim"))


def test_no_allocation_per_request(shim, tmp_path):
    """While the connection does not idle: what it gives back then is taken again."""
    counted = Counted(shim, tmp_path, "hello", "--port", "{port}", "--workers", "1")
    try:
        client = Client(counted.server.port)
        client.ask(AT_A_TIME)
        before = counted.calls()
        for _ in range(100):
            client.ask(AT_A_TIME)
        assert counted.calls() - before <= 4 * 100, "each batch ends in idling, which gives back two tables"
    finally:
        counted.server.stop()


def test_idle_connection(shim, tmp_path, record_property):
    many_descriptors()
    counted = Counted(shim, tmp_path, "hello", "--port", "{port}", "--workers", "1")
    clients = []
    try:
        for _ in range(100):
            clients.append(Client(counted.server.port))
            clients[-1].ask(1)
        before = counted.octets()
        for _ in range(IDLE):
            clients.append(Client(counted.server.port))
            clients[-1].ask(1)
        each = (counted.octets() - before) / IDLE
        record_property("octets", round(each))
        print(f"{each:.0f} octets of an idle connection")
        assert 128 < each <= IDLE_OCTETS + TABLE_OCTETS
    finally:
        for client in clients:
            client.socket.close()
        counted.server.stop()
