# SPDX-License-Identifier: MIT
"""skua.hpp: handlers, exceptions, tickets, coroutines, over real sockets (tests/servers/cpp.cpp)."""

import time

import pytest
from server import eventually, numbered
from wire import posted, request


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


def frames(server):
    return tuple(int(n) for n in server.get("/frames").content.split())


# ---- Plain handlers ----


def test_parameters(cpp):
    assert cpp.get("/hello/you%20two").content == b"Hello, you two!"
    assert cpp.get("/square/12").content == b"144"
    assert cpp.get("/square/-3?plus=1").content == b"10"
    assert cpp.get("/flag?on=true").content == b"on" and cpp.get("/flag").content == b"off"


@pytest.mark.parametrize("path", ["/square/x", "/square/12x", "/square/99999999999", "/square/1?plus=", "/flag?on=yes"])
def test_bad_parameters_are_400(cpp, path):
    assert cpp.get(path).status == 400


def test_status_fields_cookies(cpp):
    pot = cpp.get("/teapot")
    assert (pot.status, pot.get("x-kind"), pot.content) == (418, "pot", b"short and stout")
    bowl = cpp.get("/cookie", "Cookie: a=b; id=zz")
    assert bowl.content == b"zz" and bowl.get("set-cookie").startswith("id=a1;")
    assert "Max-Age=60" in bowl.get("set-cookie") and "HttpOnly" in bowl.get("set-cookie")
    assert b"X-A=1\nX-A=2\n" in cpp.get("/fields", "X-A: 1", "X-A: 2").content


def test_exceptions_become_answers(cpp):
    assert cpp.get("/throws").status == 500
    assert eventually(lambda: "thrown by a handler" in cpp.out_text() + cpp.error_text())
    assert cpp.get("/throws/403").status == 403
    assert cpp.get("/co/throws").status == 500
    assert cpp.get("/co/nothing").status == 500
    assert cpp.get("/co/blocking-throws").content == b"caught row"
    twice = cpp.get("/twice")
    assert twice.content == b"first"


def test_an_exception_in_the_middle_of_a_stream_breaks_it(cpp):
    connection = cpp.connect()
    connection.send(request("/co/breaks"))
    assert connection.head().status == 200
    rest = connection.to_end()
    assert b"0\r\n\r\n" not in rest
    assert cpp.get("/hello/x").status == 200


def test_state(fresh):
    assert [fresh.get("/counter").content for _ in range(3)] == [b"1", b"2", b"3"]
    assert fresh.get("/counter-later").content == b"4"


def test_collect(cpp):
    with cpp.connect() as connection:
        connection.send(posted("/collect", b"these octets"))
        assert connection.response().content == b"got these octets"
        connection.send(posted("/collect", b"x" * 101))
        assert connection.response().status == 413


def test_middleware(cpp):
    outside = cpp.get("/guarded/x")
    inside = cpp.get("/guarded/x", "Authorization: Bearer sesame")
    assert (outside.status, outside.get("x-status")) == (401, "401")
    assert (inside.status, inside.get("x-status"), inside.content) == (200, "200", b"inside")


def test_on_end_runs_each_once(fresh):
    assert fresh.get("/ended").content == b"0"
    assert eventually(lambda: fresh.get("/ended").content == b"101" or None)


def test_plain_handlers_allocate_nothing(fresh):
    with fresh.connect() as connection:
        for _ in range(3):
            connection.get("/hello/somebody-with-a-long-name")
            connection.get("/square/7")
        before = int(connection.get("/allocations").content)
        for _ in range(50):
            connection.get("/hello/somebody-with-a-long-name")
        assert int(connection.get("/allocations").content) == before


# ---- From other threads ----


def test_ticket(cpp):
    assert cpp.get("/ticket").content == b"from a thread"


def test_blocking(cpp):
    with cpp.connect() as connection:
        connection.send(posted("/blocking/7", b"abc"))
        answer = connection.response()
        assert (answer.status, answer.get("x-n"), answer.content) == (201, "7", b"abc")
        for path, status in (("/blocking/13", 500), ("/blocking/14", 409), ("/blocking/x", 400)):
            connection.send(posted(path))
            assert connection.response().status == status


# ---- Coroutines ----


@pytest.mark.parametrize("n", [0, 1, 70_000, 1_000_000])
def test_body_and_blocking(cpp, n):
    with cpp.connect() as connection:
        connection.send(posted("/count", b"x" * n))
        assert connection.response().content == str(2 * n).encode()


def test_body_past_its_limit(cpp):
    with cpp.connect() as connection:
        connection.send(posted("/count", b"x" * (1024 * 1024 + 1)))
        assert connection.response().status == 413


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_stream(cpp, n):
    answer = cpp.get(f"/co/stream/{n}")
    assert (answer.status, len(answer.content)) == (200, 4096 * n)


def test_a_reader_that_stops_costs_one_frame(fresh):
    connection = fresh.connect(receive_buffer=4096)
    connection.send(request("/co/stream/100000"))
    connection.head()
    time.sleep(0.3)
    assert frames(fresh)[0] == 1
    assert fresh.get("/co/stream/10").status == 200
    connection.reset()
    assert eventually(lambda: frames(fresh)[0] == 0)


def test_a_peer_that_goes_cancels_the_wait(fresh):
    connection = fresh.connect()
    connection.send(request("/co/sleep/20000"))
    assert eventually(lambda: frames(fresh) == (1, 0))
    connection.reset()
    assert eventually(lambda: frames(fresh) == (0, 1), within=5)


def test_work_that_runs_is_waited_for(fresh):
    """The frame stays until what it awaits has come back, though the peer is gone."""
    connection = fresh.connect()
    connection.send(request("/co/job/800"))
    assert eventually(lambda: frames(fresh)[0] == 1)
    connection.reset()
    time.sleep(0.2)
    assert frames(fresh)[0] == 1
    assert eventually(lambda: frames(fresh)[0] == 0)
    assert fresh.get("/co/job/1").content == b"/co/job/1"


def test_stopping_ends_what_waits(fresh):
    connections = [fresh.connect().send(request("/co/sleep/60000")) for _ in range(20)]
    assert eventually(lambda: frames(fresh)[0] == 20)
    fresh.signal()
    fresh.judge_end(within=10)
    assert all(connection.ended() for connection in connections)
