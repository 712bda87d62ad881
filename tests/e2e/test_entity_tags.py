# SPDX-License-Identifier: MIT
"""Entity tags: a hash of what is small, size and time of what is large, and the same on every machine."""

import os
import re
import time

import pytest
from server import eventually


def test_etag_follows_content(serve, tmp_path):
    file = tmp_path / "a.txt"
    site = serve(tmp_path)
    seen = set()
    for i in range(20):
        time.sleep(0.02)  # the clock of a file system may tick so seldom
        file.write_text(f"{i:03}")
        response = site.get("/a.txt")
        assert re.fullmatch(r'"[0-9a-f]{32}"', response.get("etag"))
        seen.add(response.get("etag"))
    assert len(seen) == 20
    file.write_text("000")
    assert eventually(lambda: site.get("/a.txt").get("etag") in seen)


def test_etag_of_a_large_file(serve, tmp_path):
    """Size and time; weak for two seconds, in which it could change again at the same time."""
    file = tmp_path / "a.txt"
    site = serve(tmp_path)
    expected = lambda: f'"{32769:x}-{file.stat().st_mtime_ns:x}"'

    def is_weak():
        file.write_bytes(b"a" * 32769)
        return site.get("/a.txt").get("etag") == "W/" + expected()

    assert eventually(is_weak)  # at once, unless this test comes too late
    assert eventually(lambda: site.get("/a.txt").get("etag") == expected(), every=0.2)


def test_etags_are_the_same_on_every_machine(serve, tmp_path):
    """Two folders with the same files, and so other inodes and times of change."""
    sizes = (0, 1, 20000, 32768, 32769, 100000)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for size in sizes:
            file = tmp_path / name / f"{size}.txt"
            file.write_bytes(b"a" + b"x" * (size - 1) if size else b"")
            os.utime(file, (1700000000, 1700000000 if size > 32768 else time.time() - (name == "one") * 5000))
    time.sleep(2.1)  # large ones are weak before
    one, two = serve(tmp_path / "one"), serve(tmp_path / "two")
    for size in sizes:
        tag = one.get(f"/{size}.txt").get("etag")
        assert tag == two.get(f"/{size}.txt").get("etag") and not tag.startswith("W/")


@pytest.mark.parametrize("mtime", [0, 1, 0.5])
def test_a_time_that_image_builders_set_says_nothing(serve, tmp_path, mtime):
    for name, size in (("small.txt", 10), ("large.txt", 40000)):
        (tmp_path / name).write_bytes(b"a" * size)
        os.utime(tmp_path / name, (mtime, mtime))
    site = serve(tmp_path)
    small, large = site.get("/small.txt"), site.get("/large.txt")
    assert small.get("last-modified") is None and large.get("last-modified") is None
    assert re.fullmatch(r'"[0-9a-f]{32}"', small.get("etag")) and large.get("etag") is None
    assert site.get("/large.txt", 'If-None-Match: "a"').status == 200
    assert site.get("/large.txt", "Range: bytes=0-9", 'If-Range: "a"').status == 200
    part = site.get("/large.txt", "Range: bytes=0-9")
    assert part.status == 206 and part.get("etag") is None
    os.utime(tmp_path / "large.txt", (2, 2))
    assert eventually(lambda: site.get("/large.txt").get("last-modified") == "Thu, 01 Jan 1970 00:00:02 GMT")
