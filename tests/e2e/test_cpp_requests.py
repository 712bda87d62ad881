# SPDX-License-Identifier: MIT
"""Requests, responses, helper threads, filters, statistics, sites and servers in C++ (tests/servers/cpp_requests.cpp)."""

import gzip

import pytest
from server import eventually, numbered
from wire import posted, request

pytestmark = pytest.mark.in_the_clear("the server has no option for it; the transport is below the wrapper")


@pytest.fixture(scope="module")
def cpp():
    server = numbered("cpp")
    yield server
    server.stop()


@pytest.fixture
def fresh():
    server = numbered("cpp")
    yield server
    server.stop()


def text(server, path):
    return server.get(path).content.decode()


def post(server, path, content=b"", *lines):
    with server.connect() as connection:
        return connection.send(posted(path, content, *lines)).response()


# ---- Requests ----


def test_lists(cpp):
    answer = cpp.get("/parts/lists/1/2/3?c=4&c=%35", "Cookie: d=6; e=7", "X-A: 8", "X-B: 0", "x-a: 9")
    assert answer.content == b"a=1;b=2/3;c=4;c=5;d=6;e=7;x-a=8;x-a=9;plain=yes;conditional=no;"
    answer = cpp.get("/parts/lists/1/2%2F3", "If-Match: *")
    assert answer.content.endswith(b"plain=no;conditional=yes;")


def test_forms_and_trailers(cpp):
    assert post(cpp, "/parts/form", b"a=1&b=+2").content == b"a=1;b= 2;first=1;other=d e;trailer=none;"
    with cpp.connect() as connection:
        connection.send(request("/parts/form", "Transfer-Encoding: chunked", method="POST")
                        + b"3\r\nz=1\r\n0\r\nX-Sum: 7\r\n\r\n")
        assert connection.response().content == b"z=1;first=none;other=d e;trailer=7;"


@pytest.mark.parametrize("path, content", [("1", b"1"), ("10", b"10"), ("0", None), ("11", None), ("x", None), ("5?plus=5", b"10"),
                                           ("5?plus=-5", b"0"), ("5?plus=6", None), ("5?plus=", None)])
def test_numbers_in_a_range(cpp, path, content):
    answer = cpp.get(f"/parts/range/{path}")
    assert (answer.status, answer.content) == (200, content) if content else answer.status == 400


# ---- Responses ----


def test_content_that_is_lent(cpp):
    answer = cpp.get("/parts/borrowed")
    assert (answer.status, answer.content) == (203, b"l" * 3_000_000)
    assert eventually(lambda: text(cpp, "/parts/lent-now") == "0")
    assert text(cpp, "/parts/borrowed-twice") == "once"
    assert eventually(lambda: text(cpp, "/parts/lent-now") == "0")
    with cpp.connect(receive_buffer=4096) as connection:
        connection.send(request("/parts/borrowed")).head()
        assert text(cpp, "/parts/lent-now") == "1"
        connection.reset()
    assert eventually(lambda: text(cpp, "/parts/lent-now") == "0")


@pytest.mark.parametrize("n", [0, 1, 100, 3_000_000])
def test_content_that_is_given(cpp, n):
    assert cpp.get(f"/parts/owned/{n}").content == b"o" * n
    assert text(cpp, "/parts/literal") == "literal"


def test_text_of_a_format(cpp):
    answer = cpp.get("/parts/format/7")
    assert (answer.status, answer.get("Content-Type"), answer.content) == (202, "application/json", b'{"n":7}')
    assert eventually(lambda: text(cpp, "/parts/sent") == "7 off")


# ---- Helper threads ----


def test_work_of_helper_threads(cpp):
    assert text(cpp, "/parts/offload/1") == "got 7"
    for path, status, why in (("offload-throws", 409, b"work"), ("done-throws", 410, b"done")):
        answer = cpp.get(f"/parts/{path}")
        assert answer.status == status and why in answer.content


def test_work_for_a_client_that_has_left(cpp):
    def has_begun():
        """False: the client was held up for as long as the work takes."""
        with cpp.connect() as connection:
            connection.send(request("/parts/offload/300"))
            begun = eventually(lambda: text(cpp, "/parts/jobs") == "1", 0.3)
            connection.reset()
        assert eventually(lambda: text(cpp, "/parts/jobs") == "0")
        return begun

    assert eventually(has_begun)


# ---- Filters and codings ----


def test_filters(cpp):
    answer = cpp.get("/parts/capitals/abc")
    assert (answer.get("X-Filtered"), answer.content) == ("200", b"ABC" * 1000)
    assert cpp.get("/parts/capitals/abc?leaves=1").content == b"abc" * 1000
    assert eventually(lambda: text(cpp, "/parts/filters") == "0")


@pytest.mark.parametrize("path, why", [("abc!", "no capital of this"), ("abc?throws=1", "no filter")])
def test_filters_that_throw(cpp, path, why):
    """The client gets no content that did not pass: 500, or where the head has left, a response that is cut off."""
    assert cpp.get(f"/parts/capitals/{path}").status == 500
    with cpp.connect() as connection:
        rest = connection.send(request(f"/parts/capitals/{path.replace('abc', 'a' * 2000)}")).to_end()
        assert b"\r\n0\r\n\r\n" not in rest and b"aaa" not in rest
    assert eventually(lambda: why in cpp.error_text())
    assert eventually(lambda: text(cpp, "/parts/filters") == "0")


def test_codings(cpp):
    answer = cpp.get("/parts/encoded/1000", "Accept-Encoding: gzip")
    assert gzip.decompress(answer.content) == b"x" * 1000
    assert cpp.get("/parts/encoded/1").status == 404  # it would not be shorter
    assert text(cpp, "/parts/told") == "0.2.0 text/css; charset=utf-8 ba gains"


# ---- Statistics ----


def test_statistics(cpp):
    assert text(cpp, "/hello/you") == "Hello, you!"
    assert text(cpp, "/parts/stats") == "right"
    assert "skua_http_server_request_duration_seconds" in text(cpp, "/parts/metrics")


# ---- Sites and servers ----


def test_sites_at_one_stroke(fresh):
    assert post(fresh, "/parts/sites").content == b"replaced"
    for name in ("one", "two"):
        assert eventually(lambda name=name: fresh.get("/", host=f"{name}.test").content == f"{name}.test".encode())
    assert post(fresh, "/parts/sites-wrong").content == b"a site's hosts are names without ports, separated by spaces"
    assert fresh.get("/", host="one.test").content == b"one.test"
    assert text(fresh, "/parts/freed") == "3"  # those that were wrong
    assert post(fresh, "/parts/withdraw/one.test").content == b"withdrawn"
    assert post(fresh, "/parts/withdraw/one.test").content == b"none has it"
    assert eventually(lambda: fresh.get("/", host="one.test").status == 404)
    assert post(fresh, "/parts/sites").content == b"replaced"
    assert eventually(lambda: text(fresh, "/parts/freed") == "5")


@pytest.mark.of_tls
def test_a_server_in_a_server(cpp):
    assert text(cpp, "/parts/server") == "2 turns clear secure removed refused freed"


def test_a_line_of_the_log(cpp):
    assert text(cpp, "/parts/logged") == "logged"
    assert eventually(lambda: "skua: a line of the program's\n" in cpp.error_text())


def test_leaving_the_listening_to_others(fresh):
    """The worker hears of it when its next turn begins; what it answers within this one keeps the connection."""
    with fresh.connect() as connection:
        assert connection.get("/parts/leave").content == b"left"
        assert eventually(lambda: connection.get("/hello/you").get("Connection") == "close")
        assert connection.ended()


@pytest.mark.parametrize("words", [["--turned", "1"], ["--inherited", "1"], ["--turned", "1", "--inherited", "1"]])
def test_a_loop_of_the_programs_own_and_sockets_that_are_inherited(launch, words):
    server = launch(numbered, "cpp", *words)
    assert text(server, "/hello/you") == "Hello, you!"
    assert text(server, "/co/sleep/20") == "slept"
    server.signal()
    server.judge_end()
