# SPDX-License-Identifier: MIT
"""Answering: how messages are framed, and how connections are kept and closed."""

import calendar
import contextlib
import time

import pytest
from server import eventually
from wire import chunk, request

# ---- Framing ----


@pytest.mark.parametrize("status", [200, 201, 202, 206, 301, 400, 404, 500, 503, 599])
def test_content_and_length(rules, status):
    response = rules.get(f"/status/{status}")
    assert (response.status, response.content, response.framing) == (status, b"content\n", "length")


def test_no_content(rules):
    with rules.connect() as connection:
        response = connection.get("/status/204")
        assert response.status == 204
        assert response.get("content-length") is None and response.get("transfer-encoding") is None
        assert connection.get("/").status == 200


def test_reset_content(rules):
    with rules.connect() as connection:
        response = connection.get("/status/205")
        assert (response.status, response.get("content-length")) == (205, "0")
        assert connection.get("/").status == 200


def test_not_modified_has_no_content(rules):
    with rules.connect() as connection:
        response = connection.get("/status/304")
        assert response.get("content-length") in (None, "8")
        assert connection.get("/").status == 200


@pytest.mark.parametrize("code", [0, 99, 100, 199, 600, 1000])
def test_statuses_out_of_range_are_500(rules, code):
    response = rules.get(f"/status/{code}")
    assert response.status == 500 and b"content" not in response.content


@pytest.mark.parametrize("path", ["/", "/pull/100000", "/chunked/10", "/status/404", "/error/404"])
def test_head_is_like_get(rules, path):
    with rules.connect() as connection:
        got = connection.get(path)
        head = connection.get(path, method="HEAD")
        assert head.status == got.status
        assert head.get("content-length") in (None, got.get("content-length"))
        assert head.get("content-type") == got.get("content-type")
        assert connection.get("/").content == b"ok\n"


@pytest.mark.parametrize("n", [0, 1, 8191, 65536, 1_000_003])
def test_pulled_content(rules, n):
    response = rules.get(f"/pull/{n}")
    assert response.framing == "length" and response.content == b"x" * n


@pytest.mark.parametrize("n", [0, 1, 8191, 65536, 1_000_003])
def test_unknown_length_is_chunked(rules, n):
    with rules.connect() as connection:
        response = connection.get(f"/chunked/{n}")
        assert response.framing == "chunked" and response.content == b"x" * n
        assert response.trailers == [("X-Sum", "abc")]
        assert connection.get("/").status == 200


@pytest.mark.of_http1("it is about HTTP/1.0")
def test_unknown_length_to_http_1_0(rules):
    with rules.connect() as connection:
        connection.send(request("/chunked/100000", "Connection: keep-alive", version="1.0"))
        response = connection.response()
        assert response.framing == "close" and response.content == b"x" * 100000
        assert response.get("transfer-encoding") is None and response.get("trailer") is None


def test_short_source_closes(rules):
    with rules.connect() as connection:
        connection.send(request("/short/1000"))
        response = connection.head()
        assert response.get("content-length") == "1000"
        assert connection.to_end() == b"x" * 500


def test_failed_source_has_no_last_chunk(rules):
    with rules.connect() as connection:
        connection.send(request("/fails/100"))
        assert connection.head().get("transfer-encoding") == "chunked"
        rest = connection.to_end()
        assert b"x" * 100 in rest and not rest.endswith(b"0\r\n\r\n")


def test_long_source_is_cut(launch_rules):
    rules = launch_rules()
    with rules.connect() as connection:
        response = connection.get("/long/1000")
        assert response.content == b"x" * 1000
        if not response.closes:
            assert connection.get("/").content == b"ok\n"


def test_fields_that_are_lost_make_it_500(rules):
    """Without the field the response could mean something else; nothing of it is sent."""
    with rules.connect() as connection:
        for n in range(11):
            response = connection.get(f"/fields/{n}")
            assert response.status == 500 and b"good" not in response.content, n
            assert not response.all("x-good") and not response.all("x-value") and not response.all("set-cookie"), n
        response = connection.get("/fields/11")
        assert response.content == b"good\n" and response.get("x-good") == "yes"
        assert response.all("set-cookie") == ["a=1", "b=2"]


def test_fields_that_do_not_fit_make_it_500(rules):
    assert len(rules.get("/large/8000").get("x-added")) == 8000
    response = rules.get("/large/8150")
    assert response.status == 500 and not response.all("x-added") and not response.all("x-made")


def test_second_response_is_dropped(rules):
    with rules.connect() as connection:
        assert connection.get("/twice").content == b"first\n"
        assert connection.get("/").content == b"ok\n"


def test_date_is_now(rules):
    def is_now():
        before = time.time()
        date = calendar.timegm(time.strptime(rules.get("/").get("date"), "%a, %d %b %Y %H:%M:%S GMT"))
        return before - 2 <= date <= time.time()

    assert eventually(is_now)  # which a server is told of once in a turn


def test_error_pages(rules):
    response = rules.get("/error/404", "Accept: text/html")
    assert response.get("content-type") == "text/html; charset=utf-8"
    assert "default-src 'none'" in response.get("content-security-policy")
    assert response.get("x-content-type-options") == "nosniff"
    assert b"404" in response.content and len(response.content) < 4096
    response = rules.get("/error/404", "Accept: text/plain")
    assert response.get("content-type").startswith("text/plain") and b"404" in response.content


@pytest.mark.parametrize("lines", [[], ["Accept: text/html"], ["Accept: text/plain"], ["Accept: */*"]])
def test_error_pages_say_what_they_depend_on(rules, lines):
    for target in ("/error/404", "/nothing/here", "/a%zz"):
        response = rules.get(target, *lines)
        assert response.status in (400, 404) and response.get("vary") == "Accept"
        assert ("html" in response.get("content-type")) == ("Accept: text/html" in lines)


@pytest.mark.of_http1("octets that are no request of HTTP/2 either have no response there")
@pytest.mark.parametrize("octets, status", [
    (b"GET / HTTP/1.1\r\nAccept: text/html\r\nHost: a b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nContent-Length: x\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n\r\n", 505),
    (b"\x16\x03\x01\x02\x00\x01", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nA: " + b"x" * 20000, 431),
])
def test_a_request_that_could_not_be_read_is_answered_in_plain_text(rules, octets, status):
    with rules.connect() as connection:
        response = connection.send(octets).response()
    assert (response.status, response.get("vary")) == (status, None)
    assert response.get("content-type") == "text/plain; charset=utf-8"
    assert response.content.startswith(b"%d " % status) and b"<" not in response.content


# ---- Interim answers ----


def test_continue_is_sent_when_content_is_read(rules):
    with rules.connect() as connection:
        connection.send(request("/collect", "Expect: 100-continue", "Content-Length: 5", method="POST"))
        assert connection.interim().status == 100
        connection.send(b"hello")
        assert connection.response().content == b"hello"


def test_continue_is_not_sent_when_content_is_there(rules):
    with rules.connect() as connection:
        connection.send(
            request("/collect", "expect: 100-Continue", "Content-Length: 5", method="POST", content=b"hello")
        )
        first = connection.head()
        assert first.status in (100, 200)


@pytest.mark.of_http1("it is about HTTP/1.0")
def test_no_continue_in_http_1_0(rules):
    with rules.connect() as connection:
        connection.send(
            request("/collect", "Expect: 100-continue", "Content-Length: 5", method="POST", version="1.0")
        )
        assert connection.silent(0.3)
        connection.send(b"hello")
        assert connection.response().content == b"hello"


def test_continue_not_sent_closes(rules):
    """The client cannot know whether to send its content: only a close is unambiguous (9110 section 10.1.1)."""
    with rules.connect() as connection:
        connection.send(request("/ignore", "Expect: 100-continue", "Content-Length: 5", method="POST"))
        response = connection.response()
        assert response.status == 200 and response.closes
        assert connection.ended()


# ---- Content ----


def test_trailers_do_not_merge(rules):
    with rules.connect() as connection:
        connection.send(
            request("/collect", "Transfer-Encoding: chunked", method="POST") + chunk(b"abc") + b"0\r\nX-Sum: 1\r\n\r\n"
        )
        response = connection.response()
        assert response.content == b"abc"
        assert response.get("x-trailer") == "1" and response.get("x-merged") is None


@pytest.mark.parametrize("n", [0, 1, 65536, 3_000_001])
def test_streamed_content(rules, n):
    with rules.connect() as connection:
        connection.send(request("/count", f"Content-Length: {n}", method="POST", content=b"a" * n))
        assert connection.response().content == b"%d\n" % n
        connection.send(request("/count", "Transfer-Encoding: chunked", method="POST"))
        for i in range(0, n, 50_000):
            connection.send(chunk(b"a" * min(50_000, n - i)))
        connection.send(b"0\r\n\r\n")
        assert connection.response().content == b"%d\n" % n


def test_missing_credit_stops_reading(rules):
    """The handler is given its window and no more; the rest waits in the kernel, then with the client."""
    size = 32 << 20
    with rules.connect() as connection, rules.connect() as other:
        connection.send(request("/hold", f"Content-Length: {size}", method="POST"))
        connection.socket.settimeout(0.5)
        sent = 0
        try:
            while sent < size:
                sent += connection.socket.send(b"a" * min(1 << 18, size - sent))
        except TimeoutError:
            pass
        assert sent < size
        held = eventually(lambda: int(other.get("/held").content))
        assert 0 < held <= 65536 + 16384
        assert other.get("/release").status == 200
        connection.socket.settimeout(20)
        connection.send(b"a" * (size - sent))
        assert connection.response().content == b"%d\n" % size


def test_unread_content_is_discarded(rules):
    with rules.connect() as connection:
        for _ in range(3):
            connection.send(request("/ignore", "Content-Length: 60000", method="POST", content=b"a" * 60000))
            response = connection.response()
            assert response.status == 200 and not response.closes
        connection.send(request("/ignore", "Transfer-Encoding: chunked", method="POST") + chunk(b"a" * 100) + b"0\r\n\r\n")
        assert connection.response().status == 200
        assert connection.get("/").content == b"ok\n"


@pytest.mark.of_http1("a response before the end of its request costs the connection; there RST_STREAM does")
def test_too_much_unread_content_closes(rules):
    with rules.connect() as connection:
        connection.send(request("/ignore", "Content-Length: 100000000", method="POST"))
        response = connection.response()
        assert response.status == 200 and response.closes
        try:
            connection.send(b"a" * 200_000)
        except ConnectionError:
            pass
        assert connection.ended()


# ---- Keeping and closing ----


def test_keep_alive(rules):
    with rules.connect() as connection:
        for _ in range(100):
            assert not connection.get("/").closes


def test_client_closes(rules):
    with rules.connect() as connection:
        response = connection.get("/", "Connection: close")
        assert response.closes and connection.ended()
    with rules.connect() as connection:
        response = connection.get("/", "Connection: foo, CLOSE , bar")
        assert response.closes and connection.ended()


@pytest.mark.of_http1("it is about HTTP/1.0")
def test_http_1_0_closes_unless_asked(rules):
    with rules.connect() as connection:
        connection.send(request("/", version="1.0"))
        response = connection.response()
        assert response.content == b"ok\n" and connection.ended()
    with rules.connect() as connection:
        for _ in range(3):
            connection.send(request("/", "Connection: keep-alive", version="1.0"))
            response = connection.response()
            assert "keep-alive" in response.get("connection").lower()
        connection.send(request("/", "Connection: keep-alive, close", version="1.0"))
        assert connection.response().status == 200 and connection.ended()


def test_nothing_after_close_is_answered(rules):
    with rules.connect() as connection:
        connection.send(request("/", "Connection: close") + request("/"))
        assert connection.response().content == b"ok\n"
        assert connection.to_end() == b""


@pytest.mark.of_http1("a response before the end of its request costs the connection; there RST_STREAM does")
def test_lingering_close_keeps_the_answer(rules):
    """Closing with input unread would send a reset, which destroys the answer on its way."""
    for _ in range(20):
        with rules.connect() as connection:
            connection.send(request("/ignore", "Content-Length: 10000000", method="POST"))
            try:
                connection.send(b"a" * 100_000)
            except ConnectionError:
                pass
            assert connection.response().closes
            assert connection.to_end() == b""


@pytest.mark.of_http1("a connection is closed behind what cannot be read; there GOAWAY says so")
def test_lingering_is_bounded(launch_rules):
    rules = launch_rules("linger_timeout_ns=300000000")
    with rules.connect() as connection:
        connection.send(b"BAD\r\n\r\n")
        assert connection.response().status == 400
        assert connection.to_end() == b""

        def refused():
            try:
                connection.send(b"a")
                return False
            except ConnectionError:
                return True

        assert eventually(refused)


def test_half_closed_client_gets_its_answer(rules):
    with rules.connect() as connection:
        connection.send(request("/pull/3000000")).half_close()
        assert connection.response().content == b"x" * 3_000_000
        assert connection.ended()


def test_clients_that_leave_before_the_answer_are_noticed(launch_rules):
    """Each closes as most do, with FIN, and nobody writes to it. FIN may come with the request, or later."""
    rules = launch_rules()
    for late in (False, True):
        connections = [rules.connect() for _ in range(20)]
        for connection in connections:
            connection.send(request("/watched-silent"))
            if not late:
                connection.close()
        if late:
            assert connections[-1].silent(0.2)
        for connection in connections:
            connection.close()
        closed = b"closed=40" if late else b"closed=20"
        assert eventually(lambda: closed in rules.get("/ends").content)


def test_half_closed_pipeline_is_answered(rules):
    with rules.connect() as connection:
        connection.send(request("/") * 10).half_close()
        for _ in range(10):
            assert connection.response().content == b"ok\n"
        assert connection.to_end() == b""


@pytest.mark.parametrize(
    "octets",
    [
        b"GET / HT",
        request("/")[:-2],
        request("/collect", "Content-Length: 10", method="POST", content=b"abc"),
        request("/collect", "Transfer-Encoding: chunked", method="POST", content=b"5\r\nab"),
    ],
)
def test_fin_inside_a_message_aborts(rules, octets):
    with rules.connect() as connection:
        connection.send(octets).half_close()
        rest = connection.to_end()
        assert rest == b"" or rest.startswith(b"HTTP/1.1 400 ")


# ---- How requests end ----


def ends(rules):
    text = rules.get("/ends").content.decode()
    return {k: int(v) for k, v in (word.split("=") for word in text.split())}


def test_on_end_runs_once(launch_rules):
    rules = launch_rules()
    for n in (0, 10, 2_000_000):
        assert len(rules.get(f"/watched/{n}").content) == n
    assert eventually(lambda: ends(rules)["sent"] == 3)
    assert ends(rules) == {"sent": 3, "closed": 0, "timeout": 0, "error": 0}


def test_on_end_when_the_peer_resets(launch_rules):
    rules = launch_rules()
    connection = rules.connect()
    connection.send(request("/") + request("/watched-silent"))
    assert connection.response().status == 200  # and the next is being handled
    connection.reset()
    assert eventually(lambda: ends(rules)["closed"] == 1)
    connection = rules.connect()
    connection.send(request("/watched/100000000"))
    connection.socket.recv(1000)
    connection.reset()
    assert eventually(lambda: ends(rules)["closed"] == 2)
    assert ends(rules)["sent"] == 0


def test_a_handler_gives_up(rules):
    connection = rules.connect()
    connection.send(request("/aborted/5000"))
    assert connection.head().status == 200
    rest = connection.to_end()
    assert rest.count(b"x") == 5000 and b"0\r\n\r\n" not in rest
    assert rules.get("/").status == 200


def test_what_is_held_outlives_its_request(launch_rules):
    rules = launch_rules()
    connection = rules.connect()
    connection.send(request("/kept/some-text"))
    assert connection.head().status == 200
    connection.reset()
    for _ in range(20):  # would take its memory, if it were free
        assert rules.get("/echo/" + "x" * 200).status == 200
    assert eventually(lambda: rules.get("/kept").content) == b"some-text"


# ---- Many small things don't add up ----


def test_pipelined_requests_for_large_answers_do_not_pile_up(launch_rules):
    """64 KiB of requests for 10 MB each, and nobody reads: the out queue is bounded, not the sum."""
    # OpenSSL frees a buffer for each record, which the sanitizer would keep.
    rules = launch_rules(env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    wire = request("/pull/10000000", host="a")
    wire *= 65536 // len(wire)
    rules.get("/pull/10000000")
    before = rules.rss_octets()
    connections = [rules.connect(receive_buffer=4096) for _ in range(8)]
    for connection in connections:
        connection.send(wire)
    time.sleep(1)
    assert rules.rss_octets() - before < 8 * 2 * 1024 * 1024
    assert rules.get("/").status == 200


def test_thousands_of_cookies_cost_little(launch_rules):
    rules = launch_rules("head_octets_max=65535")

    def seconds():
        start = time.monotonic()
        assert rules.get("/cookie/b", "Cookie: " + "a=;" * 21_000).status == 404
        return time.monotonic() - start

    assert eventually(lambda: seconds() < 1)
    assert rules.get("/cookie/b", "Cookie: a=1; b=2", "Cookie: b=3").content == b"2"


def test_pipelined_requests_for_small_answers_do_not_pile_up(serve, tmp_path):
    """A request is kept until its answer has left when its end is logged: so the number is bounded too."""
    (tmp_path / "index.html").write_text("x")
    site = serve(tmp_path)
    wire = request("/", host="localhost")
    wire *= (32 << 20) // len(wire)
    site.get("/")
    before = site.rss_octets()
    for connection in [site.connect(receive_buffer=4096) for _ in range(4)]:
        connection.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            connection.socket.sendall(wire)
    assert site.rss_octets() - before < 32 << 20  # the thread sanitizer makes 20 of io_uring's 2 MiB of buffers
    assert site.get("/").content == b"x"
