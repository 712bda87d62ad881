#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays fuzz-h2o-http2.jsonl, raw octets of clients of HTTP/2, to a server of its own, whole and one octet at a time.

Each connection is half closed behind its octets. It must end, what the server sent must be whole frames that a server
may send, and both runs must end with the same code. The server must end well, so that a sanitizer has found nothing.
"""

import argparse
import concurrent.futures
import json
import pathlib
import signal
import socket
import subprocess
import sys

from run import H2_CORPUS, start

PATIENCE_S = 30
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ON_STREAMS = {DATA, HEADERS, RST_STREAM, CONTINUATION}
ON_NONE = {SETTINGS, PING, GOAWAY}
SIZES = {RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}


def converse(port, raw, split):
    """All that the server sends, until it has ended the connection; None: it has not."""
    came = bytearray()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at in range(0, len(raw), split or len(raw)):
                s.sendall(raw[at : at + (split or len(raw))])
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has ended it already
        try:
            while piece := s.recv(65536):
                came += piece
        except TimeoutError:
            return None
        except ConnectionError:
            pass
    return bytes(came)


def frames(came):
    """(type, flags, stream, payload) of each; the last is cut where octets are missing."""
    at = 0
    while at < len(came):
        size = int.from_bytes(came[at : at + 3], "big")
        if len(came) < at + 9 + size:
            raise ValueError("a frame that is cut")
        yield came[at + 3], came[at + 4], int.from_bytes(came[at + 5 : at + 9], "big"), came[at + 9 : at + 9 + size]
        at += 9 + size


def judge(came):
    """The code of the last GOAWAY, or None. Raises ValueError where a server may not send this."""
    code, block_of = None, 0
    for number, (kind, flags, stream, payload) in enumerate(frames(came)):
        if number == 0 and (kind != SETTINGS or flags):
            raise ValueError("does not begin with SETTINGS")
        if kind not in ON_STREAMS | ON_NONE | {WINDOW_UPDATE}:
            raise ValueError(f"type {kind}")
        if (kind in ON_STREAMS and stream % 2 == 0) or (kind in ON_NONE and stream):
            raise ValueError(f"type {kind} on stream {stream}")
        if len(payload) != SIZES.get(kind, len(payload)) or len(payload) > 16384:
            raise ValueError(f"type {kind} of {len(payload)} octets")
        if code:
            raise ValueError(f"type {kind} behind GOAWAY of code {code}")
        if (kind == CONTINUATION) != (block_of != 0) or (block_of and stream != block_of):
            raise ValueError(f"type {kind} where a block goes on")
        if kind in (HEADERS, CONTINUATION):
            block_of = 0 if flags & 4 else stream
        if kind == GOAWAY:
            code = int.from_bytes(payload[4:8], "big")
    if block_of:
        raise ValueError("a block without its end")
    return code


def play(port, case, split):
    """(code, finding), of which one is None."""
    raw = case["raw"].encode("latin1")
    came = converse(port, raw, split)
    if came is None:
        return None, f"{case['id']}: the connection does not end"
    # Behind "PRI " a client has decided for HTTP/2, even if the rest of its preface is wrong.
    if not raw.startswith(b"PRI ") and (not came or came.startswith(b"HTTP/1.")):
        return None, None
    try:
        return judge(came), None
    except ValueError as why:
        return None, f"{case['id']}: {why}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", type=pathlib.Path)
    parser.add_argument("--server", required=True, help="the echo server")
    args = parser.parse_args()
    with (args.suites / H2_CORPUS).open() as lines:
        cases = [json.loads(line) for line in lines]
    process, port = start(args.server)
    found = []
    try:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            whole = list(pool.map(lambda case: play(port, case, 0), cases))
            split = list(pool.map(lambda case: play(port, case, 1), cases))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            ended = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            ended = "no answer to SIGTERM"
    if ended != 0:
        found.append(f"the server ended with {ended}")
    for case, (code, why), (split_code, split_why) in zip(cases, whole, split):
        found += [one for one in (why, split_why) if one]
        if not why and not split_why and code != split_code:
            found.append(f"{case['id']}: code {code}, one octet at a time {split_code}")
    for line in found:
        print("FAILED", line)
    codes = sorted({code for code, _ in whole if code is not None})
    print(f"h2 corpus: {len(cases)} inputs twice, codes {codes}, {len(found) or 'no'} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
