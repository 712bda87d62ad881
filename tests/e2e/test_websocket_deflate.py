# SPDX-License-Identifier: MIT
"""permessage-deflate, RFC 7692: what is agreed on, what breaks its rules, Autobahn's groups 12 and 13, and other clients."""

import functools
import os
import random
import select
import struct
import zlib

import pytest
import websocket as ws
from h2_sockets import Http2
from server import eventually, numbered
from websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Socket, close, frame
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.sync.client import connect as connect_websockets
from wire import posted
from wsproto.events import TextMessage

pytestmark = pytest.mark.in_the_clear("HTTP/1 alone; test_websocket_carriers.py has TLS and HTTP/2")

COMPRESSED = 4  # RSV1
TAIL = b"\0\0\xff\xff"


@pytest.fixture(scope="module")
def server():
    server = numbered("deflates")
    if server.get("/built-in").status == 404:
        server.stop()
        pytest.skip("zlib is not built in")
    yield server
    server.stop()


class Deflating(Socket):
    """A socket that compresses by zlib itself; bits of 0: no context is taken over by that side."""

    def __init__(self, server, path, *params, up=15, down=15, keeps_up=True, keeps_down=True, **options):
        offer = "; ".join(("permessage-deflate", *params))
        super().__init__(server, path, f"Sec-WebSocket-Extensions: {offer}", **options)
        self.answer = self.response.get("sec-websocket-extensions")
        self.deflater, self.inflater = zlib.compressobj(6, zlib.DEFLATED, -up), zlib.decompressobj(-down)
        self.up, self.down, self.keeps_up, self.keeps_down = up, down, keeps_up, keeps_down
        self.compressed = 0  # messages that came so

    def pack(self, message):
        packed = self.deflater.compress(message) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
        if not self.keeps_up:
            self.deflater = zlib.compressobj(6, zlib.DEFLATED, -self.up)
        assert packed.endswith(TAIL)
        return packed[:-4]

    def say(self, message, cuts=()):
        opcode, octets = (TEXT, message.encode()) if isinstance(message, str) else (BINARY, message)
        packed = self.pack(octets)
        pieces = [packed[a:b] for a, b in zip((0, *cuts), (*cuts, len(packed)))]
        self.send(b"".join(frame(CONTINUATION if i else opcode, piece, final=i == len(pieces) - 1, reserved=0 if i else COMPRESSED)
                           for i, piece in enumerate(pieces)))
        return self

    def frame(self):
        """(opcode, payload) of the next frame, inflated; RSV1 is on messages alone."""
        opcode, packed, last, payload = self.piece()
        assert last
        if packed:
            assert opcode in (TEXT, BINARY)
            self.compressed += 1
            payload = self.inflater.decompress(payload + TAIL)
            assert not self.inflater.unused_data and not self.inflater.unconsumed_tail
            if not self.keeps_down:
                self.inflater = zlib.decompressobj(-self.down)
        return opcode, payload

    def piece(self):
        """(opcode, whether it is compressed, whether it is the last, payload) of the next frame."""
        first, second = self.connection.exactly(2)
        assert not first & 0x30 and not second & 0x80, (first, second)
        length = second
        if length >= 126:
            length = struct.unpack(*((">H", self.connection.exactly(2)) if length == 126 else (">Q", self.connection.exactly(8))))[0]
        return first & 15, bool(first & 0x40), bool(first & 0x80), self.connection.exactly(length)

    def in_pieces(self, begun=()):
        """(opcode, octets, how many frames) of the next message. begun: frames of it that have been read."""
        frames = list(begun) or [self.piece()]
        while not frames[-1][2]:
            frames.append(self.piece())
        opcode, packed = frames[0][:2]
        assert all(one[:2] == (CONTINUATION, False) for one in frames[1:])
        payloads = [one[3] for one in frames]
        if not packed:
            return opcode, b"".join(payloads), len(frames)
        self.compressed += 1
        octets = b"".join(self.inflater.decompress(payload) for payload in payloads) + self.inflater.decompress(TAIL)
        if not self.keeps_down:
            self.inflater = zlib.decompressobj(-self.down)
        return opcode, octets, len(frames)


def shared(server, path="/shared", *params, **options):
    return Deflating(server, path, *params, keeps_up=False, keeps_down=False, **options)


def words(octets, seed=7692):
    dice = random.Random(seed)
    text = " ".join(dice.choice(("price", "volume", "time", "0.25", "κόσμε", '"name":')) for _ in range(octets // 3))
    return text.encode()[:octets].decode(errors="ignore")


def publish(server, text):
    with server.connect() as connection:
        connection.send(posted("/publish", text.encode()))
        assert connection.response().status == 200


# ---- What is agreed on ----


@pytest.mark.parametrize("path,offers,answer", [
    ("/shared", ["permessage-deflate"], "permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
    ("/dedicated", ["permessage-deflate; client_max_window_bits"], "permessage-deflate; client_max_window_bits=12"),
    ("/dedicated", ["permessage-deflate"], "permessage-deflate; client_no_context_takeover"),
    ("/large", ["permessage-deflate"], "permessage-deflate"),
    ("/large", ["permessage-deflate; server_max_window_bits=8"], None),
    ("/large", ["permessage-deflate; server_max_window_bits=8", "x, permessage-deflate; server_max_window_bits=\"10\""],
     "permessage-deflate; server_max_window_bits=10"),
    ("/large", ["permessage-deflate; unknown"], None),
    ("/off", ["permessage-deflate"], None),
])
def test_offers(server, path, offers, answer):
    socket = Socket(server, path, *(f"Sec-WebSocket-Extensions: {offer}" for offer in offers))
    assert socket.response.get("sec-websocket-extensions") == answer
    socket.send(frame(TEXT, "a" * 1000))
    opcode, length = socket.connection.exactly(2)
    assert (opcode & 0x40 != 0) == (answer is not None)
    socket.leave()


def test_the_memory_of_windows(server):
    """There is room for two windows, one octet short of three: the third socket has none, and what is closed gives its own back."""
    def opened(*params):
        offer = "; ".join(("permessage-deflate", *params))
        socket = Socket(server, "/bounded", f"Sec-WebSocket-Extensions: {offer}")
        return socket, socket.response.get("sec-websocket-extensions") is not None

    kept = [opened() for _ in range(2)]
    assert all(compresses for _, compresses in kept)
    for _ in range(2):
        plain, compresses = opened()
        assert not compresses
        plain.send(frame(TEXT, "a" * 1000))
        assert plain.message() == "a" * 1000
        plain.leave()
    alone, compresses = opened("server_no_context_takeover")
    assert compresses  # it keeps no window, and none is counted
    alone.leave()
    kept.pop()[0].leave()

    def has_room():
        socket, compresses = opened()
        socket.leave()
        return compresses

    assert eventually(has_room)
    for socket, _ in kept:
        socket.leave()


@pytest.mark.parametrize("kind", ["shared", "dedicated", "large"])
@pytest.mark.parametrize("size", [0, 1, 127, 128, 4096, 4097, 8192, 65536, 200000])
def test_messages_of_every_length(server, kind, size):
    socket = shared(server) if kind == "shared" else Deflating(server, f"/{kind}", "client_max_window_bits=12", up=12)
    for message in (words(size), os.urandom(size), b"\0" * size):
        for _ in range(2):
            socket.say(message)
            octets = message.encode() if isinstance(message, str) else message
            assert socket.frame() == (TEXT if isinstance(message, str) else BINARY, octets)
    assert socket.compressed >= (2 if size >= 128 else 0)
    assert size >= 128 or socket.compressed == 0  # below deflate_octets_min
    socket.send(close(1000))
    assert socket.closed() == (1000, "")


def test_a_window_is_kept_and_another_is_not(server):
    """The same message again costs next to nothing where the server keeps its window."""
    message = os.urandom(1000).hex().encode()
    lengths = {}
    for path in ("/shared", "/dedicated"):
        socket = Socket(server, path, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
        for _ in range(2):
            socket.send(frame(BINARY, message))
            first, second = socket.connection.exactly(2)
            length = second if second < 126 else struct.unpack(">H", socket.connection.exactly(2))[0]
            socket.connection.exactly(length)
        lengths[path] = length
        socket.leave()
    assert lengths["/shared"] > 1000 and lengths["/dedicated"] < 100


@pytest.mark.parametrize("server_bits", range(9, 16))
def test_every_window(server, server_bits):
    """The other side inflates within the window that was agreed on, which zlib holds the server to."""
    for client_bits in (9, 12, 15):
        socket = Deflating(server, "/large", f"server_max_window_bits={server_bits}", f"client_max_window_bits={client_bits}",
                           up=client_bits, down=server_bits)
        for n in range(4):
            message = words(90000, n)
            socket.say(message)
            assert socket.frame() == (TEXT, message.encode())
        assert socket.compressed == 4
        socket.leave()


# ---- Framing ----


@pytest.mark.parametrize("path", ["/shared", "/large"])
def test_a_compressed_message_at_every_split(server, path):
    """Its frames are cut there, with a ping between, and its octets come one by one."""
    socket = Deflating(server, path, keeps_up=path == "/large", keeps_down=path == "/large")
    text = "Hello, κόσμε " * 3
    for cut in range(len(zlib.compress(text.encode())) - 4):
        packed = socket.pack(text.encode())
        socket.send(frame(TEXT, packed[:cut], final=False, reserved=COMPRESSED) + frame(PING, b"?") +
                    frame(CONTINUATION, packed[cut:]))
        assert socket.frame() == (PONG, b"?")
        assert socket.frame() == (TEXT, text.encode())
    for octet in frame(TEXT, socket.pack(text.encode()), reserved=COMPRESSED):
        socket.send(bytes([octet]))
    assert socket.frame() == (TEXT, text.encode())
    socket.say("in many pieces " * 100, cuts=range(1, 20))
    assert socket.frame() == (TEXT, b"in many pieces " * 100)
    packed = socket.pack(b"an empty frame ends it")
    socket.send(frame(BINARY, reserved=COMPRESSED, final=False) + frame(CONTINUATION, packed, final=False) + frame(CONTINUATION))
    assert socket.frame() == (BINARY, b"an empty frame ends it")
    socket.leave()


HELLO = b"\xf2\x48\xcd\xc9\xc9\x07\x00"


@pytest.mark.parametrize("payload,text", [
    (HELLO, b"Hello"), (b"\x00\x05\x00\xfa\xffHello\x00", b"Hello"), (b"\xf3" + HELLO[1:] + b"\0", b"Hello"), (b"\xf3" + HELLO[1:], b"Hello"),
    (b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", b"Hello"), (b"\xf3" + HELLO[1:] + HELLO, b"HelloHello"),
    (b"\0", b""), (b"\x02\x00", b""), (b"\x03\x00", b""),
], ids=lambda payload: payload.hex())
@pytest.mark.parametrize("path", ["/shared", "/large"])
def test_octets_of_the_rfc(server, path, payload, text):
    """Section 7.2.3; a message may end with a last block, and those behind it are read all the same."""
    socket = Deflating(server, path, keeps_up=path == "/large", keeps_down=path == "/large")
    for _ in range(3):
        socket.send(frame(TEXT, payload, reserved=COMPRESSED))
        assert socket.frame() == (TEXT, text)
    if path == "/large" and b"Hello" in text:
        socket.send(frame(TEXT, b"\xf2\x00\x11\x00\x00", reserved=COMPRESSED))  # 7.2.3.2: by the window
        assert socket.frame() == (TEXT, b"Hello")
    socket.leave()


@pytest.mark.parametrize("octets,code", [
    (frame(TEXT, HELLO, reserved=2), 1002), (frame(TEXT, HELLO, reserved=1), 1002), (frame(TEXT, HELLO, reserved=6), 1002),
    (frame(PING, reserved=COMPRESSED), 1002), (frame(PONG, reserved=COMPRESSED), 1002), (frame(CLOSE, reserved=COMPRESSED), 1002),
    (frame(TEXT, HELLO[:3], final=False, reserved=COMPRESSED) + frame(CONTINUATION, HELLO[3:], reserved=COMPRESSED), 1002),
    (frame(TEXT, "a", final=False) + frame(CONTINUATION, HELLO, reserved=COMPRESSED), 1002),
    (frame(TEXT, b"", reserved=COMPRESSED), 1007), (frame(TEXT, b"\xff\xff", reserved=COMPRESSED), 1007),
    (frame(TEXT, HELLO[:4], reserved=COMPRESSED), 1007), (frame(TEXT, b"\xf2\x00\x11\x00\x00", reserved=COMPRESSED), 1007),
    (frame(TEXT, b"\x00\x02\x00\xfd\xff\xc3\x28\x00", reserved=COMPRESSED), 1007),  # no UTF-8
    (frame(TEXT, b"\x00\x01\x00\xfe\xff\xc3\x00", reserved=COMPRESSED), 1007),  # half a character
], ids=lambda value: value[:16].hex() if isinstance(value, bytes) else None)
@pytest.mark.parametrize("path", ["/shared", "/large"])
def test_what_breaks_the_rules(server, path, octets, code):
    socket = Deflating(server, path)
    socket.send(frame(TEXT, "before") + octets + frame(TEXT, "behind"))
    assert socket.frame() == (TEXT, b"before")
    assert socket.closed()[0] == code
    assert socket.ended()


def test_nothing_was_agreed_on(server):
    socket = Socket(server, "/shared")
    socket.send(frame(TEXT, HELLO, reserved=COMPRESSED))
    assert socket.closed() == (1002, "a reserved bit is set")
    assert socket.ended()


def test_text_is_judged_as_it_is_inflated(server):
    """The rest of the message never comes."""
    socket = Deflating(server, "/large")
    packed = socket.pack(b"a" * 3000 + b"\xed\xa0" + os.urandom(5000))
    socket.send(ws.head(TEXT, len(packed), reserved=COMPRESSED) + b"\0\0\0\0" + packed[:2000])
    assert socket.closed() == (1007, "a text that is not UTF-8")
    assert socket.ended()


# ---- Limits ----


@pytest.mark.parametrize("path", ["/shared", "/large"])
def test_message_octets(server, path):
    """At the edge, and one octet beyond."""
    socket = Deflating(server, path, keeps_up=path == "/large", keeps_down=path == "/large")
    for message in (b"x" * 200000, os.urandom(200000)):
        socket.say(message)
        assert socket.frame() == (BINARY, message)
    socket.say(b"x" * 200001)
    assert socket.closed() == (1009, "a message of too many octets")
    assert socket.ended()


@functools.cache
def bomb():
    """200 MiB in 200,000 octets: the first message of a socket."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    return (deflater.compress(bytes(200 << 20)) + deflater.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)


@pytest.mark.parametrize("path,pieces", [("/shared", 1), ("/large", 1), ("/shared", 40), ("/large", 40)])
def test_compression_bombs(server, path, pieces):
    """A thousand times what it is on the wire: no more than the limit is ever held."""
    before = server.rss_octets()
    for _ in range(8):
        socket = Deflating(server, path)
        octets = bomb()
        cuts = range(len(octets) // pieces, len(octets) - 1, len(octets) // pieces)[: pieces - 1]
        try:
            for a, b in zip((0, *cuts), (*cuts, len(octets))):
                socket.send(frame(CONTINUATION if a else BINARY, octets[a:b], final=b == len(octets), reserved=0 if a else COMPRESSED))
        except OSError:
            pass  # it has been closed
        assert socket.closed() == (1009, "a message of too many octets")
        socket.leave()
    assert server.rss_octets() < before + (16 << 20)


def test_more_on_the_wire_than_a_message_may_be(server):
    """Empty blocks inflate to nothing: their octets are limited too."""
    socket = Deflating(server, "/shared")
    socket.send(ws.head(BINARY, 200000 + 25000 + 65, reserved=COMPRESSED))
    socket.send(b"\0\0\0\0")
    assert socket.closed() == (1009, "a message of too many octets")
    socket = Deflating(server, "/shared")
    socket.send(frame(BINARY, TAIL.join([b"\0"] * 45000), reserved=COMPRESSED))
    assert socket.frame() == (BINARY, b"")
    socket.leave()


def test_many_messages_that_never_end(server):
    """Each has begun a window, and no more is sent of it."""
    before = server.rss_octets()
    for path in ("/shared", "/dedicated"):
        begun = [Deflating(server, path, "client_max_window_bits") for _ in range(50)]
        for socket in begun:
            socket.send(frame(TEXT, HELLO[:5], final=False, reserved=COMPRESSED))
        other = shared(server)
        other.say("beside them")
        assert other.frame() == (TEXT, b"beside them")
        for socket in begun:
            socket.send(frame(CONTINUATION, HELLO[5:]))
            assert socket.frame() == (TEXT, b"Hello")
            socket.leave()
        other.leave()
    assert server.rss_octets() < before + (32 << 20)


def test_slow_readers_by_octets_of_the_wire(server):
    """Three hundred messages of 100,000 octets fit into a queue of 500,000, since they leave as some hundred each."""
    socket = shared(server, "/pour", receive_buffer=4096)
    socket.send(frame(TEXT, "pour"))
    assert socket.frame() == (TEXT, b"accepted 300")
    for n in range(300):
        opcode, payload = socket.frame()
        assert opcode == BINARY and payload == f"{n:05} ".encode() * 16666
    assert socket.compressed == 300
    socket.leave()


def test_messages_of_another_thread(server):
    for socket in (shared(server, "/thread"), Deflating(server, "/thread-dedicated", "client_max_window_bits", down=12)):
        socket.send(frame(TEXT, "go"))
        for n in range(300):
            assert socket.frame() == (TEXT, f"{n} {'thread ' * 50}".encode())
        assert socket.compressed == 300
        socket.leave()


# ---- Publications ----


def test_a_publication_never_puts_a_window_out_of_step(server):
    """Sockets with windows of their own, of every kind, get what is published among what is sent to them alone."""
    url = f"ws://127.0.0.1:{server.port}/topic"
    own = Deflating(server, "/topic-dedicated", "client_max_window_bits", down=12)
    small = Deflating(server, "/topic-dedicated", "client_max_window_bits", "server_max_window_bits=9", down=9)
    alone = shared(server, "/topic-shared")
    narrow = shared(server, "/topic-shared", "server_max_window_bits=10", down=10)
    asked = Deflating(server, "/topic-dedicated", "server_no_context_takeover; client_max_window_bits", keeps_down=False, down=12)
    plain = Socket(server, "/topic-shared")
    factory = ClientPerMessageDeflateFactory(client_max_window_bits=True)
    with connect_websockets(url + "-dedicated", extensions=[factory]) as python, connect_websockets(url + "-shared") as other:
        everybody = [own, small, alone, narrow, asked, plain]
        for socket in everybody:
            socket.send(frame(TEXT, "are you there?"))
            assert socket.frame() == (TEXT, b"are you there?")
        for client in (python, other):
            client.send("are you there?")
            assert client.recv() == "are you there?"
        for n in range(40):
            direct, public = f"direct {n} " + words(700, n), f"public {n} " + words(30000 if n % 5 == 0 else 900, n)
            for socket in everybody:
                socket.send(frame(TEXT, direct))
            python.send(direct)
            other.send(direct)
            for socket in everybody:
                assert socket.frame() == (TEXT, direct.encode())
            assert python.recv() == direct and other.recv() == direct
            publish(server, public)
            for socket in everybody:
                assert socket.frame() == (TEXT, public.encode())
            assert python.recv() == public and other.recv() == public
        for socket in everybody[:-1]:
            assert socket.compressed == 80
            socket.leave()
        plain.leave()


def test_a_slow_reader_of_publications(server):
    """A publication that waits for it has been compressed once, and stays in order with what is sent to it alone."""
    for path, params, down in (("/topic-shared", (), 15), ("/topic-dedicated", ("client_max_window_bits",), 12)):
        keeps = path == "/topic-dedicated"
        socket = Deflating(server, path, *params, keeps_down=keeps, down=down, receive_buffer=4096)
        socket.send(frame(TEXT, "are you there?"))
        assert socket.frame() == (TEXT, b"are you there?")
        noise = [os.urandom(3000).hex() for _ in range(60)]
        for text in noise:
            publish(server, text)
        for text in noise:
            assert socket.frame() == (TEXT, text.encode())
        assert socket.compressed == 60
        socket.leave()


# ---- Piece by piece ----


def of_pieces(server, kind, **options):
    if kind == "shared":
        return shared(server, "/pieces/shared", **options)
    if kind == "dedicated":
        return Deflating(server, "/pieces/dedicated", "client_max_window_bits", up=12, down=12, **options)
    return Deflating(server, "/pieces/large", **options)


@pytest.mark.parametrize("kind", ["shared", "dedicated", "large"])
def test_an_echo_in_pieces(server, kind):
    """Both ways: the program is told what is inflated, and what it writes is compressed, by windows that both sides keep."""
    socket = of_pieces(server, kind)
    for size in (1, 2, 100, 4095, 4096, 4097, 70000, 300000):
        for message in (words(size), os.urandom(size), b"\0" * size):
            octets = message.encode() if isinstance(message, str) else message
            for cuts in ((), (1,), range(1, 30)):
                before = socket.compressed
                socket.say(message, cuts)
                opcode, came, frames = socket.in_pieces()
                assert (opcode, came) == (TEXT if isinstance(message, str) else BINARY, octets)
                assert socket.compressed == before + bool(octets) and frames >= 1 + len(octets) // 4096
    socket.say("")
    assert socket.in_pieces() == (TEXT, b"", 1)
    socket.send(frame(TEXT, "as it is", final=False) + frame(CONTINUATION, ", in two"))
    assert socket.in_pieces() == (TEXT, b"as it is, in two", 3)
    socket.send(close(1000))
    assert socket.closed() == (1000, "")


@pytest.mark.parametrize("kind", ["shared", "dedicated", "large"])
def test_pieces_at_every_split(server, kind):
    socket = of_pieces(server, kind)
    text = "Hello, κόσμε " * 3
    for cut in range(len(zlib.compress(text.encode())) - 4):
        packed = socket.pack(text.encode())
        socket.send(frame(TEXT, packed[:cut], final=False, reserved=COMPRESSED) + frame(CONTINUATION, packed[cut:]))
        assert socket.in_pieces()[:2] == (TEXT, text.encode())
    for octet in frame(TEXT, socket.pack(text.encode()), reserved=COMPRESSED):
        socket.send(bytes([octet]))
    assert socket.in_pieces()[:2] == (TEXT, text.encode())
    socket.leave()


def test_what_is_written_again_costs_little(server):
    """The windows are kept from piece to piece and from message to message, where they were agreed on."""
    message = os.urandom(1000).hex().encode()
    octets = {}
    for kind in ("shared", "dedicated"):
        socket = of_pieces(server, kind)
        for _ in range(2):
            octets[kind] = 0
            socket.say(message)
            last = False
            while not last:
                _, _, last, payload = socket.piece()
                octets[kind] += len(payload)
        socket.leave()
    assert octets["shared"] > 1000 and octets["dedicated"] < 200


def test_publications_between_pieces(server):
    """They wait for the end of the message, and are compressed by the same window."""
    socket = of_pieces(server, "dedicated")
    for n in range(10):
        text = words(9000, n)
        packed = socket.pack(text.encode())
        socket.send(frame(TEXT, packed[:3000], final=False, reserved=COMPRESSED) + frame(PING, b"begun"))
        first = []
        while not first or first[-1][0] != PONG:
            first.append(socket.piece())
        publish(server, "public " + text)
        socket.send(frame(CONTINUATION, packed[3000:]))
        assert socket.in_pieces(first[:-1])[:2] == (TEXT, text.encode())
        assert socket.frame() == (TEXT, b"public " + text.encode())
    socket.leave()


def test_a_text_in_pieces_is_judged_as_it_is_inflated(server):
    """The rest of the message never comes, or it ends within a character."""
    for packed, reason in ((b"a" * 9000 + b"\xed\xa0" + os.urandom(5000), "a text that is not UTF-8"), (b"a\xce", "a text that ends within a character")):
        socket = Deflating(server, "/sink/large")
        wire = socket.pack(packed)
        wire = frame(TEXT, wire, reserved=COMPRESSED)
        socket.send(wire if len(packed) == 2 else wire[:3000])
        assert socket.closed() == (1007, reason)
        assert socket.ended()


@pytest.mark.parametrize("payload", [b"\xff\xff", HELLO[:4], b""], ids=lambda payload: payload.hex())
def test_pieces_that_cannot_be_inflated(server, payload):
    socket = Deflating(server, "/sink/shared")
    socket.send(frame(BINARY, payload, reserved=COMPRESSED))
    assert socket.closed() == (1007, "a message that cannot be inflated")
    assert socket.ended()


def test_octets_of_a_message_in_pieces(server):
    """They are counted as they are inflated: at the edge, and one octet beyond."""
    socket = Deflating(server, "/sink/bounded")
    for message in (b"x" * 200000, os.urandom(200000)):
        socket.say(message)
        assert socket.frame() == (TEXT, f"binary 200000 {sum(message)}".encode())
    socket.say(b"x" * 200001)
    assert socket.closed() == (1009, "a message of too many octets")
    assert socket.ended()


def poured(server):
    return [int(number) for number in server.get("/poured").content.split()]


@pytest.mark.parametrize("kind", ["shared", "large"])
def test_a_bomb_in_pieces(server, kind):
    """Nothing is kept of it, and others are served while it is inflated: one read has a thousand times as many octets."""
    def is_served_beside_one():
        seen = {poured(server)[0]}  # of the message before
        stale = len(seen | {0, 15 << 20})
        socket = Deflating(server, f"/sink/{kind}", keeps_up=kind == "large")
        bomb = frame(BINARY, socket.pack(b"\1" * (15 << 20)), reserved=COMPRESSED)
        assert len(bomb) < 16384
        socket.send(bomb)
        while not select.select([socket.connection.socket], [], [], 0)[0]:
            octets, longest = poured(server)
            seen.add(octets)
            assert longest <= 4096
        assert socket.frame() == (TEXT, f"binary {15 << 20} {15 << 20}".encode())
        socket.leave()
        return len(seen | {0, 15 << 20}) > stale

    before, served = server.rss_octets(), [is_served_beside_one() for _ in range(3)]
    assert any(served) or eventually(is_served_beside_one)  # the client may have been held up for as long as one took
    assert server.rss_octets() < before + (8 << 20)


def long_messages(count):
    """Messages of some 200,000 octets each, in a few hundred on the wire; every other one in two frames."""
    for number in range(count):
        squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = (squeeze.compress(b"%03d " % number * 49999) + squeeze.flush(zlib.Z_SYNC_FLUSH))[:-4]
        cut = len(packed) // (1 + number % 2)
        yield frame(BINARY, packed[:cut], final=cut == len(packed), reserved=COMPRESSED)
        if cut < len(packed):
            yield frame(CONTINUATION, packed[cut:])


def judge_turns(turns):
    """Two messages have passed what is inflated in a turn: others have theirs between. All have been told, in order."""
    assert max(turns.count(turn) for turn in turns) <= 2
    assert turns == sorted(turns, key=int)


def test_whole_messages_of_a_turn(server):
    socket = shared(server, "/turns")
    wire = b"".join(long_messages(40))
    assert len(wire) < 65536
    socket.send(wire)
    judge_turns([socket.frame()[1] for _ in range(40)])
    socket.send(close(1000))
    assert socket.closed() == (1000, "")


def test_whole_messages_of_a_turn_over_http2(server):
    http2 = Http2(server)
    stream = http2.open("/turns", ("sec-websocket-extensions", "permessage-deflate"))
    assert stream.response()[":status"] == "200"
    wire = b"".join(long_messages(20))
    for at in range(0, len(wire), 16384):
        http2.h2.send_data(stream.number, wire[at : at + 16384])
    http2.flush()
    judge_turns([stream.event(TextMessage).data for _ in range(20)])
    http2.connection.close()


def test_streams_share_a_turn(server):
    """However many sockets send, a worker inflates no more in a turn; and each has its turn before one has two."""
    http2 = Http2(server)
    streams = [http2.open("/turns", ("sec-websocket-extensions", "permessage-deflate")) for _ in range(60)]
    assert all(stream.response()[":status"] == "200" for stream in streams)
    message = next(long_messages(1))
    for _ in range(3):
        for stream in streams:
            http2.h2.send_data(stream.number, message)
    http2.flush()
    turns = [[int(stream.event(TextMessage).data) for _ in range(3)] for stream in streams]
    told = [turn for of_stream in turns for turn in of_stream]
    assert max(told.count(turn) for turn in told) <= 2
    visits = sorted({(turn, number) for number, of_stream in enumerate(turns) for turn in of_stream})
    assert len({number for _, number in visits[: len(streams)]}) == len(streams)
    http2.connection.close()


def test_streams_that_leave_while_they_wait(server):
    """Some are reset and some are ended; the others have their turns, and so has who comes anew."""
    http2 = Http2(server)
    opened = [http2.open("/turns", ("sec-websocket-extensions", "permessage-deflate")) for _ in range(60)]
    assert all(stream.response()[":status"] == "200" for stream in opened)
    message = next(long_messages(1))
    for stream in opened:
        http2.h2.send_data(stream.number, message)
    for number, stream in enumerate(opened):
        if number % 3 == 0:
            http2.h2.reset_stream(stream.number, 8)
        elif number % 3 == 1:
            http2.h2.end_stream(stream.number)
    http2.flush()
    assert all(stream.event(TextMessage).data for stream in opened[2::3])
    late = http2.open("/turns", ("sec-websocket-extensions", "permessage-deflate"))
    assert late.response()[":status"] == "200"
    http2.h2.send_data(late.number, message)
    http2.flush()
    assert late.event(TextMessage).data
    http2.connection.close()


def test_a_bomb_that_is_kept(server):
    """No more is inflated than the program may keep; what it gives back is inflated on, and all comes."""
    before = server.rss_octets()
    socket = Deflating(server, "/sink/large?hold")
    socket.say(b"\1" * (2 << 20))
    assert eventually(lambda: poured(server)[0] >= 65536)
    for _ in range(3):
        assert server.get("/poured").status == 200
    assert poured(server)[0] <= 65536 + 2 * 4096
    while poured(server)[0] < 2 << 20:
        assert server.get("/give").status == 200
    assert server.get("/give").status == 200
    assert socket.frame() == (TEXT, f"binary {2 << 20} {2 << 20}".encode())
    assert server.rss_octets() < before + (8 << 20)
    socket.send(close(1000))
    assert socket.closed() == (1000, "")


def test_a_bomb_over_http2(server):
    """The client's windows are given back as the octets are read; what they inflate to is held by what the program keeps."""
    http2 = Http2(server)
    stream = http2.open("/sink/large?hold", ("sec-websocket-extensions", "permessage-deflate"))
    assert stream.response()[":status"] == "200"
    bomb = zlib.compressobj(6, zlib.DEFLATED, -15)
    wire = frame(BINARY, bomb.compress(b"\1" * (40 << 20)) + bomb.flush(zlib.Z_SYNC_FLUSH)[:-4], reserved=COMPRESSED)
    for at in range(0, len(wire), 16384):
        http2.h2.send_data(stream.number, wire[at : at + 16384])
    http2.flush()
    assert eventually(lambda: poured(server)[0] >= 65536)
    while poured(server)[0] < 40 << 20:
        assert server.get("/give").status == 200
    assert server.get("/give").status == 200
    assert stream.event(TextMessage).data == f"binary {40 << 20} {40 << 20}"
    http2.connection.close()


def test_messages_in_pieces_that_never_end():
    """Without a window of its own a socket holds the worker's while a message comes: not for as long as its client likes."""
    hasty = numbered("deflates", env={"DEFLATES_HASTY": "1"})
    socket, keeping, idle = Deflating(hasty, "/sink/shared"), Deflating(hasty, "/sink/large"), Deflating(hasty, "/sink/shared")
    for one in (socket, keeping):
        one.send(frame(BINARY, HELLO[:5], final=False, reserved=COMPRESSED))
    assert socket.closed() == (1008, "a message that comes too slowly")
    keeping.send(frame(CONTINUATION, HELLO[5:]))
    assert keeping.frame() == (TEXT, b"binary 5 500")
    idle.say(b"Hello")
    assert idle.frame() == (TEXT, b"binary 5 500")
    hasty.stop()


def test_a_close_within_a_bomb(server):
    """The program closes at the first piece: the rest is read past, and the client's close is seen behind it."""
    socket = Deflating(server, "/sink/large?close")
    socket.say(b"\1" * (50 << 20))
    socket.send(close(4008))
    assert socket.closed() == (4008, "enough")
    assert socket.ended() and poured(server)[0] <= 4096


def test_streams_of_python(server):
    with connect_websockets(f"ws://127.0.0.1:{server.port}/pieces/dedicated", extensions=[ClientPerMessageDeflateFactory()]) as socket:
        for n in range(20):
            parts = [words(500, n), "", words(5000, n), "end"]
            socket.send(parts)
            assert "".join(socket.recv_streaming()) == "".join(parts)


# ---- Other clients ----


@pytest.mark.parametrize("path", ["/shared", "/dedicated", "/large"])
@pytest.mark.parametrize("options", [{}, {"server_no_context_takeover": True}, {"client_no_context_takeover": True},
                                     {"server_max_window_bits": 9, "client_max_window_bits": 9},
                                     {"client_max_window_bits": True, "compress_settings": {"memLevel": 1}}], ids=str)
def test_websockets_of_python(server, path, options):
    factory = ClientPerMessageDeflateFactory(**options)
    with connect_websockets(f"ws://127.0.0.1:{server.port}{path}", extensions=[factory], max_size=None) as socket:
        assert [type(one).__name__ for one in socket.protocol.extensions] == ["PerMessageDeflate"]
        for message in ("", "short", words(100000), os.urandom(150000), bytes(200000), "é" * 50000):
            for _ in range(3):
                socket.send(message)
                assert socket.recv() == message
        socket.send(["in ", "pieces ", words(5000)])
        assert socket.recv() == "in pieces " + words(5000)
        assert socket.ping(b"p").wait(20)


def test_the_log_counts_messages_as_they_are(server):
    socket = shared(server, "/shared?logged")
    socket.say("x" * 5000)
    assert socket.frame() == (TEXT, b"x" * 5000)
    socket.send(close(1000))
    assert socket.closed() == (1000, "")
    socket.leave()
    assert eventually(lambda: "messages in 1 (5000 octets), out 1 (5000 octets)" in server.out_text())


def test_a_long_publication_to_windows_of_their_own(server):
    """It is compressed for each reader, and others are served between a few of them."""
    readers = [Deflating(server, "/topic-dedicated", "client_max_window_bits=12", down=12) for _ in range(100)]
    other, text = Socket(server, "/turns"), words(100_000)

    def turns_between():
        turns = 0
        with server.connect() as publisher:
            publisher.send(posted("/publish", text.encode()))
            waiting = {reader.connection.socket for reader in readers}
            waiting -= set(select.select(list(waiting), [], [])[0])
            while waiting:
                other.send(frame(TEXT, "turn?"))
                turns += other.message().isdigit()
                waiting -= set(select.select(list(waiting), [], [], 0)[0])
            assert publisher.response().status == 200
        assert all(reader.frame() == (TEXT, text.encode()) for reader in readers)
        return turns

    assert eventually(lambda: turns_between() >= 10), "the client was held up for as long as it took, each time"
    for socket in (*readers, other):
        socket.leave()
