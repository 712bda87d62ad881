# SPDX-License-Identifier: MIT
"""permessage-deflate with others' clients: ws of npm, gorilla/websocket of Go, wsproto with h2 over HTTP/2, and Chromium."""

import json
import os
import shutil
import subprocess

import browser
import golang
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived
from server import ROOT, eventually, numbered
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, TextMessage
from wsproto.extensions import PerMessageDeflate

pytestmark = pytest.mark.in_the_clear("HTTP/1 and HTTP/2 in the clear; test_autobahn.py has TLS")
PATIENCE_S = 120
PATHS = ["/shared", "/dedicated", "/large"]
MODULES = ROOT / "build/npm/node_modules"


@pytest.fixture(scope="module")
def server():
    server = numbered("deflates")
    if server.get("/built-in").status == 404:
        server.stop()
        pytest.skip("zlib is not built in")
    yield server
    server.stop()


def run(words, **options):
    """The extensions that a client says were agreed on. It ends with "done" when each message came back as it was sent."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)
    assert done.returncode == 0, done.stderr
    extensions, last = done.stdout.splitlines()
    assert last == "done"
    return extensions


def url(server, path):
    return f"ws://127.0.0.1:{server.port}{path}"


# ---- npm ----


@pytest.mark.skipif(not shutil.which("node") or not (MODULES / "ws").exists(), reason="ws of npm is not installed")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("options", [{}, {"serverNoContextTakeover": True, "clientNoContextTakeover": True},
                                     {"serverMaxWindowBits": 9, "clientMaxWindowBits": 10}], ids=json.dumps)
def test_npm(server, path, options):
    client = ROOT / "tests/e2e/ws_npm/client.js"
    extensions = run(["node", client, url(server, path), json.dumps(options)], env={**os.environ, "NODE_PATH": str(MODULES)})
    assert extensions == "permessage-deflate"


# ---- Go ----


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    module = ROOT / "tests/e2e/ws_go"
    got = subprocess.run(["go", "mod", "download"], cwd=module, capture_output=True, text=True, timeout=300, check=False)
    if got.returncode:
        pytest.skip(f"gorilla/websocket is not to be had here: {got.stderr}")
    return golang.build(module, program=tmp_path_factory.mktemp("go") / "client")


@pytest.mark.test_all
@golang.needed
@pytest.mark.parametrize("path", PATHS)
def test_go(server, go, path):
    extensions = run([go, url(server, path)])
    assert extensions.startswith("permessage-deflate; server_no_context_takeover; client_no_context_takeover")


# ---- HTTP/2 ----


class Tunnel:
    """One socket over HTTP/2, by h2 and wsproto."""

    def __init__(self, server, path):
        self.connection = server.connect(http2=False)
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8", validate_outbound_headers=False))
        self.h2.initiate_connection()
        deflate = PerMessageDeflate()
        self.head, self.events, self.ws = None, [], None
        self.h2.send_headers(1, [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", path),
                                 (":authority", "localhost"), ("sec-websocket-version", "13"),
                                 ("sec-websocket-extensions", f"permessage-deflate; {deflate.offer()}")], end_stream=False)
        while not self.head:
            self.read()
        deflate.finalize(self.head["sec-websocket-extensions"])
        self.ws = Connection(ConnectionType.CLIENT, extensions=[deflate])

    def read(self):
        self.connection.send(self.h2.data_to_send())
        octets = self.connection.socket.recv(65536)
        assert octets, "the connection ended"
        for event in self.h2.receive_data(octets):
            if isinstance(event, ResponseReceived):
                self.head = dict(event.headers)
            elif isinstance(event, DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self.ws.receive_data(event.data)
                self.events += self.ws.events()
        self.connection.send(self.h2.data_to_send())

    def send(self, message):
        octets = self.ws.send(message)
        while octets:
            while not (room := min(self.h2.local_flow_control_window(1), self.h2.max_outbound_frame_size)):
                self.read()
            self.h2.send_data(1, octets[:room])
            octets = octets[room:]

    def message(self):
        parts = []
        while True:
            while not self.events:
                self.read()
            parts.append(self.events.pop(0))
            if parts[-1].message_finished:
                return type(parts[0].data)().join(part.data for part in parts)


@pytest.mark.parametrize("path", PATHS)
def test_http2(server, path):
    tunnel = Tunnel(server, path)
    assert tunnel.head[":status"] == "200" and tunnel.head["sec-websocket-extensions"].startswith("permessage-deflate")
    for message in ("", "short", "a word, and another. " * 5000, os.urandom(150000), bytes(200000)):
        for _ in range(3):
            tunnel.send(TextMessage(data=message) if isinstance(message, str) else BytesMessage(data=message))
            assert tunnel.message() == message


# ---- Chromium ----


@pytest.mark.test_all
@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("path,agreed", [("/shared", "; server_no_context_takeover; client_no_context_takeover"),
                                         ("/dedicated", "; client_max_window_bits=12"), ("/large", "")])
def test_chromium(server, path, agreed, tmp_path):
    with browser.page(tmp_path) as page:
        page.open(f"{server.url}/page?{path}")
        said = "document.querySelector('p')?.textContent ?? ''"
        assert eventually(lambda: page.ask(said) not in ("", "waiting"), within=PATIENCE_S)
        assert page.ask(said) == f"permessage-deflate{agreed} true,true,true,true,true"
