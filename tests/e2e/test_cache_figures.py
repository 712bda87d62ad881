# SPDX-License-Identifier: MIT
"""Figures of the cache of files, and of what was compressed once, over all workers: in /metrics, and on the status page."""

import json
import random
import re
import select
import subprocess
import time

import pytest
from conf import SKUA, get, start
from prometheus_client.parser import text_string_to_metric_families
from server import SLOW, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = "listen 127.0.0.1:PORT\nstatus 127.0.0.1:TLS_PORT\nworkers WORKERS\nsite * {\n    root www\n}\n"
SMALL, PAGE = b"small file", b"<p>" + b"page " * 2000


@pytest.fixture
def served(tmp_path, launch):
    def begin(workers):
        (tmp_path / "www").mkdir()
        for name, content in (("a.bin", SMALL), ("b.bin", SMALL * 5000), ("page.html", PAGE)):
            (tmp_path / "www" / name).write_bytes(content)
        server = launch(start, tmp_path, TEXT.replace("WORKERS", str(workers)))
        server.folder = tmp_path
        return server
    return begin


def figures(server):
    with Connection(server.secure) as connection:
        text = connection.get("/metrics").content.decode()
    found = {}
    for family in text_string_to_metric_families(text):
        cache = re.fullmatch(r"skua_((?:file|compressed)_cache_\w+)", family.name)
        if cache:
            assert family.type == ("gauge" if re.search("entries|bytes", family.name) else "counter") and family.documentation
            found[cache[1]] = family.samples[0].value
    assert len(found) == 10
    return found


def ask(server, path, times, *lines):
    with server.connect() as connection:
        for _ in range(times):
            assert connection.get(path, *lines, host="a").status == 200


def test_hits_and_misses(served):
    server = served(1)
    assert set(figures(server).values()) == {0}
    ask(server, "/a.bin", 10)
    ask(server, "/b.bin", 5)
    found = figures(server)
    assert (found["file_cache_misses"], found["file_cache_hits"], found["file_cache_entries"]) == (2, 13, 2)
    assert len(SMALL) < found["file_cache_bytes"] < 1000, "a large file is open, not in memory"
    (server.folder / "www" / "a.bin").write_bytes(SMALL + b" that is longer")
    assert eventually(lambda: get(server, "a", "/a.bin").content != SMALL)
    assert figures(server)["file_cache_misses"] >= 3 and figures(server)["file_cache_entries"] == 2
    (server.folder / "www" / "a.bin").unlink()
    assert eventually(lambda: get(server, "a", "/a.bin").status == 404)
    assert figures(server)["file_cache_entries"] == 1 and figures(server)["file_cache_evictions"] == 0


def test_of_what_is_compressed(served):
    server = served(1)
    (server.folder / "www" / "long.txt").write_text(random.Random(1).randbytes(30_000).hex(), encoding="ascii")
    time.sleep(2.1)  # the age at which times tell versions apart
    ask(server, "/page.html", 8, "Accept-Encoding: gzip")
    found = figures(server)
    assert (found["compressed_cache_misses"], found["compressed_cache_hits"], found["compressed_cache_entries"]) == (1, 7, 1)
    length = int(get(server, "a", "/page.html", "Accept-Encoding: gzip").get("content-length"))
    assert length <= found["compressed_cache_bytes"] < length + 200
    ask(server, "/page.html", 1, "Accept-Encoding: br")
    found = figures(server)
    assert found["compressed_cache_entries"] == 2
    ask(server, "/long.txt", 1, "Accept-Encoding: gzip")
    length = int(get(server, "a", "/long.txt", "Accept-Encoding: gzip").get("content-length"))
    more = figures(server)["compressed_cache_bytes"] - found["compressed_cache_bytes"]
    assert length + 1024 <= more < length + 1224  # with room for a head before it


def test_what_nobody_waits_for_any_more_is_not_compressed(served):
    """Of eight files at once the first is made, and the one that has begun; then their clients leave. Another eight are tried where
    this test came too late."""
    server, fresh = served(1), iter(range(36))
    for i in range(36):
        (server.folder / "www" / f"{i}.txt").write_text(random.Random(i).randbytes(200_000).hex(), encoding="ascii")
    time.sleep(2.1)
    entries = lambda: figures(server)["compressed_cache_entries"]

    def made():
        before, clients = entries(), [server.connect() for _ in range(8)]
        for client in clients:
            client.send(request(f"/{next(fresh)}.txt", "Accept-Encoding: br", host="a"))
        assert select.select([client.socket for client in clients], [], [], SLOW)[0]
        for client in clients:
            client.close()
        last = f"/{next(fresh)}.txt"  # there is a place for it when one of them is done, and its turn comes behind all of them
        assert eventually(lambda: get(server, "a", last, "Accept-Encoding: br").get("content-encoding"))
        return entries() - before

    assert any(made() <= 5 for _ in range(4))


def test_evictions(served):
    """1,024 entries are kept of each worker."""
    server = served(1)
    for i in range(1100):
        (server.folder / "www" / f"{i}.txt").write_text(str(i))
    with server.connect() as connection:
        for i in range(1100):
            assert connection.get(f"/{i}.txt", host="a").content == str(i).encode()
    found = figures(server)
    assert (found["file_cache_misses"], found["file_cache_entries"], found["file_cache_evictions"]) == (1100, 1024, 76)


def test_over_all_workers_and_reloads(served):
    """Counters go on; what the sites of before held is gone."""
    server = served(2)
    for _ in range(40):
        ask(server, "/a.bin", 2)
    found = figures(server)
    assert found["file_cache_hits"] + found["file_cache_misses"] == 80 and 1 <= found["file_cache_misses"] <= 2
    assert found["file_cache_entries"] == found["file_cache_misses"]
    subprocess.run([SKUA, "reload", "-c", server.folder / "skua.conf"], check=True, timeout=60)
    assert eventually(lambda: figures(server)["file_cache_entries"] == 0)
    ask(server, "/a.bin", 1)
    again = figures(server)
    assert again["file_cache_entries"] == 1 and again["file_cache_misses"] == found["file_cache_misses"] + 1
    assert again["file_cache_hits"] == found["file_cache_hits"]


def test_on_the_page(served):
    server = served(1)
    ask(server, "/a.bin", 4)

    def shown():
        with Connection(server.secure) as connection:
            connection.send(request("/live", host="127.0.0.1"))
            connection.head()
            octets = b""
            while not (found := re.search(rb"data: (.*)\n", octets)):
                octets += connection.exactly(int(connection.line(), 16))
                connection.exactly(2)
            return json.loads(found[1])["files"]
    assert eventually(lambda: shown()["hits"] == 3)
    assert shown() == {"ready": 1, "hits": 3, "made ready": 1, "made room": 0, "compressed": 0, "hits of compressed": 0}
