# SPDX-License-Identifier: MIT
"""When connections have taken all descriptors, whoever is connected gets every file all the same: of a reserve that no
connection can take."""

import os
import pathlib
import resource
import select
import socket
import struct
import threading
import types

import pytest
import slow_disk
from conf import process_of, start
from server import SLOW, eventually, numbered
from wire import Connection, request

pytestmark = pytest.mark.in_the_clear("connections wait in the kernel for a descriptor, and with them their handshakes")

LIMIT = 128
RESERVE = LIMIT // 8
LARGE = 200_000  # octets of a file that is sent from its descriptor


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


def content(name):
    return name.encode() * (LARGE // len(name))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.txt").write_text("small")
    for i in range(100):
        (tmp_path / f"large{i}").write_bytes(content(f"large{i}"))
    listed = tmp_path / "listed"
    listed.mkdir()
    (listed / "inside").symlink_to("../small.txt")
    return tmp_path


def reserve(site):
    """How many descriptors are held: duplicates of one, which is held too."""
    folder = pathlib.Path(f"/proc/{site.pid}/fd")

    def target(name):
        try:
            return os.readlink(folder / name)
        except FileNotFoundError:
            return None

    return sum(int(name) > 2 and target(name) == "/dev/null" for name in os.listdir(folder)) - 1


def is_whole(site):
    return reserve(site) == RESERVE


def crowd(site):
    """Those who are connected, and those whom nobody accepts, as many as the process may open descriptors."""
    everybody = [site.connect() for _ in range(LIMIT)]
    for connection in everybody:
        connection.send(request("*", method="OPTIONS"))
    connected, waiting = [], everybody
    while ready := select.select([c.socket for c in waiting], [], [], 1 if len(connected) > LIMIT // 2 else SLOW)[0]:
        for connection in [c for c in waiting if c.socket in ready]:
            assert connection.response().status == 204
            connected.append(connection)
            waiting.remove(connection)
    assert len(connected) > LIMIT // 2 and waiting
    return connected, waiting


def ask_at_once(connections, paths, expected):
    for connection, path in zip(connections, paths):
        connection.send(request(path))
    for connection, path in zip(connections, paths):
        response = connection.response()
        assert response.status == 200, (path, response.status)
        assert expected(path, response.content), path


def is_large(path, octets):
    return octets == content(path[1:])


WORDS = [("--list",), ("--list", "--workers", "3", "--accept", "handoff"), ("--list", "--workers", "2", "--accept", "reuseport")]


@pytest.mark.parametrize("words", WORDS, ids=["alone", "handoff", "reuseport"])
def test_files_without_descriptors(serve, folder, words):
    site = serve(folder, *words, preexec=few_descriptors)
    connected, waiting = crowd(site)
    for first in range(0, 96, 8):  # more files than there are descriptors in the reserve
        ask_at_once(connected[:8], [f"/large{first + i}" for i in range(8)], is_large)
    for _ in range(3):
        ask_at_once(connected[-8:], [f"/large{i}" for i in range(8)], is_large)
    ask_at_once(connected[:8], ["/listed/"] * 8, lambda _, octets: b"inside" in octets)
    for connection in connected:
        ask_at_once([connection], ["/small.txt"], lambda _, octets: octets == b"small")
    # As connections close, the others are accepted and served.
    for connection in connected:
        connection.close()
    for connection in waiting:
        assert connection.response().status == 204
        assert connection.get("/small.txt").content == b"small"
        connection.close()
    assert eventually(lambda: site.get("/small.txt").status == 200 and is_whole(site)), reserve(site)


def test_cold_files_without_descriptors(serve, tmp_path):
    """The disk's threads open and load them, and what is loaded is held once more meanwhile."""
    with slow_disk.mounted(tmp_path, 0.05) as disk:
        if disk is None:
            pytest.skip("no file system can be mounted here")
        site = serve(tmp_path, preexec=few_descriptors)
        connected, _ = crowd(site)
        for first in range(0, 24, 6):
            names = [f"/{first + i}.{LARGE}" for i in range(6)]
            ask_at_once(connected, names, lambda path, octets: octets == slow_disk.content(path[1:], 0, LARGE))
        for connection in connected:
            connection.close()
        assert eventually(lambda: site.get(f"/1.{LARGE}").status == 200 and is_whole(site)), reserve(site)
        site.stop()


def flood(address, full, over):
    """Connects and asks for something, as fast as the kernel lets it; once all is full, others leave by a reset for it."""
    held = []
    while not over.is_set():
        if len(held) > LIMIT:
            full.wait(SLOW)
            client = held.pop(0)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        try:
            client = socket.create_connection(address, 0.1)
            held.append(client)
            client.sendall(request("/small.txt"))
        except OSError:
            over.wait(0.001)
    for client in held:
        client.close()


@pytest.mark.parametrize("words", WORDS, ids=["alone", "handoff", "reuseport"])
def test_flood_does_not_take_the_reserve(serve, folder, words):
    site = serve(folder, *words, preexec=few_descriptors)
    mine = [site.connect() for _ in range(4)]
    ask_at_once(mine, ["/small.txt"] * 4, lambda _, octets: octets == b"small")
    full, over = threading.Event(), threading.Event()
    floods = [threading.Thread(target=flood, args=(site.address, full, over)) for _ in range(2)]
    for thread in floods:
        thread.start()
    try:
        assert eventually(lambda: len(os.listdir(f"/proc/{site.pid}/fd")) >= LIMIT - 1)
        full.set()
        for round_ in range(25):
            ask_at_once(mine, [f"/large{(4 * round_ + i) % 100}" for i in range(4)], is_large)
            ask_at_once(mine, ["/listed/"] * 4, lambda _, octets: b"inside" in octets)
    finally:
        full.set()
        over.set()
        for thread in floods:
            thread.join(SLOW)
    assert not any(thread.is_alive() for thread in floods)
    assert eventually(lambda: site.get("/small.txt").status == 200 and is_whole(site)), reserve(site)


@pytest.mark.parametrize("backend", ["epoll", "uring"])
def test_connections_that_may_use_it_leave_half(launch, backend):
    """A server with accepts_from_reserve, which has it held without any files."""
    hello = launch(numbered, "hello", "--workers", "1", "--backend", backend, "--accepts-from-reserve", "1", preexec=few_descriptors)
    assert reserve(hello) == RESERVE
    connected, waiting = crowd(hello)
    assert eventually(lambda: reserve(hello) == RESERVE // 2), reserve(hello)
    for connection in connected:
        connection.close()
    for connection in waiting:
        assert connection.response().status == 204
        connection.close()
    assert eventually(lambda: hello.get("/").status == 200 and is_whole(hello)), reserve(hello)


def test_probes_of_health_are_answered(launch, folder):
    """When connections have taken all descriptors of the program, its status listener takes more from the reserve, which is that
    of both servers together; files are still had, and the main server takes up again what waits."""
    text = "listen 127.0.0.1:PORT\nstatus 127.0.0.1:TLS_PORT\nworkers 1\nsite * {\n    root .\n}\n"
    main = launch(start, folder, text, preexec=few_descriptors)
    site = types.SimpleNamespace(pid=process_of(main))
    assert eventually(lambda: reserve(site) == 2 * RESERVE), reserve(site)  # a look at a file takes one for a moment
    connected, waiting = crowd(main)
    probes = []
    for path in ("/health", "/ready", "/metrics"):
        probes.append(Connection(main.secure))
        assert probes[-1].get(path).status == 200
    assert eventually(lambda: reserve(site) == 2 * RESERVE - len(probes)), reserve(site)
    ask_at_once(connected[:8], [f"/large{i}" for i in range(8)], is_large)
    for connection in probes + connected[:len(waiting) + len(probes)]:
        connection.close()
    for connection in waiting:
        assert connection.response().status == 204
    for connection in waiting + connected:
        connection.close()
    assert eventually(lambda: main.get("/small.txt").status == 200 and reserve(site) == 2 * RESERVE), reserve(site)


def test_nothing_is_held_without_files(launch):
    hello = launch(numbered, "hello", "--workers", "1", preexec=few_descriptors)
    assert hello.get("/").status == 200
    assert reserve(hello) == -1
