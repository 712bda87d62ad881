# SPDX-License-Identifier: MIT
"""Stops a child of the test at its n-th system call from now on, which is where something outside of it can kill it."""

import ctypes
import errno
import os
import signal

SEIZE, INTERRUPT, SYSCALL, DETACH = 0x4206, 0x4207, 24, 17
TELLS_CALLS, ENDS_WITH_TRACER = 1, 1 << 20

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

    def leave(self):
        trace(DETACH, self.pid, self.passed)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        while self._stopped() is not None:
            pass
