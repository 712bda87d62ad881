# SPDX-License-Identifier: MIT
"""gRPC: examples/grpc.c, called by grpcio and grpc-go, and frame by frame."""

import queue
import struct
import subprocess

import golang
import grpc
import pytest
import tls
from h2_client import Client
from h2_socket import END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE
from ports import free_port
from server import BUILD, ROOT, Server, lacks_tls

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("its clients speak HTTP/2 by themselves")]

INITIAL_WINDOW_SIZE = 4
NO_ERROR = 0
WINDOW, QUEUE = 16384, 131072  # of the example
WITHIN = 60  # seconds, of every call


def encoded(n):
    octets = bytearray(b"\x08" if n else b"")
    while n:
        octets.append(n & 0x7F | (0x80 if n > 0x7F else 0))
        n >>= 7
    return bytes(octets)


def decoded(octets):
    assert octets == b"" or octets[0] == 8
    return sum((octet & 0x7F) << 7 * i for i, octet in enumerate(octets[1:]))


def message(octets):
    return struct.pack(">BI", 0, len(octets)) + octets


def messages(content):
    found = []
    while content:
        compressed, octets = struct.unpack(">BI", content[:5])
        assert not compressed and len(content) >= 5 + octets
        found.append(content[5 : 5 + octets])
        content = content[5 + octets :]
    return found


@pytest.fixture(scope="module", params=["h2c", "h2"])
def server(request):
    if request.param == "h2" and lacks_tls():
        pytest.skip(lacks_tls())
    port = free_port()
    pair = [tls.certificate().cert, tls.certificate().key] if request.param == "h2" else []
    started = Server([BUILD / "example_grpc_c", f"127.0.0.1:{port}", *pair], ("127.0.0.1", port), tls=bool(pair))
    yield started
    assert started.alive(), started.error_text()
    started.signal()
    assert "Sanitizer" not in started.judge_end(-15)


class Numbers:
    """The service, as the compiler of Protocol Buffers would write its client."""

    def __init__(self, channel):
        how = {"request_serializer": encoded, "response_deserializer": decoded}
        self.square = channel.unary_unary("/Numbers/Square", **how)
        self.count = channel.unary_stream("/Numbers/Count", **how)
        self.sum = channel.stream_unary("/Numbers/Sum", **how)
        self.sums = channel.stream_stream("/Numbers/Sums", **how)
        self.raw = channel.unary_unary("/Numbers/Square")
        self.unknown = channel.unary_unary("/Numbers/Cube")


@pytest.fixture
def numbers(server):
    where, options = f"127.0.0.1:{server.port}", [("grpc.enable_http_proxy", 0)]
    if server.tls:
        trusted = grpc.ssl_channel_credentials(tls.certificate().cert.read_bytes())
        channel = grpc.secure_channel(where, trusted, options)
    else:
        channel = grpc.insecure_channel(where, options)
    with channel:
        yield Numbers(channel)


# ---- grpcio ----


def test_one_message_each(numbers):
    for n in (0, 1, 7, 128, 2**32 - 1):
        answer, call = numbers.square.with_call(n, timeout=WITHIN)
        assert answer == n * n and call.code() == grpc.StatusCode.OK


def test_many_at_once(numbers):
    calls = [numbers.square.future(n, timeout=WITHIN) for n in range(300)]
    assert [call.result() for call in calls] == [n * n for n in range(300)]


def test_the_server_streams(numbers):
    assert list(numbers.count(5000, timeout=WITHIN)) == list(range(1, 5001))
    assert not list(numbers.count(0, timeout=WITHIN))


def test_the_client_streams(numbers):
    assert numbers.sum(iter(range(5000)), timeout=WITHIN) == sum(range(5000))
    assert numbers.sum(iter([]), timeout=WITHIN) == 0


def test_both_stream(numbers):
    asked = queue.Queue()
    call = numbers.sums(iter(asked.get, None), timeout=WITHIN)
    total = 0
    for n in range(100):  # each is answered before the next is sent
        asked.put(n)
        total += n
        assert next(call) == total
    asked.put(None)
    assert not list(call) and call.code() == grpc.StatusCode.OK
    assert list(numbers.sums(iter([1] * 3000), timeout=WITHIN)) == list(range(1, 3001))


@pytest.mark.parametrize("how, octets, code, why", [
    ("square", 2**32, "OUT_OF_RANGE", "the square is too large"),
    ("raw", b"\x10\x01", "INVALID_ARGUMENT", "it is no Number"),
    ("raw", b"\x08\x80", "INVALID_ARGUMENT", "it is no Number"),
    ("raw", b"\x08" + b"\x80" * 11, "RESOURCE_EXHAUSTED", "a message is too long"),
    ("unknown", b"", "UNIMPLEMENTED", "there is no such method"),
])
def test_errors(numbers, how, octets, code, why):
    with pytest.raises(grpc.RpcError) as failed:
        getattr(numbers, how)(octets, timeout=WITHIN)
    assert (failed.value.code().name, failed.value.details()) == (code, why)
    assert numbers.square(3, timeout=WITHIN) == 9


def test_calls_that_are_given_up(numbers):
    endless = numbers.count(2**63, timeout=WITHIN)
    assert [next(endless) for _ in range(3)] == [1, 2, 3]
    endless.cancel()
    waiting = numbers.sums(iter(queue.Queue().get, None), timeout=0.2)
    with pytest.raises(grpc.RpcError) as failed:
        next(waiting)
    assert failed.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert numbers.square(3, timeout=WITHIN) == 9


# ---- grpc-go ----


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    module = ROOT / "tests/e2e/grpc_go"
    got = subprocess.run(["go", "mod", "download"], cwd=module, capture_output=True, text=True, timeout=300, check=False)
    if got.returncode:
        pytest.skip(f"grpc-go is not to be had here: {got.stderr}")
    return golang.build(module, program=tmp_path_factory.mktemp("go") / "client")


@pytest.mark.test_all
@golang.needed
def test_go(server, go):
    pair = [tls.certificate().cert] if server.tls else []
    done = subprocess.run([go, f"127.0.0.1:{server.port}", *pair], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "all\n", done.stderr


# ---- Frame by frame ----

FIELDS = [("content-type", "application/grpc"), ("te", "trailers")]


@pytest.fixture
def client(server):
    with Client(server) as made:
        yield made


def call(client, method, content, ends=True):
    stream = client.open(f"/Numbers/{method}", *FIELDS, method="POST", ends=False)
    client.data(stream, content, ends=ends)
    return stream


def test_a_status_without_messages_is_one_frame(client):
    stream = call(client, "Square", message(encoded(2**32)), ends=False)
    head = client.of(stream)
    assert head.kind == HEADERS and head.flags & END_STREAM
    fields = dict(head.fields)
    assert (fields[":status"], fields["content-type"], fields["grpc-status"]) == ("200", "application/grpc", "11")
    assert client.reset_code(stream) == NO_ERROR  # the client's half was open


def test_a_status_behind_messages_is_in_the_trailers(client):
    answer = client.response(call(client, "Sums", message(encoded(5)) + message(b"\x08\xac\x02")))
    assert [decoded(m) for m in messages(answer.content)] == [5, 305]
    assert answer.trailers == {"grpc-status": "0"} and "grpc-status" not in answer.fields
    answer = client.response(call(client, "Sums", message(encoded(5)) + message(b"\x10")))
    assert (len(messages(answer.content)), answer.trailers["grpc-status"]) == (1, "3")


@pytest.mark.parametrize("method, content, status", [
    ("Square", b"", 12), ("Square", message(b"") * 2, 12), ("Count", b"", 12), ("Sum", message(b"")[:4], 3),
    ("Sum", b"\x01" + message(b"")[1:], 12), ("Sum", message(b"\x08" + b"\xff" * 9 + b"\x01"), 0), ("Cube", message(b""), 12),
])
def test_what_a_call_must_be(client, method, content, status):
    answer = client.response(call(client, method, content))
    assert (answer.trailers or answer.fields)["grpc-status"] == str(status)


def test_a_message_in_pieces(client):
    stream = client.open("/Numbers/Sum", *FIELDS, method="POST", ends=False)
    for octet in message(encoded(300)) + message(encoded(4)):
        client.data(stream, bytes([octet]))
    client.data(stream, ends=True)
    assert messages(client.response(stream).content) == [encoded(304)]


def test_what_is_no_call(client, server):
    assert client.get("/Numbers/Square", method="POST", content=b"").status == 415
    assert client.get("/Numbers/Square").status == 405
    assert server.alive()


def test_requests_wait_for_a_client_that_does_not_read(server):
    with Client(server, (INITIAL_WINDOW_SIZE, 0)) as client:
        stream = client.open("/Numbers/Sums", *FIELDS, method="POST", ends=False)
        credit, sent, one = WINDOW, 0, message(encoded(1))
        while credit >= len(one):
            count = credit // len(one)
            client.data(stream, one * count)
            sent, credit = sent + count, credit - count * len(one)
            assert sent * len(one) < QUEUE, "it takes all that comes"
            client.pings()
            updates = [f for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == stream]
            client.kept = [f for f in client.kept if f not in updates]
            credit += sum(f.number for f in updates)
        assert sent * len(one) > WINDOW and not any(f.kind == RST_STREAM for f in client.kept)
        client.credit(stream, 1 << 30)
        client.credit(0, 1 << 30)
        client.data(stream, ends=True)
        answer = client.response(stream, credits=False)
        assert [decoded(m) for m in messages(answer.content)] == list(range(1, sent + 1))
        assert answer.trailers == {"grpc-status": "0"}
