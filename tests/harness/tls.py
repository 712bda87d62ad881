# SPDX-License-Identifier: MIT
"""TLS for clients of the tests: a certificate made once, and a socket that speaks TLS over another one."""

import atexit
import base64
import functools
import hashlib
import os
import select
import shutil
import socket
import ssl
import tempfile
import threading
import time

# How every test server is spoken to that can: "" in the clear, "tls" by TLS 1.3, "tls-openssl" with records that are
# OpenSSL's, "tls-1.2" by TLS 1.2, "h2" by HTTP/2 over TLS, "h2c" by HTTP/2 in the clear.
TRANSPORT = os.environ.get("SKUA_TRANSPORT", "")
assert TRANSPORT in ("", "tls", "tls-openssl", "tls-1.2", "h2", "h2c"), TRANSPORT
SECURED = TRANSPORT not in ("", "h2c")
HTTP2 = TRANSPORT in ("h2", "h2c")

OCTETS_AROUND = 22  # of a record: header, type, tag


@functools.cache
def certificate():
    """The pair of this session's servers."""
    from certificates import make  # which needs wire, which needs this

    folder = tempfile.mkdtemp(prefix="skua-tls-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return make(folder, "localhost", names="DNS:localhost,DNS:*.many.test,IP:127.0.0.1,IP:::1")


def server_words(transport=None):
    """The words that a test server is told besides --tls-port."""
    records = ["--records", "openssl"] if (TRANSPORT if transport is None else transport) == "tls-openssl" else []
    return [*certificate().options, *records]


def context(trusted=None, version=None):
    """A client's, that trusts that certificate alone. version: the only one that it speaks."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_verify_locations(trusted or certificate().cert)
    made.check_hostname = False
    if version:
        made.minimum_version = made.maximum_version = version
    return made


@functools.cache
def usual_context():
    made = context(version=ssl.TLSVersion.TLSv1_2 if TRANSPORT == "tls-1.2" else ssl.TLSVersion.TLSv1_3)
    if HTTP2:
        made.set_alpn_protocols(["h2"])
    return made


def trust(environment):
    """Lets curl and httpx trust that certificate, by their environment."""
    environment["CURL_CA_BUNDLE"] = environment["SSL_CERT_FILE"] = str(certificate().cert)


def browser_words():
    """Lets Chromium trust that certificate, by the hash of its public key."""
    from certificates import openssl

    if not SECURED:
        return []
    key = "".join(openssl("x509", "-in", certificate().cert, "-noout", "-pubkey").splitlines()[1:-1])
    digest = hashlib.sha256(base64.b64decode(key)).digest()
    return [f"--ignore-certificate-errors-spki-list={base64.b64encode(digest).decode()}"]


def speak_http2(environment):
    """Lets curl speak HTTP/2 in the clear, by a file of options; over TLS it does by itself."""
    folder = tempfile.mkdtemp(prefix="skua-curl-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with open(os.path.join(folder, ".curlrc"), "w") as options:
        options.write("http2-prior-knowledge\n")
    environment["CURL_HOME"] = folder


class TlsSocket:
    """A socket, as far as the tests use one, over one that is connected. It reads no more of the wire than it is asked for,
    so that whoever reads slowly lets the server wait, as in the clear."""

    def __init__(self, raw, tls=None, server_name=None, session=None):
        self.raw = raw
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl = (tls or usual_context()).wrap_bio(self.incoming, self.outgoing, server_hostname=server_name,
                                                     session=session)
        self.using = threading.Lock()  # the SSL object, which two threads may not use at a time
        self.sending = threading.Lock()  # the order of octets on the wire
        self.plain = b""  # has come and has not been asked for
        self.unsent = b""
        self.ended = False
        self.handshake()

    def handshake(self):
        while True:
            try:
                with self.using:
                    self.ssl.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self._receive(1 << 16)
            except ssl.SSLError:
                self._flush()  # the alert
                raise
        self._flush()

    # ---- sending ----

    def _flush(self):
        with self.sending:
            while True:
                with self.using:
                    self.unsent += self.outgoing.read()
                if not self.unsent:
                    return
                self.unsent = self.unsent[self.raw.send(self.unsent):]

    def sendall(self, octets):
        end = None if self.raw.gettimeout() is None else time.monotonic() + self.raw.gettimeout()
        view = memoryview(octets)
        for i in range(0, len(view), 1 << 16):
            with self.using:
                self.ssl.write(view[i : i + (1 << 16)])
            self._flush()
            if end and time.monotonic() > end:
                raise TimeoutError("timed out")

    def send(self, octets):
        """Takes octets when those before have left, so that a full wire is noticed."""
        self._flush()
        octets = octets[: 1 << 16]
        with self.using:
            n = self.ssl.write(octets)
        try:
            self._flush()
        except (BlockingIOError, TimeoutError):
            pass  # what is left leaves before the next
        return n

    # ---- receiving ----

    def _receive(self, n):
        octets = self.raw.recv(n)
        if octets:
            self.incoming.write(octets)
            return
        raise ConnectionAbortedError("the connection was closed without close_notify")

    def _read(self):
        """Octets of the session, none at its end, or None: more of the wire is needed."""
        try:
            with self.using:
                return self.ssl.read(1 << 16)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as fault:
            raise ConnectionAbortedError(str(fault)) from fault
        finally:
            self._answer()

    def _answer(self):
        """Sends what reading has made: alerts, updates of keys. It need not arrive. Who is sending on another thread
        sends it too."""
        if not self.outgoing.pending or self.sending.locked():
            return
        try:
            self._flush()
        except OSError:
            pass

    def _read_ahead(self, n):
        """Takes as much of the wire as is given of what came before, so that both are read at one pace."""
        waiting = select.poll()
        waiting.register(self.raw, select.POLLIN)
        if not waiting.poll(0):
            return
        try:
            self._receive(n)
        except ConnectionError:
            pass  # told when all has been read

    def recv(self, n):
        if self.plain:
            self._read_ahead(n)
        while len(self.plain) < n and not self.ended:
            octets = self._read()
            if octets:
                self.plain += octets
            elif octets == b"":
                self.ended = True
            elif self.plain:
                break
            else:
                self._receive(min(n + OCTETS_AROUND, 1 << 18))
        taken, self.plain = self.plain[:n], self.plain[n:]
        return taken

    def recv_into(self, room):
        octets = self.recv(len(room))
        room[: len(octets)] = octets
        return len(octets)

    # ---- the end ----

    def _say_end(self):
        """Sends close_notify. What has come stays to be read."""
        while octets := self._read():
            self.plain += octets
        try:
            with self.using:
                self.ssl.unwrap()
        except ssl.SSLError:
            pass  # the peer's own has not come
        self._flush()

    def shutdown(self, how):
        """The session's half, not the wire's: TCP goes on for both."""
        assert how == socket.SHUT_WR
        self._say_end()

    def close(self):
        if self.raw.fileno() < 0:
            return
        try:
            self.raw.setblocking(False)
            if not self.unsent:
                self._say_end()
        except OSError:
            pass
        self.raw.close()

    # ---- what is the wire's own ----

    def gettimeout(self):
        return self.raw.gettimeout()

    def settimeout(self, seconds):
        self.raw.settimeout(seconds)

    def setblocking(self, blocks):
        self.raw.setblocking(blocks)

    def setsockopt(self, *words):
        self.raw.setsockopt(*words)

    def getsockname(self):
        return self.raw.getsockname()

    def fileno(self):
        return self.raw.fileno()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
