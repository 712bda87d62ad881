#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Costs of parts of the library by themselves, in nanoseconds and instructions, beside plain loops.

Instructions come from the kernel's counter (perf_event_open) where the machine lends one, and else from valgrind's
callgrind, which counts the same but takes longer.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOUNS = ("head", "chunk", "target", "answer")
BESIDE_NGHTTP2 = "hpack"  # is built where that library is installed
COUNTED = 500  # times each thing is done under callgrind


def program(build, noun):
    for folder in (build, os.path.join(build, "bench")):
        path = os.path.join(folder, f"bench_micro_{noun}")
        if os.access(path, os.X_OK):
            return path
    if noun == BESIDE_NGHTTP2:
        return None
    sys.exit(f"bench: bench_micro_{noun} is not built in {build} (cmake -DSKUA_BENCH=ON)")


def timed(path):
    done = subprocess.run([path], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(path):
    """Instructions of each loop, by callgrind: a dump whenever one ends."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(
            ["valgrind", "--tool=callgrind", "--quiet", "--zero-before=micro_begin", "--dump-before=micro_end",
             f"--callgrind-out-file={out}", path, "--count", str(COUNTED)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        totals = []
        while os.path.exists(f"{out}.{len(totals) + 1}"):
            with open(f"{out}.{len(totals) + 1}") as dump:
                totals.append(int(re.search(r"^totals: (\d+)", dump.read(), re.MULTILINE).group(1)))
    return totals


def add_instructions(cases, path):
    loop, *totals = counted(path)
    pairs = list(zip(totals[0::2], totals[1::2]))[:len(cases)]
    for case, pair in zip(cases, pairs, strict=True):
        case["instructions"] = [round((total - loop) / COUNTED) for total in pair]


def measured(build):
    """All cases, and by what their instructions were counted."""
    cases, way = [], "perf_event_open"
    for path in filter(None, (program(build, noun) for noun in (*NOUNS, BESIDE_NGHTTP2))):
        found = timed(path)
        if any(case["instructions"] is None for case in found):
            way = "callgrind" if shutil.which("valgrind") else "nothing: there is no counter here, and no valgrind"
            if shutil.which("valgrind"):
                add_instructions(found, path)
        cases += found
    return cases, way


def table(cases, way):
    lines = [f"Nanoseconds: the fastest of many short runs. Instructions: counted by {way}.", "",
             "| what | | octets | ns | plain ns | plain / ours | instructions | plain instructions |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for case in cases:
        ours, plain = case["ns"]
        instructions = case["instructions"] or ["", ""]
        lines.append(f"| {case['noun']} | {case['name']} | {case['octets']} | {ours:.1f} | {plain:.1f} "
                     f"| {plain / max(ours, 0.1):.1f} | {instructions[0]} | {instructions[1]} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="where the programs were built")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    options = parser.parse_args()
    cases, way = measured(options.build)
    print(json.dumps({"counted_by": way, "cases": cases}, indent=1) if options.json else table(cases, way))


if __name__ == "__main__":
    main()
