# SPDX-License-Identifier: MIT
"""Witnesses of attacks: clients that mean no harm, and are served again and again while something is done to their server, whose memory
stays."""

import threading
import time

from server import eventually
from websocket import TEXT, Socket, frame
from wire import Connection

PATIENCE_S = 15


class Witness:
    """memory: octets that the server may take more meanwhile: the sanitizer's own, and what a few connections may hold."""

    def __init__(self, server, memory):
        self.server, self.memory = server, memory

    def __enter__(self):
        self.over, self.served, self.faults = threading.Event(), 0, []
        self.connection = self.begin()
        self.before = self.server.rss_octets()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def _run(self):
        try:
            while not self.over.is_set():
                began = time.monotonic()
                self.turn()
                assert time.monotonic() - began < PATIENCE_S
                self.served += 1
                time.sleep(0.005)
        except BaseException as fault:
            self.faults.append(fault)

    def __exit__(self, kind, *_):
        eventually(lambda: self.served or self.faults)
        self.over.set()
        self.thread.join()
        self.leave()
        if kind is None:
            assert not self.faults and self.served > 0
            assert self.server.rss_octets() - self.before < self.memory


class RequestWitness(Witness):
    """A connection with one request after the other."""

    def __init__(self, server, memory=8 << 20):
        super().__init__(server, memory)

    def begin(self):
        self.server.get("/")
        return Connection(self.server.address, http2=False)

    def turn(self):
        assert self.connection.get("/").status == 200

    def leave(self):
        self.connection.close()


class SocketWitness(Witness):
    """A WebSocket with one message after the other, each of which comes back."""

    def __init__(self, server, path="/echo/witness", memory=16 << 20):
        super().__init__(server, memory)
        self.path = path

    def begin(self):
        return Socket(self.server, self.path)

    def turn(self):
        text = f"turn {self.served}"
        self.connection.send(frame(TEXT, text))
        while self.connection.message() != text:
            assert self.served == 0  # a greeting

    def leave(self):
        self.connection.leave()
