# SPDX-License-Identifier: MIT
"""The bench's small parts: that they run, and that they read what clients print."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from server import numbered

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))
import loads  # noqa: E402  (the bench is no package)
import seeds  # noqa: E402

AB = """
Complete requests:      980
Failed requests:        3
   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)
Non-2xx responses:      2
Requests per second:    20123.45 [#/sec] (mean)
  50%      4
  99%     11
"""
WRK = """
    Latency Distribution
     50%  812.00us
     99%    2.50ms
  401234 requests in 2.00s, 57.00MB read
  Socket errors: connect 7, read 0, write 0, timeout 12
Requests/sec: 200617.00
"""


@pytest.mark.skipif(not (RELEASE / "bench_micro_head").exists(), reason="the bench is not built")
def test_micro():
    """Both ways agree about every sample, or there would be no figures."""
    done = subprocess.run([sys.executable, ROOT / "bench/micro.py", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert {case["noun"] for case in found["cases"]} == {"head", "chunked", "target", "answer"}
    for case in found["cases"]:
        assert all(ns > 0 for ns in case["ns"]), case
        if found["counted_by"] in ("callgrind", "perf_event_open"):
            assert all(count > 20 for count in case["instructions"]), case


@pytest.fixture
def ask(launch, tmp_path):
    """ask(rate, during) runs the bench's client for a second and gives its counts; during(server) runs meanwhile."""
    if not (RELEASE / "bench_client").exists():
        pytest.skip("the bench is not built")
    server = launch(numbered, "hello", "--workers", "1", build=RELEASE)
    (tmp_path / "request").write_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def run(rate, during=None):
        argv = [RELEASE / "bench_client", "--port", str(server.port), "--connections", "4", "--request", tmp_path / "request",
                "--seconds", "1", "--rate", str(rate)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout.readline() == "ready\n"
            client.stdin.write("go\n")
            client.stdin.flush()
            if during:
                during(server)
            counts = json.loads(client.stdout.readline())
            client.communicate("end\n")
        assert client.returncode == 0
        return counts

    return run


def test_open_loop_asks_by_the_clock(ask):
    counts = ask(500)
    assert counts["requests"] == 500 and not any(counts[kind] for kind in loads.ERRORS_OF_CLIENT)


def test_open_loop_counts_what_a_stall_delays(ask):
    """A closed loop would see four slow answers in a thousand; four hundred were late."""

    def stall(server):
        time.sleep(0.3)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(server.pid, signal.SIGCONT)

    counts = ask(1000, stall)
    assert counts["requests"] == 1000 and not any(counts[kind] for kind in loads.ERRORS_OF_CLIENT)
    assert 300 < counts["p99_ms"] < 2000, counts


def test_ab_is_read():
    assert loads.ab_figures(AB, 1000) == {
        "requests": 980, "per_second": 20123.45, "errors": {"failed": 3, "not 2xx": 2, "unfinished": 20},
        "p50_ms": 4, "p99_ms": 11,
    }


def test_wrk_is_read():
    assert loads.wrk_figures(WRK) == {
        "requests": 401234, "per_second": 200617, "errors": {"connect": 7, "timeout": 12}, "p50_ms": 0.812, "p99_ms": 2.5,
    }


def test_seeds_show_medians_and_every_error():
    results = {"nginx": [(100.0, 9.0, {})] * 3, "Skua": [(150.0, 6.0, {"read": 1}), (90.0, 8.0, {"read": 2}), (200.0, None, {})]}
    assert seeds.cell(results["Skua"]) == "150/s (7.0 µs); 3 read errors"
    assert seeds.ratio(results, "Skua", "nginx") == "1.50"
    assert seeds.ratio({"Skua": results["Skua"]}, "Skua", "nginx") == "–"
