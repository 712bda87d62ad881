# SPDX-License-Identifier: MIT
"""skua -c FILE: text that is compressed once for each version of a file: what its responses say, who waits for it, and
that no version is sent in the place of another."""

import contextlib
import hashlib
import os
import random
import select
import threading
import time
import zlib

import brotli
import pytest
import zstandard
from conf import get, of, process_of, start
from server import eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

ROUNDS = 4
SITES = """
listen 127.0.0.1:PORT
workers WORKERS
site usual.test {
    root www
    path /plain/ {
        compress off
    }
}
site none.test {
    root www
    compress off
    path /plain/ {
        compress on
    }
}
site chosen.test {
    root www
    compress zstd gzip
}
site listed.test {
    root www
    index none.html
    listing on
}
"""


def text(length, seed=1):
    words = [hashlib.sha256(b"%d %d" % (seed, i)).hexdigest()[:1 + i % 9] for i in range(500)]
    line, i, n = [], 0, 0
    while n <= length:
        word = words[(i * i + i // 7) % len(words)]
        line.append(word)
        n += len(word) + 1
        i += 1
    return " ".join(line).encode()[:length]


DECODE = {
    "br": brotli.decompress,
    "gzip": lambda octets: zlib.decompress(octets, 31),
    "zstd": lambda octets: zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj().decompress(octets),
    None: lambda octets: octets,
}


def aged(file, content, seconds=100):
    file.write_bytes(content)
    os.utime(file, (time.time() - seconds,) * 2)


def serve(folder, workers):
    www = folder / "www"
    (www / "plain").mkdir(parents=True)
    aged(www / "small.css", text(5000))
    aged(www / "page.html", b"<p>" + text(100_000))
    aged(www / "plain" / "page.html", b"<p>" + text(60_000))
    aged(www / "short.txt", b"short")
    aged(www / "random.txt", os.urandom(40_000).hex().encode()[:1] + os.urandom(40_000))
    aged(www / "picture.png", text(5000))
    aged(www / "least.txt", text(512))
    aged(www / "less.txt", text(511))
    aged(www / "most.txt", b"ab " * (8 * 1024 * 1024 // 3) + b"ab")
    aged(www / "more.txt", b"ab " * (8 * 1024 * 1024 // 3) + b"abc")
    aged(www / "data.json", b'{"a": "' + text(900) + b'"}')
    for i in range(300):
        (www / f"file-{i:03}.bin").touch()
    time.sleep(2.1)  # after which a version of a large file is known by its time
    server = start(folder, SITES.replace("WORKERS", str(workers)))
    server.folder = www
    return server


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = serve(tmp_path_factory.mktemp("compressed"), 1)
    yield server
    server.stop()


def decoded(response):
    return DECODE[response.get("content-encoding")](response.content)


@pytest.mark.parametrize("takes", ["identity;q=0", "*;q=0", "gzip;q=0, identity;q=0"])
def test_who_refuses_text_as_it_is(served, takes):
    """406, with compression and without; but a coding that can be made is made, also of what was asked for in part."""
    for host, name in (("usual.test", "page.html"), ("usual.test", "plain/page.html"), ("none.test", "page.html"), ("none.test", "plain/page.html"),
                       ("usual.test", "short.txt"), ("usual.test", "picture.png"), ("usual.test", "random.txt"), ("usual.test", "more.txt")):
        tag = get(served, host, "/" + name).get("etag")
        for more in ([], ["If-None-Match: " + tag], ["Range: bytes=0-9"]):
            for method in ("GET", "HEAD"):
                assert get(served, host, "/" + name, "Accept-Encoding: " + takes, *more, method=method).status == 406, (name, more)
    for coding in ("br", "zstd", "gzip"):
        lines = [f"Accept-Encoding: {coding}, {takes.split(', ')[-1]}"]
        for name in ("page.html", "random.txt"):
            expected = 200 if name == "page.html" else 406  # which gains nothing by it
            for more in ([], ["Range: bytes=0-9"], ["Range: bytes=0-9", 'If-Range: "none"']):
                response = get(served, "usual.test", "/" + name, *lines, *more)
                assert response.status == expected and "Accept-Encoding" in response.all("vary"), (name, more)
                if expected == 200:
                    assert response.get("content-encoding") == coding and decoded(response) == (served.folder / name).read_bytes()
            tag = response.get("etag")
            if tag:
                assert get(served, "usual.test", "/" + name, *lines, "If-None-Match: " + tag).status == 304


def test_what_is_written_anew_is_not_refused(served):
    """A listing is compressed as it is written, and sent as it is where it cannot be."""
    for takes, coding in (("identity;q=0", None), ("gzip, identity;q=0", "gzip")):
        response = get(served, "listed.test", "/", "Accept-Encoding: " + takes)
        assert (response.status, response.get("content-encoding"), "Accept-Encoding" in response.all("vary")) == (200, coding, True)


@of("compress")
@pytest.mark.parametrize("name", ["page.html", "small.css", "data.json", "least.txt", "most.txt"])
def test_each_coding_has_a_tag_of_its_own(served, name):
    content, tags = (served.folder / name).read_bytes(), {}
    for _ in range(2):  # made, and kept
        for takes, coding in ((None, None), ("br", "br"), ("zstd", "zstd"), ("gzip", "gzip"), ("gzip, br, zstd", "br"),
                              ("identity", None), ("*", "br"), ("br;q=0, *;q=0.5", "zstd"), ("br;q=0.1, gzip;q=0.2", "gzip"),
                              ("identity;q=0, gzip;q=0.1", "gzip"), ("gzip;q=0", None), ("gzip;q=0.3, identity;q=0.9", None)):
            lines = ["Accept-Encoding: " + takes] if takes else []
            response = get(served, "usual.test", "/" + name, *lines)
            assert response.status == 200 and response.get("content-encoding") == coding, takes
            assert decoded(response) == content and response.get("content-length") == str(len(response.content))
            assert response.get("vary") == "Accept-Encoding"
            assert response.get("accept-ranges") == (None if coding else "bytes")
            tag = response.get("etag")
            assert tag.startswith("W/") == (coding is not None) and tags.setdefault(coding, tag) == tag
            again = get(served, "usual.test", "/" + name, *lines, "If-None-Match: " + tag)
            assert (again.status, again.get("etag"), again.get("vary")) == (304, tag, "Accept-Encoding")
            others = ", ".join(other for had, other in tags.items() if had != coding) or '"none"'
            assert get(served, "usual.test", "/" + name, *lines, "If-None-Match: " + others).status == 200
            with Connection(served.address) as connection:
                connection.send(request("/" + name, *lines, method="HEAD", host="usual.test"))
                head = connection.response("HEAD")
                assert (head.get("content-encoding"), head.get("etag"), head.get("content-length")) == \
                    (coding, tag, str(len(response.content)))
    assert len(set(tags.values())) == 4


def test_parts_are_those_of_the_file(served):
    """No part of what is compressed here is ever sent: after a restart it may be other octets."""
    content = (served.folder / "page.html").read_bytes()
    coded = get(served, "usual.test", "/page.html", "Accept-Encoding: br").get("etag")
    plain = get(served, "usual.test", "/page.html").get("etag")
    for tag, status in ((None, 206), (plain, 206), (coded, 200)):
        lines = ["If-Range: " + tag] if tag else []
        part = get(served, "usual.test", "/page.html", "Accept-Encoding: br", "Range: bytes=10-19", *lines)
        assert part.status == status and part.get("content-encoding") is None and part.get("vary") == "Accept-Encoding"
        assert part.content == (content[10:20] if status == 206 else content)
    # a weak tag is no reason to write, or to believe that octets are the same
    assert get(served, "usual.test", "/page.html", "Accept-Encoding: br", "If-Match: " + coded).status == 412


def test_left_as_it_is(served):
    for host, path, varies in (("usual.test", "/short.txt", True), ("usual.test", "/random.txt", True), ("usual.test", "/less.txt", True),
                               ("usual.test", "/more.txt", True), ("usual.test", "/plain/page.html", True)):
        for _ in range(2):
            response = get(served, host, path, "Accept-Encoding: br, zstd, gzip")
            assert response.status == 200 and response.get("content-encoding") is None, path
            assert response.content == (served.folder / path[1:]).read_bytes()
            assert not response.get("etag").startswith("W/")
            assert (response.get("vary") == "Accept-Encoding") == varies, path
    off = get(served, "none.test", "/page.html", "Accept-Encoding: br")
    assert off.get("content-encoding") is None and off.content == (served.folder / "page.html").read_bytes()


@of("compress")
def test_by_path_and_by_coding(served):
    assert get(served, "none.test", "/plain/page.html", "Accept-Encoding: br").get("content-encoding") == "br"
    assert get(served, "chosen.test", "/page.html", "Accept-Encoding: br, gzip, zstd").get("content-encoding") == "zstd"
    assert get(served, "chosen.test", "/page.html", "Accept-Encoding: br").get("content-encoding") is None
    listing = get(served, "listed.test", "/", "Accept-Encoding: gzip")
    assert listing.get("content-encoding") == "gzip" and b"file-299.bin" in decoded(listing)


def test_a_file_that_changes(served):
    """By its content, its size and its name; small files are known by their content, large ones by their times."""
    for name, length in (("live.css", 3000), ("live.html", 90_000)):
        file = served.folder / name
        for version in range(4):
            content = text(length + version % 2, seed=version)
            if version % 2:
                (served.folder / "new").write_bytes(content)
                os.rename(served.folder / "new", file)
            else:
                file.write_bytes(content)

            def coded():
                response = get(served, "usual.test", "/" + name, "Accept-Encoding: br")
                assert decoded(response) == content  # never that of another version
                return response.get("content-encoding") == "br"

            assert eventually(coded)


def test_a_file_that_changes_all_the_time(served):
    """Each response is one version as a whole, though some are compressed while the next one is written."""
    file, versions = served.folder / "busy.txt", [text(200_000, seed=i) for i in range(3)]
    file.write_bytes(versions[0])
    stopped = threading.Event()

    def write():
        for i in range(100_000):
            (served.folder / "busy.new").write_bytes(versions[i % 3])
            os.utime(served.folder / "busy.new", (1000 + i, 1000 + i))
            os.rename(served.folder / "busy.new", file)
            if stopped.wait(0.004):
                return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            assert decoded(get(served, "usual.test", "/busy.txt", "Accept-Encoding: gzip")) in versions
    finally:
        stopped.set()
        thread.join()


def test_a_file_that_goes(served):
    file = served.folder / "gone.txt"
    aged(file, text(2000))
    assert get(served, "usual.test", "/gone.txt", "Accept-Encoding: br").get("content-encoding") == "br"
    file.unlink()
    assert eventually(lambda: get(served, "usual.test", "/gone.txt", "Accept-Encoding: br").status == 404)


def test_many_ask_at_once(served):
    """All who ask for a file while it is compressed wait for the same result; those who leave cost nothing."""
    aged(served.folder / "wanted.txt", text(3_000_000, seed=5))
    connections = [Connection(served.address) for _ in range(40)]
    for connection in connections:
        connection.send(request("/wanted.txt", "Accept-Encoding: zstd", host="usual.test"))
    for connection in connections[::4]:
        connection.close()
    content = (served.folder / "wanted.txt").read_bytes()
    for i, connection in enumerate(connections):
        if i % 4:
            assert decoded(connection.response()) == content
            connection.close()


def test_over_workers(tmp_path):
    server = serve(tmp_path, 4)
    content = (server.folder / "page.html").read_bytes()
    for _ in range(40):
        response = get(server, "usual.test", "/page.html", "Accept-Encoding: br")
        assert decoded(response) == content
    server.stop()


def ticks_of(pid):
    """How long each thread of a process has had a core, in hundredths of a second."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            found[thread] = sum(int(ticks) for ticks in file.read().rsplit(")", 1)[1].split()[11:13])
    return found


def eight_large_files(folder, rounds=1, octets=2 << 20):
    """They are old enough to be kept, and take more than 30 ms each. rounds: so often eight."""
    folder.mkdir()
    for i in range(8 * rounds):
        (folder / f"{i}.txt").write_bytes(random.Random(i).randbytes(octets // 2).hex().encode())
    time.sleep(2.1)


@pytest.mark.parametrize("workers", [1, 4])
def test_half_of_the_cores_are_left_to_the_workers(launch, tmp_path, workers):
    """Eight large files at once: half as many helper threads as there are workers make them, and another one begins when one ends.
    So when the first response comes, most of the threads have done nothing; each of the files takes more than 30 ms.
    Those that wait take none of the four threads: a listing, which also needs one, does not wait until half of the files are made.
    Another eight are tried where this test comes too late to see it."""
    eight_large_files(tmp_path / "www", ROUNDS)
    server = launch(start, tmp_path, SITES.replace("WORKERS", str(workers)))
    pid, most, fresh = process_of(server), max(1, workers // 2), iter(range(8 * ROUNDS))
    before = set(ticks_of(pid))

    def half():
        idle = ticks_of(pid)
        with contextlib.ExitStack() as all_of_them:
            connections = [all_of_them.enter_context(server.connect()) for _ in range(8)]
            for connection in connections:
                connection.send(request(f"/{next(fresh)}.txt", "Accept-Encoding: br", host="usual.test"))
            answered = lambda wait: len(select.select([connection.socket for connection in connections], [], [], wait)[0])
            assert answered(20)
            worked = sum(ticks - idle.get(thread, 0) >= 3 for thread, ticks in ticks_of(pid).items() if thread not in before)
            listing, early = get(server, "listed.test", "/").content, answered(0)
            assert [connection.response().get("content-encoding") for connection in connections] == 8 * ["br"]
        assert b"7.txt" in listing and worked >= 1
        return worked <= 2 * most and early <= 4

    assert any(half() for _ in range(ROUNDS))


def test_a_stop_while_files_wait_to_be_compressed(launch, tmp_path):
    """Their clients have left. The server ends, and nothing of what waits is left (a sanitizer would tell)."""
    eight_large_files(tmp_path / "www", octets=256 << 10)  # of these a stop waits for one, for as long as a stop may take
    server = launch(start, tmp_path, SITES.replace("WORKERS", "1"))
    with contextlib.ExitStack() as all_of_them:
        connections = [all_of_them.enter_context(server.connect()) for _ in range(8)]
        for i, connection in enumerate(connections):
            connection.send(request(f"/{i}.txt", "Accept-Encoding: br", host="usual.test"))
        assert select.select([connection.socket for connection in connections], [], [], 20)[0]
    server.stop()
