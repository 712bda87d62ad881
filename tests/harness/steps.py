# SPDX-License-Identifier: MIT
"""Stops a child of the test at its n-th system call from now on. Between two calls nothing outside of the process changes, so that
killing it at the beginning of each call is all that can become of killing it."""

import ctypes
import errno
import os
import platform
import signal

SEIZE, INTERRUPT, SYSCALL, DETACH = 0x4206, 0x4207, 24, 17
TELLS_CALLS, ENDS_WITH_TRACER = 1, 1 << 20
GET_CALL, AT_ENTRY = 0x420E, 1

# Calls that change nothing outside of the process: its memory, its signals, what it asks about itself, about files and the time.
# On other processors each call counts.
OWN = {"x86_64": {4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 17, 21, 25, 28, 39, 79, 89, 96, 97, 99, 102, 104, 107, 108, 110, 131, 137, 138, 158, 186, 204,
                  217, 218, 228, 262, 267, 269, 273, 302, 318, 332, 334, 439}}.get(platform.machine(), set())
POLL = {"x86_64": {7, 271}, "aarch64": {73}}.get(platform.machine(), set())


class CallInfo(ctypes.Structure):
    """The beginning of struct ptrace_syscall_info."""

    _fields_ = [("op", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32), ("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64),
                ("number", ctypes.c_uint64), ("args", ctypes.c_uint64 * 6)]


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(request, pid, data=0):
    if libc.ptrace(request, pid, None, data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def can_trace():
    """Whether the kernel lets a test look at its children so."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        trace(SEIZE, child)
        return True
    except OSError as fault:
        assert fault.errno in (errno.EPERM, errno.ENOSYS)
        return False
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class Steps:
    """Steps of one process, by the thread that makes this object."""

    def __init__(self, pid):
        self.pid = pid
        trace(SEIZE, pid, TELLS_CALLS | ENDS_WITH_TRACER)
        trace(INTERRUPT, pid)
        self._stopped()
        self.calls = 0
        self.places = 0  # at which the process has done something that others can see since the one before
        self.was_seen = True  # what it did last
        self.passed = 0  # the signal that the next step delivers

    def _stopped(self):
        """The signal of the next stop. None: the process has ended."""
        _, status = os.waitpid(self.pid, 0x40000000)
        return os.WSTOPSIG(status) | status >> 16 << 8 if os.WIFSTOPPED(status) else None

    def next(self):
        """Goes on to the beginning or the end of the next call. Returns: False when the process has ended."""
        while True:
            trace(SYSCALL, self.pid, self.passed)
            stop = self._stopped()
            self.passed = 0
            if stop is None:
                return False
            if stop == signal.SIGTRAP | 0x80:
                self.calls += 1
                return True
            if stop < 64 and stop != signal.SIGTRAP:
                self.passed = stop

    def next_place(self):
        """Goes on to the beginning of the next call behind one that others can see. Returns: whether it waits there for something to
        happen. None: the process has ended."""
        info = CallInfo()
        while self.next():
            if libc.ptrace(GET_CALL, self.pid, ctypes.sizeof(info), ctypes.addressof(info)) < 0 or info.op != AT_ENTRY:
                continue
            is_place, self.was_seen = self.was_seen, info.number not in OWN
            if is_place:
                self.places += 1
                return info.number in POLL
        return None

    def leave(self):
        trace(DETACH, self.pid, self.passed)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        while self._stopped() is not None:
            pass
