#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/http/huffman_table.c: the Huffman code of RFC 7541, Appendix B, as tables for encoding and decoding.

    tools/huffman.py [--out FILE]

The code is canonical: codes of one length follow each other in the order of their symbols, and a shorter code is less
than a longer one. So the lengths of the codes are all that has to be written down here.
"""

import argparse
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "src/http/huffman_table.c"

# Bits of the codes of the octets 0 to 255, and of EOS; sixteen on a line.
LENGTHS = [int(word) for word in """
    13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28
    28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
    6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6
    5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10
    13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7
    7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6
    15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5
    6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28
    20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23
    24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
    22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23
    21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
    26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25
    19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
    20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23
    26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26
    30
""".split()]

EOS = 256
LOOK_BITS = 11

TOP = """\
// SPDX-License-Identifier: MIT
//
// The tables of RFC 7541, Appendix B. Written by tools/huffman.py; changes belong there.

#include "http/huffman_table.h"

#ifndef SKUA_NO_HTTP2
"""
END = "\n#endif\n"


def codes():
    """{symbol: (code, bits)}, by the rule of canonical codes."""
    found, code, before = {}, 0, 0
    for bits, symbol in sorted((bits, symbol) for symbol, bits in enumerate(LENGTHS)):
        code <<= bits - before
        found[symbol] = (code, bits)
        code, before = code + 1, bits
    return found


def first_of(window, bits, table):
    """The symbol that the first of so many bits of a window begin with, or None."""
    for length in range(1, bits + 1):
        symbol = table.get((window >> (bits - length), length))
        if symbol is not None:
            return symbol
    return None


def looks(found):
    """An entry for each window: the bits of its codes, up to two symbols, the bits of the first, how many there are."""
    table = {pair: symbol for symbol, pair in found.items()}
    for window in range(1 << LOOK_BITS):
        first = first_of(window, LOOK_BITS, table)
        if first is None:
            yield 0
            continue
        one = LENGTHS[first]
        rest = LOOK_BITS - one
        second = first_of(window & ((1 << rest) - 1), rest, table)
        both = one if second is None else one + LENGTHS[second]
        yield both | first << 8 | (second or 0) << 16 | one << 24 | (1 if second is None else 2) << 28


def long_codes(found):
    """Rows of (end of the codes of a length, aligned to 32 bits; bits; place of the first), and symbols in order."""
    rows, symbols = [], []
    for bits in sorted({n for n in LENGTHS if n > LOOK_BITS}):
        of_length = [symbol for symbol, n in enumerate(LENGTHS) if n == bits and symbol != EOS]
        end = (found[of_length[-1]][0] + 1) << (32 - bits)
        rows.append((end, bits, len(symbols)))
        symbols += of_length
    return rows, symbols


def rows_of(words, each):
    return "".join("    " + ", ".join(words[i:i + each]) + ",\n" for i in range(0, len(words), each))


def text():
    found = codes()
    rows, symbols = long_codes(found)
    parts = [
        "const uint32_t huffman_codes[256] = {\n" + rows_of([f"0x{found[i][0]:07x}" for i in range(256)], 8) + "};\n",
        "const uint8_t huffman_bits[256] = {\n" + rows_of([f"{n:2}" for n in LENGTHS[:256]], 16) + "};\n",
        "const uint32_t huffman_looks[1 << HUFFMAN_LOOK_BITS] = {\n"
        + rows_of([f"0x{look:08x}" for look in looks(found)], 8) + "};\n",
        "const huffman_length huffman_lengths[HUFFMAN_LENGTHS] = {\n"
        + "".join(f"    {{ 0x{end:08x}, {bits}, {at} }},\n" for end, bits, at in rows) + "};\n",
        "const uint8_t huffman_long[HUFFMAN_LONG] = {\n" + rows_of([f"0x{s:02x}" for s in symbols], 12) + "};\n",
    ]
    off, on = "// clang-format off\n", "// clang-format on\n"
    return TOP + "\n" + off + "\n".join(parts) + on + END


def main():
    parser = argparse.ArgumentParser(description="Writes the tables of HPACK's Huffman code.")
    parser.add_argument("--out", type=pathlib.Path, default=OUT)
    parser.parse_args().out.write_text(text())


if __name__ == "__main__":
    main()
