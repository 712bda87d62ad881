# SPDX-License-Identifier: MIT
"""Memory of the release build: nothing per request in steady state, next to nothing per idle connection."""

import gzip
import resource
import signal
import struct
import time
import zlib

import pytest
from certificates import make, trusting
from counting import Counted, make_shim, many_descriptors
from h2_sockets import Http2
from ports import free_port
from server import RELEASE, eventually, lacks_tls
from websocket import BINARY, CLOSE, PING, PONG, TEXT, Socket, close, frame
from wire import Connection, chunk, request
from wsproto.events import TextMessage

IDLE = 10_000
MEMORY_MAX = 8 << 20
FLOOD = 2_000


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return make_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def counted(shim, tmp_path):
    started = []

    def start(name, *words, **more):
        started.append(Counted(shim, tmp_path, name, *words, **more))
        return started[-1]

    yield start
    for one in started:
        one.server.stop()


def steady(counted, wires, rounds=300):
    """Allocations in rounds of requests, after as many rounds to warm up. wires: octets, answers."""
    connections = [counted.server.connect() for _ in range(8)]
    for warm in (True, False):
        before = counted.calls()
        for _ in range(rounds):
            for connection in connections:
                for wire, answers in wires:
                    connection.send(wire)
                    for _ in range(answers):
                        connection.response()
    return counted.calls() - before


def test_no_allocation_per_request(counted):
    server = counted("hello", "--port", "{port}", "--workers", "1")
    assert steady(server, [(request("/"), 1)]) == 0


def test_no_allocation_with_a_browsers_head(counted):
    server = counted("hello", "--port", "{port}", "--workers", "1")
    fields = [f"X-Field-{i}: {'v' * 60}" for i in range(10)] + ["Cookie: " + "; ".join(f"c{i}=v{i}" for i in range(30))]
    assert steady(server, [(request("/", *fields), 1)]) == 0


def test_no_allocation_when_pipelined(counted):
    server = counted("hello", "--port", "{port}", "--workers", "1")
    assert steady(server, [(request("/") * 16, 16)], rounds=50) == 0


def test_no_allocation_with_content(counted):
    server = counted("echo", "--port", "{port}", "--workers", "1")
    post = request("/", "Content-Length: 5", method="POST", content=b"hello")
    chunked = request("/", "Transfer-Encoding: chunked", method="POST") + chunk(b"hello") + b"0\r\n\r\n"
    assert steady(server, [(post, 1), (chunked, 1)], rounds=100) == 0


@pytest.mark.parametrize("path", ["/small.txt", "/large.bin"])
def test_no_allocation_per_file(counted, tmp_path, path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "small.txt").write_bytes(b"a" * 4096)
    (site / "large.bin").write_bytes(b"a" * 200_000)
    server = counted(
        "skua", site, "--listen", "127.0.0.1:{port}", "--workers", "1", "--log", "none", "--quiet"
    )
    # Entries are looked at again once a second, which opens and stats: that is not per request.
    assert steady(server, [(request(path), 1)], rounds=100) <= 20


@pytest.mark.parametrize("way", ["off", "gzip"])
def test_no_allocation_per_coded_file(counted, tmp_path, way):
    """Text that lies compressed beside the file, or was compressed here."""
    (tmp_path / "www").mkdir()
    text = b"".join(b"%07d\n" % i for i in range(12800))
    (tmp_path / "www" / "a.txt").write_bytes(text)
    if way == "off":
        (tmp_path / "www" / "a.txt.gz").write_bytes(gzip.compress(text))
    config, port = tmp_path / "conf", free_port()
    config.write_text(f"listen 127.0.0.1:{port}\nworkers 1\nsandbox off\naccess_log off\n"
                      f"site * {{\n    root {tmp_path}/www\n    compress {way}\n}}\n")
    time.sleep(2.2)  # the age at which times tell versions apart
    server = counted("skua", "-c", config, port=port)
    response = server.server.get("/a.txt", "Accept-Encoding: gzip")
    assert response.get("content-encoding") == "gzip" and gzip.decompress(response.content) == text
    assert steady(server, [(request("/a.txt", "Accept-Encoding: gzip"), 1)], rounds=100) <= 60


def test_no_allocation_per_connection(counted):
    server = counted("hello", "--port", "{port}", "--workers", "1")
    for _ in range(2):
        before = server.calls()
        for _ in range(300):
            assert server.server.get("/", "Connection: close").status == 200
    assert server.calls() - before == 0


def test_idle_connection(counted, record_property):
    """At most 128 octets each, by the allocator's count and by the pages in use."""
    many_descriptors()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < IDLE + 200:
        pytest.skip(f"needs {IDLE + 200} descriptors")
    server = counted("hello", "--port", "{port}", "--workers", "1")
    warm = [Connection(server.server.address) for _ in range(64)]
    for connection in warm:
        connection.get("/")
    octets, pages = server.octets(), server.server.rss_octets()
    idle = []
    try:
        for _ in range(IDLE):
            connection = Connection(server.server.address)
            assert connection.get("/").status == 200
            idle.append(connection)
        by_count = (server.octets() - octets) / IDLE
        by_pages = (server.server.rss_octets() - pages) / IDLE
        record_property("octets_per_idle_connection", [round(by_count, 1), round(by_pages, 1)])
        print(f"{by_count:.1f} octets by count, {by_pages:.1f} by pages")
        assert by_pages <= 128 and by_count <= 128
        assert idle[0].get("/").status == 200 and idle[-1].get("/").status == 200
    finally:
        for connection in idle + warm:
            connection.close()


def idle_sockets(server, path, count):
    """Sockets that have had a message there and back, and say nothing more."""
    sockets = []
    for _ in range(count):
        sockets.append(Socket(server.server, path))
        sockets[-1].send(frame(TEXT, "x" * 100))
        assert sockets[-1].message() == "x" * 100
    return sockets


def test_idle_socket(counted, record_property):
    """A WebSocket that says nothing, and whose route needs no request: at most 256 octets over its connection's 128 by the
    pages in use. By the allocator's count some more, as memory for handles doubles, and is not touched before it is used."""
    many_descriptors()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < IDLE + 200:
        pytest.skip(f"needs {IDLE + 200} descriptors")
    server = counted("echo", "--port", "{port}", "--workers", "1")
    fresh = server.octets()
    sockets = idle_sockets(server, "/ws", 64)
    assert eventually(lambda: server.octets() - fresh < 64 * 5000)
    octets, pages = server.octets(), server.server.rss_octets()
    sockets += idle_sockets(server, "/ws", IDLE)

    def by_count():
        return (server.octets() - octets) / IDLE

    def by_pages():
        return (server.server.rss_octets() - pages) / IDLE

    assert eventually(lambda: by_count() <= 128 + 256 + 64), f"{by_count():.1f} octets by count"
    assert eventually(lambda: by_pages() <= 128 + 256), f"{by_pages():.1f} octets by pages"
    record_property("octets_per_idle_socket", [round(by_count(), 1), round(by_pages(), 1)])
    print(f"{by_count():.1f} octets by count, {by_pages():.1f} by pages")
    for socket in sockets:
        socket.send(frame(TEXT, "still there"))
    for socket in sockets:
        assert socket.message() == "still there"
        socket.leave()


def at_rest(server):
    """Octets in use when everything that rests has been given back."""
    before = 0
    while before != (before := server.octets()):
        time.sleep(3)
    return before


def test_idle_stream(counted, record_property):
    """A WebSocket on a stream of HTTP/2 that says nothing: at most 256 octets over the 400 of the stream's slot, by the allocator's
    count, and 64 as memory for handles doubles. That of connections is left out."""
    server, each, count = counted("echo", "--port", "{port}", "--workers", "1"), 90, 10
    https = [Http2(server.server) for _ in range(count)]

    def open_streams(many):
        opened = [http2.open("/ws") for http2 in https for _ in range(many)]
        for stream in opened:
            assert stream.response()[":status"] == "200"
            stream.send(TextMessage(data="x" * 100))
            assert stream.event(TextMessage).data == "x" * 100
        return opened

    streams = open_streams(1)
    before = at_rest(server)
    streams += open_streams(each)
    octets = (at_rest(server) - before) / (each * count)
    record_property("octets_per_idle_stream", round(octets, 1))
    print(f"{octets:.1f} octets by count")
    assert octets <= 400 + 256 + 64
    for stream in streams:
        stream.send(TextMessage(data="still there"))
        assert stream.event(TextMessage).data == "still there"
    for http2 in https:
        http2.connection.close()


def test_connection_of_idle_streams(counted, record_property):
    """A connection of HTTP/2 whose only stream is a WebSocket that says nothing, with that: no block of 16 KiB, nor room to send."""
    server = counted("echo", "--port", "{port}", "--workers", "1")

    def opened(many):
        streams = [Http2(server.server).open("/ws") for _ in range(many)]
        for stream in streams:
            assert stream.response()[":status"] == "200"
            echoed(stream, "x" * 100)
        return streams

    def echoed(stream, text):
        stream.send(TextMessage(data=text))
        assert stream.event(TextMessage).data == text

    streams = opened(100)
    before = at_rest(server)
    streams += opened(100)
    octets = (at_rest(server) - before) / 100
    record_property("octets_per_connection_of_an_idle_stream", round(octets, 1))
    print(f"{octets:.1f} octets by count")
    assert octets < 4500
    for stream in streams:
        echoed(stream, "still there")
        stream.http2.connection.close()


def crowd(server, path, count, *lines):
    """Sockets that rest. Returns them, and the octets in use then, with what the log keeps of their heads."""
    many_descriptors()
    sockets = [Socket(server.server, path, *lines) for _ in range(count)]
    assert all(short(socket)[0] == TEXT for socket in sockets)
    used = server.most()
    assert eventually(lambda: used - server.octets() > count * 4000, 20)
    return sockets, server.octets()


def short(socket):
    """(opcode, payload) of the next frame, which is short and may be compressed."""
    first, length = socket.connection.exactly(2)
    return first & 15, socket.connection.exactly(length)


def parked(counted, tmp_path, way):
    if way != "tls":
        return counted("parked", "--port", "{port}", "--grace-ms", "10000")
    if lacks_tls(RELEASE):
        pytest.skip(lacks_tls(RELEASE))
    pair = make(tmp_path)
    server = counted("parked", "--tls-port", "{port}", "--cert", pair.cert, "--key", pair.key, "--grace-ms", "10000")
    server.server.tls = {"tls": trusting(pair.cert)}
    return server


SOME = {"clear": 256 * 25_000, "tls": 256 * 50_000, "windows": 256 * 25_000}  # octets of those that are woken at a time


@pytest.mark.parametrize("way", ["clear", "tls", "windows"])
@pytest.mark.parametrize("end", ["stop", "close", "close-here"])
def test_many_sockets_that_wake(counted, tmp_path, way, end, record_property):
    """A program that sends to thousands of sockets in one turn, or closes them, a thread that does, and the final stop make sessions
    of some of them at a time: 256 of 23 KiB are 6 MB, and all would be 46 MB; over TLS, of which each has a flight, 13 and 38 MB."""
    count, lines = {"clear": 2000, "tls": 900, "windows": 400}[way], []
    server = parked(counted, tmp_path, way)
    if way == "windows":
        if server.server.get("/deflating/x").status == 404:
            pytest.skip("zlib is not built in")
        lines = ["Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"]
    sockets, before = crowd(server, "/deflating/name" if lines else "/usual/name", count, *lines)
    server.most()
    assert server.server.get("/here", method="POST").status == 200
    sent = server.most() - before
    assert all(short(socket)[0] == TEXT for socket in sockets)
    assert eventually(lambda: server.octets() - before < SOME[way] / 2, 20)
    server.most()
    if end == "stop":
        server.server.signal()
    else:
        assert server.server.get(f"/{end}", method="POST").status == 200
    code = struct.pack(">H", 1001 if end == "stop" else 4003)
    assert all(short(socket) == (CLOSE, code) for socket in sockets)
    closed = server.most() - before
    record_property("octets_at_most_of_sockets_that_wake", [sent, closed])
    print(f"{sent} octets in the turn, {closed} when all have been told of the end")
    assert sent < SOME[way] and closed < SOME[way]
    for socket in sockets:
        socket.send(close(1000))
    assert all(socket.ended() for socket in sockets)
    if end == "stop":
        server.server.judge_end()


LONG = 12_000  # octets, which a socket's first buffer in the kernel has room for


@pytest.mark.parametrize("way", ["clear", "tls"])
def test_long_messages_to_many_that_rest(counted, tmp_path, way, record_property):
    count = {"clear": 2000, "tls": 900}[way]
    server = parked(counted, tmp_path, way)
    sockets, before = crowd(server, "/joined/room", count)
    most = []
    for path in (f"/here?more={LONG}", f"/publish/room?more={LONG}"):
        server.most()
        assert server.server.get(path, method="POST").status == 200
        for socket in sockets:
            assert len(socket.message()) == 4 + LONG
        most.append(server.most() - before)
    record_property("octets_at_most_of_long_messages", most)
    print(f"{most} octets at most, of messages and of a publication")
    assert max(most) < SOME[way] + 256 * LONG


def test_publication_to_many_that_rest(counted, record_property):
    """It goes to 64 at a time, and those rest again before all others have been woken."""
    server = counted("parked", "--port", "{port}")
    sockets, before = crowd(server, "/joined/room", 2000)
    server.most()
    for text in ("first", "second"):
        assert server.server.get(f"/publish/room?text={text}", method="POST").status == 200
        assert all(socket.message() == text for socket in sockets)
    most = server.most() - before
    record_property("octets_at_most_of_a_publication_to_many_that_rest", most)
    print(f"{most} octets at most")
    assert most < SOME["clear"]
    for socket in sockets:
        socket.leave()


@pytest.mark.parametrize("head", [0, 800, 3000])
def test_idle_socket_with_its_request(counted, head, record_property):
    """A WebSocket that says nothing, by the allocator's count: its session, its request with a head of as many octets as it has, no
    block of 16 KiB, and no queue when it has been idle for a second. Then it is served as ever."""
    server, line = counted("echo", "--port", "{port}", "--workers", "1"), f"X-Head: {'x' * head}"
    fresh = server.octets()
    sockets = [Socket(server.server, "/ws/fourfold", line) for _ in range(100)]
    octets = server.octets()
    for _ in range(500):
        sockets.append(Socket(server.server, "/ws/fourfold", line))
        sockets[-1].send(frame(PING, "x" * 100))
        assert sockets[-1].frame() == (PONG, b"x" * 100)
    assert (server.octets() - octets) / 500 < 8000 + head

    def each():
        return (server.octets() - fresh) / 600

    assert eventually(lambda: each() < 5200 + head), f"{each():.1f} octets by count"
    record_property(f"octets_per_idle_socket_with_request_of_{head}", round(each(), 1))
    print(f"{each():.1f} octets by count")
    for socket in sockets:
        socket.send(frame(TEXT, "still there"))
        assert [socket.frame()[1] for _ in range(4)] == [b"still there"] * 3 + [b"till there"]
        socket.leave()


def test_socket_with_windows(counted, record_property):
    """A WebSocket with two windows of 15 bits, by the allocator's count: what is counted for them in the handshake is enough."""
    server = counted("echo", "--port", "{port}", "--workers", "1")
    offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
    first = Socket(server.server, "/ws", offer)
    if not first.response.get("sec-websocket-extensions"):
        pytest.skip("zlib is not built in")
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = (packer.compress(b"x" * 1000) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]

    def used(socket):
        socket.send(frame(TEXT, packed, reserved=4))
        begin, length = socket.connection.exactly(2)
        assert begin == 0xC1 and socket.connection.exactly(length)
        return socket

    sockets = [used(first)]
    octets = server.octets()
    sockets += [used(Socket(server.server, "/ws", offer)) for _ in range(100)]
    each = (server.octets() - octets) / 100
    record_property("octets_per_socket_with_windows", round(each))
    print(f"{each:.0f} octets by count")
    assert (9 << 15) < each < (9 << 15) + 2 * 8192 + 8000
    for socket in sockets:
        socket.leave()


def test_no_allocation_for_each_reader(counted):
    """A publication is sent from where it lies to readers for whom nothing waits, of which there are more than a worker keeps blocks."""
    many_descriptors()
    server = counted("bench_socket_server", "{port}", "epoll")
    readers = [Socket(server.server, "/publish") for _ in range(400)]

    def publish():
        readers[0].send(frame(BINARY, b"octets"))
        for reader in readers:
            assert reader.frame() == (BINARY, b"octets")

    publish()
    before = server.calls()
    for _ in range(10):
        publish()
    assert server.calls() - before < 10 * 10
    for reader in readers:
        reader.connection.close()
    server.server.signal()
    server.server.judge_end(-signal.SIGTERM)  # which it does not catch


@pytest.mark.parametrize("backend", ["epoll", "uring"])
def test_flood_stays_within_memory_max(counted, backend, record_property):
    """Heads of 16,000 octets that do not end, and what they need besides, would be 46 MB. By the allocator's count."""
    many_descriptors()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < FLOOD + 200:
        pytest.skip(f"needs {FLOOD + 200} descriptors")
    server = counted("hello", "--port", "{port}", "--workers", "1", "--backend", backend, "--memory-max", MEMORY_MAX)
    assert server.server.get("/").status == 200
    fresh, most = server.octets(), 0
    connections = []
    try:
        for _ in range(FLOOD):
            try:
                connection = Connection(server.server.address)
                connections.append(connection)
                connection.send(b"GET / HTTP/1.1\r\nX: " + b"x" * 15_980)
            except OSError:
                pass
            most = max(most, server.octets() - fresh)
        assert eventually(lambda: server.octets() - fresh > MEMORY_MAX * 0.8)
    finally:
        for connection in connections:
            connection.reset()
    record_property("octets_at_most", most)
    print(f"{most} octets at most, of {MEMORY_MAX}")
    assert most < MEMORY_MAX * 1.1
    assert eventually(lambda: server.octets() - fresh < MEMORY_MAX * 0.8)
    assert eventually(lambda: answers(server.server))


def answers(server):
    try:
        return server.get("/").status == 200
    except (AssertionError, EOFError, OSError):
        return False
