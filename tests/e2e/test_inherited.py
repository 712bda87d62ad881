# SPDX-License-Identifier: MIT
"""Sockets that the program is started with, as by systemd."""

import os
import socket
import subprocess
import sys

import pytest
from ports import free_port
from server import BUILD, Server, check_sanitizers, eventually
from tls import certificate
from wire import Connection

# A process that becomes the program, with its listening sockets as descriptors from 3 on, as sd_listen_fds(3) has it.
STARTER = """
import fcntl, os, sys
count = int(sys.argv[1])
for i, fd in enumerate([fcntl.fcntl(int(fd), fcntl.F_DUPFD, 40) for fd in sys.argv[2 : 2 + count]]):
    os.dup2(fd, 3 + i, inheritable=True)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(count)
os.execv(sys.argv[2 + count], sys.argv[2 + count :])
"""


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def starting(listeners, folder, *words):
    fds = [str(listener.fileno()) for listener in listeners]
    return [sys.executable, "-c", STARTER, str(len(fds)), *fds, str(BUILD / "skua"), str(folder), *map(str, words)]


def started(listener, folder, *words):
    return Server(starting([listener], folder, *words), listener.getsockname(), fds=(listener.fileno(),))


def test_the_program_serves_it_instead_of_its_default_address(listener, tmp_path):
    (tmp_path / "hello.txt").write_text("Hello")
    server = started(listener, tmp_path, "--workers", "2")
    listener.close()
    for _ in range(5):
        assert server.get("/hello.txt").content == b"Hello"
    assert ":8080" not in server.out_text() + server.error_text()
    server.stop()


def test_addresses_that_are_given_are_served_too(listener, tmp_path):
    (tmp_path / "hello.txt").write_text("Hello")
    path = tmp_path / "socket"
    server = started(listener, tmp_path, "--listen", f"unix:{path}")
    listener.close()
    assert server.get("/hello.txt").content == b"Hello"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /hello.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    server.stop()


def test_variables_that_are_no_numbers_are_said(tmp_path):
    run = subprocess.run(
        [BUILD / "skua", tmp_path], capture_output=True, text=True, timeout=20,
        env={**os.environ, "LISTEN_PID": "me", "LISTEN_FDS": "1"},
    )
    assert run.returncode == 1
    assert "LISTEN_PID" in run.stderr


def test_a_socket_by_its_number(listener, tmp_path):
    """Without the variables."""
    (tmp_path / "hello.txt").write_text("Hello")
    fd = listener.fileno()
    server = Server([BUILD / "skua", tmp_path, "--listen", f"fd:{fd}"], listener.getsockname(), fds=(fd,))
    listener.close()
    assert server.get("/hello.txt").content == b"Hello"
    assert eventually(lambda: f"127.0.0.1:{server.port}" in server.error_text())
    server.stop()


# ---- Over TLS ----


@pytest.fixture
def inherits(launch, tmp_path):
    """inherits(count, *words) starts the program with so many sockets, and gives it and their addresses."""
    (tmp_path / "hello.txt").write_text("Hello")

    def start(count, *words):
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        at = [listener.getsockname() for listener in listeners]
        site = launch(Server, starting(listeners, tmp_path, *words), at[0], fds=[s.fileno() for s in listeners], wait=False)
        for listener in listeners:
            listener.close()
        assert eventually(lambda: " serves " in site.error_text()), site.error_text()
        return site, at

    return start


def speaks(address):
    """The protocol that an address is answered by."""
    with Connection(address) as plain:
        response = plain.get("/hello.txt")
    if response.status != 400:
        return f"http {response.status}"
    with Connection(address, tls={"server_name": "localhost"}) as secure:
        assert secure.get("/hello.txt").content == b"Hello"
    return "https"


@pytest.mark.of_tls
@pytest.mark.in_the_clear("it says for itself what is spoken")
def test_they_speak_https_where_it_is_asked_for(inherits):
    site, at = inherits(2, *certificate().options)
    assert [speaks(address) for address in at] == ["https", "https"]
    assert "http://" not in site.error_text() and ":8080" not in site.error_text()


@pytest.mark.of_tls
@pytest.mark.in_the_clear("it says for itself what is spoken")
def test_they_speak_http_beside_an_address_of_https(inherits):
    port = free_port()
    _, at = inherits(1, "--tls-listen", port, *certificate().options)
    assert speaks(at[0]) == "http 200" and speaks(("127.0.0.1", port)) == "https"


@pytest.mark.of_tls
@pytest.mark.in_the_clear("it says for itself what is spoken")
def test_each_speaks_as_it_is_named(inherits):
    site, at = inherits(3, "--tls-listen", "fd:4", "--listen", "fd:3", "--redirect-http", *certificate().options)
    assert speaks(at[0]) == "http 308" and speaks(at[1]) == "https"
    with Connection(at[0]) as plain:
        assert plain.get("/a").get("location") == f"https://localhost:{at[1][1]}/a"
    assert str(at[2][1]) not in site.error_text()  # nobody has named it


@pytest.mark.of_tls
@pytest.mark.in_the_clear("nothing is served")
@pytest.mark.parametrize("words, sentence", [
    (["--redirect-http"], "--redirect-http needs to know which of the sockets that skua was started with speak HTTPS"),
    (["--listen", "fd:3", "--listen", "fd:3"], "descriptor 3 is listened on already"),
    (["--tls-listen", "fd:3", "--listen", "fd:0"], "descriptor 0 is not a listening stream socket"),
])
def test_what_cannot_be_served(listener, tmp_path, words, sentence):
    done = subprocess.run(starting([listener], tmp_path, *words, *certificate().options), pass_fds=[listener.fileno()],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
    check_sanitizers(done.stderr)
    assert done.returncode == 1 and f"skua: {sentence}" in done.stderr and done.stderr.count("\n") == 1
