# SPDX-License-Identifier: MIT
"""System calls, as strace counts them over everything the server does while 64 connections are ready.

The server is stopped while the requests are put into its sockets, so that all of them are ready when it
goes on. Numbers are means over many rounds.
"""

import contextlib
import gzip
import os
import re
import select
import signal
import socket
import ssl
import time

import pytest
from certificates import SecureConnection, make, trusting
from conf import children
from h2_batches import AT_A_TIME, Batches
from h2_sockets import Http2
from ports import free_port
from server import RELEASE, Server, eventually, lacks_tls
from websocket import BINARY, Socket, frame
from wire import Connection, request
from wsproto.events import BytesMessage

# The budget of one thing on each backend.
EVERY = pytest.mark.parametrize("backend, budget", [("epoll", 2.1), ("uring", 0.3)])
CLOSE = pytest.mark.parametrize("backend, budget", [("epoll", 4.3), ("uring", 2.3)])
READY = 64
ROUNDS = 30
CALL = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\(")


class Traced:
    """A server of the release build under strace."""

    def __init__(self, tmp_path, backend, name, *words):
        self.port = free_port()
        self.begin(tmp_path, name, *[w.format(port=self.port) for w in words], "--backend", backend)
        self.pid = self.first

    def begin(self, tmp_path, *argv):
        self.trace = tmp_path / "trace"
        self.server = Server(["strace", "-f", "-qq", "-ttt", "-o", self.trace, RELEASE / argv[0], *argv[1:]], ("127.0.0.1", self.port))
        self.refused = "cannot be used" in self.server.error_text()
        self.first = children(self.server.pid)[0]

    def hold(self):
        """Stops every thread of it, as Ctrl-Z would."""
        os.kill(self.pid, signal.SIGSTOP)
        assert eventually(lambda: all(self._state(t) in "Tt" for t in os.listdir(f"/proc/{self.pid}/task")))

    def _state(self, thread):
        try:
            with open(f"/proc/{self.pid}/task/{thread}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "T"  # it has ended

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def end(self):
        """Every system call as (time, name)."""
        os.kill(self.first, signal.SIGTERM)
        self.server.judged = True
        assert self.server.wait() == 0
        calls = []
        for line in self.trace.read_text(errors="replace").splitlines():
            match = CALL.match(line)
            if match:
                calls.append((float(match.group(2)), match.group(3)))
        return calls


class TracedByFile(Traced):
    """Told by a configuration, where a supervisor has the process that serves for its child. body: what stands behind listen."""

    def __init__(self, tmp_path, backend, body):
        self.port = free_port()
        path = tmp_path / "skua.conf"
        path.write_text(f"listen 127.0.0.1:{self.port}\nworkers 1\nbackend {backend}\nsandbox off\naccess_log off\n{body}")
        self.begin(tmp_path, "skua", "-c", path)
        assert eventually(lambda: self.refused or " serves " in self.server.error_text())
        self.pid = children(self.first)[-1]


def mean(calls, spans, per):
    """Calls within the spans of time, in each of which per things were done; and what the calls were."""
    counts = {}
    for begin, end in spans:
        for when, name in calls:
            if begin <= when <= end:
                counts[name] = counts.get(name, 0) + 1
    total = sum(counts.values())
    return total / (len(spans) * per), counts


def read_until_all_answered(connections, wanted):
    """Reads so many octets from each."""
    left = {c.socket.fileno(): [c.socket, wanted] for c in connections}
    poll = select.epoll()
    for fd in left:
        poll.register(fd, select.EPOLLIN)
    end = time.monotonic() + 20
    while left:
        assert time.monotonic() < end, f"{len(left)} connections wait for octets"
        for fd, _ in poll.poll(1):
            octets = left[fd][0].recv(1 << 18)
            assert octets, "closed"
            left[fd][1] -= len(octets)
            assert left[fd][1] >= 0
            if left[fd][1] == 0:
                poll.unregister(fd)
                del left[fd]
    poll.close()


def answer_octets(connection, wire):
    """How many octets the server says to wire."""
    connection.send(wire)
    octets = 0
    for _ in range(wire.count(b"\r\n\r\n")):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.exactly(1)
        length = int(re.search(rb"(?i)\r\nContent-Length: (\d+)\r\n", head).group(1))
        octets += len(head) + len(connection.exactly(length))
    return octets


def ask_until_it_is_kept(ask):
    """Asks for a file twice within a second, and in a later one, by when it is kept in memory."""
    began = -1.0
    while time.monotonic() - began > 0.8:
        began = time.monotonic()
        ask()
        ask()
    time.sleep(1.1)
    ask()


def kept_alive(traced, wire):
    """Rounds of requests on kept connections; the spans of time they took."""
    connections = [Connection(("127.0.0.1", traced.port)) for _ in range(READY)]
    wanted = answer_octets(connections[0], wire)
    spans = []
    for i in range(ROUNDS + 2):
        traced.hold()
        for connection in connections:
            connection.send(wire)
        time.sleep(0.01)
        begin = time.time()
        traced.go_on()
        read_until_all_answered(connections, wanted)
        time.sleep(0.02)
        if i >= 2:
            spans.append((begin, time.time()))
    for connection in connections:
        connection.close()
    return spans


def under_load(traced, wire):
    """The same without stopping the server, whose threads would wait anew as they go on; the span of time."""
    connections = [Connection(("127.0.0.1", traced.port)) for _ in range(READY)]
    wanted = answer_octets(connections[0], wire)
    begin = time.time()
    for _ in range(ROUNDS):
        for connection in connections:
            connection.send(wire)
        read_until_all_answered(connections, wanted)
    end = time.time()
    for connection in connections:
        connection.close()
    return begin, end


@pytest.fixture
def traced(tmp_path):
    started = []

    def start(*words, how=Traced):
        started.append(how(tmp_path, *words))
        if started[-1].refused:
            pytest.skip("io_uring is not to be had here")
        return started[-1]

    yield start
    for one in started:
        if one.server.alive():
            os.kill(one.first, signal.SIGKILL)
            one.server.process.wait()


def judge(record_property, calls, spans, per, budget):
    found, counts = mean(calls, spans, per)
    record_property("system_calls", round(found, 3))
    print(f"{found:.3f} of {budget}: {counts}")
    assert found <= budget, (found, counts)


@EVERY
def test_keep_alive(traced, backend, budget, record_property):
    server = traced(backend, "hello", "--port", "{port}", "--workers", "1")
    spans = kept_alive(server, request("/"))
    judge(record_property, server.end(), spans, READY, budget)


@EVERY
def test_pipelined(traced, backend, budget, record_property):
    server = traced(backend, "hello", "--port", "{port}", "--workers", "1")
    spans = kept_alive(server, request("/") * 16)
    judge(record_property, server.end(), spans, READY, budget)


def echoes(traced, octets, at_a_time=1):
    """Rounds of messages of that length that come back on WebSockets; the spans of time they took."""
    sockets = [Socket(traced.server, "/ws") for _ in range(READY)]
    wire, wanted = frame(BINARY, b"x" * octets) * at_a_time, len(frame(BINARY, b"x" * octets, masked=False)) * at_a_time
    spans = []
    for i in range(ROUNDS + 2):
        traced.hold()
        for one in sockets:
            one.connection.send(wire)
        time.sleep(0.01)
        begin = time.time()
        traced.go_on()
        read_until_all_answered([one.connection for one in sockets], wanted)
        time.sleep(0.02)
        if i >= 2:
            spans.append((begin, time.time()))
    for one in sockets:
        one.leave()
    return spans


MEMORY_CALLS = {"brk", "mmap", "munmap", "mremap", "madvise"}


@pytest.mark.parametrize("backend, budget", [("epoll", 6.3), ("uring", 2.5)])
def test_messages_of_64_kib(traced, backend, budget, record_property):
    """On epoll each is answered in the turn that it comes in, so that its memory is free for the next: none comes from the
    system. On io_uring those that come together are answered together."""
    server = traced(backend, "echo", "--port", "{port}", "--workers", "1")
    spans = echoes(server, 65536)
    calls = server.end()
    judge(record_property, calls, spans, READY, budget)
    _, counts = mean(calls, spans, READY)
    assert backend == "uring" or sum(counts.get(name, 0) for name in MEMORY_CALLS) <= ROUNDS // 2, counts


FRAMES = 8  # that come in one read


def sends(counts):
    return sum(counts.get(name, 0) for name in ("sendto", "sendmsg", "write", "writev"))


def one_send_each(calls, spans, connections):
    """Answers of a turn leave in one send for each connection."""
    _, counts = mean(calls, spans, connections)
    print(counts)
    assert len(spans) * connections <= sends(counts) <= len(spans) * connections * 1.05, counts


@EVERY
def test_frames_of_one_read(traced, backend, budget, record_property):
    """Eight messages that come together cost no more than a request, and are answered by one send."""
    server = traced(backend, "echo", "--port", "{port}", "--workers", "1")
    spans = echoes(server, 16, FRAMES)
    calls = server.end()
    judge(record_property, calls, spans, READY, budget)
    if backend == "epoll":
        one_send_each(calls, spans, READY)


@pytest.mark.skipif(bool(lacks_tls(RELEASE)), reason=str(lacks_tls(RELEASE)))
def test_frames_of_one_read_over_tls(traced, tmp_path):
    port, pair = free_port(), make(tmp_path, authority=True)
    server = traced("epoll", "echo", "--port", "{port}", "--workers", "1", "--tls-port", str(port), "--cert", str(pair.cert),
                    "--key", str(pair.key))
    server.server.connect = lambda **_: SecureConnection(("127.0.0.1", port), trusting(pair.cert))
    spans = echoes(server, 16, FRAMES)
    one_send_each(server.end(), spans, READY)


def test_frames_of_one_read_over_http2(traced):
    """Those of four sockets, which are streams of one connection, leave together."""
    server = traced("epoll", "echo", "--port", "{port}", "--workers", "1")
    http2 = Http2(server.server)
    streams = [http2.open("/ws") for _ in range(4)]
    for stream in streams:
        assert stream.response()[":status"] == "200"
    spans = []
    for _ in range(ROUNDS):
        server.hold()
        for stream in streams:
            http2.h2.send_data(stream.number, b"".join(stream.ws.send(BytesMessage(data=b"x" * 16)) for _ in range(FRAMES)))
        http2.flush()
        time.sleep(0.01)
        begin = time.time()
        server.go_on()
        for stream in streams:
            for _ in range(FRAMES):
                assert stream.event(BytesMessage).data == b"x" * 16
        time.sleep(0.02)
        spans.append((begin, time.time()))
    http2.connection.close()
    one_send_each(server.end(), spans, 1)


@EVERY
def test_small_file(traced, backend, budget, record_property, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.txt").write_bytes(b"a" * 4096)
    time.sleep(2.2)  # a file younger than two seconds has a weak ETag, so that its answer's length would change
    server = traced(
        backend, "skua", str(tmp_path / "site"), "--listen", "127.0.0.1:{port}", "--workers", "1", "--log", "none", "--quiet"
    )
    spans = kept_alive(server, request("/a.txt"))
    judge(record_property, server.end(), spans, READY, budget)


CODED = {"precompressed": "compress off", "compressed once": "compress gzip"}


@pytest.mark.parametrize("way", CODED)
@pytest.mark.parametrize("backend, budget", [("epoll", 2.3), ("uring", 1.4)])
def test_coded_text(traced, tmp_path, way, backend, budget, record_property):
    """Text of 100 KiB that takes 43 on the wire: one send, whether it lies compressed beside the file or was compressed here.
    The supervisor and the threads beside the worker wait anew when they go on, which counts as a fifth of a call."""
    www = tmp_path / "www"
    www.mkdir()
    text = b"".join(b"%07d %010d\n" % (i, i * 2654435761 % 2**32) for i in range(5390))[:102400]
    (www / "a.txt").write_bytes(text)
    if way == "precompressed":
        (www / "a.txt.gz").write_bytes(gzip.compress(text, 9))
    time.sleep(2.2)
    server = traced(backend, f"site * {{\n    root {www}\n    {CODED[way]}\n}}\n", how=TracedByFile)
    wire = request("/a.txt", "Accept-Encoding: gzip")
    with Connection(("127.0.0.1", server.port)) as connection:
        def ask():
            response = connection.get("/a.txt", "Accept-Encoding: gzip")
            assert response.get("content-encoding") == "gzip" and gzip.decompress(response.content) == text
            assert 40000 < len(response.content) < 45000

        ask_until_it_is_kept(ask)
    spans = kept_alive(server, wire)
    calls = server.end()
    judge(record_property, calls, spans, READY, budget)
    assert "sendfile" not in mean(calls, spans, READY)[1]


@CLOSE
def test_connection_per_request(traced, backend, budget, record_property):
    server = traced(backend, "hello", "--port", "{port}", "--workers", "1")
    wire = request("/", "Connection: close")
    spans = []
    for i in range(ROUNDS + 2):
        server.hold()
        connections = [Connection(("127.0.0.1", server.port)) for _ in range(READY)]
        for connection in connections:
            connection.send(wire)
        time.sleep(0.01)
        begin = time.time()
        server.go_on()
        for connection in connections:
            assert connection.to_end().endswith(b"Hello, World!")
        time.sleep(0.02)
        if i >= 2:
            spans.append((begin, time.time()))
        for connection in connections:
            connection.close()
    judge(record_property, server.end(), spans, READY, budget)


@pytest.mark.parametrize("backend", ["epoll", "uring"])
@pytest.mark.parametrize("way", ["reuseport", "handoff"])
def test_no_lock(traced, backend, way):
    """Workers never wait for each other: while they serve, none asks the kernel to sleep on a lock or to wake a sleeper."""
    server = traced(backend, "hello", "--port", "{port}", "--workers", "4", "--accept", way)
    under_load(server, request("/"))  # libc has a lock for the first memory of each thread
    spans = [under_load(server, request("/"))]
    _, counts = mean(server.end(), spans, READY)
    print(counts)
    assert counts.get("sendto", 0) + counts.get("io_uring_enter", 0) > ROUNDS
    assert "futex" not in counts, counts


@contextlib.contextmanager
def asking_over_http2(server, path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port))) as connection:
        yield Batches(connection, "https", path)


@pytest.mark.skipif(bool(lacks_tls(RELEASE)), reason=str(lacks_tls(RELEASE)))
@pytest.mark.parametrize("is_old, budget", [(False, 5), (True, 0.5)])
def test_a_file_over_http2(traced, tmp_path, is_old, budget):
    """One of 60 KiB. While it may change unseen each of its four frames is read; later it is in memory, since it is asked for often.
    It is looked at once in a second."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.bin").write_bytes(os.urandom(60 << 10))
    if is_old:
        time.sleep(2.2)
    server = traced("epoll", "skua", "--tls", "--listen", "127.0.0.1:{port}", "--workers", "1", "--quiet", str(root))
    with asking_over_http2(server, "/file.bin") as batches:
        batches.ask()
        if is_old:
            ask_until_it_is_kept(batches.ask)
        begin = time.time()
        for _ in range(ROUNDS):
            batches.ask()
        end = time.time()
    calls, counts = mean(server.end(), [(begin, end)], ROUNDS * AT_A_TIME)
    print(f"{calls:.2f} system calls per response: {counts}")
    assert calls <= budget


@pytest.mark.skipif(bool(lacks_tls(RELEASE)), reason=str(lacks_tls(RELEASE)))
@pytest.mark.parametrize("backend, budget", [("epoll", 3.5), ("uring", 2.5)])
def test_a_batch_of_files_over_http2(traced, tmp_path, backend, budget):
    """32 requests for a file of 4 KiB that come at once leave at once: they are received, sent and waited behind. The file is
    looked at once in a second."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.bin").write_bytes(os.urandom(4096))
    server = traced(backend, "skua", "--tls", "--listen", "127.0.0.1:{port}", "--workers", "1", "--quiet", str(root))
    with asking_over_http2(server, "/file.bin") as batches:
        for _ in range(5):
            batches.ask()
        begin = time.time()
        for _ in range(ROUNDS):
            batches.ask()
        end = time.time()
    calls, counts = mean(server.end(), [(begin, end)], ROUNDS)
    print(f"{calls:.2f} system calls per batch: {counts}")
    assert calls <= budget


def calls_of_kept_files(traced, tmp_path, octets_max, *tls):
    """Asks often for a file of so many octets, and for one longer by one. Returns: the calls of the last response of each."""
    root = tmp_path / "root"
    root.mkdir()
    sizes = octets_max, octets_max + 1
    for octets in sizes:
        (root / str(octets)).write_bytes(os.urandom(octets))
    time.sleep(2.2)
    words = ["--tls"] if tls else []
    server = traced("epoll", "skua", *words, "--listen", "127.0.0.1:{port}", "--workers", "1", "--quiet", str(root))
    spans = []
    with Connection(("127.0.0.1", server.port), None, *tls) as connection:
        for octets in sizes:
            ask_until_it_is_kept(lambda octets=octets: connection.get(f"/{octets}"))
            connection.get(f"/{octets}")
            begin = time.time()
            assert connection.get(f"/{octets}").content == (root / str(octets)).read_bytes()
            spans.append((begin, time.time()))
    calls = server.end()
    return [mean(calls, [span], 1)[1] for span in spans]


@pytest.mark.skipif(bool(lacks_tls(RELEASE)), reason=str(lacks_tls(RELEASE)))
def test_the_longest_file_that_is_kept(traced, tmp_path):
    """A file that is longer by an octet is read for each response over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    kept, longer = calls_of_kept_files(traced, tmp_path, 131072, {"tls": context, "server_name": "localhost"})
    assert kept.get("preadv2", 0) == 0 < longer.get("preadv2", 0)


def test_the_longest_file_that_is_kept_in_the_clear(traced, tmp_path):
    """A file that is longer by an octet is sent from its descriptor."""
    kept, longer = calls_of_kept_files(traced, tmp_path, 65536)
    assert kept.get("sendfile", 0) == 0 < longer.get("sendfile", 0)
