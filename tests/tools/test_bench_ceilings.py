# SPDX-License-Identifier: MIT
"""The bench's ceilings: little as they do, they must do it right, or nothing can be held against them."""

import errno
import pathlib
import platform
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest
from ports import free_port
from seccomp import URING_ENTER, URING_REGISTER, URING_SETUP, forbid
from server import eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = bytes(range(256)) * 8192  # two MiB: more than a socket takes

pytestmark = pytest.mark.skipif(not (RELEASE / "bench_ceiling_uring").exists(), reason="the bench is not built")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


class Ceiling:
    def __init__(self, folder, name, *options, content=b"", **popen):
        (folder / "head").write_bytes(HEAD)
        (folder / "content").write_bytes(content)
        self.answer = HEAD + content
        self.port = free_port()
        argv = [RELEASE / f"bench_ceiling_{name}", "--port", str(self.port), "--head", folder / "head", *options]
        argv += ["--file", folder / "content"] if content else []
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, **popen)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def is_open(self):
        try:
            Ceiling.connect(self).close()
            return True
        except ConnectionRefusedError:
            return False

    def sockets(self):
        """How many of its connections are not closed, by the kernel's list: it may hold them without a descriptor."""
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        done = ("06", "0A")  # TIME_WAIT, LISTEN
        return sum(row[1].endswith(f":{self.port:04X}") and row[3] not in done for row in rows)

    def stop(self):
        self.process.kill()
        self.process.communicate()


class TlsCeiling(Ceiling):
    def __init__(self, folder, records, pair, *options, **more):
        self.context = ssl.create_default_context(cafile=pair[0])
        super().__init__(folder, "tls", "--records", records, "--cert", pair[0], "--key", pair[1], *options, **more)

    def connect(self):
        return self.context.wrap_socket(super().connect(), server_hostname="localhost", suppress_ragged_eofs=False)


HAS_TLS = (RELEASE / "bench_ceiling_tls").exists()
RECORDS = ["ready", "keyed", "openssl"]


@pytest.fixture(params=["epoll", "uring"] + RECORDS * HAS_TLS)
def ceiling(request, tmp_path, pair):
    started = []

    def start(*options, **more):
        if request.param in RECORDS:
            started.append(TlsCeiling(tmp_path, request.param, pair, *options, **more))
        else:
            started.append(Ceiling(tmp_path, request.param, *options, **more))
        if not eventually(lambda: started[-1].process.poll() is not None or started[-1].is_open()) or started[-1].process.poll():
            pytest.skip("this kernel refuses: " + started[-1].process.stderr.read())
        return started[-1]

    yield start
    for each in started:
        each.stop()


def receive(connection, octets):
    got = bytearray()
    while len(got) < octets:
        more = connection.recv(min(1 << 20, octets - len(got)))
        assert more, f"closed after {len(got)} octets"
        got += more
    return bytes(got)


def is_quiet(connection):
    """Nothing more comes, and it is not closed."""
    connection.settimeout(0.1)
    try:
        return connection.recv(1) is None
    except TimeoutError:
        return True
    finally:
        connection.settimeout(20)


def test_every_request_is_answered_however_it_comes(ceiling):
    server = ceiling(content=b"hello")
    with server.connect() as connection:
        for pieces in ([REQUEST * 40], [REQUEST[:9], REQUEST[9:] + REQUEST], [bytes([octet]) for octet in REQUEST * 2]):
            for piece in pieces:
                connection.sendall(piece)
            wanted = server.answer * b"".join(pieces).count(b"\r\n\r\n")
            assert receive(connection, len(wanted)) == wanted
        assert is_quiet(connection)


@pytest.mark.parametrize("way", ["memory", "file"])
def test_what_a_socket_cannot_take_goes_on_later(ceiling, way):
    """Two answers are asked for while the first cannot leave, and two more behind them."""
    server = ceiling("--send", way, content=LARGE)
    with server.connect() as connection:
        connection.sendall(REQUEST * 2)
        time.sleep(0.2)
        connection.sendall(REQUEST * 2)
        for _ in range(4):
            assert receive(connection, len(server.answer)) == server.answer
        assert is_quiet(connection)


@pytest.mark.parametrize("pieces", [[REQUEST], [REQUEST[:20], REQUEST[20:]]], ids=["whole", "in two"])
@pytest.mark.parametrize("content", [b"hello", LARGE], ids=["small", "large"])
def test_a_connection_for_each_request(ceiling, pieces, content):
    server = ceiling("--close", content=content)
    for _ in range(3):
        with server.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.05)
            assert receive(connection, len(server.answer)) == server.answer
            assert connection.recv(1) == b""


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("way", ["memory", "file"])
def test_who_goes_away_leaves_nothing_behind(ceiling, way):
    """Descriptors come back, and nothing that is meant for one connection comes to the next with the same."""
    server = ceiling("--send", way, content=LARGE)
    for leave in (socket.socket.close, reset) * 20:
        connections = [server.connect() for _ in range(8)]
        for connection in connections:
            connection.sendall(REQUEST * 3)
        for connection in connections:
            receive(connection, 4096)
            leave(connection)
    assert eventually(lambda: server.sockets() == 0)
    with server.connect() as connection:
        connection.sendall(REQUEST)
        assert receive(connection, len(server.answer)) == server.answer
        assert is_quiet(connection)


def test_more_at_once_than_there_are_buffers(ceiling):
    """Where receives end for want of one, they are armed again."""
    server = ceiling(content=b"hello")
    connections = [server.connect() for _ in range(600)]
    for _ in range(3):
        server.process.send_signal(signal.SIGSTOP)
        for connection in connections:
            connection.sendall(REQUEST * 2)
        server.process.send_signal(signal.SIGCONT)
        for connection in connections:
            assert receive(connection, 2 * len(server.answer)) == server.answer * 2
    for connection in connections:
        connection.close()


def tls_in_memory(server):
    """A client whose octets are sent and received by hand: the object, and what it reads and writes."""
    came, leaves = ssl.MemoryBIO(), ssl.MemoryBIO()
    return server.context.wrap_bio(came, leaves, server_hostname="localhost"), came, leaves


def send_one_by_one(connection, octets):
    for octet in octets:
        connection.sendall(bytes([octet]))


def try_until(connection, came, leaves, step):
    """Goes on with a step of a client in memory until it is done, an octet at a time."""
    while True:
        try:
            return step()
        except ssl.SSLWantReadError:
            send_one_by_one(connection, leaves.read())
            came.write(connection.recv(65536))


@pytest.mark.skipif(not HAS_TLS, reason="TLS is not built in")
@pytest.mark.parametrize("records", RECORDS)
def test_records_that_come_an_octet_at_a_time(tmp_path, pair, records):
    server = TlsCeiling(tmp_path, records, pair)
    try:
        assert eventually(server.is_open)
        with Ceiling.connect(server) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client, came, leaves = tls_in_memory(server)
            try_until(connection, came, leaves, client.do_handshake)
            for _ in range(3):
                client.write(REQUEST)
                assert try_until(connection, came, leaves, client.read) == HEAD
            connection.sendall(leaves.read())
    finally:
        server.stop()


# ---- HTTP/2 ----

FIRST = b"\x88" + b"\x5c\x015"  # content-length into the table
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
ACK = bytes([0, 0, 0, 4, 1, 0, 0, 0, 0])
BEGIN = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS + ACK
BLOCK = b"\x82\x84\x86\x41\x09localhost"


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def asked(number):
    """A request and what a client may send beside it."""
    return frame(1, 5, 2 * number + 1, BLOCK) + frame(8, 0, 0, struct.pack(">I", 100)) + frame(2, 0, 2 * number + 1, b"\0\0\0\0\x10")


def answered(number, content):
    pieces = [content[at:at + 16384] for at in range(0, len(content), 16384)]
    octets = frame(1, 4, 2 * number + 1, HEAD if number else FIRST)
    return octets + b"".join(frame(0, piece is pieces[-1], 2 * number + 1, piece) for piece in pieces)


@pytest.fixture(params=["memory", "file"])
def frames(request, ceiling, tmp_path):
    """frames(content) starts a ceiling over HTTP/2."""
    (tmp_path / "first").write_bytes(FIRST)
    protected = request.getfixturevalue("request").node.callspec.params["ceiling"] in RECORDS
    if request.param == "file" and not protected:
        pytest.skip("in the clear frames go from memory")

    def start(content):
        server = ceiling("--first", tmp_path / "first", "--send", request.param, content=content)
        if protected:
            server.context.set_alpn_protocols(["h2"])
        return server

    return start


@pytest.mark.parametrize("content", [b"hello", LARGE[:16384], LARGE[:40000]], ids=["small", "a frame", "frames"])
def test_frames_however_they_come(frames, content):
    server = frames(content)
    requests = b"".join(asked(number) for number in range(3))
    with server.connect() as connection:
        for octet in BEGIN + requests:
            connection.sendall(bytes([octet]))
        wanted = SETTINGS + ACK + b"".join(answered(number, content) for number in range(3))
        assert receive(connection, len(wanted)) == wanted
        connection.sendall(b"".join(asked(number) for number in range(3, 40)))
        wanted = b"".join(answered(number, content) for number in range(3, 40))
        assert receive(connection, len(wanted)) == wanted
        assert is_quiet(connection)


def test_frames_that_a_socket_cannot_take(frames):
    """Two more are asked for while the first cannot leave."""
    server = frames(LARGE)
    with server.connect() as connection:
        connection.sendall(BEGIN + asked(0) + asked(1))
        time.sleep(0.2)
        connection.sendall(asked(2) + asked(3))
        wanted = SETTINGS + ACK + b"".join(answered(number, LARGE) for number in range(4))
        assert receive(connection, len(wanted)) == wanted
        assert is_quiet(connection)


def test_frames_on_a_descriptor_that_comes_again(frames):
    server = frames(b"hello")
    for _ in range(3):
        with server.connect() as connection:
            connection.sendall(BEGIN + asked(0))
            wanted = SETTINGS + ACK + answered(0, b"hello")
            assert receive(connection, len(wanted)) == wanted


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64", "riscv64"), reason="the numbers are not known")
@pytest.mark.parametrize("call", [URING_SETUP, URING_ENTER, URING_REGISTER])
def test_a_kernel_that_refuses(tmp_path, call):
    """It ends with the reason, without having listened, so that the bench leaves it out."""
    server = Ceiling(tmp_path, "uring", preexec_fn=forbid(call, errno.EPERM))
    _, said = server.process.communicate(timeout=20)
    assert server.process.returncode == 1
    assert said.startswith("io_uring_") and said.endswith(": Operation not permitted\n")
