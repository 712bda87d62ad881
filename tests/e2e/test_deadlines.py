# SPDX-License-Identifier: MIT
"""Deadlines, shortened: each is a number of skua_config."""

import contextlib
import signal
import time

import pytest
from clock import patiently
from server import eventually
from wire import request

MS = 1_000_000
SOON = 8  # seconds: before any deadline that is not shortened, and enough for a machine that is busy


def took(action):
    start = time.monotonic()
    result = action()
    return result, time.monotonic() - start


def ends(rules):
    text = rules.get("/ends").content.decode()
    return {k: int(v) for k, v in (word.split("=") for word in text.split())}


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
def test_head_deadline(launch_rules):
    rules = launch_rules(f"head_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        response, seconds = took(lambda: connection.send(b"GET / HTTP/1.1\r\nHo").response())
        assert response.status == 408 and response.closes
        assert 0.3 < seconds < SOON
        assert connection.ended()


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
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
        assert time.monotonic() - start < SOON
        assert connection.response().status == 408


def test_head_deadline_counts_anew_for_each_request(launch_rules):
    rules = launch_rules(f"head_timeout_ns={700 * MS}")

    def four(beat):
        with rules.connect() as connection:
            for _ in range(4):
                beat()
                connection.send_split(request("/"), 12, pause=0.15)
                assert connection.response().status == 200

    patiently(four, 0.6)


def test_no_408_without_an_octet(launch_rules):
    """A browser's spare connection must not be answered before it has asked."""
    rules = launch_rules(f"head_timeout_ns={300 * MS}", f"keep_alive_timeout_ns={600 * MS}")
    with rules.connect() as connection:
        data, seconds = took(connection.to_end)
        assert data == b"" and seconds < SOON


def test_keep_alive_deadline(launch_rules):
    rules = launch_rules(f"keep_alive_timeout_ns={1000 * MS}")

    def put_off(beat):
        with rules.connect() as connection:
            for _ in range(3):
                beat()
                connection.get("/")
                assert connection.silent(0.4)
            beat.rest()
            data, seconds = took(connection.to_end)
            assert data == b"" and seconds < SOON

    patiently(put_off, 0.8)


@pytest.mark.of_http1("the response is 408 there, and the connection goes on")
@pytest.mark.parametrize("field,content", [("Content-Length: 100", b"abc"), ("Transfer-Encoding: chunked", b"5\r\nab")])
def test_content_stall(launch_rules, field, content):
    rules = launch_rules(f"stall_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        ended, seconds = took(lambda: connection.send(request("/collect", field, method="POST", content=content)).ended())
        assert ended and 0.3 < seconds < SOON


@pytest.mark.parametrize("stall_ms", [60_000, 400])
def test_content_minimum_rate(launch_rules, stall_ms):
    """It never stalls, but it is too slow by far."""
    rules = launch_rules(f"rate_window_ns={1000 * MS}", "rate_octets_min=10000", f"stall_timeout_ns={stall_ms * MS}")
    with rules.connect() as connection:
        def dripped():
            try:
                connection.send(b"a")
                return not connection.silent(0.05)
            except ConnectionError:
                return True

        def drip():
            connection.send(request("/count", "Content-Length: 100000", method="POST"))
            return eventually(dripped, every=0)

        result, seconds = took(drip)
        assert result and 0.3 < seconds < SOON


def test_content_at_a_good_rate_is_served(launch_rules):
    rules = launch_rules(f"rate_window_ns={500 * MS}", "rate_octets_min=100", f"stall_timeout_ns={500 * MS}")

    def in_time(beat):
        with rules.connect() as connection:
            connection.send(request("/count", "Content-Length: 5000", method="POST"))
            for _ in range(25):
                connection.send(b"a" * 200)
                beat()
                time.sleep(0.1)
            assert connection.response().content == b"5000\n"

    patiently(in_time, 0.3)


def test_client_that_stops_reading(launch_rules):
    rules = launch_rules(f"stall_timeout_ns={700 * MS}")
    with rules.connect(receive_buffer=4096) as connection:
        connection.send(request("/watched/100000000"))
        connection.exactly(100)
        assert eventually(lambda: ends(rules)["timeout"] == 1)


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
    rules = launch_rules("--files", tmp_path, f"stall_timeout_ns={600 * MS}")

    def read(beat):
        with rules.connect(receive_buffer=262144) as connection:
            connection.send(request("/files/big"))
            assert connection.head().status == 200
            end = time.monotonic() + 8
            while time.monotonic() < end:
                assert connection.socket.recv(20_000)
                beat()
                time.sleep(0.02)
            assert connection.exactly(1_000_000)

    patiently(read, 0.3)


@pytest.mark.of_http1("the stream is reset alone there")
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

        assert eventually(cut, every=0.02)
        assert eventually(lambda: not sockets_of(rules, connection))


@pytest.mark.of_http1("a client that does not look at its connection misses a PING there")
def test_slow_handler_is_not_the_peers_fault(launch_rules):
    rules = launch_rules(
        f"stall_timeout_ns={600 * MS}", f"rate_window_ns={600 * MS}", f"head_timeout_ns={600 * MS}",
        f"keep_alive_timeout_ns={600 * MS}",
    )

    def waits(beat):
        with rules.connect() as silent, rules.connect() as stuck:
            silent.send(request("/silent"))
            stuck.send(request("/stuck"))
            beat.rest()
            assert stuck.head().status == 200
            assert int(stuck.line(), 16) == 5 and stuck.exactly(7) == b"xxxxx\r\n"
            assert silent.silent(2)
            assert stuck.silent(0.2)

    patiently(waits, 0.4)


def test_handler_deadline(launch_rules):
    rules = launch_rules(f"handler_timeout_ns={400 * MS}")
    with rules.connect() as connection:
        response, seconds = took(lambda: connection.send(request("/watched-silent")).response())
        assert response.status == 503 and 0.2 < seconds < SOON
    assert eventually(lambda: sum(ends(rules).values()) == 1)


def test_idle_connections_are_bounded(launch_rules):
    rules = launch_rules("connections_max=50")
    connections = [rules.connect() for _ in range(50)]
    for connection in connections[:45]:
        assert connection.get("/").status == 200
    for _ in range(50):
        with contextlib.suppress(ConnectionError):  # over TLS, in the handshake
            rules.connect().send(request("/"))
    assert all(c.get("/").status == 200 for c in connections[:45])


def held_by_a_signal(rules):
    rules.signal(signal.SIGSTOP)
    yield
    time.sleep(7)
    rules.signal(signal.SIGCONT)


def held_by_a_handler(rules):
    """Fourteen naps in one batch, of half a second each."""
    with rules.connect() as connection:
        connection.send(request("/nap") * 14)
        time.sleep(0.2)
        yield
        for _ in range(14):
            assert connection.response().status == 200


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
@pytest.mark.parametrize("held", [held_by_a_signal, held_by_a_handler])
def test_what_waits_is_read_before_a_deadline(launch_rules, held):
    """Requests on idle connections, and what completes heads and contents, came in time."""
    names = ("head", "keep_alive", "stall")
    rules = launch_rules(*(f"{name}_timeout_ns={6000 * MS}" for name in names), f"rate_window_ns={6000 * MS}")
    head = request("/")
    upload = request("/count", "Content-Length: 1000", method="POST")
    many = 300 if rules.tls else 700  # handshakes take their time, and whoever has come first is idle meanwhile

    def all_in_time(beat):
        with contextlib.ExitStack() as stack:
            idle, heads, uploads = (
                [stack.enter_context(rules.connect()) for _ in range(count)] for count in (many, many, 100)
            )
            for connection in idle:
                connection.send(head)
            assert {c.response().status for c in idle} == {200}
            for connection in uploads:
                connection.send(upload)
            for connection in heads:
                connection.send(head[:20])
            for _ in held(rules):
                beat.rest()
                for connection in idle:
                    connection.send(head)
                for connection in heads:
                    connection.send(head[20:])
                for connection in uploads:
                    connection.send(b"a" * 1000)
            assert {c.response().status for c in idle} == {200}
            assert {c.response().status for c in heads} == {200}
            assert {c.response().content for c in uploads} == {b"1000\n"}

    patiently(all_in_time, 5)


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
def test_a_deadline_that_waited_for_input_still_comes(launch_rules):
    """The octets that waited were read, but they were not the whole head. So many are not read in one turn."""
    rules = launch_rules(f"head_timeout_ns={500 * MS}")
    heads = [rules.connect() for _ in range(700)]
    for connection in heads:
        connection.send(b"GET / HTTP/1.1\r\n")
    time.sleep(0.3)
    rules.signal(signal.SIGSTOP)
    for connection in heads:
        connection.send(b"A: b\r\n")
    time.sleep(1.5)
    rules.signal(signal.SIGCONT)
    assert {connection.response().status for connection in heads} == {408}


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
def test_a_deadline_is_not_put_off_for_ever(launch_rules):
    """A peer that has an octet under way at each look gains little by it."""
    rules = launch_rules(f"head_timeout_ns={500 * MS}")
    with rules.connect() as connection:
        start = time.monotonic()
        connection.send(b"GET / HTTP/1.1\r\nA: ")
        try:
            while time.monotonic() - start < 20:
                connection.send(b"b")
                time.sleep(0.002)
        except ConnectionError:
            pass
        assert 0.3 < time.monotonic() - start < 15


def test_a_held_worker_does_not_judge_its_peers(launch_rules):
    """The client has taken all there was; more was not sent, for the worker was stopped."""
    def goes_on(beat):
        rules = launch_rules(f"stall_timeout_ns={1000 * MS}", f"rate_window_ns={1000 * MS}")
        with rules.connect(receive_buffer=65536) as connection:
            connection.send(request("/watched/100000000"))
            connection.exactly(100_000)
            beat()
            time.sleep(0.4)
            for _ in range(3):
                rules.signal(signal.SIGSTOP)
                beat.rest()
                while not connection.silent(0.3):
                    connection.socket.recv(1 << 20)
                time.sleep(2)
                beat()
                rules.signal(signal.SIGCONT)
                connection.exactly(1_000_000)
            assert ends(rules)["timeout"] == 0

    patiently(goes_on, 0.7)


def steps(connection, rate, seconds):
    """Reads at that rate, in octets per second; returns how many seconds went well."""
    start = time.monotonic()
    got = 0
    while (now := time.monotonic() - start) < seconds:
        if got < rate * now:
            try:
                octets = connection.socket.recv(256)
            except ConnectionError:
                return now
            if not octets:
                return now
            got += len(octets)
        else:
            time.sleep(0.01)
    return now


@pytest.mark.test_all
def test_slow_reader_whose_kernel_makes_room_in_steps(launch_rules):
    """It reads far more than it must, and its kernel tells of that every few seconds."""
    rules = launch_rules(f"stall_timeout_ns={2300 * MS}", "rate_octets_min=1000", f"rate_window_ns={2300 * MS}")
    with rules.connect(receive_buffer=16384) as connection:
        connection.send(request("/watched/100000000"))
        # Over TLS the first segments are short ones, for which the client's kernel makes room in longer steps.
        assert steps(connection, 8000 if rules.tls else 4000, 20) >= 20
        assert ends(rules)["timeout"] == 0


def sockets_of(rules, client):
    """The server's half of a connection, as its kernel states it: (state, octets not taken)."""
    with open(f"/proc/{rules.pid}/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    port = client.socket.getsockname()[1]
    return [
        (row[3], int(row[4].split(":")[0], 16))
        for row in rows
        if int(row[1].split(":")[1], 16) == rules.port and int(row[2].split(":")[1], 16) == port
    ]


@pytest.mark.of_http1("the stream is reset alone there")
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("path", ["/watched/100000000", "/watched/1000000"], ids=["queued", "in the kernel"])
def test_stalled_reader_holds_nothing_of_the_kernel(launch_rules, path, leaves):
    """Of a short response all is in the kernel; the connection lingers."""
    rules = launch_rules(
        f"stall_timeout_ns={700 * MS}", f"linger_timeout_ns={300 * MS}", f"keep_alive_timeout_ns={300 * MS}"
    )

    def let_go(beat):
        with rules.connect(receive_buffer=4096) as connection:
            connection.send(request(path, "Connection: close"))
            if leaves:
                connection.half_close()
            connection.exactly(100)
            assert sockets_of(rules, connection)
            beat.rest()
            assert eventually(lambda: not sockets_of(rules, connection))
            with pytest.raises(ConnectionResetError):
                while connection.socket.recv(65536):
                    pass

    patiently(let_go, 0.2)


def test_slow_reader_of_what_is_in_the_kernel_gets_all(launch_rules):
    """The kernel opens a window by a segment of 64 KiB, so four reads may pass without an octet acknowledged."""
    rules = launch_rules(f"stall_timeout_ns={3000 * MS}", f"linger_timeout_ns={200 * MS}", "rate_octets_min=1000")

    def gets_all(beat):
        with rules.connect(receive_buffer=65536) as connection:
            connection.send(request("/watched/1000000", "Connection: close"))
            assert connection.head().status == 200
            got = 0
            for _ in range(30):
                time.sleep(0.2)
                got += len(connection.socket.recv(16384))
                beat()
            assert got + len(connection.to_end()) == 1_000_000

    patiently(gets_all, 1)


@pytest.mark.of_http1("its clients send heads in part; there a head is a frame")
def test_refused_and_idle_clients_are_not_reset(launch_rules):
    rules = launch_rules(f"head_timeout_ns={600 * MS}", f"keep_alive_timeout_ns={600 * MS}")

    def not_reset(beat):
        with rules.connect() as late, rules.connect() as idle:
            late.send(b"GET / HTTP/1.1\r\n")
            idle.send(request("/"))
            beat.rest()
            assert idle.response().status == 200
            time.sleep(3)
            assert late.response().status == 408
            assert late.ended() and idle.ended()

    patiently(not_reset, 0.4)
