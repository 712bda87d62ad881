# SPDX-License-Identifier: MIT
"""HTTP/2: whether a server answers correctly, by curl and h2load, and what h2load is told and prints."""

import os
import re
import shutil
import subprocess
import tempfile

import processes

CURL_TIMEOUT_S = 20
WARM_UP_S = 0.5
HANDSHAKES_PER_S = 250  # that even a slow core makes beside its client
BEGINS, ENDS = "Main benchmark duration is started", "Main benchmark duration is over"


TOOLS = ("h2load", "curl")


def is_installed():
    return all(shutil.which(tool) for tool in TOOLS)


# ---- What is asked ----


def url(workload, port, path=None):
    """Over TLS the name is that in the certificate."""
    return f"{'https://localhost' if workload.tls else 'http://127.0.0.1'}:{port}{path or workload.path}"


def h2load_argv(workload, server, *more):
    argv = ["h2load", "-c", workload.connections, "-m", workload.streams, f"--connect-to=127.0.0.1:{server.port}", *more]
    if workload.tls:
        argv += ["--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=X25519:P-256"]
    if server.over_http1:
        argv += ["--h1"]
    for name, value in workload.fields:
        argv += ["-H", f"{name}: {value}"]
    return argv + [url(workload, server.port)]


def warm_up_s(workload):
    """Until all connections are there, with their handshakes."""
    return WARM_UP_S + (workload.connections / HANDSHAKES_PER_S if workload.tls else 0)


def timed_argv(workload, server, seconds):
    return h2load_argv(workload, server, "-D", seconds, f"--warm-up-time={warm_up_s(workload) * 1000:.0f}ms")


# ---- What h2load prints ----


def figures_of(output):
    """Requests, errors by kind, and octets. With a time to warm up, octets are also those of that time."""
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (total|done|succeeded|failed|errored|timeout)\b", output)}
    counts |= {name: int(count) for count, name in re.findall(r"(\d+) ([2345]xx)\b", output)}
    octets = re.search(r"traffic: \S+ \((\d+)\) total, .* \S+ \((\d+)\) data", output)
    errors = {
        "failed": counts.get("failed", 0), "timeout": counts.get("timeout", 0),
        "not 2xx": sum(counts.get(kind, 0) for kind in ("3xx", "4xx", "5xx")),
    }
    return {
        "requests": counts.get("succeeded", 0),
        "errors": {kind: count for kind, count in errors.items() if count},
        "octets": int(octets.group(1)) if octets else 0, "content_octets": int(octets.group(2)) if octets else 0,
    }


# ---- What the ceilings answer ----

# The names that Skua's heads have, by their numbers in HPACK's static table.
STATIC_NAMES = {b"accept-ranges": 18, b"cache-control": 24, b"content-length": 28, b"content-type": 31, b"date": 33, b"etag": 34,
                b"last-modified": 44}
STATUS_200 = b"\x88"
FIRST_DYNAMIC = 62


def string(octets):
    return bytes([len(octets)]) + octets


def blocks_of(head):
    """Field blocks with the fields of a head: one that puts them into the client's table, and one that refers to them."""
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:] if line]
    fields = [(name.lower(), value.strip()) for name, _, value in lines if name.lower() != b"connection"]
    first, again = STATUS_200, STATUS_200
    for i, (name, value) in enumerate(fields):
        number = STATIC_NAMES.get(name)
        first += (bytes([0x40 | number]) if number else b"\x40" + string(name)) + string(value)
        again += bytes([0x80 | (FIRST_DYNAMIC + len(fields) - 1 - i)])
    return first, again


# ---- Before the clock runs ----


def fetch(workload, server, certificate):
    """One answer, by curl: its version, status, head and content."""
    version = "--http1.1" if server.over_http1 else "--http2" if workload.tls else "--http2-prior-knowledge"
    with tempfile.TemporaryDirectory() as folder:
        head, content = os.path.join(folder, "head"), os.path.join(folder, "content")
        argv = ["curl", "-sS", version, "--max-time", str(CURL_TIMEOUT_S), "--resolve", f"localhost:{server.port}:127.0.0.1",
                "--cacert", certificate, "-D", head, "-o", content, "-w", "%{http_version} %{http_code}"]
        done = subprocess.run([*argv, url(workload, server.port)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or "curl failed")
        version, status = done.stdout.split()
        with open(head, "rb") as head_file, open(content, "rb") as content_file:
            return version, status, head_file.read(), content_file.read()


def load_once(workload, server):
    """Two rounds of every stream, all of whose answers must be right. Returns the octets of an answer."""
    requests = 2 * workload.connections * workload.streams
    argv = processes.pinned(processes.CLIENT_CORE, h2load_argv(workload, server, "-n", requests))
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = figures_of(done.stdout)
    if found["requests"] != requests or found["errors"]:
        raise RuntimeError(f"h2load got {found['requests']} of {requests} answers: {found['errors']}")
    if found["content_octets"] != requests * workload.octets:
        raise RuntimeError(f"h2load got {found['content_octets'] / requests:.1f} octets an answer, not {workload.octets}")
    return round(found["octets"] / requests)


def check(workload, server, expected, certificate):
    """Raises unless the workload's requests are answered as they should be. Returns the octets of an answer and a head."""
    version, status, head, content = fetch(workload, server, certificate)
    if version != ("1.1" if server.over_http1 else "2"):
        raise RuntimeError(f"answered with HTTP/{version}")
    if status != "200":
        raise RuntimeError(f"answered {status}")
    if content != expected:
        raise RuntimeError("the content is not what it should be")
    return load_once(workload, server), head
