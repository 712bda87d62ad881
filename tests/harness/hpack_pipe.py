# SPDX-License-Identifier: MIT
"""The library's HPACK, asked by a script of commands: tests/conformance/hpack_pipe.c."""

import subprocess


def fields_text(fields):
    return " ".join(f"{name.hex()}:{value.hex()}" for name, value in fields)


def decode(block):
    return f"decode {block.hex()}"


def encode(fields):
    return f"encode {fields_text(fields)}"


def answers(pipe, commands):
    """The answers of the program to each decode (a list of pairs, or None for a fault) and encode (octets)."""
    done = subprocess.run([pipe], input="".join(f"{c}\n" for c in commands), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = [c.split(" ", 1)[0] for c in commands if c.startswith(("decode ", "encode "))]
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == len(asked)
    return [bytes.fromhex(line) if what == "encode" else fields_of(line) for what, line in zip(asked, lines)]


def fields_of(line):
    words = line.split()
    if words and words[-1] == "fault":
        return None
    return [tuple(bytes.fromhex(half) for half in word.split(":")) for word in words]
