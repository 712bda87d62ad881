# SPDX-License-Identifier: MIT
"""The book and the cookbook: each program compiles without a warning, and answers what stands beside it.

A fence names the file of a whole program: ```c hello.c. Those of ```console behind it hold commands, which are run against it, and
what they print. Fences without a name are fragments."""

import re
import subprocess
from dataclasses import dataclass, field

import pytest
from compiling import needed_libraries, sanitizers
from ports import free_port
from server import BUILD, ROOT, Server

pytestmark = [pytest.mark.in_the_clear("the programs of the book"), pytest.mark.of_http1("the programs of the book")]

PAGES = [*sorted((ROOT / "docs/book").glob("*.md")), ROOT / "docs/cookbook.md", ROOT / "docs/coming-from-libraries.md"]
FENCE = re.compile(r"^```(\w+)(?: ([\w.]+))?\n(.*?)^```$", re.M | re.S)
COMPILERS = {"c": ["cc", "-std=c17"], "cpp": ["c++", "-std=c++20"]}


@dataclass
class Program:
    page: str
    language: str
    name: str
    text: str
    sessions: list = field(default_factory=list)


def programs():
    found = []
    for page in PAGES:
        for language, name, text in FENCE.findall(page.read_text()):
            if name:
                found.append(Program(page.name, language, name, text))
            elif language == "console":
                assert found and found[-1].page == page.name, f"{page.name}: a session without a program"
                found[-1].sessions.append(text)
    return found


def compiled(program, folder, text):
    source = folder / program.name
    source.write_text(text)
    subprocess.run([*COMPILERS[program.language], "-Wall", "-Wextra", "-Werror", *sanitizers(), "-I", ROOT / "include",
                    "-I", ROOT / "middleware", source, BUILD / "libskua.a", *needed_libraries(), "-pthread", "-o", folder / "program"],
                   check=True)
    return folder / "program"


def steps(session):
    """(command, what it prints) of a session."""
    parts = re.split(r"^\$ (.*)\n", session, flags=re.M)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2]))


# Those of the cookbook are many.
@pytest.mark.parametrize("program", [pytest.param(p, id=f"{p.page}-{p.name}", marks=[pytest.mark.test_all] * (p.page == "cookbook.md"))
                                     for p in programs()])
def test_program(tmp_path, program):
    port = free_port()
    has_address = "127.0.0.1:8080" in program.text
    path = compiled(program, tmp_path, program.text.replace(":8080", f":{port}"))
    (tmp_path / "public").mkdir()
    (tmp_path / "public/index.html").write_text("<p>the page</p>\n")
    if not has_address:
        assert subprocess.run([path], cwd=tmp_path, stdout=subprocess.DEVNULL, timeout=20, check=False).returncode == 0
        return
    assert program.sessions, f"{program.page}: nothing is tried with {program.name}"
    server = Server([path], ("127.0.0.1", port), cwd=tmp_path)
    try:
        for command, printed in (step for session in program.sessions for step in steps(session)):
            command = re.sub(r"\bcurl\b", "curl -sS --max-time 50", command.replace(":8080", f":{port}"))
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
            assert done.stdout.replace("\r\n", "\n") == printed, f"{program.page}: $ {command}\n{done.stdout}{done.stderr}"
    finally:
        server.process.kill()
        server.process.wait()
