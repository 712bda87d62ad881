# SPDX-License-Identifier: MIT
"""WebSockets whose route does not keep the request: with nothing under way they are parked, and nobody can tell but by the memory.

All of one module's sockets are opened at once and rest together, so that the wait for it is paid once.
"""

import re
import socket
import struct
import threading
import time
import zlib

import h2_client
import pytest
import tls
from counting import many_descriptors
from h2_sockets import Http2
from server import eventually, lacks_tls, numbered, secure
from websocket import CLOSE, PING, PONG, TEXT, Socket, close, frame
from wsproto.events import CloseConnection, Ping, Pong, TextMessage

CROWD = 200
AWAKE_OCTETS = 6000  # at least, of a socket with session and request
# Of a connection at rest, as they are counted: with its keys go ready ones for the next, and OpenSSL's are taken to be so many.
TLS_OCTETS = {"tls": 5000, "tls-openssl": 15_000, "tls-1.2": 15_000}
OFFER = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
NAMES = ["echo", "protocol", "dribble", "pong", "fin", "cut", "reset", "close", "logged", "closed", "pause", "begin", "join", "late", "count"]


def memory(server):
    """Asked on one connection, as each one more has memory. While all of it is in use, nobody is told how much that is, or even accepted."""
    for _ in range(2):
        try:
            asked = server.asked = getattr(server, "asked", None) or server.connect(http2=False)
            answer = asked.get("/memory")
            if answer.status == 200:
                return int(answer.content)
        except (AssertionError, EOFError, OSError):
            pass
        server.asked = None
    return 1 << 40


def told(server, line):
    """How often the server has said that a socket ended so."""
    return server.get("/closes").content.decode().splitlines().count(line)


def open_socket(server, path, *lines, **options):
    socket = Socket(server, path, *lines, **options)
    assert socket.frame() == (TEXT, path.rsplit("/", 1)[1].encode())
    return socket


def rest(server, before, sockets):
    """Waits until no more of so many sockets than one in ten has a session."""
    assert eventually(lambda: memory(server) - before < sockets * (AWAKE_OCTETS / 3 + TLS_OCTETS.get(tls.TRANSPORT, 0)))


def awake(server, sockets):
    """The memory while each of them has a session: those that rest are woken, should opening all have taken so long."""
    for socket in sockets:
        socket.send(frame(TEXT, "awake"))
    assert all(socket.message() == "awake" for socket in sockets)
    return memory(server)


class Packed(Socket):
    """A socket that compresses its messages, and keeps its windows."""

    def __init__(self, server, path):
        super().__init__(server, path, OFFER)
        self.packer, self.unpacker = zlib.compressobj(9, zlib.DEFLATED, -12), zlib.decompressobj(-15)
        assert self.unpacked() == path.rsplit("/", 1)[1].encode()

    def pack(self, text):
        packed = self.packer.compress(text) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        return self.send(frame(TEXT, packed[:-4], reserved=4))

    def unpacked(self):
        first, length = self.connection.exactly(2)
        octets = self.connection.exactly(length)
        return self.unpacker.decompress(octets + b"\0\0\xff\xff") if first & 0x40 else octets


@pytest.fixture(scope="module")
def server():
    many_descriptors()
    server = numbered("parked")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def rested(server):
    """Sockets by their names, all of which have been parked."""
    assert server.get("/memory").status == 200
    before = memory(server)
    sockets = {name: open_socket(server, f"/usual/{name}", "Sec-WebSocket-Protocol: v1.example") for name in NAMES}
    sockets |= {f"room{i}": open_socket(server, f"/joined/room{i % 2}") for i in range(4)}
    sockets |= {"limited": open_socket(server, "/limited/limited"), "held": open_socket(server, "/held/held")}
    sockets["site"] = open_socket(server, "/usual/site", host="site.example")
    sockets |= {f"crowd{i}": open_socket(server, "/usual/crowd") for i in range(CROWD)}
    crowd = [sockets[f"crowd{i}"] for i in range(CROWD)]
    assert eventually(lambda: awake(server, crowd) - before > CROWD * AWAKE_OCTETS)
    rest(server, before, CROWD)
    yield sockets
    for socket in sockets.values():
        socket.leave()


def test_a_message_wakes_a_socket(rested):
    for text in ("first", "second"):
        rested["echo"].send(frame(TEXT, text))
        assert rested["echo"].message() == text


def test_the_protocol_is_known(rested):
    rested["protocol"].send(frame(TEXT, "protocol"))
    assert rested["protocol"].message() == "v1.example"


def test_the_object_is_kept(rested):
    """It is NULL at first, and stays with the socket while that rests."""
    for count in range(1, 4):
        rested["count"].send(frame(TEXT, "count"))
        assert rested["count"].message() == str(count)


def test_a_client_that_dribbles(rested):
    """A frame that has begun keeps its session, however long it takes."""
    octets = frame(TEXT, "drip")
    for i in range(len(octets)):
        rested["dribble"].send(octets[i : i + 1])
        time.sleep(1.5 if i in (0, 1, 5) else 0.01)
    assert rested["dribble"].message() == "drip"


def test_pings_are_answered(server, rested):
    before = memory(server)
    for i in range(50):
        rested["pong"].send(frame(PING, str(i)))
        assert rested["pong"].frame() == (PONG, str(i).encode())
    assert memory(server) - before < AWAKE_OCTETS * 10


def test_the_rate_is_not_forgotten(rested):
    """Each ping is answered before the next one is sent, so that the socket is parked between them."""
    for i in range(1000):  # until so many have come in one second
        rested["limited"].send(frame(PING, b"x"))
        opcode, payload = rested["limited"].frame()
        if opcode == CLOSE:
            break
        assert (opcode, payload) == (PONG, b"x")
    assert opcode == CLOSE and i >= 5 and struct.unpack(">H", payload[:2])[0] == 1008


def test_a_client_that_leaves(server, rested):
    before = told(server, "1006 ")
    rested["fin"].connection.half_close()
    assert rested["fin"].ended()
    rested["cut"].connection.raw.shutdown(socket.SHUT_WR)  # over TLS without its end
    assert rested["cut"].ended()
    rested["reset"].connection.reset()
    assert eventually(lambda: told(server, "1006 ") == before + 3)


def test_a_client_that_closes(server, rested):
    rested["close"].send(close(4010))
    assert rested["close"].closed() == (4010, "")
    assert rested["close"].ended()
    assert told(server, "4010 ") == 1


def test_the_log_has_a_line(server, rested):
    """Its request is told of as it was."""
    rested["logged"].send(frame(TEXT, "123"))
    assert rested["logged"].message() == "123"
    rested["logged"].send(close(1000))
    assert rested["logged"].closed() == (1000, "")
    line = eventually(lambda: next((line for line in server.out_text().splitlines() if "/usual/logged" in line), None))
    assert re.search(r" 101 GET /usual/logged .*websocket 1000, messages in 1 \(3 octets\), out 2 \(9 octets\), dropped 0", line)


def test_the_program_closes(server, rested):
    rested["closed"].send(frame(TEXT, "close"))
    assert rested["closed"].closed() == (4002, "bye")
    rested["closed"].send(close(4002))
    assert rested["closed"].ended()


def test_publications_reach_those_who_have_joined(server, rested):
    for round in ("first", "second"):
        assert server.get(f"/publish/room1?text={round}", method="POST").status == 200
        assert [rested[f"room{i}"].message() for i in (1, 3)] == [round, round]
    rested["join"].send(frame(TEXT, "join  room0") + frame(TEXT, "joined"))
    assert rested["join"].message() == "joined"
    rested["room2"].send(frame(TEXT, "leave room0") + frame(TEXT, "left"))
    assert rested["room2"].message() == "left"
    assert server.get("/publish/room0?text=third", method="POST").status == 200
    assert rested["room0"].message() == "third" and rested["join"].message() == "third"
    rested["room2"].send(frame(TEXT, "nothing before"))
    assert rested["room2"].message() == "nothing before"


def test_paused_or_sent_in_pieces_stays(server, rested):
    rested["begin"].send(frame(TEXT, "begin"))
    rested["pause"].send(frame(TEXT, "pause") + frame(TEXT, "unread"))
    time.sleep(3)
    rested["begin"].send(frame(TEXT, "end"))
    assert rested["begin"].frame() == (TEXT, b"")


def test_a_request_that_is_held_stays(rested):
    rested["held"].send(frame(TEXT, "which?"))
    assert rested["held"].message() == "/held/held"


def test_a_socket_of_a_site(rested):
    rested["site"].send(frame(TEXT, "of a site"))
    assert rested["site"].message() == "of a site"


def test_messages_of_a_thread(server, rested):
    """Each of a crowd gets all, in order, and is parked again at once."""
    before = memory(server)
    assert server.get("/send?rounds=20", method="POST").status == 200
    for i in range(CROWD):
        assert [rested[f"crowd{i}"].message() for _ in range(20)] == [str(k) for k in range(20)]
    assert eventually(lambda: memory(server) - before < CROWD * AWAKE_OCTETS / 3)


def test_windows_are_kept(server):
    """A message that is compressed by what came before the rest is understood behind it, both ways."""
    if not Socket(server, "/usual/offer").response or server.get("/deflating/x").status == 404:
        pytest.skip("zlib is not built in")
    sockets = [Packed(server, "/deflating/window"), Packed(server, "/shared/shared")]
    text = bytes(range(65, 91)) * 3
    sockets[0].pack(text)
    assert sockets[0].unpacked() == text
    before = memory(server)
    crowd = [open_socket(server, "/usual/beside") for _ in range(CROWD)]
    rest(server, before, CROWD)
    sockets[0].pack(text)
    assert sockets[0].unpacked() == text
    for socket in sockets + crowd:
        socket.leave()


@pytest.mark.test_all
def test_deadlines_go_on(server):
    """Pings, the silence that ends a socket, and its lifetime."""
    began = time.monotonic()
    pinged, silent, mortal = (open_socket(server, path) for path in ("/pinged/pinged", "/pinged/silent", "/mortal/mortal"))
    for _ in range(4):
        assert pinged.frame() == (PING, b"")
        pinged.send(frame(PONG))
    assert 6 <= time.monotonic() - began < 12
    assert mortal.closed() == (1001, "open for as long as it may be")
    assert [silent.frame() for _ in range(2)] == [(PING, b"")] * 2
    assert silent.closed() == (1001, "silent for too long")
    for socket in (pinged, silent, mortal):
        socket.leave()


@pytest.mark.test_all
@pytest.mark.in_the_clear("what is kept for TLS would be most of it")
def test_memory_runs_out():
    """Of a crowd that wakes at once those for whom there is no memory are told so; the others are served."""
    many_descriptors()
    most, count = 4 << 20, 900
    server = numbered("parked", env={"MEMORY_MAX": str(most), "QUIET": "1"})
    try:
        sockets = []
        for _ in range(count):
            sockets.append(open_socket(server, "/usual/x"))
            if len(sockets) % 300 == 0:
                assert eventually(lambda: memory(server) < most / 2, 10)
        for socket in sockets:
            socket.send(frame(TEXT, "all at once"))
        ends = [socket.frame() for socket in sockets]
        served = ends.count((TEXT, b"all at once"))
        shed = ends.count((CLOSE, struct.pack(">H", 1013) + b"out of memory"))
        print(f"{served} were served, {shed} were not")
        assert served + shed == count and served and shed
        for socket in sockets:
            socket.leave()
        assert eventually(lambda: memory(server) < most / 2)
        assert open_socket(server, "/usual/again").send(frame(TEXT, "again")).message() == "again"
    finally:
        server.stop()


def test_a_reader_that_takes_no_more():
    """A message to a parked socket that the kernel takes in part is sent to its end, and those behind it follow, in their order."""
    server = numbered("parked", env={"QUIET": "1"})
    try:
        before, count = memory(server), 300  # more than are woken in a turn
        sockets = [open_socket(server, "/usual/x", receive_buffer=4096) for _ in range(count)]
        rest(server, before, count)
        total = sent = int(server.get("/fill", method="POST").content)
        while sent == 64 and total < 10_000:
            total += (sent := int(server.get("/fill", method="POST").content))
        assert 64 < total < 10_000
        assert all(sockets[-1].message() == f"{i:04000d}" for i in range(total))
        assert sockets[-1].send(frame(TEXT, "on")).message() == "on"
        for one in sockets:
            one.leave()
    finally:
        server.stop()


def test_a_stop_says_goodbye():
    server = numbered("parked", "--grace-ms", "10000")
    before = memory(server)
    sockets = [open_socket(server, "/usual/last") for _ in range(CROWD)]
    rest(server, before, CROWD)
    server.signal()
    for socket in sockets:
        assert socket.frame() == (CLOSE, struct.pack(">H", 1001))
    assert server.alive()
    for socket in sockets:
        socket.send(close(1001))
        assert socket.ended()
    assert server.judge_end().count("closing 1001") == CROWD


@pytest.mark.test_all
def test_a_stop_waits_for_an_answer_and_no_longer():
    """Those that do not answer are given up after close_timeout_ns, others are served until then."""
    server = numbered("parked", "--grace-ms", "20000")
    before = memory(server)
    sockets = [open_socket(server, f"/joined/room{i % 2}") for i in range(CROWD)]
    rest(server, before, CROWD)
    began = time.monotonic()
    server.signal()
    for one in sockets:
        assert one.frame() == (CLOSE, struct.pack(">H", 1001))
    sockets[0].send(frame(TEXT, "late") + close(1001))
    sockets[1].connection.reset()
    assert sockets[0].ended()
    assert time.monotonic() - began < 4
    assert all(one.connection.ended(10) for one in sockets[2:])
    assert 4 < time.monotonic() - began < 12
    server.judge_end()
    lines = server.out_text().splitlines()
    assert sum("websocket 1006" in line for line in lines) == CROWD - 1 and sum("websocket 1001" in line for line in lines) == 1
    assert server.error_text().count("closing 1001") == CROWD


# ---- Over HTTP/2: a stream keeps its slot, and its socket rests ----

STREAM_OCTETS = 2500  # at most, of a stream at rest: its slot, the record, the head for the log, and what is counted coarsely
STREAMS = ["echo", "count", "end", "reset", "fault", "logged", "pong", "close", "talk"]


@pytest.fixture(scope="module", params=["clear", "tls"])
def server_of_streams(request):
    if request.param == "tls" and lacks_tls():
        pytest.skip(lacks_tls())
    server = secure("parked") if request.param == "tls" else numbered("parked")
    yield server
    server.stop()


def open_stream(http2, path):
    stream = http2.open(path)
    assert stream.response()[":status"] == "200"
    assert stream.event(TextMessage).data == path.rsplit("/", 1)[1]
    return stream


def awake_streams(server, streams):
    """As awake() does it."""
    for stream in streams:
        stream.send(TextMessage(data="awake"))
    assert all(stream.event(TextMessage).data == "awake" for stream in streams)
    return memory(server)


def crowd_of_streams(server, path, connections=4, each=90):
    """Sockets that rest, of several connections."""
    before, https = memory(server), [Http2(server) for _ in range(connections)]
    streams = [open_stream(http2, path) for http2 in https for _ in range(each)]
    assert eventually(lambda: awake_streams(server, streams) - before > len(streams) * STREAM_OCTETS * 1.2)
    assert eventually(lambda: memory(server) - before < len(streams) * STREAM_OCTETS)
    return https, streams


@pytest.fixture(scope="module")
def streams(server_of_streams):
    """Sockets by their names, on one connection, that rest; and of a room, on another."""
    http2, room = Http2(server_of_streams), Http2(server_of_streams)
    named = {name: open_stream(http2, f"/usual/{name}") for name in STREAMS}
    named |= {f"room{i}": open_stream(room, f"/joined/room{i % 2}") for i in range(4)}
    https, _ = crowd_of_streams(server_of_streams, "/usual/crowd")
    yield named
    for each in [http2, room, *https]:
        each.connection.close()


@pytest.mark.in_the_clear("chooses its transports itself")
class TestStreams:
    def test_a_message_wakes_a_socket(self, streams):
        for text in ("first", "second"):
            streams["echo"].send(TextMessage(data=text))
            assert streams["echo"].event(TextMessage).data == text

    def test_the_object_is_kept(self, streams):
        for count in range(1, 4):
            streams["count"].send(TextMessage(data="count"))
            assert streams["count"].event(TextMessage).data == str(count)

    def test_pings_are_answered(self, streams):
        for i in range(20):
            streams["pong"].send(Ping(payload=str(i).encode()))
            assert streams["pong"].event(Pong).payload == str(i).encode()

    def test_a_client_that_leaves(self, server_of_streams, streams):
        """By the end of its stream, by a reset, and by a fault; and one whose connection ends."""
        before, http2 = told(server_of_streams, "1006 "), streams["end"].http2
        http2.h2.end_stream(streams["end"].number)
        http2.h2.reset_stream(streams["reset"].number)
        http2.flush()
        number = streams["fault"].number
        http2.connection.send(struct.pack(">IBII", 4 << 8 | 8, 0, number, 0)[:13])  # a WINDOW_UPDATE of no octets
        streams["end"].until(lambda: streams["end"].ended)
        streams["fault"].until(lambda: streams["fault"].reset is not None)
        assert eventually(lambda: told(server_of_streams, "1006 ") == before + 3)
        gone = Http2(server_of_streams)
        for i in range(3):
            open_stream(gone, f"/usual/gone{i}")
        time.sleep(3)
        gone.connection.close()
        assert eventually(lambda: told(server_of_streams, "1006 ") == before + 6)

    def test_padding_alone_does_not_use_up_the_window(self, streams):
        """Nobody is woken by it, and the client may send as much again."""
        stream, h2 = streams["pong"], streams["pong"].http2.h2
        for _ in range(2 * h2.local_flow_control_window(stream.number) // 256):
            stream.until(lambda: h2.local_flow_control_window(stream.number) >= 256)
            h2.send_data(stream.number, b"", pad_length=255)
            stream.http2.flush()
        stream.send(Ping(payload=b"behind it"))
        assert stream.event(Pong).payload == b"behind it"

    def test_a_client_that_closes(self, server_of_streams, streams):
        streams["close"].send(CloseConnection(code=4010))
        assert streams["close"].event(CloseConnection).code == 4010
        streams["close"].until(lambda: streams["close"].ended)
        assert told(server_of_streams, "4010 ") == 1

    def test_the_log_has_a_line(self, server_of_streams, streams):
        streams["logged"].send(TextMessage(data="123"))
        assert streams["logged"].event(TextMessage).data == "123"
        streams["logged"].send(CloseConnection(code=1000))
        assert streams["logged"].event(CloseConnection).code == 1000
        lines = server_of_streams.out_text
        line = eventually(lambda: next((line for line in lines().splitlines() if "/usual/logged" in line), None))
        assert re.search(r" 200 GET /usual/logged .*websocket 1000, messages in 1 \(3 octets\), out 2 \(9 octets\), dropped 0", line), line

    def test_publications_reach_those_who_have_joined(self, server_of_streams, streams):
        for text in ("first", "second"):
            assert server_of_streams.get(f"/publish/room1?text={text}", method="POST").status == 200
            assert [streams[f"room{i}"].event(TextMessage).data for i in (1, 3)] == [text, text]
        streams["room0"].send(TextMessage(data="nothing before"))
        assert streams["room0"].event(TextMessage).data == "nothing before"

    def test_messages_of_a_thread_and_of_the_worker(self, server_of_streams):
        """Each of a crowd gets all, in order, and none needs a session for that."""
        https, crowd = crowd_of_streams(server_of_streams, "/usual/talk")
        before = memory(server_of_streams)
        assert server_of_streams.get("/send?rounds=20", method="POST").status == 200
        for stream in crowd:
            assert [stream.event(TextMessage).data for _ in range(20)] == [str(k) for k in range(20)]
        most = int(server_of_streams.get("/here", method="POST").content)
        assert all(stream.event(TextMessage).data == "here" for stream in crowd)
        assert most - before < len(crowd) * STREAM_OCTETS
        for http2 in https:
            http2.connection.close()

    @pytest.mark.test_all
    def test_deadlines_go_on(self, server_of_streams):
        """Pings, the silence that ends a socket, and its lifetime."""
        began, http2 = time.monotonic(), Http2(server_of_streams)
        pinged, silent, mortal = (open_stream(http2, path) for path in ("/pinged/pinged", "/pinged/silent", "/mortal/mortal"))
        for _ in range(4):
            assert pinged.event(Ping).payload == b""
            pinged.send(Pong())
        assert 6 <= time.monotonic() - began < 12
        assert mortal.event(CloseConnection).reason == "open for as long as it may be"
        assert [silent.event(Ping).payload for _ in range(2)] == [b""] * 2
        assert silent.event(CloseConnection).reason == "silent for too long"
        http2.connection.close()


@pytest.mark.in_the_clear("chooses its transports itself")
def test_a_stop_says_goodbye_to_streams():
    """By a client of ours, as the library h2 takes nothing behind a GOAWAY. Those that do not answer are given up."""
    server, count = numbered("parked", "--grace-ms", "20000"), 90
    before = memory(server)
    with h2_client.Client(server) as client:
        streams = []
        for _ in range(count):
            head = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/usual/last"),
                    (":authority", "localhost"), ("sec-websocket-version", "13")]
            streams.append(client.open(raw=head, ends=False))
            assert client.of(streams[-1], h2_client.DATA).payload == b"\x81\x04last"
        assert memory(server) - before > count * STREAM_OCTETS
        time.sleep(3)
        began = time.monotonic()
        server.signal()
        assert all(client.of(stream, h2_client.DATA).payload == b"\x88\x02\x03\xe9" for stream in streams)
        for stream in streams[1:]:
            client.data(stream, close(1001), ends=True)
            assert client.of(stream, h2_client.DATA).ends
        assert client.ended()
        assert time.monotonic() - began > 3
    lines = server.judge_end().splitlines()
    assert sum("closing 1001" in line for line in lines) == count
