# SPDX-License-Identifier: MIT
"""Middleware: who is told of a request, when, and in what order; and routes by host."""

import pytest
from server import eventually, numbered
from wire import request


@pytest.fixture(scope="module")
def gateway():
    server = numbered("gateway", "--workers", "1")
    yield server
    server.stop()


def traces(response):
    return [value.split()[0] for value in response.all("x-trace")]


def ended(server, path):
    """Who was told of the end of requests for path, and what."""
    lines = server.get("/ended").content.decode().splitlines()
    return [line.split(" ", 5) for line in lines if line.split()[1] == path]


# ---- Order ----


def test_head_runs_in_reverse(gateway):
    response = gateway.get("/in/ok?order")
    assert response.content == b"ok\n"
    assert response.all("x-trace") == ["inner 200", "outer 200"]


def test_end_runs_once_in_reverse_and_knows_the_answer(launch):
    gateway = launch(numbered, "gateway", "--workers", "1")
    with gateway.connect() as connection:
        for _ in range(3):
            assert connection.get("/in/read").status == 200
    assert eventually(lambda: len(ended(gateway, "/in/read")) == 6)
    told = ended(gateway, "/in/read")
    assert told == [[who, "/in/read", "sent", "200", "3", "GET /in/read"] for who in ("inner", "outer")] * 3


def test_pipelined_requests_each_have_their_own(gateway):
    with gateway.connect() as connection:
        connection.send(request("/in/ok") + request("/ok") + request("/in/none"))
        assert [traces(connection.response()) for _ in range(3)] == [["inner", "outer"], ["outer"], ["inner", "outer"]]


# ---- Answering before the handler ----


def test_one_that_answers_keeps_the_handler_from_being_called(gateway):
    response = gateway.get("/in/guard/ok")
    assert response.status == 401 and response.all("x-trace") == ["guard 401", "inner 401", "outer 401"]
    response = gateway.get("/in/guard/ok", "Authorization: Basic x")
    assert response.content == b"ok\n" and traces(response) == ["guard", "inner", "outer"]


def test_those_behind_one_that_answered_hear_nothing(launch):
    gateway = launch(numbered, "gateway", "--workers", "1")
    assert gateway.get("/in/guard/ok").status == 401
    assert eventually(lambda: [line[0] for line in ended(gateway, "/in/guard/ok")] == ["guard", "inner", "outer"])


# ---- Prefixes ----


@pytest.mark.parametrize("path, expected", [
    ("/ok", ["outer"]),
    ("/in", ["inner", "outer"]),
    ("/in/", ["inner", "outer"]),
    ("/inn", ["outer"]),
    ("/in/guards", ["inner", "outer"]),
    ("/in/guard", ["guard", "inner", "outer"]),
    ("/x/../in/%6Fk", ["inner", "outer"]),
    ("/below", ["outer"]),
    ("/below/", ["below", "outer"]),
    ("/below/x", ["below", "outer"]),
])
def test_prefixes_are_of_segments(gateway, path, expected):
    assert traces(gateway.get(path)) == expected


def test_prefixes_have_methods_and_hosts(gateway):
    assert traces(gateway.get("/ok", host="a.TEST:80")) == ["host", "outer"]
    assert traces(gateway.get("/ok", host="a.TEST:80", method="HEAD")) == ["host", "outer"]
    assert traces(gateway.get("/ok", host="a.test", method="POST")) == ["outer"]
    assert traces(gateway.get("/ok", host="test")) == ["outer"]
    assert traces(gateway.get("/ok", host="a.b.test")) == ["outer"]


# ---- The server's own answers ----


@pytest.mark.parametrize("path, method, status, expected", [
    ("/none", "GET", 404, ["outer"]),
    ("/in/none", "GET", 404, ["inner", "outer"]),
    ("/in/read", "POST", 405, ["inner", "outer"]),
    ("/in/read", "UNHEARDOF", 405, ["inner", "outer"]),
    ("*", "OPTIONS", 204, ["outer"]),
])
def test_answers_of_the_server_pass_by_it(gateway, path, method, status, expected):
    response = gateway.get(path, method=method)
    assert (response.status, traces(response)) == (status, expected)
    if status == 405:
        assert response.get("allow") == "GET, HEAD"


@pytest.mark.of_http1("there it is malformed, and the stream is reset")
def test_content_that_breaks_passes_by_it(gateway):
    with gateway.connect() as connection:
        connection.send(request("/never/ok", "Content-Length: 1", "Content-Length: 1", method="POST"))
        response = connection.response()
        assert (response.status, traces(response)) == (400, [])


def test_a_handlers_timeout_passes_by_it(launch):
    gateway = launch(numbered, "gateway", "--workers", "1", "--handler-timeout-ms", "300")
    response = gateway.get("/never/ok")
    assert (response.status, traces(response)) == (503, ["never", "outer"])
    assert eventually(lambda: [line[0] for line in ended(gateway, "/never/ok")] == ["never", "outer"])


# ---- Later ----


def test_one_may_pass_on_later(gateway):
    with gateway.connect() as connection:
        connection.send(request("/slow/ok") * 20 + request("/ok"))
        for _ in range(20):
            response = connection.response()
            assert (response.content, traces(response)) == (b"ok\n", ["slow", "outer"])
        assert connection.response().content == b"ok\n"


def test_peers_that_leave_are_told_of(launch):
    gateway = launch(numbered, "gateway", "--workers", "1")
    for path in ("/never/ok", "/slow/ok"):
        with gateway.connect() as connection:
            connection.send(request(path))
            gateway.get("/p/1")  # whose answer comes behind the reading of that
            connection.reset()
    assert eventually(lambda: len(ended(gateway, "/never/ok")) == 2 and len(ended(gateway, "/slow/ok")) == 2)
    assert [line[2:4] for line in ended(gateway, "/never/ok")] == [["closed", "0"]] * 2


# ---- Routes by host ----


@pytest.mark.parametrize("host, method, path, expected", [
    ("x", "GET", "/p/1/2/3", ["GET /p/{x}/{rest...}", "x=1", "rest=2/3"]),
    ("one.test", "GET", "/p/1", ["one.test/p/{x}", "x=1"]),
    ("ONE.test:8080", "GET", "/p/1", ["one.test/p/{x}", "x=1"]),
    ("two.test", "GET", "/p/1", ["{label}.test/p/{x}", "label=two", "x=1"]),
    ("two.test", "GET", "/p/1/y", ["GET /p/{x}/{rest...}", "x=1", "rest=y"]),
    ("two.test", "POST", "/p/1/y", ["POST {label}.test/p/{x}/y", "label=two", "x=1"]),
    ("two.test", "PUT", "/p/1/y", ["PUT /p/{x}/y", "x=1"]),
])
def test_hosts_decide_first(gateway, host, method, path, expected):
    assert gateway.get(path, host=host, method=method).content.decode().splitlines() == expected


def test_an_absolute_target_names_the_host(gateway):
    response = gateway.get("http://two.test/p/1", host="one.test")
    assert response.content.startswith(b"{label}.test/p/{x}\nlabel=two\n")


@pytest.mark.parametrize("host, allow", [("two.test", "GET, HEAD, POST, PUT"), ("x", "GET, HEAD, PUT")])
def test_allow_is_of_the_host(gateway, host, allow):
    response = gateway.get("/p/1/y", host=host, method="DELETE")
    assert (response.status, response.get("allow")) == (405, allow)
