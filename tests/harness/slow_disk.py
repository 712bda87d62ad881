#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A disk that takes its time: a file system whose every look-up, opening and reading is answered after a while, all at
once if need be, and of which the kernel remembers nothing. A file is there for each name "NUMBER.OCTETS", and for each
name "NUMBER.OCTETS.BROKEN" one of which nothing can be read from its octet BROKEN on.

As a program it serves a folder by the kernel's FUSE protocol until it is ended: slow_disk.py FOLDER SECONDS"""

import contextlib
import ctypes
import errno
import heapq
import os
import select
import stat
import struct
import subprocess
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 27, 28, 29, 36, 42
SILENT = {FORGET, INTERRUPT, BATCH_FORGET}
QUICK = {INIT, GETATTR, RELEASE, RELEASEDIR, STATFS, FLUSH}
ROOT = 1
IN_HEADER = struct.Struct("<IIQQIIII")
OUT_HEADER = struct.Struct("<IiQ")
MOUNT_FLAGS = 2 | 4  # MS_NOSUID, MS_NODEV
DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def content(name, offset, octets):
    """Octets of the file of that name."""
    line = f"{name}\n".encode()
    first = offset % len(line)
    return (line * (octets // len(line) + 2))[first : first + octets]


def size_of(name):
    """Of the file of that name; None: there is none."""
    parts = name.split(".")
    return int(parts[1]) if len(parts) in (2, 3) and all(part.isdigit() for part in parts) else None


def broken_at(name):
    """The first octet of the file of that name that cannot be read."""
    parts = name.split(".")
    return int(parts[2]) if len(parts) == 3 else size_of(name)


class Disk:
    """The file system's half of the protocol."""

    def __init__(self):
        self.names = {}  # by node
        self.nodes = {}

    def attributes(self, node):
        size = 0 if node == ROOT else size_of(self.names[node])
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o644
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 0, 1, 1, 1, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)

    def answer(self, code, node, body):
        """The octets of an answer, or a number of errno."""
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 131072, 1, 64, 64, 131072, 1, 32, 0, 0)
        if code == LOOKUP:
            return self.look_up(body.rstrip(b"\0").decode())
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if code == READ:
            offset, octets = struct.unpack_from("<8xQI", body)
            name = self.names[node]
            octets = max(0, min(octets, size_of(name) - offset))
            return errno.EIO if offset + octets > broken_at(name) else content(name, offset, octets)
        if code == READDIR:
            return b""
        if code == STATFS:
            return struct.pack("<QQQQQIII28x", 0, 0, 0, 0, 0, 4096, 255, 4096)
        return 0 if code in (RELEASE, RELEASEDIR) else errno.ENOSYS

    def look_up(self, name):
        if size_of(name) is None:
            return errno.ENOENT
        node = self.nodes.setdefault(name, len(self.nodes) + ROOT + 1)
        self.names[node] = name
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attributes(node)


def serve(device, delay):
    """Answers until the file system is unmounted."""
    disk, waiting, count = Disk(), [], 0
    while True:
        wait = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([device], [], [], wait)[0]:
            try:
                octets = os.read(device, 262144)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # unmounted
            _, code, unique, node, *_ = IN_HEADER.unpack_from(octets)
            if code not in SILENT:
                answer = disk.answer(code, node, octets[IN_HEADER.size :])
                error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
                out = OUT_HEADER.pack(OUT_HEADER.size + len(body), error, unique) + body
                count += 1
                heapq.heappush(waiting, (time.monotonic() + (0 if code in QUICK else delay), count, out))
        while waiting and waiting[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):  # whoever asked has gone
                os.write(device, heapq.heappop(waiting)[2])


def mount(folder):
    """The device of a file system mounted there. OSError where that is not allowed."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40755,user_id={os.getuid()},group_id={os.getgid()}".encode()
    if LIBC.mount(b"slow", os.fsencode(folder), b"fuse", MOUNT_FLAGS, options):
        number = ctypes.get_errno()
        os.close(device)
        raise OSError(number, os.strerror(number))
    return device


@contextlib.contextmanager
def mounted(folder, delay):
    """The folder is a slow disk for a while; yields None where such a thing cannot be had."""
    process = subprocess.Popen([sys.executable, __file__, str(folder), str(delay)], stdout=subprocess.PIPE)
    told = process.stdout.readline()
    try:
        yield process if told else None
    finally:
        LIBC.umount2(os.fsencode(str(folder)), DETACH)
        process.stdout.close()
        if told:
            process.terminate()
        process.wait()


if __name__ == "__main__":
    try:
        opened = mount(sys.argv[1])
    except OSError as why:
        sys.exit(f"slow_disk: {why}")
    print("mounted", flush=True)
    serve(opened, float(sys.argv[2]))
