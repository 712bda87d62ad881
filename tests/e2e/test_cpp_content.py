# SPDX-License-Identifier: MIT
"""Content, forms, tunnels, files and JSON in C++ (tests/servers/cpp_content.cpp)."""

import json

import pytest
from server import numbered
from wire import posted

pytestmark = pytest.mark.in_the_clear("the server has no option for it; the transport is below the wrapper")
FORM = (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\none\r\n--x\r\nContent-Disposition: form-data; name="b"; '
        b'filename="f"\r\n\r\n' + b"two" * 100 + b"\r\n--x--\r\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.txt").write_bytes(b"0123456789")
    return folder


@pytest.fixture(scope="module")
def cpp(folder):
    server = numbered("cpp", env={"CPP_FILES": str(folder), "TMPDIR": str(folder)})
    yield server
    server.stop()


def post(server, path, content, *lines):
    with server.connect() as connection:
        connection.send(posted(path, content, *lines))
        return connection.response()


def test_content_as_it_comes(cpp):
    assert post(cpp, "/cpp/count", b"x" * 300_000).content == b"300000"
    assert post(cpp, "/cpp/count", b"").content == b"0"
    assert post(cpp, "/cpp/halves", b"x" * 300_000).content == b"all"  # which is consumed by and by
    refused = post(cpp, "/cpp/throws", b"x")
    assert refused.status == 409 and b"enough" in refused.content


def test_forms_with_files(cpp):
    kind = "Content-Type: multipart/form-data; boundary=x"
    assert post(cpp, "/cpp/parts", FORM, kind).content == b"a=one;b=" + b"two" * 100 + b";"
    assert post(cpp, "/cpp/form", FORM, kind).content == b"a 3;b 300 file;"
    assert post(cpp, "/cpp/form", FORM[:50], kind).status == 400
    for path in ("/cpp/parts", "/cpp/form"):
        assert post(cpp, path, FORM, "Content-Type: text/plain").status == 415


def test_content_that_is_kept(cpp, folder):
    assert post(cpp, "/cpp/spool", b"abc" * 100).content == b"300 abc"
    assert post(cpp, "/cpp/spool", b"abc").content == b"3 \0\0\0"
    assert post(cpp, "/cpp/keep/kept.bin", b"kept" * 10).status == 201
    assert (folder / "kept.bin").read_bytes() == b"kept" * 10
    assert post(cpp, "/cpp/keep/kept.bin", b"kept" * 10).status == 500  # it is there
    (folder / "kept.bin").unlink()


def test_sources_that_are_pulled(cpp):
    assert cpp.get("/cpp/pull/5").content == b"xxxxx"
    assert cpp.get("/cpp/woken").content == b"ok"
    with cpp.connect() as connection:
        connection.send(b"GET /cpp/pull/14 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert not connection.to_break().endswith(b"0\r\n\r\n")  # one that throws is cut off
    assert "thirteen" in cpp.error_text() + cpp.out_text() or cpp.alive()


def test_a_tunnel(cpp):
    assert (cpp.get("/cpp/tunnel").status, cpp.get("/cpp/tunnel").get("upgrade")) == (426, "echo")
    with cpp.connect() as connection:
        connection.send(b"GET /cpp/tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        assert connection.head().status == 101
        connection.send(b"there and back")
        assert connection.exactly(14) == b"there and back"


def test_files(cpp):
    assert cpp.get("/cpp/file/a.txt").content == b"123456789"
    assert cpp.get("/cpp/loaded/a.txt").content == b"2345678901"
    assert cpp.get("/cpp/served/a.txt", "Range: bytes=2-3").content == b"23"
    assert cpp.get("/cpp/listed").content == b"10"
    assert cpp.get("/cpp/file/none").status == 404
    assert cpp.get("/cpp/file/..%2f..%2fetc").status in (403, 404)


def test_clients_that_leave_while_a_file_is_opened(cpp):
    for _ in range(20):
        with cpp.connect() as connection:
            connection.send(b"GET /cpp/loaded/a.txt HTTP/1.1\r\nHost: a\r\n\r\n")
            connection.reset()
    assert cpp.get("/cpp/loaded/a.txt").content == b"2345678901"


@pytest.mark.parametrize("library", ["nlohmann", "rapidjson"])
def test_json_of_other_libraries(cpp, library):
    value = {"name": "Zo\u00eb", "list": [1, 2.5, None, True]}
    answer = post(cpp, f"/cpp/{library}", json.dumps(value).encode())
    if answer.status == 404:
        pytest.skip(f"{library} is not installed")
    assert (answer.status, answer.get("content-type"), json.loads(answer.content)) == (201, "application/json", value)
    assert post(cpp, f"/cpp/{library}", b'{"name": ').status == 400
