# SPDX-License-Identifier: MIT
"""Files over TLS: many records are read at once, and what comes before and behind them is in its place."""

import json
import os
import re
import socket
import ssl
import time

import pytest
from certificates import SecureConnection, make, trusting
from server import BUILD, Server, eventually, free_port
from wire import Connection, request

pytestmark = pytest.mark.of_tls

SIZES = [1339, 1340, 1341, 16384, 40000, 262144, 262145, 3 << 20]


def content(octets):
    return b"".join(b"%07d\n" % i for i in range(octets // 8 + 1))[:octets]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return make(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def site(launch, tmp_path, pair):
    folder = tmp_path / "site"
    folder.mkdir()
    for octets in SIZES:
        (folder / f"{octets}.bin").write_bytes(content(octets))
    port = free_port()
    return launch(Server, [BUILD / "skua", folder, "--listen", f"127.0.0.1:{port}", "--workers", "1", "--cert", pair.cert,
                           "--key", pair.key, "--log", "json"], ("127.0.0.1", port))


def connect(site, pair):
    return SecureConnection(site.address, trusting(pair.cert), "localhost")


def test_whole_files_one_after_the_other(site, pair):
    with connect(site, pair) as connection:
        for octets in SIZES + SIZES[::-1]:
            assert connection.get(f"/{octets}.bin", host="localhost").content == content(octets)


class Records:
    """A connection that keeps the lengths of the records that come."""

    def __init__(self, site, pair):
        self.raw, self.octets, self.lengths = socket.create_connection(site.address, timeout=10), b"", []
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = trusting(pair.cert).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.until(self.tls.do_handshake)

    def until(self, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.raw.sendall(self.outgoing.read())
                more = self.raw.recv(65536)
                assert more, "the connection ended"
                self.incoming.write(more)
                self.octets += more
                while len(self.octets) >= 5 and len(self.octets) >= 5 + int.from_bytes(self.octets[3:5], "big"):
                    self.lengths.append(int.from_bytes(self.octets[3:5], "big"))
                    self.octets = self.octets[5 + self.lengths[-1]:]

    def get(self, octets):
        """The lengths of the records of a response."""
        self.lengths, answer = [], b""
        self.tls.write(request(f"/{octets}.bin"))
        self.raw.sendall(self.outgoing.read())
        while not answer.endswith(content(octets)):
            answer += self.until(lambda: self.tls.read(65536))
        return self.lengths


@pytest.mark.in_the_clear("it says for itself how it speaks TLS")
def test_records_are_small_after_a_rest(site, pair):
    """The first 16 KiB leave in records of a segment each, and those that follow soon in long ones."""
    connection = Records(site, pair)
    for _ in range(2):
        assert max(connection.get(40000)[:12]) < 1400
        assert eventually(lambda: connection.get(40000)[0] > 8000)
        time.sleep(2)


def test_ranges(site, pair):
    """Several in one answer are files with memory between them."""
    whole = content(3 << 20)
    spans = [(0, 99), (100000, 499999), (500000, 500000), (1 << 20, (2 << 20) - 1), (3 << 20) - 5]
    text = ",".join(f"{span[0]}-{span[1]}" if isinstance(span, tuple) else f"{span}-" for span in spans)
    with connect(site, pair) as connection:
        answer = connection.get(f"/{3 << 20}.bin", f"Range: bytes={text}", host="localhost")
        assert answer.status == 206
        boundary = re.search(r'boundary="?([^";]+)', answer.get("content-type")).group(1).encode()
        parts = [part.split(b"\r\n\r\n", 1)[1] for part in answer.content.split(b"--" + boundary)[1:-1]]
        wanted = [whole[span[0]:span[1] + 1] if isinstance(span, tuple) else whole[span:] for span in spans]
        assert [part[:-2] for part in parts] == wanted


def test_pipelined(site, pair):
    with connect(site, pair) as connection:
        line = "GET /{}.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.send("".join(line.format(octets) for octets in SIZES).encode())
        for octets in SIZES:
            assert connection.response().content == content(octets)


def test_a_file_that_is_not_in_memory(site, pair, tmp_path):
    """It is loaded elsewhere, and then read as the others are."""
    name = f"{3 << 20}.bin"
    with open(tmp_path / "site" / name, "rb") as file, connect(site, pair) as connection:
        for _ in range(3):
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            assert connection.get(f"/{name}").content == content(3 << 20)


def test_cut_downloads_are_logged_by_what_left(site, pair):
    """Of a flight that has left in part, too: a flight is as long as the kernel has room for only by chance."""
    for _ in range(8):
        with Connection(site.address, 4096, {"tls": trusting(pair.cert), "server_name": "localhost"}) as connection:
            connection.send(request("/3145728.bin"))
            connection.exactly(4000)
            connection.reset()
    lines = eventually(lambda: len(said := site.out_text().splitlines()) >= 8 and said)
    sent = [json.loads(line)["size"] for line in lines]
    assert all(3000 <= octets < 3145728 for octets in sent), sent
