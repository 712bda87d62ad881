# SPDX-License-Identifier: MIT
"""Upgrades that nobody notices: no reset, no request without its response, no line of the log is lost."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
import tls
from conf import SKUA, children, start, write_folder
from crowd import CONTENT, Crowd, lines_of
from server import BUILD, check_sanitizers, eventually, free_port

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = """listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
status 127.0.0.1:{status}
access_log access.log short
start_timeout 2min
site * {{
    root pub
    upload 10MiB overwrite anyone
    certificate {certificate.cert} {certificate.key}
}}
"""


@pytest.fixture
def folder(tmp_path):
    write_folder(tmp_path)
    shutil.copy(SKUA, tmp_path / "skua")
    (tmp_path / "pub" / "data").write_bytes(CONTENT)
    return tmp_path


@contextlib.contextmanager
def crowds(server, status, folder):
    """All kinds of clients, over each transport."""
    with Crowd(server.address, name="clear", status=("127.0.0.1", status), folder=folder) as clear, \
            Crowd(server.secure, name="tls", tls=True, folder=folder) as secure, \
            Crowd(server.secure, name="h2", tls=True, http2=True, folder=folder) as multiplexed:
        yield [clear, secure, multiplexed]


def change(file, text, number):
    """Another number of workers each time, and an address that comes and goes."""
    file.write_text(text + f"workers {1 + number % 3}\n" + (f"listen 127.0.0.1:{free_port()}\n" if number % 2 else ""))


def upgrade_under_load(folder, launch, upgrades):
    status = free_port()
    server = launch(start, folder, TEXT.format(status=status, certificate=tls.certificate()), program=folder / "skua")
    file = folder / "skua.conf"
    text = file.read_text()
    with crowds(server, status, folder / "pub") as all_of_them:
        for number in range(upgrades):
            time.sleep(1)
            change(file, text, number)
            ran = subprocess.run([SKUA, "upgrade", "-c", file], capture_output=True, text=True, check=False, timeout=300)
            assert ran.returncode == 0, ran.stderr
        time.sleep(1)
    assert eventually(lambda: len(children(server.pid)) == 1, within=100)
    targets = [target for crowd in all_of_them for target in crowd.targets]
    assert eventually(lambda: not lines_of((folder / "access.log").read_text(), targets)), lines_of((folder / "access.log").read_text(), targets)[:20]
    assert "lost" not in server.error_text()


def test_upgrades(folder, launch):
    upgrade_under_load(folder, launch, 2)


@pytest.mark.test_all
def test_ten_upgrades(folder, launch):
    upgrade_under_load(folder, launch, 10)


# ---- A program of its own, by the library ----

STREAM = bytes((i * 31 + i // 256) & 255 for i in range(2_000_000))


class Generation:
    """One of several processes on the same socket, one after the other."""

    def __init__(self, listener, workers):
        words = [BUILD / "handed", "--given", str(listener.fileno()), "--workers", str(workers), "--grace-ms", "60000"]
        self.process = subprocess.Popen(words, pass_fds=[listener.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("handed: ")
        self.sockets = self._count()

    def _count(self):
        """How many sockets it has: its listeners, and those of its clients."""
        folder = f"/proc/{self.process.pid}/fd"
        links = []
        for number in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                links.append(os.readlink(f"{folder}/{number}"))
        return len([link for link in links if link.startswith("socket:")])

    def leave(self, left):
        """Accepts no more; ends when as many clients are left, which are those that stay for as long as they may."""
        self.process.send_signal(signal.SIGUSR1)
        assert eventually(lambda: self._count() <= self.sockets + left, within=60)
        self.end()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=100)[1]
        assert self.process.returncode == 0, said
        check_sanitizers(said)


def hand_over_under_load(times):
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        serving = Generation(listener, 2)
        how = {"data": STREAM, "uploads": "/sum"}
        with Crowd(listener.getsockname(), name="clear", sockets="/socket", **how), \
                Crowd(listener.getsockname(), name="h2c", http2=True, **how):
            for number in range(times):
                time.sleep(1)
                before, serving = serving, Generation(listener, 1 + number % 3)
                before.leave(left=1)  # the WebSocket
            time.sleep(1)
        serving.end()


def test_processes_of_one_socket():
    hand_over_under_load(2)


@pytest.mark.test_all
def test_ten_processes_of_one_socket():
    hand_over_under_load(10)
