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
from conf import start
from ports import free_port
from server import BUILD, Server, eventually
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
        self.raw, self.octets, self.lengths = socket.create_connection(site.address, timeout=20), b"", []
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
    lines = eventually(lambda: len(said := site.out_text().split("\n")[:-1]) >= 8 and said)
    sent = [json.loads(line)["size"] for line in lines]
    assert all(3000 <= octets < 3145728 for octets in sent), sent


# ---- Files that are kept in memory, since they are asked for often ----

KEPT = 100_000


def version(number):
    return (b"%d" % number * KEPT)[:KEPT]


def ask_until_kept(connection, path):
    """It is wanted once it is asked for while it is fresh, and read when it is looked at next, which it is each second."""
    for _ in range(5):
        connection.get(path, host="localhost")
        time.sleep(0.3)


def overwrite(path, octets):
    with open(path, "r+b") as file:
        file.write(octets)


def replace(path, octets):
    path.with_suffix(".new").write_bytes(octets)
    path.with_suffix(".new").rename(path)


def shrink(path, octets):
    os.truncate(path, len(octets))


@pytest.mark.parametrize("change, after", [(overwrite, version(2)), (replace, version(2)[:70_000]), (shrink, version(1)[:50_000])])
def test_kept_files_change(site, pair, tmp_path, change, after):
    path = tmp_path / "site" / "kept.bin"
    path.write_bytes(version(1))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    time.sleep(2.1)  # a file that is younger than that may change unseen
    with connect(site, pair) as connection:
        ask_until_kept(connection, "/kept.bin")
        first = connection.get("/kept.bin", host="localhost")
        change(path, after)
        assert first.content == version(1)
        answer = eventually(lambda: (r := connection.get("/kept.bin", host="localhost")).content == after and r)
        assert answer and answer.get("etag") != first.get("etag")
        path.unlink()
        assert eventually(lambda: connection.get("/kept.bin", host="localhost").status == 404)


def test_parts_and_conditions_of_kept_files(site, pair, tmp_path):
    path = tmp_path / "site" / "kept.bin"
    path.write_bytes(content(KEPT))
    time.sleep(2.1)
    with connect(site, pair) as connection:
        ask_until_kept(connection, "/kept.bin")
        whole = connection.get("/kept.bin", host="localhost")
        assert whole.content == content(KEPT) and whole.get("content-type") == "application/octet-stream"
        part = connection.get("/kept.bin", "Range: bytes=99000-", host="localhost")
        assert part.status == 206 and part.content == content(KEPT)[99000:] and part.get("etag") == whole.get("etag")
        assert connection.get("/kept.bin", f"If-None-Match: {whole.get('etag')}", host="localhost").status == 304
        connection.send(request("/kept.bin", method="HEAD", host="localhost"))
        assert connection.response("HEAD").get("content-length") == str(KEPT)


def test_kept_files_keep_their_tag(launch, tmp_path, pair):
    """One that is a hash of the content, and made elsewhere."""
    folder = tmp_path / "tagged"
    folder.mkdir()
    (folder / "kept.bin").write_bytes(content(KEPT))
    time.sleep(2.1)
    server = launch(start, tmp_path, f"""listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
workers 1
site localhost {{
    etag content
    certificate {pair.cert} {pair.key}
    root {folder}
}}
""")
    with SecureConnection(server.secure, trusting(pair.cert), "localhost") as connection:
        first = connection.get("/kept.bin", host="localhost")
        ask_until_kept(connection, "/kept.bin")
        later = connection.get("/kept.bin", host="localhost")
        assert later.content == first.content == content(KEPT)
        assert later.get("etag") == first.get("etag") and re.fullmatch(r'"[0-9a-f]{32}"', first.get("etag"))


@pytest.mark.test_all
def test_kept_files_are_bounded(launch, tmp_path, pair):
    """More of them than the cache holds, while a client does not read what it asked for: they count as memory that clients make
    the server hold, and what that client is being sent stays as it is."""
    folder, count = tmp_path / "many", 180
    folder.mkdir()
    for i in range(count):
        (folder / f"{i}.bin").write_bytes(version(i % 10))
    time.sleep(2.1)
    status = free_port()
    server = launch(start, tmp_path, f"""status 127.0.0.1:{status}
listen 127.0.0.1:PORT
listen 127.0.0.1:TLS_PORT tls
workers 1
site localhost {{
    certificate {pair.cert} {pair.key}
    root {folder}
}}
""")

    def memory():
        with Connection(("127.0.0.1", status)) as probe:
            return int(re.search(rb"^skua_memory_bytes (\d+)", probe.get("/metrics").content, re.MULTILINE).group(1))

    before = memory()
    trusts = trusting(pair.cert)
    with SecureConnection(server.secure, trusts, "localhost") as connection, SecureConnection(server.secure, trusts, "localhost") as slow:
        for i in range(count):
            connection.get(f"/{i}.bin", host="localhost")
            connection.get(f"/{i}.bin", host="localhost")
        time.sleep(1)
        for i in range(count):
            assert connection.get(f"/{i}.bin", host="localhost").content == version(i % 10)
        slow.send(b"".join(request(f"/{i}.bin", host="localhost") for i in range(count - 20, count)))
        kept = memory() - before
        assert 8 << 20 < kept < 24 << 20
        for i in range(count):
            (folder / f"{i}.bin").write_bytes(b"gone")
        for i in range(count - 20, count):
            assert slow.response().content in (version(i % 10), b"gone")
        for i in range(count):
            assert connection.get(f"/{i}.bin", host="localhost").content == b"gone"
    assert eventually(lambda: memory() - before < 1 << 20)
