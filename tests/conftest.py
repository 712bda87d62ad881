# SPDX-License-Identifier: MIT
"""Fixtures: servers, each stopped and judged at the end of what used it; and which tests are over TLS and HTTP/2 too."""

import os
import signal

import pytest
import tls
from server import lacks_tls, numbered, program


def pytest_configure(config):
    config.addinivalue_line("markers", "in_the_clear(reason): makes no sense over TLS")
    config.addinivalue_line("markers", "of_http1(reason): makes no sense over HTTP/2")
    config.addinivalue_line("markers", "of_tls: makes no sense without TLS")
    config.addinivalue_line("markers", "test_all: takes long, and is one of many of its kind; make test leaves it out")
    # Servers would inherit that it is ignored, as nohup leaves it, and a program keeps it so.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if tls.SECURED:
        tls.trust(os.environ)
    elif tls.HTTP2:
        tls.speak_http2(os.environ)


def pytest_collection_modifyitems(items):
    for item in items:
        for name, skipped in (("in_the_clear", tls.SECURED), ("of_http1", tls.HTTP2)):
            mark = item.get_closest_marker(name)
            if mark and skipped:
                item.add_marker(pytest.mark.skip(reason=f"{name.replace('_', ' ')}: {mark.args[0]}"))
        if item.get_closest_marker("of_tls") and lacks_tls():
            item.add_marker(pytest.mark.skip(reason=lacks_tls()))


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
