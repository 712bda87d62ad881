#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands by which five other small servers reported their speed, run again: beside nginx, and beside Skua.

The reported figures come from machines of their own, as do the nginx they were compared with; only what stands in the
columns "here" can be compared, and by that each report's distance from its own nginx.
"""

import argparse
import datetime
import os
import platform
import shutil
import statistics
import sys
from dataclasses import dataclass

import entrants
import loads
import probe
import processes
from workloads import HELLO, Workload

ROOT = os.path.dirname(entrants.BENCH)

SMALL = Workload("seed-13", "13 octets", "ab", 200)
HUNDRED = Workload("seed-100", "100 octets", "ab", 200, octets=100)
TEXT = Workload("seed-100k", "100 KiB of text", "ab", 32, octets=102400)

KEPT = "41–45 thousand/s where nginx had 42; 124 where it had 74"
CLOSED = "19–20 thousand/s where nginx had 15; 27.6 where it had 15.8"
FILE = "2,650/s by read and write, 4,011 by sendfile; 3,454 where nginx had 3,717"


@dataclass
class Seed:
    command: str  # {n}: requests, {s}: seconds
    workload: Workload
    reported: str
    requests: int = 0

    def argv(self, url, options):
        words = self.command.format(n=max(1, self.requests // options.divide), s=options.seconds).split()
        return words + [url]

    def shown(self, options):
        return " ".join(self.argv("", options)).strip()


SEEDS = [
    Seed("ab -q -k -c 200 -n {n}", SMALL, KEPT, 100000),
    Seed("ab -q -k -c 200 -n {n}", HUNDRED, KEPT, 100000),
    Seed("ab -q -c 200 -n {n}", SMALL, CLOSED, 100000),
    Seed("ab -q -c 200 -n {n}", HUNDRED, CLOSED, 100000),
    Seed("wrk -t10 -c500 -d{s}s", SMALL, "57 thousand/s; 220, with connect errors"),
    Seed("wrk -t10 -c10000 -d{s}s", SMALL, "69 thousand/s; 218, with connect errors"),
    Seed("ab -q -c 32 -n {n}", TEXT, FILE, 10000),
    Seed("ab -q -c 256 -n {n}", TEXT, FILE, 100000),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of wrk, whose reports ran for 60 (default 10)")
    parser.add_argument("--rounds", type=int, default=1, help="interleaved rounds, of which the median counts (default 1)")
    parser.add_argument("--divide", type=int, default=1, help="ab makes so many times fewer requests than reported (default 1)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="where the programs were built")
    parser.add_argument("--out", help="a file for the table; it is printed in any case")
    return parser.parse_args()


def start(entrant, workload, place):
    """The server, once its answer has been checked."""
    port = processes.free_port()
    server = processes.Server(entrant.argv(workload, place, port), port, place.path(f"seeds-{entrant.name}.log"))
    try:
        probe.check(workload, port, entrants.content_of(workload.octets) if workload.is_file else HELLO)
    except Exception:
        server.stop()
        raise
    return server


def once(seed, server, options):
    """One run: requests per second, server CPU microseconds per request, errors by kind."""
    argv = seed.argv(f"http://127.0.0.1:{server.port}{seed.workload.path}", options)
    before = server.cpu_ns()
    output, _ = loads.run_to_end(argv)
    spent = server.cpu_ns() - before
    read = loads.ab_figures(output, int(argv[argv.index("-n") + 1])) if argv[0] == "ab" else loads.wrk_figures(output)
    return read["per_second"], spent / 1000 / read["requests"] if read["requests"] else None, read["errors"]


def run(seed, crowd, place, options):
    """By entrant, the results of its rounds."""
    running, results = {}, {}
    try:
        for entrant in crowd:
            running[entrant.name] = start(entrant, seed.workload, place)
        for _ in range(options.rounds):
            for name, server in running.items():
                results.setdefault(name, []).append(once(seed, server, options))
    finally:
        for server in running.values():
            server.stop()
    return results


def cell(results):
    """Medians, and every error that there was."""
    per_second = statistics.median(r[0] for r in results)
    costs = [r[1] for r in results if r[1] is not None]
    errors = {}
    for _, _, found in results:
        for kind, count in found.items():
            errors[kind] = errors.get(kind, 0) + count
    text = f"{per_second:,.0f}/s"
    if costs:
        text += f" ({statistics.median(costs):.1f} µs)"
    return text + "".join(f"; {count:,} {kind} errors" for kind, count in errors.items())


def ratio(results, name, other):
    """How many times as fast as another; "–" where there is none."""
    if name not in results or other not in results:
        return "–"
    below = statistics.median(r[0] for r in results[other])
    return f"{statistics.median(r[0] for r in results[name]) / below:.2f}" if below else "–"


def head(options):
    return [f"Taken on {datetime.date.today().isoformat()}, Linux {platform.release()}, one worker on core "
            f"{processes.SERVER_CORE}, the client on core {processes.CLIENT_CORE}; wrk for {options.seconds} s where the reports "
            f"had 60; rounds: {options.rounds}" + (f"; ab with 1/{options.divide} of the requests" if options.divide > 1 else "")
            + ". In brackets: microseconds of server CPU per request.", "",
            "| command | answer | reported | nginx here | Skua here | Skua to nginx |", "|---|---|---|---:|---:|---:|"]


def row(seed, results, options):
    cells = [cell(results[name]) if name in results else "–" for name in ("nginx", "Skua")]
    return (f"| `{seed.shown(options)}` | {seed.workload.title} | {seed.reported} | {cells[0]} | {cells[1]} "
            f"| {ratio(results, 'Skua', 'nginx')} |")


def main():
    options = arguments()
    processes.raise_descriptor_limit()
    place = entrants.Place(options.build, os.path.join(ROOT, "build", "bench"))
    for workload in (HUNDRED, TEXT):
        place.write(f"www{workload.path}", entrants.content_of(workload.octets))
    crowd = [entrant for entrant in (entrants.Nginx(), entrants.Skua(place)) if not entrant.missing]
    if not any(entrant.kind == "skua" for entrant in crowd):
        sys.exit("bench: Skua is not built (make build)")
    lines = head(options)
    print("\n".join(lines), flush=True)
    for seed in SEEDS:
        if shutil.which(seed.command.split()[0]):
            lines.append(row(seed, run(seed, crowd, place, options), options))
            print(lines[-1], flush=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
