# SPDX-License-Identifier: MIT
"""A client that says exactly what it is told to, and reads answers by the letter of RFC 9112."""

import dataclasses
import re
import socket
import struct
import time

import tls as transports
from h2_socket import H2Socket
from tls import TlsSocket

TIMEOUT = 20.0
SEND_OCTETS = 1 << 20
TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)\Z")
FIELD_LINE = re.compile(rb"(" + TOKEN + rb"): ?((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)\Z")


@dataclasses.dataclass
class Response:
    status: int
    fields: list
    content: bytes = b""
    trailers: list = dataclasses.field(default_factory=list)
    framing: str = "none"

    def get(self, name, default=None):
        """The value of a field that may occur once."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} is repeated: {values}"
        return values[0] if values else default

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    @property
    def closes(self):
        return "close" in (self.get("connection") or "").lower()


class Connection:
    """One TCP or Unix connection. tls: over TLS, True or the keywords of TlsSocket. http2: over HTTP/2."""

    def __init__(self, address, receive_buffer=None, tls=False, http2=transports.HTTP2):
        family = socket.AF_UNIX if isinstance(address, str) else (
            socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        )
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(address)
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = self.socket
        if tls is not False:
            try:
                self.socket = TlsSocket(self.raw, **({} if tls is True else tls))
            except BaseException:
                self.raw.close()
                raise
        if http2:
            try:
                self.socket = H2Socket(self.socket, receive_buffer)
            except BaseException:
                self.raw.close()
                raise
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, octets):
        """Its time is for each part that is taken, and not for all: much may take long while the other end is slow."""
        for i in range(0, len(octets), SEND_OCTETS) or [0]:
            self.socket.sendall(octets[i : i + SEND_OCTETS])
        return self

    def send_split(self, octets, size=1, pause=0.0):
        for i in range(0, len(octets), size):
            self.socket.sendall(octets[i : i + size])
            if pause:
                time.sleep(pause)
        return self

    def get(self, path, *lines, method="GET", host="localhost"):
        """Sends a request without content and reads the answer."""
        self.send(request(path, *lines, method=method, host=host))
        return self.response(method)

    def offer(self, octets, method="POST"):
        """Sends a request whose content may be refused before its end, and reads the answer. Behind a refusal the server
        takes so much more and closes; the answer has come by then, and is read all the same (RFC 9112 section 9.5)."""
        try:
            self.send(octets)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self.response(method)

    def half_close(self):
        """Sends no more: FIN in the clear, and over TLS close_notify alone."""
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def half_leave(self):
        """Sends no more, and TCP says so, as it does of clients that leave."""
        self.half_close()
        if self.raw is not self.socket:
            self.raw.shutdown(socket.SHUT_WR)
        return self

    def reset(self):
        """Closes so that the peer gets RST."""
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.raw.close()

    def close(self):
        self.socket.close()

    # ---- reading ----

    def _more(self):
        octets = self.socket.recv(1 << 18)
        self.buffer += octets
        return bool(octets)

    def _take(self, n):
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def exactly(self, n):
        pieces, have = [self.buffer], len(self.buffer)
        while have < n:
            octets = self.socket.recv(1 << 18)
            if not octets:
                raise EOFError(f"closed {n - have} octets early")
            pieces.append(octets)
            have += len(octets)
        self.buffer = b"".join(pieces)
        return self._take(n)

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise EOFError(f"closed inside a line: {self.buffer[:80]!r}")
        line = self._take(self.buffer.index(b"\r\n"))
        self._take(2)
        assert b"\n" not in line and b"\r" not in line
        return line

    def field_section(self):
        fields = []
        while line := self.line():
            match = FIELD_LINE.match(line)
            assert match, f"not a field line: {line!r}"
            fields.append((match.group(1).decode(), match.group(2).decode("latin-1")))
        return fields

    def head(self):
        line = self.line()
        match = STATUS_LINE.match(line)
        assert match, f"not a status line: {line!r}"
        return Response(int(match.group(1)), self.field_section())

    def interim(self):
        """A 1xx answer."""
        response = self.head()
        assert response.status < 200, f"{response.status} is final"
        assert not response.get("content-length") and not response.get("transfer-encoding")
        return response

    def response(self, method="GET"):
        """A final answer with its content, which must be framed as the RFC says (section 6.3)."""
        response = self.head()
        assert response.status >= 200, f"{response.status} came unasked"
        length, coding = response.get("content-length"), response.get("transfer-encoding")
        assert not (length and coding)
        assert response.get("date"), "an answer has a Date"
        if response.status == 204:
            assert length is None and coding is None
        elif method == "HEAD" or response.status == 304:
            pass
        elif coding:
            assert coding == "chunked"
            response.framing = "chunked"
            response.content, response.trailers = self.chunked()
        elif length is not None:
            response.framing = "length"
            response.content = self.exactly(int(length))
        else:
            response.framing = "close"
            response.content = self.to_end()
        return response

    def one_chunk(self):
        """The octets of the next chunk; none of the last, behind which trailers follow."""
        line = self.line()
        assert re.fullmatch(rb"[0-9A-Fa-f]+", line), f"not a chunk size: {line!r}"
        octets = self.exactly(int(line, 16))
        assert not octets or self.exactly(2) == b"\r\n"
        return octets

    def chunked(self):
        pieces = list(iter(self.one_chunk, b""))
        return b"".join(pieces), self.field_section()

    def to_end(self):
        """Everything up to FIN. A reset is an error: it may have destroyed octets."""
        while self._more():
            pass
        return self._take(len(self.buffer))

    def to_break(self):
        """Everything up to where an answer is broken off: by FIN in the clear, and over TLS without close_notify, which
        would call it whole. In HTTP/2 it is RST_STREAM."""
        if not isinstance(self.socket, TlsSocket):
            return self.to_end()
        try:
            self.to_end()
        except ConnectionAbortedError as fault:
            assert "without close_notify" in str(fault)
        else:
            raise AssertionError("close_notify came")
        return self._take(len(self.buffer))

    def ended(self, within=TIMEOUT):
        """Whether the peer closes in time without sending anything more; a reset counts."""
        self.socket.settimeout(within)
        try:
            return not self.buffer and not self.socket.recv(1)
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(TIMEOUT)

    def silent(self, seconds):
        """Whether nothing comes, and the connection stays open, for so long."""
        self.socket.settimeout(seconds)
        try:
            self.buffer += self.socket.recv(1)
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(TIMEOUT)


def request(path, *lines, method="GET", host="localhost", version="1.1", content=b""):
    """The octets of a request. host None leaves the field out."""
    head = [f"{method} {path} HTTP/{version}"]
    if host is not None:
        head.append(f"Host: {host}")
    head += lines
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + content


def posted(path, content=b"", *lines, method="POST", **options):
    """The octets of a request that states its content's length."""
    return request(path, f"Content-Length: {len(content)}", *lines, method=method, content=content, **options)


def chunk(octets, extension=b""):
    return b"%x%s\r\n%s\r\n" % (len(octets), extension, octets)
