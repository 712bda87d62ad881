# SPDX-License-Identifier: MIT
"""A client of HTTP/2 that sends exactly the frames it is told to, and reads those that come."""

import contextlib
import dataclasses
import socket
import struct
import time

import hpack
import tls
from h2_socket import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PAYLOAD, PING, PREFACE, PUSH_PROMISE,
                       RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, header_frames, settings, take_frame, window_update)
from tls import TlsSocket

TIMEOUT = 20.0


@dataclasses.dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes
    fields: list = None  # of HEADERS

    @property
    def ends(self):
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)

    @property
    def number(self):
        """The code of RST_STREAM, the increment of WINDOW_UPDATE."""
        return struct.unpack(">I", self.payload)[0]


@dataclasses.dataclass
class Answer:
    status: int
    fields: dict
    content: bytes = b""
    trailers: dict = None
    interim: list = dataclasses.field(default_factory=list)
    reset: int = None  # the code of RST_STREAM, where one came


class Reset(Exception):
    """A stream was reset before its response had come whole."""


class Client:
    """One connection. greet: whether the preface and SETTINGS are exchanged at once. answers: whether PING and SETTINGS are
    acknowledged as they are read. address: another one than server.address. server_name: of the ClientHello. trusted: the file
    of the certificate that is trusted, in place of this session's."""

    def __init__(self, server, *pairs, greet=True, answers=True, receive_buffer=None, secured=None, alpn="h2",
                 address=None, server_name=None, trusted=None):
        self.server = server
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(address or server.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = self.socket
        if server.tls if secured is None else secured:
            context = tls.context(trusted)
            if alpn:
                context.set_alpn_protocols([alpn])
            self.socket = TlsSocket(self.socket, context, server_name)
        self.buffer = bytearray()
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.answers = answers
        self.block = b""
        self.kept = []  # frames that have come and were not asked for
        self.last = -1  # the stream that was opened last
        self.settings = {}  # of the server
        if greet:
            self.send(PREFACE + settings(*pairs))
            while not self.settings:
                found = self.read()
                if found.kind == SETTINGS and not found.flags & ACK:
                    self.settings = dict(struct.iter_unpack(">HI", found.payload))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # ---- Sending ----

    def send(self, *octets):
        self.socket.sendall(b"".join(octets))
        return self

    def fields(self, path="/", *more, method="GET", authority="localhost", scheme="http"):
        pseudo = [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority)]
        return [(n, v) for n, v in pseudo if v is not None] + list(more)

    def block_of(self, *words, **options):
        return self.encoder.encode(self.fields(*words, **options))

    def next(self):
        self.last += 2
        return self.last

    def open(self, path="/", *more, ends=True, raw=None, **options):
        """Sends HEADERS of a new stream. raw: its fields, as they are. Returns its number."""
        block = self.encoder.encode(raw if raw is not None else self.fields(path, *more, **options))
        number = self.next()
        self.send(header_frames(number, block, END_STREAM if ends else 0))
        return number

    def data(self, stream, octets=b"", ends=False):
        parts = [octets[i : i + PAYLOAD] for i in range(0, len(octets), PAYLOAD)] or [b""]
        self.send(*[frame(DATA, END_STREAM if ends and i + 1 == len(parts) else 0, stream, part) for i, part in enumerate(parts)])

    def cancel(self, stream, code=8):
        self.send(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))

    def credit(self, stream, octets):
        self.send(window_update(stream, octets))

    # ---- Reading ----

    def read(self):
        """The next frame."""
        if self.kept:
            return self.kept.pop(0)
        return self._read()

    def _read(self):
        while not (found := take_frame(self.buffer)):
            octets = self.socket.recv(1 << 16)
            if not octets:
                raise EOFError("the connection has ended")
            self.buffer += octets
        found = Frame(*found)
        assert found.kind != PUSH_PROMISE
        if found.kind in (HEADERS, CONTINUATION):
            self.block += found.payload
            if found.flags & END_HEADERS:
                found.fields = self.decoder.decode(self.block)
                self.block = b""
        if self.answers and not found.flags & ACK and found.kind in (SETTINGS, PING):
            with contextlib.suppress(ConnectionError):  # what came before the end is read all the same
                self.send(frame(found.kind, ACK, 0, found.payload if found.kind == PING else b""))
        return found

    def until(self, wanted):
        """The first frame for which wanted(frame); what comes before is kept for others."""
        for i, found in enumerate(self.kept):
            if wanted(found):
                return self.kept.pop(i)
        while True:
            found = self._read()
            if wanted(found):
                return found
            self.kept.append(found)

    def of(self, stream, *kinds):
        return self.until(lambda f: f.stream == stream and (f.kind in kinds if kinds else f.kind != WINDOW_UPDATE))

    def response(self, stream, credits=True):
        """The response of a stream, whole. credits: whether its windows are opened by what has come."""
        answer = None
        interim = []
        while True:
            found = self.of(stream)
            if found.kind == RST_STREAM:
                raise Reset(found.number)
            if found.kind == HEADERS and answer is None:
                fields = dict(found.fields)
                if fields[":status"].startswith("1"):
                    interim.append(fields)
                    continue
                answer = Answer(int(fields[":status"]), fields, interim=interim)
            elif found.kind == HEADERS:
                answer.trailers = dict(found.fields)
            else:
                answer.content += found.payload
                if credits and found.payload:
                    with contextlib.suppress(ConnectionError):  # what came before the end is read all the same
                        self.credit(0, len(found.payload))
                        if not found.ends:
                            self.credit(stream, len(found.payload))
            if found.ends:
                return answer

    def get(self, path="/", *more, content=None, **options):
        stream = self.open(path, *more, ends=content is None, **options)
        if content is not None:
            self.data(stream, content, ends=True)
        return self.response(stream)

    def reset_code(self, stream):
        """The code with which a stream is reset."""
        return self.of(stream, RST_STREAM).number

    def goaway(self):
        """(last stream, code, reason) of the next GOAWAY."""
        payload = self.until(lambda f: f.kind == GOAWAY).payload
        return (*struct.unpack(">II", payload[:8]), payload[8:])

    def failed_with(self):
        """The code with which the connection is ended."""
        code = self.goaway()[1]
        assert self.ended()
        return code

    def ended(self):
        """Whether the server closes behind what has come."""
        try:
            while True:
                self._read()
        except (EOFError, ConnectionError):
            return True
        except TimeoutError:
            return False

    def pings(self):
        """A round trip: everything before has been taken, and nothing has been refused."""
        word = b"%08d" % (time.monotonic_ns() % 10**8)
        self.send(frame(PING, 0, 0, word))
        self.until(lambda f: f.kind == PING and f.flags & ACK and f.payload == word)
        return True

    def silent(self, seconds):
        """Whether nothing comes for so long."""
        self.socket.settimeout(seconds)
        try:
            self.kept.append(self._read())
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(TIMEOUT)
