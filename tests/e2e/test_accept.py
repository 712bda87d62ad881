# SPDX-License-Identifier: MIT
"""How connections come to several workers: by a listening socket for each, or from one that hands them on."""

import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
from collections import Counter

import pytest
from server import BUILD, Server, eventually, numbered
from wire import request

WAYS = pytest.mark.parametrize("way", ["reuseport", "handoff"])


@pytest.fixture
def workers(launch):
    return lambda way, *words: launch(numbered, "workers", "--accept", way, *words)


def spread(server, count):
    """How many of so many connections each worker has, and the connections."""
    connections = [server.connect() for _ in range(count)]
    return Counter(int(c.get("/").content) for c in connections), connections


def test_handoff_is_even(workers):
    found, _ = spread(workers("handoff", "--workers", "4"), 64)
    assert sorted(found) == [0, 1, 2, 3]
    assert max(found.values()) <= 1.25 * 64 / 4, found


def test_reuseport_reaches_every_worker(workers, record_property):
    """The kernel spreads by a hash of the addresses: docs/measurements.md says how evenly."""
    found, _ = spread(workers("reuseport", "--workers", "4"), 64)
    record_property("busiest_to_fair_share", max(found.values()) / 16)
    print(f"connections of each worker: {sorted(found.values())}")
    assert sum(found.values()) == 64
    assert sorted(found) == [0, 1, 2, 3]


@WAYS
def test_a_connection_stays_with_its_worker(workers, way):
    _, connections = spread(workers(way, "--workers", "3"), 6)
    for connection in connections:
        assert len({connection.get("/").content for _ in range(20)}) == 1


@WAYS
def test_one_worker(workers, way):
    found, _ = spread(workers(way, "--workers", "1"), 4)
    assert found == {0: 4}


def test_who_is_full_is_passed_over(workers):
    """Room anywhere is room: only when every worker is full, one is refused."""
    server = workers("handoff", "--workers", "3", "--connections-max", "4")
    found, connections = spread(server, 12)
    assert found == {0: 4, 1: 4, 2: 4}
    assert server.turns_away()
    leaving = [c for c in connections if c.get("/").content == b"1"]
    for connection in leaving:
        connection.close()

    def served():
        """The name of the worker that has room; none while it has not heard of those who left."""
        try:
            return server.connect().get("/").content
        except (ConnectionError, EOFError):
            return None

    assert [eventually(served) for _ in range(4)] == 4 * [b"1"]
    assert server.turns_away()


@WAYS
def test_draining(serve, tmp_path, way):
    """Connections that came before the stop are served; new ones are refused; the end is clean."""
    (tmp_path / "a").write_bytes(b"a" * 5_000_000)
    site = serve(tmp_path, "--accept", way, "--workers", "4", "--grace", "10")
    slow = [site.connect(receive_buffer=65536) for _ in range(8)]
    for connection in slow:
        connection.send(request("/a", "Connection: close"))
        connection.head()
    site.signal(signal.SIGTERM)
    assert eventually(site.refuses)
    for connection in slow:
        assert len(connection.to_end()) == 5_000_000
    site.judge_end()


@WAYS
def test_connections_come_and_go(workers, way):
    server, wrong = workers(way, "--workers", "4"), []

    def come_and_go():
        for i in range(150):
            connection = server.connect()
            if i % 3 == 0:
                connection.reset()
            elif i % 3 == 1:
                connection.close()
            elif connection.get("/", "Connection: close").status != 200:
                wrong.append(i)

    threads = [threading.Thread(target=come_and_go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)
    assert server.get("/").status == 200


@WAYS
def test_stop_while_connections_come(workers, way):
    """Whatever was on its way from one worker to another at the stop is closed, and nothing is lost."""
    server = workers(way, "--workers", "4")

    def come():
        try:
            while True:
                server.get("/")
        except (OSError, EOFError):
            pass

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    server.signal(signal.SIGTERM)
    server.judge_end()
    for thread in threads:
        thread.join(60)
    assert not any(t.is_alive() for t in threads)


def test_unix_socket(tmp_path):
    """A listener there is only one of, by either way."""
    (tmp_path / "a").write_text("x")
    for way in ("reuseport", "handoff"):
        path = tmp_path / f"{way}.sock"
        words = [BUILD / "skua", tmp_path, "--listen", f"unix:{path}", "--workers", "4", "--accept", way]
        site = Server(words, str(path))
        for _ in range(8):
            assert site.get("/a").content == b"x"
        site.stop()
        assert not path.exists()


def wakes(pid):
    """How often each of the process's threads has been woken so far."""
    statuses = pathlib.Path(f"/proc/{pid}/task").glob("*/status")
    return [int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", s.read_text(), re.M).group(1)) for s in sorted(statuses)]


@pytest.mark.parametrize("kind", ["unix", "given"])
def test_one_listener_wakes_one_worker(tmp_path, kind):
    """A socket that cannot be opened for each worker would wake all of them for each connection."""
    workers, rounds = 8, 100
    with socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET) as given:
        address = str(tmp_path / "socket")
        words = [BUILD / "workers", "--workers", str(workers), "--accept", "reuseport"]
        if kind == "unix":
            server = Server([*words, "--listen", f"unix:{address}"], address)
        else:
            given.bind(("127.0.0.1", 0))
            given.listen(64)
            address = given.getsockname()
            server = Server([*words, "--given", str(given.fileno())], address, fds=[given.fileno()])
        found = Counter(int(server.get("/").content) for _ in range(2 * workers))
        assert sorted(found) == list(range(workers)), found
        counts = [wakes(server.pid)]
        for _ in range(rounds):
            assert server.get("/").status == 200
            counts.append(wakes(server.pid))
        woken = sum(sum(now > then for now, then in zip(*pair)) for pair in zip(counts[1:], counts))
        print(f"{kind}: {woken / rounds} threads are woken for each connection")
        assert woken < rounds * workers // 2
        server.stop()


def test_unknown(tmp_path):
    done = subprocess.run([BUILD / "skua", tmp_path, "--accept", "magic"], capture_output=True, text=True, timeout=20,
                          check=False)
    assert done.returncode == 2
    assert "--accept takes auto, reuseport or handoff" in done.stderr
