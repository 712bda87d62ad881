# SPDX-License-Identifier: MIT
"""The bench's small parts: that they run, and that they read what clients print."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"


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
