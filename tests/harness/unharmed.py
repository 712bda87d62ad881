# SPDX-License-Identifier: MIT
"""Clients that notice everything, for servers that change while they are used: reloads, upgrades, restarts.

    with Crowd(("127.0.0.1", port), secure=("127.0.0.1", tls_port), trusted=pair.cert, folder=folder) as crowd:
        ...  # reload, upgrade; crowd.rests() waits until each client has been answered again
    crowd.judge(log=folder / "access.log")

Five clients ask over each of HTTP/1 in the clear, HTTP/1 over TLS and HTTP/2 over TLS: one with a connection for each request,
one with kept-alive GETs, one with kept-alive PUTs, one that downloads slowly, and one that uploads slowly. None of them tries anything
again: what is not answered whole is a fault. A sixth reads the events of the status page. The folder that is served needs
prepare(folder) before; the configuration an access log in the format short, and CONFIGURATION's site."""

import hashlib
import json
import pathlib
import ssl
import threading
import time

import tls
from events import EventReader
from wire import Connection, request

BIG_OCTETS = 6_000_000
PART_OCTETS = 1 << 18
REST_S = 0.01  # between two requests of a client
PAUSE_S = 0.02  # of the slow ones, after each part
SITE = "site unharmed.test {\n    root big\n}\n"
HOST = "unharmed.test"


def prepare(folder):
    """Makes the folder big with the files that are asked for."""
    big = pathlib.Path(folder) / "big"
    big.mkdir(exist_ok=True)
    octets = hashlib.shake_128(b"unharmed").digest(BIG_OCTETS)
    (big / "big.bin").write_bytes(octets)
    (big / "small.txt").write_text("small")
    return hashlib.sha256(octets).digest()


def digest_of(octets):
    return hashlib.sha256(octets).hexdigest()


class Client(threading.Thread):
    """One of the crowd: turn() does one thing, and fails if anything at all is not as it must be."""

    def __init__(self, crowd, transport):
        super().__init__(name=f"{type(self).__name__} over {transport}", daemon=True)
        self.crowd, self.transport = crowd, transport
        self.connection, self.turns, self.closed, self.sent = None, 0, 0, 0

    def connect(self):
        return self.crowd.connect(self.transport)

    def target(self, path):
        """Names a request, so that its line in the log can be found."""
        self.sent += 1
        return f"{path}?of={self.name.replace(' ', '-').replace('/', '')}&n={self.sent}"

    def ask(self, connection, path, *lines, method="GET", content=b""):
        target = self.target(path)
        if content:
            lines = (*lines, f"Content-Length: {len(content)}")
        connection.send(request(target, *lines, method=method, host=HOST) + content)
        response = connection.response(method)
        self.crowd.answered.add(target)
        return response

    def kept(self):
        """The connection that is kept; another one, where the last response has said that it closes."""
        if self.connection is None:
            self.connection = self.connect()
        return self.connection

    def keep(self, response):
        if response.closes:
            self.closed += 1
            self.connection.close()
            self.connection = None

    def run(self):
        try:
            while not self.crowd.over.is_set():
                self.turn()
                self.turns += 1
                time.sleep(REST_S)
        except Exception as fault:  # pylint: disable=broad-except
            self.crowd.faults.append(f"{self.name}, turn {self.turns}: {fault!r}")
        finally:
            if self.connection is not None:
                self.connection.close()


class EachItsOwn(Client):
    def turn(self):
        with self.connect() as connection:
            response = self.ask(connection, "/small.txt")
        assert (response.status, response.content) == (200, b"small"), response


class KeptGet(Client):
    def turn(self):
        response = self.ask(self.kept(), "/small.txt")
        assert (response.status, response.content) == (200, b"small"), response
        self.keep(response)


class Uploader(Client):
    """One that puts a file of its own, and gets it back."""

    octets = b""

    def path(self):
        """A folder that takes none says so when it has read the content."""
        if not self.crowd.takes_uploads:
            return "/small.txt"
        return f"/of-{self.name.replace(' ', '-').replace('/', '')}.bin"

    def judge(self, response):
        assert response.status in self.crowd.put_statuses, response
        self.keep(response)
        if self.crowd.takes_uploads:
            found = self.ask(self.kept(), self.path())
            assert (found.status, digest_of(found.content)) == (200, digest_of(self.octets)), found.fields
            self.keep(found)


class KeptPut(Uploader):
    octets = hashlib.shake_128(b"put").digest(5000)

    def turn(self):
        self.judge(self.ask(self.kept(), self.path(), method="PUT", content=self.octets))


class SlowDownload(Client):
    def turn(self):
        target, digest = self.target("/big.bin"), hashlib.sha256()
        connection = self.kept()
        connection.send(request(target, host=HOST))
        status = connection.line()
        length, closes = None, False
        while line := connection.line():
            name, _, value = line.decode().partition(":")
            length = int(value) if name.lower() == "content-length" else length
            closes = closes or (name.lower() == "connection" and "close" in value.lower())
        assert b" 200" in status and length == BIG_OCTETS, (status, length)
        while length:
            part = connection.exactly(min(PART_OCTETS, length))
            digest.update(part)
            length -= len(part)
            time.sleep(PAUSE_S)
        assert digest.digest() == self.crowd.digest, "other octets"
        self.crowd.answered.add(target)
        if closes:
            self.closed += 1
            connection.close()
            self.connection = None


class SlowUpload(Uploader):
    """A response comes in the middle of the content or behind it."""

    octets = hashlib.shake_128(b"upload").digest(200_000)

    def turn(self):
        target = self.target(self.path())
        connection = self.kept()
        connection.send(request(target, f"Content-Length: {len(self.octets)}", method="PUT", host=HOST))
        for at in range(0, len(self.octets), 20_000):
            connection.send(self.octets[at : at + 20_000])
            time.sleep(PAUSE_S)
        response = connection.response("PUT")
        self.crowd.answered.add(target)
        self.judge(response)


class StatusStream(Client):
    """Events of the status page: its uptime rises, and no more than 5 s pass between two. Events of another process begin anew."""

    def connect(self):
        return Connection(self.crowd.status)

    def turn(self):
        connection = self.kept()
        connection.send(request("/live", host="localhost"))
        assert b" 200" in connection.line()
        while connection.line():
            pass
        reader, last = EventReader(), -1
        while not self.crowd.over.is_set():
            for event in reader.feed(self.chunk(connection)):
                uptime = json.loads(event.data)["uptime"]
                assert last < 0 or last <= uptime <= last + 6, f"uptime {uptime} behind {last}"
                last = uptime
                self.turns += 1
        connection.close()
        self.connection = None

    @staticmethod
    def chunk(connection):
        size = int(connection.line(), 16)
        if size == 0:
            raise EOFError("the stream has ended")
        octets = connection.exactly(size)
        assert connection.line() == b""
        return octets


CLIENTS = (EachItsOwn, KeptGet, KeptPut, SlowDownload, SlowUpload)


class Crowd:
    """All of them. address: of HTTP in the clear. secure: of TLS, and trusted the certificate there. status: of the status
    page. put_statuses: what a PUT may be answered with."""

    def __init__(self, address, folder, secure=None, trusted=None, status=None, put_statuses=(405,), takes_uploads=False):
        self.digest = prepare(folder)
        self.address, self.secure, self.trusted, self.status = address, secure, trusted, status
        self.put_statuses, self.takes_uploads = put_statuses, takes_uploads
        self.over, self.faults, self.answered = threading.Event(), [], set()
        transports = ["HTTP/1"] + (["TLS", "h2"] if secure else [])
        self.clients = [client(self, transport) for transport in transports for client in CLIENTS]
        if status:
            self.clients.append(StatusStream(self, "HTTP/1"))

    def context(self, transport):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cafile=self.trusted)
        context.set_alpn_protocols(["h2" if transport == "h2" else "http/1.1"])
        return context

    def connect(self, transport):
        if transport == "HTTP/1":
            return Connection(self.address, http2=False)
        options = {"tls": self.context(transport), "server_name": HOST}
        return Connection(self.secure, tls=options, http2=transport == "h2")

    def __enter__(self):
        for client in self.clients:
            client.start()
        self.rests()
        return self

    def __exit__(self, *_):
        self.end()

    def rests(self, within=60.0):
        """Waits until each client has been answered once more, or one has a fault."""
        before, end = [client.turns for client in self.clients], time.monotonic() + within
        while not self.faults and any(c.turns == n for c, n in zip(self.clients, before)):
            assert time.monotonic() < end, [c.name for c, n in zip(self.clients, before) if c.turns == n]
            time.sleep(0.01)

    def end(self):
        self.over.set()
        for client in self.clients:
            client.join(60)

    def missing(self, log):
        """Requests that were answered, and have no line in the log."""
        text = log.read_text()
        found = {word for line in text.splitlines() for word in line.split() if "?of=" in word}
        return {target for target in self.answered if target not in found}

    def judge(self, log=None, within=10.0):
        """Nobody was reset, nobody got no answer, and each answer has its line in the log."""
        self.end()
        assert not self.faults, "\n".join(self.faults)
        assert all(not client.is_alive() for client in self.clients)
        assert all(client.turns for client in self.clients), [c.name for c in self.clients if not c.turns]
        end = time.monotonic() + within
        while log and (lost := self.missing(log)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not log or not lost, f"{len(lost)} lines are lost, among them {sorted(lost)[:3]}"
