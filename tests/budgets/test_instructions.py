# SPDX-License-Identifier: MIT
"""Instructions in user space per request, of the library as it is installed, as valgrind's callgrind counts them.

A server that answers N requests and one that answers 2 N differ by what N requests cost: starting and stopping
cancel out, and the count hardly depends on the machine or on who else uses it. It depends on the compiler, so that
instructions.json has budgets for each that is known; a budget may only fall. After a change that makes requests
cheaper, this writes the new figures down:

    SKUA_RECORD=1 build/venv/bin/python -m pytest tests/budgets/test_instructions.py
"""

import math
import os
import pathlib
import re

import pytest
from instructions import SLACK, VALGRIND, compiler, compiler_path, known, record
from compiling import needed_libraries, run
from server import RELEASE, ROOT, Server, free_port
from wire import Connection, request

REQUESTS = 1600


@pytest.fixture(scope="module")
def hello(tmp_path_factory):
    """A small server, compiled with what the release build installs."""
    prefix = tmp_path_factory.mktemp("installed")
    servers = ROOT / "tests/servers"
    run(["cmake", "--install", RELEASE, "--prefix", prefix])
    run([compiler_path(), "-std=c17", "-O2", "-D_GNU_SOURCE", "-I", prefix / "include",
         servers / "hello.c", servers / "options.c", servers / "tls_options.c", next(prefix.rglob("libskua.a")), *needed_libraries(RELEASE), "-pthread", "-o", prefix / "hello"])
    return prefix / "hello"


def executed(hello, folder, requests, depth):
    """Instructions of a whole run that answers so many requests on one connection, depth at a time."""
    port = free_port()
    counts = folder / f"callgrind.{requests}"
    server = Server(
        [VALGRIND, "--tool=callgrind", "--quiet", f"--callgrind-out-file={counts}", hello, "--port", port,
         "--workers", "1", "--backend", "epoll"],
        ("127.0.0.1", port),
    )
    try:
        batch = request("/") * depth
        with Connection(server.address) as connection:
            for _ in range(requests // depth):
                connection.send(batch)
                for _ in range(depth):
                    assert connection.response("GET").content == b"Hello, World!"
    finally:
        server.stop()
    return int(re.search(r"^totals: (\d+)", counts.read_text(), re.MULTILINE).group(1))


def per_request(hello, folder, depth, enough):
    """Of up to three runs the least: whatever disturbs one only adds to it. enough: what needs no second look."""
    few = many = math.inf
    for _ in range(3):
        few = min(few, executed(hello, folder, REQUESTS, depth))
        many = min(many, executed(hello, folder, 2 * REQUESTS, depth))
        if (many - few) / REQUESTS <= enough:
            break
    return (many - few) / REQUESTS


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")
@pytest.mark.parametrize("name, depth", [("keep-alive", 1), ("pipelined by 16", 16)])
def test_instructions(hello, name, depth, tmp_path, record_property):
    key = compiler()
    budget = known(key, name)
    recording = bool(os.environ.get("SKUA_RECORD"))
    found = per_request(hello, tmp_path, depth, 0 if recording else (budget or math.inf) * SLACK)
    record_property("instructions", round(found))
    if recording:
        budget = record(key, name, found)
    print(f"{name}: {found:.0f} instructions per request, of {budget} ({key})")
    if budget is None:
        pytest.skip(f"no budget is known for {key}: {found:.0f} instructions per request")
    if found < budget / SLACK:
        print(f"The budget can be lowered: see {pathlib.Path(__file__).name}")
    assert found <= budget * SLACK, f"{name}: {found:.0f} instructions per request, of {budget}"
    assert found > 100, "this counts something else"
