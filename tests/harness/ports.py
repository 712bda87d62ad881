# SPDX-License-Identifier: MIT
"""Ports of loopback for servers under test, which no two tests of this machine are given at the same time."""

import fcntl
import os
import pathlib
import socket
import tempfile

# Below the range from which the kernel takes the ports of clients (32768 on), and below that of bench/ (18000 on).
FIRST, LAST = 10240, 17999
COUNTER = pathlib.Path(tempfile.gettempdir()) / f"skua-ports-{os.getuid()}"


def free_port(family=socket.AF_INET):
    """The next port that is free. A port comes again only when all others have come.

    Asking the kernel for port 0 is not enough: until the server listens it may give the same port to
    another test, to a client, or twice to one that asks for two.
    """
    with open(COUNTER, "a+", encoding="ascii") as counter:
        fcntl.flock(counter, fcntl.LOCK_EX)
        counter.seek(0)
        last = int(counter.read() or LAST)
        for step in range(1, LAST - FIRST + 2):
            port = FIRST + (last - FIRST + step) % (LAST - FIRST + 1)
            if is_free(family, port):
                counter.truncate(0)
                counter.write(str(port))
                return port
    raise RuntimeError(f"no port from {FIRST} to {LAST} is free")


def is_free(family, port):
    with socket.socket(family) as probe:
        try:
            probe.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
        except OSError:
            return False
        return True
