# SPDX-License-Identifier: MIT
"""A real HAProxy on loopback, in front of servers."""

import shutil

from ports import free_port
from server import Server

PROGRAM = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

CONFIG = """
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
{back}
"""


def start(folder, back):
    """HAProxy in front of what the lines of the section back say."""
    assert PROGRAM, "there is no haproxy here: tools/setup test"
    port = free_port()
    config = folder / f"haproxy-{port}.conf"
    config.write_text(CONFIG.format(port=port, back=back))
    return Server([PROGRAM, "-f", config], ("127.0.0.1", port))


def over_http2(server, folder):
    """HAProxy in front of a server: requests and WebSockets are streams of its connections of HTTP/2, over TLS if the server speaks it."""
    how = "ssl verify none alpn h2 ws h2" if server.tls else "proto h2 ws h2"
    return start(folder, f"    http-reuse always\n    server skua 127.0.0.1:{server.port} {how}")


def stop(front):
    front.process.terminate()
    front.process.wait(20)
