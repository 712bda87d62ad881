# SPDX-License-Identifier: MIT
"""Packages under test: made once in a run of the tests, by the tools that a release is made with."""

import functools
import re
import shutil
import subprocess
import sys

import pytest
from ports import free_port
from server import ROOT, Server

sys.path.insert(0, str(ROOT / "tools"))
from release import static  # noqa: E402
from release.common import version  # noqa: E402

VERSION = version()
ABI = ".".join(VERSION.split(".")[:2])
PROCESSORS = ["x86_64", "aarch64"]


@functools.cache
def static_program(processor):
    """The static program of a processor. Its libraries are kept in build/static, the program is made anew."""
    return static.build(processor)


def runner(processor):
    """The words before a program of that processor."""
    return [] if processor == "x86_64" else [f"qemu-{processor}-static"]


def needed(name, why="is not to be had here"):
    """A tool's path; without it the test is skipped."""
    found = shutil.which(name, path=f"{ROOT}/build/go:/usr/bin:/usr/local/bin:/usr/sbin") or shutil.which(name)
    if not found:
        pytest.skip(f"{name} {why}")
    return found


def said(words, **options):
    """The output of a command that succeeds, standard error too."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}"
    return done.stdout


def serving(words, **options):
    """A server that a command starts, on the free port that stands for PORT in its words."""
    port = free_port()
    return Server([re.sub(r"\bPORT\b", str(port), str(w)) for w in words], ("127.0.0.1", port), **options)
