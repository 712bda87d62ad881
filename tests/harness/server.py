# SPDX-License-Identifier: MIT
"""Servers under test: started on a free loopback port, always stopped, and judged as they end."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import tls
from ports import free_port
from wire import Connection

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("SKUA_BUILD", "build/asan")
RELEASE = ROOT / "build/release"
CHOOSES = {"skua", "hello", "echo", "rules", "storm", "streams", "workers", "secure", "sockets", "topics"}  # programs that take --backend
SPEAK_TLS = {"hello", "echo", "rules", "storm", "streams", "threads", "files", "filters", "gateway", "guards", "parked", "uploads", "workers", "secure", "sockets", "topics"}  # that take --tls-port
SLOW = 20.0  # seconds after which something that should have happened has failed


def other_backend():
    """Of epoll and io_uring the one that a server here does not prefer."""
    skua = subprocess.Popen([BUILD / "skua", ROOT / "examples/site", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with skua:
        said = skua.stderr.readline()
        skua.terminate()
    return "epoll" if b"(uring)" in said else "uring"


def lacks_tls(build=BUILD):
    """The reason why tests over TLS are skipped on a build; None: it speaks TLS."""
    cache = build / "CMakeCache.txt"
    if cache.exists() and "\nSKUA_TLS:BOOL=OFF\n" in cache.read_text():
        return f"{build.name} is built without TLS (SKUA_TLS=OFF)"
    return None


# The backend that every server is started with; none: the one it prefers; "other": the one it does not.
BACKEND = os.environ.get("SKUA_BACKEND")
if BACKEND == "other":
    BACKEND = other_backend()


def eventually(condition, within=SLOW, every=0.02):
    """The first true value of condition(), or its last false one."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(every)


def on_backend(words):
    """A command that asks for the backend under test, unless it asks for one itself, or a file may."""
    words = [str(w) for w in words]
    if not BACKEND or "--backend" in words or "-c" in words or not any(os.path.basename(w) in CHOOSES for w in words):
        return words
    return [*words, "--backend", BACKEND]


class Server:
    """A process that serves. address: (host, port), or the path of a Unix socket. tls: how it is spoken to."""

    def __init__(self, words, address, *, tls=False, env=None, preexec=None, wait=True, cwd=None, fds=()):
        self.words = on_backend(words)
        self.address = address
        self.tls = tls
        self.connections = []
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, preexec_fn=preexec,
            env={**os.environ, **(env or {})}, cwd=cwd, pass_fds=fds,
        )
        self.judged = False
        if wait and not eventually(self._answers):
            self.process.kill()
            raise AssertionError(f"{self.words} does not listen: {self.error_text()}")

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.words} ended with {self.process.returncode}: {self.error_text()}")
        try:
            connection = Connection(self.address, tls=self.tls)
        except OSError:
            return False
        with contextlib.suppress(OSError), connection:
            connection.half_leave()
            while connection.raw.recv(1 << 16):
                pass  # until the server has closed it, and counts it no more
        return True

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return self.address[1]

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def connect(self, **options):
        connection = Connection(self.address, **{"tls": self.tls, **options})
        self.connections.append(connection)
        return connection

    def turns_away(self):
        """Whether a connection is closed as soon as it has been made."""
        try:
            with self.connect() as connection:
                return connection.ended(5.0)
        except ConnectionError:
            return True  # in the handshake

    def refuses(self):
        """Whether nobody listens any more."""
        try:
            Connection(self.address, tls=self.tls).close()
            return False
        except ConnectionError:
            return True

    def get(self, path, *lines, method="GET", host="localhost"):
        """One request on a connection of its own."""
        with self.connect() as connection:
            return connection.get(path, *lines, method=method, host=host)

    def alive(self):
        return self.process.poll() is None

    def error_text(self):
        return self._text(self.err)

    def out_text(self):
        return self._text(self.out)

    def lines(self):
        """The whole lines of its standard output: the last one may be under way."""
        return self.out_text().rpartition("\n")[0].splitlines()

    @staticmethod
    def _text(file):
        position = 0
        return os.pread(file.fileno(), 1 << 22, position).decode(errors="replace")

    def rss_octets(self):
        """Anonymous memory that is in use."""
        for line in pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no Anonymous line")

    def descriptors(self):
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, within=SLOW):
        """The exit status; kills and fails if there is none in time."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{self.words} still runs after {within} s\n{self.error_text()}") from None

    def stop(self):
        """Ends the server and checks that it ended well and that no sanitizer spoke."""
        if self.judged:
            return
        self.judged = True
        for connection in self.connections:
            connection.close()
        early = self.process.poll()
        if early is None:
            self.signal()
        try:
            code = self.wait()
        finally:
            text = self.error_text()
            self.out.close()
            self.err.close()
        assert early is None, f"{self.words} ended by itself with {early}\n{text}"
        assert code == 0, f"{self.words} ended with {code}\n{text}"
        check_sanitizers(text)

    def judge_end(self, code=0, within=SLOW):
        """For a server that is ending already: waits, and checks its status and what it said."""
        self.judged = True
        found = self.wait(within)
        text = self.error_text()
        assert found == code, f"{self.words} ended with {found}\n{text}"
        check_sanitizers(text)
        return text


def check_sanitizers(text):
    for mark in ("Sanitizer", "runtime error", "assertion", "skua: assert"):
        assert mark not in text, text


def numbered(name, *words, build=BUILD, **options):
    """A test server, which takes --port; the transport that is tested is between."""
    port = free_port()
    if tls.SECURED:
        assert name in SPEAK_TLS, f"{name} does not speak TLS: mark its tests in_the_clear"
        return secure(name, *words, port=port, build=build, **options)
    return Server([build / name, "--port", port, *words], ("127.0.0.1", port), **options)


def secure(name, *words, transport=None, port=None, build=BUILD, **options):
    """A test server over TLS."""
    if lacks_tls(build):
        pytest.skip(lacks_tls(build))
    port = port or free_port()
    return Server([build / name, "--tls-port", port, *tls.server_words(transport), *words], ("127.0.0.1", port),
                  **{"tls": True, **options})


def program(folder, *words, build=BUILD, **options):
    """The program, serving folder."""
    if tls.SECURED and lacks_tls(build):
        pytest.skip(lacks_tls(build))
    port = free_port()
    address = f"127.0.0.1:{port}"
    where = ["--tls-listen", address, *tls.certificate().options] if tls.SECURED else ["--listen", address]
    return Server([build / "skua", folder, *where, "--workers", "1", *words], ("127.0.0.1", port),
                  **{"tls": tls.SECURED, **options})
