# SPDX-License-Identifier: MIT
"""Conversations over TLS that no library would lead, sent by tlslite-ng: what breaks a rule gets its alert, and ends its own
connection alone. Records are the library's and OpenSSL's."""

import contextlib
import hashlib
import socket

import pytest
from server import secure
from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import ContentType
from tlslite.errors import TLSAbruptCloseError, TLSClosedConnectionError, TLSRemoteAlert
from tlslite.messages import Message
from wire import TIMEOUT, request

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"), pytest.mark.of_tls]

OCTETS, HANDSHAKE, ALERT = ContentType.application_data, ContentType.handshake, ContentType.alert
CLOSE_NOTIFY, UNEXPECTED, BAD_MAC, OVERFLOW, ILLEGAL, DECODE, FALLBACK = 0, 10, 20, 22, 47, 50, 86
ASKED = request("/tls")
EMPTY_MAX = 32  # records without data in a row: docs/limits.md
PLAIN_MAX = 1 << 14
HELLO_MAX = 16384  # docs/limits.md
SERVER_HELLO = 2
RETRY = hashlib.sha256(b"HelloRetryRequest").digest()  # RFC 8446 section 4.1.3


@pytest.fixture(scope="module", params=["tls", "tls-openssl"])
def served(request):
    server = secure("secure", "--workers", "1", transport=request.param)
    yield server
    server.stop()


def settings(**options):
    made = HandshakeSettings()
    made.minVersion = made.maxVersion = (3, 4)
    made.keyShares = ["x25519"]
    for name, value in options.items():
        setattr(made, name, value)
    return made


class Rules:
    """A client that seals any record it is told to."""

    def __init__(self, server, **options):
        self.raw = socket.create_connection(server.address, TIMEOUT)
        self.raw.settimeout(TIMEOUT)
        self.tls = TLSConnection(self.raw)
        self.tls.closeSocket = self.tls.ignoreAbruptClose = False
        self.tls.handshakeClientCert(settings=settings(**options), alpn=[bytearray(b"http/1.1")])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def record(self, kind, octets):
        for _ in self.tls._recordLayer.sendRecord(Message(kind, bytearray(octets))):
            pass
        self.tls.sock.flush()
        return self

    def turn_keys(self):
        """The next keys, which are used behind a KeyUpdate of ours."""
        session = self.tls.session
        session.cl_app_secret, session.sr_app_secret = self.tls._recordLayer.calcTLS1_3KeyUpdate_reciever(
            session.cipherSuite, session.cl_app_secret, session.sr_app_secret)
        return self

    def answers(self, count=1):
        """Reads so many answers of 200."""
        got = b""
        while got.count(b"worker ") < count:
            octets = self.tls.read(min=1, max=1 << 16)
            assert octets, got
            got += octets
        assert got.count(b"HTTP/1.1 200") == count

    def ask(self):
        self.record(OCTETS, ASKED)
        self.answers()

    def alert(self):
        """The number of the fatal alert that ends the connection."""
        try:
            while self.tls.read(min=1, max=1 << 16):
                pass
        except TLSRemoteAlert as fault:
            assert fault.level == 2
            return fault.description
        except (TLSAbruptCloseError, TLSClosedConnectionError, ConnectionError) as fault:
            raise AssertionError(f"no alert: {fault!r}") from fault
        return CLOSE_NOTIFY


def update(asks):
    """KeyUpdate."""
    return bytes([24, 0, 0, 1, asks])


# ---- What is allowed ----


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_request_in_many_records(served, size):
    with Rules(served) as client:
        for i in range(0, len(ASKED), size):
            client.record(OCTETS, ASKED[i : i + size])
        client.answers()
        client.ask()


def test_the_longest_record(served):
    long = request("/tls", "X: " + "x" * 8000)
    with Rules(served) as client:
        client.record(OCTETS, (long * 3)[:PLAIN_MAX])
        client.record(OCTETS, (long * 3)[PLAIN_MAX:])
        client.answers(3)


@pytest.mark.parametrize("zeros", [1, 255, PLAIN_MAX - len(ASKED)])
def test_padding(served, zeros):
    with Rules(served, padding_cb=lambda length, kind, most: zeros) as client:
        client.record(OCTETS, ASKED)
        client.answers()


def test_records_without_data(served):
    with Rules(served) as client:
        for _ in range(EMPTY_MAX):
            client.record(OCTETS, b"")
        client.ask()
        for _ in range(EMPTY_MAX):
            client.record(OCTETS, b"")
        client.ask()


@pytest.mark.parametrize("asks", [0, 1])
def test_keys_are_changed(served, asks):
    """An update that asks for one is answered by the server's own, which tlslite-ng follows."""
    with Rules(served) as client:
        for _ in range(20):
            client.record(HANDSHAKE, update(asks)).turn_keys()
            client.ask()


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_key_update_in_two_records(served, at):
    with Rules(served) as client:
        client.record(HANDSHAKE, update(0)[:at]).record(HANDSHAKE, update(0)[at:]).turn_keys()
        client.ask()


def test_close_notify_and_what_follows_it(served):
    with Rules(served) as client:
        client.ask()
        client.record(ALERT, bytes([1, CLOSE_NOTIFY]))
        with contextlib.suppress(ConnectionError):
            client.record(OCTETS, ASKED)
        assert client.alert() == CLOSE_NOTIFY


def test_close_notify_behind_records_without_data(served):
    """It is the end, and none of them."""
    with Rules(served) as client:
        for _ in range(EMPTY_MAX):
            client.record(OCTETS, b"")
        client.record(ALERT, bytes([1, CLOSE_NOTIFY]))
        assert client.alert() == CLOSE_NOTIFY


def test_user_canceled_is_a_warning(served):
    """RFC 8446 §6.1: close_notify follows it."""
    with Rules(served) as client:
        client.record(ALERT, bytes([1, 90]))
        client.ask()


# ---- What is not ----


@pytest.mark.parametrize(("kind", "octets", "alerts"), [
    (OCTETS, bytes(PLAIN_MAX + 1), {OVERFLOW}),
    (HANDSHAKE, b"", {UNEXPECTED}),
    (ALERT, b"", {UNEXPECTED, DECODE}),
    (ALERT, b"\1", {UNEXPECTED, DECODE}),
    (ALERT, b"\1\0\0", {UNEXPECTED, DECODE}),
    (0, b"", {UNEXPECTED}),
    (99, b"x", {UNEXPECTED}),
    (HANDSHAKE, update(2), {ILLEGAL}),
    (HANDSHAKE, bytes([24, 0, 0, 0]), {DECODE, ILLEGAL}),
    (HANDSHAKE, bytes([24, 0, 0, 2, 0, 0]), {DECODE, ILLEGAL}),
    (HANDSHAKE, bytes([24, 0, 0, 1, 0, 24]), {UNEXPECTED}),
    (HANDSHAKE, bytes([1, 0, 0, 4]) + bytes(4), {UNEXPECTED}),
    (HANDSHAKE, bytes([4, 0, 0, 4]) + bytes(4), {UNEXPECTED}),
    (HANDSHAKE, bytes([11, 0, 0, 4]) + bytes(4), {UNEXPECTED}),
    (HANDSHAKE, bytes([20, 0, 0, 32]) + bytes(32), {UNEXPECTED, DECODE, 51}),
    (HANDSHAKE, bytes([254, 0, 0, 0]), {UNEXPECTED}),
    (HANDSHAKE, bytes([24, 255, 255, 255]), {ILLEGAL, DECODE, UNEXPECTED}),
], ids=["too long", "empty handshake", "empty alert", "half an alert", "a long alert", "no type", "unknown type", "update 2",
        "empty update", "long update", "data behind an update", "ClientHello", "NewSessionTicket", "Certificate", "Finished",
        "message_hash", "an update of 16 MiB"])
def test_a_record_that_breaks_a_rule(served, kind, octets, alerts):
    with Rules(served) as other, Rules(served) as client:
        client.ask()
        client.record(kind, octets)
        assert client.alert() in alerts
        other.ask()


def test_data_amid_a_key_update(served):
    with Rules(served) as client:
        client.record(HANDSHAKE, update(0)[:2]).record(OCTETS, ASKED)
        assert client.alert() == UNEXPECTED


def test_a_record_under_old_keys(served):
    with Rules(served) as client:
        client.record(HANDSHAKE, update(0)).record(OCTETS, ASKED)
        assert client.alert() == BAD_MAC


def test_too_many_records_without_data(served):
    with Rules(served) as client:
        with contextlib.suppress(ConnectionError):
            for _ in range(EMPTY_MAX + 2):
                client.record(OCTETS, b"")
        assert client.alert() == UNEXPECTED


@pytest.mark.parametrize("description", [10, 20, 40, 80])
def test_a_fatal_alert_ends_it(served, description):
    with Rules(served) as other, Rules(served) as client:
        client.ask()
        client.record(ALERT, bytes([2, description]))
        with pytest.raises((TLSAbruptCloseError, TLSClosedConnectionError, ConnectionError)):
            client.tls.read(min=1)
        other.ask()


# ---- Versions ----


def test_a_fallback_is_refused(served):
    with pytest.raises(TLSRemoteAlert) as fault:
        Rules(served, minVersion=(3, 3), maxVersion=(3, 3), sendFallbackSCSV=True)
    assert fault.value.description == FALLBACK


def test_the_random_of_tls_1_2_tells_of_1_3(served, monkeypatch):
    """RFC 8446 §4.1.3: a client that speaks 1.3, and whose hello was changed on the way, sees it."""
    seen = []
    told = TLSConnection._clientGetServerHello

    def hello(self, *words):
        for result in told(self, *words):
            if result not in (0, 1):
                seen.append(bytes(result.random))
            yield result

    monkeypatch.setattr(TLSConnection, "_clientGetServerHello", hello)
    with Rules(served, minVersion=(3, 3), maxVersion=(3, 3)) as client:
        client.ask()
    assert [random[-8:] for random in seen] == [b"DOWNGRD\1"]


def test_tls_1_2(served):
    with Rules(served, minVersion=(3, 3), maxVersion=(3, 3)) as client:
        for _ in range(3):
            client.ask()
        for octet in ASKED:
            client.record(OCTETS, bytes([octet]))
        client.answers()


@pytest.mark.parametrize("octets", [b"\0", b"\1\0\0\0", bytes([1, 0, 0, 2, 3, 3])])
def test_a_hello_that_is_none(served, octets):
    with Rules(served) as other:
        with socket.create_connection(served.address, TIMEOUT) as raw:
            raw.sendall(b"\x16\x03\x01" + len(octets).to_bytes(2, "big") + octets)
            raw.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while raw.recv(4096):
                    pass
        other.ask()


# ---- Hellos ----


def first_hello():
    """Of a client that begins with a group that the server does not know, so that it is asked for another."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        shaking = TLSConnection(ours).handshakeClientCert(
            settings=settings(keyShares=["secp521r1"], eccCurves=["secp521r1", "secp384r1"]), async_=True)
        assert next(shaking) == 0  # it wants to read
        return theirs.recv(1 << 16)


def records_of(hello, size):
    """The octets of a message in records of that size."""
    parts = [hello[i : i + size] for i in range(0, len(hello), size)]
    return b"".join(b"\x16\x03\x03" + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize("ccs", [b"", b"\x14\x03\x03\x00\x01\x01"])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("octets, is_refused", [(HELLO_MAX, False), (HELLO_MAX + 1, True), ((1 << 24) - 1, True)])
def test_a_second_hello_that_is_too_long(served, octets, is_refused, size, ccs):
    """Refused from its header, as the first one is, whatever asked for it."""
    with socket.create_connection(served.address, TIMEOUT) as raw:
        raw.sendall(first_hello())
        asked = raw.recv(1 << 16)
        assert asked[0] == HANDSHAKE and asked[5] == SERVER_HELLO and asked[11:43] == RETRY
        raw.sendall(ccs + records_of(b"\1" + octets.to_bytes(3, "big"), size))
        if not is_refused:
            raw.shutdown(socket.SHUT_WR)
        said = b""
        while octets := raw.recv(1 << 16):
            said += octets
        assert said[-7:] == (b"\x15\x03\x03\x00\x02\x02\x2f" if is_refused else said[-7:])
        assert is_refused or b"\x02\x2f" not in said


def test_a_second_hello_that_comes_with_the_first(served):
    with socket.create_connection(served.address, TIMEOUT) as raw:
        raw.sendall(first_hello() + records_of(b"\1" + (HELLO_MAX + 1).to_bytes(3, "big"), 100))
        said = b""
        while octets := raw.recv(1 << 16):
            said += octets
        assert said == b"\x15\x03\x03\x00\x02\x02\x2f"
