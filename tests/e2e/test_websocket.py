# SPDX-License-Identifier: MIT
"""WebSocket, RFC 6455: the handshake, and each group of Autobahn's cases, by a client that breaks rules one at a time."""

import contextlib
import os
import re
import shutil
import struct
import subprocess
import threading
import time

import pytest
import websocket as ws
from server import eventually, numbered
from wire import request
from websockets.sync.client import connect as connect_websockets
from websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Socket, close, frame, upgrade

pytestmark = pytest.mark.in_the_clear("HTTP/1 alone; test_websocket_carriers.py has TLS and HTTP/2")


@pytest.fixture(scope="module")
def server():
    server = numbered("sockets")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def hasty():
    server = numbered("sockets", env={"SOCKETS_HASTY": "1"})
    yield server
    server.stop()


@pytest.fixture(scope="module")
def fourfold():
    server = numbered("echo")
    yield server
    server.stop()


@pytest.fixture
def echo(server):
    socket = Socket(server, "/echo/lobby")
    assert socket.message() == "lobby speaks "
    yield socket
    socket.leave()


def told(server, line):
    """Whether the server has said how a socket ended."""
    return eventually(lambda: line in server.get("/closes").content.decode().splitlines())


def logged(server, path, how="websocket"):
    """The log's line of a path that is asked for once, or of which one socket ends so."""
    return eventually(lambda: next((line for line in server.out_text().split("\n")[:-1] if f" {path} " in line and how in line), None))


# ---- The handshake ----


def refusal(server, octets):
    with server.connect(http2=False) as connection:
        return connection.send(octets).response()


@pytest.mark.parametrize("octets,status", [
    (request("/echo/a"), 426),
    (request("/echo/a", "Connection: upgrade", "Upgrade: other", "Sec-WebSocket-Version: 13"), 426),
    (upgrade("/echo/a").replace(b"keep-alive, Upgrade", b"keep-alive"), 426),
    (upgrade("/echo/a").replace(b"HTTP/1.1", b"HTTP/1.0"), 426),
    (upgrade("/echo/a", version="8"), 426),
    (upgrade("/echo/a", version="13, 8"), 426),
    (upgrade("/echo/a", version=None), 400),
    (upgrade("/echo/a", "Sec-WebSocket-Version: 13"), 400),
    (upgrade("/echo/a", key=None), 400),
    (upgrade("/echo/a", key="dG9vIHNob3J0"), 400),
    (upgrade("/echo/a", f"Sec-WebSocket-Key: {ws.KEY}"), 400),
    (upgrade("/echo/a", "Sec-WebSocket-Protocol: a b"), 400),
    (upgrade("/echo/a", "Sec-WebSocket-Extensions: permessage-deflate;"), 400),
    (upgrade("/echo/a", "Content-Length: 1") + b"x", 400),
    (upgrade("/echo/a", "Origin: null"), 403),
    (upgrade("/echo/a", "Origin: http://evil.example"), 403),
    (upgrade("/echo/a", "Origin: http://localhost:1"), 403),
    (upgrade("/echo/a", "Origin: http://localhost", "Origin: http://localhost"), 403),
    (upgrade("/echo/a", "Origin: http://localhost", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"), 403),
    (upgrade("/small", "Origin: http://localhost"), 403),
    (upgrade("/refused/echo"), 401),
    (upgrade("/nowhere"), 404),
    (upgrade("/echo/a").replace(b"GET", b"POST"), 405),
])
def test_refusals(server, octets, status):
    response = refusal(server, octets)
    assert response.status == status
    if status == 426:
        assert response.get("sec-websocket-version") == "13"
        assert response.get("upgrade") == "websocket"


def test_head_is_refused(server):
    with server.connect() as connection:
        response = connection.send(upgrade("/echo/a").replace(b"GET", b"HEAD")).response("HEAD")
    assert (response.status, response.get("allow")) == (405, "GET")


@pytest.mark.parametrize("path,origin", [
    ("/echo/a", "http://localhost"), ("/echo/a", "https://LOCALHOST:443"), ("/small", "https://a.example"),
    ("/small", "http://b.example:8080"), ("/bye", "http://any.example"), ("/bye", "null"),
])
def test_origins_that_may(server, path, origin):
    """By a proxy that speaks TLS, where one says so."""
    if origin.startswith("https"):
        Socket(server, path, f"Origin: {origin}", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https").leave()
    Socket(server, path, f"Origin: {origin}").leave()


@pytest.mark.parametrize("origin,query,opens", [
    ("https://a.example", "?host=a.example", True), ("https://a.example", "?host=b.example", False),
    ("http://localhost", "", True), ("null", "?host=null", True), ("null", "", False),
])
def test_a_function_decides_on_origins(server, origin, query, opens):
    """It is asked about those that the list, here the request's own host, does not allow."""
    if opens:
        Socket(server, "/brief" + query, f"Origin: {origin}").leave()
    else:
        assert refusal(server, upgrade("/brief" + query, f"Origin: {origin}")).status == 403


def test_no_function_decides_on_two_origins(server):
    lines = ["Origin: https://a.example", "Origin: https://a.example"]
    assert refusal(server, upgrade("/brief?host=a.example", *lines)).status == 403


@pytest.mark.parametrize("offers,agreed", [
    (["v1.example, v2.example"], "v2.example"), (["v1.example", "v2.example"], "v2.example"), (["other, v1.example"], "v1.example"),
    (["other"], None), ([], None),
])
def test_the_protocol(server, offers, agreed):
    socket = Socket(server, "/echo/b", *(f"Sec-WebSocket-Protocol: {offer}" for offer in offers))
    assert socket.response.get("sec-websocket-protocol") == agreed
    assert socket.message() == f"b speaks {agreed or ''}"
    socket.leave()


def test_no_extension_is_agreed_on(server):
    socket = Socket(server, "/echo/b", "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
    assert socket.response.get("sec-websocket-extensions") is None
    socket.leave()


def test_frames_right_behind_the_request(server):
    with server.connect(http2=False) as connection:
        connection.send(upgrade("/echo/early") + frame(TEXT, "early"))
        assert connection.head().status == 101
        assert connection.exactly(15) == b"\x81\x0dearly speaks "
        assert connection.exactly(7) == b"\x81\x05early"


def test_sockets_of_a_site(server):
    """One that is open keeps its site when another takes its place."""
    with server.connect(http2=False) as connection:
        assert connection.send(upgrade("/site/a")).response().status == 404
    sockets = []
    for room in ("first", "second"):
        sockets.append(Socket(server, f"/site/{room}", host="site.example"))
        assert server.get("/again", method="POST").status == 200
        for socket in sockets:
            socket.send(frame(TEXT, room))
            assert socket.message() == room
    for socket, room in zip(sockets, ("first", "second")):
        socket.send(close(4006))
        assert socket.closed() == (4006, "")
        assert socket.ended()
        assert told(server, f"/site/{room} 4006 ")


# ---- Framing (Autobahn's group 1) ----


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 4096, 4097, 65535, 65536, 200000])
@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_messages_of_every_length(echo, opcode, size):
    payload = os.urandom(size) if opcode == BINARY else b"*" * size
    echo.send(frame(opcode, payload))
    assert echo.frame() == (opcode, payload)


def test_octet_by_octet(echo):
    for octet in frame(TEXT, "Hello, κόσμε") + frame(BINARY, b"\xff" * 130):
        echo.send(bytes([octet]))
    assert echo.message() == "Hello, κόσμε"
    assert echo.message() == b"\xff" * 130


# ---- Pings (2) ----


def test_pings(echo):
    payloads = [b"", b"hello", bytes(range(125))]
    echo.send(b"".join(frame(PING, payload) for payload in payloads))
    assert [echo.frame() for _ in payloads] == [(PONG, payload) for payload in payloads]


def test_pongs_that_nobody_asked_for(echo):
    echo.send(frame(PONG, b"x") + frame(PONG) + frame(TEXT, "on"))
    assert echo.message() == "on"


def test_a_ping_within_a_message(echo):
    echo.send(frame(TEXT, "one", final=False) + frame(PING, b"?") + frame(CONTINUATION, " two"))
    assert echo.frame() == (PONG, b"?")
    assert echo.message() == "one two"


# ---- What breaks the protocol (3, 4, 5, 7) ----


@pytest.mark.parametrize("octets", [
    frame(TEXT, "x", reserved=4), frame(TEXT, "x", reserved=2), frame(BINARY, b"", reserved=1), frame(PING, reserved=7),
    *(frame(opcode) for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)),
    frame(TEXT, "x", masked=False),
    frame(CONTINUATION, "x"),
    frame(CONTINUATION, "x", final=False),
    frame(TEXT, "x", final=False) + frame(TEXT, "x"),
    frame(TEXT, "x", final=False) + frame(BINARY, b"x", final=False),
    frame(PING, final=False), frame(PONG, final=False), frame(CLOSE, final=False),
    frame(PING, b"x" * 126),
    ws.head(CLOSE, 126),
    b"\x82\xfe\x00\x7d", b"\x82\xff\0\0\0\0\0\0\xff\xff", b"\x82\xff\x80\0\0\0\0\0\0\0",
    frame(CLOSE, b"\x03"),
    *(close(code) for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)),
], ids=lambda octets: octets[:12].hex())
def test_what_breaks_the_protocol(echo, octets):
    echo.send(frame(TEXT, "before") + octets + frame(TEXT, "behind"))
    assert echo.message() == "before"
    assert echo.closed()[0] == 1002
    assert echo.ended()


@pytest.mark.parametrize("pieces", [["a", "b", "c"], ["", "", ""], ["", "x", ""], list("fragments")])
def test_fragments(echo, pieces):
    frames = [frame(CONTINUATION if i else TEXT, piece, final=i == len(pieces) - 1) for i, piece in enumerate(pieces)]
    echo.send(b"".join(frames))
    assert echo.message() == "".join(pieces)


@pytest.mark.parametrize("cuts", [1, 3])
@pytest.mark.parametrize("length", [8_000, 65_536, 80_000])
def test_a_message_that_is_sent_several_times(fourfold, length, cuts):
    """A long one is not copied: it is sent from where it was collected, and stays as it is for as long as it has to."""
    socket = Socket(fourfold, "/ws/fourfold")
    for i in range(3):
        text = f"{i}" + "x" * (length - 1)
        size = length // cuts + 1
        pieces = [text[at:at + size] for at in range(0, length, size)]
        socket.send(b"".join(frame(CONTINUATION if j else TEXT, piece, final=j == len(pieces) - 1)
                             for j, piece in enumerate(pieces)))
        assert socket.message() == text
        assert socket.message() == text
        assert socket.message() == text.encode()
        assert socket.message() == text[1:].encode()
    socket.leave()


# ---- UTF-8 (6) ----


def test_an_echo_as_text_is_judged(fourfold):
    """A text that is sent as it came has been judged already. What came as binary has not, however it is sent."""
    socket = Socket(fourfold, "/ws/fourfold")
    for octets in (b"\xff", b"a\xc3", b"\xed\xa0\x80"):
        socket.send(frame(BINARY, octets))
        assert [socket.message() for _ in range(3)] == [octets, octets, octets[1:]]
    socket.send(frame(BINARY, "κ".encode()))
    assert [socket.message() for _ in range(4)] == ["κ".encode(), "κ".encode(), "κ", "κ".encode()[1:]]
    socket.leave()


@pytest.mark.parametrize("text", ["κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "\ud7ff\ue000�\U00010000\U0010ffff", "\0\x7f"])
def test_text(echo, text):
    octets = text.encode()
    echo.send(frame(TEXT, octets))
    assert echo.message() == text
    pieces = [frame(CONTINUATION if i else TEXT, octets[i : i + 1], final=i == len(octets) - 1) for i in range(len(octets))]
    echo.send(b"".join(pieces))
    assert echo.message() == text


BAD_TEXTS = [b"\xce\xba\xf4\x90\x80\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf8\x88\x80\x80\x80", b"\x80", b"\xfe", b"\xff",
             b"abc\xce", b"\xf0\x90\x80"]


@pytest.mark.parametrize("octets", BAD_TEXTS, ids=lambda octets: octets.hex())
def test_what_is_not_utf8(echo, octets):
    echo.send(frame(TEXT, octets))
    assert echo.closed()[0] == 1007
    assert echo.ended()


def test_a_fault_in_text_is_found_at_its_octet(echo):
    """The rest of the frame never comes."""
    echo.send(ws.head(TEXT, 5000) + b"\0\0\0\0" + b"a" * 3000 + b"\xed\xa0")
    assert echo.closed()[0] == 1007
    assert echo.ended()


def test_binary_need_not_be_utf8(echo):
    echo.send(frame(BINARY, b"\xff\xfe"))
    assert echo.message() == b"\xff\xfe"


# ---- Closes (7) ----


@pytest.mark.parametrize("code,reason", [(None, b""), (1000, b""), (1000, b"x" * 123), (1001, "é".encode()), (1014, b""), (3000, b"a"),
                                         (4999, b"b")])
def test_a_close_is_answered(echo, code, reason):
    echo.send(close(code, reason) + frame(TEXT, "behind"))
    assert echo.closed() == (None if code is None else (code, ""))
    assert echo.ended()


def test_a_reason_that_is_not_utf8(echo):
    echo.send(close(1000, b"\xed\xa0\x80"))
    assert echo.closed()[0] == 1007
    assert echo.ended()


def test_the_program_is_told_of_closes(server):
    for path, octets, line in [
        ("/echo/c1", close(4321, b"so long"), "/echo/c1 4321 so long"),
        ("/echo/c2", close(), "/echo/c2 1005 "),
        ("/echo/c3", frame(3), "/echo/c3 1002 unknown opcode"),
        ("/echo/c4", frame(TEXT, b"\xff"), "/echo/c4 1007 a text that is not UTF-8"),
    ]:
        socket = Socket(server, path)
        socket.send(octets)
        assert told(server, line)
        socket.leave()


def test_clients_that_vanish(server):
    socket = Socket(server, "/echo/fin")
    socket.leave()
    assert told(server, "/echo/fin 1006 ")
    socket = Socket(server, "/echo/reset")
    socket.send(frame(TEXT, "x", final=False))
    socket.connection.reset()
    assert told(server, "/echo/reset 1006 ")


def test_the_server_closes(server):
    socket = Socket(server, "/bye")
    socket.send(frame(TEXT, "go"))
    assert socket.message() == b"last"
    assert socket.frame() == (CLOSE, struct.pack(">H", 4001) + b"bye")
    socket.send(frame(TEXT, "dropped") + frame(PING, "ping") + close(4001))
    assert socket.frame() == (PONG, b"ping")  # RFC 6455, 5.5.2: unless the peer's close has come
    assert socket.ended()
    assert told(server, "/bye 4001 ")


def test_a_close_that_is_not_answered(server):
    socket = Socket(server, "/unanswered", "Origin: http://unanswered.example")
    socket.send(frame(TEXT, "go"))
    assert socket.message() == b"last"
    assert socket.closed() == (4001, "bye")
    assert socket.ended()
    assert told(server, "/unanswered 1006 the close was not answered")


def test_closed_as_it_opens(server):
    socket = Socket(server, "/full")
    assert socket.closed() == (4002, "full")
    socket.send(close(4002))
    assert socket.ended()


# ---- Limits (9, 10) ----


def test_message_octets(server):
    socket = Socket(server, "/small")
    socket.send(frame(BINARY, b"x" * 496))  # with its head, as many as may be queued
    assert socket.message() == b"x" * 496
    socket.send(frame(BINARY, b"x" * 600, final=False) + frame(CONTINUATION, b"x" * 401))
    assert socket.closed() == (1009, "a message of too many octets")
    assert socket.ended()


def test_a_promise_of_many_octets(server):
    """The octets are not waited for, and no memory is taken for them."""
    socket = Socket(server, "/small")
    socket.send(ws.head(BINARY, 1 << 62))
    socket.send(b"\0\0\0\0")
    assert socket.closed()[0] == 1009
    assert socket.ended()


def test_fragments_of_a_message(server):
    socket = Socket(server, "/small")
    socket.send(frame(TEXT, "a", final=False) + frame(CONTINUATION, final=False) * 2 + frame(CONTINUATION, "b"))
    assert socket.message() == "ab"
    socket.send(frame(TEXT, "a", final=False) + frame(CONTINUATION, final=False) * 4)
    assert socket.closed() == (1008, "a message in too many fragments")
    assert socket.ended()


@pytest.mark.parametrize("flood", [frame(PING), frame(PONG), frame(TEXT)], ids=["pings", "pongs", "texts"])
def test_the_rate(server, flood):
    """Twice as many as may come in a second, at once: even if the second turns meanwhile, it is too many."""
    socket = Socket(server, "/small")
    socket.send(flood * 110)
    answers = 0
    while (last := socket.frame())[0] != CLOSE:
        answers += 1
    assert last[1] == struct.pack(">H", 1008) + b"too many messages in a second"
    assert answers <= 100
    assert socket.ended()


def test_pings_that_nobody_reads(server):
    """The pongs that find no room are left out, and the server's memory stays as it is."""
    socket = Socket(server, "/echo/deaf", receive_buffer=4096)
    before = server.rss_octets()
    for _ in range(60):
        socket.send(frame(PING, b"x" * 125) * 150)
    assert server.rss_octets() < before + (8 << 20)
    socket.leave()
    assert told(server, "/echo/deaf 1006 ") or told(server, "/echo/deaf 1008 too many messages in a second")


def test_promises_take_no_memory(hasty):
    """Each promises 64 KiB, together more than memory_max, and sends an octet."""
    sockets = [Socket(hasty, "/echo/promise") for _ in range(150)]
    for socket in sockets:
        socket.message()
        socket.send(ws.head(BINARY, 65536) + b"\0\0\0\0x")
    assert hasty.get("/closes").status == 200
    for socket in sockets:
        assert socket.closed() == (1008, "a message that comes too slowly")


def test_a_message_that_comes_slowly(hasty):
    """Pings are no octets of it."""
    socket = Socket(hasty, "/echo/drip")
    socket.message()
    socket.send(frame(BINARY, b"x" * 5000, final=False))

    def is_told():
        with contextlib.suppress(OSError):  # it has been closed
            socket.send(frame(PING))
        return "/echo/drip 1008 a message that comes too slowly" in hasty.get("/closes").content.decode().splitlines()

    assert eventually(is_told, every=0.1)
    socket.leave()


def test_a_message_that_comes_steadily(hasty):
    """At the minimum rate it may take as long as it needs. Where the client itself was held up meanwhile, it was not steady."""
    def is_steady():
        socket, longest = Socket(hasty, "/echo/steady"), 0.0
        socket.message()
        sent = time.monotonic()
        with contextlib.suppress(OSError):
            socket.send(frame(BINARY, b"x" * 5000, final=False))
            for _ in range(20):
                socket.send(frame(CONTINUATION, b"y" * 500, final=False))
                longest, sent = max(longest, time.monotonic() - sent), time.monotonic()
                time.sleep(0.1)
            socket.send(frame(CONTINUATION))
            longest = max(longest, time.monotonic() - sent)
        opcode, payload = socket.frame()
        socket.leave()
        assert longest > 0.4 or (opcode, payload) == (BINARY, b"x" * 5000 + b"y" * 10000)
        return opcode == BINARY

    assert eventually(is_steady)


def test_the_last_ping_is_answered(server):
    """Also when its pong had no room as it came."""
    socket = Socket(server, "/drop", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))
    for n in range(50):
        socket.send(frame(PING, f"{n}"))
    assert eventually(lambda: server.get("/closes").status == 200)  # they have been read by now
    pongs = []
    while b"49" not in pongs:
        opcode, payload = socket.frame()
        if opcode == PONG:
            pongs.append(payload)
    assert [int(pong) for pong in pongs] == sorted({int(pong) for pong in pongs})
    socket.leave()


# ---- Slow readers ----


def pieces_of(socket):
    """The numbers of the pieces that come up to what is no piece."""
    numbers = []
    while True:
        opcode, payload = socket.frame()
        if opcode != BINARY:
            return numbers, opcode, payload
        numbers.append(int(payload.split(b"\0")[0]))


def test_waiting_for_slow_readers_loses_nothing(server):
    socket = Socket(server, "/wait", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))
    assert pieces_of(socket) == (list(range(300)), TEXT, b"all")
    socket.leave()


def test_messages_for_slow_readers_are_dropped(server):
    """The others come in order and whole, and the log says how many were left out."""
    socket = Socket(server, "/drop", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))
    socket.send(frame(PING))
    assert eventually(lambda: server.get("/closes").status == 200)  # it has poured by now
    socket.send(close(1000))
    numbers, opcode, _ = pieces_of(socket)
    assert opcode in (TEXT, CLOSE, PONG)
    assert numbers == sorted(set(numbers)) and 0 < len(numbers) < 300
    while opcode != CLOSE:
        opcode, _ = socket.frame()
    socket.leave()
    assert told(server, "/drop 1000 ")
    line = logged(server, "/drop", "websocket 1000")
    assert int(line.split("dropped ")[1].split(")")[0]) >= 300 - len(numbers)


def test_slow_readers_are_closed(server):
    socket = Socket(server, "/close", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))
    assert told(server, "/close 1006 the close was not answered")
    numbers, opcode, payload = pieces_of(socket)
    assert numbers == list(range(len(numbers))) and len(numbers) < 300
    assert (opcode, payload) == (CLOSE, struct.pack(">H", 1008) + b"too slow")
    socket.leave()


def test_readers_that_take_nothing_but_ping(hasty):
    socket = Socket(hasty, "/wait", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))

    def gone():
        try:
            socket.send(frame(PING))
        except OSError:
            pass  # it has been closed
        return "/wait 1006 " in hasty.get("/closes").content.decode().splitlines()

    assert eventually(gone, every=0.2)
    socket.leave()


def test_an_echo_loses_nothing(server):
    """The client sends everything before it reads anything: it is held up, and no echo is refused."""
    socket = Socket(server, "/echo/unread", receive_buffer=4096)
    assert socket.message() == "unread speaks "
    messages = [f"{n:04} ".encode() * 10000 for n in range(600)]
    sender = threading.Thread(target=lambda: socket.send(b"".join(frame(BINARY, m) for m in messages) + close(1000)))
    sender.start()
    time.sleep(0.3)
    assert sender.is_alive(), "it is not held up"
    assert all(socket.message() == message for message in messages)
    assert socket.closed() == (1000, "")
    sender.join()
    assert socket.ended()


def test_an_echo_loses_nothing_of_a_long_queue():
    """Its octets are more than its pieces: it is full before half of them are in use."""
    server = numbered("sockets", env={"SOCKETS_QUEUE": "1"})
    socket = Socket(server, "/echo/unread", receive_buffer=4096)
    assert socket.message() == "unread speaks "
    messages = [f"{n:05} ".encode() * 1600 for n in range(3000)]
    sender = threading.Thread(target=lambda: socket.send(b"".join(frame(BINARY, m) for m in messages) + close(1000)))
    sender.start()
    time.sleep(0.3)
    assert all(socket.message() == message for message in messages)
    assert socket.closed() == (1000, "")
    sender.join()
    server.stop()


def test_a_program_that_pours_is_told(server):
    """It writes whenever there is room, and the client's messages are read all the same."""
    socket = Socket(server, "/endless")
    for word in ("begin", "go on"):
        socket.send(frame(TEXT, word))
        for _ in range(30):
            assert socket.frame()[0] == BINARY
    socket.send(frame(TEXT, "stop"))
    while (came := socket.frame()) != (TEXT, b"stopped"):
        assert came[0] == BINARY
    socket.send(close(1000))
    assert socket.closed() == (1000, "")
    assert socket.ended()


def test_a_close_behind_much(server):
    """The peer has its time for the close when it can have read it: what was sent before is not lost."""
    socket = Socket(server, "/pour-and-close", receive_buffer=4096)
    socket.send(frame(TEXT, "go"))
    time.sleep(1)  # longer than close_timeout_ns
    numbers, opcode, payload = pieces_of(socket)
    assert opcode == CLOSE and payload == struct.pack(">H", 4007) + str(len(numbers)).encode()
    assert numbers == list(range(len(numbers)))
    socket.send(close(4007))
    assert socket.ended()


@pytest.mark.parametrize("path", ["/burst-drop", "/burst-close"])
def test_a_burst_of_another_thread(server, path):
    """It is longer than the queue, and the reader is not slow."""
    socket = Socket(server, path)
    socket.send(frame(TEXT, "go"))
    assert pieces_of(socket) == (list(range(60)), TEXT, b"all")
    socket.leave()


def test_short_messages_of_another_thread_count_as_what_they_hold(server):
    """100,000 octets of them, of which each message counts 64 more than its frame; and none is lost."""
    socket = Socket(server, "/octets")
    socket.send(frame(TEXT, "go"))
    taken = int(socket.message())
    assert taken == (100000 - 3) // (3 + 64) + 1
    assert {socket.message() for _ in range(taken)} == {b"x"}
    socket.leave()


# ---- Time ----


def test_quiet_sockets_have_times_of_their_own(hasty):
    """Those of the server's are over meanwhile."""
    socket = Socket(hasty, "/forever")
    time.sleep(2.5)
    socket.send(frame(TEXT, "still there"))
    assert socket.message() == "still there"
    socket.send(close(1000))
    assert socket.closed() == (1000, "")
    assert socket.ended()


def test_pings_and_silence(server):
    socket = Socket(server, "/pinged")
    for _ in range(3):
        assert socket.frame() == (PING, b"")
        socket.send(frame(PONG))
    socket.leave()
    socket = Socket(server, "/quiet")
    while (last := socket.frame()) == (PING, b""):
        pass
    assert last == (CLOSE, struct.pack(">H", 1001) + b"silent for too long")
    assert socket.ended()
    assert told(server, "/quiet 1006 silent for too long")


def test_a_socket_lives_for_so_long(server):
    """Whatever it says meanwhile; and not a moment less."""
    def says():
        began, said = time.monotonic(), 0
        socket = Socket(server, "/brief")
        socket.send(frame(TEXT, "on"))
        while (last := socket.frame())[0] != CLOSE:
            said += 1
            time.sleep(0.05)
            socket.send(frame(TEXT, "on"))
        assert last[1] == struct.pack(">H", 1001) + b"open for as long as it may be"
        assert time.monotonic() - began > 0.39
        socket.send(close(1001))
        assert socket.ended()
        return said

    assert eventually(says), "it was held up for as long as a socket lives, each time"
    assert told(server, "/brief 1001 ")


# ---- Other threads, other clients ----


def test_messages_of_another_thread_keep_their_order(server):
    socket = Socket(server, "/thread")
    socket.send(frame(TEXT, "go"))
    assert [socket.message() for _ in range(1000)] == [str(i) for i in range(1000)]
    assert socket.closed() == (4003, "counted")
    socket.send(close(4003))
    assert socket.ended()


def test_threads_and_closes(server):
    """Behind a close nothing is taken from threads, whoever closed; its reason is cut between characters."""
    socket = Socket(server, "/close-then-talk")
    socket.send(frame(TEXT, "go"))
    assert socket.closed() == (4004, "closing")
    socket.send(close(4004))
    assert socket.ended()
    socket = Socket(server, "/talk-then-send")
    socket.send(frame(TEXT, "go"))
    assert socket.message() == "before the close"
    assert socket.closed() == (4005, "é" * 61)
    socket.send(close(4005))
    assert socket.ended()


def test_a_thread_whose_socket_is_gone(server):
    for _ in range(10):
        socket = Socket(server, "/thread")
        socket.send(frame(TEXT, "go"))
        socket.message()
        socket.connection.reset()
    assert server.get("/closes").status == 200


def test_websockets_of_python(server):
    url = f"ws://127.0.0.1:{server.port}/echo/python"
    with connect_websockets(url, subprotocols=["v1.example"], origin=f"http://127.0.0.1:{server.port}") as socket:
        assert socket.subprotocol == "v1.example"
        assert socket.recv() == "python speaks v1.example"
        for message in ("text", b"binary", "é" * 50000, os.urandom(150000)):
            socket.send(message)
            assert socket.recv() == message
        socket.send(["in ", "pieces"])
        assert socket.recv() == "in pieces"
        assert socket.ping(b"p").wait(20)


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_chromium(server, tmp_path):
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path}"]
    dump = subprocess.run([*words, "--dump-dom", server.url + "/page"], capture_output=True, timeout=60, check=True)
    assert b"<body>v1.example 25,50,octets:70000</body>" in dump.stdout
    assert told(server, "/echo/browser 4005 done")


# ---- The log and the end ----


def test_the_log_has_a_line(server):
    began = time.monotonic()
    socket = Socket(server, "/echo/logged")
    socket.send(frame(TEXT, "12345") + frame(BINARY, b"678"))
    assert [socket.message() for _ in range(3)] == ["logged speaks ", "12345", b"678"]
    time.sleep(0.25)
    socket.send(close(1000))
    assert socket.closed() == (1000, "")
    socket.leave()
    line = logged(server, "/echo/logged")
    assert " 101 " in line
    number, unit = re.search(r" ([\d.]+) (m?s) ", line).groups()  # how long it was open; seconds are told in tenths
    assert 0.25 <= float(number) / (1000 if unit == "ms" else 1) <= time.monotonic() - began + 0.1 * (unit == "s")
    assert "websocket 1000, messages in 2 (8 octets), out 3 (22 octets), dropped 0" in line


def test_a_stop_says_goodbye_and_waits():
    server = numbered("sockets", "--grace-ms", "10000")
    socket = Socket(server, "/echo/last")
    assert socket.message() == "last speaks "
    server.signal()
    assert socket.frame() == (CLOSE, struct.pack(">H", 1001))
    assert server.alive()
    socket.send(close(1001))
    assert socket.ended()
    server.judge_end()
