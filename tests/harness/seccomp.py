# SPDX-License-Identifier: MIT
"""System calls that fail, as in a container that does not allow them."""

import ctypes
import platform
import struct

URING_SETUP, URING_ENTER, URING_REGISTER = 425, 426, 427
CLONE, CLONE3, CLONE_THREAD = 56 if platform.machine() == "x86_64" else 220, 435, 0x10000
PIPE2 = 293 if platform.machine() == "x86_64" else 59
OPENAT = 257 if platform.machine() == "x86_64" else 56

SECCOMP_ALLOW, SECCOMP_ERRNO = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, JUMP_EQUAL, JUMP_ANY, RETURN = 0x20, 0x15, 0x45, 0x06


def forbid(number, error, flags=None):
    """For preexec: the system call fails with error from here on. flags: (argument, bits): that with one of these bits."""
    load = [(LOAD_NUMBER, 0, 0, 0), (JUMP_EQUAL, 0, 3 if flags else 1, number)]
    if flags:
        load += [(LOAD_NUMBER, 0, 0, 16 + 8 * flags[0]), (JUMP_ANY, 0, 1, flags[1])]
    program = b"".join(struct.pack("HBBI", *op) for op in (
        *load, (RETURN, 0, 0, SECCOMP_ERRNO | error), (RETURN, 0, 0, SECCOMP_ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)
    octets = ctypes.create_string_buffer(program, len(program))
    filters = struct.pack("HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP", len(program) // 8, ctypes.addressof(octets))

    def install():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")

    install.octets = octets
    return install
