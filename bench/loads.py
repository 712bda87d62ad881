# SPDX-License-Identifier: MIT
"""Clients: each runs a workload once against a server and tells requests, errors and CPU time."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import http2
import processes

ERRORS_OF_CLIENT = ("connect_errors", "read_errors", "write_errors", "closed", "wrong_answers", "timeouts")


def time_of_child(process):
    """Waits for a client whose output has ended. Returns its CPU time in nanoseconds."""
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def run_to_end(argv):
    """Runs a client on its core. Returns its output and its CPU time in nanoseconds."""
    process = subprocess.Popen(processes.pinned(processes.CLIENT_CORE, argv), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read().decode(errors="replace")
    return output, time_of_child(process)


def number_after(pattern, text, otherwise=0):
    found = re.search(pattern, text)
    return float(found.group(1)) if found else otherwise


# ---- What clients print ----


def wrk_errors(output):
    errors = {"not 2xx": int(number_after(r"Non-2xx or 3xx responses: (\d+)", output))}
    for kind in ("connect", "read", "write", "timeout"):
        errors[kind] = int(number_after(rf"Socket errors:.*{kind} (\d+)", output))
    return {kind: count for kind, count in errors.items() if count}


def wrk_latency(output, percent):
    found = re.search(rf"\b{percent}%\s+([\d.]+)(us|ms|s)\b", output)
    return float(found.group(1)) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found.group(2)] if found else None


def wrk_figures(output):
    return {
        "requests": int(number_after(r"(\d+) requests in", output)),
        "per_second": number_after(r"Requests/sec:\s+([\d.]+)", output),
        "errors": wrk_errors(output),
        "p50_ms": wrk_latency(output, 50), "p99_ms": wrk_latency(output, 99),
    }


def ab_figures(output, wanted):
    """wanted: how many requests it was to make."""
    complete = int(number_after(r"Complete requests:\s+(\d+)", output))
    errors = {
        "failed": int(number_after(r"Failed requests:\s+(\d+)", output)),
        "not 2xx": int(number_after(r"Non-2xx responses:\s+(\d+)", output)),
        "write": int(number_after(r"Write errors:\s+(\d+)", output)),
        "unfinished": wanted - complete,
    }
    return {
        "requests": complete,
        "per_second": number_after(r"Requests per second:\s+([\d.]+)", output),
        "errors": {kind: count for kind, count in errors.items() if count},
        "p50_ms": number_after(r"\b50%\s+(\d+)", output, None), "p99_ms": number_after(r"\b99%\s+(\d+)", output, None),
    }


class Loads:
    def __init__(self, folder, client_path, seconds, closing_requests, certificate=None, page_path=None):
        self.folder = folder
        self.client_path = client_path
        self.page_path = page_path
        self.certificate = certificate  # of servers over TLS
        self.seconds = seconds
        self.closing_requests = closing_requests
        self.capacity = None  # requests per second of the slowest peer, once it has been measured

    def run(self, workload, server):
        """One round. Returns requests, seconds, errors (by kind), CPU times and latency where known."""
        runners = {"wrk": self.wrk, "ab": self.ab, "h2load": self.h2load, "own": self.own, "page": self.page,
                   "idle": self.idle, "bursts": self.bursts}
        return runners[workload.client](workload, server)

    def warm_up(self, workload, server):
        if workload.client == "wrk":
            run_to_end(self.wrk_argv(workload, server, 1))
        elif workload.client == "ab":
            run_to_end(self.ab_argv(workload, server, 2000))

    # ---- wrk ----

    def wrk_argv(self, workload, server, seconds):
        argv = ["wrk", "-t1", f"-c{workload.connections}", f"-d{seconds}s", "--latency"]
        for name, value in workload.fields:
            argv += ["-H", f"{name}: {value}"]
        if workload.pipeline > 1:
            argv += ["-s", self.pipeline_script(workload.pipeline)]
        return argv + [f"http://127.0.0.1:{server.port}{workload.path}"]

    def pipeline_script(self, depth):
        path = os.path.join(self.folder, "pipeline.lua")
        with open(path, "w") as script:
            script.write("local batch\n"
                         "init = function()\n"
                         f"  batch = string.rep(wrk.format(), {depth})\n"
                         "end\n"
                         "request = function() return batch end\n")
        return path

    def wrk(self, workload, server):
        before = server.cpu_ns()
        output, client_ns = run_to_end(self.wrk_argv(workload, server, max(self.seconds, workload.seconds_min)))
        server_ns = server.cpu_ns() - before
        return {**wrk_figures(output), "server_ns": server_ns, "client_ns": client_ns}

    # ---- ab ----

    def ab_argv(self, workload, server, requests):
        return ["ab", "-q", "-c", workload.connections, "-n", requests, f"http://127.0.0.1:{server.port}{workload.path}"]

    def ab(self, workload, server):
        before = server.cpu_ns()
        output, client_ns = run_to_end(self.ab_argv(workload, server, self.closing_requests))
        server_ns = server.cpu_ns() - before
        return {**ab_figures(output, self.closing_requests), "server_ns": server_ns, "client_ns": client_ns}

    # ---- h2load ----

    def h2load(self, workload, server):
        """The clock runs from when it says that its warming up is over."""
        seconds = max(self.seconds, workload.seconds_min)
        argv = http2.timed_argv(workload, server, seconds)
        client = subprocess.Popen(processes.pinned(processes.CLIENT_CORE, argv), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output, marks, client_before = [], {}, 0
        for line in client.stdout:
            output.append(line)
            for mark in (http2.BEGINS, http2.ENDS):
                if line.startswith(mark):
                    marks[mark] = server.cpu_ns()
                    client_before = processes.cpu_ns(client.pid) if mark == http2.BEGINS else client_before
        client_ns = time_of_child(client) - client_before
        if len(marks) < 2:
            return {"requests": 0, "errors": {"h2load": 1}, "server_ns": 0, "client_ns": 0}
        found = http2.figures_of("".join(output))
        return {"requests": found["requests"], "per_second": found["requests"] / seconds, "errors": found["errors"],
                "server_ns": marks[http2.ENDS] - marks[http2.BEGINS], "client_ns": client_ns}

    # ---- bursts.py ----

    def bursts(self, workload, server):
        output, client_ns = run_to_end(
            [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bursts.py"), "--client", self.client_path,
             "--port", server.port, "--cert", self.certificate, "--request", self.request_file(workload, server),
             "--seconds", self.seconds])
        line = re.search(r"^{.*}$", output, re.MULTILINE)
        if not line:
            return {"requests": 0, "errors": {"closed": 1}}
        counts = json.loads(line.group())
        return {**counts, "per_second": None, "errors": {"bursts failed": counts["failed"]} if counts["failed"] else {},
                "client_ns": client_ns}

    # ---- client.c ----

    def request_file(self, workload, server):
        path = os.path.join(self.folder, f"{workload.name}.request")
        with open(path, "wb") as request:
            request.write(workload.request(server.port, "########"))
        return path

    def own_start(self, workload, server, seconds, connections=None):
        path = self.request_file(workload, server)
        argv = [self.client_path, "--port", server.port, "--connections", connections or workload.connections,
                "--request", path, "--seconds", seconds]
        argv += ["--tls"] * workload.tls + ["--close"] * workload.close
        if workload.client == "idle":  # what many handshakes at once hold would be counted as the idle connections'
            argv += ["--pace", 8]
        if workload.is_open:
            argv += ["--rate", max(1, int(workload.share * self.capacity))]
        return subprocess.Popen(processes.pinned(processes.CLIENT_CORE, argv), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    @staticmethod
    def own_say(client):
        client.stdin.write("go\n")
        client.stdin.flush()

    def own(self, workload, server):
        return self.own_figures(workload, server, self.own_start(workload, server, self.seconds))

    def own_figures(self, workload, server, client):
        client.stdout.readline()
        before, client_before = server.cpu_ns(), processes.cpu_ns(client.pid)
        self.own_say(client)
        line = client.stdout.readline()
        server_ns, client_ns = server.cpu_ns() - before, processes.cpu_ns(client.pid) - client_before
        client.communicate("end\n")
        counts = json.loads(line) if line else {"requests": 0, "connect_errors": workload.connections}
        return {
            "requests": counts["requests"],
            "per_second": counts["requests"] / self.seconds,
            "errors": {kind: counts[kind] for kind in ERRORS_OF_CLIENT if counts.get(kind)},
            "server_ns": server_ns, "client_ns": client_ns,
            "p50_ms": counts.get("p50_ms"), "p99_ms": counts.get("p99_ms"),
        }

    # ---- page.c ----

    def write_lines(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in lines)
        return path

    def page(self, workload, server):
        """Asked and counted as by client.c."""
        page = self.write_lines(f"{workload.name}.page", [f"/{octets}.bin {octets} {priority}" for octets, priority in workload.resources])
        fields = self.write_lines(f"{workload.name}.fields", [f"{name.lower()}: {value}" for name, value in workload.fields])
        argv = [self.page_path, "--port", server.port, "--connections", workload.connections, "--seconds", self.seconds,
                "--page", page, "--fields", fields]
        client = subprocess.Popen(processes.pinned(processes.CLIENT_CORE, argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self.own_figures(workload, server, client)

    # ---- Open loops, idle connections ----

    def find_capacity(self, workload, servers):
        """How many requests per second the slowest of the servers answers, asked as fast as it answers: its best of
        three runs, since what else the machine does is not the server's. Measured once."""
        closed = dataclasses.replace(workload, share=0)
        if self.capacity is None:
            self.capacity = min(max(self.own(closed, server)["per_second"] for _ in range(3)) for server in servers)
        return self.capacity

    def idle(self, workload, server):
        """Memory, not time: what the server holds for connections that were answered once and wait. Some may be there
        before, for what a server keeps once and not for each connection."""
        if not workload.settled:
            return self.idle_beside(workload, server)
        settled = self.own_start(workload, server, 0, workload.settled)
        settled.stdout.readline()
        try:
            return self.idle_beside(workload, server)
        finally:
            settled.communicate("go\nend\n")

    def idle_beside(self, workload, server):
        before = server.memory_octets()
        client = self.own_start(workload, server, 0)
        client.stdout.readline()
        octets = server.memory_octets() - before
        self.own_say(client)
        line = client.stdout.readline()
        client.communicate("end\n")
        counts = json.loads(line) if line else {"ramp_requests": 0}
        answered = counts["ramp_requests"]
        return {
            "requests": answered,
            "errors": {kind: counts[kind] for kind in ERRORS_OF_CLIENT if counts.get(kind)},
            "octets_per_connection": octets / answered if answered else None,
        }
