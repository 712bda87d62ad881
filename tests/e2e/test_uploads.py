# SPDX-License-Identifier: MIT
"""Multipart forms and content in files."""

import pytest
from server import eventually, numbered
from wire import chunk, request

TYPE = "Content-Type: multipart/form-data; boundary=xYz"


@pytest.fixture(scope="module")
def uploads():
    server = numbered("uploads", "--workers", "1")
    yield server
    server.stop()


def part(name, content, extra=""):
    return f'--xYz\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'.encode() + content + b"\r\n"


def form(*parts):
    return b"".join(parts) + b"--xYz--\r\n"


def post(server, path, content, *lines, kind=TYPE):
    with server.connect() as connection:
        connection.send(request(path, kind, f"Content-Length: {len(content)}", *lines, method="POST", content=content))
        return connection.response()


def told(server):
    lines = []
    eventually(lambda: lines.extend(server.get("/told").content.decode().split("\n")[:-1]) or lines)
    return lines


# ---- Part by part ----


def test_parts(uploads):
    content = form(part("a", b"1"), part("f", b"x\r\n--xY", '; filename="n"\r\nContent-Type: text/x'), part("e", b""))
    assert post(uploads, "/parts", content).content == b"[a|-|-|1:1][f|n|text/x|2:x\r\n--xY][e|-|-|1:]"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_parts_in_pieces_and_chunks(uploads, size):
    content = form(part("a", b"\r\n-" * 300), part("b", b"\r\n--xY" * 300))
    with uploads.connect() as connection:
        connection.send(request("/parts", TYPE, "Transfer-Encoding: chunked", method="POST"))
        for i in range(0, len(content), size):
            connection.send(chunk(content[i : i + size]))
        connection.send(b"0\r\n\r\n" + request("/told"))
        assert connection.response().content == b"[a|-|-|1:" + b"\r\n-" * 300 + b"][b|-|-|1:" + b"\r\n--xY" * 300 + b"]"
        assert connection.response().status == 200


def test_credit_comes_back(uploads):
    content = form(*[part("a", b"x" * 60000) for _ in range(100)])
    expected = (b"[a|-|-|1:" + b"x" * 60000 + b"]") * 100
    assert post(uploads, "/parts", content).content == expected
    assert post(uploads, "/parts?hold=1", content).content == expected


@pytest.mark.parametrize("kind", ["X: y", "Content-Type: text/plain", "Content-Type: multipart/form-data"])
def test_what_is_no_form_is_the_callers(uploads, kind):
    assert post(uploads, "/parts", form(part("a", b"1")), kind=kind).status == 415


@pytest.mark.parametrize("content, status", [
    (b"", 400),
    (part("a", b"1"), 400),
    (form(part("a", b"1")).replace(b"form-data;", b"form-data; x"), 400),
    (form(*[part("a", b"1")] * 128), 200),
    (form(*[part("a", b"1")] * 129), 413),
    (form(part("a", b"1", "\r\nX: " + "y" * 8190)), 413),
])
def test_broken_forms_and_limits(uploads, content, status):
    response = post(uploads, "/parts", content)
    assert response.status == status
    if status != 200:
        assert response.closes and told(uploads) == ["failed"]


def test_a_handler_may_answer_at_the_first_part(uploads):
    response = post(uploads, "/parts?refuse=1", form(part("a", b"1"), part("b", b"2")))
    assert (response.status, response.content) == (403, b"no")
    assert told(uploads) == ["failed"]


def test_peers_that_leave_fail_the_form(uploads):
    with uploads.connect() as connection:
        connection.send(request("/parts", TYPE, "Content-Length: 1000", method="POST", content=part("a", b"1")))
    assert told(uploads) == ["failed"]
