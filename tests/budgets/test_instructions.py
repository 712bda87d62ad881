# SPDX-License-Identifier: MIT
"""Instructions in user space per request, of the library as it is installed, as valgrind's callgrind counts them.

A server that answers N requests and one that answers 2 N differ by what N requests cost: starting and stopping
cancel out, and the count hardly depends on the machine or on who else uses it. It depends on the compiler, so that
instructions.json has budgets for each that is known; a budget may only fall. After a change that makes requests
cheaper, this writes the new figures down:

    SKUA_RECORD=1 build/venv/bin/python -m pytest tests/budgets/test_instructions.py
"""

import math
import os
import pathlib
import re
import signal
import time

import pytest
from instructions import SLACK, VALGRIND, compiler, compiler_path, known, record
from compiling import needed_libraries, run
from ports import free_port
from server import RELEASE, ROOT, Server, eventually
from websocket import TEXT, Socket, frame
from wire import Connection, request

REQUESTS = 1600
STATS_INSTRUCTIONS_MAX = 77


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where the release build is installed."""
    prefix = tmp_path_factory.mktemp("installed")
    run(["cmake", "--install", RELEASE, "--prefix", prefix])
    return prefix


def compiled(prefix, name):
    """A small server, compiled with what is installed there."""
    servers = ROOT / "tests/servers"
    run([compiler_path(), "-std=c17", "-O2", "-D_GNU_SOURCE", "-I", prefix / "include",
         servers / f"{name}.c", servers / "options.c", servers / "tls_options.c", next(prefix.rglob("libskua.a")), *needed_libraries(RELEASE), "-pthread", "-o", prefix / name])
    return prefix / name


@pytest.fixture(scope="module")
def hello(installed):
    return [compiled(installed, "hello")]


def ask(server, requests, depth, host):
    """So many requests on one connection, depth at a time."""
    batch = request("/", host=host) * depth
    with Connection(server.address) as connection:
        for _ in range(requests // depth):
            connection.send(batch)
            for _ in range(depth):
                assert connection.response("GET").content == b"Hello, World!"


def echo(server, messages, depth, octets):
    """So many messages of that length on one WebSocket, depth at a time."""
    batch, back = frame(TEXT, "x" * octets) * depth, frame(TEXT, "x" * octets, masked=False) * depth
    socket = Socket(server, "/ws")
    for _ in range(messages // depth):
        socket.send(batch)
        assert socket.connection.exactly(len(back)) == back
    socket.leave()


def echo_of_many(server, messages, sockets, octets):
    """So many messages of that length, one on each of so many WebSockets at a time, which the server finds together."""
    there, back = frame(TEXT, "x" * octets), frame(TEXT, "x" * octets, masked=False)
    all_of_them = [Socket(server, "/ws") for _ in range(sockets)]
    for _ in range(messages // sockets):
        os.kill(server.process.pid, signal.SIGSTOP)
        for socket in all_of_them:
            socket.send(there)
        os.kill(server.process.pid, signal.SIGCONT)
        assert all(socket.connection.exactly(len(back)) == back for socket in all_of_them)
    for socket in all_of_them:
        socket.leave()


def publish(server, readings, readers, octets):
    """Messages of that length from one WebSocket to so many others, until so many have come."""
    there, back = frame(TEXT, "x" * octets), frame(TEXT, "x" * octets, masked=False)
    writer, *others = [Socket(server, "/live/room") for _ in range(readers + 1)]
    assert all(socket.message() == "welcome" for socket in (writer, *others))
    for _ in range(readings // readers):
        writer.send(there)
        assert all(socket.connection.exactly(len(back)) == back for socket in others)
    for socket in (writer, *others):
        socket.leave()


def executed(command, folder, requests, depth, what, play=ask):
    """Instructions of a whole run in which so many are played on one connection, depth at a time."""
    port = free_port()
    counts = folder / f"callgrind.{requests}"
    server = Server(
        [VALGRIND, "--tool=callgrind", "--quiet", f"--callgrind-out-file={counts}", *command, "--port", port,
         "--workers", "1", "--backend", "epoll"],
        ("127.0.0.1", port),
    )
    try:
        play(server, requests, depth, what)
    finally:
        server.stop()
    return int(re.search(r"^totals: (\d+)", counts.read_text(), re.MULTILINE).group(1))


def ask_for_coded_text(server, requests, depth, path):
    """So many requests for a file that was compressed by the first of them, which waits until it is."""
    wire, coding = request(path, "Accept-Encoding: gzip"), None
    while coding != "gzip":
        coding = server.get(path, "Accept-Encoding: gzip").get("content-encoding")
    with Connection(server.address) as connection:
        for _ in range(requests // depth):
            connection.send(wire * depth)
            for _ in range(depth):
                assert connection.response("GET").get("content-encoding") == "gzip"


def executed_by_file(configuration, folder, requests, depth, what, play):
    """The same of the program that serves by a configuration, PORT standing for its port: of its supervisor and its server process."""
    port, counts = free_port(), folder / f"configured.{requests}"
    file = folder / "skua.conf"
    file.write_text(configuration.replace("PORT", str(port)))
    server = Server([VALGRIND, "--tool=callgrind", "--quiet", "--trace-children=yes", f"--callgrind-out-file={counts}.%p",
                     RELEASE / "skua", "-c", file], ("127.0.0.1", port))
    try:
        assert eventually(lambda: " serves " in server.error_text()), server.error_text()
        play(server, requests, depth, what)
    finally:
        server.stop()
    found = [re.search(r"^totals: (\d+)", one.read_text(), re.MULTILINE) for one in folder.glob(f"{counts.name}.*")]
    for one in folder.glob(f"{counts.name}.*"):
        one.unlink()
    assert len(found) == 2
    return sum(int(match.group(1)) for match in found)


def per_request(command, folder, depth, enough, what="localhost", play=ask, by=executed):
    """Of up to three runs the least: whatever disturbs one only adds to it. enough: what needs no second look."""
    few = many = math.inf
    for _ in range(3):
        few = min(few, by(command, folder, REQUESTS, depth, what, play))
        many = min(many, by(command, folder, 2 * REQUESTS, depth, what, play))
        if (many - few) / REQUESTS <= enough:
            break
    return (many - few) / REQUESTS


def judge(name, command, folder, depth, record_property, **play):
    key = compiler()
    budget = known(key, name)
    recording = bool(os.environ.get("SKUA_RECORD"))
    found = per_request(command, folder, depth, 0 if recording else (budget or math.inf) * SLACK, **play)
    record_property("instructions", round(found))
    if recording:
        budget = record(key, name, found)
    print(f"{name}: {found:.1f} instructions each, of {budget} ({key})")
    if budget is None:
        pytest.skip(f"no budget is known for {key}: {found:.0f} instructions each")
    if found < budget / SLACK:
        print(f"The budget can be lowered: see {pathlib.Path(__file__).name}")
    assert found <= budget * SLACK, f"{name}: {found:.0f} instructions each, of {budget}"
    assert found > 100, "this counts something else"


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
@pytest.mark.parametrize("name, depth", [("keep-alive", 1), ("pipelined by 16", 16)])
def test_instructions(hello, name, depth, tmp_path, record_property):
    judge(name, hello, tmp_path, depth, record_property)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_instructions_of_coded_text(tmp_path, record_property):
    """A file of a site that was compressed once: host, middleware of the configuration, coding, cache, head."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a.txt").write_bytes(b"".join(b"%07d %010d\n" % (i, i * 2654435761 % 2**32) for i in range(1600)))
    time.sleep(2.2)  # a younger file is not compressed
    configuration = f"listen 127.0.0.1:PORT\nworkers 1\nbackend epoll\nsandbox off\naccess_log off\nsite * {{\n    root {tmp_path}/www\n    compress gzip\n}}\n"
    judge("coded text of a site", configuration, tmp_path, 4, record_property, what="/a.txt", play=ask_for_coded_text, by=executed_by_file)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_statistics_cost_little(hello, tmp_path, record_property):
    """With skua_config.stats a request costs little more, most of it for the clock and for finding the place of its duration."""
    without = per_request(hello, tmp_path, 1, 0)
    counted = per_request([*hello, "--stats", "1"], tmp_path, 1, without + STATS_INSTRUCTIONS_MAX)
    print(f"a request: {without:.0f} instructions, counted {counted:.0f}")
    record_property("instructions", round(counted - without))
    assert 10 < counted - without <= STATS_INSTRUCTIONS_MAX


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
@pytest.mark.parametrize("name, depth, octets", [
    ("WebSocket, 16 octets", 1, 16),
    pytest.param("WebSocket, 1024 octets, 32 at a time", 32, 1024, marks=pytest.mark.test_all),
])
def test_instructions_of_messages(installed, name, depth, octets, tmp_path, record_property):
    judge(name, [compiled(installed, "echo")], tmp_path, depth, record_property, what=octets, play=echo)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_instructions_of_messages_that_share_a_turn(installed, tmp_path, record_property):
    """The instructions of a turn itself are shared by those whose messages are found in it."""
    judge("WebSocket, 16 octets, 64 in a turn", [compiled(installed, "echo")], tmp_path, 64, record_property, what=16, play=echo_of_many)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_instructions_of_a_reader(installed, tmp_path, record_property):
    """Each of those to whom a message is published, with the 16th part of what receiving it takes."""
    judge("publication, each of 16 readers", [compiled(installed, "topics")], tmp_path, 16, record_property, what=16, play=publish)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
def test_many_sites_cost_what_one_costs(installed, tmp_path, record_property):
    """A request for one of 1,000 sites with middleware, beside one for the only site there is."""
    sites = compiled(installed, "sites")
    one = per_request([sites, "1"], tmp_path, 16, 0, "s000.test")
    many = per_request([sites, "1000"], tmp_path, 16, one * 1.01, "s500.test")
    print(f"a request for the only site: {one:.0f} instructions, for one of 1,000: {many:.0f}")
    record_property("instructions", round(many))
    assert 100 < many <= one * 1.02
