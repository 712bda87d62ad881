# SPDX-License-Identifier: MIT
"""PUT and DELETE into a folder: whole or not at all, within bounds, by who may, and nowhere else."""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import resource
import shutil
import subprocess
import threading
import time
from email.utils import formatdate

import browser
import pytest
from conf import SKUA, basic, check_finds, crash, get, of, process_of, start, write_folder
from seccomp import OPENAT, forbid
from server import eventually
from wire import posted, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

# anna: secret
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"
TEXT = """
listen 127.0.0.1:PORT
workers 2
site * {
    root pub
    listing on
    path /open/ {
        upload 100KiB overwrite delete anyone
    }
    path /once/ {
        upload 20MiB anyone
    }
    path /open/shut/ {
        upload off
    }
    path = /open/fixed.html {
        upload off
    }
    path /open/other/ {
        root other
    }
    path /staff/ {
        basic_auth Staff staff.users
        upload 1KiB
    }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("uploads"))
    for name in ("open", "open/below", "open/shut", "once", "staff"):
        (folder / "pub" / name).mkdir()
    (folder / "pub" / "open" / "away").symlink_to("../once")
    (folder / "pub" / "open" / "file-away").symlink_to("../text.txt")
    (folder / "staff.users").write_text(ANNA)
    return folder


@pytest.fixture(scope="module")
def served(folder):
    server = start(folder, TEXT)
    yield server
    server.stop()


def put(server, path, content=b"", *lines):
    with server.connect() as connection:
        return connection.offer(posted(path, content, *lines, method="PUT"), "PUT")


def delete(server, path, *lines):
    with server.connect() as connection:
        return connection.get(path, *lines, method="DELETE")


def hidden(folder):
    return [name for _, _, names in os.walk(folder / "pub") for name in names if name.startswith(".skua")]


def unnamed(server):
    """Files without a name that the server process has open."""
    descriptors = pathlib.Path(f"/proc/{process_of(server)}/fd")
    found = []
    for one in descriptors.iterdir():
        with contextlib.suppress(OSError):
            found += [one] * (re.search(r"/pub/.*#\d+( \(deleted\))?$", os.readlink(one)) is not None)
    return found


@contextlib.contextmanager
def descriptors_left(pid, count):
    """The process can open so many more: its limit is the number behind those that it would get next."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    free = [number for number in range(len(taken) + count + 1) if number not in taken]
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free[count], hard))
    yield
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors(served, folder):
    """Wherever they run out, from the first one on that an upload takes, it is 503, and nothing is left of it. Others go on, and
    so does the connection, by which the next upload comes."""
    pid, file, statuses = process_of(served), folder / "pub/open/below/scarce.txt", []
    with served.connect() as connection:
        assert connection.get("/text.txt").status == 200
        resting = len(os.listdir(f"/proc/{pid}/fd"))
        for left in range(8):
            assert eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= resting)
            with descriptors_left(pid, left):
                connection.send(posted("/open/below/scarce.txt", b"x" * 1000, method="PUT"))
                response = connection.response("PUT")
                statuses.append(response.status)
                assert connection.get("/text.txt").content == b"text " * 1000
            assert file.exists() == (response.status == 201)
            assert response.status == 201 or response.get("retry-after") == "5"
            assert hidden(folder) == [] and eventually(lambda: unnamed(served) == [])
            file.unlink(missing_ok=True)
        file.write_text("stays")
        with descriptors_left(pid, 0):
            assert connection.get("/open/below/scarce.txt", method="DELETE").status == 503
        assert file.read_text() == "stays"
        assert connection.get("/open/below/scarce.txt", method="DELETE").status == 204
    refused = statuses.count(503)
    assert statuses == refused * [503] + (8 - refused) * [201] and 3 <= refused < 8
    assert put(served, "/open/below/scarce.txt", b"after").status == 201


@of("upload")
def test_a_file_comes_changes_and_goes(served, folder):
    """Each is seen at once by who reads the folder, from the cache, too."""
    for content, status in ((b"first", 201), (b"second " * 10_000, 204), (b"", 204)):
        assert put(served, "/open/below/a%20b.txt", content).status == status
        for _ in range(3):
            assert served.get("/open/below/a%20b.txt").content == content
        assert (folder / "pub/open/below/a b.txt").read_bytes() == content
    assert delete(served, "/open/below/a%20b.txt").status == 204
    assert served.get("/open/below/a%20b.txt").status == 404
    assert delete(served, "/open/below/a%20b.txt").status == 404
    assert hidden(folder) == []


@pytest.mark.parametrize("path, status", [
    ("/open/.hidden", 403), ("/open/.d/a", 403), ("/open/a/.b", 403), ("/open/", 403), ("/open/a/", 403), ("/open/none/a", 409),
    ("/open/below", 409), ("/open/a%2Fb", 403), ("/open/a%5Cb", 403), ("/open/a%0Ab", 403), ("/open/../text.txt", 405),
    ("/open/away/a", 409), ("/open/file-away", 403), ("/open/" + 256 * "x", 414), ("/open/shut/a", 403), ("/open/fixed.html", 403), ("/open/fixed.html.br", 403), ("/open/other/a.txt", 403),
    ("/a.txt", 405), ("/once2/a", 405),
])
def test_where_nothing_may_be_put(served, folder, path, status):
    assert put(served, path, b"no").status == status
    assert (folder / "other/a.txt").read_text() == "other" and (folder / "pub/text.txt").read_text() == "text " * 1000
    assert os.listdir(folder / "pub/once") == [] or path != "/open/away/a"


def test_what_is_coded_is_not_kept_as_if_it_were_not(served, folder):
    """A GET would give the octets of gzip, and nobody would know."""
    response = put(served, "/open/coded", b"\x1f\x8b", "Content-Encoding: gzip")
    assert response.status == 415 and response.get("accept-encoding") == "identity"
    assert not (folder / "pub/open/coded").exists()
    assert put(served, "/open/coded", b"plain", "Content-Encoding: identity").status == 201
    assert delete(served, "/open/coded", "Content-Encoding: gzip").status == 204


def test_what_is_there_stays(served):
    assert put(served, "/once/a", b"one").status == 201
    assert put(served, "/once/a", b"two").status == 409
    assert put(served, "/once/a", b"two", "If-None-Match: *").status == 412
    assert served.get("/once/a").content == b"one"
    response = delete(served, "/once/a")
    assert response.status == 405 and "PUT" in response.get("allow") and "DELETE" not in response.get("allow")


def test_what_is_there_stays_in_each_coding(served, folder):
    """A file beside it, which clients get in its place, replaces it as far as they can see."""
    assert put(served, "/once/page.html", b"one").status == 201
    for ending in ("br", "zst", "gz"):
        assert put(served, f"/once/page.html.{ending}", b"two").status == 409
    assert served.get("/once/page.html", "Accept-Encoding: br, gzip, zstd").content == b"one"
    assert put(served, "/once/alone.tar.gz", b"three").status == 201
    for n in range(8):  # also within one tick of the clock of the file system
        assert put(served, f"/once/late{n}.html.gz", b"early").status == 201
        assert put(served, f"/once/late{n}.html", b"late").status == 201
        assert served.get(f"/once/late{n}.html", "Accept-Encoding: gzip").content == b"late"
    with served.connect() as connection:
        connection.send(request("/once/slow.html.gz", "Content-Length: 4", method="PUT") + b"sl")
        assert eventually(lambda: unnamed(served))
        assert put(served, "/once/slow.html", b"fast").status == 201
        connection.send(b"ow")
        assert connection.response("PUT").status == 409
    assert served.get("/once/slow.html", "Accept-Encoding: gzip").content == b"fast"
    assert put(served, "/open/page.html", b"one").status == put(served, "/open/page.html.gz", b"two").status == 201
    assert served.get("/open/page.html", "Accept-Encoding: gzip").content == b"two"
    assert delete(served, "/open/page.html.gz").status == delete(served, "/open/page.html").status == 204


@pytest.mark.parametrize("size", [10, 50_000])
def test_conditions(served, size):
    """Tags are those that a GET has given, of small files and of large ones."""
    path = f"/open/tagged-{size}"
    assert put(served, path, size * b"a", "If-Match: *").status == 412
    assert put(served, path, size * b"a", "If-None-Match: *").status == 201
    assert put(served, path, size * b"b", "If-None-Match: *").status == 412
    # a tag that is weak yet matches nothing
    tag = eventually(lambda: (t := served.get(path).get("etag")) and not t.startswith("W/") and t)
    assert put(served, path, size * b"b", 'If-Match: "other"').status == 412
    assert put(served, path, size * b"b", f"If-Match: {tag}").status == 204
    assert put(served, path, size * b"c", f"If-Match: {tag}").status == 412
    assert delete(served, path, f"If-Match: {tag}").status == 412
    assert served.get(path).content == size * b"b"
    assert delete(served, path, "If-Match: *").status == 204


TAGGED = "listen 127.0.0.1:PORT\nworkers 2\n" + "".join(f"""
site {etag}.test {{
    root pub
    etag {etag}
    path /tagged/ {{
        upload 20MiB overwrite delete anyone
    }}
}}
""" for etag in ("auto", "content", "stat", "off"))


@pytest.fixture(scope="module")
def tagged(folder):
    for etag in ("auto", "content", "stat", "off"):
        for size in TAGGED_SIZES:
            (folder / "pub" / "tagged").mkdir(exist_ok=True)
            (folder / "pub" / "tagged" / f"{etag}-{size}").write_bytes(os.urandom(size))
    time.sleep(2.1)  # tags are strong then
    server = start(folder, TAGGED, "tagged.conf")
    yield server
    server.stop()


TAGGED_SIZES = [0, 10, 32768, 32769, 1 << 20, 3_000_001]


@of("etag")
@pytest.mark.parametrize("size", TAGGED_SIZES)
@pytest.mark.parametrize("etag", ["auto", "content", "stat", "off"])
def test_conditions_by_each_kind_of_tag(tagged, folder, etag, size):
    """Whatever way a GET's tag is made, it is the one that a change is judged by; a changed file has another one."""
    host, path, file = f"{etag}.test", f"/tagged/{etag}-{size}", folder / "pub" / "tagged" / f"{etag}-{size}"

    def ask(method, *lines, content=b""):
        with tagged.connect() as connection:
            connection.send(posted(path, content, *lines, method=method, host=host))
            return connection.response(method).status

    tag, before = get(tagged, host, path).get("etag"), file.read_bytes()
    assert (tag is None) == (etag == "off") and not (tag or "").startswith("W/")
    assert [ask(method, 'If-Match: "other"') for method in ("PUT", "DELETE")] == [412, 412]
    if tag:
        assert [ask(method, f"If-None-Match: {tag}") for method in ("PUT", "DELETE")] == [412, 412]
        assert file.read_bytes() == before
        assert ask("PUT", f'If-Match: "other", {tag}', content=before + b"more") == 204
        assert [ask(method, f"If-Match: {tag}") for method in ("PUT", "DELETE")] == [412, 412]
        assert file.read_bytes() == before + b"more"
    assert ask("DELETE", "If-Match: *") == 204 and not file.exists()
    assert ask("DELETE", "If-Match: *") == 412


def test_a_file_that_cannot_be_read_matches_no_tag(tagged, folder):
    """Nor one that another process has made shorter or longer since it was asked for."""
    file = folder / "pub" / "tagged" / "other"
    file.write_bytes(50_000 * b"a")
    tag = eventually(lambda: (t := get(tagged, "content.test", "/tagged/other").get("etag")) and not t.startswith("W/") and t)
    for content in (49_999 * b"a", 50_001 * b"a", 50_000 * b"b"):
        file.write_bytes(content)
        with tagged.connect() as connection:
            connection.send(posted("/tagged/other", b"new", f"If-Match: {tag}", method="PUT", host="content.test"))
            assert connection.response("PUT").status == 412
        assert file.read_bytes() == content


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("fails", [False, True])
def test_a_name_is_on_the_disk_before_it_is_confirmed(folder, launch, tmp_path, fails):
    """The content, then the name, then its folder; a folder that cannot be written is no success."""
    traced, trace = tmp_path / "traced", tmp_path / "trace"
    fault = "-e inject=fsync:error=EIO:when=2+2" if fails else ""  # that of the folder, which follows that of the file
    traced.write_text(f'#!/bin/sh\nexec strace -D -f -qq -y -o {trace} -e trace=fsync,linkat,renameat,renameat2,unlinkat {fault} {SKUA} "$@"\n')
    traced.chmod(0o755)
    server = launch(start, folder, TEXT, "traced.conf", program=traced, env={"ASAN_OPTIONS": "detect_leaks=0"})
    name = f"named-{fails}"
    came = [put(server, f"/open/{name}", b"one").status, put(server, f"/open/{name}", b"two").status]
    went = [delete(server, f"/open/{name}").status]
    assert came + went == ([500, 500, 204] if fails else [201, 204, 204])
    calls = [re.sub(r"^\d+ +(\w+)\(.*", r"\1", line) for line in trace.read_text().splitlines() if "/pub/open" in line]
    assert calls == ["fsync", "linkat", "fsync", "fsync", "linkat", "renameat", "fsync", "unlinkat", "fsync"]
    assert sum("/pub/open>" in line and "fsync" in line for line in trace.read_text().splitlines()) == 3


def test_unmodified_since(served, folder):
    """Where If-Match does not stand beside it, and where it names a date in one of three forms."""
    file = folder / "pub/open/dated"
    file.write_text("here")
    os.utime(file, (1234567890.5, 1234567890.5))  # Fri, 13 Feb 2009 23:31:30
    line = "If-Unmodified-Since: "
    for date, status in (("Fri, 13 Feb 2009 23:31:29 GMT", 412), ("Friday, 13-Feb-09 23:31:29 GMT", 412), ("Fri Feb 13 23:31:29 2009", 412),
                         ("Fri, 13 Feb 2009 23:31:30 GMT", 204), ("yesterday", 204), ("Fri, 13 Feb 2009 23:31:29", 204), (70 * "x", 204)):
        os.utime(file, (1234567890.5, 1234567890.5))
        assert put(served, "/open/dated", b"new", line + date).status == status, date
        assert file.read_bytes() == (b"here" if status == 412 else b"new")
        file.write_text("here")
    os.utime(file, (1234567890.5, 1234567890.5))
    old = line + formatdate(1000000000, usegmt=True)
    assert put(served, "/open/dated", b"new", old, "If-Match: *").status == 204
    assert put(served, "/open/dated", b"new", line + formatdate(time.time() + 5, usegmt=True), "If-None-Match: *").status == 412
    assert delete(served, "/open/dated", old).status == 412
    assert delete(served, "/open/dated", line + formatdate(time.time() + 5, usegmt=True)).status == 204
    assert put(served, "/open/dated", b"new", old).status == 201  # what is not there has no date


def half(server, path):
    connection = server.connect()
    connection.send(request(path, "Content-Length: 20000000", method="PUT", content=100_000 * b"x"))
    return connection


def is_put_after_all(server, path):
    """A process that is replaced may have taken the connection: then it is made again."""
    def ask():
        try:
            return put(server, path, b"x").status in (201, 204)
        except (ConnectionResetError, EOFError):
            return False
    return eventually(ask)


def test_who_is_killed_leaves_nothing(folder, launch):
    server = launch(start, folder, TEXT, "killed.conf")
    connection = half(server, "/once/killed")
    assert eventually(lambda: len(unnamed(server)) == 1)
    crash(server)
    connection.close()
    assert is_put_after_all(server, "/open/after")
    assert hidden(folder) == [] and not (folder / "pub/once/killed").exists()


O_TMPFILE = 0o20000000  # without O_DIRECTORY


def test_a_file_system_that_has_names_alone(folder, launch):
    """Hidden files are there then; what a killed process has left goes, and nothing else does."""
    server = launch(start, folder, TEXT, "named.conf", preexec=forbid(OPENAT, errno.EOPNOTSUPP, flags=(2, O_TMPFILE)))
    for content, status in ((b"first", 201), (b"second", 204)):
        assert put(server, "/open/named", content).status == status
    assert put(server, "/once/named", b"one").status == 201 and put(server, "/once/named", b"two").status == 409
    assert (folder / "pub/open/named").read_bytes() == b"second"
    connections = [half(server, "/once/half-a"), half(server, "/once/half-b")]
    assert eventually(lambda: len(hidden(folder)) == 2) and unnamed(server) == []
    connections.pop().close()
    assert eventually(lambda: len(hidden(folder)) == 1)
    crash(server)
    connections.pop().close()
    once = folder / "pub/once"
    left = once / hidden(folder)[0]
    long_ago = time.time() - 61
    others = [once / name for name in (".skua-upload-1-2x", ".skua-upload-1", ".skua-upload-1-", "skua-upload-1-2", ".skua-upload-1-2.txt")]
    young, locked = once / ".skua-upload-77-1", once / ".skua-upload-77-2"
    for file in (*others, young, locked):
        file.touch()
    with open(locked) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for file in (*others, left, locked):
            os.utime(file, (long_ago, long_ago))
        assert is_put_after_all(server, "/once/after")
        assert not left.exists() and all(file.exists() for file in (*others, young, locked))
    for file in (*others, young, locked):
        file.unlink()


def test_a_play_changes_nothing(folder):
    """skua explain tells what a PUT or a DELETE would get, and the file stays."""
    (folder / "f.conf").write_text("listen :0\n" + TEXT.split("\n", 2)[2].replace("workers 2\n", ""))
    file = folder / "pub/open/played"
    file.write_text("stays")

    def explained(method, path):
        run = subprocess.run([SKUA, "explain", method, "http://a" + path, "-c", "f.conf"], cwd=folder, capture_output=True, text=True, timeout=20)
        assert run.returncode == 0
        return [" ".join(line.split()) for line in run.stdout.splitlines()]

    assert "response HTTP/1.1 204 No Content" in explained("PUT", "/open/played")
    told = explained("PUT", "/open/new")
    assert "response HTTP/1.1 201 Created" in told
    assert any(line.startswith("upload into pub/open/, 102400 octets at most, and what is there is replaced f.conf:") for line in told), told
    told = explained("DELETE", "/open/played")
    assert "response HTTP/1.1 204 No Content" in told and any(line.startswith("upload in pub/open/ what is there is removed") for line in told)
    assert "response HTTP/1.1 404 Not Found" in explained("DELETE", "/open/new")
    assert "response HTTP/1.1 403 Forbidden" in explained("PUT", "/open/shut/a")
    assert "response HTTP/1.1 401 Unauthorized" in explained("PUT", "/staff/a")
    assert file.read_text() == "stays" and not (folder / "pub/open/new").exists()


def test_a_token_is_a_lock(folder):
    """Where passwords are off for a path that a token is for; not where the token is off, too."""
    token = subprocess.run([SKUA, "token", "tokens", "ci"], cwd=folder, capture_output=True, text=True, timeout=20)
    assert token.returncode == 0, token.stderr
    site = "listen :0\nsite a {\n root pub\n basic_auth S staff.users\n path /open/ {\n  basic_auth off\n  bearer_auth A tokens\n  upload 1MiB\n }\n"
    for inner, code in (("", 0), (" path /open/below/ {\n  bearer_auth off\n }\n", 1)):
        (folder / "f.conf").write_text(site + inner + "}\n")
        run = subprocess.run([SKUA, "check", "-c", "f.conf"], cwd=folder, capture_output=True, text=True, timeout=20)
        assert run.returncode == code, run.stdout + run.stderr
        assert code == 0 or "everyone could write to /open/below/" in run.stdout + run.stderr


def test_a_part_is_no_file(served):
    assert put(served, "/open/part", b"abc", "Content-Range: bytes 0-2/10").status == 400
    assert served.get("/open/part").status == 404


def test_bounds(served, folder):
    """Of 100 KiB: at the edge, past it by its stated length, and past it as it comes."""
    edge = 100 * 1024
    assert put(served, "/open/edge", edge * b"x").status == 201
    with served.connect() as connection:
        connection.send(request("/open/more", f"Content-Length: {edge + 1}", "Expect: 100-continue", method="PUT"))
        assert connection.response("PUT").status == 413
    with served.connect() as connection:
        connection.send(request("/open/more", "Transfer-Encoding: chunked", method="PUT"))
        connection.send(b"%x\r\n%s\r\n1\r\nx\r\n0\r\n\r\n" % (edge, edge * b"x"))
        assert connection.response("PUT").status == 413
    assert served.get("/open/more").status == 404
    assert eventually(lambda: hidden(folder) == [])


def test_who_leaves_or_dawdles_leaves_nothing(served, folder):
    """Half of a file is seen by nobody, and is gone when its client is; others are served meanwhile."""
    open_files = lambda: len(os.listdir(f"/proc/{process_of(served)}/fd"))
    before = open_files()
    clients = [served.connect() for _ in range(20)]
    for i, connection in enumerate(clients):
        connection.send(request(f"/once/half-{i}", "Content-Length: 20000000", method="PUT", content=100_000 * b"x"))
    assert eventually(lambda: len(unnamed(served)) == 20) and hidden(folder) == []
    assert served.get("/text.txt").status == 200 and served.get("/once/half-0").status == 404
    assert put(served, "/open/meanwhile", b"x").status == 201
    for connection in clients:
        connection.reset()
    assert eventually(lambda: unnamed(served) == [])
    assert not [name for name in os.listdir(folder / "pub/once") if name.startswith("half")]
    assert eventually(lambda: open_files() <= before + 5)


def test_as_many_at_a_time_as_there_may_be(served, folder):
    clients = [served.connect() for _ in range(64)]
    for i, connection in enumerate(clients):
        connection.send(request(f"/once/many-{i}", "Content-Length: 2", method="PUT", content=b"a"))
    assert eventually(lambda: len(unnamed(served)) == 64)
    assert put(served, "/open/one-more", b"x").status == 503
    clients[0].send(b"b")
    assert clients[0].response("PUT").status == 201
    assert eventually(lambda: put(served, "/open/one-more", b"x").status in (201, 204))
    for connection in clients:
        connection.close()
    assert eventually(lambda: unnamed(served) == []) and hidden(folder) == []


def test_of_two_one_is_first(served, folder):
    """Who comes second is told so, and nothing is mixed."""
    outcome = []
    content = [bytes([65 + i]) * 3_000_000 for i in range(6)]
    threads = [threading.Thread(target=lambda i=i: outcome.append((put(served, "/once/raced", content[i]).status, i))) for i in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    statuses = sorted(status for status, _ in outcome)
    assert statuses == [201] + 5 * [409]
    assert (folder / "pub/once/raced").read_bytes() == content[dict(outcome)[201]]


def test_who_may(served):
    assert put(served, "/staff/a", b"x").status == 401
    assert put(served, "/staff/a", b"x", basic("anna", "wrong")).status == 401
    assert put(served, "/staff/a", b"x", basic("anna", "secret")).status == 201
    assert get(served, "a", "/staff/a", basic("anna", "secret")).content == b"x"


@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
def test_the_button(served, folder, tmp_path):
    """It is shown where files are taken, sends what is chosen, and says why that failed."""
    (tmp_path / "from a b%.txt").write_text("chosen")
    with browser.page(tmp_path / "profile") as page:
        page.size(390, 800)
        ready = lambda: eventually(lambda: page.ask("document.readyState") == "complete", within=60)
        page.open(served.url + "/empty/")
        assert ready() and page.ask("document.getElementById('upload').offsetHeight") == 0
        page.open(served.url + "/once/")
        assert eventually(lambda: (page.ask("document.getElementById('upload')?.offsetHeight") or 0) > 0, within=60) and ready()
        assert page.ask("document.documentElement.scrollWidth") <= 390

        def choose():
            root = page.call("DOM.getDocument")["root"]["nodeId"]
            node = page.call("DOM.querySelector", nodeId=root, selector="#upload input")["nodeId"]
            page.call("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / "from a b%.txt")])

        choose()
        assert eventually(lambda: page.ask("[...document.querySelectorAll('bdi')].some(e => e.textContent == 'from a b%.txt')"), within=60)
        assert (folder / "pub/once/from a b%.txt").read_text() == "chosen" and page.complaints == []
        assert ready()
        choose()
        assert eventually(lambda: "409" in (page.ask("document.querySelector('output').textContent") or ""), within=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk(folder, launch):
    small = folder / "pub" / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        server = launch(start, folder, TEXT.replace("/once/", "/small/"), "small.conf")
        assert put(server, "/small/large", 2_000_000 * b"x").status == 507
        assert eventually(lambda: os.listdir(small) == [])
        assert put(server, "/small/little", b"x").status == 201
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_the_sandbox_allows_it_there_alone(folder, launch):
    """A reload that adds a folder takes another process; one that takes the right away stops it at once."""
    plain = "listen 127.0.0.1:PORT\nsite * {\n    root pub\n}\n"
    server = launch(start, folder, plain, "sandboxed.conf")
    assert put(server, "/open/a", b"x").status == 405
    file, before = folder / "sandboxed.conf", process_of(server)
    text = file.read_text()
    file.write_text(text.replace("root pub\n", "root pub\n    path /open/ {\n upload 1MiB overwrite anyone\n }\n"))
    subprocess.run([SKUA, "reload", "-c", file], check=True, timeout=60)
    assert eventually(lambda: put(server, "/open/a", b"x").status in (201, 204))
    assert process_of(server) != before
    file.write_text(text)
    subprocess.run([SKUA, "reload", "-c", file], check=True, timeout=60)
    assert eventually(lambda: put(server, "/open/a", b"x").status == 405)


@pytest.mark.parametrize("text, finding", [
    ("site a {\n root pub\n upload 1MiB\n}", "3:2: everyone could write to /; it needs basic_auth or bearer_auth, or the word anyone behind upload"),
    ("site a {\n root pub\n basic_auth S staff.users\n path /open/ {\n  basic_auth off\n  upload 1MiB\n }\n}", "6:3: everyone could write to /open/"),
    ("site a {\n root pub\n method PUT {\n  basic_auth S staff.users\n }\n upload 1MiB delete\n}", "6:2: everyone could write to /"),
    ("site a {\n root pub\n upload 1MiB anyone\n path /open/ {\n  upload 1MiB overwrite\n }\n}", "5:3: everyone could write to /open/"),
    ("site a {\n root pub\n path /none/ {\n  upload 1MiB anyone\n }\n}", "4:3: there is no folder "),
    ("site a {\n root pub\n path = /open {\n  upload 1MiB anyone\n }\n}", "4:3: upload is for a folder; leave out the \"=\" before /open"),
    ("site a {\n root pub\n upload 1MiB replace\n}", "3:14: upload: use overwrite, delete or anyone, not \"replace\""),
    ("site a {\n root pub\n upload all anyone\n}", "3:9: upload: "),
])
def test_what_is_wrong_is_found(folder, text, finding):
    check_finds(folder, text, finding)
