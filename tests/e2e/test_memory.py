# SPDX-License-Identifier: MIT
"""memory_max, with real sockets: a flood fills the server up to it, and no further; whoever is served goes on,
and when the flood is over everybody is."""

import time

import pytest
from counting import many_descriptors
from server import eventually
from wire import Connection, request

MIB = 1 << 20
MEMORY_MAX = 8 * MIB
HEAD = request("/pull/200000", "X: " + "x" * 15_000)


@pytest.fixture
def small(launch_rules):
    many_descriptors()
    return launch_rules(f"memory_max={MEMORY_MAX}")


def flood(server, count, octets):
    """count connections that send octets as far as the server takes them, and read nothing."""
    connections = []
    for _ in range(count):
        try:
            connection = server.connect(receive_buffer=2048)
            connections.append(connection)
            connection.socket.setblocking(False)
            connection.socket.send(octets)
        except OSError:
            pass
    return connections


def push(connections, octets):
    for connection in connections:
        try:
            connection.socket.send(octets)
        except OSError:
            pass


def close_all(connections):
    for connection in connections:
        connection.reset()


def status_of(server):
    """The status of a request on a connection of its own; None: it was not accepted."""
    try:
        return server.get("/").status
    except (AssertionError, EOFError, OSError):
        return None


def is_served(server):
    return eventually(lambda: status_of(server) == 200)


def test_pipelined_heads_are_held_by_the_limit(small):
    """Each connection could hold 64 heads of 15,000 octets while their answers wait, 400 of them 380 MiB. What the
    kernel holds for them comes on top."""
    assert status_of(small) == 200
    with small.connect(receive_buffer=4096) as download:
        download.send(request("/pull/3000000"))
        head = download.exactly(1000)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        connections = flood(small, 400, HEAD * 64)
        assert eventually(lambda: "memory_max is 8388608 octets" in small.error_text() + small.out_text())
        for _ in range(10):
            push(connections, HEAD * 4)
            time.sleep(0.05)
        download.exactly(2_999_000)  # it was being served, and goes on
        close_all(connections)
        assert is_served(small)


def test_heads_that_do_not_end_are_ended(small):
    connections = flood(small, 1000, b"GET / HTTP/1.1\r\nX: " + b"x" * 9_000)
    # some are ended, and so none of them is more than the limit allows
    def living():
        return sum(not gone(connection) for connection in connections)

    assert eventually(lambda: living() < 900)
    assert living() * 9_000 < MEMORY_MAX
    close_all(connections)
    assert is_served(small)


def gone(connection):
    """Whether the server has closed it. What it has sent is read, and forgotten."""
    try:
        connection.socket.setblocking(False)
        while octets := connection.socket.recv(65536):
            del octets
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_the_oldest_idle_connections_are_closed(small):
    idle = []
    for _ in range(60):
        connection = small.connect()
        assert connection.get("/").status == 200
        idle.append(connection)
        time.sleep(0.1)  # a tick
    # more than eight tenths and less than nine: some 10.9 KB each
    heads = flood(small, 650, b"GET / HTTP/1.1\r\nX: " + b"x" * 4_000)
    try:
        assert eventually(lambda: gone(idle[0]))
        order = [gone(connection) for connection in reversed(idle)]  # more go meanwhile
        assert order == sorted(order)
    finally:
        close_all(heads)
    assert is_served(small)


def test_it_says_no_with_503(small):
    """Between nine tenths and everything, a request is answered and told when to come again."""
    uploads = []
    refused = None
    for _ in range(80):
        connection = small.connect()
        connection.send(request("/collect", "Content-Length: 300000", method="POST", content=b"c" * 120_000))
        uploads.append(connection)
        time.sleep(0.02)
        try:
            refused = small.get("/")
        except (AssertionError, EOFError, OSError):
            refused = None
            break
        if refused.status == 503:
            break
    assert refused and refused.status == 503
    assert refused.get("Retry-After") == "5"
    assert refused.closes
    # those that are being served are not ended, and finish
    served = uploads[:20]
    for connection in uploads[20:]:
        connection.reset()
    for connection in served:
        connection.send(b"c" * 180_000)
    assert {connection.response().status for connection in served} == {200}
    assert is_served(small)
