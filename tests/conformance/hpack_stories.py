#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Header blocks that other implementations wrote, decoded by ours; and their fields, encoded by ours and decoded by
Python's hpack.

The folder holds hpack-stories.jsonl.xz: a line for each block, {impl, story, seqno, table_size, wire, headers}.
"""

import argparse
import json
import lzma
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
import hpack
import hpack_pipe

FILE = "hpack-stories.jsonl.xz"


def stories(folder):
    """{(implementation, story): its blocks in order}"""
    found = {}
    with lzma.open(folder / FILE, "rt") as lines:
        for line in lines:
            block = json.loads(line)
            found.setdefault((block["impl"], block["story"]), []).append(block)
    return found


def fields_of(block):
    return [(name.encode("utf-8"), value.encode("utf-8")) for name, value in block["headers"]]


def check_decoding(pipe, found):
    """Returns what went wrong, as lines."""
    commands = []
    for blocks in found.values():
        limit = max(block["table_size"] or 4096 for block in blocks)
        commands.append(f"decoder {limit}")
        commands += [f"decode {block['wire']}" for block in blocks]
    told = hpack_pipe.answers(pipe, commands)
    every = [(key, block) for key, blocks in found.items() for block in blocks]
    return [f"{key}, block {block['seqno']}: decoded as {said}"
            for (key, block), said in zip(every, told) if said != fields_of(block)]


def check_encoding(pipe, found):
    """All implementations wrote the same stories, so one is enough."""
    one = next(iter(found))[0]
    mine = {key: blocks for key, blocks in found.items() if key[0] == one}
    commands = []
    for blocks in mine.values():
        commands.append("encoder 4096")
        commands += [hpack_pipe.encode(fields_of(block)) for block in blocks]
    told = iter(hpack_pipe.answers(pipe, commands))
    bad, octets, plain = [], 0, 0
    for key, blocks in mine.items():
        decoder = hpack.Decoder(max_header_list_size=1 << 24)
        for block in blocks:
            wire = next(told)
            octets += len(wire)
            plain += sum(len(name) + len(value) for name, value in fields_of(block))
            if decoder.decode(wire, raw=True) != fields_of(block):
                bad.append(f"{key}, block {block['seqno']}: encoded as {wire.hex()}")
    print(f"  encoded to {100 * octets / plain:.1f} % of the fields' octets")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", type=pathlib.Path)
    parser.add_argument("--pipe", required=True, help="the program hpack_pipe")
    args = parser.parse_args()
    found = stories(args.suites)
    blocks = sum(map(len, found.values()))
    bad = check_decoding(args.pipe, found) + check_encoding(args.pipe, found)
    for line in bad[:20]:
        print("FAILED", line[:2000])
    print(f"conformance: {len(found)} stories of HPACK, {blocks} blocks, {len(bad) or 'no'} failures")
    sys.exit(1 if bad or not blocks else 0)


if __name__ == "__main__":
    main()
