# SPDX-License-Identifier: MIT
"""The header of the PROXY protocol before the first request: from whom it is taken, and what becomes of others."""

import contextlib
import json
import shutil
import socket
import struct
import ssl
import subprocess

import pytest
import tls
from ports import free_port
from server import BUILD, Server, eventually, lacks_tls, program
from wire import request

pytestmark = pytest.mark.in_the_clear("the header comes before TLS, whose case stands here")

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version_2(command, family, rest):
    return SIGNATURE + bytes([0x20 | command, family]) + struct.pack(">H", len(rest)) + rest


V4 = socket.inet_aton("192.0.2.1") + socket.inet_aton("127.0.0.1") + struct.pack(">HH", 4711, 80)
V6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2 + struct.pack(">HH", 4711, 80)

GOOD = {
    "v1": (b"PROXY TCP4 192.0.2.1 127.0.0.1 4711 80\r\n", "192.0.2.1"),
    "v1 of IPv6": (b"PROXY TCP6 2001:db8::1 ::1 4711 80\r\n", "2001:db8::1"),
    "unknown": (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    "v2": (version_2(1, 0x11, V4), "192.0.2.1"),
    "v2 of IPv6": (version_2(1, 0x21, V6 + b"\x04\x00\x02ab"), "2001:db8::1"),
    "local": (version_2(0, 0, b""), "127.0.0.1"),
}

BAD = {
    "none": (request("/"), "it begins with no signature"),
    "long": (b"PROXY UNKNOWN " + b"x" * 100, "the line is longer than 107 octets"),
    "short length": (version_2(1, 0x11, V4[:-1]), "its length has no room for the addresses"),
    "long length": (version_2(1, 0x11, V4 + b"\x04"), "it ends inside a value"),
    "a Unix socket": (version_2(1, 0x31, bytes(216)), "the family is not TCP over IPv4 or IPv6"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<p>here</p>")
    return folder


@pytest.fixture(scope="module")
def site(folder):
    site = program(folder, "--log", "json", "--trusted", "127.0.0.0/8", "--forwarded", "proxy")
    yield site
    site.stop()


def next_peer(site, before):
    lines = lambda: [json.loads(line)["request"]["client_ip"] for line in site.out_text().splitlines()][before:]
    assert eventually(lines), site.error_text()
    return lines()[0]


@pytest.mark.parametrize("name", GOOD)
def test_a_header_names_the_client(site, name):
    header, client = GOOD[name]
    octets = header + request("/", "Forwarded: for=198.51.100.1", "X-Forwarded-For: 198.51.100.1")
    for cut in (0, 1, len(header) - 1, len(header), len(header) + 1):
        before = len(site.out_text().splitlines())
        with site.connect() as connection:
            connection.send(octets[:cut])
            connection.send(octets[cut:])
            assert connection.response().content == b"<p>here</p>"
            assert next_peer(site, before) == client
            assert connection.get("/").status == 200
            assert next_peer(site, before + 1) == client


@pytest.mark.parametrize("name", BAD)
def test_other_octets_end_the_connection(site, name):
    octets, why = BAD[name]
    with site.connect() as connection:
        connection.send(octets)
        assert connection.ended()
    assert eventually(lambda: why in site.error_text()), site.error_text()
    assert "PROXY protocol: a connection from 127.0.0.1 is ended" in site.error_text()


def test_who_is_not_trusted_is_refused(launch, folder):
    site = launch(program, folder, "--trusted", "10.0.0.0/8", "--forwarded", "proxy")
    assert site.turns_away()
    line = "PROXY protocol: a connection from 127.0.0.1 is refused: it is not in trusted"
    assert eventually(lambda: line in site.error_text()), site.error_text()


def test_a_stop_does_not_wait_for_a_header(launch, folder):
    site = launch(program, folder, "--trusted", "127.0.0.1", "--forwarded", "proxy")
    with site.connect() as connection:
        connection.send(b"PROXY ")
        site.signal()
        assert connection.ended()
    site.judge_end()


CONF = """
listen 127.0.0.1:{port}
workers 1
head_timeout 1s
trusted_proxies proxy 127.0.0.1
site * {{
    root {folder}
}}
"""


def test_a_header_has_the_time_of_a_head(launch, folder, tmp_path):
    port = free_port()
    conf = tmp_path / "skua.conf"
    conf.write_text(CONF.format(port=port, folder=folder))
    site = launch(Server, [BUILD / "skua", "-c", conf], ("127.0.0.1", port))
    with site.connect() as connection:
        connection.send(b"PROXY ")
        assert connection.ended()

    def served():
        """Whether a connection is whose header comes in time, as this one's does unless this test was kept waiting."""
        with site.connect() as connection, contextlib.suppress(EOFError, ConnectionError):
            connection.send(b"PROXY UNKNOWN\r\n")
            return connection.get("/").content == b"<p>here</p>"

    assert eventually(served)


@pytest.mark.of_tls
def test_tls_comes_behind_it(launch, folder):
    curl = shutil.which("curl")
    if lacks_tls() or not curl:
        pytest.skip(lacks_tls() or "there is no curl here")
    port = free_port()
    words = ["--tls-listen", f"127.0.0.1:{port}", *tls.certificate().options, "--workers", "1", "--log", "json",
             "--trusted", "127.0.0.1", "--forwarded", "proxy"]
    site = launch(Server, [BUILD / "skua", folder, *words], ("127.0.0.1", port))
    for version in ("--http1.1", "--http2"):
        got = subprocess.run([curl, "-sk", version, "--haproxy-protocol", f"https://127.0.0.1:{port}/"], capture_output=True)
        assert got.stdout == b"<p>here</p>", (got, site.error_text())
    with site.connect() as connection:
        connection.send(GOOD["v2"][0])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(connection.socket) as secured:
            secured.sendall(request("/", "Connection: close"))
            assert b"".join(iter(lambda: secured.recv(65536), b"")).endswith(b"<p>here</p>")
    peers = lambda: [json.loads(line)["request"]["client_ip"] for line in site.out_text().splitlines()]
    assert eventually(lambda: peers() == ["127.0.0.1", "127.0.0.1", "192.0.2.1"]), site.out_text()
