# SPDX-License-Identifier: MIT
"""A folder as one file, zip or tar: made while it is sent, by the rules of the files themselves, and never a broken one
that looks whole."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import time
import urllib.parse
import zipfile

import pytest
from conf import SKUA, basic, check_finds, of, process_of, start
from ports import free_port
from server import SLOW, Server, eventually
from wire import request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

USERS = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"  # secret
TEXT = """
listen 127.0.0.1:PORT
workers 2
site * {
    root pub
    listing on
    archive zip tar
    redirect /moved.txt /a.txt
    redirect "/gone/{rest...}" /a.txt
    redirect "/de/{page}/old.txt" /a.txt
    rewrite /other-name.txt /a.txt
    path /staff/ {
        basic_auth Staff users
    }
    path /staff/open/ {
        basic_auth off
    }
    path /shut/ {
        deny all
    }
    path = /alone.txt {
        deny all
    }
    path /slow/ {
        limit_bandwidth 1MiB/s
    }
    path /posts/ {
        method POST {
            deny all
        }
    }
    path /else/ {
        root else
        listing on
        archive off
    }
    path /zips/ {
        archive zip
    }
    path /none/ {
        archive off
    }
}
"""
# Below the root: content by path. Each folder's name ends with "/".
ODD = "dö c/é 日本.txt"
NAMES = ["a.txt", "deep/" + 30 * "d/" + "end.txt", 150 * "x" + "/" + 200 * "y" + ".txt", ODD, "odd/a b&c;'\"<>?#%41.txt", "odd/new\nline",
         "moved.txt", "gone/x.txt", "gone/deep/x.txt", "de/x/old.txt", "other-name.txt", "staff/secret.txt", "staff/open/a.txt", "shut/a.txt",
         "alone.txt", "alone.txt.gz", "slow/a.txt", "posts/a.txt", "else/hidden-by-a-root.txt", "zips/a.txt", "none/a.txt", ".hidden", ".git/config",
         "deep/.hidden", "odd/back\\slash", "empty.txt", "odd/-rf", "odd/..."]
# Left out of the site's own archives.
OUT = {"moved.txt", "gone/x.txt", "gone/deep/x.txt", "de/x/old.txt", "other-name.txt", "staff/secret.txt", "staff/open/a.txt", "shut/a.txt",
       "alone.txt", "alone.txt.gz", "slow/a.txt", "else/hidden-by-a-root.txt", "none/a.txt", "zips/a.txt", ".hidden", ".git/config", "deep/.hidden",
       "odd/back\\slash", "odd/..."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    for name in NAMES:
        file = folder / "pub" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if name == "empty.txt" else f"this is {name}\n" * 50)
    (folder / "pub/raw").mkdir()
    (folder / os.fsdecode(b"pub/raw/\xff\xfe.txt")).write_text("no text is its name")
    (folder / "pub/void/in void").mkdir(parents=True)
    os.mkfifo(folder / "pub/odd/pipe")
    (folder / "outside.txt").write_text("outside")
    for name, target in (("link.txt", "a.txt"), ("out.txt", "../outside.txt"), ("nowhere", "nothing"), ("odd/up", ".."), ("void/self", ".")):
        (folder / "pub" / name).symlink_to(target)
    (folder / "else").mkdir()
    (folder / "else/a.txt").write_text("else")
    (folder / "users").write_text(USERS)
    os.utime(folder / "pub/a.txt", (1234567890, 1234567890))
    return folder


@pytest.fixture(scope="module")
def served(folder):
    server = start(folder, TEXT)
    yield server
    server.stop()


def ask(server, path, kind, *lines):
    return server.get(f"{path}?archive={kind}", *lines)


def members(content, kind):
    """{name: octets, or None for a folder}, as Python reads it."""
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.testzip() is None
            return {info.filename: None if info.is_dir() else archive.read(info) for info in archive.infolist()}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {one.name + "/" * one.isdir(): archive.extractfile(one).read() if one.isfile() else None for one in archive}


def files(content, kind, prefix="files/"):
    found = members(content, kind)
    assert all(name.startswith(prefix) for name in found)
    return {name[len(prefix):]: octets for name, octets in found.items() if octets is not None}


@of("archive")
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_what_is_in_it(served, folder, kind):
    found = files(ask(served, "/", kind).content, kind)
    expected = {name: (folder / "pub" / name).read_bytes() for name in NAMES if name not in OUT}
    expected |= {"link.txt": expected["a.txt"]}
    raw = [name for name in found if name.startswith("raw/")]
    assert len(raw) == 1 and found.pop(raw[0]) == b"no text is its name"
    assert found == expected


@pytest.mark.parametrize("kind", ["zip", "tar"])
@pytest.mark.parametrize("who", [(), (basic("anna", "secret"),)])
def test_nothing_that_a_request_would_be_refused(served, folder, kind, who):
    """Whatever folder is asked for, by whomever: each file in it is what its own path gives."""
    folders = [path for path, _, _ in os.walk(folder / "pub")] + [str(folder / "pub/else")]
    count = 0
    for path in folders:
        below = os.path.relpath(path, folder / "pub") + "/"
        url = "/" + urllib.parse.quote(os.fsencode("" if below == "./" else below))
        response = ask(served, url, kind, *who)
        if response.get("content-type") not in ("application/zip", "application/x-tar"):
            continue
        count += 1
        for name, octets in members(response.content, kind).items():
            inner = name.split("/", 1)[1]
            if octets is not None and "\udcff" not in inner and "raw" not in url + inner:
                direct = served.get(url + urllib.parse.quote(inner), *who)
                assert direct.status == 200 and direct.content == octets, (url, inner)
    assert count > 30
    assert ask(served, "/staff/", kind).status == 401
    assert ask(served, "/shut/", kind).status == 403
    assert served.get(f"/none/?archive={kind}").get("content-type").startswith("text/html")
    staff = files(ask(served, "/staff/", kind, basic("anna", "secret")).content, kind, "staff/")
    assert set(staff) == {"secret.txt", "open/a.txt"}
    assert set(files(ask(served, "/slow/", kind).content, kind, "slow/")) == {"a.txt"}
    assert ask(served, "/.git/", kind).status == 404 and ask(served, "/missing/", kind).status == 404
    assert ask(served, "/gone/", kind).status == 302


def test_a_format_that_is_not_had(served):
    assert files(ask(served, "/zips/", "zip").content, "zip", "zips/") == {"a.txt": b"this is zips/a.txt\n" * 50}
    for path, kind in (("/zips/", "tar"), ("/", "rar"), ("/", "")):
        assert ask(served, path, kind).status == 400
    for path in ("/a.txt?archive=zip", "/?x=archive=zip", "/?archived=zip", "/?archive"):
        assert served.get(path).get("content-type") not in ("application/zip", "application/x-tar")
    assert served.get("/?x=1&archive=tar&y=2").get("content-type") == "application/x-tar"
    assert served.get("/?archive=zip", method="POST").status == 405
    assert served.get("/void?archive=zip").get("location").endswith("/void/?archive=zip")


@pytest.mark.parametrize("kind, type", [("zip", "application/zip"), ("tar", "application/x-tar")])
def test_fields(served, kind, type):
    for path, name in (("/", f'"files.{kind}"'), ("/deep/d/", f'"d.{kind}"'),
                       ("/d%C3%B6%20c/", f'"d__ c.{kind}"; filename*=UTF-8\'\'d%C3%B6%20c.{kind}')):
        for method in ("GET", "HEAD"):
            response = served.get(f"{path}?archive={kind}", "Accept-Encoding: gzip", method=method)
            assert response.status == 200 and response.get("content-type") == type
            assert response.get("content-disposition") == "attachment; filename=" + name
            assert response.get("cache-control") == "no-store" and response.get("x-content-type-options") == "nosniff"
            assert response.get("content-encoding") is None and (method == "GET") == bool(response.content)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_the_same_files_are_the_same_octets(served, kind):
    assert ask(served, "/", kind).content == ask(served, "/", kind).content


def test_programs_unpack_it(served, folder, tmp_path):
    """tar, unzip, and bsdtar where it is there; names, content and times, over HTTP/1 and HTTP/2."""
    def fetched(kind, version):
        file = tmp_path / f"{kind}{version}"
        subprocess.run(["curl", "-sSf", version, "-o", file, f"{served.url}/?archive={kind}"], check=True, timeout=SLOW)
        return file

    def unpacked(name, *words):
        place = tmp_path / name
        place.mkdir()
        subprocess.run(words, cwd=place, check=True, timeout=SLOW, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                       env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert (place / "files/a.txt").stat().st_mtime == 1234567890
        for name in NAMES:
            if name == "zips/a.txt":
                continue  # it has no tar
            assert (place / "files" / name).exists() == (name not in OUT), name
            if name not in OUT:
                assert (place / "files" / name).read_bytes() == (folder / "pub" / name).read_bytes()
        assert (place / "files/void/in void").is_dir() and not (place / "files/void/self").exists()
        assert b"raw" in os.listdir(os.fsencode(place / "files"))

    for version in ("--http1.1", "--http2-prior-knowledge"):
        tar, zip = fetched("tar", version), fetched("zip", version)
        unpacked("by-tar" + version, "tar", "xf", tar)
        subprocess.run(["unzip", "-tq", zip], check=True, timeout=SLOW, stdout=subprocess.DEVNULL)
        if shutil.which("bsdtar"):
            unpacked("by-bsdtar" + version, "bsdtar", "xf", tar)
            unpacked("zip-by-bsdtar" + version, "bsdtar", "xf", zip)
    with zipfile.ZipFile(zip) as archive:
        assert archive.getinfo("files/a.txt").date_time == (2009, 2, 13, 23, 31, 30)


def test_an_empty_folder(served):
    for kind in ("zip", "tar"):
        assert members(ask(served, "/void/in%20void/", kind).content, kind) == {"in void/": None}


def test_the_page_has_links(served):
    page = served.get("/odd/").content.decode()
    assert '<a href="?archive=zip" rel="nofollow" download>' in page and '<a href="?archive=tar" rel="nofollow" download>' in page
    assert "archive=" not in served.get("/else/").content.decode()


def test_pages_of_inner_blocks_have_links_of_their_own(served, folder, launch):
    """Also where a block has no root of its own, inside of one without archives. Beside a button for uploads, and not in JSON."""
    links = lambda server, path: re.findall(r'href="\?archive=(\w+)"', server.get(path).content.decode())
    assert [links(served, path) for path in ("/", "/zips/", "/none/", "/staff/open/", "/else/")] == [["zip", "tar"], ["zip"], [], ["zip", "tar"], []]
    inner = """listen 127.0.0.1:PORT
site * {
    root pub
    listing on
    upload 1MiB anyone
    path /deep/ {
        archive tar
    }
    path /deep/d/ {
        archive zip tar
    }
    path /deep/d/d/ {
        archive off
    }
}
"""
    server = launch(start, folder, inner, "inner.conf")
    for path, kinds in (("/", []), ("/deep/", ["tar"]), ("/deep/d/", ["zip", "tar"]), ("/deep/d/d/", []), ("/odd/", [])):
        assert links(server, path) == kinds and b'id="upload"' in server.get(path).content
        assert b"archive=" not in server.get(path, "Accept: application/json").content
        for kind in ("zip", "tar"):
            assert (server.get(f"{path}?archive={kind}").get("content-type") != "text/html; charset=utf-8") == (kind in kinds or bool(kinds))


@pytest.fixture
def tree(tmp_path_factory, launch):
    """A server of its own, and the folder that it serves."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "pub").mkdir()

    def begin(text="", workers=2, **options):
        server = launch(start, folder, f"listen 127.0.0.1:PORT\ntrusted_proxies x-forwarded 127.0.0.1\nworkers {workers}\nsite * {{\n root pub\n listing on\n archive zip tar\n{text}}}\n",
                        **options)
        return server, folder / "pub"
    return begin


def begun(server, kind, client="192.0.2.1"):
    """A client that has read the beginning of the first file, and whose window holds little; with what it has read. None: there is no
    place for it."""
    connection = server.connect(receive_buffer=4096)
    connection.send(request(f"/?archive={kind}", f"X-Forwarded-For: {client}"))
    if connection.head().status == 503:
        return None
    octets = b""
    while len(octets) < 4096:
        octets += connection.one_chunk()
    return connection, octets


def rest(begun):
    """All that came, and whether it ended as it should."""
    connection, octets = begun
    try:
        return octets + connection.chunked()[0], True
    except (ConnectionError, EOFError, AssertionError, OSError, ValueError):
        return b"", False


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_files_that_change_meanwhile(tree, kind):
    """One that gets shorter ends the response in the middle; one that gets longer is cut; one that goes is left out."""
    server, pub = tree()
    size = 30_000_000
    for name in ("a", "b"):
        (pub / name).write_bytes(size * b"x")
    (pub / "c").write_text("c")
    connection = begun(server, kind)
    os.truncate(pub / "a", 1000)
    assert not rest(connection)[1]
    (pub / "a").write_bytes(size * b"x")
    connection = begun(server, kind)
    with open(pub / "a", "ab") as file:
        file.write(size * b"y")
    (pub / "c").unlink()
    octets, whole = rest(connection)
    assert whole and files(octets, kind) == {"a": size * b"x", "b": size * b"x"}


def test_who_leaves_or_dawdles(tree):
    """Eight at a time, four of one client; the next one is told to come again, and others are served. Descriptors go with their clients."""
    server, pub = tree()
    (pub / "big").write_bytes(30_000_000 * b"x")
    descriptors = lambda: len(os.listdir(f"/proc/{process_of(server)}/fd"))
    assert files(ask(server, "/", "zip").content, "zip").keys() == {"big"}
    before = descriptors()
    networks = ["192.0.2.1", "2001:db8::1"]
    clients = [eventually(lambda kind=kind: begun(server, kind, networks[0])) for kind in 2 * ["zip", "tar"]]
    refused = lambda client: ask(server, "/", "zip", f"X-Forwarded-For: {client}")
    response = refused(networks[0])
    assert response.status == 503 and response.get("retry-after") == "5"
    clients += [eventually(lambda kind=kind: begun(server, kind, networks[1])) for kind in 2 * ["zip", "tar"]]
    assert [refused(client).status for client in ("2001:db8::2", "192.0.2.2", "2001:db8:0:1::1")] == [503, 503, 503]
    assert server.get("/").status == 200
    octets, whole = rest(clients.pop())
    assert whole and files(octets, "tar") == {"big": 30_000_000 * b"x"}
    assert eventually(lambda: ask(server, "/", "tar").status == 200)
    for connection, _ in clients:
        connection.reset()
    assert eventually(lambda: descriptors() <= before + 1)
    again = [eventually(lambda client=client: begun(server, "zip", client)) for client in 4 * networks]
    assert server.get("/?archive=zip").status == 503
    [connection.close() for connection, _ in again]


@pytest.mark.test_all
def test_slow_readers_keep_nobody_away(tree):
    """Each takes more than rate_min. As long as nobody is refused they stay; then one of them loses its place, and no more."""
    server, pub = tree()
    (pub / "big").write_bytes(30_000_000 * b"x")
    clients = [begun(server, "tar", f"192.0.2.{i // 4}") for i in range(8)]

    def trickle(seconds):
        """Reads slowly, also what the kernel still holds for a client that was cut off."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for connection, _ in clients:
                assert connection.socket.recv(2048)
            time.sleep(0.5)

    trickle(35)
    refused = ask(server, "/", "zip", "X-Forwarded-For: 192.0.2.9")
    assert (refused.status, refused.get("retry-after")) == (503, "5")  # nobody has lost a place for nothing
    trickle(35)
    quick = ask(server, "/", "zip", "X-Forwarded-For: 192.0.2.9")
    assert files(quick.content, "zip").keys() == {"big"}
    last = begun(server, "zip", "192.0.2.9")
    assert ask(server, "/", "zip", "X-Forwarded-For: 192.0.2.9").status == 503
    [connection.close() for connection, _ in [*clients, last]]


def test_as_many_octets_of_names_as_there_may_be(tree):
    """8 MiB, of each name with the folders that it is in, and of these; then one more."""
    server, pub = tree()
    folders = [pub.joinpath(*(250 * "d" for _ in range(depth))) for depth in range(15)]
    folders[-1].mkdir(parents=True)
    octets, path = sum(251 * depth for depth in range(15)), 14 * 251
    while octets + path + 255 <= 8_388_608:
        (folders[-1] / f"{octets:f<255}").touch()
        octets += path + 255
    depth, rest = divmod(8_388_608 - octets - 1, 251)
    rest += 1
    last = folders[depth] / (rest * "l")
    last.touch()
    for kind in ("zip", "tar"):
        assert server.get(f"/?archive={kind}", method="HEAD").status == 200
    last.rename(folders[depth] / ((rest + 1) * "l"))
    for kind in ("zip", "tar"):
        response = server.get(f"/?archive={kind}")
        assert response.status == 403 and b"names" in response.content
    assert server.get("/").status == 200


def has_open(pid, part):
    for one in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if part in os.readlink(f"/proc/{pid}/fd/{one}"):
                return True
    return False


@pytest.mark.parametrize("files, size", [(1, 150_000_000), (5000, 100)])
def test_others_have_their_turn(tree, files, size):
    """Files in memory, and a client that takes all as fast as it comes: one worker serves others as well. Another client comes where
    the first one has all before this test has asked often enough."""
    server, pub = tree(workers=1)
    for i in range(files):
        with open(pub / str(i), "wb") as file:
            file.truncate(size)

    def answers():
        """How many others were answered while a client had its archive."""
        client, count = subprocess.Popen(["curl", "-sSf", "-o", os.devnull, f"{server.url}/?archive=tar"]), 0
        assert eventually(lambda: has_open(process_of(server), "/pub/") or client.poll() is not None)
        with server.connect() as connection:
            while client.poll() is None:
                count += connection.get("/0", method="HEAD").status == 200
        assert client.returncode == 0
        return count

    assert eventually(lambda: answers() > 20, within=60)


def test_a_reload_does_not_end_it(tree):
    server, pub = tree()
    (pub / "big").write_bytes(30_000_000 * b"x")
    connection = begun(server, "tar")
    file = pub.parent / "skua.conf"
    file.write_text(file.read_text().replace("archive zip tar", "archive off"))
    subprocess.run([SKUA, "reload", "-c", file], check=True, timeout=60)
    assert eventually(lambda: ask(server, "/", "tar").get("content-type").startswith("text/html"))
    octets, whole = rest(connection)
    assert whole and files(octets, "tar") == {"big": 30_000_000 * b"x"}


def test_depth_at_its_edge(tree):
    server, pub = tree()
    (pub / (64 * "d/")).mkdir(parents=True)
    assert len(members(ask(server, "/", "zip").content, "zip")) == 65
    (pub / (64 * "d/") / "d").mkdir()
    response = ask(server, "/", "zip")
    assert response.status == 403 and b"deeper" in response.content
    assert ask(server, "/d/", "zip").status == 200


@pytest.mark.test_all
def test_entries_at_their_edge(tree):
    """65,536 of them: one folder of 1,023 files with 62 links to it, as many files beside it, and the folder itself."""
    server, pub = tree()
    store = pub / "store"
    store.mkdir()
    for i in range(1023):
        (store / str(i)).touch()
        (pub / f"file-{i}").touch()
    for i in range(62):
        (pub / f"link-{i}").symlink_to("store")
    assert len(members(ask(server, "/", "zip").content, "zip")) == 65536
    (pub / "one-more").touch()
    response = ask(server, "/", "zip")
    assert response.status == 403 and b"65536" in response.content


def test_what_may_not_be_read_is_not_in_it(tree):
    """The server process has no capabilities, whoever started it."""
    server, pub = tree()
    (pub / "a").write_text("a")
    (pub / "b").write_text("b")
    (pub / "b").chmod(0)
    assert files(ask(server, "/", "zip").content, "zip") == {"a": b"a"}


@pytest.mark.test_all
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_file_of_five_gib(tree, kind, tmp_path):
    """And one of 9, which no ustar header can name; most of them are holes."""
    server, pub = tree()
    sizes = {"five": 5 << 30, "last": 3}
    if kind == "tar":
        sizes["nine"] = 9 << 30
    for name, size in sizes.items():
        with open(pub / name, "wb") as file:
            file.truncate(size)
            file.seek(size - 3)
            file.write(b"end")
    archive = tmp_path / "archive"
    subprocess.run(["curl", "-sSf", "-o", archive, f"{server.url}/?archive={kind}"], check=True, timeout=600)
    if kind == "zip":
        subprocess.run(["unzip", "-tq", archive], check=True, timeout=600, stdout=subprocess.DEVNULL)
        with zipfile.ZipFile(archive) as of:
            assert {info.filename: info.file_size for info in of.infolist() if not info.is_dir()} == {f"files/{n}": s for n, s in sizes.items()}
    else:
        listed = subprocess.run(["tar", "tvf", archive], check=True, timeout=600, capture_output=True, text=True).stdout
        for name, size in sizes.items():
            assert [line for line in listed.splitlines() if line.split()[2] == str(size) and line.endswith("files/" + name)]


@pytest.mark.parametrize("text, finding", [
    ("site a {\n root pub\n archive zip\n}", "3:2: an archive reveals all names below /, as a listing does; its root needs listing on"),
    ("site a {\n root pub\n listing on\n archive rar\n}", '4:10: archive: use zip or tar, not "rar"'),
    ("site a {\n root pub\n listing on\n archive zip off\n}", '4:14: archive: use zip or tar, not "off"'),
    ("site a {\n root pub\n listing on\n path = /void {\n  archive zip\n }\n}", '5:3: archive is for a folder; leave out the "=" before /void'),
    ("defaults {\n archive zip\n}\nsite a {\n root pub\n}", "2:2: archive does not stand in defaults, but directly in a site or in the block of a path"),
])
def test_what_is_wrong_is_found(folder, text, finding):
    check_finds(folder, text, finding)


GAPS = {
    "/staff/": "it asks for another name",
    "/staff/open/": None,
    "/shut/": "it is restricted; clients that may access it get it",
    "/alone.txt": "it is restricted; clients that may access it get it",
    "/slow/": "it has limits of its own",
    "/posts/": "it is restricted; clients that may access it get it",
    "/else/": "it has a root of its own",
    "/zips/": "it has no such archives itself",
    "/none/": "it has no such archives itself",
}


def test_what_is_left_out_is_told(served, folder):
    """By skua check, and by skua explain, which plays the request too."""
    run = subprocess.run([SKUA, "check", "-c", "skua.conf"], cwd=folder, capture_output=True, text=True, timeout=20)
    said = run.stdout + run.stderr
    explained = subprocess.run([SKUA, "explain", "http://a/?archive=zip", "-c", "skua.conf"], cwd=folder, capture_output=True, text=True,
                               timeout=20)
    assert explained.returncode == 0
    parts = [" ".join(line.split()) for line in explained.stdout.splitlines()]
    assert any(part.startswith("archive zip, tar skua.conf:") for part in parts)
    assert "response HTTP/1.1 200 OK" in parts and "Content-Type: application/zip" in parts
    for path, gap in GAPS.items():
        note = f"archives of / leave out {path}: {gap}"
        assert (note in said) == (gap is not None), (note, said)
        assert any(part.startswith(f"without {path}: {gap}") for part in parts) == (gap is not None), (path, explained.stdout)


def test_of_a_folder_without_a_file(launch, folder):
    """skua --archive DIR."""
    port = free_port()
    server = launch(Server, [SKUA, "--archive", "-l", f"127.0.0.1:{port}", folder / "pub"], ("127.0.0.1", port))
    found = files(ask(server, "/odd/", "zip").content, "zip", "odd/")
    assert found["-rf"] == (folder / "pub/odd/-rf").read_bytes() and "back\\slash" not in found and "up/a.txt" in found
    assert files(ask(server, "/staff/", "tar").content, "tar", "staff/").keys() == {"secret.txt", "open/a.txt"}
    assert ask(server, "/", "rar").status == 400 and b"?archive=zip" in server.get("/").content
    assert ask(server, "/.git/", "zip").status == 404
    run = subprocess.run([SKUA, "--archive", "--no-list", folder], capture_output=True, text=True, timeout=20)
    assert run.returncode == 2 and "leave --archive or --no-list out" in run.stderr
