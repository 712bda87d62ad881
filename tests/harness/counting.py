# SPDX-License-Identifier: MIT
"""Servers whose allocations are counted, by counters.c preloaded into them."""

import mmap
import pathlib
import resource
import struct
import subprocess

from ports import free_port
from server import RELEASE, Server

HERE = pathlib.Path(__file__).parent


def make_shim(folder):
    """Compiles counters.c. Returns the library."""
    library = folder / "counters.so"
    subprocess.run(
        ["cc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", HERE / "counters.c", "-o", library, "-ldl"], check=True
    )
    return library


def many_descriptors():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Counted:
    """A server whose allocations are counted. {port} in words is where it is to listen, unless port says where it listens."""

    def __init__(self, shim, folder, name, *words, build=RELEASE, port=None):
        path = folder / "counters"
        path.write_bytes(b"\0" * mmap.PAGESIZE)
        port = port or free_port()
        self.server = Server(
            [build / name, *[str(w).format(port=port) for w in words]], ("127.0.0.1", port),
            env={"LD_PRELOAD": str(shim), "SKUA_COUNTERS": str(path)}, preexec=many_descriptors, cwd=folder,
        )
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        assert self.calls() > 0, "the shim is not in force"

    def calls(self):
        return struct.unpack_from("Q", self.map, 0)[0]

    def octets(self):
        """In use."""
        return struct.unpack_from("q", self.map, 8)[0]

    def most(self):
        """That were in use since this was asked last."""
        most = struct.unpack_from("q", self.map, 16)[0]
        struct.pack_into("q", self.map, 16, self.octets())
        return most
