# SPDX-License-Identifier: MIT
"""The bench of WebSockets: its client compares every octet with what should come, from the ceiling and from Skua."""

import pathlib
import signal
import subprocess
import sys
import types

import pytest
from ports import free_port
from server import Server, eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))
import sockets  # noqa: E402  (the bench is no package)

pytestmark = pytest.mark.skipif(not (RELEASE / "bench_socket_client").exists(), reason="the bench is not built")


def exchanged(words, path, *load):
    """How many messages came in a moment, and how the client ended."""
    port = free_port()
    server = Server([RELEASE / words[0], str(port), *words[1:]], ("127.0.0.1", port))
    try:
        command = [RELEASE / "bench_socket_client", str(port), path, *map(str, load)]
        done = subprocess.run(command, input="\n\n", capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[1])
    finally:
        server.process.terminate()
        server.wait()


@pytest.mark.parametrize("octets", [1, 16, 125, 126, 1024, 65535, 65536])
@pytest.mark.parametrize("words", [["bench_socket_ceiling_epoll"], ["bench_socket_ceiling_uring"],
                                   ["bench_socket_server", "epoll"], ["bench_socket_server", "uring"]], ids=" ".join)
def test_echo(words, octets):
    if words[0] == "bench_socket_ceiling_uring" and octets > sockets.DIRECT_OCTETS:
        words = [*words, "--direct"]
    assert eventually(lambda: exchanged(words, "/echo", 5, octets, 0.1) >= 5)


@pytest.mark.parametrize("octets", [1, 16, 125, 126, 1024])
@pytest.mark.parametrize("words", [["bench_socket_ceiling_tls_epoll"], ["bench_socket_ceiling_tls_uring"],
                                   ["bench_socket_server", "epoll"], ["bench_socket_server", "uring"]], ids=" ".join)
def test_echo_over_tls(words, octets, tmp_path):
    words = [*words, *sockets.certificate_of(str(tmp_path))]
    assert eventually(lambda: exchanged(words, "/echo", 5, octets, 0.1, "tls") >= 5)


def test_ceilings_take_part(tmp_path):
    """On io_uring messages that no buffer holds are received where they are kept."""
    ours = sockets.own_servers(types.SimpleNamespace(build="build", out=str(tmp_path), libraries=""))
    epoll, uring = ours[sockets.CEILING], ours[sockets.CEILING_URING]
    pair = sockets.certificate_of(str(tmp_path))
    for ceiling, backend in (epoll, "epoll"), (uring, "uring"):
        for workload in "tls-echo-16", "tls-echo-1k":
            assert ceiling(1, sockets.WORKLOADS[workload]) == [f"build/bench_socket_ceiling_tls_{backend}", 1, *pair]
    assert uring(1, sockets.WORKLOADS["echo-1k"])[1:] == [1]
    assert uring(1, sockets.WORKLOADS["echo-64k"])[1:] == [1, "--direct"]
    assert epoll(1, sockets.WORKLOADS["publish"])[1:] == uring(1, sockets.WORKLOADS["publish"])[1:] == [1, "--publish"]


def test_builds_with_other_libraries_take_part(tmp_path):
    """None: in the clear they are what the system's is."""
    ours = sockets.own_servers(types.SimpleNamespace(build="build", out=str(tmp_path), libraries="AWS-LC=other,X=third"))
    pair = sockets.certificate_of(str(tmp_path))
    for library, build in ("AWS-LC", "other"), ("X", "third"):
        for name, backend in ("epoll", "epoll"), ("io_uring", "uring"):
            words = ours[f"Skua with {library}, {name}"]
            assert words(1, sockets.WORKLOADS["echo-16"]) is words(1, sockets.WORKLOADS["publish"]) is None
            assert words(1, sockets.WORKLOADS["tls-echo-16"]) == [f"{build}/bench_socket_server", 1, backend, *pair]
    assert "Skua with AWS-LC, epoll" not in sockets.own_servers(types.SimpleNamespace(build="build", out="out", libraries=""))


@pytest.mark.test_all
def test_a_server_that_falls_silent():
    """The client waits for 10 s, and then says what is outstanding."""
    port = free_port()
    server = Server([RELEASE / "bench_socket_ceiling_epoll", str(port)], ("127.0.0.1", port))
    client = subprocess.Popen([RELEASE / "bench_socket_client", str(port), "/echo", "5", "16", "60"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "ready\n"
    server.process.send_signal(signal.SIGSTOP)
    try:
        _, said = client.communicate("\n", timeout=60)
    finally:
        server.process.send_signal(signal.SIGCONT)
        server.process.terminate()
        server.process.wait(20)
    assert client.returncode == 1
    assert said == ("no message came for 10 s: 0 had come; of 5 connections 0 have not sent all of theirs, 0 have got part of one\n")


@pytest.mark.parametrize("words", [["bench_socket_ceiling_epoll", "--publish"], ["bench_socket_ceiling_uring", "--publish"],
                                   ["bench_socket_server", "epoll"], ["bench_socket_server", "uring"]], ids=" ".join)
def test_publish(words):
    assert eventually(lambda: exchanged(words, "/publish", 50, 16, 0.1, "publish") >= 50)
