# SPDX-License-Identifier: MIT
"""The programs in the documents compile as they stand, and serve."""

import re
import subprocess

import pytest
from compiling import needed_libraries, sanitizers
from ports import free_port
from server import BUILD, ROOT, Server


def from_readme():
    return re.search(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)


def from_header(name="skua.h"):
    lines = []
    for line in (ROOT / "include/skua" / name).read_text().splitlines():
        if line.startswith("//     "):
            lines.append(line[7:])
        elif lines and line != "//":
            break
        else:
            lines.append("") if lines else None
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("program", [from_readme, from_header])
def test_example(launch, tmp_path, program):
    text = program()
    assert text.count("127.0.0.1:8080") == 1
    port = free_port()
    for name, content in (("as-written", text), ("here", text.replace(":8080", f":{port}"))):
        (tmp_path / f"{name}.c").write_text(content)
        subprocess.run(
            ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include",
             tmp_path / f"{name}.c", BUILD / "libskua.a", *needed_libraries(), "-pthread", "-o", tmp_path / name],
            check=True,
        )
    server = Server([tmp_path / "here"], ("127.0.0.1", port))
    try:
        response = server.get("/")
        assert (response.status, response.content) == (200, b"Hello, World!")
        second = subprocess.run([tmp_path / "here"], stderr=subprocess.PIPE, text=True, timeout=20)
        assert second.returncode == 1
        assert f"skua: 127.0.0.1:{port} is in use by another process" in second.stderr
    finally:
        server.process.kill()
        server.process.wait()


def cpp_from_readme():
    return re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)


def cpp_from_header():
    return from_header("skua.hpp")


@pytest.mark.parametrize("program", [cpp_from_readme, cpp_from_header])
def test_example_in_cpp(tmp_path, program):
    text = program()
    assert text.count("127.0.0.1:8080") == 1
    port = free_port()
    (tmp_path / "here.cpp").write_text(text.replace(":8080", f":{port}"))
    subprocess.run(
        ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include",
         tmp_path / "here.cpp", BUILD / "libskua.a", *needed_libraries(), "-pthread", "-o", tmp_path / "here"],
        check=True,
    )
    server = Server([tmp_path / "here"], ("127.0.0.1", port))
    try:
        assert server.get("/hello/you").content == b"Hello, you!"
    finally:
        server.process.kill()
        server.process.wait()
