# SPDX-License-Identifier: MIT
"""Other systems and processors: compiled without a warning, and run where something here can run them."""

import os
import shutil

import pytest
import targets
import wire
from ports import free_port
from server import Server

# Instructions of a foreign processor take their time.
pytestmark = pytest.mark.skipif(
    os.environ.get("SKUA_CROSS") == "no", reason="SKUA_CROSS=no asks for none"
)


def all_but(kept, names):
    """Those names as parameters; what is not kept is for make test-all."""
    return [pytest.param(name, marks=() if name == kept else pytest.mark.test_all) for name in names]


@pytest.mark.parametrize("target", all_but("aarch64-macos", targets.ELSEWHERE))
def test_compiles_and_links(target):
    made = targets.build(target, "skua")
    magic = made.read_bytes()[:4]
    assert magic == (b"\xcf\xfa\xed\xfe" if "macos" in target else b"\x7fELF")


@pytest.mark.test_all
@pytest.mark.parametrize("target", targets.ELSEWHERE)
def test_single_header_compiles(target):
    assert targets.build_single(target).stat().st_size > 50_000


@pytest.fixture(scope="module", params=targets.RUN)
def target(request):
    emulator = targets.RUN[request.param]
    if emulator and not shutil.which(emulator[0]):
        pytest.skip(f"{emulator[0]} is not installed")
    return request.param


def start(launch, target, name, *words):
    port = free_port()

    def make():
        command = [*targets.RUN[target], targets.build(target, name)]
        address = ["--port", port] if name == "hello" else ["--listen", f"127.0.0.1:{port}"]
        return Server([*command, *words, *address, "--workers", "1"], ("127.0.0.1", port))

    return launch(make)


@pytest.mark.test_all
def test_program_serves_files(launch, target, tmp_path):
    small, large = b"small\n", bytes(range(256)) * 20000
    (tmp_path / "small.txt").write_bytes(small)
    (tmp_path / "large").write_bytes(large)
    site = start(launch, target, "skua", tmp_path)
    with site.connect() as connection:
        assert connection.get("/small.txt").content == small
        assert connection.get("/large").content == large
        assert connection.get("/large", "Range: bytes=300-309").content == large[300:310]
        response = connection.get("/small.txt")
        again = connection.get("/small.txt", f"If-None-Match: {response.get('etag')}")
        assert again.status in (200, 304)  # the tag is weak for two seconds
        assert connection.get("/none").status == 404
        assert connection.get("/../../etc/passwd").status in (400, 404)
    with site.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert connection.response().status == 400


@pytest.mark.test_all
def test_hello_pipelines(launch, target):
    server = start(launch, target, "hello")
    with server.connect() as connection:
        connection.send(wire.request("/") * 16)
        for _ in range(16):
            assert connection.response().content == b"Hello, World!"


@pytest.mark.test_all
def test_static_program_is_small():
    made = targets.build("x86_64-linux-musl", "skua")
    assert made.stat().st_size < 2_000_000
    assert b"ld-musl" not in made.read_bytes(), "it has no interpreter"
