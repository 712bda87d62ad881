# SPDX-License-Identifier: MIT
"""The tables of HPACK's Huffman code are those that tools/huffman.py writes, and the code is that of RFC 7541."""

import subprocess
import sys

from hpack import huffman_constants
from server import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import huffman


def test_the_checked_in_tables_are_what_the_tool_writes(tmp_path):
    out = tmp_path / "huffman_table.c"
    subprocess.run([sys.executable, ROOT / "tools/huffman.py", "--out", out], check=True)
    assert out.read_text() == (ROOT / "src/http/huffman_table.c").read_text()


def test_the_code_is_that_of_the_rfc():
    codes = huffman.codes()
    assert [codes[i][0] for i in range(257)] == list(huffman_constants.REQUEST_CODES)
    assert [codes[i][1] for i in range(257)] == list(huffman_constants.REQUEST_CODES_LENGTH)
