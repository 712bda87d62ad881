# SPDX-License-Identifier: MIT
"""Lines of the access log about answers that were cut, and requests that could not be served."""

import json
import re
import resource

import pytest
import tls
from h2_client import Client
from h2_socket import PROTOCOL_ERROR
from server import eventually
from wire import request

BIG = 40_000_000
VERSION = r"2\.0" if tls.HTTP2 else r"1\.1"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "index.html").write_text("<p>here</p>")
    (tmp_path / "big").write_bytes(b"a" * BIG)
    return tmp_path


def lines_of(site, count=1):
    """The lines of the access log, once there are so many."""
    assert eventually(lambda: len(site.lines()) >= count), site.out_text() + site.error_text()
    return site.lines()


def cut(site, octets):
    """A download of which a client takes so many octets, and then resets."""
    with site.connect(receive_buffer=4096) as connection:
        connection.send(request("/big"))
        assert connection.head().status == 200
        connection.exactly(octets)
        connection.reset()


# ---- Octets ----


@pytest.mark.parametrize("octets", [3000, 3_000_000])
def test_a_cut_download_is_logged_by_what_left(serve, folder, octets):
    site = serve(folder, "--log", "json")
    cut(site, octets)
    line = json.loads(lines_of(site)[0])
    assert line["status"] == 200 and line["end"] == "closed"
    assert octets <= line["size"] < BIG, "what the kernel took, and not what was promised"


def test_the_common_log_shows_a_cut(serve, folder):
    site = serve(folder, "--log", "common")
    cut(site, 3000)
    site.get("/")
    first, second = sorted(lines_of(site, 2), key=lambda line: "GET / " in line)  # by two connections
    found = re.search(rf'"GET /big HTTP/{VERSION}" 200 (\d+) closed$', first)
    assert found and 3000 <= int(found.group(1)) < BIG, first
    assert re.search(rf'"GET / HTTP/{VERSION}" 200 11$', second), second


def test_an_answer_before_the_one_that_is_cut_is_whole(serve, folder):
    site = serve(folder, "--log", "json")
    with site.connect(receive_buffer=4096) as connection:
        connection.send(request("/") + request("/big"))
        assert connection.response().content == b"<p>here</p>"
        assert connection.head().status == 200
        connection.exactly(3000)
        connection.reset()
    whole, part = (json.loads(line) for line in lines_of(site, 2))
    assert whole["size"] == 11 and "end" not in whole
    assert 3000 <= part["size"] < BIG and part["end"] == "closed"


# ---- Faults ----

HOST = b"Host: localhost\r\n\r\n"
TLS = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
SAID_OTHERWISE = pytest.mark.of_http1("HTTP/2 has no words for it, or resets the stream")
FAULTS_OF_HTTP1 = [
    (b"GET /a b HTTP/1.1\r\n" + HOST, 400, "GET", r"/a b HTTP/1.1", "malformed version"),
    (b"GET /a\x01b HTTP/1.1\r\n" + HOST, 400, "GET", "/a\x01b HTTP/1.1", "malformed target"),
    (b"GE(T /a HTTP/1.1\r\n" + HOST, 400, "", "GE(T /a HTTP/1.1", "malformed method"),
    (b"GET /a HTTP/2.0\r\n" + HOST, 505, "GET", "/a HTTP/2.0", "major version not 1"),
    (b"GET /a HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, "GET", "/a", "white space before a colon"),
    (TLS, 400, "", TLS.decode("latin-1"), "a TLS handshake, which is not spoken here"),
]
FAULTS = [
    (b"GET /a%zz HTTP/1.1\r\n" + HOST, 400, "GET", "/a%25zz", None),
    (b"GET /a HTTP/1.1\r\n\r\n", 400, "GET", "/a", "Host missing"),
    (b"GET /a HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "GET", "/a", None),
]


@pytest.mark.parametrize("octets, status, method, target, reason", [
    *(pytest.param(*fault, marks=SAID_OTHERWISE, id=fault[4]) for fault in FAULTS_OF_HTTP1),
    *(pytest.param(*fault, id=fault[4] or str(fault[1])) for fault in FAULTS),
])
def test_a_fault_is_logged_with_its_reason_and_what_was_asked(serve, folder, octets, status, method, target, reason):
    site = serve(folder, "--log", "json")
    with site.connect() as connection:
        connection.send(octets)
        assert connection.response().status == status
    line = json.loads(lines_of(site)[0])
    shown = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found.group(1), 16)), line["request"]["uri"])
    assert (line["status"], line["request"]["method"], shown) == (status, method, target)
    assert line["reason"] == reason if reason else line["reason"]


ASKED = [(":method", "GET"), (":scheme", "http"), (":path", "/a"), (":authority", "localhost")]
STREAM_FAULTS = [
    (ASKED[1:], "", "/a", "a pseudo-field is missing"),
    (ASKED[:2] + ASKED[3:], "GET", "", "a pseudo-field is missing"),
    ([("x", "y"), *ASKED], "", "", "a pseudo-field behind others"),
    ([("X", "y"), *ASKED], "", "", "malformed field name"),
    ([*ASKED, ("X", "y")], "GET", "/a", "malformed field name"),
    ([*ASKED, ("connection", "close")], "GET", "/a", "a field of HTTP/1's connections"),
    ([*ASKED, ("content-length", "5")], "GET", "/a", "less content than Content-Length says"),
]


@pytest.mark.in_the_clear("it says for itself how servers are spoken to")
@pytest.mark.of_http1("it speaks HTTP/2 by itself")
def test_each_fault_of_a_stream_is_logged(serve, folder):
    site = serve(folder, "--log", "json")
    with Client(site) as client:
        for fields, *_ in STREAM_FAULTS:
            assert client.reset_code(client.open(raw=fields)) == PROTOCOL_ERROR
    lines = [json.loads(line) for line in lines_of(site, len(STREAM_FAULTS))]
    assert [(line["request"]["method"], line["request"]["uri"], line["reason"]) for line in lines] == [fault[1:] for fault in STREAM_FAULTS]
    assert all(line["status"] == 0 and line["end"] == "error" and line["request"]["proto"] == "HTTP/2.0" for line in lines)
    assert [line["stream"] for line in lines] == [2 * i + 1 for i in range(len(lines))]


# ---- Files that the log goes to ----


def ask(site, count):
    """So many requests in one go, answered all."""
    with site.connect() as connection:
        connection.send(request("/") * count)
        for _ in range(count):
            assert connection.response().status == 200


def test_a_file_gets_every_line(serve, folder):
    site = serve(folder, "--log", "json")
    for _ in range(10):
        ask(site, 1000)
    lines = lines_of(site, 10_000)
    assert len(lines) == 10_000 and all(json.loads(line)["status"] == 200 for line in lines)


def test_a_full_disk_gets_its_lines_later(serve, folder):
    """A limit on the size of files stands for the disk."""
    site = serve(folder, "--log", "json")
    unlimited = resource.prlimit(site.pid, resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    ask(site, 1000)
    assert eventually(lambda: "the access log cannot be written" in site.error_text())
    ask(site, 1000)
    assert len(site.out_text()) == 10_000
    resource.prlimit(site.pid, resource.RLIMIT_FSIZE, unlimited)
    assert len(lines_of(site, 2000)) == 2000
    assert "lost" not in site.error_text()


# ---- Behind a proxy ----

FORWARDED = [
    ("forwarded", "Forwarded", "for=192.0.2.1, for=127.0.0.2", "192.0.2.1"),
    ("forwarded", "X-Forwarded-For", "192.0.2.1", None),
    ("forwarded", "Forwarded", 'for="_hidden:_1"', "_hidden"),
    ("x-forwarded", "X-Forwarded-For", "198.51.100.1, 2001:db8::1, 127.0.0.2", "2001:db8::1"),
    ("x-forwarded", "Forwarded", "for=192.0.2.1", None),
]


@pytest.mark.parametrize("source,field,value,client", FORWARDED)
def test_the_log_shows_whom_a_proxy_serves(serve, folder, source, field, value, client):
    site = serve(folder, "--log", "json", "--trusted", "127.0.0.0/8", "--forwarded", source)
    assert site.get("/", f"{field}: {value}").status == 200
    assert json.loads(lines_of(site)[0])["request"]["client_ip"] == (client or "127.0.0.1")


def test_a_proxy_that_is_not_trusted_names_nobody(serve, folder):
    site = serve(folder, "--log", "json", "--trusted", "10.0.0.0/8 unix", "--forwarded", "forwarded")
    assert site.get("/", "Forwarded: for=192.0.2.1").status == 200
    assert json.loads(lines_of(site)[0])["request"]["client_ip"] == "127.0.0.1"


# ---- Names of requests ----

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("field, name", [
    (f"traceparent: 00-{TRACE}-b7ad6b7169203331-01", TRACE),
    ("X-Request-Id: from.a-proxy", "from.a-proxy"),
    ("X-Request-Id: not \"safe\"", None),
    ("X-Other: 1", None),
])
def test_the_name_of_a_request_is_in_its_line(serve, folder, field, name):
    site = serve(folder, "--log", "json", "--trusted", "127.0.0.0/8", "--forwarded", "x-forwarded")
    assert site.get("/", field).status == 200
    assert json.loads(lines_of(site)[0]).get("request_id") == name


@pytest.mark.parametrize("value, is_valid", [
    (f"00-{TRACE}-b7ad6b7169203331-01", True), (f"00-{TRACE}-b7ad6b7169203331-00", True), (f"cc-{TRACE}-b7ad6b7169203331-01-more", True),
    (f"00-{TRACE}-b7ad6b7169203331-01-more", False), (f"ff-{TRACE}-b7ad6b7169203331-01", False), (f"00-{TRACE.upper()}-b7ad6b7169203331-01", False),
    (f"00-{'0' * 32}-b7ad6b7169203331-01", False), (f"00-{TRACE}-{'0' * 16}-01", False), (f"00-{TRACE}-b7ad6b7169203331", False),
    (f"00-{TRACE}-b7ad6b7169203331-01\r\ntraceparent: 00-{TRACE}-b7ad6b7169203331-01", False), ("\"quoted\"", False),
])
def test_a_trace_is_logged(serve, folder, value, is_valid):
    """By members of its own, whoever sends it, so that a line is found by its trace; it names nobody's request."""
    site = serve(folder, "--log", "json")
    lines = [f"traceparent: {one.removeprefix('traceparent: ')}" for one in value.split("\r\n")]
    assert site.get("/", *lines).status == 200
    line = json.loads(lines_of(site)[0])
    assert (line.get("traceID"), line.get("parentID")) == ((TRACE, "b7ad6b7169203331") if is_valid else (None, None))
    assert "request_id" not in line


def test_the_name_that_a_stranger_gives_is_none(serve, folder):
    site = serve(folder, "--log", "json")
    assert site.get("/", "X-Request-Id: from-a-stranger").status == 200
    assert "request_id" not in json.loads(lines_of(site)[0])
