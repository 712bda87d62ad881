# SPDX-License-Identifier: MIT
"""Fixtures: servers, each stopped and judged at the end of what used it."""

import pytest
from server import numbered, program


@pytest.fixture
def launch():
    """launch(start, *words, **options) starts a server that is judged when the test ends."""
    started = []

    def start(make, *words, **options):
        server = make(*words, **options)
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def launch_rules(launch):
    return lambda *words, **options: launch(numbered, "rules", *words, **options)


@pytest.fixture
def serve(launch):
    return lambda folder, *words, **options: launch(program, folder, *words, **options)


@pytest.fixture(scope="module")
def echo():
    server = numbered("echo", "--workers", "1")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def hello():
    server = numbered("hello", "--workers", "1")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def rules():
    server = numbered("rules")
    yield server
    server.stop()
