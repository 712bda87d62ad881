# SPDX-License-Identifier: MIT
"""Clients of every kind at once, none of which may notice what becomes of the server, be it a reload, an upgrade or a restart: a
request without a response, a reset, content that differs, and a refused connection are failures. No request is sent twice.

    with Crowd(("127.0.0.1", port), name="clear", folder=folder) as crowd:
        ...  # reload, upgrade; rest(crowd) waits until each client has been answered again
    assert not lines_of(log, crowd.targets)
"""

import functools
import hashlib
import random
import re
import threading
import time
import zlib

import tls as tls_of
import websocket as ws
from h2_socket import H2Socket
from server import eventually
from wire import Connection, posted, request

CONTENT = random.Random(7).randbytes(2_000_000)  # of what is downloaded and uploaded
PIECE = 65536
PAUSE_S = 0.02  # between pieces of those that are slow


def leaves(connection, response):
    """Whether the server has said that it is the last response of its connection."""
    if isinstance(connection.socket, H2Socket):
        return connection.socket.goaway is not None
    return response.closes


def sends(connection, octets):
    """Sends a request. Returns: False when it has not left, since the client has read GOAWAY meanwhile."""
    opened = getattr(connection.socket, "next_number", None)
    connection.send(octets)
    return opened is None or connection.socket.next_number > opened


@functools.cache
def h2_context():
    made = tls_of.context()
    made.set_alpn_protocols(["h2"])
    return made


class Crowd:
    """Begins with the block and ends with it; then nothing may have failed. address, tls, http2: of the site. status: the address of
    the status listener. data: what /data is. uploads: a path that answers with the Adler-32 of what was sent to it. sockets: a path
    of WebSockets that echo, and are closed by 1001. folder: of the site, where it takes uploads; else it refuses PUT."""

    def __init__(self, address, *, name, tls=False, http2=False, host="a.test", status=None, data=CONTENT, uploads=None,
                 sockets=None, folder=None):
        self.address, self.name, self.host = address, name, host
        self.how = {"tls": {"tls": h2_context()} if tls and http2 else tls, "http2": http2}
        self.status, self.data, self.uploads, self.sockets = status, data, uploads, sockets
        self.folder = folder
        self.over = threading.Event()
        self.failures, self.targets = [], []
        self.last, self.streams = 0, 0  # of the events: the number of the last one, and how many streams they came by
        kinds = [self.anew, self.kept, self.put, self.download]
        kinds += [self.events] * (status is not None) + [self.upload] * (uploads is not None) + [self.socket] * (sockets is not None)
        kinds += [self.put_slowly] * (folder is not None)
        self.counts = {kind.__name__: 0 for kind in kinds}
        self.threads = [threading.Thread(target=self._run, args=[kind]) for kind in kinds]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        if kind is None:
            assert not self.failures, self.failures
            assert min(self.counts.values()) > 0, self.counts

    def _run(self, kind):
        try:
            while not self.over.is_set():
                kind()
        except Exception as failure:  # told by the block's end
            self.failures.append((self.name, kind.__name__, self.counts[kind.__name__], repr(failure)))

    def connect(self, **options):
        return Connection(self.address, **{**self.how, **options})

    def _target(self, kind, path="/"):
        return f"{path}?{self.name}-{kind}-{self.counts[kind]}"

    def _answered(self, kind, target, response, *statuses):
        assert response.status in statuses, response.status
        self.targets.append(target)
        self.counts[kind] += 1
        return response

    # ---- Kinds ----

    def anew(self):
        """A connection for each request."""
        with self.connect() as connection:
            target = self._target("anew")
            if sends(connection, request(target, host=self.host)):
                self._answered("anew", target, connection.response(), 200)
        time.sleep(0.005)

    def _keep(self, kind, ask, *statuses, path="/", judge=lambda target: None):
        with self.connect() as connection:
            while not self.over.is_set():
                target = self._target(kind, path)
                if not sends(connection, ask(target)):
                    return
                response = self._answered(kind, target, connection.response(), *statuses)
                judge(target)
                if leaves(connection, response):
                    return
                time.sleep(0.005)

    def kept(self):
        self._keep("kept", lambda target: request(target, host=self.host), 200)

    def put(self):
        """Requests that are not to be sent again. Files take none, so that refusing it is the answer, where there is no folder for it."""
        stored = f"put-{self.name}.bin"
        path = f"/{stored}" if self.folder else "/"

        def ask(target):
            return posted(target, target.encode(), method="PUT", host=self.host)

        def judge(target):
            assert not self.folder or (self.folder / stored).read_text() == target

        self._keep("put", ask, *((201, 204) if self.folder else (200, 405)), path=path, judge=judge)

    def put_slowly(self):
        """A file that has been answered for is there, whole."""
        stored = f"slow-{self.name}.bin"
        target = self._target("put_slowly", f"/{stored}")
        with self.connect() as connection:
            if not sends(connection, posted(target, CONTENT, method="PUT", host=self.host)[:-len(CONTENT)]):
                return
            for at in range(0, len(CONTENT), PIECE):
                connection.send(CONTENT[at : at + PIECE])
                time.sleep(PAUSE_S)
            self._answered("put_slowly", target, connection.response(), 201, 204)
        assert hashlib.sha256((self.folder / stored).read_bytes()).digest() == hashlib.sha256(CONTENT).digest()

    def _take_slowly(self, connection):
        """The head of a response, and its content as a poor line brings it."""
        response, seen = connection.head(), bytearray()
        length = response.get("content-length")
        assert length in (None, str(len(self.data)))
        while len(seen) < len(self.data) or not length:
            piece = connection.exactly(min(PIECE, len(self.data) - len(seen))) if length else connection.one_chunk()
            if not piece:
                connection.field_section()
                break
            seen += piece
            time.sleep(PAUSE_S * len(piece) / PIECE)
        return response, seen

    def download(self):
        """One behind the other on a connection."""
        with self.connect(receive_buffer=PIECE) as connection:
            while not self.over.is_set():
                target = self._target("download", "/data")
                if not sends(connection, request(target, host=self.host)):
                    return
                response, seen = self._take_slowly(connection)
                assert hashlib.sha256(seen).digest() == hashlib.sha256(self.data).digest()
                if leaves(connection, self._answered("download", target, response, 200)):
                    return

    def upload(self):
        target = self._target("upload", self.uploads)
        with self.connect() as connection:
            head = posted(target, CONTENT, host=self.host)[:-len(CONTENT)]
            if not sends(connection, head):
                return
            for at in range(0, len(CONTENT), PIECE):
                connection.send(CONTENT[at : at + PIECE])
                time.sleep(PAUSE_S)
            response = self._answered("upload", target, connection.response(), 200)
        assert int(response.content) == zlib.adler32(CONTENT)

    def socket(self):
        """A WebSocket is echoed until the server says that it goes away."""
        socket = ws.Socket(self, self.sockets, host=self.host)
        while not self.over.is_set():
            text = f"message {self.counts['socket']}"
            socket.send(ws.frame(ws.TEXT, text))
            opcode, payload = socket.frame()
            if opcode == ws.CLOSE:
                assert payload[:2] == (1001).to_bytes(2, "big"), payload
                socket.send(ws.close(1001))
                break
            assert payload.decode() == text
            self.counts["socket"] += 1
            time.sleep(0.005)
        socket.leave()

    def events(self):
        """The stream of the status page: numbers rise over all of its connections, and each ends whole."""
        self.streams += 1
        with Connection(self.status) as connection:
            connection.send(request("/live", f"Last-Event-ID: {self.last}", host="127.0.0.1"))
            assert connection.head().status == 200
            while piece := connection.one_chunk():
                for found in re.findall(rb"(?m)^id: (\d+)$", piece):
                    assert int(found) > self.last, (int(found), self.last)
                    self.last = int(found)
                    self.counts["events"] += 1
                if self.over.is_set():
                    return


def rest(*crowds, within=60.0):
    """Waits until each client has been answered once more, or one has failed."""
    before = [dict(crowd.counts) for crowd in crowds]

    def waiting():
        return [(crowd.name, kind) for crowd, then in zip(crowds, before) for kind in then if crowd.counts[kind] == then[kind]]

    eventually(lambda: any(crowd.failures for crowd in crowds) or not waiting(), within, every=0.01)
    assert any(crowd.failures for crowd in crowds) or not waiting(), waiting()


def lines_of(log, targets):
    """Targets that have no line in the log, or more than one."""
    seen = re.findall(r'[A-Z]+ (/\S*\?\S+)', log)
    counted = {}
    for target in seen:
        counted[target] = counted.get(target, 0) + 1
    return [target for target in targets if counted.get(target) != 1]
