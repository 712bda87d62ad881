# SPDX-License-Identifier: MIT
"""skua.hpp: handlers, exceptions, tickets, coroutines, over real sockets (tests/servers/cpp.cpp)."""

import json
import time

import pytest
import websocket as ws
from certificates import SecureConnection, make, trusting
from ports import free_port
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


@pytest.mark.of_tls
def test_how_a_request_came(launch, tmp_path):
    port, pair = free_port(), make(tmp_path, authority=True)
    server = launch(numbered, "cpp", "--tls-port", port, "--cert", pair.cert, "--key", pair.key)
    assert server.get("/tls").content == b"http in the clear"
    assert server.get("/blocking-tls").content == b"in the clear"
    for shows, client in ((False, " 0"), (True, "CN=a 32")):
        context = trusting(pair.cert)
        if shows:
            context.load_cert_chain(pair.cert, pair.key)
        with SecureConnection(("127.0.0.1", port), context) as connection:
            cipher = connection.socket.cipher()[0]
            assert connection.get("/tls").content.decode() == f"https secure TLSv1.3 {cipher} localhost {client}"
            assert connection.get("/blocking-tls").content.decode() == f"secure TLSv1.3 {cipher} localhost {client}"


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
    assert cpp.get("/throws/200").status == 500  # no status of an error
    assert cpp.get("/co/throws").status == 500
    assert cpp.get("/co/nothing").status == 500
    assert cpp.get("/co/blocking-throws").content == b"caught row"
    with cpp.connect() as connection:
        assert connection.get("/twice").content == b"first"
        assert connection.get("/twice").content == b"first"  # the answer was complete, and so the connection goes on


def test_the_log_names_the_request_of_an_exception(fresh):
    fresh.get("/throws?a=b")
    fresh.get("/co/throws")
    fresh.get("/throws/500/the%20database%20is%20down")
    with fresh.connect() as connection:
        connection.send(posted("/blocking/13"))
        assert connection.response().status == 500
    fresh.get("/throws/404/not%20for%20the%20log")
    lines = ("GET /throws?a=b: thrown by a handler", "GET /co/throws: thrown by a coroutine",
             "GET /throws/500/the%20database%20is%20down: the database is down", "POST /blocking/13: unlucky")
    assert eventually(lambda: all(f"skua: {line}\n" in fresh.error_text() for line in lines))
    assert "not for the log" not in fresh.error_text()


def test_the_sentence_of_an_http_error_is_sent(cpp):
    plain = cpp.get("/throws/404/no%20such%20pot", "Accept: text/plain")
    assert (plain.status, plain.content) == (404, b"404 Not Found. no such pot\n")
    page = cpp.get("/throws/409/%3Cb%3E%26%22", "Accept: text/html")
    assert page.status == 409 and b"<p>&lt;b&gt;&amp;&quot;</p>" in page.content
    assert page.get("content-security-policy") and page.get("x-content-type-options") == "nosniff"
    bare = cpp.get("/throws/404", "Accept: text/plain")
    assert bare.content == b"404 Not Found. There is nothing at this address.\n"
    with cpp.connect() as connection:
        connection.send(posted("/blocking/15"))
        answer = connection.response()
        assert (answer.status, answer.content) == (503, b"503 Service Unavailable. the <database> is down\n")


def test_errors_are_told_by_the_program(cpp):
    for path, status, sentence, thrown in (("/told/none", 404, "", "nothing"), ("/told/throws", 500, "", "by a handler"),
                                           ("/told/refuses", 409, "no such pot", None)):
        answer = cpp.get(path)
        told = json.loads(answer.content)
        assert (answer.status, told["status"], told["sentence"]) == (status, status, sentence)
        assert thrown is None or told["thrown"] == thrown


def test_fields_of_forms(cpp):
    kind = "Content-Type: application/x-www-form-urlencoded"
    for content, lines, status, told in ((b"name=a+b&age=7", [kind], 200, b"a b 7"), (b"age=", [kind], 400, None),
                                         (b"name=x", [], 200, b"nobody 0")):
        with cpp.connect() as connection:
            connection.send(posted("/form", content, *lines))
            answer = connection.response()
        assert answer.status == status and told in (answer.content, None)


def test_groups(cpp):
    for path, status, content, deep in (("/api/users/7", 200, b"user 7", None), ("/api/deep/er/", 200, b"deeper", "yes"),
                                        ("/api/deep/er/est", 200, b"deepest", "yes"),
                                        ("/api/deep/er", 200, b"without a slash", "yes"), ("/api/none", 404, None, None)):
        answer = cpp.get(path)
        assert answer.status == status and content in (answer.content, None)
        assert answer.get("X-Api") == "yes" and answer.get("X-Deep") == deep


def test_sites_are_put_while_the_server_runs(cpp):
    for name in ("a", "b", "a"):
        with cpp.connect() as connection:
            connection.send(posted(f"/sites/{name}"))
            assert connection.response().content == b"put"
        eventually(lambda name=name: cpp.get("/", host=f"{name}.test").content == f"site {name}".encode())
    for path, status, content in (("/throws", 500, b"the site's error"), ("/none", 404, b"the site's error"),
                                  ("/blocking", 200, b"blocking")):
        answer = cpp.get(path, host="a.test")
        assert (answer.status, answer.content, answer.get("X-Site")) == (status, content, "yes")


def test_a_long_sentence_is_cut(cpp):
    answer = cpp.get("/throws/400/" + "x" * 5000, "Accept: text/plain")
    assert answer.status == 400 and answer.content == b"400 Bad Request. " + b"x" * 500 + b"\n"


def test_a_status_set_on_a_copy_is_kept(cpp):
    for path in ("/copied", "/co/copied"):
        answer = cpp.get(path)
        assert (answer.status, answer.content) == (404, b"not here")
    with cpp.connect() as connection:
        connection.send(posted("/blocking/16"))
        assert connection.response().status == 404


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


@pytest.mark.parametrize("kind", ["plain", "task", "blocking"])
def test_middleware_that_waits(cpp, kind):
    """A coroutine before a handler of each kind: it lets the request go on, or answers, or throws."""
    inside = cpp.get(f"/waiting/{kind}?who=ada")
    assert (inside.status, inside.get("x-who"), inside.content) == (200, "ada", kind.encode())
    answered = cpp.get(f"/waiting/{kind}?who=guest")
    assert (answered.status, answered.content) == (202, b"from the door")
    assert cpp.get(f"/waiting/{kind}?who=nobody").status == 403
    assert cpp.get("/waiting/missing?who=ada").status == 404


def test_a_client_that_leaves_middleware_that_waits(fresh):
    for _ in range(5):
        with fresh.connect() as connection:
            connection.send(request("/waiting/plain?who=late"))
    assert fresh.get("/waiting/plain?who=ada").content == b"plain"


def test_on_end_runs_each_once(fresh):
    assert fresh.get("/ended").content == b"0"
    assert eventually(lambda: fresh.get("/ended").content == b"101" or None)


def test_on_end_in_the_middle_of_the_end(fresh):
    assert fresh.get("/ending").content == b"ending"
    assert eventually(lambda: fresh.get("/told").content == b"middleware's, its own, too late" or None)


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


def test_a_timer_destroyed_by_its_own_function(cpp):
    assert cpp.get("/timer").content == b"rung once"


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
        assert connection.offer(posted("/count", b"x" * (1024 * 1024 + 1))).status == 413


@pytest.mark.parametrize("head", ["Content-Length: 11", "Transfer-Encoding: chunked"])
def test_content_past_its_limit_is_not_acted_on(fresh, head):
    content = b"elevenocts!" if "Length" in head else b"b\r\nelevenocts!\r\n0\r\n\r\n"
    with fresh.connect() as connection:
        connection.send(request("/co/store", head, method="POST") + content)
        assert connection.response().status == 413
    assert fresh.get("/co/stored").content == b"0"
    with fresh.connect() as connection:
        connection.send(posted("/co/store", b"ten octets"))
        assert connection.response().content == b"stored ten octets"
    assert fresh.get("/co/stored").content == b"1"


def test_a_poll_destroyed_by_its_own_function(cpp):
    assert cpp.get("/poll").content == b"polled both ways"


def test_a_coroutine_waits_for_a_descriptor(cpp):
    assert cpp.get("/co/readable/1").content == b"read r"
    assert cpp.get("/co/unreadable").content.startswith(b"refused: ")


def test_a_peer_that_goes_cancels_the_wait_for_a_descriptor(fresh):
    connection = fresh.connect()
    connection.send(request("/co/readable/0"))
    assert eventually(lambda: frames(fresh) == (1, 0))
    connection.reset()
    assert eventually(lambda: frames(fresh) == (0, 1))


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
    assert eventually(lambda: frames(fresh) == (0, 1))


def test_a_client_that_leaves_cancels_the_wait(fresh):
    connection = fresh.connect()
    connection.send(request("/co/sleep/20000"))
    assert eventually(lambda: frames(fresh) == (1, 0))
    connection.half_close()
    assert eventually(lambda: frames(fresh) == (0, 1))
    assert connection.ended()


def test_a_client_that_leaves_gets_what_a_helper_works_for(fresh):
    with fresh.connect() as connection:
        connection.send(request("/co/job/200")).half_close()
        assert connection.response().content == b"/co/job/200"
        assert connection.ended()


def test_work_that_runs_is_waited_for(fresh):
    """The frame stays until what it awaits has come back, though the peer is gone."""
    def is_seen_to_stay():
        connection, began = fresh.connect(), time.monotonic()
        connection.send(request("/co/job/800"))
        eventually(lambda: frames(fresh)[0] == 1, 0.8)
        connection.reset()
        time.sleep(0.2)
        stays = frames(fresh)[0] == 1
        is_over = time.monotonic() - began >= 0.8  # the client was held up for as long as the work takes
        assert stays or is_over
        assert eventually(lambda: frames(fresh)[0] == 0)
        return stays

    assert eventually(is_seen_to_stay)
    assert fresh.get("/co/job/1").content == b"/co/job/1"


def test_stopping_ends_what_waits(fresh):
    connections = [fresh.connect().send(request("/co/sleep/60000")) for _ in range(20)]
    assert eventually(lambda: frames(fresh)[0] == 20)
    fresh.signal()
    fresh.judge_end()
    assert all(connection.ended() for connection in connections)


# ---- WebSockets ----


def test_sockets(cpp):
    socket = ws.Socket(cpp, "/socket/one", "Sec-WebSocket-Protocol: a")
    assert socket.response.get("sec-websocket-protocol") == "a"
    assert socket.message() == "one"
    socket.send(ws.frame(ws.TEXT, "hi"))
    assert [socket.message(), socket.message()] == ["hi", "hi from a thread"]
    socket.send(ws.frame(ws.TEXT, "close"))
    assert socket.frame()[0] == ws.CLOSE
    socket.send(ws.close(4000))
    assert socket.ended()
    assert eventually(lambda: "socket 4000 of one" in cpp.error_text())


def test_a_socket_without_its_request(cpp):
    """An object has what it needs, and is gone behind its end. The log names its route in place of the request."""
    socket = ws.Socket(cpp, "/socket/without/three")
    assert socket.message() == "three"
    socket.send(ws.frame(ws.TEXT, "request?"))
    assert socket.message() == "gone, and three" and cpp.get("/watched").content == b"1"
    socket.send(ws.frame(ws.TEXT, "throw"))
    assert socket.closed() == (1011, "")
    socket.send(ws.close(1011))
    assert socket.ended()
    assert eventually(lambda: "GET /without/{name}: unlucky without a request" in cpp.error_text())
    assert eventually(lambda: "three closes" in cpp.error_text() and cpp.get("/watched").content == b"0")


def test_topics(cpp):
    ann, ben = ws.Socket(cpp, "/room/hall"), ws.Socket(cpp, "/room/hall")
    assert ann.message() == ben.message() == "joined"
    with cpp.connect() as stream:
        stream.send(request("/room-events/hall"))
        assert stream.head().get("content-type") == "text/event-stream"
        assert stream.one_chunk() == b"data: joined\n\n"
        ann.send(ws.frame(ws.TEXT, "leave"))
        assert ben.message() == "leave"
        ben.send(ws.frame(ws.TEXT, "hi"))
        assert b"".join(stream.one_chunk() for _ in range(2)) == b"event: said\ndata: leave\n\nevent: said\ndata: hi\n\n"
    assert ann.connection.silent(0.1)
    ann.leave()
    ben.leave()


def test_a_socket_whose_function_throws(cpp):
    socket = ws.Socket(cpp, "/socket/two")
    assert socket.message() == "two"
    socket.send(ws.frame(ws.TEXT, "throw"))
    assert socket.closed() == (1011, "")
    socket.send(ws.close(1011))
    assert socket.ended()
    assert eventually(lambda: "unlucky" in cpp.error_text())


# ---- Several at a time ----


@pytest.mark.parametrize("path, content", [("all", b"1 2"), ("list/0", b"0"), ("list/50", b"1225"), ("any", b"1"),
                                           ("within/20", b"5"), ("within/5000", b"too late"), ("nested", b"6"),
                                           ("helpers", b"12"), ("callback", b"42"), ("stop/40", b"stopped"),
                                           ("stop/0", b"done")])
def test_tasks_together(fresh, path, content):
    for _ in range(3):
        answer = fresh.get(f"/co/{path}")
        assert (answer.status, answer.content) == (200, content)
    assert eventually(lambda: frames(fresh)[0] == 0)


def test_one_that_fails_gives_up_the_others(fresh):
    assert fresh.get("/co/all-fail/-1").status == 409  # who does not give them up waits for a minute
    assert frames(fresh) == (0, 2)


@pytest.mark.parametrize("path", ["all-fail/1", "any", "callback", "helpers", "nested", "stop/100", "list/20"])
def test_clients_that_leave_tasks_together(fresh, path):
    for _ in range(5):
        with fresh.connect() as connection:
            connection.send(request(f"/co/{path}"))
            time.sleep(0.01)
            connection.reset()
    assert eventually(lambda: frames(fresh)[0] == 0)
    assert fresh.get("/hello/you").status == 200
