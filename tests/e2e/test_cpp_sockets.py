# SPDX-License-Identifier: MIT
"""skua.hpp: sockets that coroutines serve, and the functions of a route of sockets (tests/servers/cpp_sockets.cpp)."""

import threading
import time

import pytest
import websocket as ws
from certificates import SecureConnection, make, trusting
from h2_sockets import Http2
from ports import free_port
from server import eventually, lacks_tls, numbered
from websocket import BINARY, CLOSE, TEXT, Socket, close, frame
from wsproto.events import BytesMessage, CloseConnection, TextMessage

pytestmark = pytest.mark.in_the_clear("chooses its transports itself")


@pytest.fixture(scope="module")
def cpp():
    server = numbered("cpp")
    yield server
    server.stop()


def coroutines(server):
    """Those that run, and those that were given up where they waited."""
    return tuple(int(n) for n in server.get("/async").content.split())


@pytest.fixture(autouse=True)
def all_end(cpp):
    yield
    assert eventually(lambda: coroutines(cpp)[0] == 0)


def said(server, line):
    return eventually(lambda: line in server.error_text())


def say(socket, *messages):
    socket.send(b"".join(frame(TEXT if isinstance(message, str) else BINARY, message) for message in messages))


# ---- Coroutines ----


def test_an_echo(cpp):
    socket = Socket(cpp, "/async/echo/one")
    messages = ["", "short", "é" * 40000, b"", b"\0\xff", bytes(100_000)]
    for message in messages:
        say(socket, message)
        assert socket.message() == message
    say(socket, *messages)
    assert [socket.message() for _ in messages] == messages
    socket.send(close(4001, b"enough"))
    assert socket.closed()[0] == 4001 and socket.ended()
    assert said(cpp, "one ended 4001 enough")


def test_how_a_coroutine_ends(cpp):
    socket = Socket(cpp, "/async/echo/returning")
    say(socket, "return")
    assert socket.closed() == (1000, "")
    socket.send(close(1000))
    assert socket.ended() and said(cpp, "returning ended 0 ")
    socket = Socket(cpp, "/async/echo/throwing")
    say(socket, "throw")
    assert socket.closed() == (1011, "")
    socket.send(close(1011))
    assert socket.ended() and said(cpp, "GET /async/echo/throwing: unlucky coroutine")
    socket = Socket(cpp, "/async/echo/closing")
    say(socket, "close", "behind it")
    assert socket.closed() == (4000, "asked")
    assert said(cpp, "closing ended 4000 asked")  # the client's close is waited for still
    assert coroutines(cpp)[0] == 0
    socket.send(close(4000))
    assert socket.ended()


def test_closes_of_this_side_are_known_at_once(cpp):
    """By whomever: a copy of the socket's on another thread, too. Who waits for room learns it as well, and what else is awaited goes on."""
    socket = Socket(cpp, "/async/echo/far")
    say(socket, "close elsewhere")
    assert socket.closed() == (4013, "elsewhere")
    assert said(cpp, "far ended 4013 elsewhere") and coroutines(cpp)[0] == 0
    socket.send(close(4013))
    assert socket.ended()
    given_up = coroutines(cpp)[1]
    stuck = Socket(cpp, "/async/pour/briefly", receive_buffer=4096)
    assert eventually(lambda: coroutines(cpp) == (0, given_up + 1))
    stuck.leave()
    naps = Socket(cpp, "/async/naps/briefly")
    assert naps.closed() == (1001, "open for as long as it may be")
    assert coroutines(cpp)[0] == 1
    naps.send(close(1001))
    assert naps.ended() and said(cpp, "naps ended 1001 ")


def test_a_client_that_vanishes(cpp):
    for path, name in (("/async/echo/reset", "reset"), ("/async/naps", "naps"), ("/async/ticks", "ticks"), ("/async/patient", "patient")):
        socket = Socket(cpp, path)
        assert eventually(lambda: coroutines(cpp)[0] == 1)
        socket.connection.reset()
        assert eventually(lambda: coroutines(cpp)[0] == 0)
        assert said(cpp, f"{name} ended 1006 ")


def test_messages_while_it_waits(cpp):
    """Each comes once, in its order, though the coroutine takes them one in a millisecond."""
    socket = Socket(cpp, "/async/slow/waits")
    messages = [str(i) * 50 for i in range(700)]
    threading.Thread(target=say, args=(socket, *messages)).start()
    assert [socket.message() for _ in messages] == messages
    socket.send(close(1000))
    assert socket.closed()[0] == 1000
    assert said(cpp, "waits ended 1000 ")


def test_a_client_is_held_up(cpp):
    """While nothing is taken nothing is read, and the server's memory stays as it is; then all comes."""
    socket = Socket(cpp, "/async/asleep")
    before = cpp.rss_octets()
    octets = frame(TEXT, "y" * 4000) * 8000
    sender = threading.Thread(target=lambda: socket.send(octets + frame(BINARY, b"")))
    sender.start()
    time.sleep(0.3)
    assert sender.is_alive() and cpp.rss_octets() < before + (8 << 20)
    other = Socket(cpp, "/async/echo/beside")
    say(other, "on")
    assert other.message() == "on"
    other.leave()
    assert cpp.get("/wake").status == 200
    assert socket.message() == str(4000 * 8000)
    sender.join()
    socket.leave()


def test_sending_waits_for_room(cpp):
    """Nothing is lost for a slow reader, and messages of another task are not mixed up with it."""
    socket = Socket(cpp, "/async/pour", receive_buffer=4096)
    time.sleep(0.1)
    assert coroutines(cpp)[0] == 1
    assert [int(socket.message().split(b"\0")[0]) for _ in range(300)] == list(range(300))
    assert socket.message() == "all" and socket.closed()[0] == 1000
    socket.leave()


@pytest.mark.parametrize("path", ["/async/pour", "/async/pour-close"])
def test_a_reader_that_takes_nothing_and_leaves(cpp, path):
    given_up = coroutines(cpp)[1]
    socket = Socket(cpp, path, receive_buffer=4096)
    if path == "/async/pour":
        time.sleep(0.1)
        assert coroutines(cpp) == (1, given_up)
        socket.connection.reset()
    assert eventually(lambda: coroutines(cpp) == (0, given_up + 1))
    socket.leave()


def test_what_cannot_be_sent(cpp):
    socket = Socket(cpp, "/async/wrong")
    assert socket.message() == "refused" and socket.message() == b"\1\2"
    assert socket.closed()[0] == 1000
    socket.leave()


def test_a_time_limit(cpp):
    """Nobody's message is lost by a wait that ends in vain."""
    socket = Socket(cpp, "/async/patient")
    assert socket.message() == "are you there?"
    for i in range(30):
        say(socket, str(i))
        while (message := socket.message()) == "are you there?":
            pass
        assert message == str(i)
    socket.send(close(1000))
    while (last := socket.frame())[0] != CLOSE:
        assert last == (TEXT, b"are you there?")
    assert said(cpp, "patient ended 1000 ")


def test_two_tasks(cpp):
    socket = Socket(cpp, "/async/ticks")
    given_up = coroutines(cpp)[1]
    assert [socket.message() for _ in range(3)] == ["tick 0", "tick 1", "tick 2"]
    say(socket, "a", "b", "c", "d")
    while (message := socket.message()).startswith("tick"):
        pass
    assert message == "heard 3" and socket.closed()[0] == 1000
    assert coroutines(cpp)[1] <= given_up + 1
    socket.leave()
    socket = Socket(cpp, "/async/twice")
    assert socket.closed()[0] == 1011
    assert said(cpp, "two tasks receive from one socket")
    socket.leave()


def test_jobs(cpp):
    """A message stays where it is while a helper thread reads it, whatever comes; and when the client leaves."""
    socket = Socket(cpp, "/async/jobs")
    say(socket, "x" * 30000, *["y" * n for n in range(20)])
    assert [socket.message() for _ in range(21)] == ["30000", *map(str, range(20))]
    say(socket, "x" * 30000, "z" * 20000)
    time.sleep(0.01)
    socket.connection.reset()
    assert eventually(lambda: coroutines(cpp)[0] == 0)


def test_the_memory_of_waiting_messages_is_counted(cpp):
    """As part of memory_max: a message of 1 MB for a coroutine that takes none, until that ends; and one that has been taken no longer."""
    def held():
        return int(cpp.get("/held").content)

    before = held()
    naps = [Socket(cpp, "/async/naps") for _ in range(4)]
    for socket in naps:
        say(socket, bytes(1 << 20))
    assert eventually(lambda: held() >= before + (4 << 20))
    for socket in naps:
        socket.connection.reset()
    assert eventually(lambda: held() < before + (1 << 20))
    echo = Socket(cpp, "/async/echo/counted")
    for _ in range(4):
        say(echo, bytes(1 << 20))
        assert echo.message() == bytes(1 << 20)
    assert eventually(lambda: held() < before + (1 << 20))
    echo.leave()


def test_no_allocation_per_message(cpp):
    """Neither for messages that are taken at once nor for those that wait in the box."""
    for path in ("/async/echo/frugal", "/async/slow/frugal"):
        socket = Socket(cpp, path)

        def there_and_back(socket=socket):
            for _ in range(10):
                say(socket, *["message"] * 20)
                assert [socket.message() for _ in range(20)] == ["message"] * 20

        def allocations():
            return int(cpp.get("/allocations").content)

        there_and_back()
        start = allocations()
        there_and_back()
        assert allocations() - start < 20, path
        socket.leave()


def test_a_stop_lets_coroutines_end():
    server = numbered("cpp")
    sockets = [Socket(server, path) for path in ("/async/echo/stopped", "/async/naps", "/async/slow/stopped")]
    assert eventually(lambda: coroutines(server)[0] == 3)
    server.signal()
    for socket in sockets:
        assert socket.closed() == (1001, "")
        socket.send(close(1001))
        assert socket.ended()
    server.judge_end()
    assert said(server, "stopped ended 1001 ") and said(server, "naps ended 1001 ")


# ---- TLS and HTTP/2 ----


@pytest.mark.of_tls
def test_over_tls(launch, tmp_path):
    if lacks_tls():
        pytest.skip(lacks_tls())
    port, pair = free_port(), make(tmp_path, authority=True)
    server = launch(numbered, "cpp", "--tls-port", port, "--cert", pair.cert, "--key", pair.key)

    def connect(**_):
        return SecureConnection(("127.0.0.1", port), trusting(pair.cert))

    server.connect, plain = connect, server.connect
    socket = Socket(server, "/async/echo/secure")
    for message in ("short", "é" * 40000):
        say(socket, message)
        assert socket.message() == message
    socket.send(close(1000))
    assert socket.closed()[0] == 1000
    context = trusting(pair.cert)
    context.set_alpn_protocols(["h2"])
    with SecureConnection(("127.0.0.1", port), context) as connection:
        echo_over_http2(server, Http2(server, connection))
    server.connect = plain
    assert said(server, "secure ended 1000 ") and said(server, "two ended 1000 ")


def echo_over_http2(server, http2):
    stream, other = http2.open("/async/echo/two"), http2.open("/async/slow/three")
    assert stream.response()[":status"] == other.response()[":status"] == "200"
    for message in ("short", "é" * 90000):
        for each in (stream, other):
            each.send(TextMessage(data=message))
            assert each.event(TextMessage).data == message
    http2.h2.reset_stream(other.number)
    http2.flush()
    assert said(server, "three ended 1006 ")
    stream.send(CloseConnection(code=1000))
    assert stream.event(CloseConnection).code == 1000
    stream.until(lambda: stream.ended)


def test_over_http2(cpp):
    http2 = Http2(cpp)
    echo_over_http2(cpp, http2)
    pours = http2.open("/async/pour")
    pours.response()
    numbers = [int(pours.event(BytesMessage).data.split(b"\0")[0]) for _ in range(300)]
    assert numbers == list(range(300)) and pours.event(TextMessage).data == "all"
    http2.connection.close()


# ---- Functions ----


def test_a_function_that_waits(cpp):
    socket = Socket(cpp, "/waits/ann")
    assert socket.message() == "waits"
    for message in ("text", b"\0\1", "é" * 40000):
        say(socket, message)
        assert socket.message() == message
    socket.send(close(4005, b"home"))
    assert socket.closed()[0] == 4005 and said(cpp, "ann left 4005 home")
    socket = Socket(cpp, "/waits/ben")
    assert socket.message() == "waits"
    say(socket, "throw")
    assert socket.closed() == (1011, "") and said(cpp, "GET /waits/ben: unlucky thread")
    socket.leave()


def refused(server, request):
    with server.connect() as connection:
        connection.send(request)
        return connection.head().status


def test_a_function_decides_on_origins(cpp):
    socket = Socket(cpp, "/origin/ann", "Origin: https://ann.example")
    say(socket, "hi")
    assert socket.message() == "hi"
    socket.leave()
    for origin in ("https://ben.example", "null", "https://throws.example"):
        assert refused(cpp, ws.upgrade("/origin/ann", f"Origin: {origin}")) == 403
    assert said(cpp, "no idea of that origin")


def test_pieces(cpp):
    socket = Socket(cpp, "/pieces")
    octets = bytes(range(256)) * 1000
    socket.send(frame(BINARY, octets))
    came = [socket.piece()]
    while not came[-1][1]:
        came.append(socket.piece())
    assert len(came) > 2 and b"".join(payload for _, _, payload in came) == octets
    socket.send(frame(TEXT, "throw"))
    while (last := socket.piece())[0] != CLOSE:
        pass
    assert last[2] == b"\x03\xf3" and said(cpp, "unlucky piece")
    socket.leave()
