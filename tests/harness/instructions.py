# SPDX-License-Identifier: MIT
"""Budgets of instructions: what is recorded, by the compiler that it holds for."""

import json
import re
import shutil
import subprocess

from server import RELEASE, ROOT

BUDGETS = ROOT / "tests/budgets/instructions.json"
SLACK = 1.02  # what the Date of another second, or a wake-up more, may add
VALGRIND = shutil.which("valgrind")


def compiler_path():
    cache = (RELEASE / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)


def compiler():
    """The compiler of the release build and what it compiles for: "gcc 12 x86_64"."""
    path = compiler_path()
    name = "clang" if "clang" in subprocess.check_output([path, "--version"], text=True) else "gcc"
    version, machine = (subprocess.check_output([path, word], text=True) for word in ("-dumpversion", "-dumpmachine"))
    return f"{name} {version.split('.')[0].strip()} {machine.split('-')[0]}"


def known(key, name):
    """The budget; None where there is none."""
    return json.loads(BUDGETS.read_text()).get(key, {}).get(name)


def record(key, name, found):
    """Writes a figure down when it is lower than the one that is there, or the first. Returns what stands."""
    budgets = json.loads(BUDGETS.read_text())
    of_key = budgets.setdefault(key, {})
    of_key[name] = min(round(found), of_key.get(name, round(found)))
    BUDGETS.write_text(json.dumps(budgets, indent=4, sort_keys=True) + "\n")
    return of_key[name]
