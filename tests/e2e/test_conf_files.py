# SPDX-License-Identifier: MIT
"""skua -c FILE: what answers for a path that names no file: clean addresses, applications, pages for 404, and files that
lie beside others compressed."""

import gzip
import os
import time

import pytest
from conf import SKUA, get, of, start
from ports import free_port
from server import Server, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

SCRIPT = b"console.log('skua');\n" * 400
LARGE = b"0123456789abcdef" * 5000
CODINGS = {".gz": b"gzip ", ".br": b"brotli ", ".zst": b"zstd "}

SITES = """
listen 127.0.0.1:PORT
workers 1
defaults {
    compress off
}
site plain.test {
    root www
}
site clean.test {
    root www
    clean_urls
    precompressed off
}
site app.test {
    root app
    spa
    path /docs/ {
        root www
        spa off
        not_found sub/missing.html
    }
    path /bare/ {
        root www
        spa off
        not_found off
    }
}
site renamed.test {
    root app
    index start.html
    spa on
}
site listed.test {
    root www
    listing on
}
site both.test {
    root www
    compress
}
"""


def age(file, seconds):
    then = time.time() - seconds
    os.utime(file, (then, then))


def write(folder):
    www = folder / "www"
    (www / "sub").mkdir(parents=True)
    (www / "blog").mkdir()
    (www / "index.html").write_text("index")
    (www / "about.html").write_text("about")
    (www / "blog.html").write_text("blog")
    (www / "blog" / "index.html").write_text("posts")
    (www / "sub" / "index.html").write_text("below")
    (www / "sub" / "missing.html").write_text("another page")
    (www / "404.html").write_text("<h1>lost</h1>")
    (www / ".secret").write_text("secret")
    for name, content in (("app.js", SCRIPT), ("large.txt", LARGE)):
        (www / name).write_bytes(content)
        age(www / name, 100)
        for suffix, begin in CODINGS.items():
            (www / (name + suffix)).write_bytes(begin + content[:len(content) // 2])
            age(www / (name + suffix), 50)
    (www / "only.css").write_text("a { }" * 100)
    age(www / "only.css", 100)
    (www / "only.css.gz").write_bytes(gzip.compress(b"a { }" * 100))
    (www / "old.js").write_text("new content")
    (www / "old.js.gz").write_bytes(gzip.compress(b"old content"))
    age(www / "old.js.gz", 100)
    app = folder / "app"
    (app / "assets").mkdir(parents=True)
    (app / "index.html").write_text("<script src=/assets/a.js></script>")
    (app / "start.html").write_text("another start")
    (app / "assets" / "a.js").write_text("1")
    (app / ".well-known").mkdir()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    write(folder)
    time.sleep(2.1)  # after which entity tags are strong
    server = start(folder, SITES)
    server.folder = folder
    yield server
    server.stop()


def is_page(response):
    assert response.status == 404 and response.get("content-type").startswith("text/html")
    assert response.get("etag") is None and response.get("last-modified") is None
    return response.content


@of("clean_urls")
def test_clean_addresses(served):
    for _ in range(2):  # from the disk, and from memory
        assert get(served, "clean.test", "/about").content == b"about"
        assert get(served, "clean.test", "/about.html").content == b"about"
        assert get(served, "clean.test", "/blog").content == b"blog"  # before the folder
        assert get(served, "clean.test", "/blog/").content == b"posts"
    about = get(served, "clean.test", "/about")
    assert about.get("content-type") == "text/html; charset=utf-8"
    assert get(served, "clean.test", "/about", "If-None-Match: " + about.get("etag")).status == 304
    moved = get(served, "clean.test", "/sub?a=b")
    assert moved.status == 301 and moved.get("location") == "/sub/?a=b"
    assert is_page(get(served, "clean.test", "/none")) == b"<h1>lost</h1>"
    assert is_page(get(served, "clean.test", "/about/")) == b"<h1>lost</h1>"
    assert is_page(get(served, "plain.test", "/about")) == b"<h1>lost</h1>"
    assert get(served, "plain.test", "/blog").get("location") == "/blog/"


def test_a_clean_address_follows_its_file(served):
    file = served.folder / "www" / "news.html"
    assert get(served, "clean.test", "/news").status == 404
    file.write_text("first")
    assert eventually(lambda: get(served, "clean.test", "/news").content == b"first")
    (served.folder / "www" / "news").write_text("exact")
    assert eventually(lambda: get(served, "clean.test", "/news").content == b"exact")
    (served.folder / "www" / "news").unlink()
    assert eventually(lambda: get(served, "clean.test", "/news").content == b"first")
    file.unlink()
    assert eventually(lambda: get(served, "clean.test", "/news").status == 404)


@of("spa")
def test_an_application(served):
    index = b"<script src=/assets/a.js></script>"
    for _ in range(2):
        for path in ("/", "/users", "/users/17", "/users/", "/a/b/c/?q=1", "/.well-known/", "/index.html"):
            response = get(served, "app.test", path)
            assert (response.status, response.content) == (200, index), path
            assert response.get("content-type") == "text/html; charset=utf-8"
    etag = get(served, "app.test", "/users").get("etag")
    assert get(served, "app.test", "/others", "If-None-Match: " + etag).status == 304
    assert get(served, "app.test", "/assets/a.js").content == b"1"
    for path in ("/assets/b.js", "/favicon.ico", "/users/a.b", "/.env", "/.git/config", "/..%2fwww/index", "/x%00y"):
        assert get(served, "app.test", path).status in (400, 404), path
    assert get(served, "app.test", "/assets").get("location") == "/assets/"
    assert get(served, "app.test", "/docs/none").status == 404
    assert get(served, "renamed.test", "/users").content == b"another start"
    with Connection(served.address) as connection:
        connection.send(request("/users", "Content-Length: 0", method="POST", host="app.test"))
        assert connection.response().status == 405


@of("not_found")
def test_pages_for_what_is_not_found(served):
    for _ in range(2):
        for path in ("/none", "/none/", "/none.js", "/sub/none", "/.secret", "/sub%2findex.html"):
            assert is_page(get(served, "plain.test", path)) == b"<h1>lost</h1>", path
    assert is_page(get(served, "listed.test", "/none/")) == b"<h1>lost</h1>"
    assert is_page(get(served, "app.test", "/docs/none")) == b"another page"
    assert b"404" in get(served, "app.test", "/bare/none").content
    assert get(served, "plain.test", "/404.html").status == 200
    for line in ("If-None-Match: *", "If-Match: \"a\"", "Range: bytes=0-1", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"):
        assert is_page(get(served, "plain.test", "/none", line)) == b"<h1>lost</h1>"
    with Connection(served.address) as connection:
        connection.send(request("/none", method="HEAD", host="plain.test"))
        head = connection.response("HEAD")
        assert head.status == 404 and head.get("content-length") == str(len("<h1>lost</h1>"))
        assert connection.get("/", host="plain.test").status == 200


def test_a_page_follows_its_file(served):
    page = served.folder / "app" / "404.html"
    assert b"lost" not in get(served, "app.test", "/none.js").content
    page.write_text("lost here")
    assert eventually(lambda: get(served, "app.test", "/none.js").content == b"lost here")
    page.write_text("lost and found")
    assert eventually(lambda: get(served, "app.test", "/none.js").content == b"lost and found")
    page.unlink()
    assert eventually(lambda: b"404" in get(served, "app.test", "/none.js").content)


TAKES = [
    (None, ""), ("", ""), ("gzip", ".gz"), ("br", ".br"), ("zstd", ".zst"), ("gzip, deflate, br, zstd", ".br"), ("gzip, zstd", ".zst"),
    ("br;q=0, gzip", ".gz"), ("br;q=0.5, gzip;q=0.9", ".gz"), ("*", ".br"), ("*;q=0, identity", ""), ("identity", ""),
    ("identity;q=0, gzip", ".gz"), ("gzip;q=0.2, identity;q=0.9", ""), ("br;q=0, *", ".zst"), ("GZIP", ".gz"), ("deflate", ""),
    ("gzip;q=2", ""),
]
NAMES = {"": None, ".gz": "gzip", ".br": "br", ".zst": "zstd"}


@of("precompressed")
@pytest.mark.parametrize("name,content", [("app.js", SCRIPT), ("large.txt", LARGE)])
def test_files_beside_files(served, name, content):
    tags = set()
    for _ in range(2):
        for takes, suffix in TAKES:
            lines = [f"Accept-Encoding: {takes}"] if takes is not None else []
            response = get(served, "plain.test", "/" + name, *lines)
            expected = CODINGS[suffix] + content[:len(content) // 2] if suffix else content
            assert response.status == 200 and response.content == expected, takes
            assert response.get("content-encoding") == NAMES[suffix], takes
            assert response.get("vary") == "Accept-Encoding"
            assert response.get("content-type").startswith("text/")
            tag = response.get("etag")
            tags.add(tag)
            again = get(served, "plain.test", "/" + name, *lines, "If-None-Match: " + tag)
            assert again.status == 304 and again.get("vary") == "Accept-Encoding" and again.get("etag") == tag
            part = get(served, "plain.test", "/" + name, *lines, "Range: bytes=2-5")
            assert part.status == 206 and part.content == expected[2:6]
            assert part.get("content-encoding") == NAMES[suffix] and part.get("etag") == tag
            assert part.get("vary") == "Accept-Encoding"
    assert len(tags) == 4 and not any(tag.startswith("W/") for tag in tags)
    for tag in tags:
        mixed = get(served, "plain.test", "/" + name, "Accept-Encoding: br", "Range: bytes=0-3", "If-Range: " + tag)
        assert mixed.status == (206 if "br" in tag else 200)
    assert get(served, "clean.test", "/" + name, "Accept-Encoding: br").content == content
    assert get(served, "clean.test", "/" + name, "Accept-Encoding: br").get("vary") is None


# Clients that refuse files as they are, and the codings that each takes
REFUSING = [("identity;q=0", set()), ("*;q=0", set()), ("gzip;q=0, identity;q=0", set()), ("deflate, identity;q=0", set()),
            ("identity;q=0.000", set()), ("zstd;q=0.2, *;q=0", {"zstd"}), ("gzip, identity;q=0", {"gzip"}),
            ("br;q=0, *;q=0.1, identity;q=0", {"zstd", "gzip"})]


@pytest.mark.parametrize("takes,codings", REFUSING)
@pytest.mark.parametrize("host,name,there", [("plain.test", "app.js", {"br", "zstd", "gzip"}), ("plain.test", "only.css", {"gzip"}),
                                             ("plain.test", "large.txt", {"br", "zstd", "gzip"}), ("plain.test", "old.js", set()),
                                             ("clean.test", "app.js", set()), ("plain.test", "app.js.br", set())])
def test_who_refuses_a_file_as_it_is(served, takes, codings, host, name, there):
    """RFC 9110, section 12.5.3: where no coding is acceptable there is 406, whatever the conditions; else the coding that is."""
    lines, tag = ["Accept-Encoding: " + takes], get(served, host, "/" + name).get("etag")
    for _ in range(2):  # from the disk, and from memory
        for method in ("GET", "HEAD"):
            for more in ([], ["If-None-Match: " + tag], ["If-None-Match: *"], ['If-Match: "none"'], ["Range: bytes=0-3"],
                         ["If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"]):
                response = get(served, host, "/" + name, *lines, *more, method=method)
                if codings & there:
                    assert response.status in ((200,) if not more else (200, 206, 304, 412))
                    assert response.status not in (200, 206) or response.get("content-encoding") in codings & there
                else:
                    assert response.status == 406, more
                    assert response.get("content-encoding") is response.get("etag") is response.get("last-modified") is None
                    assert ("Accept-Encoding" in response.all("vary")) == (host == "plain.test")
    # what stands for files that are not there is not negotiated
    assert is_page(get(served, host, "/none", *lines)) == b"<h1>lost</h1>"


def test_what_is_taken_of_what_there_is(served):
    response = get(served, "plain.test", "/only.css", "Accept-Encoding: br, zstd, gzip;q=0.1")
    assert gzip.decompress(response.content) == b"a { }" * 100 and response.get("content-type").startswith("text/css")
    assert get(served, "plain.test", "/only.css", "Accept-Encoding: br").get("content-encoding") is None
    # an older one holds what was there before
    assert get(served, "plain.test", "/old.js", "Accept-Encoding: gzip").content == b"new content"
    # a file may be asked for by its own name
    own = get(served, "plain.test", "/only.css.gz", "Accept-Encoding: gzip")
    assert own.get("content-encoding") is None and own.get("content-type") == "application/gzip"
    with Connection(served.address) as connection:
        connection.send(request("/app.js", "Accept-Encoding: br", method="HEAD", host="plain.test"))
        head = connection.response("HEAD")
        assert head.get("content-encoding") == "br" and head.get("content-length") == str(len(SCRIPT) // 2 + 7)


def test_beside_compression(served):
    """A sibling is sent as it is; a file without one is compressed."""
    ready = get(served, "both.test", "/app.js", "Accept-Encoding: br")
    assert ready.content.startswith(b"brotli ") and ready.get("vary") == "Accept-Encoding"
    made = get(served, "both.test", "/app.js", "Accept-Encoding: gzip;q=0.1, br;q=0")
    assert made.content.startswith(b"gzip ")  # what is there is not made again
    listed = get(served, "both.test", "/only.css", "Accept-Encoding: br")
    assert listed.get("content-encoding") is None  # too short, and no .br beside it


def test_siblings_follow_their_files(served):
    www = served.folder / "www"
    (www / "live.js").write_text("one")
    age(www / "live.js", 10)

    def content():
        return get(served, "plain.test", "/live.js", "Accept-Encoding: gzip").content

    assert content() == b"one"
    (www / "live.js.gz").write_bytes(b"packed one")
    assert eventually(lambda: content() == b"packed one")
    (www / "live.js.gz").write_bytes(b"packed two")
    assert eventually(lambda: content() == b"packed two")
    time.sleep(0.01)
    (www / "live.js").write_text("three")
    assert eventually(lambda: content() == b"three")
    (www / "live.js.gz").write_bytes(b"packed three")
    assert eventually(lambda: content() == b"packed three")
    (www / "live.js.gz").chmod(0)
    (www / "live.js.gz").unlink()
    assert eventually(lambda: content() == b"three")
    (www / "live.js.gz").mkdir()
    assert content() == b"three"
    (www / "live.js").unlink()
    assert eventually(lambda: get(served, "plain.test", "/live.js", "Accept-Encoding: gzip").status == 404)


def test_a_sibling_that_is_kept_follows_its_file(served):
    """It is too long to be small, and asked for often, so that it is in memory; nothing of before is sent after a change."""
    www = served.folder / "www"
    kept = www / "kept.txt.gz"
    (www / "kept.txt").write_text("whole")
    kept.write_bytes(b"1" * 50_000)
    age(www / "kept.txt", 100)
    age(kept, 50)
    time.sleep(2.1)
    with served.connect() as connection:
        def ask(*lines):
            return connection.get("/kept.txt", "Accept-Encoding: gzip", *lines, host="plain.test")

        for _ in range(5):
            assert ask().content == b"1" * 50_000
            time.sleep(0.3)
        tag = ask().get("etag")
        assert ask(f"If-None-Match: {tag}").status == 304
        part = ask("Range: bytes=49990-")
        assert part.status == 206 and part.content == b"1" * 10 and part.get("content-encoding") == "gzip"
        with open(kept, "r+b") as file:
            file.write(b"2" * 50_000)
        assert eventually(lambda: ask().content == b"2" * 50_000)
        assert ask().get("etag") != tag
        (www / "kept.txt").write_text("newer")  # than its sibling
        age(kept, 50)
        assert eventually(lambda: ask().content == b"newer")


def test_an_application_in_a_folder(tmp_path):
    write(tmp_path)
    port = free_port()
    server = Server([SKUA, "--port", port, "--spa", tmp_path / "app"], ("127.0.0.1", port))
    try:
        for path in ("/", "/users/17", "/users/"):
            assert server.get(path).content == b"<script src=/assets/a.js></script>"
        assert server.get("/none.js").status == 404
    finally:
        server.stop()
