# SPDX-License-Identifier: MIT
"""skua health, by which a container without a client of its own asks its server."""

import socket
import subprocess
import threading

import pytest
from conf import start, write_folder
from ports import free_port
from server import BUILD, check_sanitizers

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]


def health(*words, cwd=None):
    done = subprocess.run([BUILD / "skua", "health", *words], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    check_sanitizers(done.stderr)
    return done.returncode, done.stderr


@pytest.mark.parametrize("status", ["127.0.0.1:{}", "[::1]:{}", "unix:{0}/status.sock"])
def test_a_server_is_well(tmp_path, launch, status):
    folder = write_folder(tmp_path)
    status = status.format(free_port() if "{}" in status and "unix" not in status else folder)
    launch(start, folder, f"listen 127.0.0.1:PORT\nstatus {status}\nsite * {{\n    root pub\n}}\n")
    assert health(status, cwd=folder) == (0, "")
    conf = next(folder.glob("*.conf"))
    assert health("-c", conf, cwd=folder) == (0, "")


@pytest.mark.parametrize("address", ["127.0.0.1:{}", ":{}", "unix:/nobody", "unix:/" + "x" * 200])
def test_nobody_answers(address):
    address = address.format(free_port())
    assert health(address) == (1, f"skua: {address} cannot be reached\n")


@pytest.mark.parametrize("response,why", [
    (b"", "does not answer"),
    (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", 'answers "HTTP/1.1 503 Service Unavailable"'),
    (b"HTTP/1.1 2\x1b[31m\r\n\r\n", 'answers "HTTP/1.1 2?[31m"'),
])
def test_one_that_is_not_well(response, why):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def answer():
            with listener.accept()[0] as client:
                client.recv(1000)
                client.sendall(response)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert health(address) == (1, f"skua: {address} {why}\n")
        thread.join()


def test_words(tmp_path):
    needs = "skua: health needs the address of a status listener: skua health ADDRESS, or -c FILE with a line status ADDRESS\n"
    assert health() == (2, needs)
    (tmp_path / "pub").mkdir()
    (tmp_path / "f.conf").write_text("listen :0\nsite * {\n root pub\n}\n")
    assert health("-c", "f.conf", cwd=tmp_path) == (2, needs)
    assert health("-c", "none", cwd=tmp_path) == (1, 'none:1:1: "none": there is no such file\n')
