#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures WebSockets: Skua on its backends beside a ceiling and the peers that can be built here. See README.md.

    python3 bench/sockets.py [--rounds 9] [--seconds 1] [--workloads echo-16,publish]

The figure is server CPU per message that came, in microseconds; the ratios are paired round by round, as everywhere in the bench.
"""

import argparse
import functools
import json
import os
import random
import shutil
import subprocess
import sys

import entrants
import figures
import processes

ROOT = os.path.dirname(entrants.BENCH)
PEERS = os.path.join(entrants.BENCH, "peers")
CEILING, CEILING_URING = "ceiling, epoll", "ceiling, io_uring"
DIRECT_OCTETS = 8000  # longer messages do not fit in a buffer of the ring's

# path, connections, octets, and what more the client is told
WORKLOADS = {
    "echo-16": ("/echo", 200, 16, None),
    "echo-1k": ("/echo", 200, 1024, None),
    "echo-64k": ("/echo", 200, 65536, None),
    "publish": ("/publish", 1000, 16, "publish"),
    "tls-echo-16": ("/echo", 200, 16, "tls"),
    "tls-echo-1k": ("/echo", 200, 1024, "tls"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--seconds", type=float, default=1, help="of each round (default 1)")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="names, separated by commas")
    parser.add_argument("--peers", default=",".join(BUILDERS), help="who takes part beside Skua, separated by commas")
    parser.add_argument("--libraries", default="", help="builds of Skua with other TLS libraries: AWS-LC=build/aws-lc")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="where the programs were built")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"), help="folder for sockets.json and for what is built")
    return parser.parse_args()


def build(argv, folder):
    subprocess.run(argv, cwd=folder, check=True, timeout=600, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def build_go(out):
    path = os.path.join(out, "sockets-go")
    build(["go", "build", "-o", path, "."], os.path.join(PEERS, "sockets_go"))
    return [path]


def build_ws(out):
    folder = os.path.join(out, "sockets-ws")
    shutil.copytree(os.path.join(PEERS, "sockets_ws"), folder, dirs_exist_ok=True)
    build(["npm", "install", "--no-audit", "--no-fund"], folder)
    return ["node", os.path.join(folder, "server.js")]


def build_uwebsockets(out, secure=False):
    """In the clear it is built without TLS, as its makers do for speed."""
    folder = os.environ.get("UWEBSOCKETS")
    if not folder:
        raise OSError("UWEBSOCKETS names no folder with its sources")
    objects = os.path.join(out, "sockets-uwebsockets-tls" if secure else "sockets-uwebsockets")
    os.makedirs(objects, exist_ok=True)
    sockets = os.path.join(folder, "uSockets", "src")
    sources = [os.path.join(where, name) for where, _, names in os.walk(sockets) for name in names if name.endswith(".c")]
    flags = ["-O3", "-flto=auto", "-DLIBUS_USE_OPENSSL" if secure else "-DLIBUS_NO_SSL", "-DUWS_NO_ZLIB",
             "-I", os.path.join(folder, "src"), "-I", sockets]
    build(["cc", "-std=c11", *flags, "-c", *sources], objects)
    path = os.path.join(objects, "sockets")
    more = [os.path.join(sockets, "crypto", "sni_tree.cpp")] if secure else []
    build(["c++", "-std=c++20", *flags, os.path.join(PEERS, "uwebsockets", "sockets.cpp"), *more,
           *(os.path.join(objects, name) for name in os.listdir(objects) if name.endswith(".o")), "-pthread",
           *(["-lssl", "-lcrypto"] if secure else []), "-o", path], objects)
    return [path]


@functools.cache
def certificate_of(out):
    """The words of a certificate and its key, which are made once in a run."""
    pair = [os.path.join(out, "sockets.pem"), os.path.join(out, "sockets.key")]
    entrants.make_certificate(*pair)
    return pair


def own_servers(options):
    """By name: what makes the words for a port and a workload, or None where it takes no part."""
    def of_skua(backend, build=options.build, only_tls=False):
        def words(port, workload):
            is_tls = workload[3] == "tls"
            if only_tls and not is_tls:
                return None
            return [os.path.join(build, "bench_socket_server"), port, backend, *(certificate_of(options.out) if is_tls else [])]
        return words

    def of_ceiling(backend):
        def words(port, workload):
            _, _, octets, kind = workload
            if kind == "tls":
                return [os.path.join(options.build, f"bench_socket_ceiling_tls_{backend}"), port, *certificate_of(options.out)]
            how = ["--publish"] * (kind == "publish") + ["--direct"] * (backend == "uring" and octets > DIRECT_OCTETS)
            return [os.path.join(options.build, f"bench_socket_ceiling_{backend}"), port, *how]
        return words

    return {
        CEILING: of_ceiling("epoll"),
        CEILING_URING: of_ceiling("uring"),
        "Skua, epoll": of_skua("epoll"),
        "Skua, io_uring": of_skua("uring"),
        **{f"Skua with {library}, {name}": of_skua(backend, build, only_tls=True)
           for library, build in entrants.libraries_in(options.libraries).items()
           for name, backend in (("epoll", "epoll"), ("io_uring", "uring"))},
    }


def of_peer(builder, options):
    """The same for a peer that is given its certificate and its key, and that may need another program for them."""
    plain = builder(options.out)
    secure = builder(options.out, secure=True) if builder is build_uwebsockets else plain
    return lambda port, workload: ([*secure, port, *certificate_of(options.out)] if workload[3] == "tls"
                                   else [*plain, port])


BUILDERS = {"uwebsockets": ("uWebSockets", build_uwebsockets), "go": ("Go, gorilla", build_go), "ws": ("npm ws", build_ws)}


def servers_of(options):
    found = own_servers(options)
    for peer in filter(None, options.peers.split(",")):
        name, builder = BUILDERS[peer]
        try:
            found[name] = of_peer(builder, options)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"bench: {name} takes no part: {error}")
    return found


class Round:
    """One server and one load, from the start of the server to its end."""

    def __init__(self, words, workload, options):
        path, count, octets, kind = workload
        port = processes.free_port()
        self.server = processes.Server(words(port, workload), port, os.path.join(options.out, "sockets.log"))
        self.client = subprocess.Popen(
            processes.pinned(processes.CLIENT_CORE,
                             [os.path.join(options.build, "bench_socket_client"), port, path, count, octets, options.seconds,
                              *([kind] if kind else [])]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self, word):
        self.client.stdin.write(word)
        self.client.stdin.flush()
        return self.client.stdout.readline().strip()

    def figure(self):
        """Microseconds of server CPU per message."""
        if self.client.stdout.readline().strip() != "ready":
            raise RuntimeError(self.why())
        before = self.server.cpu_ns()
        came = self.line("\n")
        if not came:
            raise RuntimeError(self.why())
        return (self.server.cpu_ns() - before) / int(came) / 1000

    def why(self):
        """The last words of the client and of the server."""
        return "; ".join(filter(None, (self.client.communicate()[1].strip(), self.server.last_words())))

    def end(self):
        self.client.kill()
        self.client.wait()
        self.client.stdin.close()
        self.client.stdout.close()
        self.client.stderr.close()
        self.server.stop()


def measure(name, words, workload, options):
    """None, said, when it fails."""
    try:
        one = Round(words, WORKLOADS[workload], options)
    except RuntimeError as error:
        print(f"bench: {name}, {workload}: {error}")
        return None
    try:
        return one.figure()
    except (RuntimeError, OSError) as error:
        print(f"bench: {name}, {workload}: {error}")
        return None
    finally:
        one.end()


def against(found, name, base):
    compared = figures.compare(found[name], found.get(base, []))
    return f"{compared['ratio']:.2f} ({compared['low']:.2f}–{compared['high']:.2f})" if compared else "–"


def table(workload, found):
    columns = [CEILING, CEILING_URING, "uWebSockets"]
    print(f"\n| {workload} | µs | " + " | ".join(f"to {name}" for name in columns) + " |\n|---|---:|---:|---:|---:|")
    for name, values in found.items():
        measured = figures.median([v for v in values if v])
        if measured:
            print(f"| {name} | {measured:.2f} | " + " | ".join(against(found, name, base) for base in columns) + " |")
    sys.stdout.flush()


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    processes.raise_descriptor_limit()
    everything = {}
    with processes.OneCongestionControl():
        servers = servers_of(options)
        for workload in options.workloads.split(","):
            here = {name: words for name, words in servers.items() if words(0, WORKLOADS[workload])}
            found = everything[workload] = {name: [] for name in here}
            for _ in range(options.rounds):
                for name in random.sample(list(here), len(here)):  # so that nobody always comes behind the same
                    found[name].append(measure(name, here[name], workload, options))
            table(workload, found)
    with open(os.path.join(options.out, "sockets.json"), "w", encoding="utf-8") as file:
        json.dump(everything, file, indent=1)


if __name__ == "__main__":
    main()
