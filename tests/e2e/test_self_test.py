# SPDX-License-Identifier: MIT
"""skua --self-test: what it prints, and that its choice follows from that."""

import os
import re
import signal
import subprocess
import time

import pytest
from seccomp import URING_SETUP, forbid
from server import BUILD, check_sanitizers

KIB = [4, 16, 32, 64, 128]
BACKENDS = ("kqueue", "uring", "epoll")  # in the order of preference
LEAD = 0.97  # what a later one may cost of a former, to be chosen


def run(folder, **options):
    """Its exit status, output and errors."""
    done = subprocess.run(
        [BUILD / "skua", "--self-test"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "TMPDIR": str(folder)}, **options,
    )
    check_sanitizers(done.stderr)
    return done


def figures(text):
    """The costs of the backends by name, None where refused, and those of files by size: (from memory, by sendfile)."""
    backends = {
        name: None if cost == "refused here" else float(cost)
        for name, cost in re.findall(r"^(epoll|kqueue|uring) +([\d.]+|refused here)$", text, re.M)
    }
    files = {int(kib): (float(m), float(s)) for kib, m, s in re.findall(r"^ *(\d+) KiB +([\d.]+) +([\d.]+)$", text, re.M)}
    return backends, files


def best_backend(backends):
    chosen = None
    for name in BACKENDS:
        cost = backends.get(name)
        if cost and (chosen is None or cost <= backends[chosen] * LEAD + 1e-9):
            chosen = name
    return chosen


def from_memory(files):
    largest = 0
    for kib in KIB:
        memory, sendfile = files[kib]
        if memory > sendfile:
            break
        largest = kib
    return f"files up to {largest} KiB from memory" if largest else "no file from memory"


def check_choice(text):
    backends, files = figures(text)
    assert list(files) == KIB and all(cost > 0 for pair in files.values() for cost in pair), text
    assert backends and all(cost is None or cost > 0 for cost in backends.values()), text
    assert text.splitlines()[-1] == f"would pick: backend {best_backend(backends)}, {from_memory(files)}", text
    return backends


def test_picks_by_its_figures(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    check_choice(done.stdout)
    assert not list(tmp_path.iterdir())


def test_measures_without_io_uring(tmp_path):
    done = run(tmp_path, preexec_fn=forbid(URING_SETUP, 1))
    assert done.returncode == 0, done.stderr
    backends = check_choice(done.stdout)
    if "kqueue" in backends:
        pytest.skip("io_uring is not for this build")
    assert backends["uring"] is None and backends["epoll"]
    assert "uring cannot be used" in done.stderr


def test_it_may_be_stopped_and_go_on(tmp_path):
    """As a shell does it, by Ctrl-Z and fg; whatever it waits for then."""
    with subprocess.Popen([BUILD / "skua", "--self-test"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        said, faults = process.communicate()
    assert process.returncode == 0, faults
    check_choice(said)


def test_says_where_no_files_can_be_made(tmp_path):
    done = run(tmp_path / "missing")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"skua: no files can be made in {tmp_path}/missing; TMPDIR may name another directory\n"


def test_help_names_it():
    assert "--self-test" in subprocess.check_output([BUILD / "skua", "--help"], text=True)
