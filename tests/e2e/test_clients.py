# SPDX-License-Identifier: MIT
"""The usual clients, doing the usual."""

import os
import subprocess

import httpx
import pytest
from server import SLOW


def curl(*words, data=None):
    done = subprocess.run(
        ["curl", "-sS", "--max-time", "60", *map(str, words)], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


TWO_IN_THE_CLEAR = pytest.mark.skipif(os.environ.get("SKUA_TRANSPORT") == "h2c", reason="the second request of a connection "
                                      "in the clear fails with curl 7.88, by nghttpd too: CURLE_HTTP2")


@pytest.fixture
def site(serve, tmp_path):
    (tmp_path / "index.html").write_text("<p>home</p>")
    (tmp_path / "data").write_bytes(bytes(range(256)) * 1000)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text("sub")
    return serve(tmp_path)


@TWO_IN_THE_CLEAR
def test_curl_gets(site):
    assert curl(site.url) == b"<p>home</p>"
    assert curl(f"{site.url}/data") == bytes(range(256)) * 1000
    assert curl("-L", f"{site.url}/sub") == b"sub"
    assert curl("-r", "10-19", f"{site.url}/data") == bytes(range(10, 20))
    assert curl("-0", f"{site.url}/index.html") == b"<p>home</p>"
    assert curl("-I", f"{site.url}/data").startswith(b"HTTP/2 200" if site.tls else b"HTTP/1.1 200")
    assert curl("-o", "/dev/null", "-w", "%{http_code}", f"{site.url}/none") == b"404"


@TWO_IN_THE_CLEAR
def test_curl_keeps_the_connection(site):
    said = curl("-w", "%{num_connects}\n", "-o", "/dev/null", f"{site.url}/", "-o", "/dev/null", f"{site.url}/data")
    assert said.split() == [b"1", b"0"]


def test_curl_resumes(site, tmp_path_factory):
    part = tmp_path_factory.mktemp("part") / "data"
    part.write_bytes((bytes(range(256)) * 1000)[:100_000])
    curl("-C", "-", "-o", part, f"{site.url}/data")
    assert part.read_bytes() == bytes(range(256)) * 1000


def test_curl_uses_validators(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("etag")
    curl("--etag-save", folder / "etag", "-o", "/dev/null", f"{site.url}/data")
    code = curl("--etag-compare", folder / "etag", "-o", "/dev/null", "-w", "%{http_code}", f"{site.url}/data")
    assert code == b"304"


def test_curl_posts(echo):
    assert curl("-d", "a=b", echo.url) == b"a=b"
    assert curl("-H", "Transfer-Encoding: chunked", "-d", "@-", echo.url, data=b"x" * 200_000) == b"x" * 200_000
    large = os.urandom(2_000_000)
    assert curl("-H", "Expect: 100-continue", "--data-binary", "@-", echo.url, data=large) == large
    assert curl("-T", "-", f"{echo.url}/upload", data=large) == large


def test_httpx(site):
    with httpx.Client(base_url=site.url, timeout=SLOW) as client:
        assert client.get("/").text == "<p>home</p>"
        assert client.get("/sub", follow_redirects=True).text == "sub"
        response = client.get("/data")
        again = client.get("/data", headers={"If-None-Match": response.headers["etag"]})
        assert (response.status_code, len(response.content), again.status_code) == (200, 256_000, 304)
        assert client.options("/").status_code in (200, 204, 405)


def test_httpx_streams(rules):
    with httpx.Client(base_url=rules.url, timeout=SLOW) as client:
        with client.stream("GET", "/chunked/1000000") as response:
            assert sum(map(len, response.iter_bytes())) == 1_000_000
        pieces = (b"a" * 1000 for _ in range(500))
        assert client.post("/count", content=pieces).text == "500000\n"
        assert client.post("/collect", content=b"xyz").content == b"xyz"
