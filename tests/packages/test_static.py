# SPDX-License-Identifier: MIT
"""The program as one static file, for both processors: it runs, and has everything in it."""

import pytest
from ports import free_port
from released import PROCESSORS, VERSION, runner, said, serving, static_program
from server import Server

ALL = pytest.mark.parametrize("processor", PROCESSORS)


@ALL
def test_it_needs_no_library(processor):
    headers = said(["readelf", "-ldW", static_program(processor)])
    assert "INTERP" not in headers and "NEEDED" not in headers
    assert said([*runner(processor), static_program(processor), "--version"]).startswith(f"skua {VERSION}")


@ALL
def test_it_holds_no_path_of_the_machine(processor):
    octets = static_program(processor).read_bytes()
    assert str(static_program(processor).parent.parent.parent).encode() not in octets
    assert b"/etc/ssl" in octets


@ALL
@pytest.mark.parametrize("coding", ["br", "zstd", "gzip"])
def test_it_compresses(processor, coding, tmp_path, launch):
    (tmp_path / "a.txt").write_text("text " * 2000)
    server = launch(serving, [*runner(processor), static_program(processor), tmp_path, "--listen", "127.0.0.1:PORT"])
    response = server.get("/a.txt", f"Accept-Encoding: {coding}")
    assert response.status == 200 and response.get("content-encoding") == coding
    assert len(response.content) < 1000


@ALL
@pytest.mark.parametrize("protocol", ["--http1.1", "--http2"])
def test_it_speaks_tls(processor, protocol, tmp_path, launch):
    (tmp_path / "a.txt").write_text("over TLS")
    server = launch(serving, [*runner(processor), static_program(processor), tmp_path, "--tls", "--tls-listen", "127.0.0.1:PORT"])
    url = f"https://127.0.0.1:{server.address[1]}/a.txt"
    assert said(["curl", "-sk", protocol, "-w", " %{http_version}", url]) == f"over TLS {'2' if protocol == '--http2' else '1.1'}"


def test_it_reads_a_configuration(tmp_path, launch):
    """Passwords too, which the C library hashes."""
    (tmp_path / "a.txt").write_text("for ada")
    said([static_program("x86_64"), "passwd", tmp_path / "users", "ada"], input="secret\n")
    (tmp_path / "skua.conf").write_text(f'site * {{\n    root {tmp_path}\n    basic_auth "Staff" {tmp_path}/users\n}}\n')
    text = (tmp_path / "skua.conf").read_text()

    def start():
        port = free_port()
        (tmp_path / "skua.conf").write_text(f"listen 127.0.0.1:{port}\n{text}")
        return Server([static_program("x86_64"), "-c", tmp_path / "skua.conf"], ("127.0.0.1", port))

    server = launch(start)
    assert server.get("/a.txt").status == 401
    said(["curl", "-sf", "-u", "ada:secret", f"http://127.0.0.1:{server.address[1]}/a.txt"])
