# SPDX-License-Identifier: MIT
"""Answering in other ways than at once: shorthands, interim responses, streams, events, tunnels."""

import shutil
import subprocess
import threading
import time
import urllib.parse

import pytest
from events import Event, EventReader
from server import eventually, numbered
from tls import HTTP2, browser_words
from wire import chunk, request


@pytest.fixture(scope="module")
def streams():
    server = numbered("streams")
    yield server
    server.stop()


def query(path, /, **params):
    return path + "?" + urllib.parse.urlencode(params)


# ---- Shorthands ----


@pytest.mark.parametrize("path, status, media, content", [
    ("/text", 200, "text/plain; charset=utf-8", "grüß dich\n".encode()),
    ("/html", 201, "text/html; charset=utf-8", b"<!doctype html><title>t</title>"),
    ("/json", 200, "application/json", b'{"a":1}'),
])
def test_shorthands(streams, path, status, media, content):
    response = streams.get(path)
    assert (response.status, response.get("content-type"), response.content) == (status, media, content)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect(streams, status):
    response = streams.get(query("/redirect", status=status, to="/a/b?c=d#e"))
    assert (response.status, response.get("location")) == (status, "/a/b?c=d#e")
    assert response.get("content-length") == "0"


@pytest.mark.parametrize("to, location", [
    ("https://example.com/x", "https://example.com/x"),
    ("relative", "relative"),
    ("/a b", "/a%20b"),
    ("/a%20b", "/a%20b"),
    ("/100%", "/100%25"),
    ("/%zz", "/%25zz"),
    ("/ü", "/%C3%BC"),
    ("/a\r\nSet-Cookie: b=1", "/a%0D%0ASet-Cookie:%20b=1"),
    ("/\\example.com", "/%5Cexample.com"),
    ("/<\"`{|}^>", "/%3C%22%60%7B%7C%7D%5E%3E"),
    ("http://[::1]:80/", "http://[::1]:80/"),
    ("http://[::1]:80/[1]?x[]=2", "http://[::1]:80/%5B1%5D?x%5B%5D=2"),
    ("/a[1]|b?x=100%&y=%C3%A9", "/a%5B1%5D%7Cb?x=100%25&y=%C3%A9"),
])
def test_redirect_escapes(streams, to, location):
    response = streams.get(query("/redirect", to=to))
    assert (response.status, response.get("location")) == (302, location)
    assert response.get("set-cookie") is None


@pytest.mark.parametrize("params", [
    {"to": ""}, {"to": "//example.com/"}, {"status": 200, "to": "/"}, {"status": 304, "to": "/"}, {"status": 300, "to": "/"},
])
def test_redirect_refuses(streams, params):
    response = streams.get(query("/redirect", **params))
    assert (response.status, response.get("location")) == (500, None)


def test_cookie(streams):
    response = streams.get(query("/cookie", name="__Host-id", value="abc", path="/", age=60, secure=1))
    assert response.content == b"ok"
    assert response.get("set-cookie") == "__Host-id=abc; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict"


@pytest.mark.parametrize("params", [
    {"name": "a b", "value": "1"}, {"name": "a", "value": "1; Domain=x"}, {"name": "a", "value": "1\r\nX: y"},
    {"name": "__Host-a", "value": "1", "secure": 1}, {"name": "a", "value": "x" * 4096},
])
def test_cookie_refuses(streams, params):
    response = streams.get(query("/cookie", **params))
    assert (response.status, response.get("set-cookie")) == (500, None)


# ---- Interim responses ----


def test_early_hints(streams):
    with streams.connect() as connection:
        connection.send(request("/hints"))
        hints = connection.interim()
        assert (hints.status, hints.all("link")) == (103, ["</a.css>; rel=preload", "</b.js>; rel=preload"])
        assert connection.interim().status == 102
        assert connection.response().content == b"hinted"


def test_early_hints_in_a_pipeline(streams):
    with streams.connect() as connection:
        connection.send(request("/text") + request("/hints") + request("/json"))
        assert connection.response().content == "grüß dich\n".encode()
        assert [connection.interim().status, connection.interim().status] == [103, 102]
        assert connection.response().content == b"hinted"
        assert connection.response().content == b'{"a":1}'


@pytest.mark.of_http1("it is about HTTP/1.0")
def test_no_interim_response_to_old_clients(streams):
    with streams.connect() as connection:
        connection.send(request("/hints", version="1.0"))
        response = connection.response()
        assert (response.status, response.content) == (200, b"hinted")


def test_interim_responses_leave_before_the_answer(streams):
    with streams.connect() as connection:
        connection.send(request("/wait"))
        assert connection.silent(0.1)
        assert streams.get("/go").content == b"went"
        assert connection.interim().status == 102
        assert streams.get("/go?end=1").content == b"went"
        assert connection.interim().status == 102
        assert connection.response().content == b"gone"


@pytest.mark.parametrize("params", [
    {"status": 101}, {"status": 99}, {"status": 200}, {"name": "Content-Length"}, {"name": "a b"},
    {"value": "a\r\nb: c"},
])
def test_inform_refuses(streams, params):
    with streams.connect() as connection:
        response = connection.get(query("/inform", **params))
        assert (response.status, response.content) == (200, b"not of the documented form")


def test_inform_is_bounded(streams):
    """More than may be queued is refused, and the answer still comes."""
    with streams.connect() as connection:
        connection.send(request(query("/inform", times=1_000_000)))
        heads = 0
        while (head := connection.head()).status == 103:
            heads += 1
        assert 0 < heads < (40_000 if HTTP2 else 20_000)  # compressed, there
        assert connection.exactly(int(head.get("content-length"))) != b"ok"


def test_continue_is_sent_once(streams):
    with streams.connect() as connection:
        connection.send(request("/continue", "Expect: 100-continue", "Content-Length: 3", method="POST"))
        assert connection.interim().status == 100
        connection.send(b"abc")
        assert connection.response("POST").content == b"abc"


def test_continue_is_not_sent_unasked(streams):
    with streams.connect() as connection:
        connection.send(request("/continue", "Content-Length: 3", method="POST"))
        assert connection.silent(0.1)
        connection.send(b"abc")
        assert connection.response("POST").content == b"abc"


# ---- Streams ----

ALPHABET = bytes(range(ord("a"), ord("z") + 1))


def pattern(n):
    block = b"".join(ALPHABET[k:] + ALPHABET[:k] for k in range(26))
    return (block * (n // len(block) + 1))[:n]


def counted(server, how, than):
    """Waits until more requests than that have ended in that way."""
    return eventually(lambda: ends(server)[how] > than)


def ends(server):
    return {k: int(v) for k, v in (word.split("=") for word in server.get("/ends").content.decode().split())}


@pytest.mark.parametrize("piece", [1, 999, 8192, 8193, 65536, 262144])
@pytest.mark.parametrize("n", [0, 1, 1000, 100_000, 1_500_000])
def test_stream(streams, n, piece):
    if piece == 1 and n > 20_000:
        n = 20_000
    with streams.connect() as connection:
        response = connection.get(query("/stream", len=n, piece=piece, trailer=1))
        assert (response.status, response.framing, response.get("content-type")) == (200, "chunked", "text/plain")
        assert response.content == pattern(n)
        assert [name for name, _ in response.trailers] == ["X-Refused"]
        assert connection.get("/json").status == 200


@pytest.mark.parametrize("n", [0, 1, 1_500_000])
def test_stream_of_stated_length(streams, n):
    with streams.connect() as connection:
        response = connection.get(query("/stream", len=n, length=n, piece=5000))
        assert (response.framing, response.content) == ("length", pattern(n))
        assert connection.get("/json").status == 200


@pytest.mark.of_http1("it is about HTTP/1.0")
@pytest.mark.parametrize("n", [0, 1_500_000])
def test_stream_to_old_clients(streams, n):
    with streams.connect() as connection:
        connection.send(request(query("/stream", len=n, piece=5000, trailer=1), "Connection: keep-alive", version="1.0"))
        response = connection.response()
        assert (response.framing, response.content, response.closes) == ("close", pattern(n), True)


@pytest.mark.parametrize("params", [{"length": 500_000}, {}])
def test_stream_for_head(streams, params):
    """Fields as for GET; what is written is dropped."""
    target = query("/stream", len=500_000, trailer=1, **params)
    with streams.connect() as connection:
        got, head = connection.get(target), connection.get(target, method="HEAD")
        of_each = {"Date"} | ({"Transfer-Encoding"} if HTTP2 else set())  # which stands for what is not there
        assert [f for f in head.fields if f[0] not in of_each] == [f for f in got.fields if f[0] not in of_each]
        assert streams.get("/noted").content == b"ok"
        assert connection.get("/json").content == b'{"a":1}'


@pytest.mark.parametrize("status", [204, 205, 304])
def test_stream_without_content(streams, status):
    with streams.connect() as connection:
        response = connection.get(query("/stream", len=1000, status=status))
        assert (response.status, response.content) == (status, b"")
        assert response.get("transfer-encoding") is None
        assert connection.get("/json").content == b'{"a":1}'


def test_streams_in_a_pipeline(streams):
    with streams.connect() as connection:
        sizes = [1, 300_000, 0, 70_000]
        connection.send(b"".join(request(query("/stream", len=n)) + request("/json") for n in sizes))
        for n in sizes:
            assert connection.response().content == pattern(n)
            assert connection.response().content == b'{"a":1}'


def test_stream_is_told_of_room(streams):
    """A reader that comes late gets all of it; the writer was refused, and told when it could go on."""
    with streams.connect(receive_buffer=16384) as connection:
        n = 2_000_000
        connection.send(request(query("/stream", len=n, piece=3000, trailer=1)))
        time.sleep(0.3)
        response = connection.response()
        assert response.content == pattern(n)
        refused, drained = map(int, response.trailers[0][1].split())
        assert refused > 5 and 0 < drained < n / 3000 / 4  # it is not woken for every write


def test_stream_shorter_than_stated(streams):
    before = ends(streams)["error"]
    with streams.connect() as connection:
        connection.send(request(query("/stream", len=1000, length=1001)))
        assert connection.head().get("content-length") == "1001"
        assert connection.to_end() == pattern(1000)
    assert streams.get("/noted").content == b"not of the documented form"
    assert counted(streams, "error", before)


def test_stream_longer_than_stated(streams):
    with streams.connect() as connection:
        connection.send(request(query("/stream", len=1001, length=1000, piece=1001)))
        assert connection.head().get("content-length") == "1000"
        assert connection.to_end() == b""
    assert streams.get("/noted").content == b"not of the documented form"


def test_stream_given_up(streams):
    """The client sees that it is not complete."""
    before = ends(streams)["error"]
    with streams.connect() as connection:
        connection.send(request(query("/stream", len=100_000, abort=1)))
        assert connection.head().get("transfer-encoding") == "chunked"
        with pytest.raises(EOFError):
            connection.chunked()
    assert counted(streams, "error", before)


def test_a_write_larger_than_the_limit_is_an_error(streams):
    with streams.connect() as connection:
        connection.send(request(query("/stream", len=262145, piece=262145)))
        connection.head()
        assert connection.to_end() == b""
    assert streams.get("/noted").content == b"not of the documented form"


def test_stream_written_later(streams):
    with streams.connect() as connection:
        connection.send(request("/open"))
        assert connection.head().get("transfer-encoding") == "chunked"
        assert connection.silent(0.1)
        assert streams.get("/write?data=abc").content == b"ok"
        assert connection.exactly(8) == b"3\r\nabc\r\n"
        assert streams.get("/write?data=").content == b"ok"
        assert connection.silent(0.1)
        assert streams.get("/write?data=x&times=3").content == b"ok"
        assert connection.exactly(18) == b"1\r\nx\r\n" * 3
        assert streams.get("/finish").content == b"ok"
        assert connection.exactly(5) == b"0\r\n\r\n"
        assert streams.get("/finish").content == b"there is none"
        assert connection.get("/json").status == 200


def test_stream_refuses_when_full_and_is_whole(streams):
    with streams.connect(receive_buffer=4096) as connection:
        connection.send(request("/open"))
        connection.head()
        taken = 0
        while streams.get("/write?data=" + "y" * 5000).content == b"ok":
            taken += 1
        assert int(streams.get("/room").content) < 5000
        assert streams.get("/finish").content == b"ok"
        assert connection.chunked()[0] == b"y" * 5000 * taken


def test_stream_whose_client_goes(streams):
    before = ends(streams)["closed"]
    connection = streams.connect()
    connection.send(request("/open"))
    connection.head()
    connection.reset()
    assert counted(streams, "closed", before)
    assert streams.get("/write?data=abc").content == b"there is none"


@pytest.mark.parametrize("path", ["/open", "/events"])
def test_stream_to_a_client_that_stops_reading(launch, path):
    server = launch(numbered, "streams", "stall_timeout_ns=500000000", "rate_window_ns=400000000")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(request(path))
        connection.head()
        server.get("/write?times=5&data=" + "z" * 8000)
        while server.get("/write?data=" + "z" * 5000).content == b"ok":
            pass
        assert counted(server, "timeout", 0)


def test_stream_of_a_file(launch, tmp_path):
    content = pattern(3_000_000)
    (tmp_path / "file").write_bytes(content)
    server = launch(numbered, "streams", "--files", tmp_path)
    for params in ({}, {"length": 3_000_001}):
        with server.connect(receive_buffer=65536) as connection:
            connection.send(request(query("/file", **params)))
            head = connection.head()
            assert server.get("/noted").content != b"ok"
            assert server.get("/finish").content == (b"there is none" if params else b"ok")  # no room, or no length
            if params:
                got = connection.exactly(int(head.get("content-length")))
            else:
                got = connection.chunked()[0]
            assert got == b"<" + content
            assert connection.get("/json").status == 200
    (tmp_path / "file").write_bytes(b"small")
    assert server.get("/file").content == b"<smalllate"


# ---- Both ways at once ----


@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("lines", [[], ["Connection: close"]])
def test_content_is_read_while_it_is_answered(streams, early, lines):
    with streams.connect() as connection:
        target = query("/duplex", early=early)
        connection.send(request(target, "Transfer-Encoding: chunked", *lines, method="POST"))
        for word in (b"one", b"two", b"three"):
            connection.send(chunk(word))
            if word == b"one":
                assert connection.head().status == 200
            assert connection.exactly(len(word) + 5) == chunk(word)
            assert connection.silent(0.05)
        connection.send(b"0\r\nX-Sum: 3\r\n\r\n")
        assert connection.chunked() == (b"", [("X-Sum", "3")])
        if lines:
            assert connection.ended()
        else:
            assert connection.get("/json").status == 200


@pytest.mark.parametrize("early", [0, 1])
def test_much_content_both_ways(streams, early):
    """The client does not read before it has sent what fits; nothing is lost, and nothing piles up."""
    content = pattern(6_000_000)
    with streams.connect() as connection:
        connection.send(request(query("/duplex", early=early), f"Content-Length: {len(content)}", method="POST"))
        sender = threading.Thread(target=connection.socket.sendall, args=(content,))
        sender.start()
        time.sleep(0.2)
        response = connection.response("POST")
        sender.join()
        assert response.content == content
        assert response.closes == (bool(early) and not HTTP2)  # it could not know that the content would be read
        if not early:
            assert connection.get("/json").status == 200


@pytest.mark.of_http1("chunks are")
def test_a_broken_chunk_ends_both_ways(streams):
    before = ends(streams)["error"]
    with streams.connect() as connection:
        connection.send(request("/duplex", "Transfer-Encoding: chunked", method="POST") + chunk(b"one") + b"zz\r\n")
        connection.head()
        assert connection.to_break() == chunk(b"one")
    assert counted(streams, "error", before)


def test_a_client_that_is_done_too_early_ends_both_ways(streams):
    before = ends(streams)["closed"]
    with streams.connect() as connection:
        connection.send(request("/duplex", "Content-Length: 9", method="POST") + b"abc").half_close()
        connection.head()
        assert connection.to_end() == chunk(b"abc")
    assert counted(streams, "closed", before)


def test_expectation_beside_a_stream(streams):
    with streams.connect() as connection:
        connection.send(request("/duplex", "Content-Length: 3", "Expect: 100-continue", method="POST"))
        assert connection.interim().status == 100
        connection.send(b"abc")
        assert connection.response("POST").content == b"abc"
    with streams.connect() as connection:
        connection.send(request("/duplex?early=1", "Content-Length: 3", "Expect: 100-continue", method="POST"))
        assert connection.head().closes or HTTP2  # no 100 behind it, so the client may never send its content
        connection.send(b"abc")
        assert connection.chunked()[0] == b"abc"


# ---- Events ----


def read_events(connection, reader, enough):
    """Reads chunks until there are enough events or the answer ends."""
    events = []
    while len(events) < enough:
        size = int(connection.line(), 16)
        if size == 0:
            assert connection.line() == b""
            break
        events += reader.feed(connection.exactly(size))
        assert connection.exactly(2) == b"\r\n"
    return events


def test_events(streams):
    with streams.connect() as connection:
        connection.send(request("/ticks"))
        head = connection.head()
        assert (head.status, head.get("content-type"), head.get("cache-control")) == (200, "text/event-stream", "no-store")
        reader = EventReader()
        assert read_events(connection, reader, 9) == [
            Event("one", id="7"), Event("two\nlines", "tick", "7"), Event("last", id="7"),
        ]
        assert (reader.comments, reader.retry) == (["be quiet"], 600000)
        assert connection.get("/json").status == 200


@pytest.mark.parametrize("data, lines", [
    ("", ""), ("a", "a"), (" a", " a"), ("a\nb", "a\nb"), ("a\r\nb\rc\n", "a\nb\nc\n"), ("\n", "\n"), ("\r\r\n", "\n\n"),
    (":x", ":x"), ("data: x\n\nevent: y", "data: x\n\nevent: y"), ("ü\u2028", "ü\u2028"), ("x" * 7000, "x" * 7000),
])
def test_event_data_comes_back(streams, data, lines):
    with streams.connect() as connection:
        connection.send(request("/events"))
        connection.head()
        assert streams.get(query("/event", data=data)).content == b"ok"
        assert read_events(connection, EventReader(), 1) == [Event(lines)]


def test_event_members(streams):
    with streams.connect() as connection:
        connection.send(request("/events"))
        connection.head()
        reader = EventReader()
        for params in ({"retry": 5}, {"data": "c1\nc2", "comment": 1, "name": "n"}, {"id": "5"}, {"name": "n"},
                       {"name": "n", "data": "1", "id": "6"}, {"data": "2"}, {"data": "3", "id": ""}):
            assert streams.get(query("/event", **params)).content == b"ok"
        assert read_events(connection, reader, 3) == [Event("1", "n", "6"), Event("2", id="6"), Event("3")]
        assert (reader.retry, reader.comments) == (5, ["c1", "c2"])


@pytest.mark.parametrize("params", [
    {"name": "a\nb"}, {"name": "a\rb"}, {"id": "a\nb"}, {"id": "a\0b"}, {"retry": -1}, {"name": "a\0b"},
])
def test_event_refuses(streams, params):
    with streams.connect() as connection:
        connection.send(request("/events"))
        connection.head()
        assert streams.get(query("/event", data="x", **params)).content == b"not of the documented form"
        assert connection.silent(0.05)


def test_event_to_another_answer_is_refused(streams):
    with streams.connect() as connection:
        connection.send(request("/open"))
        connection.head()
        assert streams.get("/event?data=x").content not in (b"ok", b"there is none")


def test_events_for_head_are_over_at_once(streams):
    with streams.connect() as connection:
        head = connection.get("/ticks", method="HEAD")
        assert (head.status, head.get("content-type")) == (200, "text/event-stream")
        before = ends(streams)["sent"]
        assert connection.get("/events", method="HEAD").status == 200
        assert connection.get("/json").content == b'{"a":1}'
        assert counted(streams, "sent", before)


@pytest.mark.of_http1("it is about HTTP/1.0")
def test_events_to_old_clients(streams):
    with streams.connect() as connection:
        connection.send(request("/ticks", version="1.0"))
        response = connection.response()
        assert response.framing == "close"
        assert [e.data for e in EventReader().feed(response.content)] == ["one", "two\nlines", "last"]


def test_a_quiet_event_stream_is_not_stalled(launch):
    server = launch(numbered, "streams", "stall_timeout_ns=300000000", "rate_window_ns=200000000")
    with server.connect() as connection:
        connection.send(request("/events"))
        connection.head()
        assert connection.silent(1.0)
        assert server.get("/event?data=x").content == b"ok"
        assert read_events(connection, EventReader(), 1) == [Event("x")]


@pytest.mark.parametrize("path, lines", [
    ("/events", []),
    pytest.param("/tunnel", ["Connection: upgrade", "Upgrade: echo"], marks=pytest.mark.of_http1("Upgrade is")),
])
def test_idle_for_too_long(launch, path, lines):
    """Each octet puts the end off; then it comes."""
    server = launch(numbered, "streams", "stream_idle_timeout_ns=1000000000")

    def put_off(connection):
        """Whether four octets did. None: one of them came late."""
        for _ in range(4):
            last = time.monotonic()
            try:
                assert connection.silent(0.4)
                if lines:
                    connection.send(b"x")
                    assert connection.exactly(1) == b"x"
                else:
                    assert server.get("/event?data=x").content == b"ok"
                    assert read_events(connection, EventReader(), 1) == [Event("x")]
            except (AssertionError, EOFError, OSError):
                if time.monotonic() - last < 0.8:
                    raise
                return None
        return True

    def idle():
        with server.connect() as connection:
            connection.send(request(path, *lines))
            connection.head()
            began = time.monotonic()
            if not put_off(connection):
                return False
            assert connection.to_break() == b""
            assert time.monotonic() - began > 2.4
            return True

    assert eventually(idle)
    assert counted(server, "timeout", 0)


CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_events_in_a_browser(streams, tmp_path):
    """The page keeps loading until it has heard the last event, so that what is dumped shows them."""
    dump = subprocess.run([*CHROMIUM, *browser_words(), f"--user-data-dir={tmp_path}", "--dump-dom", streams.url + "/page"],
                          capture_output=True, timeout=200, check=True)
    assert b"message:one:7 tick:two|lines:7 message:last:7" in dump.stdout


# ---- Tunnels ----

ASKS = ["Connection: Upgrade", "Upgrade: echo"]


def open_tunnel(connection, path="/tunnel", *lines, method="GET", content=b"", asks=tuple(ASKS)):
    connection.send(request(path, *asks, *lines, method=method, content=content))
    head = connection.head()
    assert (head.status, head.get("upgrade"), head.get("connection")) == (101, "echo", "upgrade")
    assert head.get("content-length") is None and head.get("transfer-encoding") is None
    return head


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_tunnel(streams):
    before = ends(streams)["sent"]
    with streams.connect() as connection:
        assert open_tunnel(connection).get("x-tunnel") == "yes"
        for word in (b"one", b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            connection.send(word)
            assert connection.exactly(len(word)) == word
        connection.half_close()
        assert connection.to_end() == b""
    assert counted(streams, "sent", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
@pytest.mark.parametrize("split", [False, True])
def test_octets_behind_the_head_belong_to_the_tunnel(streams, split):
    octets = request("/tunnel", *ASKS, content=request("/json") + b"more")
    with streams.connect() as connection:
        if split:
            connection.send_split(octets, 7, 0.001)
        else:
            connection.send(octets)
        assert connection.head().status == 101
        assert connection.exactly(len(request("/json")) + 4) == request("/json") + b"more"


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_tunnel_behind_other_requests(streams):
    with streams.connect() as connection:
        connection.send(request("/json") + request(query("/stream", len=100_000)) + request("/tunnel", *ASKS, content=b"abc"))
        assert connection.response().content == b'{"a":1}'
        assert connection.response().content == pattern(100_000)
        assert connection.head().status == 101
        assert connection.exactly(3) == b"abc"


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_much_through_a_tunnel(streams):
    content = pattern(5_000_000)
    with streams.connect() as connection:
        open_tunnel(connection)
        sender = threading.Thread(target=lambda: connection.send(content).half_close())
        sender.start()
        time.sleep(0.2)
        assert connection.to_end() == content
        sender.join()


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_the_server_closes_its_half_first(streams):
    before = ends(streams)["sent"]
    with streams.connect() as connection:
        open_tunnel(connection, "/quiet-tunnel")
        assert streams.get("/write?data=bye").content == b"ok"
        assert streams.get("/finish").content == b"ok"
        assert connection.to_end() == b"bye"
        assert streams.get("/write?data=more").content == b"not possible in this state"
        connection.send(b"still here")
        assert eventually(lambda: streams.get("/quiet").content == b"octets=10 ends=0")
        assert ends(streams)["sent"] == before
        connection.half_close()
        assert eventually(lambda: streams.get("/quiet").content == b"octets=10 ends=1")
        assert counted(streams, "sent", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_the_client_closes_its_half_first(streams):
    before = ends(streams)["sent"]
    with streams.connect() as connection:
        open_tunnel(connection, "/quiet-tunnel")
        connection.send(b"abc").half_close()
        assert eventually(lambda: streams.get("/quiet").content == b"octets=3 ends=1")
        assert streams.get("/write?data=late").content == b"ok"
        assert connection.exactly(4) == b"late"
        assert ends(streams)["sent"] == before
        assert streams.get("/finish").content == b"ok"
        assert connection.to_end() == b""
        assert counted(streams, "sent", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_a_tunnel_nobody_reads_ends_with_its_finish(streams):
    before = ends(streams)["sent"]
    with streams.connect() as connection:
        open_tunnel(connection, "/quiet-tunnel?read=0")
        connection.send(b"unheard")
        assert streams.get("/finish").content == b"ok"
        assert connection.to_end() == b""
        assert counted(streams, "sent", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_a_tunnel_given_up(streams):
    before = ends(streams)["error"]
    with streams.connect() as connection:
        open_tunnel(connection, "/quiet-tunnel")
        assert streams.get("/abort").content == b"ok"
        assert connection.ended()
    assert counted(streams, "error", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_a_tunnel_whose_client_goes(streams):
    before = ends(streams)["closed"]
    connection = streams.connect()
    open_tunnel(connection, "/quiet-tunnel")
    connection.reset()
    assert counted(streams, "closed", before)


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
@pytest.mark.parametrize("lines", [
    [], ["Upgrade: echo"], ["Connection: upgrade"], ["Connection: upgrade", "Upgrade: other"],
    ["Connection: upgrade", "Upgrade: echo/2"], ["Connection: close", "Upgrade: echo"],
])
def test_who_does_not_ask_is_not_upgraded(streams, lines):
    with streams.connect() as connection:
        response = connection.get("/tunnel", *lines)
        assert (response.status, response.get("upgrade")) == (426, "echo")
        assert "upgrade" in response.get("connection").split(", ")
        if not response.closes:
            assert connection.get("/json").status == 200


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
@pytest.mark.parametrize("lines", [
    ["Connection: keep-alive, UPGRADE", "Upgrade: ECHO"], ["Connection: close", "Connection: upgrade", "Upgrade: echo"],
    ["Connection: upgrade", "Upgrade: h2c, echo"], ["Connection: upgrade", "Upgrade: h2c", "Upgrade: echo"],
])
def test_how_one_may_ask(streams, lines):
    with streams.connect() as connection:
        open_tunnel(connection, asks=lines, content=b"abc")
        assert connection.exactly(3) == b"abc"


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_old_clients_are_not_upgraded(streams):
    with streams.connect() as connection:
        connection.send(request("/tunnel", *ASKS, version="1.0"))
        assert connection.response().status == 426


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_a_bad_protocol_is_an_error_value(streams):
    for protocol in ("", "a b", "a/", "/1", "a/b/c", "x" * 300):
        assert streams.get(query("/tunnel", protocol=protocol), *ASKS).content == b"not of the documented form"


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_upgrade_with_content(streams):
    """Not before it has been read; then it works."""
    with streams.connect() as connection:
        connection.send(request("/tunnel", *ASKS, "Content-Length: 3", method="POST", content=b"abc"))
        response = connection.response("POST")
        assert (response.status, response.content) == (200, b"not possible in this state")
    with streams.connect() as connection:
        open_tunnel(connection, "/after", "Content-Length: 3", method="POST", content=b"abcdef")
        assert connection.exactly(6) == b"abcdef"
        connection.send(b"g")
        assert connection.exactly(1) == b"g"
        connection.half_close()
        assert connection.to_end() == b""


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_stopping_with_streams_and_tunnels_open(launch):
    server = launch(numbered, "streams")
    with server.connect() as events, server.connect() as tunnel:
        events.send(request("/events"))
        events.head()
        open_tunnel(tunnel)
        server.signal()
        assert tunnel.ended()
        assert events.to_break() == b""
        server.judge_end()


@pytest.mark.of_http1("Upgrade is; tunnels of HTTP/2 are in test_h2.py")
def test_connect_is_refused(streams):
    with streams.connect() as connection:
        connection.send(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n")
        assert connection.response().status == 405
