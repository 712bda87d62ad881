# SPDX-License-Identifier: MIT
"""Autobahn's testsuite, its fuzzing client, over ws, wss, and over HTTP/2 by HAProxy: every case passes, and none passes only when
judged kindly."""

import json
import subprocess

import haproxy
import pytest
from server import ROOT, lacks_tls, numbered, secure

WSTEST = ROOT / "build/autobahn/bin/wstest"
PATIENCE_S = 3000

pytestmark = [
    pytest.mark.in_the_clear("chooses its transports itself"),
    pytest.mark.test_all,
    pytest.mark.skipif(not WSTEST.exists(), reason="Autobahn's testsuite is not installed: it needs Python 2.7"),
]


@pytest.fixture(params=["ws", "wss", "h2"])
def server(request, tmp_path):
    if request.param == "wss" and lacks_tls():
        pytest.skip(lacks_tls())
    if request.param == "h2" and not haproxy.PROGRAM:
        pytest.skip("there is no haproxy here")
    server = secure("echo") if request.param == "wss" else numbered("echo")
    front = haproxy.over_http2(server, tmp_path) if request.param == "h2" else None
    yield front or server
    if front:
        haproxy.stop(front)
    server.stop()


def deflates(server):
    """Whether the server was built with zlib."""
    offer = ("Host: localhost", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Extensions: permessage-deflate")
    with server.connect() as connection:
        connection.send("\r\n".join(("GET /ws HTTP/1.1", *offer, "", "")).encode())
        octets = b""
        while b"\r\n\r\n" not in octets:
            octets += connection.exactly(1)
    return b"permessage-deflate" in octets.lower()


ALL, OF_COMPRESSION = 517, 216
CASES_OF_COMPRESSION = ["12.*", "13.*"]


def test_every_case(server, tmp_path):
    without = [] if deflates(server) else CASES_OF_COMPRESSION
    url = server.url.replace("http", "ws", 1) + "/ws"
    specification = {"outdir": str(tmp_path / "out"), "servers": [{"agent": "skua", "url": url}], "cases": ["*"],
                     "exclude-cases": without, "exclude-agent-cases": {}}
    (tmp_path / "cases.json").write_text(json.dumps(specification))
    done = subprocess.run([WSTEST, "-m", "fuzzingclient", "-s", tmp_path / "cases.json"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out/index.json").read_text())["skua"]
    assert len(results) == (ALL - OF_COMPRESSION if without else ALL)
    wrong = {case: result for case, result in results.items()
             if result["behavior"] not in ("OK", "INFORMATIONAL") or result["behaviorClose"] not in ("OK", "INFORMATIONAL")}
    assert not wrong
