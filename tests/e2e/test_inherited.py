# SPDX-License-Identifier: MIT
"""Sockets that the program is started with, as by systemd."""

import os
import socket
import subprocess
import sys

import pytest

from server import BUILD, Server

# A process that becomes the program, with its listening socket as descriptor 3, as sd_listen_fds(3) has it.
STARTER = """
import os, sys
os.dup2(int(sys.argv[1]), 3, inheritable=True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = "1"
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def started(listener, folder, *words):
    command = [sys.executable, "-c", STARTER, str(listener.fileno()), str(BUILD / "skua"), str(folder), *words]
    return Server(command, listener.getsockname(), fds=(listener.fileno(),))


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
