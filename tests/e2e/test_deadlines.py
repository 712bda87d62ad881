# SPDX-License-Identifier: MIT
"""Deadlines, shortened: each is a number of skua_config."""

import time

import pytest
from server import eventually
from wire import request

MS = 1_000_000


def took(action):
    start = time.monotonic()
    result = action()
    return result, time.monotonic() - start


def ends(rules):
    text = rules.get("/ends").content.decode()
    return {k: int(v) for k, v in (word.split("=") for word in text.split())}


def test_head_deadline(launch_rules):
    rules = launch_rules(f"head_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHo")
        response, seconds = took(connection.response)
        assert response.status == 408 and response.closes
        assert 0.3 < seconds < 3
        assert connection.ended()


def test_head_deadline_is_absolute(launch_rules):
    """An octet now and then does not move it."""
    rules = launch_rules(f"head_timeout_ns={800 * MS}")
    with rules.connect() as connection:
        start = time.monotonic()
        for octet in request("/", "A: " + "b" * 200):
            try:
                connection.send(bytes([octet]))
            except ConnectionError:
                break
            if not connection.silent(0.05):
                break
        assert time.monotonic() - start < 4
        assert connection.response().status == 408


def test_head_deadline_counts_anew_for_each_request(launch_rules):
    rules = launch_rules(f"head_timeout_ns={700 * MS}")
    with rules.connect() as connection:
        for _ in range(4):
            connection.send_split(request("/"), 12, pause=0.15)
            assert connection.response().status == 200


def test_no_408_without_an_octet(launch_rules):
    """A browser's spare connection must not be answered before it has asked."""
    rules = launch_rules(f"head_timeout_ns={300 * MS}", f"keep_alive_timeout_ns={600 * MS}")
    with rules.connect() as connection:
        data, seconds = took(connection.to_end)
        assert data == b"" and seconds < 6


def test_keep_alive_deadline(launch_rules):
    rules = launch_rules(f"keep_alive_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        for _ in range(3):
            connection.get("/")
            assert connection.silent(0.2)
        data, seconds = took(connection.to_end)
        assert data == b"" and seconds < 3


@pytest.mark.parametrize("field,content", [("Content-Length: 100", b"abc"), ("Transfer-Encoding: chunked", b"5\r\nab")])
def test_content_stall(launch_rules, field, content):
    rules = launch_rules(f"stall_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        connection.send(request("/collect", field, method="POST", content=content))
        data, seconds = took(connection.to_end)
        assert data == b"" or data.startswith(b"HTTP/1.1 408 ")
        assert 0.3 < seconds < 4


@pytest.mark.parametrize("stall_ms", [60_000, 400])
def test_content_minimum_rate(launch_rules, stall_ms):
    """It never stalls, but it is too slow by far."""
    rules = launch_rules(f"rate_window_ns={1000 * MS}", "rate_octets_min=10000", f"stall_timeout_ns={stall_ms * MS}")
    with rules.connect() as connection:
        connection.send(request("/count", "Content-Length: 100000", method="POST"))

        def dripped():
            try:
                connection.send(b"a")
            except ConnectionError:
                return True
            return not connection.silent(0.05)

        result, seconds = took(lambda: eventually(dripped, within=8, every=0))
        assert result and 0.5 < seconds < 6


def test_content_at_a_good_rate_is_served(launch_rules):
    rules = launch_rules(f"rate_window_ns={500 * MS}", "rate_octets_min=100", f"stall_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        connection.send(request("/count", "Content-Length: 5000", method="POST"))
        for _ in range(25):
            connection.send(b"a" * 200)
            time.sleep(0.1)
        assert connection.response().content == b"5000\n"


def test_client_that_stops_reading(launch_rules):
    rules = launch_rules(f"stall_timeout_ns={700 * MS}")
    with rules.connect(receive_buffer=4096) as connection:
        connection.send(request("/watched/100000000"))
        connection.exactly(100)
        assert eventually(lambda: ends(rules)["timeout"] == 1, within=8)


def test_client_that_reads_a_file_slowly_then_stops(launch_rules, tmp_path):
    (tmp_path / "big").write_bytes(b"a" * 30_000_000)
    rules = launch_rules("--files", tmp_path, f"stall_timeout_ns={700 * MS}")
    with rules.connect(receive_buffer=4096) as connection:
        connection.send(request("/files/big"))
        assert connection.head().status == 200
        time.sleep(4)
        got = 0
        try:
            while octets := connection.socket.recv(1 << 20):
                got += len(octets)
        except ConnectionError:
            pass
        assert got < 30_000_000


def test_client_that_reads_slowly_but_steadily(launch_rules, tmp_path):
    """The kernel takes nothing for seconds, for it holds megabytes; the peer reads all the time."""
    (tmp_path / "big").write_bytes(b"a" * 30_000_000)
    rules = launch_rules("--files", tmp_path, f"stall_timeout_ns={300 * MS}")
    with rules.connect(receive_buffer=262144) as connection:
        connection.send(request("/files/big"))
        assert connection.head().status == 200
        end = time.monotonic() + 8
        while time.monotonic() < end:
            assert connection.socket.recv(20_000)
            time.sleep(0.02)
        assert connection.exactly(1_000_000)


def test_client_that_reads_too_slowly(launch_rules):
    """It reads all the time, a few megabytes a second, where fifty are asked for."""
    rules = launch_rules(
        f"rate_window_ns={1000 * MS}", "rate_octets_min=50000000", f"stall_timeout_ns={60000 * MS}"
    )
    with rules.connect(receive_buffer=65536) as connection:
        connection.send(request("/watched/1000000000"))

        def cut():
            try:
                connection.socket.recv(65536)
            except ConnectionError:
                return True
            return ends(rules)["timeout"] == 1

        assert eventually(cut, within=10, every=0.02)


def test_slow_handler_is_not_the_peers_fault(launch_rules):
    rules = launch_rules(
        f"stall_timeout_ns={300 * MS}", f"rate_window_ns={300 * MS}", f"head_timeout_ns={300 * MS}",
        f"keep_alive_timeout_ns={300 * MS}",
    )
    with rules.connect() as silent, rules.connect() as stuck:
        silent.send(request("/silent"))
        stuck.send(request("/stuck"))
        assert stuck.head().status == 200
        assert int(stuck.line(), 16) == 5 and stuck.exactly(7) == b"xxxxx\r\n"
        assert silent.silent(2)
        assert stuck.silent(0.2)


def test_handler_deadline(launch_rules):
    rules = launch_rules(f"handler_timeout_ns={400 * MS}")
    with rules.connect() as connection:
        connection.send(request("/watched-silent"))
        response, seconds = took(connection.response)
        assert response.status == 503 and 0.2 < seconds < 3
    assert eventually(lambda: sum(ends(rules).values()) == 1)


def test_idle_connections_are_bounded(launch_rules):
    rules = launch_rules("connections_max=50")
    connections = [rules.connect() for _ in range(50)]
    for connection in connections[:45]:
        assert connection.get("/").status == 200
    more = [rules.connect() for _ in range(50)]
    for connection in more:
        connection.send(request("/"))
    assert all(c.get("/").status == 200 for c in connections[:45])
