# SPDX-License-Identifier: MIT
"""Several machines that behave as one: replicas of the program behind HAProxy, restarted one after another under load."""

import contextlib
import csv
import hashlib
import io
import os
import threading
import time
import urllib.request

import haproxy
import pytest
from conf import SKUA
from ports import free_port
from server import BACKEND, Server, eventually
from wire import Connection

pytestmark = [pytest.mark.in_the_clear("it is about what HAProxy sees"), pytest.mark.of_http1("HAProxy speaks HTTP/1 to it")]

REPLICA = """
listen 127.0.0.1:{port}
status 127.0.0.1:{status}
trusted_proxies x-forwarded 127.0.0.1
access_log {log} json
drain_delay 1s
grace 20s
site * {{
    root {root}
}}
"""

BACK = """
    balance roundrobin
    option forwardfor
    option httpchk GET /ready
    default-server check inter 200ms fall 1 rise 1
{servers}
frontend figures
    bind 127.0.0.1:{figures}
    stats enable
    stats uri /
"""

BIG = os.urandom(1 << 20) * 24


class Replica:
    """One machine, with a copy of the files that was made by itself."""

    def __init__(self, folder, number):
        self.folder = folder / f"machine{number}"
        self.port, self.status = free_port(), free_port()
        root = self.folder / "root"
        root.mkdir(parents=True)
        (root / "page.html").write_text("<p>the same everywhere</p>")
        os.utime(root / "page.html", (1_600_000_000 + number, 1_600_000_000 + number))
        (root / "big.bin").write_bytes(BIG)
        os.utime(root / "big.bin", (1_600_000_000, 1_600_000_000))
        backend = f"backend {BACKEND}\n" if BACKEND else ""
        self.file = self.folder / "skua.conf"
        self.log = self.folder / "access.log"
        self.file.write_text(backend + REPLICA.format(port=self.port, status=self.status, log=self.log, root=root))
        self.start()

    def start(self):
        self.server = Server([SKUA, "-c", self.file], ("127.0.0.1", self.port))


class Clients:
    """Each is a thread that asks until it is told to stop. Whatever goes wrong is kept in failures."""

    def __init__(self, address):
        self.address = address
        self.failures, self.counts = [], {}
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(kind,)) for kind in (self.kept, self.single, self.download)]
        for thread in self.threads:
            thread.start()

    def run(self, kind):
        try:
            kind()
        except Exception as fault:  # noqa: BLE001 - each is a failed request
            self.failures.append((kind.__name__, repr(fault)))

    def count(self, kind):
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def kept(self):
        """On one connection. The tag that one machine gave is the others', too."""
        with Connection(self.address) as connection:
            tag = connection.get("/page.html").get("etag")
            while not self.stopping.is_set():
                assert connection.get("/page.html", f"If-None-Match: {tag}").status == 304
                self.count("kept")
                time.sleep(0.002)

    def single(self):
        while not self.stopping.is_set():
            with Connection(self.address) as connection:
                response = connection.get("/page.html", "Connection: close")
                assert response.status == 200 and response.content == b"<p>the same everywhere</p>"
            self.count("single")
            time.sleep(0.002)

    def download(self):
        """24 MiB in about three seconds, so that machines are told to stop while they send it."""
        while not self.stopping.is_set():
            with Connection(self.address, receive_buffer=65536) as connection:
                connection.send(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                octets, digest = 0, hashlib.sha256()
                assert b"200" in connection.line()
                connection.field_section()
                while octets < len(BIG):
                    piece = connection.exactly(min(1 << 17, len(BIG) - octets))
                    digest.update(piece)
                    octets += len(piece)
                    time.sleep(0.015)
                assert digest.digest() == hashlib.sha256(BIG).digest()
            self.count("download")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads)


@pytest.fixture
def replicas(tmp_path):
    made = []
    try:
        for number in range(3):
            made.append(Replica(tmp_path, number))
        yield made
    finally:
        for replica in made:
            with contextlib.suppress(ProcessLookupError):
                replica.server.signal()
                replica.server.judge_end(within=30)


@pytest.fixture
def front(replicas, tmp_path):
    figures = free_port()
    servers = "\n".join(f"    server s{i} 127.0.0.1:{r.port} port {r.status}" for i, r in enumerate(replicas))
    front = haproxy.start(tmp_path, BACK.format(figures=figures, servers=servers))
    front.figures = f"http://127.0.0.1:{figures}/;csv"
    yield front
    haproxy.stop(front)


def states(front):
    """The state of each replica, as HAProxy sees it: {"s0": "UP", …}."""
    with urllib.request.urlopen(front.figures, timeout=10) as page:
        text = page.read().decode()
    return {row["svname"]: row["status"] for row in csv.DictReader(io.StringIO(text.removeprefix("# ")))
            if row["pxname"] == "back" and row["svname"] != "BACKEND"}


def all_up(front):
    return set(states(front).values()) == {"UP"}


@pytest.mark.test_all
def test_rolling_restarts(replicas, front):
    """Each machine says first that it is not ready, serves on until HAProxy has noticed, and ends what it serves."""
    assert eventually(lambda: all_up(front)), states(front)
    clients = Clients(front.address)
    try:
        for number, replica in enumerate(replicas):
            time.sleep(0.5)
            replica.server.signal()
            assert eventually(lambda: states(front)[f"s{number}"] == "DOWN", every=0.01)
            replica.server.judge_end(within=30)
            replica.start()
            assert eventually(lambda: all_up(front)), states(front)
        time.sleep(0.5)
    finally:
        clients.stop()
    assert clients.failures == []
    assert clients.counts["kept"] > 500 and clients.counts["single"] > 100 and clients.counts["download"] >= 2
    lines = [replica.log.read_text().count("\n") for replica in replicas]
    assert all(lines) and sum(lines) == sum(clients.counts.values()) + 1  # the first of kept gives the tag
