# SPDX-License-Identifier: MIT
"""Reloads and upgrades that nobody notices: no reset, no request without its response, no line of the log is lost."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest
import tls
from conf import SKUA, children, of, process_of, start, write_folder
from crowd import CONTENT, Crowd, lines_of, rest
from ports import free_port
from server import BUILD, check_sanitizers, eventually

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

# How many workers serve, and which addresses come and go.
WORKERS = (3, 1, 4, 2)
MORE = ("", "listen 127.0.0.1:{one}\n", "listen 127.0.0.1:{one}\nlisten 127.0.0.1:{two} tls\nlisten unix:{folder}/socket\n",
        "listen 127.0.0.1:{two} tls\n")


class House:
    """A server, its file, and clients of all kinds over each transport."""

    def __init__(self, folder, launch):
        write_folder(folder)
        shutil.copy(SKUA, folder / "skua")
        (folder / "pub" / "data").write_bytes(CONTENT)
        self.folder, self.file, self.count = folder, folder / "skua.conf", 0
        self.ports = {"one": free_port(), "two": free_port(), "folder": folder}
        self.status = ("127.0.0.1", free_port())
        self.server = launch(start, folder, TEXT.format(status=self.status[1], certificate=tls.certificate()), program=folder / "skua")
        self.text = self.file.read_text()

    @contextlib.contextmanager
    def crowds(self):
        pub = self.folder / "pub"
        with Crowd(self.server.address, name="clear", status=self.status, folder=pub) as clear, \
                Crowd(self.server.secure, name="tls", tls=True, folder=pub) as secure, \
                Crowd(self.server.secure, name="h2", tls=True, http2=True, folder=pub) as multiplexed:
            rest(clear, secure, multiplexed)
            yield [clear, secure, multiplexed]

    def change(self, word):
        """Gives the server other workers, addresses and sites, by a reload or an upgrade. Returns what the command said."""
        self.count += 1
        number = self.count
        self.file.write_text(self.text + f"workers {WORKERS[number % 4]}\n" + MORE[number % 4].format(**self.ports)
                             + ("site other.test {\n    root pub\n}\n" if number % 3 == 1 else ""))
        ran = subprocess.run([SKUA, word, "-c", self.file], capture_output=True, text=True, check=False, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr

    def lost(self, crowds):
        """Requests that were answered, and have no line in the log, or more than one."""
        return lines_of((self.folder / "access.log").read_text(), [target for crowd in crowds for target in crowd.targets])


@of("listen", "workers")
@pytest.mark.parametrize("reloads, upgrades", [(5, 2), pytest.param(50, 10, marks=pytest.mark.test_all)])
def test_reloads_and_upgrades(tmp_path, launch, reloads, upgrades):
    """A reload is done by the process that serves: even the page's events go on in their stream. Upgrades come in between."""
    house = House(tmp_path, launch)
    with house.crowds() as crowds:
        for number in range(1, reloads + upgrades + 1):
            before, streams = process_of(house.server), crowds[0].streams
            if number % (reloads // upgrades + 1) == 0:
                assert house.change("upgrade").endswith(" serves 2 sites\n" if house.count % 3 == 1 else " serves 1 site\n")
                assert process_of(house.server) != before
            else:
                assert "the configuration has been read again" in house.change("reload")
                assert process_of(house.server) == before and crowds[0].streams == streams
            rest(*crowds)
    assert eventually(lambda: len(children(house.server.pid)) == 1, within=100)
    assert eventually(lambda: not house.lost(crowds)), house.lost(crowds)[:20]
    said = house.server.error_text()
    assert "lost" not in said and len(re.findall(r"serves \d sites? from now on", said)) == upgrades


def test_clients_that_are_harmed_say_so(tmp_path, launch):
    house = House(tmp_path, launch)
    with pytest.raises(AssertionError, match="'kept'"), house.crowds() as crowds:
        os.kill(process_of(house.server), signal.SIGKILL)
        assert eventually(lambda: all(any(kind == "kept" for _, kind, *_ in crowd.failures) for crowd in crowds))


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
        with Crowd(listener.getsockname(), name="clear", sockets="/socket", **how) as clear, \
                Crowd(listener.getsockname(), name="h2c", http2=True, **how) as multiplexed:
            for number in range(times):
                rest(clear, multiplexed)
                before, serving = serving, Generation(listener, 1 + number % 3)
                before.leave(left=1)  # the WebSocket
            rest(clear, multiplexed)
        serving.end()


def test_processes_of_one_socket():
    hand_over_under_load(2)


@pytest.mark.test_all
def test_ten_processes_of_one_socket():
    hand_over_under_load(10)
