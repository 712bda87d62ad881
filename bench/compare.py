#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures two builds of Skua beside each other: an earlier revision, and this tree.

    python3 bench/compare.py REVISION [--workloads hello,close] [--rounds 9] [--seconds 2]

The revision is unpacked and built in build/before. Rounds go before, now, before, now …; each workload's figure is the
median of the paired ratios of CPU per request, now to before, with its 95 % interval (README.md). It fails when a whole
interval lies above --most, which a change that claims to cost nothing must not do.
"""

import argparse
import os
import shutil
import subprocess
import sys

import entrants
import figures
import loads
import processes
import run
import workloads

ROOT = run.ROOT
BEFORE = os.path.join(ROOT, "build", "before")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("revision", help="what git knows the earlier tree by")
    parser.add_argument("--workloads", default="hello,browser,varied,pipelined,close,file-4k,file-100k,file-1m,many",
                        help="names, separated by commas; those of open loops and of memory have no ratio")
    parser.add_argument("--rounds", type=int, default=9, help="of both builds (default 9)")
    parser.add_argument("--seconds", type=int, default=2, help="of each round (default 2)")
    parser.add_argument("--most", type=float, default=1.01, help="that an interval may lie above (default 1.01)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="this tree's build")
    return parser.parse_args()


def build_before(revision):
    """Returns the folder of its programs."""
    tree, build = os.path.join(BEFORE, "tree"), os.path.join(BEFORE, "build")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", tree], check=True, input=archive)
    entrants.build_quietly(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"], ROOT)
    entrants.build_quietly(["cmake", "--build", build, "--target", "skua", "hello"], ROOT)
    return build


def pair(options):
    """The two entrants, with the folder that both serve."""
    place = entrants.Place(options.build, os.path.join(ROOT, "build", "bench"))
    before = entrants.Skua(entrants.Place(build_before(options.revision), place.folder))
    now = entrants.Skua(place)
    before.name, before.kind, now.name = "before", "peer", "now"
    for entrant in (before, now):
        if entrant.missing:
            sys.exit(f"bench: {entrant.name} was not built in {place.build}")
    return place, [before, now]


def compare(workload, crowd, place, client, rounds):
    """The paired ratio, now to before."""
    running = run.start_all(crowd, workload, place, {})
    try:
        if len(running) < 2:
            sys.exit(f"bench: {workload.name} needs both builds")
        results = run.rounds_run(workload, running, client, rounds)
    finally:
        for server in running.values():
            server.stop()
    errors = [result["errors"] for of_one in results.values() for result in of_one if result["errors"]]
    if errors:
        sys.exit(f"bench: {workload.name} had errors: {errors[0]}")
    series = {name: [result["figure"] for result in of_one] for name, of_one in results.items()}
    return figures.compare(series["now"], series["before"])


def main():
    options = arguments()
    processes.raise_descriptor_limit()
    place, crowd = pair(options)
    client = loads.Loads(place.folder, place.built("bench_client"), options.seconds, 20000 * options.seconds)
    wanted = [w for w in workloads.WORKLOADS if w.name in options.workloads.split(",")]
    found = {}
    for workload in wanted:
        print(f"{workload.name}: {workload.title}", flush=True)
        found[workload.name] = compare(workload, crowd, place, client, options.rounds)
    print(f"\nCPU per request, now to {options.revision}: median of {options.rounds} paired ratios, and its interval")
    for name, ratio in found.items():
        print(f"  {name:10} {ratio['ratio']:.3f} ({ratio['low']:.3f}–{ratio['high']:.3f})")
    over = [name for name, ratio in found.items() if ratio["low"] > options.most]
    if over:
        sys.exit(f"bench: above {options.most:.2f}: {', '.join(over)}")


if __name__ == "__main__":
    main()
