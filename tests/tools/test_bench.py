# SPDX-License-Identifier: MIT
"""The bench's small parts: that they run, and that they read what clients print."""

import json
import pathlib
import subprocess
import sys

import pytest

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
