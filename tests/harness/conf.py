# SPDX-License-Identifier: MIT
"""Servers that are told by a skua.conf, and which directives a test is about."""

import base64
import os
import pathlib
import re
import signal
import subprocess

from ports import free_port
from server import BACKEND, BUILD, ROOT, Server, eventually

SKUA = BUILD / "skua"


def of(*names):
    """Marks a test as that of these directives. test_every_directive_has_a_test reads it in the source."""
    assert names
    return lambda test: test


def start(folder, text, name="skua.conf", program=SKUA, **options):
    """A server with that configuration. PORT and TLS_PORT stand for free ports; the latter may be missing."""
    port, secure = free_port(), free_port()
    backend = f"backend {BACKEND}\n" if BACKEND and "\nbackend" not in text else ""
    file = folder / name
    file.write_text(backend + text.replace("TLS_PORT", str(secure)).replace("PORT", str(port)))
    server = Server([program, "-c", file], ("127.0.0.1", port), **options)
    server.secure = ("127.0.0.1", secure)
    # clients may connect before the server process accepts: the supervisor's sockets are there first
    if options.get("wait", True):
        assert eventually(lambda: " serves " in server.error_text()), server.error_text()
    return server


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def process_of(server):
    """The process that serves, which is a child of the supervisor."""
    return children(server.pid)[-1]


def ended(pid):
    """Whether a process is gone, or is only waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def whole_lines(file):
    """The lines of a file that is being written: the last one may be under way."""
    return file.read_text().rpartition("\n")[0].splitlines()


def logs_to(server, file):
    """Waits until the process that serves has that file for its log. It is made before, by the supervisor."""
    assert eventually(lambda: os.readlink(f"/proc/{process_of(server)}/fd/1") == str(file))


def crash(server):
    """Kills the process that serves, and returns its number."""
    before = process_of(server)
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: ended(before))
    return before


def replaced(server, before):
    return eventually(lambda: (now := children(server.pid)) and now[-1] != before)


def get(server, host, path="/", *lines, **options):
    return server.get(path, *lines, host=host, **options)


def basic(name, password):
    return "Authorization: Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def write_folder(folder):
    """Makes the folders that the configurations of the tests serve."""
    pub = folder / "pub"
    (pub / "empty").mkdir(parents=True)
    (pub / "index.html").write_text("<p>here</p>")
    (pub / "home.html").write_text("<p>home</p>")
    (pub / "text.txt").write_text("text " * 1000)
    (pub / ".hidden").write_text("hidden")
    (pub / "link").symlink_to("text.txt")
    (folder / "outside.txt").write_text("outside")
    (pub / "out").symlink_to("../outside.txt")
    (folder / "other").mkdir()
    (folder / "other" / "a.txt").write_text("other")
    with open(pub / "big", "wb") as big:
        big.truncate(40_000_000)
    return folder


def check_finds(folder, text, finding):
    """skua check of a text, which stands behind a line with listen, has a finding at LINE:COLUMN of the text."""
    (folder / "f.conf").write_text("listen :0\n" + text)
    run = subprocess.run([SKUA, "check", "-c", "f.conf"], cwd=folder, capture_output=True, text=True, timeout=20, check=False)
    line, rest = finding.split(":", 1)
    assert run.returncode == 1 and f"f.conf:{int(line) + 1}:{rest}" in run.stdout + run.stderr


def table():
    """Names in the program's table of directives."""
    text = (ROOT / "program/conf/table.c").read_text()
    body = text[text.index("table_kinds[] = {"):]
    return re.findall(r'^    \{ "(\w+)", TABLE_', body[:body.index("\n};")], re.M)


def covered():
    """Names that @of has in the tests."""
    texts = "".join(file.read_text() for file in (ROOT / "tests/e2e").glob("test_*.py"))
    return {name for names in re.findall(r"^@of\((.*?)\)$", texts, re.M) for name in re.findall(r'"(\w+)"', names)}
