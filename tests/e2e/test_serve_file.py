# SPDX-License-Identifier: MIT
"""skua_serve_file, directories whose files the program decides about, and names of routes (tests/servers/files.c)."""

import gzip
import json
import os
import re
import time

import pytest
from server import BUILD, eventually, numbered
from wire import request

LARGE = os.urandom(100_000)
SMALL = b"small\n" * 20
PAST = 1_700_000_000
BUILT = (BUILD / "CMakeCache.txt").read_text()
of_codings = pytest.mark.skipif("SKUA_ZLIB:BOOL=ON" not in BUILT, reason="this build lacks gzip")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "secret.d").mkdir()
    (folder / ".git").mkdir()
    (folder / "many.d").mkdir()
    for number in range(400):
        (folder / "many.d" / f"{number:050}").touch()
    for name, content in {"small.txt": SMALL, "large.bin": LARGE, "unknown": b"%PDF \0\1" + LARGE, "empty.css": b"",
                          "text": b"some text " * 9000, "secret.txt": b"s", "own.txt": b"o", "odd.txt": b"o",
                          "index.html": b"index", "404.html": b"page", ".git/config": b"no",
                          "page.html": b"<p>" * 1000, "page.html.gz": gzip.compress(b"<p>" * 1000),
                          "page.html.br": b"of an older page", "many.css": b"a{}" * 50_000, "many.css.br": os.urandom(40_000),
                          "many.css.zst": b"few", "many.css.gz": b"", "gains.css": b"p { x: y }" * 300, "long.js": b"some(code)" * 9000,
                          "noise.txt": os.urandom(3000), "gains.css.gz.d": b"", "odd.js": b"x" * 600,
                          "left.js": os.urandom(200_000).hex().encode()}.items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (PAST - name.endswith(".br"), PAST - name.endswith(".br")))
    os.utime(folder / "many.css", (PAST - 5, PAST - 5))
    (folder / "odd.js.br").mkdir()
    (folder / "odd.js.zst").symlink_to("/etc/hostname")
    os.mkfifo(folder / "fifo")
    (folder / "out").symlink_to("/etc/hostname")
    time.sleep(2.1)  # entity tags of large files are strong then
    return folder


@pytest.fixture(scope="module")
def served(folder):
    server = numbered("files", env={"FILES_ROOT": str(folder)})
    yield server
    server.stop()


# ---- One file ----


@pytest.mark.parametrize("name", ["small.txt", "large.bin", "unknown", "text", "empty.css", "page.html", "nothing", "fifo", "out",
                                  "secret.d", ".git/config", ".git"])
@pytest.mark.parametrize("lines", [[], ["Range: bytes=3-9"], ["Range: bytes=0-1,5-"], ["Range: bytes=200000-"],
                                   ["If-None-Match: *"], ["If-Match: \"x\""], ["If-Modified-Since: {date}"],
                                   ["Range: bytes=1-2", "If-Range: {etag}"]])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_is_what_it_is_in_a_directory(served, name, lines, method):
    whole = served.get(f"/files/{name}")
    lines = [line.format(date=whole.get("last-modified"), etag=whole.get("etag")) for line in lines]
    expected, found, from_directory = (served.get(f"/{place}/{name}", *lines, method=method) for place in ("files", "file", "from"))
    if expected.status == 301:  # which is for directories alone
        assert found.status == 404
        return
    assert found.status == expected.status
    told = lambda response: {n.lower(): v for n, v in response.fields if n.lower() not in ("date", "x-by")}
    assert from_directory.status == expected.status
    if "multipart" not in (expected.get("content-type") or ""):
        assert (told(from_directory), from_directory.content) == (told(expected), expected.content)
    page = expected.status == 404  # of the directory
    if not page and "multipart" not in (expected.get("content-type") or ""):
        assert (told(found), found.content) == (told(expected), expected.content)
    if expected.status < 300:
        assert found.get("x-by") == "handler"


@pytest.mark.parametrize("path", ["file/small.txt", "from/large.bin", "from/unknown", "hashed-file/large.bin", "from/nothing", "from/secret.d",
                                  "compressing-file/long.js", "from-listed/", "from-listed/many.d/", "late/many.d/", "late/large.bin"])
@pytest.mark.parametrize("lines", [[], ["Range: bytes=0-9,20-29,90000-"]], ids=["whole", "ranges"])
def test_a_handler_is_told_of_the_end(served, path, lines):
    """Whatever serves the file for it: its function of skua_on_end is called once."""
    ended = lambda: int(served.get("/ended").content)
    before = ended()
    for name in (path, path, f"{path}?sort=size"):
        assert served.get(f"/{name}", "Accept-Encoding: gzip", *lines).status in (200, 206, 301, 404)
    with served.connect() as leaving:
        leaving.send(request(f"/{path}"))
        leaving.reset()
    assert eventually(lambda: ended() == before + 4)
    time.sleep(0.05)
    assert ended() == before + 4


CODED = ["page.html", "many.css", "gains.css", "long.js", "noise.txt", "odd.js", "large.bin", "empty.css", "nothing"]
WISHES = [[], ["br"], ["zstd"], ["gzip"], ["br, zstd, gzip"], ["gzip;q=1, br;q=0.5"], ["*"], ["identity;q=0, *"], ["br;q=0"], ["gzip", "br"],
          ["identity;q=0"], ["*;q=0"], ["gzip, identity;q=0"], ["br, *;q=0"]]


def alike(served, places, name, lines, method="GET"):
    """The response that both places give, whatever is told but for the handler's own field."""
    expected, found = (served.get(f"/{place}/{name}", *lines, method=method) for place in places)
    told = lambda response: {n.lower(): v for n, v in response.fields if n.lower() not in ("date", "x-by")}
    if expected.status == 404:  # with the page of the directory
        assert found.status == 404
    elif "multipart" in (expected.get("content-type") or ""):
        assert (found.status, len(found.content), found.get("etag")) == (206, len(expected.content), expected.get("etag"))
    else:
        assert (found.status, told(found), found.content) == (expected.status, told(expected), expected.content)
    return found


@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize("kind", ["coded", "compressing", "digested"])
def test_a_file_in_codings_is_what_it_is_in_a_directory(served, name, kind):
    places = f"{kind}-files", f"{kind}-file"
    for wishes in WISHES:
        accepts = [f"Accept-Encoding: {wish}" for wish in wishes]
        for method in ("GET", "HEAD"):
            whole = alike(served, places, name, accepts, method)
        for lines in (["Range: bytes=3-9"], ["Range: bytes=0-1,5-7"], ["Range: bytes=200000-"], [f"If-None-Match: {whole.get('etag')}"],
                      ["If-Match: \"x\""], [f"If-Modified-Since: {whole.get('last-modified')}"],
                      ["Range: bytes=1-2", f"If-Range: {whole.get('etag')}"], [f"If-Match: {whole.get('etag')}"]):
            alike(served, places, name, accepts + lines)


def test_siblings_of_a_file(served, folder):
    """One that is older is not sent, nor a folder or a link that leads out."""
    get = lambda name, coding: served.get(f"/coded-file/{name}", f"Accept-Encoding: {coding}")
    found = get("many.css", "br")
    assert (found.get("content-encoding"), found.content, found.get("vary")) == ("br", (folder / "many.css.br").read_bytes(), "Accept-Encoding")
    assert (found.get("content-type"), found.get("x-by")) == ("text/css; charset=utf-8", "handler")
    part = served.get("/coded-file/many.css", "Accept-Encoding: zstd", "Range: bytes=1-")
    assert (part.status, part.content, part.get("content-range")) == (206, b"ew", "bytes 1-2/3")
    tags = {get("many.css", coding).get("etag") for coding in ("br", "zstd", "gzip", "identity")}
    assert len(tags) == 4 and None not in tags
    assert get("page.html", "br, gzip;q=0.1").get("content-encoding") == "gzip"
    assert get("page.html", "br").get("content-encoding") is get("odd.js", "br, zstd").get("content-encoding") is None
    assert get("gains.css", "gzip").get("content-encoding") is None
    posted = served.get("/coded-file/many.css", "Accept-Encoding: zstd", "Range: bytes=0-1", method="POST")
    assert (posted.status, posted.content, posted.get("content-encoding")) == (200, b"few", "zstd")
    refused = [served.get("/coded-file/page.html", "Accept-Encoding: br, identity;q=0", method=method) for method in ("GET", "HEAD", "POST")]
    assert [response.status for response in refused] == [406, 406, 200]  # a POST has done what it does


@of_codings
def test_a_file_is_compressed_once(served, folder):
    get = lambda name, *lines: served.get(f"/compressing-file/{name}", "Accept-Encoding: gzip", *lines)
    (folder / "fresh.js").write_bytes(b"before();" * 1000)
    os.utime(folder / "fresh.js", (PAST, PAST))
    first = get("fresh.js")
    assert gzip.decompress(first.content) == b"before();" * 1000 and first.get("etag").startswith('W/"')
    assert get("fresh.js").content == first.content
    again = get("fresh.js", f"If-None-Match: {first.get('etag')}")
    assert (again.status, again.get("vary")) == (304, "Accept-Encoding")
    assert served.get("/typed-coded-file/fresh.js", "Accept-Encoding: gzip").get("content-encoding") is None  # image/x-own
    (folder / "fresh.js").write_bytes(b"behind();" * 1000)
    os.utime(folder / "fresh.js", (PAST, PAST))
    assert gzip.decompress(get("fresh.js").content) == b"behind();" * 1000
    for _ in range(3):
        assert get("noise.txt").get("content-encoding") is None
    with served.connect() as connection:  # one that leaves while its file is compressed
        connection.send(b"GET /compressing-file/left.js HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        connection.reset()
    made = eventually(lambda: next((r for r in [get("left.js")] if r.get("content-encoding")), None))  # another worker's is not waited for
    assert len(gzip.decompress(made.content)) == 400_000


def test_directories_from_handlers(served):
    assert served.get("/from/").content == served.get("/from/index.html").content == b"index"
    assert served.get("/from/secret.d?a").get("location") == "/from/secret.d/?a"
    refused = served.get("/from/small.txt", method="DELETE")
    assert (refused.status, refused.get("allow")) == (405, "GET, HEAD")


def test_no_path_leads_out(served):
    for path in ("/from/..%2f..%2fetc/passwd", "/from/%2fetc/passwd", "/from/../../etc/passwd", "/from/secret.d%2f..%2fsmall.txt", "/file/..%2f..%2fetc/passwd", "/file//etc/passwd", "/file/%2fetc/passwd", "/file/../../etc/passwd"):
        assert served.get(path).status in (403, 404), path


def test_what_the_description_says(served):
    found = served.get("/typed-file/small.txt")
    assert (found.get("content-type"), found.get("cache-control")) == ("text/x-own", "max-age=60")
    assert served.get("/typed-file/small.txt", f"If-None-Match: {found.get('etag')}").get("cache-control") == "max-age=60"
    part = served.get("/typed-file/large.bin", "Range: bytes=1-5")
    assert (part.get("content-type"), part.get("cache-control"), part.content) == ("text/x-own", "max-age=60", LARGE[1:6])
    bare = served.get("/bare-file/large.bin")
    assert bare.get("etag") is None and bare.get("last-modified") is not None
    assert served.get("/bare-file/.git/config").content == b"no"


def test_tags_by_content(served, folder):
    """Two files of one content and other times; a third of another content."""
    (folder / "copy.bin").write_bytes(LARGE)
    (folder / "other.bin").write_bytes(LARGE[:-1] + bytes([LARGE[-1] ^ 1]))
    time.sleep(2.1)
    first, copy, other = (served.get("/hashed-file/" + name) for name in ("large.bin", "copy.bin", "other.bin"))
    assert len(first.get("etag")) == 34 and first.get("etag") == copy.get("etag") != other.get("etag")
    assert copy.content == LARGE and other.content != LARGE
    again = served.get("/hashed-file/copy.bin", f"If-None-Match: {first.get('etag')}")
    assert again.status == 304
    small = served.get("/file/small.txt").get("etag")
    assert served.get("/hashed-file/small.txt").get("etag") == small


def test_a_method_that_has_done_its_work_meets_no_conditions(served):
    found = served.get("/file/small.txt", 'If-Match: "x"', "Range: bytes=0-1", method="POST")
    assert (found.status, found.content) == (200, SMALL)


def test_clients_that_leave_while_a_file_is_opened(served):
    for i in range(40):
        with served.connect() as connection:
            connection.send(b"GET /file/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
            if i % 2:
                connection.reset()
    assert served.get("/file/large.bin").content == LARGE


# ---- A function that decides ----


@pytest.mark.parametrize("place", ["decided", "decided-large"])
def test_a_function_decides_about_each_file(served, place):
    for _ in range(2):  # not known yet, and ready
        found = served.get(f"/{place}/small.txt")
        assert (found.status, found.all("x-path"), found.get("x-size")) == (200, ["small.txt"], str(len(SMALL)))
        assert served.get(f"/{place}/").all("x-path") == ["index.html"]
        part = served.get(f"/{place}/large.bin", "Range: bytes=0-9")
        assert (part.status, part.all("x-path")) == (206, ["large.bin"])
        small = served.get(f"/{place}/small.txt", "Range: bytes=0-9")  # has to be opened once more
        assert (small.status, small.all("x-path")) == (206, ["small.txt"])
        assert served.get(f"/{place}/small.txt", "If-None-Match: *").all("x-path") == ["small.txt"]
        for lines, status in (([], 403), (["If-None-Match: *"], 403), (["If-Match: \"x\""], 403), (["Range: bytes=0-0"], 403),
                              (["Range: bytes=9-"], 403)):
            refused = served.get(f"/{place}/secret.txt", *lines)
            assert refused.status == status and refused.get("etag") is None, lines
        own = served.get(f"/{place}/own.txt")
        assert (own.status, own.get("location")) == (303, "/elsewhere")
        assert served.get(f"/{place}/odd.txt").status == 500  # 200 is no refusal
        missing = served.get(f"/{place}/missing")
        assert (missing.status, missing.content, missing.get("x-path")) == (404, b"page", None)


def test_it_is_asked_about_the_file_where_a_compressed_one_is_sent(served, folder):
    found = served.get("/decided/page.html", "Accept-Encoding: gzip")
    assert (found.get("content-encoding"), found.all("x-path")) == ("gzip", ["page.html"])
    assert found.get("x-size") == str((folder / "page.html.gz").stat().st_size)
    for _ in range(2):
        made = served.get("/decided-large/page.html", "Accept-Encoding: gzip")
        assert (made.get("content-encoding"), made.all("x-path")) == ("gzip", ["page.html"])


# ---- Names of routes ----


def line_of(served, path):
    """The line of the access log about a path."""
    lines = lambda: [json.loads(line) for line in served.lines() if line.startswith("{")]
    return eventually(lambda: next((line for line in lines() if line.get("request", {}).get("uri") == path), None))


@pytest.mark.parametrize("path,label,name", [("/named/1", 'orders "one"', 'orders "one"'), ("/nameless/1", "GET /nameless/{x}", None)])
def test_the_log_has_the_name_of_a_route(served, path, label, name):
    assert served.get(path).content == label.encode()
    assert line_of(served, path).get("route") == name
    escaped = label.replace('"', '\\"')
    found = lambda: [text for text in (served.out_text() + served.error_text()).splitlines() if path in text and "handled" not in text]
    assert eventually(lambda: found() or served.get(path) and found(), every=0.2)  # a worker complains once in a second
    assert any(f'route "{text}": ' in line for text in (label, escaped) for line in found()), found()


def test_a_request_that_no_proxy_has_named_gets_a_name(served):
    """Another one each time, and the log has it; not one that a stranger gives."""
    names = [served.get(f"/id/{i}", *["X-Request-Id: a-stranger's"] * (i % 2)).content.decode() for i in range(60)]
    assert len(set(names)) == 60 and all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
    for i in (0, 1, 59):
        assert line_of(served, f"/id/{i}").get("request_id") == names[i]
    served.get("/files/small.txt?unnamed")  # nobody asks for its name
    assert "request_id" not in line_of(served, "/files/small.txt?unnamed")


def test_a_directory_is_a_route_with_a_name(served):
    found = served.get("/assets/small.txt?named")
    assert (found.content, found.get("x-path")) == (SMALL, "small.txt")
    assert line_of(served, "/assets/small.txt?named")["route"] == "assets"
    served.get("/files/small.txt?nameless")
    assert "route" not in line_of(served, "/files/small.txt?nameless")
