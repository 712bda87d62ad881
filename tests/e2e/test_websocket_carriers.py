# SPDX-License-Identifier: MIT
"""WebSocket over TLS, and over HTTP/2 by extended CONNECT (RFC 8441), in the clear and over TLS, by wsproto and h2."""

import os
import ssl
import time

import h2_client
import pytest
import tls
from h2_sockets import Http2
from server import eventually, lacks_tls, numbered, secure
from websocket import PING, TEXT, Socket, close, frame, upgrade
from websockets.sync.client import connect as connect_websockets
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

pytestmark = pytest.mark.in_the_clear("chooses its transports itself")

CANCEL = 8  # of RST_STREAM


@pytest.fixture(scope="module", params=["clear", "tls"])
def server(request):
    if request.param == "tls" and lacks_tls():
        pytest.skip(lacks_tls())
    server = numbered("sockets") if request.param == "clear" else secure("sockets")
    yield server
    server.stop()


def test_http1(server):
    socket = Socket(server, "/echo/one", f"Origin: {'https' if server.tls else 'http'}://localhost")
    assert socket.message() == "one speaks "
    for message in ("text", "é" * 40000):
        socket.send(frame(TEXT, message))
        assert socket.message() == message
    socket.send(close(1000))
    assert socket.closed() == (1000, "")
    socket.leave()


@pytest.mark.parametrize("way", ["http1", "http2"])
def test_origin_of_another_scheme(server, way):
    """A page that came in the clear opens no socket over TLS."""
    origin = "http://localhost"
    if way == "http1":
        with server.connect(http2=False) as connection:
            connection.send(upgrade("/echo/one", f"Origin: {origin}"))
            status = connection.head().status
    else:
        http2 = Http2(server)
        status = int(http2.open("/echo/one", ("origin", origin)).response()[":status"])
        http2.connection.close()
    assert status == (403 if server.tls else {"http1": 101, "http2": 200}[way])


@pytest.mark.parametrize("behind", [frame(TEXT, "another"), close(1000), b"\xff\xff"])
@pytest.mark.parametrize("way", ["http1", "http2"])
def test_a_request_that_is_aborted_while_more_of_its_read_is_told(server, way, behind):
    octets = frame(TEXT, "abort") + behind
    if way == "http1":
        socket = Socket(server, "/aborts")
        socket.send(octets)
        with pytest.raises((OSError, EOFError)):
            while True:
                socket.frame()
        socket.leave()
    else:
        http2 = Http2(server)
        stream = http2.open("/aborts")
        assert stream.response()[":status"] == "200"
        http2.h2.send_data(stream.number, octets)
        http2.flush()
        stream.until(lambda: stream.ended or stream.reset is not None)
        http2.connection.close()
    assert server.get("/closes").status == 200


def test_websockets_of_python(server):
    trust = None
    if server.tls:
        trust = ssl.create_default_context(cafile=tls.certificate().cert)
        trust.check_hostname = False
        # This client reads and writes by two threads at once, and a ticket of TLS 1.3 that comes while it writes makes it hang.
        trust.maximum_version = ssl.TLSVersion.TLSv1_2
    with connect_websockets(server.url.replace("http", "ws") + "/echo/python", ssl=trust, compression=None) as socket:
        assert socket.recv() == "python speaks "
        for size in (0, 125, 126, 65536, 200000):
            message = os.urandom(size)
            socket.send(message)
            assert socket.recv() == message


@pytest.fixture
def http2(server):
    made = Http2(server)
    yield made
    made.connection.close()


def test_http2_there_and_back(http2):
    stream = http2.open("/echo/two", ("sec-websocket-protocol", "v1.example"))
    head = stream.response()
    assert head[":status"] == "200" and head["sec-websocket-protocol"] == "v1.example"
    assert not {"upgrade", "connection", "sec-websocket-accept"} & head.keys()
    assert stream.event(TextMessage).data == "two speaks v1.example"
    for text in ("", "short", "é" * 90000):
        stream.send(TextMessage(data=text))
        assert stream.event(TextMessage).data == text
    octets = os.urandom(200000)
    stream.send(BytesMessage(data=octets))
    assert stream.event(BytesMessage).data == octets
    stream.send(Ping(payload=b"p"))
    assert stream.event(Pong).payload == b"p"
    stream.send(CloseConnection(code=1000))
    assert stream.event(CloseConnection).code == 1000
    stream.until(lambda: stream.ended)


def test_http2_blocking(http2):
    """A function that may wait serves sockets of HTTP/2 too; its client leaves by a reset, or by the end of the stream."""
    streams = [http2.open(f"/blocking/{i}") for i in range(4)]
    for i, stream in enumerate(streams):
        assert stream.response()[":status"] == "200"
        stream.send(TextMessage(data="here"))
        assert stream.event(TextMessage).data == f"{i}: here"
    refused = http2.open("/blocking/more")
    assert refused.response()[":status"] == "503"
    http2.h2.reset_stream(streams[0].number)
    http2.h2.end_stream(streams[1].number)
    for stream in streams[2:]:
        stream.send(CloseConnection(code=1000))
        assert stream.event(CloseConnection).code == 1000
        stream.until(lambda stream=stream: stream.ended)

    def free():
        """All four threads have been given back."""
        opened = [http2.open("/blocking/again") for _ in range(4)]
        served = [stream.response()[":status"] == "200" for stream in opened]
        for stream, one in zip(opened, served, strict=True):
            if one:
                http2.h2.reset_stream(stream.number)
        http2.flush()
        return all(served)

    assert eventually(free)


def test_http2_many_sockets_on_one_connection(http2):
    streams = [http2.open(f"/echo/{i}") for i in range(20)]
    for i, stream in enumerate(streams):
        stream.response()
        assert stream.event(TextMessage).data == f"{i} speaks "
        stream.send(TextMessage(data=f"to {i}"))
    for i, stream in enumerate(streams):
        assert stream.event(TextMessage).data == f"to {i}"


@pytest.mark.parametrize("options,status", [
    ({"version": "8"}, "426"), ({"version": None}, "400"), ({"protocol": "other"}, "400"),
])
def test_http2_refusals(http2, options, status):
    stream = http2.open("/echo/no", **options)
    assert stream.response()[":status"] == status
    if status == "426":
        assert stream.head["sec-websocket-version"] == "13" and "upgrade" not in stream.head
    other = http2.open("/echo/yes")
    assert other.response()[":status"] == "200"


def test_http2_origin(http2):
    stream = http2.open("/echo/no", ("origin", "http://evil.example"))
    assert stream.response()[":status"] == "403"


def test_http2_a_stream_that_is_reset(http2, server):
    stream = http2.open("/echo/cancelled")
    stream.response()
    http2.h2.reset_stream(stream.number, 8)
    http2.flush()
    assert eventually(lambda: b"/echo/cancelled 1006 \n" in server.get("/closes").content)
    assert http2.open("/echo/on").response()[":status"] == "200"


def test_http2_a_fault_ends_the_stream_alone(http2, server):
    stream, other = http2.open("/echo/fault"), http2.open("/echo/other")
    stream.response()
    other.response()
    stream.event(TextMessage)
    http2.h2.send_data(stream.number, frame(3))
    http2.flush()
    assert stream.event(CloseConnection).code == 1002
    stream.until(lambda: stream.reset is not None)
    assert stream.ended and stream.reset == CANCEL
    assert other.event(TextMessage).data == "other speaks "
    other.send(TextMessage(data="on"))
    assert other.event(TextMessage).data == "on"


def test_http2_a_reader_that_waits(http2):
    """Its window is the library's own; the queue of the stream is bounded as that of a connection."""
    stream = http2.open("/thread")
    stream.response()
    stream.send(TextMessage(data="go"))
    assert [stream.event(TextMessage).data for _ in range(1000)] == [str(i) for i in range(1000)]
    assert stream.event(CloseConnection).code == 4003


def test_http2_a_slow_reader_loses_nothing(http2):
    """More than the windows and the queue hold is poured, and the client opens its windows late."""
    http2.acknowledges = False
    stream = http2.open("/wait")
    stream.response()
    stream.send(TextMessage(data="pour"))
    stream.until(lambda: stream.octets >= 60000)
    http2.acknowledges = True
    http2.h2.increment_flow_control_window(10_000_000)
    http2.h2.increment_flow_control_window(10_000_000, stream.number)
    http2.flush()
    numbers = [int(stream.event(BytesMessage).data.split(b"\0")[0]) for _ in range(300)]
    assert numbers == list(range(300))
    assert stream.event(TextMessage).data == "all"


def test_http2_pieces(http2):
    """Taken and sent piece by piece, through windows far smaller than the message."""
    stream = http2.open("/echo-pieces")
    stream.response()
    octets = os.urandom(300_000)
    stream.send(BytesMessage(data=octets))
    assert stream.event(BytesMessage).data == octets


def test_http2_a_window_is_given_back_by_the_program(http2, server):
    """While the program keeps what it has been given, the stream's window stays shut; another stream goes on."""
    stream, other = http2.open("/sink?hold"), http2.open("/echo/free")
    stream.response()
    assert other.event(TextMessage).data == "free speaks "
    octets = frame(2, b"z" * 1_000_000)
    sent = 0

    def push():
        nonlocal sent
        while sent < len(octets) and (room := min(http2.h2.local_flow_control_window(stream.number), 16384)):
            http2.h2.send_data(stream.number, octets[sent : sent + room])
            sent += room
        http2.flush()

    push()
    other.send(TextMessage(data="on"))
    assert other.event(TextMessage).data == "on"
    assert http2.h2.local_flow_control_window(stream.number) == 0 and sent < len(octets)
    while sent < len(octets):
        assert server.get("/give").status == 200
        if http2.h2.local_flow_control_window(stream.number) == 0 and http2.is_readable(0.1):
            http2.read()  # else the server had not read everything yet, and is asked again
        push()
    assert eventually(lambda: int(server.get("/give").content) == 1_000_000)
    assert stream.event(TextMessage).data == f"binary 1000000 {1_000_000 * ord('z')}"


def tunnel(client, path):
    """The stream of a socket, of which nothing is interpreted."""
    stream = client.open(ends=False, raw=[(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"),
                                          (":path", path), (":authority", "localhost"), ("sec-websocket-version", "13")])
    assert (":status", "200") in client.of(stream, h2_client.HEADERS).fields
    return stream


def close_of_server(code):
    return b"\x88\x02" + code.to_bytes(2, "big")


def times_told(server, line):
    return server.get("/closes").content.decode().splitlines().count(line)


def test_http2_a_client_that_ends_its_half_is_not_reset(server):
    """Its close is answered, and both halves end."""
    with h2_client.Client(server) as client:
        stream = tunnel(client, "/bye")
        client.data(stream, close(4001), ends=True)
        assert client.of(stream, h2_client.DATA).payload == close_of_server(4001)
        assert client.of(stream, h2_client.DATA).ends
        assert client.silent(0.2)


def test_http2_a_reader_that_is_given_up_on_is_cancelled(server):
    """Its windows stay shut for longer than the stall timeout."""
    hasty = (secure if server.tls else numbered)("sockets", env={"SOCKETS_HASTY": "1"})
    with h2_client.Client(hasty) as client:
        stream = tunnel(client, "/wait")
        client.data(stream, frame(TEXT, "pour"))
        assert client.reset_code(stream) == CANCEL
        assert eventually(lambda: "/wait 1006 " in hasty.get("/closes").content.decode())
    hasty.stop()


@pytest.mark.parametrize("leaves", ["reset", "close"])
def test_http2_a_client_that_leaves_behind_its_end(server, leaves):
    """The server has stopped to read it, as its queue is full: its end is told when everything before has been."""
    before = times_told(server, "/wait 1006 ")
    with h2_client.Client(server) as client:
        stream = tunnel(client, "/wait")
        client.data(stream, frame(TEXT, "pour") + frame(TEXT, "again"), ends=True)
        time.sleep(0.2)
        if leaves == "reset":
            client.cancel(stream)
            assert eventually(lambda: times_told(server, "/wait 1006 ") == before + 1)
    assert eventually(lambda: times_told(server, "/wait 1006 ") == before + 1)


def test_http2_a_close_that_is_not_answered(server):
    before = times_told(server, "/unanswered 1006 the close was not answered")
    with h2_client.Client(server) as client:
        stream = tunnel(client, "/unanswered")
        client.data(stream, frame(TEXT, "go"))
        assert client.reset_code(stream) == CANCEL
        assert eventually(lambda: times_told(server, "/unanswered 1006 the close was not answered") == before + 1)


def test_http2_a_client_that_drips(server):
    """It takes an octet now and then of what is before the close, and pings: less than the minimum rate."""
    hasty = (secure if server.tls else numbered)("sockets", env={"SOCKETS_HASTY": "1"})
    with h2_client.Client(hasty) as client:
        stream = tunnel(client, "/pour-and-close")
        client.data(stream, frame(TEXT, "go"))

        def is_told():
            try:
                client.credit(stream, 1)
                client.data(stream, frame(PING))
            except OSError:
                pass
            return "/pour-and-close 1006 " in hasty.get("/closes").content.decode()

        assert eventually(is_told, every=0.1)
    hasty.stop()


@pytest.mark.parametrize("way", ["http1", "http2"])
def test_a_stop_says_goodbye(server, way):
    stopped = (secure if server.tls else numbered)("sockets", "--grace-ms", "10000")
    if way == "http1":
        socket = Socket(stopped, "/echo/last")
        socket.message()
        stopped.signal()
        assert socket.closed() == (1001, "")
        socket.send(close(1001))
        assert socket.ended()
    else:
        with h2_client.Client(stopped) as client:  # as the library h2 takes nothing behind a GOAWAY
            head = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/echo/last"),
                    (":authority", "localhost"), ("sec-websocket-version", "13")]
            stream = client.open(raw=head, ends=False)
            assert (":status", "200") in client.of(stream, h2_client.HEADERS).fields
            assert client.of(stream, h2_client.DATA).payload == b"\x81\x0clast speaks "
            stopped.signal()
            assert client.of(stream, h2_client.DATA).payload == b"\x88\x02\x03\xe9"
            client.data(stream, close(1001), ends=True)
            assert client.of(stream, h2_client.DATA).ends
            assert client.ended()
    stopped.judge_end()
