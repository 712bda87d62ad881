# SPDX-License-Identifier: MIT
"""WebSockets behind HAProxy, which speaks HTTP/2 to the server and makes each a stream, by extended CONNECT (RFC 8441)."""

import threading

import haproxy
import pytest
from h2_sockets import Http2
from server import eventually, lacks_tls, numbered, secure
from websocket import BINARY, PING, PONG, TEXT, Socket, close, frame
from websockets.sync.client import connect as connect_websockets
from wsproto.events import CloseConnection, TextMessage

pytestmark = [
    pytest.mark.in_the_clear("chooses its transports itself"),
    pytest.mark.skipif(not haproxy.PROGRAM, reason="there is no haproxy here"),
]


@pytest.fixture(scope="module", params=["clear", pytest.param("tls", marks=pytest.mark.test_all)])
def server(request):
    if request.param == "tls" and lacks_tls():
        pytest.skip(lacks_tls())
    server = numbered("sockets") if request.param == "clear" else secure("sockets")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def front(server, tmp_path_factory):
    front = haproxy.over_http2(server, tmp_path_factory.mktemp("haproxy"))
    yield front
    haproxy.stop(front)


def times_told(server, line):
    return server.get("/closes").content.decode().splitlines().count(line)


def test_messages(server, front):
    socket = Socket(front, "/echo/there", "Sec-WebSocket-Protocol: v1.example")
    assert socket.response.get("sec-websocket-protocol") == "v1.example"
    assert socket.message() == "there speaks v1.example"
    for message in ("", "text", "é" * 90000, bytes(200_000)):
        socket.send(frame(TEXT if isinstance(message, str) else BINARY, message))
        assert socket.message() == message
    socket.send(frame(PING, b"?"))
    assert socket.frame() == (PONG, b"?")
    socket.leave()
    assert eventually(lambda: any(" 200 " in line and " /echo/there " in line for line in server.out_text().splitlines()))  # HTTP/2's


def test_a_client_of_others(front):
    with connect_websockets(f"ws://127.0.0.1:{front.port}/echo/python", origin=None) as socket:
        assert socket.recv() == "python speaks "
        socket.send(bytes(100_000))
        assert socket.recv() == bytes(100_000)


def test_http2_on_both_sides(front):
    http2 = Http2(front)
    stream = http2.open("/echo/both")
    assert stream.response()[":status"] == "200" and stream.event(TextMessage).data == "both speaks "
    stream.send(CloseConnection(code=4002, reason="both ways"))
    assert stream.event(CloseConnection).code == 4002
    http2.connection.close()


def test_closes(server, front):
    """Codes and reasons come through both ways, and connections end behind them."""
    socket = Socket(front, "/echo/closes")
    assert socket.message() == "closes speaks "
    socket.send(close(4001, b"by the client"))
    assert socket.closed() == (4001, "") and socket.ended()
    assert eventually(lambda: times_told(server, "/echo/closes 4001 by the client") == 1)
    socket = Socket(front, "/bye")
    socket.send(frame(TEXT, "go"))
    assert socket.message() == b"last" and socket.closed() == (4001, "bye")
    socket.send(close(4001))
    assert socket.ended()


@pytest.mark.parametrize("octets,code", [(frame(3), 1002), (frame(TEXT, b"\xff"), 1007), (frame(BINARY, bytes(200_001)), 1009),
                                         (frame(TEXT, b"x", masked=False), 1002)])
def test_faults(front, octets, code):
    """The close reaches the client, though the stream is cancelled behind it; the next socket of the connection goes on."""
    other = Socket(front, "/echo/other")
    socket = Socket(front, "/echo/fault")
    assert socket.message() == "fault speaks " and other.message() == "other speaks "
    try:
        socket.send(octets)
    except ConnectionError:
        pass  # it has been closed in the middle
    assert socket.closed()[0] == code and socket.ended()
    other.send(frame(TEXT, "on"))
    assert other.message() == "on"
    other.leave()


def test_clients_that_vanish(server, front):
    """Each is told to the program, once; those beside it on the same connections stay."""
    others = [Socket(front, f"/echo/stays-{i}") for i in range(4)]
    for i, how in enumerate(("reset", "leave") * 5):
        socket = Socket(front, f"/echo/vanishes-{i}")
        assert socket.message() == f"vanishes-{i} speaks "
        if how == "reset":
            socket.connection.reset()
        else:
            socket.leave()
        assert eventually(lambda i=i: times_told(server, f"/echo/vanishes-{i} 1006 ") == 1)
    for i, socket in enumerate(others):
        assert socket.message() == f"stays-{i} speaks "
        socket.send(frame(TEXT, "here"))
        assert socket.message() == "here"
        socket.leave()


def test_a_slow_reader_loses_nothing(front):
    socket = Socket(front, "/wait", receive_buffer=4096)
    other = Socket(front, "/echo/beside")
    socket.send(frame(TEXT, "pour"))
    assert other.message() == "beside speaks "
    for i in range(20):
        other.send(frame(TEXT, str(i)))
        assert other.message() == str(i)
    assert [int(socket.message().split(b"\0")[0]) for _ in range(300)] == list(range(300))
    assert socket.message() == "all"
    socket.leave()
    other.leave()


def test_a_long_upload(front):
    """Through windows far smaller than the message."""
    socket = Socket(front, "/sink")
    octets = b"z" * (4 << 20)
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, octets)))
    sender.start()
    assert socket.message() == f"binary {len(octets)} {len(octets) * ord('z')}"
    sender.join()
    socket.leave()


def test_many_sockets(front):
    sockets = [Socket(front, f"/echo/{i}") for i in range(150)]  # more than streams of one connection
    for _ in range(2):
        for i, socket in enumerate(sockets):
            socket.send(frame(TEXT, f"to {i}"))
    for i, socket in enumerate(sockets):
        assert [socket.message() for _ in range(3)] == [f"{i} speaks ", f"to {i}", f"to {i}"]
        socket.leave()


def test_a_stop(tmp_path):
    server = numbered("sockets", "--grace-ms", "10000")
    front = haproxy.over_http2(server, tmp_path)
    try:
        socket = Socket(front, "/echo/last")
        assert socket.message() == "last speaks "
        server.signal()
        assert socket.closed() == (1001, "")
        socket.send(close(1001))
        assert socket.ended()
        server.judge_end()
    finally:
        haproxy.stop(front)
