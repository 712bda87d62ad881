# SPDX-License-Identifier: MIT
"""Limits of docs/limits.md at their edge, as far as other files do not show them (test_requests, test_deadlines)."""

import contextlib
import time

import pytest
from server import eventually
from wire import chunk, request


def test_parameters(launch_rules):
    rules = launch_rules("params_max=3")
    assert b"\nq=v\n" in rules.get("/echo/x?a=1&b=2&q=v").content
    assert b"\nq=\n" in rules.get("/echo/x?a=1&b=2&c=3&q=v").content


@pytest.mark.of_http1("a response before the end of its request resets the stream there: test_h2.py")
@pytest.mark.parametrize("octets,kept", [(1000, True), (1001, False)])
@pytest.mark.parametrize("chunked", [False, True])
def test_discarded_content(launch_rules, octets, kept, chunked):
    rules = launch_rules("discard_octets_max=1000")
    with rules.connect() as connection:
        field = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {octets}"
        content = chunk(b"a" * octets) + b"0\r\n\r\n" if chunked else b"a" * octets
        connection.send(request("/ignore", field, method="POST"))
        assert connection.response().closes == (not kept and not chunked)
        if kept:
            assert connection.send(content).get("/").status == 200
        else:
            with contextlib.suppress(ConnectionError):
                connection.send(content + request("/"))
            assert connection.ended()


@pytest.mark.of_http1("a connection is closed behind what cannot be read; there GOAWAY says so")
def test_lingering(launch_rules):
    """Octets that a client still sends are drained, until there are too many: then it is reset."""
    rules = launch_rules("linger_octets_max=10000", f"linger_timeout_ns={60 * 10**9}")
    with rules.connect() as connection:
        connection.send(b"bad\r\n\r\n")
        assert connection.response().status == 400
        assert connection.ended()
        connection.send(b"a" * 5000)
        connection.send(b"a" * 4000)
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                connection.send(b"a" * 1000)
                time.sleep(0.01)


@pytest.mark.of_http1("there the parser goes on, and only content waits: test_h2_windows.py")
def test_queued_octets(launch_rules):
    """Beyond it nothing is parsed: of many pipelined requests only the first reach a handler."""
    rules = launch_rules("out_octets_max=1")
    with rules.connect(receive_buffer=65536) as connection:
        connection.send(request("/watched/8000000") + request("/watched/1") * 3)
        connection.head()
        assert b"sent=0" in rules.get("/ends").content
        connection.exactly(8_000_000)
        for _ in range(3):
            assert connection.response().content == b"x"



@pytest.mark.of_http1("there the stream's window holds content back: test_h2_windows.py")
@pytest.mark.parametrize("window", [1000, 30_000])
def test_content_that_nobody_consumes(launch_rules, window):
    """The handler is given its window, within a receive of 16 KiB, and the rest when it consumes."""
    rules = launch_rules(f"content_window_octets={window}")
    with rules.connect() as connection:
        connection.send(request("/hold", "Content-Length: 100000", method="POST"))
        connection.send(b"a" * 100_000)
        assert eventually(lambda: window <= int(rules.get("/held").content) <= window + 16384)
        time.sleep(0.1)
        assert int(rules.get("/held").content) <= window + 16384
        rules.get("/release")
        assert connection.response().content == b"100000\n"
