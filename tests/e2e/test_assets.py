# SPDX-License-Identifier: MIT
"""skua embed, and files that are part of a program: they are served as the same folder is from a disk."""

import os
import subprocess
import time

import pytest
from compiling import needed_libraries
from server import BUILD, ROOT, Server, eventually, free_port, program

pytestmark = pytest.mark.in_the_clear("the program that is compiled here speaks no TLS")
SKUA = BUILD / "skua"
LARGE, TEXT = os.urandom(70_000), b"some text, and some more of it\n" * 400
FILES = {
    "index.html": b"<p>index</p>", "404.html": b"<p>not here</p>", "app.js": TEXT, "style.css": b"p{}", "empty.txt": b"",
    "large.bin": LARGE, "sub/index.html": b"sub", "sub/a b%c.txt": b"odd", "sub.txt": b"before sub/", "sub-x": b"x",
    ".well-known/security.txt": b"yes", "picture.svg": b"<svg/>" * 200, "t\u00fcr.txt": "\u00fc".encode(), 'quo"te\\?.txt': b"q",
}
PROGRAM = """
#include "assets.h"
int main(int argc, char **argv)
{
    skua_server *server = skua_server_new(&(skua_config){ .listen = argv[1], .workers = 1 });
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "site.test" });
    if (argc < 1 || !server || skua_route_assets(server, "/", &assets, NULL) || skua_route_assets(server, "/deep/", &assets, NULL) ||
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


def embed(*words):
    done = subprocess.run([SKUA, "embed", *words], capture_output=True, timeout=100, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assets")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / ".hidden").write_text("no")
    (folder / "sub" / ".env").write_text("no")
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
    """Fields, but for those that tell of the disk: tags of files larger than 32 KiB are made of their time there."""
    left_out = {"date", "last-modified", "etag", "vary", "content-security-policy"}
    return {n.lower(): v for n, v in response.fields if n.lower() not in left_out}


PATHS = ["/", "/index.html", "/style.css", "/empty.txt", "/large.bin", "/sub", "/sub/", "/sub?q=1", "/sub/a%20b%25c.txt", "/sub.txt",
         "/sub-x", "/.well-known/security.txt", "/.well-known", "/picture.svg", "/t%C3%BCr.txt", "/quo%22te%5C%3F.txt", "/.hidden",
         "/sub/.env", "/nothing", "/sub/nothing", "/link.txt", "/index.html/", "/sub%2Findex.html", "/su", "/app.js"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("lines", [[], ["Range: bytes=3-9"], ["Range: bytes=-4"], ["Range: bytes=200000-"], ["If-None-Match: *"],
                                   ['If-Match: "x"'], ["If-None-Match: {etag}"], ["If-Match: {etag}"], ["Range: bytes=0-1", "If-Range: {etag}"],
                                   ["Range: bytes=0-1", 'If-Range: "x"']])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_assets_are_served_as_files_are(embedded, from_disk, path, lines, method):
    ask = lambda server: server.get(path, *(line.format(etag=server.get(path).get("etag")) for line in lines), method=method)
    found, expected = ask(embedded), ask(from_disk)
    assert (found.status, found.content, told(found)) == (expected.status, expected.content, told(expected))
    for field in ("etag", "content-security-policy"):
        assert (found.get(field) is None) == (expected.get(field) is None), field


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


def test_several_ranges_are_answered_whole(embedded):
    found = embedded.get("/large.bin", "Range: bytes=0-1,5-6")
    assert (found.status, found.content) == (200, LARGE)


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
    assert embed(folder)[1] == embed(copy)[1]


def test_names_and_what_cannot_be_embedded(tmp_path):
    code, header, _ = embed(tmp_path, "my_files")
    assert code == 0 and "static const skua_assets my_files = { my_files_list, 0, sizeof(skua_asset) };" in header
    assert embed(tmp_path, "my-files")[::2] == (1, "skua: my-files is no name in C\n")
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
