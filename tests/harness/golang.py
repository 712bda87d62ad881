# SPDX-License-Identifier: MIT
"""Go, for clients that are written in it."""

import re
import shutil
import subprocess

import pytest


def is_new_enough():
    """Whether there is one of 1.24 or later, which speaks HTTP/2 in the clear."""
    if not shutil.which("go"):
        return False
    said = subprocess.run(["go", "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go1\.(\d+)", said)
    return bool(found) and int(found.group(1)) >= 24


needed = pytest.mark.skipif(not is_new_enough(), reason="there is no Go of 1.24 or later")


def build(folder, *words, program):
    """words: the sources, or nothing for the module that folder is."""
    done = subprocess.run(["go", "build", "-o", program, *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return program
