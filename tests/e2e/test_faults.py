# SPDX-License-Identifier: MIT
"""Running out of things, and peers that misbehave: nobody else is hurt."""

import os
import resource
import threading
import time

import pytest
from server import eventually
from wire import request


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))


def descriptors(server):
    return len(os.listdir(f"/proc/{server.pid}/fd"))


@pytest.mark.in_the_clear("connections wait in the kernel for a descriptor, and with them their handshakes")
@pytest.mark.of_http1("connections wait in the kernel for a descriptor, and with them their SETTINGS")
@pytest.mark.parametrize("words", [(), ("--workers", "3", "--accept", "handoff")], ids=["alone", "handoff"])
def test_out_of_descriptors(serve, tmp_path, words):
    """Accepting pauses and resumes; who is connected is served meanwhile."""
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").write_text("y")
    site = serve(tmp_path, *words, preexec=few_descriptors)
    first = site.connect()
    assert first.get("/a.txt").content == b"x"
    before = descriptors(site)
    crowd = [site.connect() for _ in range(80)]
    for connection in crowd:
        connection.send(request("/a.txt"))
    time.sleep(0.5)
    for _ in range(50):
        assert first.get("/a.txt").content == b"x"
    # Those who wait are served as the others leave.
    served = 0
    while crowd:
        ready = [c for c in crowd if not c.silent(0.01)]
        if not ready:
            assert eventually(lambda: [c for c in crowd if not c.silent(0.01)]), f"{served} served"
            continue
        for connection in ready:
            assert connection.response().status in (200, 500, 503)
            connection.close()
            crowd.remove(connection)
            served += 1
    assert served == 80
    assert eventually(lambda: descriptors(site) <= before)  # who has left has been closed
    assert first.get("/b.txt").content == b"y"
    for _ in range(30):
        assert site.get("/b.txt").content == b"y"


@pytest.mark.in_the_clear("connections wait in the kernel for a descriptor, and with them their handshakes")
@pytest.mark.of_http1("connections wait in the kernel for a descriptor, and with them their SETTINGS")
def test_does_not_spin_without_descriptors(serve, tmp_path):
    """While it waits for descriptors it uses next to no processor time."""
    (tmp_path / "a.txt").write_text("x")
    site = serve(tmp_path, preexec=few_descriptors)
    crowd = [site.connect() for _ in range(80)]
    for connection in crowd:
        connection.send(request("/a.txt"))
    time.sleep(1)
    assert eventually(lambda: used(site, 1) < 0.2)


def used(server, seconds):
    """Processor time during so many seconds."""
    before = cpu_seconds(server.pid)
    time.sleep(seconds)
    return cpu_seconds(server.pid) - before


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_idle_uses_no_processor(hello):
    connections = [hello.connect() for _ in range(50)]
    for connection in connections:
        connection.get("/")
    assert eventually(lambda: used(hello, 2) <= 0.05)


def test_connections_that_say_nothing(hello):
    silent = [hello.connect() for _ in range(200)]
    assert hello.get("/").content == b"Hello, World!"
    for connection in silent:
        assert connection.get("/").content == b"Hello, World!"


def test_resets_everywhere(echo):
    wire = request("/", "Content-Length: 100000", method="POST", content=b"a" * 100000)
    for n in [0, 1, 10, 60, 100, 5000, 99999, len(wire)] * 10:
        connection = echo.connect()
        connection.send(wire[:n])
        connection.reset()
    assert echo.get("/").status == 200


def test_many_clients_at_once(echo):
    """Eight threads, each with its own connection and content, whole or in pieces."""
    wrong = []

    def client(seed):
        content = os.urandom(5000 + seed * 997)
        wire = request("/", f"Content-Length: {len(content)}", method="POST", content=content)
        with echo.connect() as connection:
            for i in range(100):
                if i % 10:
                    connection.send(wire)
                else:
                    connection.send_split(wire, 1 + seed * 100)
                if connection.response().content != content:
                    wrong.append(seed)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not wrong and not any(t.is_alive() for t in threads)


def taken_beside(site, large, small):
    """The most octets of large that somebody takes, as fast as they come, while small is asked for and answered, of 100 times."""
    stop, taken = threading.Event(), 0

    def download():
        nonlocal taken
        with site.connect() as connection:
            connection.send(request(large))
            room = bytearray(1 << 20)
            while not stop.is_set() and (octets := connection.socket.recv_into(room)):
                taken += octets

    thread = threading.Thread(target=download)
    thread.start()
    most = 0
    try:
        assert eventually(lambda: taken)
        with site.connect() as connection:
            for _ in range(100):
                before = taken
                assert connection.get(small).status == 200
                most = max(most, taken - before)
    finally:
        stop.set()
        thread.join()
    return most


def test_one_large_download_does_not_hold_others(serve, tmp_path):
    with open(tmp_path / "big", "wb") as file:
        file.truncate(2 << 30)
    (tmp_path / "small").write_text("x")
    site = serve(tmp_path)
    assert eventually(lambda: taken_beside(site, "/big", "/small") < 256 << 20)


def test_one_large_source_does_not_hold_others(rules):
    """Pulled content goes on for as long as the peer takes it: it has to be interrupted."""
    assert eventually(lambda: taken_beside(rules, "/pull/1000000000000", "/") < 256 << 20)
