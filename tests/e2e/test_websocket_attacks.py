# SPDX-License-Identifier: MIT
"""Clients of WebSockets that mean harm, over HTTP/1.1 and HTTP/2, in the clear and over TLS: each is told or held up, the server's memory
stays, and another client is served meanwhile."""

import time
import zlib

import pytest
from h2_sockets import Http2
from server import eventually, lacks_tls, numbered, secure
from websocket import BINARY, CLOSE, CONTINUATION, PING, TEXT, Socket, frame, head
from witness import SocketWitness
from wsproto.events import CloseConnection

pytestmark = pytest.mark.in_the_clear("chooses its transports itself")

COMPRESSED = 4  # the reserved bit of permessage-deflate
PATIENCE_S = 20


class OverHttp1:
    def __init__(self, server, path, *fields):
        self.socket = Socket(server, path, *fields, receive_buffer=4096)
        self.socket.connection.socket.settimeout(1)

    def send(self, octets):
        """Whether all of it was taken, and nothing was held up or refused."""
        try:
            self.socket.send(octets)
            return True
        except OSError:
            return False

    def code(self):
        """The code of the close that comes."""
        self.socket.connection.socket.settimeout(PATIENCE_S)
        while (found := self.socket.frame())[0] != CLOSE:
            pass
        return int.from_bytes(found[1][:2], "big")

    def vanish(self):
        self.socket.connection.reset()


class OverHttp2:
    def __init__(self, server, path, *fields):
        self.http2 = Http2(server)
        self.stream = self.http2.open(path, *[tuple(line.lower().split(": ")) for line in fields])
        assert self.stream.response()[":status"] == "200"
        self.http2.connection.socket.settimeout(1)

    def send(self, octets):
        h2, number = self.http2.h2, self.stream.number
        try:
            while octets and not self.stream.ended:
                room = min(h2.local_flow_control_window(number), 16384)
                if room:
                    h2.send_data(number, octets[:room])
                    octets = octets[room:]
                    self.http2.flush()
                else:
                    self.http2.read()
        except Exception:  # the stream is closed, in whichever way
            return False
        return not octets

    def code(self):
        self.http2.connection.socket.settimeout(PATIENCE_S)
        told = self.stream.until(lambda: [event for event in self.stream.events if isinstance(event, CloseConnection)])
        return int(told[0].code)

    def vanish(self):
        self.http2.connection.reset()


@pytest.fixture(params=[OverHttp1, OverHttp2])
def attacker(request):
    return request.param


@pytest.fixture(scope="module", params=["clear", pytest.param("tls", marks=pytest.mark.test_all)])
def start(request):
    """start(name, **environment) starts a server, in the clear or over TLS."""
    if request.param == "tls" and lacks_tls():
        pytest.skip(lacks_tls())
    return lambda name, **env: (numbered if request.param == "clear" else secure)(name, env={"ASAN_OPTIONS": "quarantine_size_mb=1", **env})


@pytest.fixture(scope="module")
def server(start):
    server = start("sockets")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def hasty(start):
    server = start("sockets", SOCKETS_HASTY="1")
    yield server
    server.stop()


def closes(server, path):
    return [line for line in server.get("/closes").content.decode().splitlines() if line.startswith(path)]


@pytest.mark.parametrize("octets", [frame(PING, b"x" * 125), frame(TEXT), frame(BINARY, b"a")], ids=["pings", "empty texts", "octets"])
def test_floods_that_are_not_read(server, attacker, octets):
    """Nobody takes the answers: the client is held up, or told that it is too fast."""
    with SocketWitness(server):
        client = attacker(server, "/echo/flood")
        for _ in range(60):
            if not client.send(octets * 1000):
                break
        client.vanish()
    assert eventually(lambda: closes(server, "/echo/flood"))


def test_a_flood_of_pings_that_is_read(server, attacker):
    with SocketWitness(server):
        client = attacker(server, "/brief")
        client.send(frame(PING) * 30000)
        assert client.code() in (1008, 1001)  # too fast; or open for as long as it may be, where the machine is slow
        client.vanish()


def test_empty_fragments(server, attacker):
    with SocketWitness(server):
        client = attacker(server, "/echo/fragments")
        client.send(frame(BINARY, b"a", final=False) + frame(CONTINUATION, final=False) * 5000)
        assert client.code() == 1008
        client.vanish()


def test_promises(hasty, attacker):
    """Each promises 60,000 octets and sends one: it comes too slowly, and is given up on while its connection lives on."""
    before = len(closes(hasty, "/echo/promise"))
    with SocketWitness(hasty):
        clients = [attacker(hasty, "/echo/promise") for _ in range(30)]
        for client in clients:
            client.send(head(BINARY, 60000) + b"\0\0\0\0x")
        assert eventually(lambda: len(closes(hasty, "/echo/promise")) == before + len(clients), every=0.1)
        for client in clients:
            client.vanish()


def test_readers_that_take_nothing(hasty, attacker):
    """Each has much poured for it and is given up on, while its connection lives on."""
    before = len(closes(hasty, "/wait"))
    with SocketWitness(hasty):
        clients = [attacker(hasty, "/wait") for _ in range(15)]
        for client in clients:
            client.send(frame(TEXT, "pour"))
        assert eventually(lambda: len(closes(hasty, "/wait")) == before + len(clients), every=0.1)
        for client in clients:
            client.vanish()


def test_clients_that_vanish(server, attacker):
    """In the middle of heads, messages and fragments, and with answers on their way."""
    parts = [b"", frame(BINARY, b"x" * 5000)[:-1], head(TEXT, 100)[:1], frame(TEXT, "part", final=False), frame(BINARY, bytes(100_000)) * 3]
    before = len(closes(server, "/echo/vanishes"))
    with SocketWitness(server):
        for i in range(60):
            client = attacker(server, "/echo/vanishes")
            client.send(parts[i % len(parts)])
            client.vanish()
        assert eventually(lambda: len(closes(server, "/echo/vanishes")) == before + 60)


def test_bombs(start, attacker):
    """A few hundred octets that stand for more than a message may be, again and again, and by several at a time."""
    server = start("deflates")
    if server.get("/built-in").status == 404:
        server.stop()
        pytest.skip("zlib is not built in")
    squeeze = zlib.compressobj(wbits=-15)
    bomb = (squeeze.compress(bytes(32 << 20)) + squeeze.flush(zlib.Z_SYNC_FLUSH))[:-4]
    offer = "Sec-WebSocket-Extensions: permessage-deflate"
    with SocketWitness(server, "/shared"):
        clients = [attacker(server, path, offer) for path in ("/shared", "/dedicated", "/large") for _ in range(4)]
        for client in clients:
            client.send(frame(BINARY, bomb, reserved=COMPRESSED))
        for client in clients:
            assert client.code() == 1009
            client.vanish()
    server.stop()
