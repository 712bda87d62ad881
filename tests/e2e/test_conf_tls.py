# SPDX-License-Identifier: MIT
"""skua -c FILE: the directives of TLS."""

import os
import re
import signal
import socket
import ssl
from functools import partial

import pytest
from certificates import make
from conf import get, of, start, write_folder
from h2_client import Client
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families
from server import SLOW, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it is about the directives of TLS itself"), pytest.mark.of_tls,
              pytest.mark.of_http1("it configures addresses of its own")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def pairs(folder):
    authority = make(folder, "ca", names=None, authority=True)
    pairs = {name: make(folder, name, names=f"DNS:{name}.test") for name in ("one", "two", "rest")}
    return {**pairs, "ca": authority, "staff": make(folder, "staff", names="DNS:staff", issuer=authority)}


TLS = """
listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
tls_oldest 1.3
tls_groups P-384
session_tickets off
http2 off
site one.test {
    certificate one.pem one.key
    root pub
    hsts 365d
    path /off/ {
        root pub
        hsts off
    }
}
site two.test {
    certificate two.pem two.key
    client_certificates ca.pem required
    root pub
}
site * {
    certificate rest.pem rest.key
    root pub
}
"""

TICKETS = """
listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
ticket_keys ticket.keys
site * {
    certificate rest.pem rest.key
    root pub
}
"""


def context(*trusted, alpn=(), newest=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for pair in trusted:
        made.load_verify_locations(pair.cert)
    made.check_hostname = bool(trusted)
    made.verify_mode = ssl.CERT_REQUIRED if trusted else ssl.CERT_NONE
    if alpn:
        made.set_alpn_protocols(alpn)
    if newest:
        made.maximum_version = newest
    return made


def shaken(address, context, name, session=None):
    return context.wrap_socket(socket.create_connection(address, SLOW), server_hostname=name, session=session)


def ask(secure, host, path="/"):
    secure.sendall(request(path, "Connection: close", host=host))
    octets = b""
    while taken := secure.recv(65536):
        octets += taken
    return octets


@pytest.fixture(scope="module")
def secured(folder, pairs):
    server = start(folder, TLS, "tls.conf")
    yield server
    server.stop()


@of("certificate", "http2")
def test_certificates(secured, pairs):
    with shaken(secured.secure, context(pairs["one"], alpn=["h2", "http/1.1"]), "one.test") as secure:
        assert secure.selected_alpn_protocol() == "http/1.1"
        assert ask(secure, "one.test").startswith(b"HTTP/1.1 200")
    with pytest.raises(ssl.SSLError):
        shaken(secured.secure, context(alpn=["h2"]), "one.test")
    with shaken(secured.secure, context(pairs["rest"]), "rest.test") as secure:
        assert ask(secure, "rest.test").startswith(b"HTTP/1.1 200")


@of("client_certificates")
def test_client_certificates(secured, pairs):
    known = context(pairs["two"])
    known.load_cert_chain(pairs["staff"].cert, pairs["staff"].key)
    with shaken(secured.secure, known, "two.test") as secure:
        assert ask(secure, "two.test").startswith(b"HTTP/1.1 200")
    with pytest.raises(OSError), shaken(secured.secure, context(pairs["two"]), "two.test") as secure:
        assert ask(secure, "two.test") != b""
        raise OSError
    with shaken(secured.secure, context(pairs["one"]), "one.test") as secure:
        assert ask(secure, "two.test").startswith(b"HTTP/1.1 421")  # not by way of another site


COALESCED = """
listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
site a.shared.test b.shared.test {
    certificate shared.pem shared.key
    root pub
}
site staff.shared.test {
    certificate shared.pem shared.key
    client_certificates ca.pem required
    root pub
}
site two.test {
    certificate two.pem two.key
    root pub
}
"""


def test_streams_for_other_names(folder, pairs, launch):
    """Clients coalesce: over HTTP/2 they use a connection for each name that its certificate has (RFC 9113 section 9.1.1)."""
    shared = make(folder, "shared", names="DNS:*.shared.test")
    server = launch(start, folder, COALESCED, "coalesced.conf")
    over_tls = partial(Client, server, secured=True, address=server.secure)
    with over_tls(server_name="a.shared.test", trusted=shared.cert) as client:
        def status(host):
            return client.get("/", authority=host, scheme="https").status

        assert status("a.shared.test") == status("b.shared.test") == 200
        assert status("two.test") == 421  # has another certificate
        assert status("staff.shared.test") == 421  # asks clients for theirs, as this connection's did not
        assert status("c.shared.test") == 421  # no site has it
        assert status("b.shared.test") == 200
    with over_tls(server_name="two.test", trusted=pairs["two"].cert) as client:
        assert client.get("/", authority="two.test", scheme="https").status == 200
        assert client.get("/", authority="a.shared.test", scheme="https").status == 421


@of("tls_oldest", "tls_groups", "session_tickets")
def test_handshakes(secured, pairs):
    with pytest.raises(ssl.SSLError):
        shaken(secured.secure, context(newest=ssl.TLSVersion.TLSv1_2), "one.test")
    curve = context()
    curve.set_ecdh_curve("prime256v1")
    with pytest.raises(ssl.SSLError):
        shaken(secured.secure, curve, "one.test")
    with shaken(secured.secure, context(), "one.test") as secure:
        ask(secure, "one.test")
        assert not (secure.session and secure.session.has_ticket)


@of("handshake_timeout")
def test_silent_clients(folder, pairs, launch):
    server = launch(start, folder, TICKETS.replace("ticket_keys ticket.keys", "handshake_timeout 300ms"), "silent.conf")
    with socket.create_connection(server.secure, 8) as silent:  # the default is 10 seconds
        assert silent.recv(1) == b""


@of("hsts")
def test_hsts(secured, pairs):
    def field(path):
        with shaken(secured.secure, context(), "one.test") as secure:
            return re.findall(rb"(?i)strict-transport-security: (.*?)\r", ask(secure, "one.test", path))

    assert field("/") == [b"max-age=31536000"] and field("/off/") == []
    assert get(secured, "one.test").get("strict-transport-security") is None


@of("ticket_keys")
def test_ticket_keys(folder, pairs, launch):
    (folder / "ticket.keys").write_bytes(os.urandom(80))
    client, sessions = context(newest=ssl.TLSVersion.TLSv1_2), []
    for _ in range(2):  # another process takes the session up
        server = launch(start, folder, TICKETS, "tickets.conf")
        with shaken(server.secure, client, "rest.test", sessions[0] if sessions else None) as secure:
            assert secure.session_reused == bool(sessions)
            ask(secure, "rest.test")
            sessions.append(secure.session)


@pytest.mark.test_all
def test_replicas_share_ticket_keys(folder, pairs, launch):
    """Their file is watched: the next key comes to each replica, then is the current one, and the former one goes. Nobody reloads."""
    former, following = os.urandom(80), os.urandom(80)
    client = context(newest=ssl.TLSVersion.TLSv1_2)

    def put(*keys):
        (folder / "fresh.keys").write_bytes(b"".join(keys))
        (folder / "fresh.keys").rename(folder / "ticket.keys")

    def visit(server, session=None):
        with shaken(server.secure, client, "rest.test", session) as secure:
            ask(secure, "rest.test")
            return secure.session, secure.session_reused

    put(former)
    one, two = (launch(start, folder, TICKETS, name) for name in ("one.conf", "two.conf"))
    old = visit(one)[0]
    assert visit(two, old)[1]
    for keys in (former, following), (following, former), (following,):
        before = [server.error_text().count("have been read again") for server in (one, two)]
        put(*keys)
        for server, count in zip((one, two), before):
            assert eventually(lambda server=server, count=count: server.error_text().count("have been read again") > count), server.error_text()
        if keys == (following, former):
            new = visit(one)[0]
        if former in keys:
            assert visit(two, old)[1]
    assert visit(two, new)[1] and not visit(two, old)[1]


def test_certificates_are_read_again(folder, pairs, launch):
    for end in ("pem", "key"):
        (folder / f"changing.{end}").write_bytes((folder / f"one.{end}").read_bytes())
    server = launch(start, folder, TICKETS.replace("rest.pem rest.key", "changing.pem changing.key").replace("ticket_keys", "# "), "again.conf")
    for end in ("pem", "key"):
        (folder / f"changing.{end}").write_bytes((folder / f"two.{end}").read_bytes())
    server.signal(signal.SIGHUP)

    def shows_two():
        try:
            shaken(server.secure, context(pairs["two"]), "two.test").close()
            return True
        except ssl.SSLError:
            return False

    assert eventually(shows_two)


def test_certificates_in_figures(folder, pairs, launch):
    """Until when each is valid, for alarms; handshakes and those that went on with a session; a reload changes none of the counts."""
    port = free_port()
    server = launch(start, folder, f"status 127.0.0.1:{port}\n" + TICKETS.replace("ticket_keys ticket.keys\n", ""), "expiring.conf")
    expires = ssl.cert_time_to_seconds(ssl._ssl._test_decode_cert(str(pairs["rest"].cert))["notAfter"])

    def figures():
        with Connection(("127.0.0.1", port)) as probe:
            families = list(text_string_to_metric_families(probe.get("/metrics").content.decode()))
        names = [family.name for family in families]
        assert len(names) == len(set(names)) and all(name.startswith("skua_") for name in names)
        return {sample.name + "".join(v for v in (sample.labels.get("file"), sample.labels.get("outcome"), sample.labels.get("status")) if v):
                sample.value for family in families for sample in family.samples if not sample.name.endswith("_bucket")}

    trusting = context(newest=ssl.TLSVersion.TLSv1_2)
    first = shaken(server.secure, trusting, "rest.test")
    ask(first, "rest.test", "/text.txt")
    ask(shaken(server.secure, trusting, "rest.test", first.session), "rest.test", "/none")
    found = eventually(lambda: (f := figures())["skua_http_server_request_duration_seconds_count4xx"] == 1 and f)
    assert [value for name, value in found.items() if "certificate_expiry" in name and name.endswith("rest.pem")] == [expires]
    assert found["skua_tls_handshakes_total"] == 2 and found["skua_tls_handshakes_resumed_total"] == 1
    server.signal(signal.SIGHUP)
    again = eventually(lambda: (f := figures())["skua_config_reloads_totalaccepted"] == 1 and f)
    for name, value in found.items():
        if name.endswith("_total") or "_count" in name:
            assert again[name] >= value, name
    assert again["skua_tls_handshakes_total"] == 2
