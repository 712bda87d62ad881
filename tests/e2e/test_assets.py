# SPDX-License-Identifier: MIT
"""skua embed, and files that are part of a program: they are served as the same folder is from a disk."""

import os
import subprocess
import time

import pytest
from compiling import needed_libraries
from ports import free_port
from server import BUILD, ROOT, Server, eventually, program

pytestmark = pytest.mark.in_the_clear("the program that is compiled here speaks no TLS")
SKUA = BUILD / "skua"
PAST, FUTURE = 1_700_000_000, 4_000_000_000
LARGE, TEXT = os.urandom(70_000), b"some text, and some more of it\n" * 400
FILES = {
    "index.html": b"<p>index</p>", "404.html": b"<p>not here</p>", "app.js": TEXT, "style.css": b"p{}", "empty.txt": b"", "future.js": b"1",
    "large.bin": LARGE, "huge.bin": bytes(range(256)) * 4000, "sub/index.html": b"sub", "sub/a b%c.txt": b"odd", "sub.txt": b"before sub/", "sub-x": b"x",
    ".well-known/security.txt": b"yes", "picture.svg": b"<svg/>" * 200, "t\u00fcr.txt": "\u00fc".encode(), 'quo"te\\?.txt': b"q",
}
PROGRAM = """
#include "assets.h"
// As a header of before 0.2 was released has it.
typedef struct older {
    const char *path, *type, *etag;
    skua_slice content, br, zstd, gzip;
} older;
static const older old_list[] = { { "a.txt", NULL, NULL, { "a", 1 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } },
                                  { "b.txt", NULL, NULL, { "b", 1 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } } };
int main(int argc, char **argv)
{
    skua_server *server = skua_server_new(&(skua_config){ .listen = argv[1], .workers = 1 });
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "site.test" });
    const skua_assets old = { (const skua_asset *)(const void *)old_list, 2, sizeof(older) };
    if (argc < 1 || !server || skua_route_assets(server, "/old/", &old, NULL) || skua_route_assets(server, "/", &assets, NULL) || skua_route_assets(server, "/deep/", &assets, NULL) ||
        !site || skua_site_assets(site, "GET /", &assets, &(skua_assets_config){ .fallback = "sub/index.html",
                                                                                 .cache_control = "max-age=9",
                                                                                 .not_found = "" }) ||
        skua_stop_on_signals(server, 0) || skua_site_put(site))
        return 1;
    int status = skua_run(server) ? 1 : 0;
    skua_server_free(server);
    return status;
}
"""


def embed(*words, epoch=None):
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if epoch is not None:
        env["SOURCE_DATE_EPOCH"] = epoch
    done = subprocess.run([SKUA, "embed", *words], capture_output=True, timeout=100, check=False, env=env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assets")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / ".hidden").write_text("no")
    (folder / "sub" / ".env").write_text("no")
    for name in FILES:
        os.utime(folder / name, (PAST, PAST))
    os.utime(folder / "sub-x", (0, 0))
    os.utime(folder / "future.js", (FUTURE, FUTURE))
    (folder / "link.txt").symlink_to("style.css")
    (folder / "out").symlink_to("/etc/hostname")
    return folder


@pytest.fixture(scope="module")
def embedded(folder, tmp_path_factory):
    made = tmp_path_factory.mktemp("program")
    code, header, said = embed(folder)
    assert (code, said) == (0, "")
    (made / "assets.h").write_text(header)
    (made / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined", "-I", ROOT / "include",
                    made / "main.c", BUILD / "libskua.a", *needed_libraries(BUILD), "-pthread", "-o", made / "program"], check=True, timeout=300)
    port = free_port()
    server = Server([made / "program", f"127.0.0.1:{port}"], ("127.0.0.1", port))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def from_disk(folder):
    server = program(folder)
    assert eventually(lambda: server.get("/large.bin").get("etag").startswith('"'))  # weak while the file is new
    yield server
    server.stop()


def told(response):
    """Fields, but for Date and those of the server, which is a program of its own, and the boundary of parts."""
    left_out = {"date", "vary"}
    return {n.lower(): v.partition("boundary=")[0] for n, v in response.fields if n.lower() not in left_out}


def parts_of(response):
    """The parts of a response, whose boundary nobody can know."""
    boundary = (response.get("content-type") or "").partition("boundary=")[2]
    return response.content.replace(boundary.encode(), b"-") if boundary else response.content


PATHS = ["/", "/index.html", "/style.css", "/empty.txt", "/large.bin", "/sub", "/sub/", "/sub?q=1", "/sub/a%20b%25c.txt", "/sub.txt",
         "/sub-x", "/.well-known/security.txt", "/.well-known", "/picture.svg", "/t%C3%BCr.txt", "/quo%22te%5C%3F.txt", "/.hidden",
         "/sub/.env", "/nothing", "/sub/nothing", "/link.txt", "/index.html/", "/sub%2Findex.html", "/su", "/app.js"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("lines", [[], ["Range: bytes=3-9"], ["Range: bytes=-4"], ["Range: bytes=200000-"], ["If-None-Match: *"],
                                   ['If-Match: "x"'], ["If-None-Match: {etag}"], ["If-Match: {etag}"], ["Range: bytes=0-1", "If-Range: {etag}"],
                                   ["Range: bytes=0-1", 'If-Range: "x"'], ["Range: bytes=0-1,3-"], ["Range: bytes=1-2,5-6,0-0"],
                                   ["Range: bytes=0-1,3-4", "If-Range: {date}"], ["If-Modified-Since: {date}"],
                                   ["If-Modified-Since: Tue, 14 Nov 2023 22:13:19 GMT"], ["If-Unmodified-Since: {date}"],
                                   ["If-Unmodified-Since: Tue, 14 Nov 2023 22:13:19 GMT"], ["Range: bytes=0-1", "If-Range: {date}"],
                                   ["Range: bytes=0-1", "If-Range: Tue, 14 Nov 2023 22:13:19 GMT"]])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_assets_are_served_as_files_are(embedded, from_disk, path, lines, method):
    def ask(server):
        whole = server.get(path) if any("{" in line for line in lines) else None
        return server.get(path, *(line.format(etag=whole and whole.get("etag"), date=whole and whole.get("last-modified")) for line in lines),
                          method=method)

    found, expected = ask(embedded), ask(from_disk)
    fields, others = told(found), told(expected)
    if "etag" in fields and path == "/large.bin":  # that of a file is made of its time on the disk
        assert others.pop("etag") != fields.pop("etag")
    assert (found.status, parts_of(found), fields) == (expected.status, parts_of(expected), others)


@pytest.mark.parametrize("takes", ["identity;q=0", "*;q=0", "gzip;q=0, br;q=0, identity;q=0"])
@pytest.mark.parametrize("path", ["/app.js", "/large.bin", "/sub/"])
def test_who_refuses_an_asset_as_it_is(embedded, takes, path):
    for method in ("GET", "HEAD"):
        for lines in ([], ["If-None-Match: *"], ["Range: bytes=0-1"]):
            refused = embedded.get(path, f"Accept-Encoding: {takes}", *lines, method=method)
            assert (refused.status, "Accept-Encoding" in refused.all("vary")) == (406, path == "/app.js")
    assert embedded.get("/nothing", f"Accept-Encoding: {takes}").status == 404


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip"])
def test_what_was_compressed_when_it_was_built(embedded, coding):
    whole = embedded.get("/app.js")
    assert (whole.content, whole.get("vary"), whole.get("content-encoding")) == (TEXT, "Accept-Encoding", None)
    coded = embedded.get("/app.js", f"Accept-Encoding: {coding}")
    if coded.get("content-encoding") is None:
        pytest.skip(f"{coding} is not built in")
    assert coded.get("content-encoding") == coding and len(coded.content) < len(TEXT) / 10
    assert coded.get("etag") == whole.get("etag")[:-1] + f'-{coding}"'
    part = embedded.get("/app.js", f"Accept-Encoding: {coding}", "Range: bytes=2-5")
    assert (part.status, part.content, part.get("content-encoding")) == (206, coded.content[2:6], coding)
    again = embedded.get("/app.js", f"Accept-Encoding: {coding}", f"If-None-Match: {coded.get('etag')}")
    assert (again.status, again.get("vary")) == (304, "Accept-Encoding")
    assert embedded.get("/app.js", f"Accept-Encoding: {coding};q=0").content == TEXT
    assert embedded.get("/large.bin", f"Accept-Encoding: {coding}").get("vary") is None


def test_links_that_lead_out_are_left_out(embedded, from_disk):
    assert (embedded.get("/out").status, from_disk.get("/out").status) == (404, 403)


def test_more_parts_than_are_queued_at_once(embedded):
    """A client that reads slowly, and one that leaves; out_octets_max is 256 KiB."""
    ranges = ",".join(f"{i}-{i + 39_999}" for i in range(12))
    assert embedded.get("/huge.bin", f"Range: bytes={ranges}").status == 206
    whole = embedded.get("/huge.bin").content
    with embedded.connect() as connection:
        connection.send(b"GET /huge.bin HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-399999,500000-899999\r\nConnection: close\r\n\r\n")
        time.sleep(0.05)
        came = connection.response().content
    assert came.count(b"Content-Range") == 2 and whole[:400_000] in came and whole[500_000:900_000] in came
    with embedded.connect() as connection:
        connection.send(b"GET /huge.bin HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-399999,500000-899999\r\n\r\n")
        connection.reset()
    assert embedded.get("/huge.bin", "Range: bytes=" + ",".join(["0-0"] * 17)).status == 200  # too many


def test_times_of_assets(folder, embedded):
    """Each file's own, or that of the build; times of 1970 and files without any say nothing, and none is later than Date."""
    future = embedded.get("/future.js")
    assert future.get("last-modified") == future.get("date")
    rows = lambda header: {row.split('"')[1]: row.rsplit(", ", 1)[1] for row in header.splitlines() if row.startswith("#define assets_")}
    own = rows(embed(folder)[1])
    assert (own["app.js"], own["sub-x"], own["future.js"]) == (f"{PAST} }}", "0 }", f"{FUTURE} }}")
    built = rows(embed(folder, epoch="1234567")[1])
    assert set(built.values()) == {"1234567 }"}
    assert set(rows(embed(folder, epoch="1")[1]).values()) == {"0 }"}
    assert embed(folder, epoch="") == embed(folder)
    for wrong in ("now", "-1", "1 ", "1234567890123"):
        assert embed(folder, epoch=wrong)[::2] == (1, f"skua: SOURCE_DATE_EPOCH is not a number of seconds: {wrong}\n")


def test_assets_of_an_older_header(embedded):
    """They have no time, and none is read from what lies behind them."""
    for name in "ab":
        found = embedded.get(f"/old/{name}.txt")
        assert (found.status, found.content, found.get("last-modified")) == (200, name.encode(), None)


def test_assets_at_a_prefix_and_of_a_site(embedded):
    assert embedded.get("/deep/sub/").content == b"sub"
    assert embedded.get("/deep").get("location") == "/deep/"
    found = embedded.get("/any/where", host="site.test")
    assert (found.status, found.content, found.get("cache-control")) == (200, b"sub", "max-age=9")
    missing = embedded.get("/any/where.js", host="site.test")
    assert missing.status == 404 and b"not here" not in missing.content  # "" is none
    assert embedded.get("/style.css", method="POST").status == 405


# ---- The command ----


def test_the_same_folder_makes_the_same_header(folder, tmp_path):
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", "--no-preserve=all", folder, copy], check=True, timeout=30)
    time.sleep(0.01)
    assert embed(folder)[1] != embed(copy)[1]  # times are other ones
    assert embed(folder, epoch="1700000000")[1] == embed(copy, epoch="1700000000")[1]


def test_names_and_what_cannot_be_embedded(tmp_path):
    code, header, _ = embed(tmp_path, "my_files")
    assert code == 0 and "static const skua_assets my_files = { my_files_list, 0, sizeof(skua_asset) };" in header
    assert embed(tmp_path, "my-files")[::2] == (1, "skua: my-files is not a name in C\n")
    code, header, said = embed(tmp_path / "none")
    assert (code, header) == (1, "") and said.startswith(f"skua: {tmp_path}/none cannot be embedded: ")
    assert embed()[0] == 2
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "again").symlink_to("../sub")
    code, _, said = embed(tmp_path)
    assert code == 1 and "sub/again cannot be embedded: a link makes it a part of itself" in said
    (tmp_path / "sub" / "again").unlink()
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", (64 << 20) + 1)
    code, _, said = embed(tmp_path)
    assert code == 1 and "large cannot be embedded: it is too long" in said


def test_the_example(from_disk):
    """CMake's skua_assets has embedded examples/site."""
    port = free_port()
    server = Server([BUILD / "example_embedded_c", f"127.0.0.1:{port}"], ("127.0.0.1", port))
    try:
        for name in ("index.html", "style.css"):
            assert server.get(f"/{name}").content == (ROOT / "examples/site" / name).read_bytes()
        assert server.get("/").content == (ROOT / "examples/site/index.html").read_bytes()
    finally:
        server.process.kill()
        server.wait()
        server.judged = True
