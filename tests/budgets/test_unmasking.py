# SPDX-License-Identifier: MIT
"""Instructions for each octet of a WebSocket message that is read: eight octets are unmasked at a time below 200, vectors from there on, and
whether a text is ASCII is found on the way."""

import re
import subprocess

import pytest
from compiling import run
from instructions import VALGRIND, compiler_path
from server import ROOT

pytestmark = pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed")

TEXT, BINARY = 1, 2
TIMES = 1000
SOURCES = [ROOT / "src" / name for name in ("http/ws_reader.c", "http/ws_mask.c", "http/ws_frame.c", "http/ws_utf8.c", "base/assert.c")]

# Reads a frame of so many octets, so often: LENGTH TIMES OPCODE.
PROGRAM = """
#include "http/ws_reader.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    static char wire[70000], out[70000];
    const ws_limits limits = { 70000, 1 };
    if (argc != 4) return 2;
    size_t len = strtoul(argv[1], NULL, 10), head = len < 126 ? 2 : 4;
    wire[0] = (char)(0x80 | atoi(argv[3]));
    wire[1] = (char)(0x80 | (len < 126 ? len : 126));
    if (head == 4) wire[2] = (char)(len >> 8), wire[3] = (char)len;
    memcpy(wire + head, "\\1\\2\\3\\4", 4);
    memset(wire + head + 4, 'a', len);
    for (int i = atoi(argv[2]); i > 0; i--) {
        ws_reader reader = { .limits = &limits };
        slice input = { wire, head + 4 + len };
        if (ws_reader_next(&reader, &input) != WS_EVENT_FRAME) return 3;
        if (ws_reader_next(&reader, &input) != WS_EVENT_PAYLOAD) return 4;
        if (!ws_reader_take(&reader, &input, out)) return 5;
        if (ws_reader_next(&reader, &input) != WS_EVENT_MESSAGE || input.len) return 6;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    (folder / "reader.c").write_text(PROGRAM)
    run([compiler_path(), "-std=c17", "-O2", "-D_GNU_SOURCE", "-I", ROOT / "src", "-I", ROOT / "include", folder / "reader.c",
         *SOURCES, "-pthread", "-o", folder / "reader"])
    return folder / "reader"


def instructions(reader, length, opcode):
    """Of one frame."""
    def executed(times):
        words = [VALGRIND, "--tool=callgrind", "--callgrind-out-file=/dev/null", reader, length, times, opcode]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))
    return (executed(2 * TIMES) - executed(TIMES)) / TIMES


def test_instructions_of_unmasking(reader, record_property):
    of = {length: instructions(reader, length, TEXT) for length in (64, 192, 1024, 4096)}
    few, many = (of[192] - of[64]) / 128, (of[4096] - of[1024]) / 3072
    print(f"{few:.2f} instructions an octet below 200, {many:.2f} above; {of}")
    record_property("instructions", round(many, 2))
    assert few <= 2.0  # one octet at a time takes more than three
    assert many <= 0.8
    for length in (64, 4096):
        assert abs(of[length] - instructions(reader, length, BINARY)) < 20  # a text is not looked at once more
