#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long one established connection waits beside bursts of handshakes. One after the other, the bench's client makes
so many connections at once, each with a full handshake. It runs with the least priority, so that this program, which
asks by the clock on a connection of its own, does not wait for it. Latency is counted from when a request was due.

    python3 bench/bursts.py --client build/release/bench_client --port 8443 --cert cert.pem --request FILE
"""

import argparse
import json
import socket
import ssl
import subprocess
import threading
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("client", "port", "cert", "request"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--handshakes", type=int, default=200, help="in a burst")
    parser.add_argument("--rate", type=int, default=500, help="requests per second on the established connection")
    parser.add_argument("--seconds", type=float, default=1)
    return parser.parse_args()


class Bursts(threading.Thread):
    def __init__(self, options):
        super().__init__()
        self.argv = ["nice", "-n", "19", options.client, "--port", options.port, "--connections", str(options.handshakes),
                     "--pace", str(options.handshakes), "--request", options.request, "--seconds", "0", "--tls"]
        self.is_over = threading.Event()
        self.made = 0
        self.failed = 0

    def run(self):
        while not self.is_over.is_set():
            done = subprocess.run(self.argv, input="go\nend\n", stdout=subprocess.PIPE, text=True, check=False)
            self.made += 1
            self.failed += done.returncode != 0


def ask(connection, request):
    connection.sendall(request)
    answer = b""
    while not answer.endswith(b"Hello, World!"):
        more = connection.recv(65536)
        if not more:
            raise OSError("the server ended the connection")
        answer += more


def latencies(connection, request, rate, seconds):
    """In milliseconds."""
    found = []
    begin = time.monotonic()
    for number in range(int(rate * seconds)):
        due = begin + number / rate
        time.sleep(max(0, due - time.monotonic()))
        ask(connection, request)
        found.append((time.monotonic() - due) * 1000)
    return sorted(found)


def main():
    options = arguments()
    with open(options.request, "rb") as file:
        request = file.read()
    context = ssl.create_default_context(cafile=options.cert)
    bursts = Bursts(options)
    with context.wrap_socket(socket.create_connection(("127.0.0.1", int(options.port))), server_hostname="localhost") as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask(connection, request)
        bursts.start()
        try:
            found = latencies(connection, request, options.rate, options.seconds)
        finally:
            bursts.is_over.set()
            bursts.join()
    print(json.dumps({"requests": len(found), "bursts": bursts.made, "failed": bursts.failed,
                      "p50_ms": found[len(found) // 2], "p99_ms": found[len(found) * 99 // 100]}))


if __name__ == "__main__":
    main()
