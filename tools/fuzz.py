#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every fuzz target of a build for some seconds, a few at a time, and fails if one does.

What a target finds new is kept in BUILD/corpus/NAME, inputs that fail in BUILD/failed/. The seeds are in
tests/fuzz/seeds/NAME, where NAME is the target's without "fuzz_"; a dictionary may lie beside them as
NAME.dict.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "fuzz" / "seeds"


def command(target, options):
    name = target.name.removeprefix("fuzz_")
    corpus = options.build / "corpus" / name
    failed = options.build / "failed"
    corpus.mkdir(parents=True, exist_ok=True)
    failed.mkdir(exist_ok=True)
    words = [str(target), str(corpus)]
    if (SEEDS / name).is_dir():
        words.append(str(SEEDS / name))
    dictionary = SEEDS / f"{name}.dict"
    if dictionary.is_file():
        words.append(f"-dict={dictionary}")
    return words + [
        f"-max_total_time={options.seconds}",
        f"-seed={options.seed}",
        f"-artifact_prefix={failed}/{name}-",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-verbosity=0",
        "-print_final_stats=1",
    ]


def run(target, options):
    done = subprocess.run(
        command(target, options),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
        errors="replace",
        check=False,
    )
    return target.name, done.returncode, done.stdout


def executions(output):
    for line in output.splitlines():
        if line.startswith("stat::number_of_executed_units:"):
            return int(line.split()[1])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of what is tried, so that it can be tried again; 0: another one each time")
    args = parser.parse_args()
    targets = sorted(p for p in args.build.glob("fuzz_*") if os.access(p, os.X_OK) and p.is_file())
    if not targets:
        sys.exit(f"fuzz: no targets in {args.build}")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = [pool.submit(run, t, args) for t in targets]
        for future in concurrent.futures.as_completed(runs):
            name, code, output = future.result()
            count = executions(output)
            # A target that runs nothing proves nothing.
            ok = code == 0 and count > 0
            bad += not ok
            print(f"fuzz: {name}: {'ok' if ok else 'FAILED'}, {count} inputs", flush=True)
            if not ok:
                print(output[-8000:])
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
