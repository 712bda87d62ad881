# SPDX-License-Identifier: MIT
"""Compression: which responses are compressed, what their fields say, and that clients get them back."""

import os
import re
import shutil
import subprocess
import zlib

import brotli
import pytest
import zstandard
from server import BUILD, numbered
from wire import request

CODINGS = ["gzip", "br", "zstd"]
OPTIONS = {"SKUA_ZLIB", "SKUA_BROTLI", "SKUA_ZSTD"}
BUILT = set(re.findall(r"^(SKUA_\w+):BOOL=ON$", (BUILD / "CMakeCache.txt").read_text(), re.M))
pytestmark = pytest.mark.skipif(not OPTIONS <= BUILT, reason="this build lacks a content coding")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "long.txt").write_bytes(text(500_000))
    (folder / "noise.bin").write_bytes(os.urandom(300_000))
    (folder / "zeros.bin").write_bytes(bytes(20_000_000))
    (folder / "short.txt").write_bytes(b"abc")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = numbered("filters", "--workers", "1", env={"FILTERS_FILES": str(folder)})
    yield server
    server.stop()


def text(length):
    return bytes(ord("a") + (i + i // 26) % 26 for i in range(length))


class Decoder:
    def __init__(self, coding):
        if coding == "gzip":
            self.feed = zlib.decompressobj(31).decompress
        elif coding == "br":
            self.feed = brotli.Decompressor().process
        else:
            self.feed = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj().decompress


def decoded(response, coding):
    assert response.get("content-encoding") == coding
    return Decoder(coding).feed(response.content)


def accept(coding):
    return "Accept-Encoding: " + coding


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("path, content", [
    ("/coded/text?len=600", text(600)),
    ("/coded/text?len=32768", text(32768)),
    ("/coded/text?len=900000&lent=1", text(900_000)),
    ("/one/text?len=5000", text(5000)),
    ("/coded/small/text?len=1", b"a"),
    ("/coded/small/text?len=0", None),
    ("/coded/pull?len=300000&waits=1", text(300_000)),
    ("/coded/pull?len=0", b""),
    ("/coded/blocking?len=100000", text(100_000)),
    ("/coded/blocking?len=1000&lent=1", text(1000)),
    ("/coded/blocking-stream", text(200_000)),
])
def test_content_comes_back(server, coding, path, content):
    response = server.get(path, accept(coding))
    if content is None:
        assert response.content == b"" and not response.get("content-encoding")
        return
    assert decoded(response, coding) == content
    assert response.get("vary") == "Accept-Encoding"
    assert "?len" not in path or "pull" in path or (response.get("etag"), response.get("accept-ranges")) == ('W/"tag"', None)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("name", ["long.txt", "noise.bin", "zeros.bin", "short.txt"])
def test_files(server, folder, coding, name):
    for _ in range(2):
        response = server.get("/coded/small/files/" + name, accept(coding))
        assert decoded(response, coding) == (folder / name).read_bytes()
    tag = response.get("etag")
    assert tag.startswith("W/") and response.get("vary") == "Accept-Encoding"
    response = server.get("/coded/small/files/" + name, accept(coding), "If-None-Match: " + tag)
    assert (response.status, response.get("vary")) == (304, "Accept-Encoding")
    part = server.get("/coded/small/files/" + name, accept(coding), "Range: bytes=0-1")
    assert part.status == 206 and not part.get("content-encoding") and part.content == (folder / name).read_bytes()[:2]
    assert server.get("/coded/small/files/" + name, accept(coding), "Range: bytes=0-1", "If-Range: " + tag).status == 200


@pytest.mark.parametrize("coding", CODINGS)
def test_events_and_writes_are_flushed(server, coding):
    for path, ask, shown in (("/coded/events", "/event", b"data: %s\n\n"), ("/coded/stream", "/write", b"%s")):
        with server.connect() as connection:
            connection.send(request(path, accept(coding)))
            assert connection.head().get("content-encoding") == coding
            decoder = Decoder(coding)
            for word in (b"one", b"two", text(3000)):
                assert server.get(f"{ask}?data=" + word.decode()).content == b"ok"
                got = b""
                while len(got) < len(shown % word):
                    got += decoder.feed(connection.one_chunk())
                assert got == shown % word
            server.get("/finish")


@pytest.mark.parametrize("path, lines", [
    ("/coded/text?len=600", []),
    ("/coded/text?len=600", ["Accept-Encoding: gzip;q=0, br;q=0, zstd;q=0"]),
    ("/coded/text?len=600", ["Accept-Encoding: identity, *;q=0"]),
    ("/coded/text?len=511", ["Accept-Encoding: gzip"]),
])
def test_left_as_it_is_and_varies(server, path, lines):
    response = server.get(path, *lines)
    assert response.get("content-encoding") is None and response.get("etag") == '"tag"'
    assert response.content == text(len(response.content)) and response.get("vary") == "Accept-Encoding"


@pytest.mark.parametrize("path", [
    "/coded/text?len=600&type=image/png",
    "/coded/text?len=600&type=application/octet-stream",
    "/coded/text?len=600&status=206",
    "/coded/text?len=600&field=Content-Encoding&value=x",
    "/coded/text?len=600&field=Content-Digest&value=x",
    "/coded/text?len=600&field=Cache-Control&value=private,%20no-transform",
    "/coded/off/text?len=600",
])
def test_never_compressed(server, path):
    response = server.get(path, "Accept-Encoding: gzip, br, zstd")
    assert response.content == text(600) and response.get("vary") is None and response.get("etag") == '"tag"'


@pytest.mark.parametrize("type", ["application/json", "application/ld+json", "image/svg+xml; charset=utf-8", "TEXT/HTML"])
def test_types_that_gain(server, type):
    response = server.get("/coded/text?len=600&type=" + type.replace("+", "%2B").replace(" ", "%20"), accept("gzip"))
    assert decoded(response, "gzip") == text(600)


def test_vary_is_said_once(server):
    response = server.get("/coded/text?len=600&field=Vary&value=Cookie,%20accept-encoding", accept("gzip"))
    assert response.all("vary") == ["Cookie, accept-encoding"]


def test_the_best_of_those_that_are_taken(server):
    for line, coding in (("gzip, br, zstd", "zstd"), ("gzip, br", "br"), ("gzip;q=1, zstd;q=0.9", "gzip"), ("*", "zstd")):
        assert decoded(server.get("/coded/text?len=600", accept(line)), coding) == text(600)


def test_head(server):
    response = server.get("/coded/text?len=600", accept("gzip"), method="HEAD")
    assert response.get("content-encoding") == "gzip" and response.get("content-length") is None


@pytest.mark.of_http1("curl speaks it here")
@pytest.mark.in_the_clear("curl asks for http://")
def test_curl(server, tmp_path):
    out = tmp_path / "out"
    subprocess.run([shutil.which("curl"), "-sS", "--compressed", "-o", out, server.url + "/coded/text?len=100000"], check=True, timeout=60)
    assert out.read_bytes() == text(100_000)
