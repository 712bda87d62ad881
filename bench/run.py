#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures Skua beside its ceilings and its peers. See README.md in this folder."""

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys

import chart
import entrants
import http2
import loads
import probe
import processes
import report
import sites
import workloads

ROOT = os.path.dirname(entrants.BENCH)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--seconds", type=int, default=2, help="of each keep-alive round (default 2)")
    parser.add_argument("--workloads", help="names, separated by commas: " + ", ".join(w.name for w in workloads.WORKLOADS))
    parser.add_argument("--servers", help="names or beginnings of names, separated by commas; ceilings always run")
    parser.add_argument("--backends", default="", help="Skua's backends to measure beside the one it prefers: uring")
    parser.add_argument("--libraries", default="", help="builds of Skua with other TLS libraries: AWS-LC=build/aws-lc")
    parser.add_argument("--quick", action="store_true", help="five workloads, three rounds of a second: a look, not a proof")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="where the programs were built")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"), help="folder for bench.md, bench.json, bench.svg")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds = min(chosen.rounds, 3), 1
    return chosen


def chosen_workloads(options):
    if not options.workloads:
        return [w for w in workloads.WORKLOADS if not options.quick or w.name in workloads.QUICK]
    names = options.workloads.split(",")
    unknown = set(names) - {w.name for w in workloads.WORKLOADS}
    if unknown:
        sys.exit("bench: no such workload: " + ", ".join(sorted(unknown)))
    return [w for w in workloads.WORKLOADS if w.name in names]


def tools_of(workload):
    """Programs of others that it needs."""
    return ({workload.client} & {"wrk", "ab"}) | set(http2.TOOLS if workload.http2 else ())


def chosen_entrants(options, place):
    backends = [name for name in options.backends.split(",") if name]
    everyone = entrants.everyone(place, backends, entrants.libraries_in(options.libraries))
    if not options.servers:
        return everyone
    wanted = [name.lower() for name in options.servers.split(",")]
    return [e for e in everyone if e.kind == "ceiling" or e.name.lower().startswith(tuple(wanted))]


# ---- One workload ----


def start(entrant, workload, place, skuas=None):
    """Starts an entrant and checks its answers. Returns the server, or None where it has no part in this.
    skuas: the octets of content that Skua sends."""
    port = processes.free_port()
    takes_part = (entrant.speaks_http2 or not workload.http2) and (entrant.serves_sites or not workload.site)
    argv = entrant.argv(workload, place, port) if takes_part else None
    if argv is None:
        return None
    server = processes.Server(argv, port, place.path(f"{entrant.name.replace(' ', '-').replace('/', '-')}.log"))
    try:
        expected = entrants.content_of(workload.octets) if workload.is_file else workloads.HELLO
        server.over_http1 = entrant.over_http1
        server.answer_octets, server.head = answer_of(workload, server, expected, place)
        server.content_octets = server.answer_octets - len(server.head)
        if workload.coded:
            sites.check_coded(workload, place, probe.fetch(workload, port)[1], skuas)
        server.backend = entrant.backend_of(server.words())
    except Exception:
        server.stop()
        raise
    return server


def answer_of(workload, server, expected, place):
    """Octets of an answer, and its head, once answers have been checked."""
    if workload.http2:
        return http2.check(workload, server, expected, place.certificate)
    tls = place.certificate if workload.tls else None
    return probe.check(workload, server.port, expected, tls), probe.fetch(workload, server.port, tls)[0]


def start_all(crowd, workload, place, skipped):
    """Skua first: the ceilings send a head like its own."""
    running = {}
    head, octets = entrants.default_head(workload), None
    if workload.coded:
        sites.wait_until_settled(workload, place)
    for entrant in sorted(crowd, key=lambda e: e.kind != "skua"):
        entrant.head = head
        try:
            server = start(entrant, workload, place, octets)
        except (OSError, RuntimeError) as error:
            skipped[entrant.name] = str(error)
            print(f"  {entrant.name} is left out: {error}")
            continue
        if server is None:
            continue
        running[entrant.name] = server
        if entrant.kind == "skua":
            head, octets = server.head, server.content_octets
    order = [entrant.name for entrant in crowd]
    return {name: running[name] for name in order if name in running}


def figure_of(workload, result):
    """The value that is compared: microseconds of server CPU per request, octets per idle connection, or in an open loop p99."""
    if workload.client == "idle":
        return result["octets_per_connection"]
    if workload.is_open:
        return result["p99_ms"] if result["requests"] else None
    return result["server_ns"] / 1000 / result["requests"] if result["requests"] else None


def tell_capacity(workload, crowd, running, client):
    """Before an open loop: what the slowest peer can do, or the slowest of those there are."""
    kinds = {entrant.name: entrant.kind for entrant in crowd}
    peers = [server for name, server in running.items() if kinds[name] == "peer"]
    capacity = client.find_capacity(workload, peers or list(running.values()))
    print(f"  {workload.share * capacity:,.0f} requests/s, of {capacity:,.0f} that the slowest peer answers", flush=True)


def rounds_run(workload, running, client, rounds):
    results = {name: [] for name in running}
    if workload.client != "idle":
        for server in running.values():
            client.warm_up(workload, server)
    for number in range(rounds):
        line = []
        for name, server in running.items():
            result = client.run(workload, server)
            result["figure"] = figure_of(workload, result) if server.alive else None
            results[name].append(result)
            shown = f"{result['figure']:.2f}" if result["figure"] else "-"
            line.append(f"{name} {shown}" + (" ERRORS" if result["errors"] else ""))
        print(f"  round {number + 1}: " + "; ".join(line), flush=True)
    return results


def measure(workload, crowd, place, client, rounds):
    print(f"{workload.name}: {workload.title}", flush=True)
    skipped = {}
    running = start_all(crowd, workload, place, skipped)
    try:
        # Memory that one round took is there for the next, so there is one round.
        if workload.share and running:
            tell_capacity(workload, crowd, running, client)
        results = rounds_run(workload, running, client, 1 if workload.client == "idle" else rounds)
    finally:
        for server in running.values():
            server.stop()
    about = {name: {"answer_octets": server.answer_octets, "backend": server.backend} for name, server in running.items()}
    return report.workload_summary(workload, crowd, results, about, skipped)


def strictness_of(crowd, place):
    """Which malformed requests each server refuses; asked once, at its hello."""
    found = {}
    hello = workloads.WORKLOADS[0]
    for entrant in crowd:
        if entrant.kind == "ceiling":
            continue
        try:
            server = start(entrant, hello, place)
        except (OSError, RuntimeError):
            continue
        if server:
            found[entrant.name] = probe.strictness(server.port)
            server.stop()
    return found


# ---- The machine ----


def first_line(argv):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=False)
        return done.stdout.decode(errors="replace").strip().splitlines()[0].strip()
    except (OSError, IndexError, subprocess.SubprocessError):
        return None


def processor():
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def setting(path):
    try:
        with open("/proc/sys/" + path) as value:
            return value.read().strip()
    except OSError:
        return None


def machine(limit):
    versions = {"nginx": ["nginx", "-v"], "h2o": ["h2o", "-v"], "lighttpd": ["lighttpd", "-v"], "haproxy": ["haproxy", "-v"], "openssl": ["openssl", "version"],
                 "caddy": ["caddy", "version"], "nghttpd": ["nghttpd", "--version"],
                "go": ["go", "version"], "cargo": ["cargo", "--version"], "cc": ["cc", "--version"]}
    return {
        "processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(),
        "congestion_control": setting("net/ipv4/tcp_congestion_control"),
        "descriptors": limit,
        "date": datetime.date.today().isoformat(),
        "versions": {name: first_line(argv) for name, argv in versions.items() if shutil.which(argv[0])},
    }


def end_in_order(*_):
    sys.exit("bench: ended")


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, end_in_order)
    with processes.OneCongestionControl():
        run(options)


def run(options):
    limit = processes.raise_descriptor_limit()
    wanted = chosen_workloads(options)
    for tool in sorted(set().union(*(tools_of(w) for w in wanted))):
        if not shutil.which(tool):
            print(f"bench: {tool} is not installed; its workloads are left out")
            wanted = [w for w in wanted if tool not in tools_of(w)]
    place = entrants.Place(options.build, os.path.join(ROOT, "build", "bench"))
    crowd = chosen_entrants(options, place)
    missing = {entrant.name: entrant.missing for entrant in crowd if entrant.missing}
    for name, why in missing.items():
        print(f"{name}: {why}")
    crowd = [entrant for entrant in crowd if not entrant.missing]
    client = loads.Loads(place.folder, place.built("bench_client"), options.seconds,
                         10000 if options.quick else 20000 * options.seconds, place.certificate, place.built("bench_page"))
    if not client.client_path:
        wanted = [w for w in wanted if w.client not in ("own", "idle", "bursts")]
    if not client.page_path and any(w.client == "page" for w in wanted):
        print("bench: bench_page is not built, which needs nghttp2; its workload is left out")
        wanted = [w for w in wanted if w.client != "page"]
    outcome = {"machine": machine(limit), "rounds": options.rounds, "seconds": options.seconds, "missing": missing,
               "malformed": sorted(probe.MALFORMED), "refused": strictness_of(crowd, place), "workloads": []}
    os.makedirs(options.out, exist_ok=True)
    for workload in wanted:
        outcome["workloads"].append(measure(workload, crowd, place, client, options.rounds))
        write(outcome, options.out)
    print(report.table(outcome))
    print(f"Written to {options.out}: bench.md, bench.json, bench.svg")


def write(outcome, folder):
    for name, content in (("bench.json", json.dumps(outcome, indent=1) + "\n"), ("bench.md", report.table(outcome)),
                          ("bench.svg", chart.draw(outcome))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)


if __name__ == "__main__":
    main()
