# SPDX-License-Identifier: MIT
"""A store for topics: a real Redis or Valkey on loopback, which tests kill and start again with or without its data."""

import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time

from ports import free_port
from server import eventually

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
CLIENT = shutil.which("redis-cli") or shutil.which("valkey-cli")


class Store:
    def __init__(self, folder, *words):
        assert PROGRAM and CLIENT, "there is no redis-server here: tools/setup test"
        self.folder, self.port, self.words, self.process = folder, free_port(), [str(w) for w in words], None
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self, with_data=True):
        if not with_data:
            shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                 "--appendfsync", "always", "--dir", str(self.folder), *self.words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        assert eventually(self._answers), (self.folder / "log").read_text()

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as s:
                s.sendall(b"PING\r\n")
                answer = s.recv(100)
                return answer.startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False

    def kill(self):
        """As when the machine has gone: nothing is said to anybody."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process.poll() is None:
            self.go_on()
            self.kill()

    def ask(self, *words):
        """The words that the store's own client prints."""
        environment = {k: v for k, v in os.environ.items() if k != "REDISCLI_AUTH"}
        done = subprocess.run([CLIENT, "-p", str(self.port), *map(str, words)], capture_output=True, text=True, timeout=20,
                              env=environment, check=True)
        return done.stdout


class FalseStore:
    """Something that replies to commands in the store's place, by words of its own, or a function of the command's words, which
    may yield them piece by piece. pace: octets that it reads in a second. asked: the names of commands that came. greeted: when
    each connection was greeted."""

    USUAL = {"PING": b"+PONG\r\n", "TIME": b"*2\r\n$10\r\n1700000000\r\n$1\r\n1\r\n", "XADD": b"$3\r\n1-1\r\n", "XRANGE": b"*0\r\n"}

    def __init__(self, pace=None, **replies):
        self.replies, self.asked, self.greeted = {**self.USUAL, **replies}, [], []
        outer = self

        class Connection(socketserver.StreamRequestHandler):
            def handle(self):
                while words := self.words():
                    outer.asked.append(words[0].decode())
                    if words[0] == b"PING":
                        outer.greeted.append(time.monotonic())
                    reply = outer.replies[outer.asked[-1]]
                    reply = reply(words) if callable(reply) else reply
                    for piece in [reply] if isinstance(reply, bytes) else reply:
                        self.request.sendall(piece)

            def words(self):
                count = re.fullmatch(rb"\*(\d+)\r\n", self.rfile.readline())
                words = []
                for _ in range(int(count[1]) if count else 0):
                    length = int(self.rfile.readline()[1:])
                    words.append(self.octets(length + 2)[:-2])
                return words

            def octets(self, count):
                found = b""
                while pace and count - len(found) > pace // 10:
                    found += self.rfile.read(pace // 10)
                    time.sleep(0.1)
                return found + self.rfile.read(count - len(found))

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the server has closed the connection

        self.listener = Listener(("127.0.0.1", 0), Connection)
        if pace:
            self.listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.listener.server_address[1]}"

    def end(self):
        self.listener.shutdown()
        self.listener.server_close()
