# SPDX-License-Identifier: MIT
"""Answering in other ways than at once: shorthands, interim responses, streams, events, tunnels."""

import urllib.parse

import pytest
from server import numbered
from wire import request


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
    assert (response.status, response.get("location")) == (200, None)
    assert response.content != b"ok"


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
    assert response.get("set-cookie") is None
    assert response.content not in (b"ok", b"")


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
        assert 0 < heads < 20_000
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
