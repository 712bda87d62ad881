# SPDX-License-Identifier: MIT
"""Answering later: tickets resumed by other threads, posted functions, and handlers that block."""

import re
import threading
import time

import pytest
import tls
from h2_sockets import Http2
from server import eventually, numbered, secure
from tls import HTTP2
from wire import chunk, request


@pytest.fixture
def launch_threads(launch):
    return lambda *words, **options: launch(numbered, "threads", *words, **options)


@pytest.fixture(scope="module")
def threads():
    server = numbered("threads")
    yield server
    server.stop()


def counts(server):
    text = server.get("/counts").content.decode()
    return {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", text)}


def post(path, content, *lines, method="POST"):
    return request(path, f"Content-Length: {len(content)}", *lines, method=method, content=content)


def together(functions):
    """Runs them at the same time. Their results, and how long it took."""
    results = [None] * len(functions)

    def run(i):
        results[i] = functions[i]()

    started = time.monotonic()
    running = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return results, time.monotonic() - started


# ---- Tickets ----


def test_another_thread_answers(threads):
    with threads.connect() as connection:
        for ms in (0, 1, 50):
            response = connection.get(f"/later/{ms}")
            assert (response.status, response.content) == (200, b"later\n")
        assert connection.get("/").content == b"ok\n"


def test_the_worker_serves_others_meanwhile(threads):
    def answered():
        with threads.connect() as slow, threads.connect() as quick:
            slow.send(request("/later/400"))
            count = 0
            while slow.silent(0.001):
                assert quick.get("/").status == 200
                count += 1
            assert slow.response().content == b"later\n"
            return count

    assert eventually(lambda: answered() > 10)


def test_pipelined_requests_wait_their_turn(threads):
    with threads.connect() as connection:
        connection.send(request("/later/30") + request("/") + request("/later/0") + request("/"))
        assert [connection.response().content for _ in range(4)] == [b"later\n", b"ok\n"] * 2


def test_many_tickets_at_a_time(threads):
    def ask():
        with threads.connect() as connection:
            return [connection.get("/later/5").content for _ in range(10)]

    results, _ = together([ask] * 16)
    assert results == [[b"later\n"] * 10] * 16


def test_resumed_once(launch_threads):
    server = launch_threads()
    with server.connect() as connection:
        connection.send(request("/hold"))
        assert eventually(lambda: server.get("/resume").content == b"no error")
        assert connection.response().content == b"later\n"
        assert server.get("/resume").content == b"closed"


def test_the_request_has_gone(launch_threads):
    server = launch_threads()
    before = counts(server)["without"]
    connection = server.connect()
    connection.send(request("/later/200"))
    held = server.connect()
    held.send(request("/hold"))
    assert server.get("/").status == 200  # behind them
    connection.reset()
    held.reset()
    assert server.get("/").status == 200
    assert server.get("/resume").content == b"closed"
    time.sleep(0.3)
    assert counts(server)["without"] == before  # it was gone before it was resumed: refused


def test_the_handlers_deadline(launch_threads):
    server = launch_threads("handler_timeout_ns=300000000")
    with server.connect() as connection:
        response = connection.get("/hold")
        assert response.status == 503 and (response.closes or HTTP2)
    assert server.get("/resume").content == b"closed"
    assert eventually(lambda: server.get("/later/10").content == b"later\n")


def test_stopping_with_tickets_out(launch_threads):
    for ends in (False, True):
        server = launch_threads("grace_ns=10000000000" if ends else "grace_ns=200000000")
        held, later = server.connect(), server.connect()
        held.send(request("/hold"))
        if ends:
            later.send(request("/later/100"))
        assert server.get("/").status == 200  # behind them
        server.signal()
        if ends:
            assert later.response().content == b"later\n"  # within the grace
            held.reset()
        server.judge_end()


def test_posts_run_in_order(threads):
    assert threads.get("/post").status == 200
    results, _ = together([lambda: threads.get("/post").status] * 4)
    assert results == [200] * 4


# ---- Blocking ----


def lines(response):
    return dict(line.split("=", 1) for line in response.content.decode().splitlines())


def test_everything_can_be_read(threads):
    with threads.connect() as connection:
        connection.send(post("/block/echo/a%20b?q=1%2B1+2", b"hello", "User-Agent: test", "Cookie: a=b; c=d", method="PUT"))
        response = connection.response()
        assert response.status == 201 and response.framing == "length"
        assert lines(response) == {
            "method": "PUT", "path": "/block/echo/a b", "id": "a b", "q": "1+1 2", "agent": "test", "cookie": "d",
            "sum": "", "peer": "127.0.0.1", "content": "hello",
        }
        assert connection.get("/").status == 200


def test_chunked_content_and_trailers(threads):
    with threads.connect() as connection:
        connection.send(b"POST /block/echo/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            connection.send(chunk(b"c" * 1000))
        connection.send(b"0\r\nX-Sum: 77\r\n\r\n")
        response = connection.response()
        assert response.get("x-length") == "100000" and lines(response)["sum"] == "77"


def test_the_client_is_told_to_continue(threads):
    with threads.connect() as connection:
        connection.send(b"POST /block/echo/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                        b"Expect: 100-continue\r\n\r\n")
        assert connection.interim().status == 100
        connection.send(b"hi")
        assert lines(connection.response())["content"] == "hi"


def test_methods_and_paths_are_as_for_other_routes(threads):
    response = threads.get("/block/sleep/0", method="POST")
    assert response.status == 405 and response.get("allow") == "GET, HEAD"
    assert threads.get("/block/none").status == 404
    with threads.connect() as connection:
        connection.send(request("/block/large/3", method="HEAD"))
        head = connection.response("HEAD")
        assert head.status == 200 and head.get("content-length") == "3072"
        assert connection.get("/").status == 200


@pytest.mark.parametrize("kib", [0, 1, 8, 9, 3000])
def test_the_answers_content_is_a_copy(threads, kib):
    response = threads.get(f"/block/large/{kib}")
    assert response.content == b"y" * (kib * 1024)


def test_no_answer_is_500(launch_threads):
    server = launch_threads()
    with server.connect() as connection:
        response = connection.get("/block/nothing")
        assert response.status == 500 and response.get("x-lost") is None
        assert connection.get("/").status == 200
    assert eventually(lambda: "gave no response" in server.error_text())


def test_what_is_lost_makes_it_500(launch_threads):
    server = launch_threads()
    for n in range(13):
        response = server.get(f"/block/misuse/{n}")
        assert response.status == 500 and b"misused" not in response.content, n
    for sentence in ("a field was not one that a program may add", "did not fit", "status of a response", "media type",
                     "location is empty", "redirect's status", "error's status", "length of a response"):
        assert eventually(lambda: sentence in server.error_text()), sentence
    response = server.get("/block/misuse/13")
    assert (response.status, response.content) == (200, b"first\n")
    assert response.get("x-good") == "yes" and response.get("x-late") is None
    assert eventually(lambda: 'route "GET /block/misuse/{n}": a second response' in server.error_text())


def test_each_way_to_respond(threads):
    for how, status, content, of_type in (("text", 200, b"text\n", "text/plain; charset=utf-8"),
                                          ("html", 200, b"<!doctype html>", "text/html; charset=utf-8"),
                                          ("json", 200, b"{}", "application/json"), ("redirect", 303, b"", None)):
        response = threads.get(f"/block/respond/{how}")
        assert (response.status, response.content, response.get("content-type")) == (status, content, of_type)
        assert response.get("set-cookie") == "a=b"
    assert response.get("location") == "/else%20where"
    assert b"404" in threads.get("/block/respond/error").content
    assert threads.get("/block/respond/error", "Accept: text/html").get("content-type").startswith("text/html")
    assert b"It is there." in threads.get("/block/respond/refuse").content


@pytest.mark.skipif(HTTP2, reason="the connection of HTTP/2 goes on")
def test_closing_and_aborting(threads):
    with threads.connect() as connection:
        assert connection.get("/block/respond/close").closes and connection.ended()
    with threads.connect() as connection:
        connection.send(request("/block/respond/abort"))
        assert connection.ended()


def test_objects_of_middleware(threads):
    for _ in range(2):
        assert threads.get("/block/object").content == b"kept"


@pytest.mark.parametrize("kib", [0, 1, 64, 65, 3000])
@pytest.mark.parametrize("length", ["", "&length=1"])
def test_content_that_is_written(threads, kib, length):
    response = threads.get(f"/block/stream/{kib}?trailer=1{length}")
    assert response.content == b"abcdefghijklmnopqrstuvwxyz" * (kib * 1024 // 26) + b"abcdefghijklmnopqrstuvwxyz"[:kib * 1024 % 26]
    assert response.get("x-streams") == "yes"
    if not length:
        assert response.trailers == [("X-Sum", "all")] or HTTP2 and response.trailers == [("x-sum", "all")]
    assert threads.get(f"/block/stream/{kib}", method="HEAD").content == b""


def test_content_that_is_not_finished_is_cut_off(launch_threads):
    server = launch_threads()
    with server.connect() as connection:
        with pytest.raises((EOFError, OSError)):
            connection.get("/block/stream/100?unfinished=1")
    assert eventually(lambda: "has returned without skua_finish" in server.error_text())
    assert server.get("/").status == 200


def test_a_handler_that_writes_waits_for_its_reader(launch_threads):
    """It can be ahead by a limit only, and is told when the reader leaves."""
    server = launch_threads()
    with server.connect(receive_buffer=4096) as connection:
        connection.send(request("/block/stream/20000"))
        assert eventually(lambda: counts(server)["begun"] == 1)
        time.sleep(0.3)
        assert counts(server)["finished"] == 0
        connection.reset()
    assert eventually(lambda: counts(server)["finished"] == 1)
    assert counts(server)["gone"] == 1


def test_a_blocking_handler_refuses_when_its_stream_has_been_reset(launch):
    """It looks at the request while the worker ends that; tests with the thread sanitizer see whether both touch the same."""
    server = launch(numbered, "threads")
    connection = Http2(server)
    numbers = [connection.h2.get_next_available_stream_id() + 2 * i for i in range(4)]
    for number in numbers:
        connection.h2.send_headers(number, [(":method", "GET"), (":scheme", connection.scheme), (":path", "/block/refuse/300"),
                                            (":authority", "localhost")], end_stream=True)
    connection.flush()
    assert eventually(lambda: counts(server)["begun"] == 4)
    for number in numbers:
        connection.h2.reset_stream(number, 8)
    connection.flush()
    assert eventually(lambda: counts(server)["finished"] == 4)
    assert server.get("/block/refuse/0").status == 409


def test_events_of_a_blocking_handler(threads):
    response = threads.get("/block/events/20")
    assert response.get("content-type") == "text/event-stream" and response.get("cache-control") == "no-store"
    assert response.content == b"".join(b"event: tick\ndata: %d\n\n" % i for i in range(20))


def test_blocking_handlers_run_beside_each_other(threads):
    def seconds():
        results, took = together([lambda: threads.get("/block/sleep/300").status] * 8 +
                                 [lambda: threads.get("/").status] * 8)
        assert results == [200] * 16
        return took

    assert eventually(lambda: seconds() < 8 * 0.3)


def test_a_full_queue_is_503(launch_threads):
    server = launch_threads("blocking_threads=2", "blocking_queue_max=1")
    running, waits = [holder(server, n) for n in (1, 2)], server.connect()
    waits.send(request("/block/sleep/0"))
    assert server.get("/").status == 200  # behind it
    with server.connect() as connection:
        assert connection.get("/block/sleep/0").status == 503
        assert connection.get("/").status == 200
    for connection in running:
        connection.close()
    assert waits.response().status == 200
    assert server.get("/block/sleep/0").status == 200


def test_too_much_content(launch_threads):
    server = launch_threads("content_octets_max=10")
    with server.connect() as connection:
        connection.send(post("/block/echo/x", b"0123456789"))
        assert connection.response().status == 201
        connection.send(post("/block/echo/x", b"0123456789a"))
        assert connection.response().status == 413


def test_a_route_has_a_time_of_its_own(launch_threads):
    """Less than the server's, more, and the same."""
    server = launch_threads("handler_timeout_ns=600000000")
    with server.connect() as never:
        never.send(request("/timed/never"))
        for path, least in (("/timed/soon", 0.05), ("/timed/server", 0.5)):
            began = time.monotonic()
            assert server.get(path).status == 503
            assert time.monotonic() - began > least
        assert never.silent(0.3)


def test_a_route_has_a_limit_of_its_own(launch_threads):
    """Above that of the server, or below; at its edge, stated and in chunks."""
    server = launch_threads("content_octets_max=10")
    for path, limit, status in (("/block/more/x", 20, 201), ("/limited", 5, 200)):
        with server.connect() as connection:
            connection.send(post(path, b"x" * limit))
            assert connection.response().status == status
            connection.send(post(path, b"x" * (limit + 1)))
            assert connection.response().status == 413


def test_what_a_handler_reads_outlives_the_connection(launch_threads):
    server = launch_threads()
    connections = [server.connect() for _ in range(5)]
    for connection in connections:
        connection.send(post("/block/until-gone/alpha", b"z" * 50000, "User-Agent: test"))
    assert eventually(lambda: counts(server)["begun"] == 5)
    for connection in connections:
        connection.reset()
    assert eventually(lambda: counts(server)["gone"] == 5)
    for _ in range(200):  # memory of requests is used again
        assert server.get("/?" + "w" * 2000).status == 200
    assert eventually(lambda: counts(server)["finished"] == 5)
    assert counts(server)["intact"] == 5


def test_requests_wait_for_helper_threads(launch_threads):
    """A handler, and middleware in front of one; a client that has left finds nobody there when the work is done."""
    server = launch_threads()
    assert server.get("/offload/20").content == b"offloaded"
    assert server.get("/passed/20").content == b"ok\n"

    def gone():
        """How many left before the work was done, of three."""
        before = counts(server)
        connections = [server.connect() for _ in range(4)]
        for connection in connections:
            connection.send(request("/offload/1000"))
        assert server.get("/").status == 200  # behind them
        for connection in connections[1:]:
            connection.reset()
        assert connections[0].response().content == b"offloaded"
        assert eventually(lambda: counts(server)["begun"] == before["begun"] + 4)
        return counts(server)["gone"] - before["gone"]

    assert eventually(lambda: gone() == 3)


def test_a_handler_is_told_at_once_that_its_client_has_left(launch_threads):
    server = launch_threads()
    connections = [server.connect() for _ in range(5)]
    for connection in connections:
        connection.send(post("/block/until-gone/alpha", b"z" * 50000, "User-Agent: test"))
    assert eventually(lambda: counts(server)["begun"] == 5)
    for connection in connections[:2]:
        connection.half_leave()
    for connection in connections[2:]:
        connection.close()
    assert eventually(lambda: counts(server)["finished"] == 5, within=10)
    assert counts(server)["intact"] == 5
    assert connections[0].ended() and connections[1].ended()


def holder(server, begun=1):
    """The connection of a handler that has one of the threads until it is closed. begun: how many have begun then."""
    connection = server.connect()
    connection.send(post("/block/until-gone/alpha", b"z" * 50000, "User-Agent: test"))
    assert eventually(lambda: counts(server)["begun"] == begun)
    return connection


def test_a_handler_whose_client_has_left_before_a_thread_was_free(launch_threads):
    server = launch_threads("blocking_threads=1")
    first, second = holder(server), server.connect()
    second.send(request("/block/sleep/0")).half_leave()
    assert server.get("/").status == 200  # behind it
    first.close()
    assert second.ended()
    assert server.get("/block/sleep/0").status == 200
    assert counts(server)["begun"] == 2


def connector(launch, carrier, *words):
    """A server, and what connects to it over that carrier."""
    if carrier != "h2":
        server = launch(numbered, "threads", *words)
        return server, lambda: server.connect(http2=carrier == "h2c")
    server = launch(secure, "threads", *words)
    trust = tls.context()
    trust.set_alpn_protocols(["h2"])
    return server, lambda: server.connect(tls={"tls": trust}, http2=True)


@pytest.mark.in_the_clear("each carrier has its turn")
@pytest.mark.parametrize("leave", ["close", "reset"])
@pytest.mark.parametrize("carrier", ["http1", "h2c", "h2"])
def test_clients_that_have_left_keep_no_connection(launch, carrier, leave):
    """One has the only thread, which does not look whether it is there; the others wait for a thread."""
    server, connect = connector(launch, carrier, "blocking_threads=1")
    clients = [connect().send(request("/block/gate"))]
    assert eventually(lambda: counts(server)["begun"] == 1)
    clients += [connect().send(request("/block/gate")) for _ in range(30)]
    assert server.get("/").status == 200  # behind them
    held = server.descriptors()
    for client in clients:
        getattr(client, leave)()
    left = eventually(lambda: server.descriptors() <= held - len(clients))
    finished = counts(server)["finished"]
    assert server.get("/gate").status == 200
    assert left and finished == 0
    assert eventually(lambda: counts(server)["finished"] == 1)
    assert server.get("/block/gate").content == b"open\n"
    assert counts(server)["begun"] == 2 and counts(server)["gone"] == 1


def test_a_ticket_of_a_client_that_has_left(launch_threads):
    server = launch_threads()
    with server.connect() as held:
        held.send(request("/hold")).half_leave()
        assert held.ended()
    assert server.get("/resume").content == b"closed"


def test_the_deadline_of_a_blocking_handler(launch_threads):
    server = launch_threads("handler_timeout_ns=300000000")
    with server.connect() as connection:
        connection.send(post("/block/until-gone/alpha", b"z" * 50000, "User-Agent: test"))
        response = connection.response()
        assert response.status == 503 and (response.closes or HTTP2)
    assert eventually(lambda: counts(server)["finished"] == 1)
    assert counts(server)["intact"] == 1


def test_a_request_that_left_the_queue_is_not_handled(launch_threads):
    server = launch_threads("blocking_threads=1")
    first, second = holder(server), server.connect()
    second.send(request("/block/sleep/0"))
    assert server.get("/").status == 200  # it waits in the queue
    second.reset()
    assert server.get("/").status == 200
    first.close()
    assert server.get("/block/sleep/0").status == 200
    assert counts(server)["begun"] == 2


def test_stopping_waits_and_says_for_whom(launch_threads):
    def stopped():
        """All that it says, of handlers that still run where they do."""
        server = launch_threads()
        slow = [server.connect() for _ in range(2)]
        for connection in slow:
            connection.send(request("/block/sleep/1500"))
        assert eventually(lambda: counts(server)["begun"] == 2)
        server.signal()  # a grace of 200 ms
        text = server.judge_end()
        assert text.count("2 blocking handlers still run past the deadline of skua_stop") <= 1
        return text

    assert eventually(lambda: "2 blocking handlers still run past the deadline of skua_stop" in stopped())
