# SPDX-License-Identifier: MIT
"""Messages that are sent, or taken, piece by piece."""

import select
import threading

import pytest
import websocket as ws
from server import eventually, numbered
from websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Socket, close, frame
from websockets.sync.client import connect as connect_websockets

pytestmark = pytest.mark.in_the_clear("HTTP/1 alone; test_websocket_carriers.py has TLS and HTTP/2")

PIECE = 10000


@pytest.fixture(scope="module")
def server():
    server = numbered("sockets")
    yield server
    server.stop()


def told(server, line):
    return eventually(lambda: line in server.get("/closes").content.decode().splitlines())


def poured(server):
    return int(server.get("/poured").content)


# ---- Sending ----


def message_of(socket, opcode):
    """The payloads of the frames of the next message, and the control frames between them."""
    pieces, between = [], []
    expected = opcode
    while True:
        came, final, payload = socket.piece()
        if came in (CLOSE, PING, PONG):
            between.append((came, payload))
            if came == CLOSE:
                return pieces, between
            continue
        assert came == expected
        pieces.append(payload)
        expected = CONTINUATION
        if final:
            return pieces, between


@pytest.mark.parametrize("said,pieces", [("abc", [b"a", b"b", b"c", b""]), ("!", [b""]), ("?", [b"\xc3", b"\xa9", b""]),
                                         ("κ", [b"\xce", b"\xba", b""])])
def test_texts_in_pieces(server, said, pieces):
    """Characters may be cut; a text cannot end within one, nor go on with what is none."""
    socket = Socket(server, "/pieces")
    socket.send(frame(TEXT, said))
    assert message_of(socket, TEXT) == (pieces, [])
    socket.leave()


@pytest.mark.parametrize("path", ["/pieces", "/pieces-drop"])
def test_a_long_message_for_a_slow_reader(server, path):
    """Its pieces wait for room and none is dropped; other messages wait for its end, and pings do not."""
    socket = Socket(server, path, receive_buffer=4096)
    socket.send(frame(BINARY, b"x" * 200) + frame(PING, b"?"))
    assert eventually(lambda: server.get("/closes").status == 200)
    pieces, between = message_of(socket, BINARY)
    assert [int(piece.split(b"\0")[0]) for piece in pieces[:-1]] == list(range(200, 0, -1))
    assert {len(piece) for piece in pieces[:-1]} == {PIECE} and pieces[-1] == b""
    rest = [socket.frame() for _ in range(2 + (not between))]
    assert (between + [one for one in rest if one[0] == PONG]) == [(PONG, b"?")]
    assert sorted(one for one in rest if one[0] == TEXT) == [(TEXT, b"of a topic"), (TEXT, b"of another thread")]
    socket.send(frame(TEXT, "on"))
    assert message_of(socket, TEXT)[0] == [b"o", b"n", b""]
    socket.leave()


def test_a_slow_reader_of_pieces_is_closed(server):
    socket = Socket(server, "/pieces-close", receive_buffer=4096)
    socket.send(frame(BINARY, b"x" * 2000))
    assert told(server, "/pieces-close 1006 the close was not answered")
    pieces, between = message_of(socket, BINARY)
    assert 0 < len(pieces) < 2000
    assert between == [(CLOSE, b"\x03\xf0too slow")]
    socket.leave()


def test_a_close_in_the_middle(server):
    """Messages that wait behind it are not sent within it."""
    socket = Socket(server, "/pieces")
    socket.send(frame(TEXT, "close"))
    assert socket.piece() == (TEXT, False, b"close")
    assert socket.closed() == (4009, "unfinished")
    socket.send(close(4009))
    assert socket.ended()
    assert told(server, "/pieces 4009 ")


def test_clients_that_vanish_within_a_message(server):
    for _ in range(5):
        socket = Socket(server, "/pieces", receive_buffer=4096)
        socket.send(frame(BINARY, b"x" * 2000))
        assert socket.piece()[0] == BINARY
        socket.connection.reset()
    assert told(server, "/pieces 1006 ")


def test_pieces_for_a_client_of_others(server):
    with connect_websockets(f"ws://127.0.0.1:{server.port}/pieces", origin=None) as socket:
        socket.send("in pieces")
        assert list(socket.recv_streaming()) == [*"in pieces", ""]


# ---- Taking ----


def sum_of(octets):
    return f"{len(octets)} {sum(octets)}"


@pytest.mark.parametrize("octets", [b"", b"x", bytes(range(256)) * 16, bytes(range(256)) * 4096])
def test_messages_of_every_length(server, octets):
    socket = Socket(server, "/sink")
    socket.send(frame(BINARY, octets))
    assert socket.message() == "binary " + sum_of(octets)
    half = len(octets) // 2
    socket.send(frame(BINARY, octets[:half], final=False) + frame(PING) + frame(CONTINUATION, octets[half:]))
    assert socket.frame() == (PONG, b"")
    assert socket.message() == "binary " + sum_of(octets)
    socket.leave()


def test_octet_by_octet(server):
    socket = Socket(server, "/sink")
    for octet in frame(TEXT, "Hello, κόσμε"):
        socket.send(bytes([octet]))
    assert socket.message() == "text " + sum_of("Hello, κόσμε".encode())
    socket.leave()


def test_a_message_of_any_length(server):
    """Far longer than a message that is kept whole may be, in more frames: and the server's memory stays as it is."""
    socket = Socket(server, "/sink")
    before = server.rss_octets()
    part = b"y" * 4096
    socket.send(frame(BINARY, part, final=False) + frame(CONTINUATION, part, final=False) * 4000 + frame(CONTINUATION))
    assert socket.message() == f"binary {4096 * 4001} {4096 * 4001 * ord('y')}"
    assert server.rss_octets() < before + (8 << 20)
    socket.leave()


def test_a_text_that_is_none(server):
    """The fault is found at its octet: the rest of the frame never comes."""
    socket = Socket(server, "/sink?text")
    socket.send(ws.head(TEXT, 50000) + b"\0\0\0\0" + b"a" * 9000 + b"\xed\xa0")
    assert socket.closed()[0] == 1007
    assert socket.ended()
    assert told(server, "/sink 1007 a text that is not UTF-8")
    socket = Socket(server, "/sink")
    socket.send(frame(TEXT, b"a\xce"))
    assert socket.closed() == (1007, "a text that ends within a character")


def test_limits_that_are_set(server):
    for octets, reason in [
        (frame(BINARY, b"x" * 600, final=False) + frame(CONTINUATION, b"x" * 401), (1009, "a message of too many octets")),
        (frame(BINARY, b"a", final=False) + frame(CONTINUATION, final=False) * 4, (1008, "a message in too many fragments")),
        (frame(BINARY, b"a") * 110, (1008, "too many messages in a second")),
    ]:
        socket = Socket(server, "/sink-small")
        socket.send(octets)
        while (last := socket.frame())[0] != CLOSE:
            assert last[1].startswith(b"binary ")
        assert (int.from_bytes(last[1][:2], "big"), last[1][2:].decode()) == reason
        assert socket.ended()


def test_a_flood_of_empty_fragments(server):
    """No number of fragments is too many; so many in a second are."""
    socket = Socket(server, "/sink")
    try:
        socket.send(frame(BINARY, b"a", final=False) + frame(CONTINUATION, final=False) * 40000)
    except OSError:
        pass  # it has been closed meanwhile
    assert told(server, "/sink 1008 too many messages in a second")
    socket.leave()


def test_credit(server):
    """Nothing is read while the program keeps what it was given; then all comes."""
    socket = Socket(server, "/sink?hold")
    octets = b"z" * (8 << 20)
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, octets)))
    sender.start()
    assert eventually(lambda: poured(server) >= 65536)
    stalled = poured(server)
    assert stalled < len(octets) // 2 and sender.is_alive()
    assert server.get("/closes").status == 200 and poured(server) == stalled
    assert eventually(lambda: int(server.get("/give").content) == len(octets), 60, every=0.01)
    sender.join()
    assert socket.message() == f"binary {len(octets)} {len(octets) * ord('z')}"
    socket.leave()


def test_a_close_of_one_that_gives_nothing_back(server):
    """The peer's close is behind octets that nobody takes any more."""
    numbers = numbered("sockets", "--grace-ms", "10000")
    socket = Socket(numbers, "/sink?hold")
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, b"z" * (4 << 20)) + close(1001)))
    sender.start()
    assert eventually(lambda: poured(numbers) >= 65536)
    numbers.signal()
    assert socket.closed() == (1001, "")
    assert socket.ended()
    sender.join()
    numbers.judge_end()


def test_an_echo_in_pieces_loses_nothing(server):
    """Each piece is answered; the client reads nothing until it has sent all, and is held up."""
    socket = Socket(server, "/echo-pieces", receive_buffer=4096)
    octets = bytes(range(256)) * 32768
    sender = threading.Thread(target=lambda: socket.send(frame(BINARY, octets)))
    sender.start()
    pieces, between = message_of(socket, BINARY)
    assert b"".join(pieces) == octets and not between
    sender.join()
    socket.leave()


# ---- Pausing ----


def unpause(server):
    assert server.get("/unpause").status == 200


def test_pausing(server):
    """Messages that came before are answered, those behind wait, also beyond what is read."""
    socket = Socket(server, "/paused")
    long = b"z" * 200_000
    for _ in range(2):
        socket.send(frame(TEXT, "on") + frame(TEXT, "pause") + frame(TEXT, "later") + frame(PING, b"?"))
        assert [socket.message(), socket.message()] == ["on", "pause"]
        sender = threading.Thread(target=lambda: socket.send(frame(BINARY, long) * 60))
        sender.start()
        assert not select.select([socket.connection.socket], [], [], 0.3)[0]  # silent() would change the sender's patience
        assert sender.is_alive()
        unpause(server)
        assert [socket.message(), socket.frame()] == ["later", (PONG, b"?")]
        assert [socket.message() for _ in range(60)] == [long] * 60
        sender.join()
    socket.send(close(1000))
    assert socket.closed() == (1000, "")


def test_a_paused_socket_may_be_silent(server):
    """It is paused for longer than the idle timeout; later that counts again."""
    socket = Socket(server, "/paused/briefly", behind=frame(TEXT, "pause") + frame(TEXT, "later"))
    assert socket.message() == "pause" and socket.connection.silent(2)
    unpause(server)
    assert socket.message() == "later"
    assert socket.closed()[0] == 1001 and told(server, "/paused/briefly 1006 silent for too long")
    socket.leave()


def test_a_paused_socket_is_closed(server):
    """By its client, which is seen when it goes on; by the server's stop, which reads its answer all the same."""
    socket = Socket(server, "/paused")
    socket.send(frame(TEXT, "pause") + close(4001))
    assert socket.message() == "pause" and socket.connection.silent(0.1)
    unpause(server)
    assert socket.closed() == (4001, "") and socket.ended()
    vanishing = Socket(server, "/paused")
    vanishing.send(frame(TEXT, "pause"))
    assert vanishing.message() == "pause"
    vanishing.connection.reset()
    assert told(server, "/paused 1006 ")
    stopped = numbered("sockets", "--grace-ms", "10000")
    socket = Socket(stopped, "/paused")
    socket.send(frame(TEXT, "pause") + frame(TEXT, "dropped") * 1000)
    assert socket.message() == "pause"
    stopped.signal()
    assert socket.closed() == (1001, "")
    socket.send(close(1001))
    assert socket.ended()
    stopped.judge_end()
