# SPDX-License-Identifier: MIT
"""Files: what is opened and what is refused, conditions and ranges, and that a change shows at once."""

import ctypes
import email.parser
import email.utils
import os
import re
import socket
import time

import pytest
from server import eventually, program
from wire import request

TEXT = bytes(range(256)) * 40
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def obey_permissions():
    """A test run by root reads everything; without these two capabilities it does not."""
    libc = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder with everything in it. Its files are old enough for strong validators."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    root = tmp_path_factory.mktemp("root")
    (root / "index.html").write_text("<p>index</p>")
    (root / "text.bin").write_bytes(TEXT)
    (root / "empty.txt").write_bytes(b"")
    (root / "sub").mkdir()
    (root / "sub" / "index.html").write_text("sub")
    (root / "sub" / "a b%c.txt").write_text("odd")
    (root / "bare").mkdir()
    (root / "bare" / "x.txt").write_text("x")
    (root / "evil.example").mkdir()
    (root / "o d%d?#\u00fc").mkdir()
    (root / ".hidden").write_text("no")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("no")
    (root / "sub" / ".env").write_text("no")
    (root / ".well-known").mkdir()
    (root / ".well-known" / "security.txt").write_text("yes")
    (root / ".well-known" / ".inner").write_text("no")
    (root / "link-inside").symlink_to("sub/index.html")
    (root / "link-folder").symlink_to("sub")
    (root / "sub" / "link-up").symlink_to("../text.bin")
    (root / "link-absolute").symlink_to(root / "text.bin")
    (root / "link-out").symlink_to(os.path.relpath(outside / "secret.txt", root))
    (root / "link-out-folder").symlink_to(os.path.relpath(outside, root))
    (root / "link-loop").symlink_to("link-loop")
    (root / "link-dangling").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    (root / "unreadable").write_text("no")
    (root / "unreadable").chmod(0)
    (root / "closed").mkdir()
    (root / "closed" / "x").write_text("no")
    (root / "closed").chmod(0)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(root / "socket"))
    try:
        os.mknod(root / "device", 0o644 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pass
    time.sleep(2.2)
    yield root
    listener.close()
    (root / "closed").chmod(0o755)


@pytest.fixture(scope="module")
def site(tree):
    server = program(tree, preexec=obey_permissions)
    yield server
    server.stop()


# ---- What is served ----


def test_file(site):
    response = site.get("/text.bin")
    assert response.status == 200 and response.content == TEXT
    assert response.get("content-type") == "application/octet-stream"
    assert response.get("accept-ranges") == "bytes"
    assert re.fullmatch(r'"[^"]+"', response.get("etag"))
    assert email.utils.parsedate_to_datetime(response.get("last-modified")) <= email.utils.parsedate_to_datetime(
        response.get("date")
    )


def test_empty_file(site):
    response = site.get("/empty.txt")
    assert (response.status, response.content, response.get("content-length")) == (200, b"", "0")


def test_head(site):
    got, head = site.get("/text.bin"), site.get("/text.bin", method="HEAD")
    assert head.status == 200
    without_date = lambda r: sorted((n.lower(), v) for n, v in r.fields if n.lower() != "date")
    assert without_date(head) == without_date(got)


def test_kept_alive(site):
    with site.connect() as connection:
        for _ in range(50):
            assert connection.get("/text.bin").content == TEXT
            assert connection.get("/nothing").status == 404
            assert connection.get("/sub/").content == b"sub"


def test_pipelined_files(site):
    with site.connect() as connection:
        connection.send((request("/text.bin") + request("/") + request("/text.bin", method="HEAD")) * 50)
        for _ in range(50):
            assert connection.response().content == TEXT
            assert connection.response().content == b"<p>index</p>"
            assert connection.response("HEAD").get("content-length") == str(len(TEXT))


def test_index(site):
    response = site.get("/")
    assert response.content == b"<p>index</p>"
    assert response.get("content-type") == "text/html; charset=utf-8"
    assert site.get("/sub/").content == b"sub"


@pytest.mark.parametrize(
    "path,location",
    [
        ("/sub", "/sub/"),
        ("//sub", "/sub/"),
        ("/sub?a=b", "/sub/?a=b"),
        ("/sub?x={1}|[2]^`&y=100%&z=%20\\", "/sub/?x=%7B1%7D%7C%5B2%5D%5E%60&y=100%25&z=%20%5C"),
        ("/sub?\u00c3\u00a9", "/sub/?%C3%A9"),  # UTF-8, as octets
        ("//evil.example", "/evil.example/"),
        ("///evil.example/../evil.example", "/evil.example/"),
        ("/o%20d%25d%3F%23%C3%BC", "/o%20d%25d%3F%23%C3%BC/"),
        ("/o%20d%25d%3f%23%c3%bc", "/o%20d%25d%3F%23%C3%BC/"),
    ],
)
def test_redirect_to_folder(site, path, location):
    response = site.get(path)
    assert response.status in (301, 302, 307, 308)
    assert response.get("location") == location


def test_redirect_that_would_be_too_long(site):
    assert site.get("/sub?" + "q" * 8000).status == 301
    assert site.get("/sub?" + "q" * 8185).status == 414


@pytest.mark.parametrize("path", ["/sub/a%20b%25c.txt", "/sub/%61%20b%25c.txt", "/./sub//x/../a%20b%25c.txt"])
def test_encoded_names(site, path):
    assert site.get(path).content == b"odd"


def test_folder_without_index_is_listed_unless_told_otherwise(site, serve, tree):
    assert b"x.txt" in site.get("/bare/").content
    silent = serve(tree, "--no-list")
    assert silent.get("/bare/").status == 404
    assert silent.get("/bare/x.txt").content == b"x"


def test_file_is_not_a_folder(site):
    assert site.get("/text.bin/").status == 404
    assert site.get("/text.bin/x").status == 404


@pytest.mark.parametrize(
    "name,media_type",
    [
        ("a.html", "text/html; charset=utf-8"),
        ("a.HTML", "text/html; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.txt", "text/plain; charset=utf-8"),
        ("a.csv", "text/csv; charset=utf-8"),
        ("a.json", "application/json"),
        ("a.svg", "image/svg+xml"),
        ("a.png", "image/png"),
        ("a.jpg", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.webp", "image/webp"),
        ("a.avif", "image/avif"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.pdf", "application/pdf"),
        ("a.mp4", "video/mp4"),
        ("a.webm", "video/webm"),
        ("a.mp3", "audio/mpeg"),
        ("a.zip", "application/zip"),
        ("a.bin", "application/octet-stream"),
    ],
)
def test_media_types(serve_types, name, media_type):
    found = serve_types.get("/" + name).get("content-type")
    assert found in (media_type, media_type + "; charset=utf-8")
    assert not media_type.startswith("text/") or found == media_type


@pytest.fixture(scope="module")
def serve_types(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    for ending in "html HTML css js mjs txt csv json svg png jpg jpeg gif webp avif woff2 wasm pdf mp4 webm mp3 zip bin".split():
        (folder / f"a.{ending}").write_text("x")
    server = program(folder)
    yield server
    server.stop()


# ---- What is refused ----


@pytest.mark.parametrize("path", ["/.hidden", "/.git/config", "/.git/", "/sub/.env", "/.well-known/.inner", "/%2ehidden"])
def test_dotfiles_are_hidden(site, path):
    assert site.get(path).status == 404


def test_well_known_is_not(site):
    assert site.get("/.well-known/security.txt").content == b"yes"


@pytest.mark.parametrize(
    "path",
    [
        "/../outside0/secret.txt", "/..%2foutside0%2fsecret.txt", "/%2e%2e/outside0/secret.txt", "/..%5coutside0%5csecret.txt",
        "/sub/%2e%2e%2f%2e%2e%2foutside0/secret.txt", "/sub/..%2f..%2fetc/passwd", "//etc/passwd", "/sub%2findex.html",
        "/sub%5cindex.html", "/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd", "/....//....//etc/passwd",
    ],
)
def test_no_way_out(site, path):
    response = site.get(path)
    assert response.status in (400, 403, 404)
    assert b"secret" not in response.content and b"root:" not in response.content


@pytest.mark.parametrize(
    "path,content", [("/link-inside", b"sub"), ("/link-folder/", b"sub"), ("/sub/link-up", TEXT), ("/link-absolute", TEXT)]
)
def test_links_inside_work(site, path, content):
    response = site.get(path)
    assert response.status == 200 and response.content == content


@pytest.mark.parametrize(
    "path", ["/link-out", "/link-out-folder/secret.txt", "/link-loop", "/link-dangling"]
)
def test_links_out_are_refused(site, path):
    assert site.get(path).status in (403, 404)


@pytest.mark.parametrize("path", ["/fifo", "/socket", "/device", "/unreadable", "/closed/x", "/closed/"])
def test_what_is_no_readable_file(site, path):
    assert site.get(path).status in (403, 404)  # at once: none is waited for
    assert site.get("/text.bin").status == 200


def test_long_names(site):
    assert site.get("/" + "a" * 300).status in (403, 404, 414)
    assert site.get("/" + "a/" * 3000).status in (403, 404, 414)


def test_methods(site):
    response = site.get("/text.bin", method="DELETE")
    assert response.status == 405
    assert {"GET", "HEAD"} <= set(response.get("allow").replace(" ", "").split(","))
    assert site.get("/text.bin", method="BREW").status == 501
    assert site.get("*", method="OPTIONS").status in (200, 204)


def test_error_page_does_not_reflect(site):
    response = site.get("/%3Cscript%3Ealert(1)%3C/script%3E", "Accept: text/html")
    assert response.status == 404
    assert b"<script" not in response.content
    assert "default-src 'none'" in response.get("content-security-policy")


# ---- Conditions: RFC 9110 section 13.2.2 ----


@pytest.fixture(scope="module")
def validators(site):
    response = site.get("/text.bin")
    return response.get("etag"), response.get("last-modified")


def past(date):
    return email.utils.formatdate(email.utils.parsedate_to_datetime(date).timestamp() - 60, usegmt=True)


@pytest.mark.parametrize(
    "lines,status",
    [
        (["If-None-Match: {etag}"], 304),
        (["If-None-Match: W/{etag}"], 304),
        (["If-None-Match: *"], 304),
        (['If-None-Match: "a", {etag}'], 304),
        (['If-None-Match: "a"', "If-None-Match: {etag}"], 304),
        (['If-None-Match: "a"'], 200),
        (["If-None-Match: a"], 200),
        (["If-Modified-Since: {date}"], 304),
        (["If-Modified-Since: {past}"], 200),
        (["If-Modified-Since: nonsense"], 200),
        (['If-None-Match: "a"', "If-Modified-Since: {date}"], 200),
        (["If-None-Match: {etag}", "If-Modified-Since: {past}"], 304),
        (["If-Match: {etag}"], 200),
        (["If-Match: *"], 200),
        (['If-Match: "a", {etag}'], 200),
        (['If-Match: "a"'], 412),
        (["If-Match: W/{etag}"], 412),
        (["If-Unmodified-Since: {date}"], 200),
        (["If-Unmodified-Since: {past}"], 412),
        (["If-Unmodified-Since: nonsense"], 200),
        (["If-Match: {etag}", "If-Unmodified-Since: {past}"], 200),
        (["If-Match: {etag}", "If-None-Match: {etag}"], 304),
        (['If-Match: "a"', "If-None-Match: {etag}"], 412),
    ],
)
def test_conditions(site, validators, lines, status):
    etag, date = validators
    lines = [line.format(etag=etag, date=date, past=past(date)) for line in lines]
    with site.connect() as connection:
        for method in ("GET", "HEAD"):
            response = connection.get("/text.bin", *lines, method=method)
            assert response.status == status
            if status == 304:
                assert response.get("etag") == etag and response.get("content-type") is None
                assert response.get("content-length") in (None, str(len(TEXT)))
            if status == 200 and method == "GET":
                assert response.content == TEXT


# ---- Ranges: RFC 9110 section 14 ----


@pytest.mark.parametrize(
    "spec,first,last",
    [
        ("0-0", 0, 0), ("0-99", 0, 99), ("100-", 100, 10239), ("-1", 10239, 10239), ("-100", 10140, 10239),
        ("10239-", 10239, 10239), ("10000-99999999999999", 10000, 10239), ("-99999", 0, 10239), ("0-", 0, 10239),
        ("5-5, ", 5, 5), (", 5-5", 5, 5),
    ],
)
def test_one_range(site, spec, first, last):
    response = site.get("/text.bin", f"Range: bytes={spec}")
    assert response.status == 206
    assert response.get("content-range") == f"bytes {first}-{last}/10240"
    assert response.content == TEXT[first : last + 1]


@pytest.mark.parametrize("spec", ["10240-", "99999-100000", "-0", "10240-10241,20000-"])
def test_unsatisfiable(site, spec):
    response = site.get("/text.bin", f"Range: bytes={spec}")
    assert response.status == 416
    assert response.get("content-range") == "bytes */10240"


def test_unsatisfiable_on_nothing(site):
    assert site.get("/empty.txt", "Range: bytes=0-").status in (200, 416)
    assert site.get("/empty.txt", "Range: bytes=-5").status in (200, 416)


@pytest.mark.parametrize("value", ["bytes=5-4", "bytes=a-b", "bytes=", "bytes", "lines=0-1", "bytes=--1", "bytes=1-2-3", "bytes=+1-2"])
def test_invalid_ranges_are_ignored(site, value):
    response = site.get("/text.bin", f"Range: {value}")
    assert response.status == 200 and response.content == TEXT


def parts(response):
    match = re.fullmatch(r"multipart/byteranges; boundary=(.+)", response.get("content-type"))
    assert match
    head = f"Content-Type: {response.get('content-type')}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + response.content)
    assert message.is_multipart() and not message.defects
    boundary = match.group(1).strip('"').encode()
    bodies = []
    for piece in response.content.split(b"--" + boundary)[1:-1]:
        lines, _, body = piece.partition(b"\r\n\r\n")
        span = re.search(rb"(?i)\r\ncontent-range: bytes (\d+)-(\d+)/(\d+)", lines)
        assert re.search(rb"(?i)\r\ncontent-type: application/octet-stream", lines)
        bodies.append((int(span.group(1)), int(span.group(2)), int(span.group(3)), body[:-2]))
    return bodies


@pytest.mark.parametrize("spans", [[(0, 0), (2, 2)], [(0, 99), (200, 299), (5000, 10239)], [(300, 400), (0, 10)]])
def test_many_ranges(site, spans):
    response = site.get("/text.bin", "Range: bytes=" + ", ".join(f"{a}-{b}" for a, b in spans))
    assert response.status == 206 and response.get("content-range") is None
    assert parts(response) == [(a, b, 10240, TEXT[a : b + 1]) for a, b in spans]


def test_sixteen_ranges_and_no_more(site):
    spec = lambda n: "Range: bytes=" + ",".join(f"{i * 10}-{i * 10 + 1}" for i in range(n))
    assert len(parts(site.get("/text.bin", spec(16)))) == 16
    response = site.get("/text.bin", spec(17))
    assert response.status == 200 and response.content == TEXT


@pytest.mark.parametrize("spans", [[(0, 100), (50, 150)], [(0, 10), (10, 20)], [(0, 0)] * 16, [(0, 5119), (0, 5119)]])
def test_overlapping_ranges_are_answered(site, spans):
    response = site.get("/text.bin", "Range: bytes=" + ",".join(f"{a}-{b}" for a, b in spans))
    assert response.status == 206
    assert parts(response) == [(a, b, 10240, TEXT[a : b + 1]) for a, b in spans]


@pytest.mark.parametrize("spec", ["0-,0-,0-", "0-5119,0-5120", "0-,-1", "-1,0-"])
def test_ranges_longer_than_the_file_are_answered_whole(site, spec):
    response = site.get("/text.bin", f"Range: bytes={spec}")
    assert response.status == 200 and response.content == TEXT


@pytest.mark.parametrize(
    "line,status",
    [
        ("If-Range: {etag}", 206), ("If-Range: W/{etag}", 200), ('If-Range: "a"', 200),
        ("If-Range: {past}", 200), ("If-Range: nonsense", 200),
    ],
)
def test_if_range(site, validators, line, status):
    etag, date = validators
    line = line.format(etag=etag, date=date, past=past(date))
    assert site.get("/text.bin", "Range: bytes=0-9", line).status == status


def test_lists_over_many_lines(launch_rules, tmp_path):
    (tmp_path / "file").write_text("x")
    site = launch_rules("--files", tmp_path, "head_octets_max=65535", "fields_max=1000")
    tag = site.get("/files/file").get("etag")
    others = [f'If-None-Match: "{i:050}"' for i in range(900)]
    assert site.get("/files/file", *others).status == 200
    assert site.get("/files/file", *others, f"If-None-Match: {tag}").status == 304
    assert site.get("/files/file", f"If-None-Match: {tag}", *others, "If-None-Match:").status == 304


def test_conditions_before_ranges(site, validators):
    assert site.get("/text.bin", "Range: bytes=0-9", f"If-None-Match: {validators[0]}").status == 304
    assert site.get("/text.bin", "Range: bytes=99999-", 'If-Match: "a"').status == 412


def test_range_is_for_get(site):
    response = site.get("/text.bin", "Range: bytes=0-9", method="HEAD")
    assert response.status == 200 and response.get("content-length") == "10240"


# ---- Freshness ----


def test_change_shows_at_once(serve, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("first")
    site = serve(tmp_path)
    with site.connect() as connection:
        for i in range(30):
            file.write_text(f"change {i:03}")
            assert connection.get("/a.txt").content == f"change {i:03}".encode()
            assert connection.get("/a.txt").content == f"change {i:03}".encode()


def test_replacement_shows_at_once(serve, tmp_path):
    site = serve(tmp_path)
    with site.connect() as connection:
        for i in range(30):
            (tmp_path / "new").write_text(f"{i:03}")
            os.replace(tmp_path / "new", tmp_path / "a.txt")
            assert connection.get("/a.txt").content == f"{i:03}".encode()


def test_coming_and_going_show_at_once(serve, tmp_path):
    site = serve(tmp_path)
    with site.connect() as connection:
        for _ in range(10):
            assert connection.get("/a.txt").status == 404
            (tmp_path / "a.txt").write_text("x")
            assert connection.get("/a.txt").content == b"x"
            (tmp_path / "a.txt").unlink()


def test_permission_shows_at_once(serve, tmp_path):
    site = serve(tmp_path, preexec=obey_permissions)
    (tmp_path / "a.txt").write_text("x")
    with site.connect() as connection:
        for _ in range(5):
            assert connection.get("/a.txt").status == 200
            (tmp_path / "a.txt").chmod(0)
            assert connection.get("/a.txt").status in (403, 404)
            (tmp_path / "a.txt").chmod(0o644)


def test_a_root_that_cannot_be_listed(serve, tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "sub" / "b.txt").write_text("b")
    for folder in (tmp_path.parent, tmp_path):
        folder.chmod(0o755)
    root.chmod(0o711)
    if os.getuid() == 0:
        os.chown(root, 1, 1)
    else:
        root.chmod(0o111)
    site = serve(root, "--list", preexec=obey_permissions)
    assert site.get("/a.txt").content == b"a"
    assert site.get("/sub/b.txt").content == b"b"
    assert site.get("/").status == 403
    assert site.get("/none").status == 404


def test_well_known_redirects_like_any_folder(serve, tmp_path):
    (tmp_path / ".well-known").mkdir()
    (tmp_path / ".well-known" / "a.txt").write_text("a")
    site = serve(tmp_path)
    response = site.get("/.well-known?x=1")
    assert (response.status, response.get("location")) == (301, "/.well-known/?x=1")
    assert site.get("/.well-known/a.txt").content == b"a"
    assert site.get("/.well-knownx").status == 404
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".well-known").write_text("no")
    assert serve(tmp_path / "other").get("/.well-known").status == 404


def test_future_mtime(serve, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    os.utime(tmp_path / "a.txt", (time.time() + 86400,) * 2)
    response = serve(tmp_path).get("/a.txt")
    parse = email.utils.parsedate_to_datetime
    assert parse(response.get("last-modified")) <= parse(response.get("date"))


def test_changes_that_the_kernel_does_not_tell(serve, tmp_path):
    """Through a hard link elsewhere, and by renaming a folder above: seen all the same."""
    folder = tmp_path / "site" / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("old")
    os.link(folder / "a.txt", tmp_path / "link")
    site = serve(tmp_path / "site")
    assert site.get("/deep/er/a.txt").content == b"old"
    (tmp_path / "link").write_text("new")
    assert eventually(lambda: site.get("/deep/er/a.txt").content == b"new")
    os.rename(tmp_path / "site" / "deep", tmp_path / "site" / "other")
    assert eventually(lambda: site.get("/deep/er/a.txt").status == 404)
    assert site.get("/other/er/a.txt").content == b"new"


# ---- Large files, and files that change while they are sent ----


def test_more_than_four_gigabytes(serve, tmp_path):
    size = (4 << 30) + 1000
    with open(tmp_path / "big", "wb") as file:
        file.truncate(size)
        file.seek(4 << 30)
        file.write(b"marker")
        file.seek(size - 3)
        file.write(b"end")
    site = serve(tmp_path)
    assert site.get("/big", method="HEAD").get("content-length") == str(size)
    response = site.get("/big", f"Range: bytes={4 << 30}-{(4 << 30) + 5}")
    assert response.content == b"marker"
    assert response.get("content-range") == f"bytes {4 << 30}-{(4 << 30) + 5}/{size}"
    assert site.get("/big", "Range: bytes=-3").content == b"end"
    with site.connect() as connection:
        connection.send(request("/big"))
        assert connection.head().get("content-length") == str(size)
        got, tail, room = len(connection.buffer), b"", bytearray(1 << 20)
        while got < size and (n := connection.socket.recv_into(room)):
            got += n
            tail = (tail + bytes(room[max(0, n - 3) : n]))[-3:]
        assert (got, tail) == (size, b"end")
        connection.buffer = b""
        assert connection.get("/big", method="HEAD").status == 200


@pytest.mark.parametrize("size", [32768, 32769, 65536, 1 << 20, 5_000_001])
def test_sizes(serve, tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    site = serve(tmp_path)
    with site.connect() as connection:
        for _ in range(3):
            assert connection.get("/file").content == content
        assert connection.get("/file", "Range: bytes=1000-20000").content == content[1000:20001]


def test_file_that_shrinks_while_it_is_sent(serve, tmp_path):
    size = 100_000_000
    with open(tmp_path / "file", "wb") as file:
        file.truncate(size)
    site = serve(tmp_path)
    with site.connect(receive_buffer=65536) as connection:
        connection.send(request("/file"))
        assert connection.head().get("content-length") == str(size)
        os.truncate(tmp_path / "file", 1000)
        got = len(connection.buffer)
        try:
            while octets := connection.socket.recv(1 << 20):
                got += len(octets)
        except ConnectionError:
            pass
        assert got < size
    assert site.get("/file").get("content-length") == "1000"


def test_file_that_vanishes_while_it_is_sent(serve, tmp_path):
    """It is open: it is sent to its end."""
    (tmp_path / "file").write_bytes(b"a" * 20_000_000)
    site = serve(tmp_path)
    with site.connect(receive_buffer=65536) as connection:
        connection.send(request("/file"))
        connection.head()
        (tmp_path / "file").unlink()
        assert connection.exactly(20_000_000) == b"a" * 20_000_000
        assert connection.get("/file").status == 404


def test_peer_that_resets_during_sendfile(serve, tmp_path):
    """SIGPIPE is at its default in the server: it must never be raised."""
    with open(tmp_path / "file", "wb") as file:
        file.truncate(50_000_000)
    site = serve(tmp_path)
    for i in range(100):
        connection = site.connect(receive_buffer=4096)
        connection.send(request("/file") * 2)
        connection.socket.recv(1 + 997 * i)
        connection.reset() if i % 2 else connection.close()
    assert site.alive()
    assert site.get("/file", "Range: bytes=0-4").content == b"\0" * 5


# ---- Types ----

PLAIN = "text/plain; charset=utf-8"
STREAM = b"\x47\x40\x11\x10" + bytes(184)
TYPES = {
    "notes": (b"some text\n", PLAIN), "long-notes": ("Gr\u00fc\u00dfe\n".encode() * 20_000, PLAIN), "nothing": (b"", PLAIN),
    "page": (b"<!doctype html><script>alert(1)</script>", PLAIN), "data": (b"\x00\x01\x02", "application/octet-stream"),
    "long-data": (b"text " * 100 + b"\x00" * 200_000, "application/octet-stream"), "Makefile": (b"all:\n", PLAIN),
    "app.ts": (b"export {};\n", PLAIN), "film.ts": (STREAM, "video/mp2t"), "long-film.ts": (STREAM * 1000, "video/mp2t"),
    "view.jsx": (b"<b/>", PLAIN), "track.gpx": (b"<gpx/>", "application/gpx+xml"),
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    root = tmp_path_factory.mktemp("typed")
    for name, (content, _) in TYPES.items():
        (root / name).write_bytes(content)
    server = program(root)
    yield server
    server.stop()


@pytest.mark.parametrize("name", TYPES)
def test_a_file_has_the_type_of_its_name_or_content(typed, name):
    content, kind = TYPES[name]
    for _ in range(2):  # from the disk and from the cache
        answer = typed.get(f"/{name}")
        assert (answer.content, answer.get("content-type")) == (content, kind)
        assert answer.get("x-content-type-options") == ("nosniff" if kind == PLAIN else None)
        assert answer.get("content-security-policy") == ("sandbox" if "+xml" in kind else None)
    if content:
        part = typed.get(f"/{name}", "Range: bytes=0-1")
        assert part.status == 206 and part.get("content-type") == kind
        assert part.get("x-content-type-options") == ("nosniff" if kind == PLAIN else None)


def test_a_type_follows_the_content(serve, tmp_path):
    site = serve(tmp_path)
    for content, kind in ((b"text", PLAIN), (b"\x00", "application/octet-stream"), (b"text again", PLAIN)):
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").rename(tmp_path / "file")
        assert site.get("/file").get("content-type") == kind


# ---- Links ----


@pytest.fixture
def linked(tmp_path):
    root = tmp_path / "site"
    (root / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("outside")
    (root / "file").write_text("inside")
    (root / "below" / "deep").write_text("deep")
    for name, target in {
        "relative": "file", "absolute": root / "file", "folder": root / "below", "back": "../site/file", "out": "../secret",
        "away": tmp_path / "secret", "elsewhere": tmp_path / "other", "top": "/", "dangling": root / "nothing",
    }.items():
        (root / name).symlink_to(target)
    return root


INSIDE = {"/relative": b"inside", "/absolute": b"inside", "/folder/deep": b"deep", "/back": b"inside"}
OUTSIDE = {"/out": b"outside", "/away": b"outside", "/elsewhere/file": b"outside"}


@pytest.mark.parametrize("words, followed", [
    ((), INSIDE), (("--links", "inside"), INSIDE), (("--links", "none"), {}), (("--links=all",), {**INSIDE, **OUTSIDE}),
], ids=str)
def test_links_are_followed_as_asked(serve, linked, words, followed):
    site = serve(linked, *words)
    for path in {**INSIDE, **OUTSIDE}:
        for _ in range(2):
            answer = site.get(path)
            assert (answer.status, answer.content) == (200, followed[path]) if path in followed else answer.status in (403, 404)
    assert site.get("/dangling").status == 404
    assert site.get("/file").content == b"inside"
    assert site.get("/below/deep").content == b"deep"


def test_nothing_is_learned_through_a_link_that_leads_out(serve, linked):
    """Not what there is, nor where the folder is."""
    site = serve(linked)
    for path in ("/top", "/top/", "/top/etc/passwd", "/top/etc/nothing", f"/top{linked}/file", "/elsewhere/file", "/elsewhere/none"):
        assert site.get(path).status == 403


def test_what_a_link_leads_to_may_change(serve, linked):
    site = serve(linked)
    assert site.get("/absolute").content == b"inside"
    (linked / "new").symlink_to(linked.parent / "secret")
    (linked / "new").rename(linked / "absolute")
    assert site.get("/absolute").status == 403
    (linked / "new").symlink_to(linked / "below" / "deep")
    (linked / "new").rename(linked / "absolute")
    assert site.get("/absolute").content == b"deep"


def test_listings_show_where_links_lead(serve, linked):
    page = serve(linked).get("/").content
    assert b'href="./absolute"' in page and b'href="./folder/"' in page
    assert b'href="./away"' not in page and b'href="./dangling"' not in page
