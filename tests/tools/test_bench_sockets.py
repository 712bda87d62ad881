# SPDX-License-Identifier: MIT
"""The bench of WebSockets: its client compares every octet with what should come, from the ceiling and from Skua."""

import pathlib
import subprocess
import sys

import pytest
from server import Server

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))
import processes  # noqa: E402  (the bench is no package)

pytestmark = pytest.mark.skipif(not (RELEASE / "bench_socket_client").exists(), reason="the bench is not built")


def exchanged(words, path, *load):
    """How many messages came in a moment, and how the client ended."""
    port = processes.free_port()
    server = Server([RELEASE / words[0], str(port), *words[1:]], ("127.0.0.1", port))
    try:
        command = [RELEASE / "bench_socket_client", str(port), path, *map(str, load)]
        done = subprocess.run(command, input="\n\n", capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[1])
    finally:
        server.process.terminate()
        server.process.wait(20)


@pytest.mark.parametrize("octets", [1, 16, 125, 126, 1024, 65535, 65536])
@pytest.mark.parametrize("words", [["bench_socket_ceiling"], ["bench_socket_server", "epoll"]], ids=["ceiling", "skua"])
def test_echo(words, octets):
    assert exchanged(words, "/echo", 5, octets, 0.1) >= 5


@pytest.mark.parametrize("words", [["bench_socket_ceiling", "--publish"], ["bench_socket_server", "epoll"]],
                         ids=["ceiling", "skua"])
def test_publish(words):
    assert exchanged(words, "/publish", 50, 16, 0.1, "publish") >= 50
