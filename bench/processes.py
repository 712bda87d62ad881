# SPDX-License-Identifier: MIT
"""Processes under test: started pinned to a core, watched through /proc, ended by their id.

CPU time is the first column of schedstat (nanoseconds on a core, user and kernel together), summed over
every task of a process and its descendants. On loopback it holds the kernel's network work as well,
because that runs in the time of whoever sent.
"""

import os
import random
import resource
import signal
import socket
import subprocess
import time

SERVER_CORE = 0
CLIENT_CORE = 1
PORTS = range(18000, 30000)


def raise_descriptor_limit():
    """Ten thousand connections need as many descriptors; children inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"


class OneCongestionControl:
    """Reno for every socket of the machine while the bench runs, where that may be set, and afterwards what there was.
    A congestion control that paces (BBR) sets a timer for each segment after the first. Skua and the ceilings ask for
    Reno on loopback, so without this, files would measure the peers' congestion control."""

    def __enter__(self):
        self.before = None
        try:
            with open(CONGESTION) as setting:
                before = setting.read().strip()
            if before != "reno":
                self.write("reno")
                self.before = before
        except OSError as error:
            print(f"bench: the peers' congestion control stays as it is: {error}")
        return self

    def __exit__(self, *_):
        if self.before:
            self.write(self.before)

    @staticmethod
    def write(name):
        with open(CONGESTION, "w") as setting:
            setting.write(name)


def pinned(core, argv):
    return ["taskset", "-c", str(core)] + [str(arg) for arg in argv]


def free_port(taken=set()):
    """A port that nobody listens on, below the range from which the kernel takes the clients' ports.

    It is any of them: the first one would be that of another bench that is begun at the same time.
    """
    for port in random.sample(PORTS, len(PORTS)):
        if port in taken:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        taken.add(port)
        return port
    raise RuntimeError("no free port")


def parents():
    """Maps every process to its parent."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as stat:
                found[int(entry)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it ended meanwhile
    return found


def family(pid):
    """A process and all its descendants."""
    parent_of = parents()
    members = [pid]
    for member in members:
        members += [child for child, parent in parent_of.items() if parent == member]
    return members


def cpu_ns(pid):
    total = 0
    for member in family(pid):
        try:
            for task in os.listdir(f"/proc/{member}/task"):
                with open(f"/proc/{member}/task/{task}/schedstat") as stat:
                    total += int(stat.read().split()[0])
        except OSError:
            pass
    return total


def memory_octets(pid):
    """Memory that belongs to a process family alone: what it has written to."""
    total = 0
    for member in family(pid):
        try:
            with open(f"/proc/{member}/smaps_rollup") as rollup:
                for line in rollup:
                    if line.startswith(("Private_Dirty:", "Swap:")):
                        total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


class Server:
    """A running server. Its output goes to a file that tells why it did not start."""

    def __init__(self, argv, port, log_path):
        self.port = port
        self.log_path = log_path
        self.log = open(log_path, "wb")
        self.process = subprocess.Popen(pinned(SERVER_CORE, argv), stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, start_new_session=True)
        self.wait_until_open()

    def wait_until_open(self, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(self.last_words() or "did not start")

    def words(self):
        """The text that it has written."""
        with open(self.log_path, errors="replace") as log:
            return log.read().strip()

    def last_words(self):
        return self.words().rpartition("\n")[2].strip()

    @property
    def alive(self):
        return self.process.poll() is None

    def cpu_ns(self):
        return cpu_ns(self.process.pid)

    def memory_octets(self):
        return memory_octets(self.process.pid)

    def stop(self):
        """Ends the session that start made: this server and its workers, nobody else."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(timeout=5)
                break
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                pass
        self.log.close()
