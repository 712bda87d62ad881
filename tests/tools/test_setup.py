# SPDX-License-Identifier: MIT
"""tools/setup installs what is missing, or says all of it at once where it cannot."""

import os
import pathlib
import shutil
import subprocess

import pytest
from server import ROOT

# Programs that the script itself runs; the project needs none of them.
OWN = ["sh", "cat", "cmp", "cp", "cut", "dirname", "grep", "mkdir", "rm", "touch", "tr"]
TO_BUILD = ["cmake", "ninja-build", "gcc", "libc6-dev", "python3"]
TO_TEST = ["clang", "g++", "pkg-config", "curl", "wget", "openssl", "nghttp2-client", "strace", "valgrind", "qemu-user-static",
           "musl-tools", "goaccess", "python3-venv"]


class Machine:
    """A folder with a copy of the script, and a PATH of what the machine is to have."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in OWN:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in ("tools/setup", "tests/requirements.txt"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.has("id", "echo 1000")

    def has(self, name, body="exit 0"):
        (self.bin / name).write_text(f"#!{shutil.which('sh')}\n{body}\n")
        (self.bin / name).chmod(0o755)

    def setup(self, purpose):
        done = subprocess.run([self.folder / "tools/setup", purpose], env={**os.environ, "PATH": str(self.bin)},
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def row(said, name):
    """The packages of a line that begins with name."""
    (line,) = [line for line in said.splitlines() if line.strip().startswith(name)]
    return line.split(":", 1)[1].split()


@pytest.mark.parametrize("purpose", ["build", "test"])
def test_without_root_and_sudo(machine, purpose):
    machine.has("apt-get", f"echo called >>{machine.folder}/log")
    code, _, said = machine.setup(purpose)
    assert code == 1 and machine.log() == []
    assert "not found" not in said and "There is no sudo here" in said and "apt-get install" in said
    assert row(said, "to build") == TO_BUILD
    assert row(said, "to test")[:len(TO_TEST)] == TO_TEST


def test_without_apt(machine):
    code, _, said = machine.setup("test")
    assert code == 1 and "Debian names" in said
    assert row(said, "to build") == TO_BUILD and set(TO_TEST) <= set(row(said, "to test"))


def test_tests_are_not_asked_for_to_build(machine):
    for name in ("cmake", "ninja", "cc", "python3"):
        machine.has(name)
    assert machine.setup("build") == (0, "", "")


def test_what_is_there_is_not_named(machine):
    machine.has("cmake")
    machine.has("curl")
    _, _, said = machine.setup("build")
    assert row(said, "to build") == TO_BUILD[1:] and "curl" not in row(said, "to test")


def test_headers_that_are_there_are_not_named(machine):
    """Those of C++ too."""
    (machine.bin / "cc").symlink_to(shutil.which("cc"))
    _, _, said = machine.setup("test")
    headers = {"liburing.h": "liburing-dev", "nlohmann/json.hpp": "nlohmann-json3-dev", "rapidjson/document.h": "rapidjson-dev"}
    for header, package in headers.items():
        assert (package in row(said, "to test")) != pathlib.Path("/usr/include", header).exists(), package


def test_with_sudo(machine):
    machine.has("sudo", f'echo "$@" >>{machine.folder}/log')
    machine.has("apt-get")
    code, said, _ = machine.setup("build")
    assert code == 0 and row(said, "Installing with apt") == TO_BUILD
    assert machine.log() == ["apt-get update -qq", "apt-get install -y -qq " + " ".join(TO_BUILD)]


def test_sudo_that_refuses(machine):
    machine.has("sudo", "exit 1")
    machine.has("apt-get")
    code, _, said = machine.setup("build")
    assert code == 1 and row(said, "to build") == TO_BUILD and set(TO_TEST) <= set(row(said, "to test"))
