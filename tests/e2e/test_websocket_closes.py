# SPDX-License-Identifier: MIT
"""Closes of the server's own: when the program learns of them, and of their answers."""

import pytest
from server import eventually, numbered
from websocket import CLOSE, TEXT, Socket, close, frame

pytestmark = pytest.mark.in_the_clear("HTTP/1 alone")


@pytest.fixture
def server():
    server = numbered("closes")
    yield server
    server.stop()


def told(server):
    return server.get("/told").content.decode().splitlines()


def test_a_close_is_told_before_it_is_answered(server):
    """Not inside the call that closes, and with its reason, which the call did not keep."""
    socket = Socket(server, "/closes")
    socket.send(frame(TEXT, "go"))
    assert socket.closed() == (4001, "bye")
    assert eventually(lambda: told(server) == ["closing 4001 bye"])
    socket.send(close(4002, b"answer"))
    assert socket.ended()
    assert eventually(lambda: told(server) == ["closing 4001 bye", "close 4002 answer"])


def test_one_that_is_not_answered(server):
    socket = Socket(server, "/unanswered")
    socket.send(frame(TEXT, "go"))
    assert socket.closed() == (4001, "bye") and socket.ended()
    assert told(server) == ["closing 4001 bye", "close 1006 the close was not answered"]


def test_one_by_the_lifetime(server):
    socket = Socket(server, "/briefly")
    assert socket.frame()[0] == CLOSE
    assert eventually(lambda: told(server) == ["closing 1001 open for as long as it may be"])
    socket.send(close(1001))
    assert socket.ended()


def test_closes_of_the_client_are_told_once(server):
    for leave in (lambda socket: socket.send(close(4003)), lambda socket: socket.connection.reset()):
        leave(Socket(server, "/closes"))
    assert eventually(lambda: sorted(told(server)) == ["close 1006 ", "close 4003 "])


def test_a_blocking_function_that_closes(server):
    for n in range(30):
        socket = Socket(server, "/blocking")
        socket.send(frame(TEXT, "go"))
        assert socket.closed() == (4012, "mine")
        socket.send(close(4012))
        assert socket.ended()
        assert eventually(lambda n=n: told(server) == ["blocking 4012 mine"] * (n + 1))
