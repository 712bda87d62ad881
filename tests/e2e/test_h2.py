# SPDX-License-Identifier: MIT
"""HTTP/2, frame by frame: RFC 9113, and what the public interface means there."""

import contextlib
import os
import signal
import struct
import threading
import time

import pytest
import tls
from h2_client import Client, Reset
from h2_socket import (ACK, CANCEL, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM,
                       FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
                       INTERNAL_ERROR, MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE, NO_ERROR, NO_RFC7540_PRIORITIES, PADDED,
                       PING, PREFACE, PRIORITY, PRIORITY_UPDATE, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM, SETTINGS,
                       STREAM_CLOSED, WINDOW_UPDATE, WITH_PRIORITY, frame, header_frames, settings)
from clock import against_the_clock
from server import eventually, numbered, secure
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("it speaks HTTP/2 by itself")]

MOST = 0x7FFFFFFF


@pytest.fixture
def client(rules):
    with Client(rules) as made:
        yield made


@pytest.fixture(scope="module")
def secured():
    server = secure("rules")
    yield server
    server.stop()


# ---- SETTINGS ----


def test_what_the_server_announces(client):
    assert client.settings[MAX_CONCURRENT_STREAMS] == 100
    assert client.settings[NO_RFC7540_PRIORITIES] == 1
    assert client.settings[MAX_HEADER_LIST_SIZE] == 16384 + 32 * 100
    assert 65535 <= client.settings[INITIAL_WINDOW_SIZE] <= 1 << 20
    assert 8 not in client.settings  # extended CONNECT: nothing takes it
    assert 2 not in client.settings


def test_settings_are_acknowledged_in_order(rules):
    with Client(rules, answers=False) as client:
        client.until(lambda f: f.kind == SETTINGS and f.flags & ACK)
        client.send(settings((INITIAL_WINDOW_SIZE, 5)), settings(), frame(PING, payload=b"12345678"))
        kinds = [client.until(lambda f: f.kind in (SETTINGS, PING)).kind for _ in range(3)]
        assert kinds == [SETTINGS, SETTINGS, PING]


@pytest.mark.parametrize("octets, code", [
    (settings((2, 2)), PROTOCOL_ERROR),
    (settings((INITIAL_WINDOW_SIZE, MOST + 1)), FLOW_CONTROL_ERROR),
    (settings((5, 16383)), PROTOCOL_ERROR),
    (settings((5, 1 << 24)), PROTOCOL_ERROR),
    (settings((8, 2)), PROTOCOL_ERROR),
    (frame(SETTINGS, payload=b"12345"), FRAME_SIZE_ERROR),
    (frame(SETTINGS, ACK, 0, b"123456"), FRAME_SIZE_ERROR),
    (frame(SETTINGS, 0, 1), PROTOCOL_ERROR),
    (frame(PING, 0, 0, b"1234567"), FRAME_SIZE_ERROR),
    (frame(PING, 0, 1, b"12345678"), PROTOCOL_ERROR),
    (frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL_ERROR),
    (frame(WINDOW_UPDATE, 0, 0, bytes(3)), FRAME_SIZE_ERROR),
    (frame(WINDOW_UPDATE, 0, 0, bytes(4)), PROTOCOL_ERROR),
    (frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)), PROTOCOL_ERROR),
    (frame(RST_STREAM, 0, 1, bytes(4)), PROTOCOL_ERROR),
    (frame(RST_STREAM, 0, 0, bytes(4)), PROTOCOL_ERROR),
    (frame(RST_STREAM, 0, 1, bytes(3)), FRAME_SIZE_ERROR),
    (frame(DATA, 0, 0, b"a"), PROTOCOL_ERROR),
    (frame(DATA, 0, 1, b"a"), PROTOCOL_ERROR),
    (frame(HEADERS, END_HEADERS | END_STREAM, 0, b"\x82\x86\x84"), PROTOCOL_ERROR),
    (frame(HEADERS, END_HEADERS | END_STREAM, 2, b"\x82\x86\x84"), PROTOCOL_ERROR),
    (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\xff\xff"), COMPRESSION_ERROR),
    (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x80"), COMPRESSION_ERROR),
    (frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, b"\x05\x82\x86\x84"), PROTOCOL_ERROR),
    (frame(CONTINUATION, END_HEADERS, 1, b"\x82"), PROTOCOL_ERROR),
    (frame(HEADERS, 0, 1, b"\x82") + frame(PING, payload=bytes(8)), PROTOCOL_ERROR),
    (frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, END_HEADERS, 3, b"\x86\x84"), PROTOCOL_ERROR),
    (frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)), PROTOCOL_ERROR),
    (frame(PRIORITY, 0, 0, bytes(5)), PROTOCOL_ERROR),
    (frame(PRIORITY_UPDATE, 0, 1, bytes(4) + b"u=1"), PROTOCOL_ERROR),
    (frame(PRIORITY_UPDATE, 0, 0, bytes(4) + b"u=1"), PROTOCOL_ERROR),
    (frame(PRIORITY_UPDATE, 0, 0, bytes(3)), FRAME_SIZE_ERROR),
    (b"\0\x40\x01" + bytes(6), FRAME_SIZE_ERROR),
    (request("/"), FRAME_SIZE_ERROR),
])
def test_what_costs_the_connection(rules, octets, code):
    with Client(rules) as client:
        client.send(octets)
        assert client.failed_with() in ((code, PROTOCOL_ERROR) if octets.startswith(b"GET") else (code,))
    with Client(rules) as client:
        assert client.get().content == b"ok\n"


def test_frames_of_unknown_types_and_flags_are_ignored(client):
    client.send(frame(0x42, 0xFF, 0, b"x" * 5000), frame(0x17, 0, 1, b""), settings((0x4242, 7)))
    client.send(frame(PING, 0xF0, 0, b"12345678"))
    assert client.get().status == 200


def test_the_first_frame_is_settings(rules):
    with Client(rules, greet=False) as client:
        client.send(PREFACE, frame(PING, payload=bytes(8)))
        assert client.failed_with() == PROTOCOL_ERROR


# ---- The preface ----


@pytest.mark.parametrize("cut", range(1, len(PREFACE)))
def test_the_preface_in_two_pieces(rules, cut):
    with Client(rules, greet=False) as client:
        client.send(PREFACE[:cut])
        time.sleep(0.01)
        client.send(PREFACE[cut:] + settings())
        assert client.get().content == b"ok\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "P", "PR", "PRIX"])
def test_methods_that_begin_like_the_preface(echo, method):
    wire = request("/x", "Content-Length: 3", method=method, content=b"abc")
    for cut in range(1, 6):
        with Connection(echo.address, http2=False) as connection:
            connection.send(wire[:cut])
            time.sleep(0.01)
            connection.send(wire[cut:])
            assert connection.response().status == 200


def test_a_preface_that_is_not_gone_on_with_is_no_request(launch_rules):
    rules = launch_rules("head_timeout_ns=300000000")
    for octets in (b"P", b"PRI * HTTP/2.0\r\n", PREFACE[:-1], PREFACE):
        with Client(rules, greet=False) as client:
            client.send(octets)
            assert client.ended()


def test_octets_behind_half_a_preface(rules):
    with Client(rules, greet=False) as client:
        client.send(b"PRI * HTTP/2.0\r\n\r\nXX")
        assert client.failed_with() == PROTOCOL_ERROR


def test_http_1_where_alpn_said_h2(secured):
    with Client(secured, greet=False) as client:
        client.send(request("/"))
        assert client.failed_with() == PROTOCOL_ERROR


@pytest.mark.parametrize("alpn", ["http/1.1", None])
def test_the_preface_where_alpn_said_http_1(secured, alpn):
    context = tls.context()
    if alpn:
        context.set_alpn_protocols([alpn])
    with Connection(secured.address, tls={"tls": context}, http2=False) as connection:
        connection.send(PREFACE + settings())
        assert connection.response().status == 505


def test_over_tls(secured):
    with Client(secured) as client:
        assert client.socket.ssl.selected_alpn_protocol() == "h2"
        got = client.get("/echo/a", scheme="https").content
        assert b"version=20\n" in got


# *.many.test and localhost are the names of the certificate.
@pytest.mark.parametrize("name, host, status", [
    ("localhost", "localhost", 200), ("localhost", "a.many.test", 200), ("a.many.test", "b.many.test", 200),
    ("a.many.test", "b.many.test:1", 200), ("localhost", "a.b.many.test", 421), ("localhost", "other.test", 421),
    (None, "other.test", 200), ("other.test", "other.test", 200),
])
def test_names_that_a_connection_may_be_used_for(secured, name, host, status):
    """RFC 9113 section 9.1.1: clients use a connection for each name that its certificate has."""
    with Client(secured, server_name=name) as client:
        asked = client.open("/echo/a", authority=host, scheme="https")
        usual = client.open("/echo/a", authority=name or host, scheme="https")
        assert client.response(asked).status == status
        assert client.response(usual).status == 200  # the other stream's 421 is its own


@pytest.mark.parametrize("more", [[], ["HTTP2-Settings: AAMAAABkAAQAAP__"]])
def test_upgrade_to_h2c_is_ignored(rules, more):
    """RFC 9113 section 3.1 has withdrawn it: the request is one of HTTP/1.1, and so is the next."""
    connection = "Connection: Upgrade" + (", HTTP2-Settings" if more else "")
    with Connection(rules.address, http2=False) as client:
        for _ in range(2):
            response = client.get("/echo/a", connection, "Upgrade: h2c", *more)
            assert response.status == 200 and b"version=11\n" in response.content
            assert response.get("upgrade") is None


# ---- Requests that are malformed, section 8.1.1 ----

GOOD = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "localhost")]


def without(name):
    return [f for f in GOOD if f[0] != name]


MALFORMED = [
    ("no method", without(":method")),
    ("no scheme", without(":scheme")),
    ("no path", without(":path")),
    ("an empty path", [*without(":path"), (":path", "")]),
    ("the method twice", [*GOOD, (":method", "GET")]),
    ("the path twice", [*GOOD, (":path", "/")]),
    ("the authority twice", [*GOOD, (":authority", "localhost")]),
    ("a pseudo-field of responses", [*GOOD, (":status", "200")]),
    ("an unknown pseudo-field", [*GOOD, (":unknown", "x")]),
    (":protocol, which was not announced", [*GOOD, (":protocol", "websocket")]),
    ("a pseudo-field behind fields", [*without(":path"), ("a", "b"), (":path", "/")]),
    ("upper case", [*GOOD, ("Name", "x")]),
    ("a name of no octets", [*GOOD, ("", "x")]),
    ("a name with a space", [*GOOD, ("a b", "x")]),
    ("a name with a colon", [*GOOD, ("a:b", "x")]),
    ("a name over 127", [*GOOD, (b"\xc3\xa4", b"x")]),
    ("CR in a value", [*GOOD, ("a", "x\ry")]),
    ("LF in a value", [*GOOD, ("a", "x\ny")]),
    ("NUL in a value", [*GOOD, ("a", "x\0y")]),
    ("white space before a value", [*GOOD, ("a", " x")]),
    ("white space behind a value", [*GOOD, ("a", "x\t")]),
    ("connection", [*GOOD, ("connection", "close")]),
    ("keep-alive", [*GOOD, ("keep-alive", "timeout=5")]),
    ("proxy-connection", [*GOOD, ("proxy-connection", "keep-alive")]),
    ("transfer-encoding", [*GOOD, ("transfer-encoding", "chunked")]),
    ("upgrade", [*GOOD, ("upgrade", "h2c")]),
    ("te that is not trailers", [*GOOD, ("te", "gzip")]),
    ("te with more than trailers", [*GOOD, ("te", "trailers, gzip")]),
    ("another host than the authority", [*GOOD, ("host", "other")]),
    ("two hosts", [*without(":authority"), ("host", "localhost"), ("host", "localhost")]),
    ("content-length without content", [*GOOD, ("content-length", "1")]),
    ("content-length that is no number", [*GOOD, ("content-length", "x")]),
    ("content-length twice", [*GOOD, ("content-length", "0"), ("content-length", "0")]),
    ("CONNECT with a path", [(":method", "CONNECT"), (":authority", "a:1"), (":path", "/")]),
    ("CONNECT with a scheme", [(":method", "CONNECT"), (":authority", "a:1"), (":scheme", "http")]),
    ("CONNECT to nobody", [(":method", "CONNECT")]),
]


@pytest.mark.parametrize("fields", [f for _, f in MALFORMED], ids=[n for n, _ in MALFORMED])
def test_malformed(client, fields):
    """The stream is reset, another goes on, and the table of the compression too."""
    other = client.open("/collect", ("x-kept", "a" * 50), method="POST", ends=False)
    bad = client.open(raw=fields)
    assert client.reset_code(bad) == PROTOCOL_ERROR
    client.data(other, b"abc", ends=True)
    assert client.response(other).content == b"abc"
    assert client.get("/", ("x-kept", "a" * 50)).status == 200


@pytest.mark.parametrize("length, parts", [(3, [b"ab"]), (3, [b"abcd"]), (3, [b"ab", b"cd"]), (0, [b"a"]), (3, [b""])])
def test_content_that_is_not_as_long_as_stated(client, length, parts):
    stream = client.open("/count", ("content-length", str(length)), method="POST", ends=False)
    for i, part in enumerate(parts):
        client.data(stream, part, ends=i + 1 == len(parts))
    assert client.reset_code(stream) == PROTOCOL_ERROR
    assert client.get().status == 200


@pytest.mark.parametrize("fields", [
    [(":path", "/")], [("Upper", "x")], [("a b", "c")], [("a", "b\r")], [("connection", "close")],
    [("transfer-encoding", "chunked")],
])
def test_malformed_trailers(client, fields):
    stream = client.open("/collect", method="POST", ends=False)
    client.data(stream, b"abc")
    client.send(header_frames(stream, client.encoder.encode(fields), END_STREAM))
    assert client.reset_code(stream) == PROTOCOL_ERROR
    assert client.get().status == 200


def test_trailers_that_do_not_end_the_stream(client):
    stream = client.open("/collect", method="POST", ends=False)
    client.data(stream, b"abc")
    client.send(header_frames(stream, client.encoder.encode([("x-sum", "1")]), 0))
    assert client.reset_code(stream) == PROTOCOL_ERROR
    assert client.get().status == 200


@pytest.mark.parametrize("fields, status", [
    ([*without(":path"), (":path", "/a%00")], 400),
    ([*without(":path"), (":path", "*")], 400),
    ([*without(":path"), (":path", "/" + "a" * 8192)], 414),
    ([*without(":path"), (":path", "a")], 400),
    ([*without(":authority")], 400),
    ([*without(":authority"), (":authority", "u@localhost")], 400),
    ([*without(":method"), (":method", "UPDATEREDIRECTREFS")], 501),
    ([*GOOD, ("expect", "200-ok")], 417),
    ([*GOOD, *[(f"a{i}", "b") for i in range(101)]], 431),
])
def test_well_formed_and_refused(client, fields, status):
    assert client.response(client.open(raw=fields)).status == status
    assert client.get().status == 200


def test_what_is_allowed(client):
    assert client.get("/", ("te", "trailers")).status == 200
    assert client.get("/", ("host", "localhost")).status == 200
    assert client.response(client.open(raw=[*without(":authority"), ("host", "localhost")])).status == 200
    asterisk = [(":method", "OPTIONS"), (":scheme", "http"), (":path", "*"), (":authority", "a")]
    assert client.response(client.open(raw=asterisk)).status < 300


def test_cookie_lines_are_joined(client):
    got = client.get("/echo/x", ("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3"))
    assert got.status == 200
    assert client.get("/cookie/b", ("cookie", "a=1"), ("cookie", "b=2")).content == b"2"


def test_cookie_lines_count_as_one_field(client):
    crumbs = [("cookie", f"c{i}={i}") for i in range(150)]
    assert client.get("/cookie/c149", *crumbs).content == b"149"


# ---- The list's limits ----


def test_the_list_of_fields_at_its_limit(client):
    most = client.settings[MAX_HEADER_LIST_SIZE]
    used = sum(len(n) + len(v) + 32 for n, v in GOOD)
    room = most - used - 32 - 1
    # A head of HTTP/1 ends sooner than that, unless there are many fields.
    fields = [(f"x{i:02}", "v" * (room // 96)) for i in range(80)]
    assert client.get("/", *fields).status == 200
    assert client.get("/", ("a", "v" * (room + 1))).status == 431
    assert client.get("/", ("a", "v" * most)).status == 431
    assert client.get("/").status == 200


def test_twice_the_list_of_fields_ends_the_connection(client):
    most = client.settings[MAX_HEADER_LIST_SIZE]
    block = client.encoder.encode([*GOOD, ("a", "v" * (2 * most))], huffman=False)
    client.send(header_frames(client.next(), block, END_STREAM))
    assert client.failed_with() == ENHANCE_YOUR_CALM


def test_decoding_goes_on_when_a_list_is_refused(client):
    client.get("/", ("x-before", "1"))
    most = client.settings[MAX_HEADER_LIST_SIZE]
    assert client.get("/", ("a", "v" * most), ("x-behind", "2")).status == 431
    assert client.get("/cookie/b", ("cookie", "b=3"), ("x-behind", "2"), ("x-before", "1")).content == b"3"


# ---- Padding, CONTINUATION, priority in HEADERS ----


def test_padding(client):
    block = client.block_of("/collect", method="POST")
    stream = client.next()
    client.send(frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, stream, b"\x09" + bytes(4) + b"\x10" + block + bytes(9)))
    client.send(frame(DATA, PADDED, stream, b"\xffabc" + bytes(255)), frame(DATA, PADDED, stream, b"\x00"))
    client.send(frame(DATA, PADDED | END_STREAM, stream, b"\x02d" + bytes(2)))
    assert client.response(stream).content == b"abcd"


@pytest.mark.parametrize("payload", [b"\x01", b"\x03ab", b"\xff" + bytes(254)])
def test_more_padding_than_payload(client, payload):
    stream = client.open("/collect", method="POST", ends=False)
    client.send(frame(DATA, PADDED, stream, payload))
    assert client.failed_with() == PROTOCOL_ERROR


def test_padding_is_credited(client):
    """It counts against the window, and the handler never sees it."""
    window = client.settings[INITIAL_WINDOW_SIZE]
    stream = client.open("/count", method="POST", ends=False)
    sent, credit = 0, window
    for _ in range(5 * window // 257):
        if credit < 257:
            credit += client.of(stream, WINDOW_UPDATE).number
        client.send(frame(DATA, PADDED, stream, b"\xffa" + bytes(255)))
        credit -= 257
        sent += 1
        while found := next((f for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == stream), None):
            client.kept.remove(found)
            credit += found.number
    client.data(stream, ends=True)
    assert client.response(stream).content == b"%d\n" % sent


def test_a_head_in_many_frames(client):
    block = client.block_of("/cookie/b", ("cookie", "b=" + "3" * 3000))
    stream = client.next()
    size = len(block) // 8 + 1
    parts = [block[i : i + size] for i in range(0, len(block), size)]
    client.send(frame(HEADERS, END_STREAM, stream, parts[0]))
    for i, part in enumerate(parts[1:]):
        time.sleep(0.01)
        client.send(frame(CONTINUATION, END_HEADERS if i + 2 == len(parts) else 0, stream, part))
    assert client.response(stream).content == b"3" * 3000


def test_every_frame_cut_at_every_octet(rules):
    with Client(rules) as client:
        block = client.block_of("/collect", method="POST")
        once = frame(HEADERS, END_HEADERS, 1, block) + frame(DATA, PADDED, 1, b"\x01abcd\0") + frame(DATA, END_STREAM, 1, b"e")
    for cut in range(1, len(once)):
        with Client(rules) as client:
            client.send(once[:cut])
            time.sleep(0.002)
            client.send(once[cut:])
            assert client.response(1).content == b"abcde"


# ---- Files ----


@pytest.mark.parametrize("make", [numbered, secure], ids=["h2c", "h2"])
@pytest.mark.parametrize("size", [65535 + 1000, 10_000_000], ids=["last frame", "frame in between"])
def test_a_file_that_shrinks_ends_its_stream_alone(launch, tmp_path, make, size):
    with open(tmp_path / "file", "wb") as file:
        file.truncate(size)
    server = launch(make, "rules", "--files", tmp_path)
    with Client(server) as client:
        stream = client.open("/files/file")
        assert dict(client.of(stream, HEADERS).fields)["content-length"] == str(size)
        received = 0
        while received < 65535:
            received += len(client.of(stream, DATA).payload)
        os.truncate(tmp_path / "file", 1000)
        client.credit(stream, size)
        client.credit(0, size)
        while (found := client.of(stream, DATA, RST_STREAM)).kind == DATA:
            assert not found.ends
        assert found.number == INTERNAL_ERROR
        assert client.get("/files/file").content == bytes(1000)


# ---- Streams ----


def test_a_stream_may_not_be_opened_twice(client):
    client.get()
    client.send(header_frames(1, client.block_of(), END_STREAM))
    assert client.failed_with() == STREAM_CLOSED


def test_a_lower_stream_may_not_be_opened(client):
    client.last = 3
    client.get()
    client.send(header_frames(3, client.block_of(), END_STREAM))
    assert client.failed_with() in (PROTOCOL_ERROR, STREAM_CLOSED)


@pytest.mark.parametrize("number", [2, 4])
def test_headers_on_an_even_number_below_the_last(client, number):
    client.cancel(client.open("/hold?1"))
    stream = client.open("/", ("connection", "close"))  # the neighbour of 2 among the numbers that are remembered
    assert stream == 3 and client.reset_code(stream) == PROTOCOL_ERROR
    assert client.get().status == 200
    client.send(header_frames(number, client.block_of(), END_STREAM))
    assert client.failed_with() == PROTOCOL_ERROR


def test_content_behind_the_end(client):
    stream = client.open("/silent")
    client.data(stream, b"x")
    assert client.reset_code(stream) == STREAM_CLOSED
    assert client.get().status == 200


def test_a_stream_that_depends_on_itself(client):
    stream = client.next()
    client.send(frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, stream,
                      struct.pack(">IB", stream, 1) + client.block_of("/silent")))
    assert client.reset_code(stream) == PROTOCOL_ERROR
    other = client.open("/silent")
    client.send(frame(PRIORITY, 0, other, struct.pack(">IB", other, 1)))
    assert client.reset_code(other) == PROTOCOL_ERROR
    assert client.get().status == 200


def test_the_old_trees_are_ignored(client):
    client.send(frame(PRIORITY, 0, 101, struct.pack(">IB", 3, 200)), frame(PRIORITY, 0, 3, struct.pack(">IB", 0x80000000, 0)))
    assert client.get().status == 200


def test_many_at_once_are_answered_in_any_order(client):
    client.credit(0, 1 << 24)
    streams = [client.open(f"/pull/{i * 100}" if i % 2 else "/") for i in range(100)]
    assert all(client.response(s).status == 200 for s in reversed(streams))


def test_one_more_than_may_be_open_is_refused(client):
    streams = [client.open("/silent") for _ in range(100)]
    more = client.open("/")
    assert client.reset_code(more) == 7  # REFUSED_STREAM
    client.cancel(streams[0])
    assert client.get().status == 200


# ---- Content ----


def test_an_upload_and_trailers(client):
    stream = client.open("/collect", ("content-length", "6"), method="POST", ends=False)
    client.data(stream, b"abc")
    client.data(stream, b"def")
    client.send(header_frames(stream, client.encoder.encode([("x-sum", "77"), ("x-b", "")]), END_STREAM))
    answer = client.response(stream)
    assert (answer.content, answer.fields["x-trailer"]) == (b"abcdef", "77")
    assert "x-merged" not in answer.fields


def test_trailers_of_responses(client):
    answer = client.get("/chunked/100000")
    assert answer.content == b"x" * 100_000 and answer.trailers == {"x-sum": "abc"}
    assert "trailer" not in answer.fields or answer.fields["trailer"]


def test_expect_continue(client):
    stream = client.open("/collect", ("expect", "100-continue"), ("content-length", "3"), method="POST", ends=False)
    assert dict(client.of(stream, HEADERS).fields)[":status"] == "100"
    client.data(stream, b"abc", ends=True)
    assert client.response(stream).content == b"abc"


def test_a_response_before_the_requests_end(client):
    """END_STREAM, then RST_STREAM(NO_ERROR), and the stream's content is dropped."""
    stream = client.open("/ignore", method="POST", ends=False)
    found = client.of(stream, HEADERS)
    while not found.ends:
        found = client.of(stream)
    assert client.reset_code(stream) == NO_ERROR
    client.data(stream, b"x" * 1000)
    client.data(stream, ends=True)
    assert client.get().status == 200


def test_head_has_no_content(client):
    stream = client.open("/pull/1000", method="HEAD")
    found = client.of(stream, HEADERS)
    assert found.ends and dict(found.fields)["content-length"] == "1000"


def test_no_connection_fields_in_responses(client):
    for path in ("/", "/nothing", "/error/503", "/status/204", "/chunked/5"):
        fields = client.get(path).fields
        assert not {"connection", "keep-alive", "transfer-encoding", "upgrade"} & set(fields), fields
        assert all(name == name.lower() for name in fields) and "date" in fields


# ---- Ends ----


def test_abort_is_a_reset_alone(client):
    other = client.open("/collect", method="POST", ends=False)
    stream = client.open("/aborted/1000")
    with pytest.raises(Reset) as reset:
        client.response(stream)
    assert reset.value.args[0] in (INTERNAL_ERROR, CANCEL)
    client.data(other, b"abc", ends=True)
    assert client.response(other).content == b"abc"


@pytest.mark.parametrize("path", ["/short/1000", "/fails/100"])
def test_a_source_that_fails_is_a_reset(client, path):
    with pytest.raises(Reset) as reset:
        client.response(client.open(path))
    assert reset.value.args[0] == INTERNAL_ERROR
    assert client.get().status == 200


def test_a_reset_is_told_to_handlers(launch_rules):
    rules = launch_rules()
    with Client(rules) as client:
        stream = client.open("/watched-silent")
        client.pings()
        client.cancel(stream)
        client.pings()
        assert b"closed=1" in client.get("/ends").content
        client.credit(0, 1 << 20)
        half = client.open("/watched/1000000")
        client.of(half, DATA)
        client.cancel(half)
        client.pings()
        assert b"closed=2" in client.get("/ends").content
        assert client.get("/watched/10").content == b"x" * 10
        assert b"sent=1 closed=2" in client.get("/ends").content


def test_end_stream_is_not_leaving(launch_rules):
    rules = launch_rules()
    with Client(rules) as client:
        client.open("/watched-silent")
        client.pings()
        time.sleep(0.1)
        assert b"closed=0" in client.get("/ends").content


def test_a_fin_is_leaving(launch_rules):
    rules = launch_rules()
    client = Client(rules)
    for _ in range(3):
        client.open("/watched-silent")
    client.pings()
    client.raw.shutdown(1)
    assert eventually(lambda: b"closed=3" in rules.get("/ends").content)
    client.close()


def test_drain(launch_rules):
    """The client is warned, streams that are open finish, one that is opened before it can know is served."""
    rules = launch_rules()
    client = Client(rules)
    upload = client.open("/collect", method="POST", ends=False)
    client.pings()
    rules.signal()
    last, code, _ = client.goaway()
    assert (last, code) == (MOST, NO_ERROR)
    late = client.open("/")
    client.data(upload, b"abc", ends=True)
    assert client.response(upload).content == b"abc"
    assert client.response(late).status == 200
    last, code, _ = client.goaway()
    assert last in (upload, late) and code == NO_ERROR
    assert client.ended()
    rules.judge_end()


@pytest.mark.parametrize("waits", ["/later/300", "/block/sleep/300"], ids=["ticket", "blocking route"])
@against_the_clock
def test_requests_of_other_threads_finish_behind_goaway(waits):
    """Those at or below its number are answered; one above it is not taken."""
    server = numbered("threads", "grace_ns=20000000000")
    try:
        with Client(server) as client:
            stream = client.open(waits)
            client.pings()
            server.signal()
            assert [client.goaway()[:2] for _ in range(2)] == [(MOST, NO_ERROR), (stream, NO_ERROR)]
            with contextlib.suppress(OSError):
                client.open("/")
            assert client.response(stream).status == 200
            assert client.ended()
    finally:
        server.judge_end()


def test_drain_under_load(launch_rules):
    """No request fails of a client that heeds GOAWAY: each is answered, or it is known that it was not taken."""
    rules = launch_rules()
    faults, answered = [], [[] for _ in range(4)]

    def work(mine):
        try:
            with Client(rules) as client:
                client.credit(0, 1 << 30)
                until_drained(client, mine)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in answered]
    for thread in threads:
        thread.start()
    assert eventually(lambda: faults or min(map(len, answered)) > 50)
    rules.signal()
    for thread in threads:
        thread.join()
    assert not faults
    rules.judge_end()


def until_drained(client, answered):
    """Ten requests at a time, until it is said that no more are taken. answered: gets those that are."""
    last = MOST
    while last == MOST:
        opened = []
        with contextlib.suppress(ConnectionError):  # the server has ended meanwhile, and has said behind which stream
            opened.extend(client.open(f"/pull/{i * 1000}") for i in range(10))
        for stream in opened if len(opened) == 10 else [*opened, client.last]:
            while stream <= last:
                found = client.until(lambda f: f.kind == GOAWAY or (f.stream == stream and f.ends))
                if found.ends:
                    answered.append(stream)
                    break
                last = struct.unpack(">I", found.payload[:4])[0]
        client.kept.clear()


def test_a_drain_lets_everyone_finish(launch_rules):
    """Connections that are there are told, and those that come are served before they are."""
    rules = launch_rules()
    with Client(rules) as idle, Client(rules) as busy:
        assert idle.get().status == 200
        upload = busy.open("/collect", method="POST", ends=False)
        busy.pings()
        rules.signal(signal.SIGUSR1)
        assert [idle.goaway()[:2] for _ in range(2)] == [(MOST, NO_ERROR), (idle.last, NO_ERROR)] and idle.ended()
        assert [busy.goaway()[:2] for _ in range(2)] == [(MOST, NO_ERROR), (upload, NO_ERROR)]
        with Client(rules) as late:
            late.pings()
            assert late.get().status == 200
            assert [late.goaway()[:2] for _ in range(2)] == [(MOST, NO_ERROR), (late.last, NO_ERROR)]
            assert late.ended()
        busy.data(upload, b"abc", ends=True)
        assert busy.response(upload).content == b"abc" and busy.ended()
    rules.signal()
    rules.judge_end()


def test_close_ends_the_connection_behind_the_others(client):
    """GOAWAY is for the streams that come: those that are open finish."""
    client.credit(0, 1 << 20)
    upload, slow = client.open("/collect", method="POST", ends=False), client.open("/pull/300000")
    assert client.get("/closing/1000").content == b"x" * 1000
    last, code, _ = client.goaway()
    assert (last, code) == (client.last, NO_ERROR)
    client.open("/")  # is not taken
    client.data(upload, b"abc", ends=True)
    assert client.response(upload).content == b"abc"
    assert len(client.response(slow).content) == 300_000
    assert client.ended()


@pytest.mark.parametrize("content", [b"", b"abc", b"a" * 60_000])
@pytest.mark.parametrize("stated", [False, True])
def test_content_that_has_come_before_a_handler_reads_it(rules, content, stated):
    with Client(rules) as client:
        length = [("content-length", str(len(content)))] if stated else []
        stream = client.open("/collect-later", *length, method="POST", ends=False)
        client.data(stream, content, ends=True)
        assert client.get("/collect-now").status == 200
        assert client.response(stream).content == content
