# SPDX-License-Identifier: MIT
"""skua -c FILE: media types of one's own, how entity tags are made, and pages that are asked for again each time."""

import os
import re
import time

import pytest
from conf import get, of, start
from server import eventually

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

SITES = """
listen 127.0.0.1:PORT
defaults {
    type .md text/markdown
}
site usual.test {
    root www
    type .tar.gz application/x-tarball
    type .GZ application/x-gz
    type .data "text/x-data; charset=utf-8"
    path /inner/ {
        root www
        type .md text/x-inner
        etag off
        cache off
    }
}
site stat.test {
    root www
    etag stat
    compress off
    path /aged/ {
        root www
        cache 1h
    }
}
"""


@pytest.fixture(scope="module")
def www(tmp_path_factory):
    www = tmp_path_factory.mktemp("served") / "www"
    www.mkdir()
    for name in ("a.md", "a.tar.gz", "a.TAR.gz", "a.b.gz", "a.data", "md", "a.txt", "index.html"):
        (www / name).write_bytes(b"x" * 600)
        os.utime(www / name, (1700000000, 1700000000))
    (www / "large.txt").write_bytes(b"x" * 40000)
    time.sleep(2.1)  # the age at which times tell versions apart
    return www


@pytest.fixture(scope="module")
def sites(www):
    server = start(www.parent, SITES)
    yield server
    server.stop()


TYPES = [
    ("/a.md", "text/markdown"),  # of the defaults
    ("/a.tar.gz", "application/x-gz"),  # the later one, without regard to case
    ("/a.b.gz", "application/x-gz"),
    ("/a.data", "text/x-data; charset=utf-8"),
    ("/md", "text/plain; charset=utf-8"),
    ("/a.txt", "text/plain; charset=utf-8"),
    ("/inner/a.md", "text/x-inner"),
    ("/inner/a.data", "text/x-data; charset=utf-8"),
]


@of("type")
@pytest.mark.parametrize("path,kind", TYPES)
def test_types(sites, path, kind):
    assert get(sites, "usual.test", path).get("content-type") == kind
    assert get(sites, "usual.test", path, method="HEAD").get("content-type") == kind
    part = get(sites, "usual.test", path, "Range: bytes=0-4")
    assert (part.status, part.get("content-type"), part.content) == (206, kind, b"xxxxx")


def test_a_type_of_text_is_compressed(sites):
    coded = get(sites, "usual.test", "/a.data", "Accept-Encoding: gzip")
    assert coded.get("content-encoding") == "gzip" and coded.get("content-type") == "text/x-data; charset=utf-8"


@of("etag")
def test_tags(sites):
    tag = get(sites, "usual.test", "/a.txt").get("etag")
    assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
    aged = get(sites, "stat.test", "/a.txt").get("etag")
    assert aged == f'"{600:x}-{1700000000 * 10**9:x}"'
    assert get(sites, "stat.test", "/a.txt", f"If-None-Match: {aged}").status == 304
    assert get(sites, "stat.test", "/a.txt", "Range: bytes=0-4", f"If-Range: {aged}").status == 206
    for path in ("/inner/a.txt", "/inner/large.txt"):
        none = get(sites, "usual.test", path)
        assert none.get("etag") is None and none.get("last-modified")
        assert get(sites, "usual.test", path, f"If-None-Match: {tag}").status == 200
        assert get(sites, "usual.test", path, f"If-Modified-Since: {none.get('last-modified')}").status == 304


def test_without_tags_a_change_is_seen(sites, www):
    file = www / "changing.txt"
    for content in (b"one", b"two", b"three" * 200):
        file.write_bytes(content)
        for host, path in (("usual.test", "/inner/changing.txt"), ("stat.test", "/changing.txt")):
            assert eventually(lambda host=host, path=path: get(sites, host, path).content == content)
    coded = get(sites, "usual.test", "/inner/a.data", "Accept-Encoding: gzip")
    assert coded.get("content-encoding") == "gzip" and coded.get("etag") is None


def test_pages_are_asked_for_again(sites):
    page = get(sites, "usual.test", "/")
    assert page.get("cache-control") == "no-cache"
    assert get(sites, "usual.test", "/", f"If-None-Match: {page.get('etag')}").status == 304
    assert get(sites, "usual.test", "/a.txt").get("cache-control") is None
    assert get(sites, "usual.test", "/none").get("cache-control") is None
    assert get(sites, "usual.test", "/inner/").get("cache-control") is None
    assert get(sites, "stat.test", "/aged/").get("cache-control") == "max-age=3600"
