# SPDX-License-Identifier: MIT
"""Multipart forms and content in files."""

import pathlib
import time

import pytest
from clock import patiently
from h2_client import Client
from server import eventually, numbered
from tls import HTTP2
from wire import chunk, request

TYPE = "Content-Type: multipart/form-data; boundary=xYz"
OCCUPIED = 1  # seconds, for which POST /occupy keeps the helper threads busy at least


@pytest.fixture(scope="module")
def uploads():
    server = numbered("uploads", "--workers", "1")
    yield server
    server.stop()


def part(name, content, extra=""):
    return f'--xYz\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'.encode() + content + b"\r\n"


def form(*parts):
    return b"".join(parts) + b"--xYz--\r\n"


def post(server, path, content, *lines, kind=TYPE):
    with server.connect() as connection:
        return connection.offer(request(path, kind, f"Content-Length: {len(content)}", *lines, method="POST", content=content))


def told(server, count=1):
    lines = []
    eventually(lambda: lines.extend(server.get("/told").content.decode().split("\n")[:-1]) or len(lines) >= count)
    return lines


# ---- Part by part ----


def test_parts(uploads):
    content = form(part("a", b"1"), part("f", b"x\r\n--xY", '; filename="n"\r\nContent-Type: text/x'), part("e", b""))
    assert post(uploads, "/parts", content).content == b"[a|-|-|1:1][f|n|text/x|2:x\r\n--xY][e|-|-|1:]"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_parts_in_pieces_and_chunks(uploads, size):
    content = form(part("a", b"\r\n-" * 300), part("b", b"\r\n--xY" * 300))
    with uploads.connect() as connection:
        connection.send(request("/parts", TYPE, "Transfer-Encoding: chunked", method="POST"))
        for i in range(0, len(content), size):
            connection.send(chunk(content[i : i + size]))
        connection.send(b"0\r\n\r\n" + request("/told"))
        assert connection.response().content == b"[a|-|-|1:" + b"\r\n-" * 300 + b"][b|-|-|1:" + b"\r\n--xY" * 300 + b"]"
        assert connection.response().status == 200


def test_credit_comes_back(uploads):
    content = form(*[part("a", b"x" * 60000) for _ in range(100)])
    expected = (b"[a|-|-|1:" + b"x" * 60000 + b"]") * 100
    assert post(uploads, "/parts", content).content == expected
    assert post(uploads, "/parts?hold=1", content).content == expected


@pytest.mark.parametrize("kind", ["X: y", "Content-Type: text/plain", "Content-Type: multipart/form-data"])
def test_what_is_no_form_is_the_callers(uploads, kind):
    assert post(uploads, "/parts", form(part("a", b"1")), kind=kind).status == 415


@pytest.mark.parametrize("content, status", [
    (b"", 400),
    (part("a", b"1"), 400),
    (form(part("a", b"1")).replace(b"form-data;", b"form-data; x"), 400),
    (form(*[part("a", b"1")] * 128), 200),
    (form(*[part("a", b"1")] * 129), 413),
    (form(part("a", b"1", "\r\nX: " + "y" * 8190)), 413),
])
def test_broken_forms_and_limits(uploads, content, status):
    response = post(uploads, "/parts", content)
    assert response.status == status
    if status != 200:
        assert (response.closes or HTTP2) and told(uploads) == ["failed"]


def test_a_handler_may_answer_at_the_first_part(uploads):
    response = post(uploads, "/parts?refuse=1", form(part("a", b"1"), part("b", b"2")))
    assert (response.status, response.content) == (403, b"no")
    assert told(uploads) == ["failed"]


def test_peers_that_leave_fail_the_form(uploads):
    with uploads.connect() as connection:
        connection.send(request("/parts", TYPE, "Content-Length: 1000", method="POST", content=part("a", b"1")))
    assert told(uploads) == ["failed"]


# ---- The whole content ----


@pytest.fixture
def folders(tmp_path):
    for name in ("spool", "root"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def spooling(launch, folders):
    env = {"TMPDIR": str(folders / "spool"), "UPLOADS_ROOT": str(folders / "root")}
    return launch(numbered, "uploads", "--workers", "1", env=env)


def octets(n):
    return (b"0123456789abcdef" * (n // 16 + 1))[:n]


@pytest.mark.parametrize("n, kept", [(0, "memory"), (1, "memory"), (65536, "memory"), (65537, "file"), (900_001, "file")])
def test_large_content_goes_to_a_file(uploads, n, kept):
    response = post(uploads, "/spool", octets(n))
    assert (response.status, response.get("x-kept"), response.content == octets(n)) == (200, kept, True)


@pytest.mark.parametrize("memory", [1, 100, 5000])
def test_memory_is_what_the_caller_allows(uploads, memory):
    assert post(uploads, f"/spool?memory={memory}", octets(memory)).get("x-kept") == "memory"
    response = post(uploads, f"/spool?memory={memory}", octets(memory + 1))
    assert (response.get("x-kept"), response.content) == ("file", octets(memory + 1))


def test_content_in_many_pieces(uploads):
    content = octets(300_000)
    with uploads.connect() as connection:
        connection.send(request("/spool", "Transfer-Encoding: chunked", method="POST"))
        for i in range(0, len(content), 1777):
            connection.send(chunk(content[i : i + 1777]))
        connection.send(b"0\r\n\r\n" + request("/told"))
        response = connection.response()
        assert (response.get("x-kept"), response.content) == ("file", content)
        assert connection.response().status == 200


def test_spooling_has_limits(uploads):
    assert post(uploads, "/spool?max=1000", octets(1000)).status == 200
    assert post(uploads, "/spool?max=1000", octets(1001)).status == 413
    assert told(uploads) == ["a limit would be passed"]
    with uploads.connect() as connection:  # that many octets would not all be read behind the answer
        connection.send(request("/spool", "Content-Length: 1048577", method="POST"))
        assert connection.response().status == 413
    assert told(uploads) == ["a limit would be passed"]
    assert post(uploads, "/guarded/spool?n=10&max=1000", octets(11)).status == 413
    for path in ("/spool?max=70000&memory=1", "/spool?max=1000"):
        with uploads.connect() as connection:
            head = request(path, "Transfer-Encoding: chunked", method="POST")
            assert connection.offer(head + chunk(octets(60_000)) + chunk(octets(60_000))).status == 413
        assert told(uploads) == ["a limit would be passed"]


def test_a_large_upload_takes_no_memory(launch, folders):
    env = {"TMPDIR": str(folders / "spool"), "ASAN_OPTIONS": "quarantine_size_mb=1"}
    uploads = launch(numbered, "uploads", "--workers", "1", env=env)
    content = octets(1 << 20)
    with uploads.connect() as connection:
        connection.send(request("/spool?max=1000000000", f"Content-Length: {64 << 20}", method="POST"))
        before = uploads.rss_octets()
        for _ in range(64):
            connection.send(content)
        head = connection.head()
        assert uploads.rss_octets() - before < 32 << 20  # the thread sanitizer makes 20 of io_uring's 2 MiB of buffers
        assert head.status == 200 and head.get("x-kept") == "file"
        assert connection.exactly(64 << 20)[-16:] == content[-16:]
    assert list((folders / "spool").iterdir()) == []


def test_peers_that_leave_leave_no_file(spooling):
    assert post(spooling, "/spool?memory=1", octets(5)).status == 200
    assert eventually(lambda: spooling.descriptors() > 0)
    before = spooling.descriptors()
    for _ in range(20):
        with spooling.connect() as connection:
            connection.send(request("/spool?memory=1", "Content-Length: 200000", method="POST", content=octets(100_000)))
    assert eventually(lambda: spooling.descriptors() <= before)
    lines = []
    assert eventually(lambda: lines.extend(told(spooling)) or len(lines) == 20)
    assert set(lines) == {"closed"}


def test_a_spool_directory_that_is_not_there(launch, folders):
    uploads = launch(numbered, "uploads", "--workers", "1", env={"TMPDIR": str(folders / "none")})
    assert post(uploads, "/spool", octets(100)).status == 200
    response = post(uploads, "/spool", octets(70_000))
    assert response.status == 500 and (response.closes or HTTP2)
    assert told(uploads) == ["there is none"]
    assert eventually(lambda: "cannot keep content in" in uploads.error_text())
    response = post(uploads, "/collect?memory=1", form(part("a", b"12"), part("b", b"34")))
    assert response.status == 500


def test_files_can_be_given_a_name(spooling, folders):
    (folders / "root" / "in").mkdir()
    for name, word in [("a", b"no error"), ("a", b"there is one already"), ("in/b", b"no error"), ("x/b", b"there is none"),
                       ("", b"not of the documented form"), ("in/", b"not of the documented form"), ("..", b"not of the documented form")]:
        assert post(spooling, f"/keep?name={name}", name.encode() + b" content").content == word, name
    assert post(spooling, "/keep?name=../out", b"content").content == b"permission denied"
    assert (folders / "root" / "a").read_bytes() == b"a content"
    assert (folders / "root" / "in" / "b").read_bytes() == b"in/b content"
    assert (folders / "root" / "a").stat().st_mode & 0o777 == 0o600
    assert not (folders / "out").exists()


# ---- Whole forms ----


def test_forms_are_kept_in_memory_while_they_fit(spooling):
    content = form(part("a", b"1"), part("f", octets(9), '; filename="n"\r\nContent-Type: text/x'), part("e", b""))
    assert post(spooling, "/collect", content).content == b"[a|-|-|1:M1][f|n|text/x|2:M012345678][e|-|-|1:M]"
    assert post(spooling, "/collect", form()).content == b""
    assert post(spooling, "/collect", content, kind="X: y").status == 415


def test_parts_that_do_not_fit_go_to_files(spooling):
    content = form(part("a", octets(10)), part("b", octets(100)), part("c", octets(6)), part("d", octets(5)), part("e", b""))
    expected = b"".join(b"[%s|-|-|1:%s%s]" % (name, kind, octets(n)) for name, kind, n in [
        (b"a", b"M", 10), (b"b", b"F", 100), (b"c", b"M", 6), (b"d", b"F", 5), (b"e", b"M", 0)])
    assert post(spooling, "/collect?memory=16", content).content == expected


def test_a_large_form(spooling):
    sizes = [70_000, 3, 200_000, 65_536, 1, 400_000]
    content = form(*[part(str(n), octets(n)) for n in sizes])
    response = post(spooling, "/collect", content)
    kinds = ["F", "M", "F", "F", "M", "F"]
    assert response.content == b"".join(b"[%d|-|-|1:%s%s]" % (n, k.encode(), octets(n)) for n, k in zip(sizes, kinds))


def test_forms_have_limits(spooling):
    assert post(spooling, "/collect?memory=1", form(*[part("a", b"12")] * 32)).status == 200
    assert post(spooling, "/collect?memory=1", form(*[part("a", b"12")] * 33)).status == 413
    assert told(spooling) == ["a limit would be passed"]
    assert post(spooling, "/collect?max=100", form(part("a", octets(100)))).status == 413
    assert told(spooling) == ["a limit would be passed"]
    assert post(spooling, "/collect", form(*[part("a", b"1")] * 129)).status == 413
    assert told(spooling) == ["a limit would be passed"]
    assert post(spooling, "/collect", part("a", b"1")).status == 400
    assert told(spooling) == ["against the protocol"]


@pytest.mark.parametrize("path, content", [("/spool?memory=1", octets(1000)), ("/collect?memory=1", form(part("a", b"12"), part("b", b"34")))])
def test_who_leaves_while_the_content_is_written(spooling, path, content):
    """All of it has come, and the disk is slow: the program is told once, as of content that is lost on its way."""
    def leave(beat):
        assert post(spooling, "/occupy", b"").status == 200
        with spooling.connect() as connection:
            connection.send(request(path, TYPE, f"Content-Length: {len(content)}", method="POST", content=content))
            time.sleep(0.1)
            connection.reset()
        beat.rest()
        assert told(spooling) == ["closed"]

    patiently(leave, OCCUPIED)
    time.sleep(0.5)
    assert spooling.get("/told").content == b""


def test_what_is_answered_while_the_content_is_written(spooling):
    """Nobody asked to be told of the request's end; it has come all the same for those who wait for its content."""
    def ask(beat):
        assert post(spooling, "/occupy", b"").status == 200
        answer = post(spooling, "/spool?memory=1&early=100", octets(1000)).content
        beat.rest()
        assert answer == b"early"

    patiently(ask, OCCUPIED)
    assert told(spooling) == ["closed"]
    time.sleep(0.5)
    assert spooling.get("/told").content == b""


def test_a_timeout_whose_response_cannot_leave(spooling):
    """The content is lost from then on, though the window of its client is shut and the request goes on."""
    def time_out(beat):
        assert post(spooling, "/occupy", b"").status == 200
        with Client(spooling, (4, 0)) as client:
            stream = client.open("/spool?memory=1&timeout=100", method="POST", ends=False)
            client.data(stream, octets(1000), ends=True)
            beat.rest()
            assert told(spooling, 2) == ["closed", "followed"]
            time.sleep(0.5)
            assert spooling.get("/told").content == b""

    patiently(time_out, OCCUPIED)
    assert told(spooling) == ["followed to its end"]
