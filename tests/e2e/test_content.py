# SPDX-License-Identifier: MIT
"""Reading: repeated fields, parameters of queries and forms, limits of content."""

import urllib.parse

import pytest
from server import eventually, numbered
from wire import chunk, request


@pytest.fixture(scope="module")
def uploads():
    server = numbered("uploads", "--workers", "1")
    yield server
    server.stop()


def post(server, path, content, *lines):
    with server.connect() as connection:
        return connection.offer(request(path, f"Content-Length: {len(content)}", *lines, method="POST", content=content))


def told(server, count):
    lines = []
    assert eventually(lambda: lines.extend(server.get("/told").content.decode().split("\n")[:-1]) or len(lines) >= count)
    return lines


# ---- Fields, queries, forms ----


def test_repeated_fields(uploads):
    response = uploads.get("/fields", "X-A: 1", "X-B: 2", "x-a:  3 ", "X-A:", "X-AA: 5")
    assert response.content == b"1\n3\n\n"
    assert uploads.get("/fields").content == b""


def test_query_parameters_by_number(uploads):
    assert uploads.get("/query?b=2&a=%41+x&&b=&%62=3").content == b"b=2\na=A x\nb=\nb=3\n"
    assert uploads.get("/query").content == b""


def test_parameters_end_at_their_limit(uploads):
    assert len(uploads.get("/query?" + "a&" * 2000).content.splitlines()) == 1000


def test_forms(uploads):
    pairs = [("name", "Zoë & co"), ("text", "a\r\nb=c"), ("name", "second"), ("", "x")]
    content = urllib.parse.urlencode(pairs).encode()
    expected = "".join(f"{n}={v}\n" for n, v in pairs) + "name: Zoë & co"
    assert post(uploads, "/form", content).content.decode() == expected
    assert post(uploads, "/form", b"").content == b"name: "
    assert post(uploads, "/form", b"a=%").content == b"a=%\nname: "


def test_a_form_of_many_parameters_costs_one_decoding(uploads):
    content = b"&".join(b"p%d=%s" % (i, b"x" * 900) for i in range(1000))
    lines = post(uploads, "/form", content).content.split(b"\n")
    assert len(lines) == 1001 and lines[999] == b"p999=" + b"x" * 900


# ---- Limits ----


def test_a_stated_length_is_refused_at_once(uploads):
    with uploads.connect() as connection:
        connection.send(request("/limit?n=10", "Content-Length: 11", "Expect: 100-continue", method="POST"))
        response = connection.response()
        assert response.status == 413 and response.closes
    assert told(uploads, 1) == ["at once"]
    assert post(uploads, "/limit?n=10", b"x" * 10).content == b"10"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_chunks_are_refused_when_they_pass_it(uploads, size):
    with uploads.connect() as connection:
        connection.send(request("/limit?n=5000", "Transfer-Encoding: chunked", method="POST"))
        connection.send(chunk(b"x" * size) * (5000 // size))
        left = 5000 - 5000 // size * size
        connection.send((chunk(b"y" * left) if left else b"") + b"0\r\n\r\n")
        assert connection.response().content == b"5000"
    with uploads.connect() as connection:
        head = request("/limit?n=5000", "Transfer-Encoding: chunked", method="POST")
        response = connection.offer(head + chunk(b"x" * size) * (5000 // size + 1))
        assert response.status == 413 and response.closes
    assert told(uploads, 1) == ["lost"]


def test_no_limit_is_none(uploads):
    assert post(uploads, "/limit?n=0", b"x" * 2_000_000).content == b"2000000"


def test_middleware_may_limit_what_a_handler_collects(uploads):
    assert post(uploads, "/guarded/collect?n=10", b"0123456789").content == b"0123456789"
    assert post(uploads, "/guarded/collect?n=9", b"0123456789").status == 413
    with uploads.connect() as connection:
        head = request("/guarded/collect?n=9", "Transfer-Encoding: chunked", method="POST")
        assert connection.offer(head + chunk(b"01234") + chunk(b"56789")).status == 413
    assert told(uploads, 1) == ["a limit would be passed"]
