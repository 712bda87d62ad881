# SPDX-License-Identifier: MIT
"""Sockets that a blocking function serves, on a thread that may wait."""

import contextlib
import os
import threading
import time

import pytest
from server import eventually, numbered
from websocket import BINARY, CLOSE, PING, PONG, TEXT, Socket, close, frame, upgrade

pytestmark = pytest.mark.in_the_clear("HTTP/1 alone; test_websocket_carriers.py has TLS and HTTP/2")

SOCKETS_MAX = 4  # half of its threads


@pytest.fixture
def server():
    server = numbered("sockets", "--grace-ms", "15000")
    yield server
    server.stop()


def told(server, line):
    return eventually(lambda: line in server.get("/closes").content.decode().splitlines())


def opens(server, path):
    with server.connect(http2=False) as connection:
        return connection.send(upgrade(path)).head().status == 101


def test_there_and_back(server):
    socket = Socket(server, "/blocking/lobby")
    socket.send(frame(TEXT, "one") + frame(BINARY, b"two") + frame(PING, b"?") + frame(TEXT, ""))
    came = [socket.frame() for _ in range(4)]
    assert [one for one in came if one[0] != PONG] == [(TEXT, b"lobby: one"), (BINARY, b"two"), (TEXT, b"lobby: ")]
    assert (PONG, b"?") in came
    octets = os.urandom(300_000)
    for _ in range(3):
        socket.send(frame(BINARY, octets))
        assert socket.message() == octets
    socket.send(close(4321, b"so long"))
    assert socket.closed() == (4321, "")
    assert socket.ended()
    assert told(server, "/blocking/lobby 4321 so long")


def test_messages_before_a_close_are_taken(server):
    socket = Socket(server, "/blocking/a")
    socket.send(b"".join(frame(TEXT, f"{i}") for i in range(100)) + close(4000))
    assert told(server, "/blocking/a 4000 ")
    socket.leave()


def test_its_own_closes(server):
    """By skua_socket_close, and by returning; what was sent before leaves before."""
    socket = Socket(server, "/blocking/a")
    socket.send(frame(TEXT, "bye"))
    while (last := socket.frame())[0] != CLOSE:
        assert last == (TEXT, b"a: bye")
    assert last == (CLOSE, b"\x0f\xaabye")
    socket.send(close(4010))
    assert socket.ended()
    assert told(server, "/blocking/a 4010 bye")
    socket = Socket(server, "/blocking/b")
    socket.send(frame(TEXT, "on") + frame(TEXT, "return"))
    assert socket.message() == "b: on"
    assert socket.closed() == (1000, "")
    socket.send(close(1000))
    assert socket.ended()


def test_times(server):
    socket = Socket(server, "/patient")
    assert [socket.message() for _ in range(3)] == ["1", "2", "3"]
    socket.leave()


def opened(server, path):
    """A socket, as soon as a thread is free for it."""
    found = []

    def tries():
        with contextlib.suppress(AssertionError):
            found.append(Socket(server, path))
        return found

    return eventually(tries)[0]


@pytest.mark.parametrize("way", ["close", "reset", "fin"])
def test_a_client_that_leaves_lets_it_go(server, way):
    """Its thread serves another then: more in turn than may be open at a time."""
    for _ in range(3 * SOCKETS_MAX):
        socket = opened(server, f"/blocking/{way}")
        if way == "close":
            socket.send(close(1000))
        if way == "reset":
            socket.connection.reset()
        else:
            socket.leave()
    assert told(server, f"/blocking/{way} {1000 if way == 'close' else 1006} ")


def test_half_of_the_threads(server):
    sockets = [Socket(server, "/blocking/a") for _ in range(SOCKETS_MAX)]
    with server.connect(http2=False) as connection:
        assert connection.send(upgrade("/blocking/b")).response().status == 503
    assert opens(server, "/echo/a"), "others need no thread"
    sockets.pop().leave()
    assert eventually(lambda: opens(server, "/blocking/c"))
    for socket in sockets:
        socket.send(frame(TEXT, "on"))
        assert socket.message() == "a: on"


def test_it_waits_for_a_slow_reader(server):
    """Whatever slow says."""
    socket = Socket(server, "/blocking-pour", receive_buffer=4096)
    time.sleep(0.2)
    for i in range(300):
        opcode, payload = socket.frame()
        assert (opcode, int(payload.split(b"\0")[0])) == (BINARY, i)
    assert socket.frame() == (TEXT, b"all")
    socket.connection.reset()
    assert told(server, "/blocking-pour 1006 ")


def test_a_function_that_takes_nothing_holds_its_client_up(server):
    socket = Socket(server, "/asleep")
    before = server.rss_octets()
    octets = b"x" * 50_000
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, octets) * 1000 + frame(BINARY)))
    sender.start()
    time.sleep(0.3)
    assert sender.is_alive()
    assert server.rss_octets() < before + (16 << 20)
    assert server.get("/wake").status == 200
    assert socket.message() == str(len(octets) * 1000)
    assert socket.closed() == (1000, "")
    sender.join()
    socket.leave()


def test_a_close_behind_what_nobody_takes(server):
    """The client's close is read though its messages were held up, so the end is not waited for in vain."""
    socket = Socket(server, "/asleep/leaving")
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, b"x" * 50_000) * 1000 + close(4012)))
    sender.start()
    time.sleep(0.3)
    assert sender.is_alive()
    assert server.get("/wake").status == 200
    assert socket.closed() == (4011, "enough")
    sender.join()
    assert socket.ended()
    assert eventually(lambda: [line for line in server.out_text().splitlines() if " /asleep/leaving " in line and "websocket 4012, " in line])


@pytest.mark.parametrize("path", ["/blocking/stop", "/blocking-pour"])
def test_a_stop_lets_it_go(server, path):
    """Also one that waits for room."""
    socket = Socket(server, path, receive_buffer=4096)
    if path == "/blocking/stop":
        socket.send(frame(TEXT, "on"))
        assert socket.message() == "stop: on"
    server.signal()
    while (last := socket.frame())[0] != CLOSE:
        pass
    assert last == (CLOSE, b"\x03\xe9")
    socket.send(close(1001))
    assert socket.ended()
    server.judge_end()
    assert "still run" not in server.error_text()
