# SPDX-License-Identifier: MIT
"""skua_drain: clients go with their next responses, and the server goes on accepting."""

import signal

import h2_client
import h2_socket
import pytest
import websocket as ws
from server import eventually, numbered, secure
from wire import request

pytestmark = pytest.mark.in_the_clear("chooses its transports itself")


@pytest.fixture(params=["clear", "tls"])
def server(request):
    server = (numbered if request.param == "clear" else secure)("sockets", "--grace-ms", "10000")
    yield server
    server.stop()


def drain(server):
    """Waits until it is so for every worker, of which there is one."""
    server.signal(signal.SIGUSR2)
    assert eventually(lambda: server.get("/closes").get("connection") == "close")


def test_http1(server):
    idle, before = server.connect(http2=False), server.connect(http2=False)
    assert idle.get("/closes").get("connection") is None
    drain(server)
    assert idle.silent(0.3)
    for connection in (idle, before, server.connect(http2=False)):
        assert connection.get("/closes").get("connection") == "close"
        assert connection.ended()


def test_http2(server):
    with h2_client.Client(server) as idle, h2_client.Client(server) as busy:
        assert idle.get("/closes").status == busy.get("/closes").status == 200
        stream = busy.open(ends=False, raw=[(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"),
                                            (":path", "/forever"), (":authority", "localhost"), ("sec-websocket-version", "13")])
        assert (":status", "200") in busy.of(stream, h2_client.HEADERS).fields
        drain(server)
        assert idle.goaway()[1] == 0 and idle.ended()
        assert busy.goaway()[1] == 0
        busy.data(stream, ws.frame(ws.TEXT, "still there"))
        assert busy.of(stream, h2_client.DATA).payload == b"\x81\x0bstill there"
        with h2_client.Client(server) as new:
            number = new.open("/closes")
            assert new.response(number).status == 200
            assert new.goaway()[1] == 0


def test_a_stream_that_crosses_the_warning(server):
    """A client that has not read of the drain yet loses no request (RFC 9113 §6.8)."""
    with h2_client.Client(server, answers=False) as idle:
        assert idle.get("/closes").status == 200
        drain(server)
        last, code, _ = idle.goaway()
        assert (last, code) == (2**31 - 1, 0)
        late = idle.open("/closes")
        assert idle.response(late).status == 200
        for ping in [frame for frame in idle.kept if frame.kind == h2_socket.PING]:
            idle.send(h2_socket.frame(h2_socket.PING, h2_socket.ACK, 0, ping.payload))
        assert idle.goaway()[:2] == (late, 0) and idle.ended()


def test_sockets_stay(server):
    before = ws.Socket(server, "/forever")
    drain(server)
    for socket in (before, ws.Socket(server, "/forever")):
        socket.send(ws.frame(ws.TEXT, "hi"))
        assert socket.message() == "hi"
    before.send(ws.close(1000))
    assert before.closed() == (1000, "") and before.ended()


def test_a_stop_behind_it(server):
    """It ends, and one that is started waits no longer than it would have."""
    drain(server)
    with server.connect(http2=False) as connection:
        connection.send(request("/closes"))
        assert connection.response().status == 200
    server.signal()
    server.judge_end()
