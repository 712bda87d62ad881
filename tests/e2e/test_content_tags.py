# SPDX-License-Identifier: MIT
"""skua -c FILE: etag content, by which machines agree about files whatever their times; and the hashing of large ones."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from clock import patiently
from conf import get, of, process_of, start
from server import eventually, program
from wire import request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

SITES = """
listen 127.0.0.1:PORT
workers 2
defaults {
    etag content
}
site one.test {
    root one
}
site two.test {
    root two
}
"""
OLD = 1_600_000_000
STRONG, WEAK = r'"[0-9a-f]{32}"', r'W/"[0-9a-f]{32}"'
NAMES = ("empty.bin", "small.bin", "edge.bin", "large.bin", "odd.bin", "text.txt")
LONG = 400 << 20


def aged(file, content, when=OLD):
    file.write_bytes(content)
    os.utime(file, (when, when))


def sparse(file, octets):
    with open(file, "wb") as empty:
        empty.truncate(octets)


def settle():
    time.sleep(2.1)  # the age from which a change would show in a file's times


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    for name, octets in zip(NAMES, (0, 100, 32768, 32769, 3_000_001, 100_000)):
        for place, when in (("one", OLD), ("two", OLD + 86400)):
            (folder / place).mkdir(exist_ok=True)
            aged(folder / place / name, (b"abcdefg " * (octets // 8 + 1))[:octets], when)
    aged(folder / "one" / "beside.css", b"a" * 50_000)
    for suffix in (".gz", ".br", ".zst"):
        aged(folder / "one" / ("beside.css" + suffix), suffix.encode() * 20_000, OLD + 1)
    sparse(folder / "one" / "epoch.bin", 40_000)
    os.utime(folder / "one" / "epoch.bin", (0, 0))
    for name in ("many", "left", "rewritten"):
        sparse(folder / "one" / name, LONG)
    sparse(folder / "one" / "huge", 20 << 30)
    for name, last in (("a.bin", b"a"), ("b.bin", b"b")):
        aged(folder / "one" / name, b"x" * 50_000 + last)
    (folder / "one" / "flood").mkdir()
    for i in range(5000):
        sparse(folder / "one" / "flood" / str(i), 32769 + i)
    settle()
    server = start(folder, SITES)
    server.folder = folder
    yield server
    server.stop()


def tag_of(server, name, host="one.test", *lines):
    return get(server, host, "/" + name, *lines, method="HEAD").get("etag")


def octets_read(server):
    """Octets that the process has read from files and sockets, as the kernel counts them."""
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{process_of(server)}/io").read_text()).group(1))


def opened(server, name):
    """How many files the process has open whose name begins so."""
    folder, found = f"/proc/{process_of(server)}/fd", set()
    for number in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(f"{folder}/{number}"))
    return sum(f"/{name}" in link for link in found)


@of("etag")
@pytest.mark.parametrize("name", NAMES)
def test_machines_agree_whatever_the_times(served, name):
    first = tag_of(served, name)
    assert re.fullmatch(STRONG, first)
    assert first == tag_of(served, name, "two.test") == tag_of(served, name)
    assert get(served, "two.test", "/" + name, f"If-None-Match: {first}").status == 304


def test_contents_of_one_length_and_time_differ(served):
    tags = [tag_of(served, name) for name in ("a.bin", "b.bin")]
    assert all(re.fullmatch(STRONG, tag) for tag in tags) and tags[0] != tags[1]


def test_a_small_file_has_the_tag_of_auto(served, tmp_path):
    shutil.copy(served.folder / "one" / "edge.bin", tmp_path)
    site = program(tmp_path)
    assert site.get("/edge.bin").get("etag") == tag_of(served, "edge.bin")
    site.stop()


def test_a_file_without_a_time_has_one(served):
    found = get(served, "one.test", "/epoch.bin")
    assert re.fullmatch(STRONG, found.get("etag")) and found.get("last-modified") is None


def test_ranges(served):
    content, tag = (served.folder / "one" / "odd.bin").read_bytes(), tag_of(served, "odd.bin")
    part = get(served, "one.test", "/odd.bin", "Range: bytes=5-99", f"If-Range: {tag}")
    assert part.status == 206 and part.content == content[5:100]
    whole = get(served, "one.test", "/odd.bin", "Range: bytes=5-99", 'If-Range: "0"')
    assert whole.status == 200 and whole.content == content
    assert get(served, "one.test", "/odd.bin", 'If-Match: "0"').status == 412
    assert get(served, "one.test", "/odd.bin", f"If-Match: {tag}").status == 200


def test_http2(served):
    url = f"http://127.0.0.1:{served.port}/odd.bin"
    words = ["curl", "-s", "--http2-prior-knowledge", "-H", "Host: one.test", "-D", "-", "-o", "/dev/null", url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    assert f"etag: {tag_of(served, 'odd.bin')}" in done.stdout


def test_siblings_have_tags_of_their_own(served):
    tags = set()
    for coding in ("identity", "gzip", "br", "zstd"):
        tag = tag_of(served, "beside.css", "one.test", f"Accept-Encoding: {coding}")
        assert re.fullmatch(STRONG if coding == "identity" else rf'"[0-9a-f]{{32}}-{coding}"', tag)
        part = get(served, "one.test", "/beside.css", f"Accept-Encoding: {coding}", "Range: bytes=0-9", f"If-Range: {tag}")
        assert part.status == 206
        tags.add(tag[:33])
    assert len(tags) == 4


def test_what_is_compressed_here_is_weak(served):
    coded = get(served, "one.test", "/text.txt", "Accept-Encoding: gzip")
    assert coded.get("content-encoding") == "gzip"
    assert coded.get("etag") == "W/" + tag_of(served, "text.txt")[:-1] + '-gzip"'


def test_a_change_is_seen(served):
    file = served.folder / "one" / "changing.bin"

    def young_tag(write, content):
        """Of the file when it has just been written. None: this test came too late."""
        write(file, content)
        tag = tag_of(served, "changing.bin")
        return tag if re.fullmatch(WEAK, tag) else None

    young = eventually(lambda: young_tag(pathlib.Path.write_bytes, b"a" * 40_000))
    old = eventually(lambda: re.fullmatch(STRONG, tag_of(served, "changing.bin")), every=0.2).group(0)
    assert "W/" + old == young
    other = eventually(lambda: young_tag(aged, b"b" * 40_000))
    assert other and other != young
    aged(file, b"a" * 40_000, OLD + 5)
    assert eventually(lambda: tag_of(served, "changing.bin") == young)


def test_many_who_ask_at_once_hash_it_once(served):
    """By connections of both workers."""
    before = octets_read(served)
    with concurrent.futures.ThreadPoolExecutor(12) as crowd:
        tags = set(crowd.map(lambda _: tag_of(served, "many"), range(12)))
    assert len(tags) == 1 and re.fullmatch(STRONG, tags.pop())
    assert LONG <= octets_read(served) - before < 1.5 * LONG
    assert tag_of(served, "many") and octets_read(served) - before < 1.5 * LONG


def test_a_file_that_nobody_waits_for_is_not_hashed_to_its_end(served):
    """Meanwhile others are served."""
    before = octets_read(served)
    with served.connect() as connection:
        connection.send(request("/huge", host="one.test"))
        assert eventually(lambda: octets_read(served) > before + (8 << 20))
        assert get(served, "one.test", "/small.bin").status == 200
        assert get(served, "one.test", "/beside.css").status == 200
        assert connection.silent(0.01), "the others were served first"
        connection.reset()
    quiet = lambda: octets_read(served) == (time.sleep(0.3), octets_read(served))[1]
    assert eventually(quiet) and octets_read(served) - before < 10 << 30


def test_a_client_that_sends_no_more_waits_for_it(served):
    with served.connect() as connection:
        connection.send(request("/left", host="one.test", method="HEAD"))
        connection.half_close()
        head = connection.head()
    assert head.status == 200 and re.fullmatch(STRONG, head.get("etag"))


def test_a_change_while_it_is_hashed(served):
    """The tag of what was there before is not given to what is there then."""
    file = served.folder / "one" / "rewritten"
    before = octets_read(served)
    with concurrent.futures.ThreadPoolExecutor(1) as one:
        asked = one.submit(tag_of, served, "rewritten")
        assert eventually(lambda: octets_read(served) > before + (8 << 20))
        with open(file, "r+b") as beginning:
            beginning.write(b"changed")
        in_time = octets_read(served) - before < LONG
        first = asked.result()
    copy = served.folder / "one" / "copy"
    subprocess.run(["cp", "--sparse=always", file, copy], check=True)
    settle()
    last = tag_of(served, "copy")
    assert re.fullmatch(STRONG, last) and last == tag_of(served, "rewritten")
    former = tag_of(served, "left")  # which has what was there before
    assert last != former
    assert first in (None, last, "W/" + last) if in_time else first in (None, last, "W/" + last, former)


def test_a_file_that_always_changes_is_served_without_a_tag(served):
    def has_none(beat):
        file = served.folder / "one" / "growing"
        sparse(file, 256 << 20)  # so large that it changes while it is hashed, unless this test is kept waiting
        with concurrent.futures.ThreadPoolExecutor(1) as one:
            asked = one.submit(get, served, "one.test", "/growing", method="HEAD")
            while not asked.done():
                with open(file, "ab") as end:
                    end.write(b"x")
                beat()
                time.sleep(0.002)
        assert asked.result().status == 200 and asked.result().get("etag") is None

    patiently(has_none, 0.05)


def test_as_many_are_hashed_at_once_as_may_be(served, launch, tmp_path):
    """64: the next file is sent without a tag, those who ask for one of the 64 wait with the others, and small files have theirs."""
    www = tmp_path / "www"
    www.mkdir()
    for i in range(64):
        sparse(www / f"long-{i}", 100 << 30)
    for i in range(500):
        sparse(www / f"next-{i}", 40_000 + i)
    (www / "small").write_bytes(b"small")
    settle()
    server = launch(start, tmp_path, "listen 127.0.0.1:PORT\nworkers 2\nsite * {\n    root www\n    etag content\n}\n")
    fresh = iter(range(500))
    next_tag = lambda: server.get(f"/next-{next(fresh)}", method="HEAD").get("etag")
    clients = []

    def ask(i):
        clients.append(server.connect())
        clients[-1].send(request(f"/long-{i}", method="HEAD"))

    for i in range(63):
        ask(i)
    assert all(re.fullmatch(STRONG, next_tag()) for _ in range(5))
    ask(63)
    assert eventually(lambda: opened(server, "long-") == 64)
    assert clients[-1].silent(0.5)  # it is being hashed before another file can come between
    assert [next_tag() for _ in range(3)] == 3 * [None] and re.fullmatch(STRONG, server.get("/small").get("etag"))
    ask(0)
    assert clients[-1].silent(0.5)
    clients.pop(1).reset()  # who only sends no more still waits
    assert eventually(lambda: re.fullmatch(STRONG, next_tag() or ""), 30, every=0.1)
    for client in clients:
        client.reset()


def test_more_files_than_are_kept(served):
    """4,096 tags are kept, those of the last files that were hashed; a file whose tag went is hashed again."""
    def hashed(names):
        before = octets_read(served)
        with served.connect() as connection:
            for i in names:
                connection.send(request(f"/flood/{i}", host="one.test", method="HEAD"))
                assert re.fullmatch(STRONG, connection.head().get("etag"))
        return (octets_read(served) - before) // 33000

    assert hashed(range(5000)) >= 5000
    assert hashed(range(3000, 5000)) < 600
    assert hashed(range(500)) > 100
