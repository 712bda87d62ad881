#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the suites of a folder on a server, whole and one octet at a time, and compares the two runs.

The folder holds replay.py and its corpora, *.jsonl. A failure passes only if deviations.md, beside this
file, has a row for its suite and case; a row that no longer fails must go.
"""

import argparse
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
from ports import free_port  # noqa: E402

H2_CORPUS = "fuzz-h2o-http2.jsonl"  # h2_corpus.py plays it


def deviations(path):
    """{(suite, case): row number} of the table's rows: | suite | case | what | why |"""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)]
        if len(cells) == 6 and cells[1] and not set(cells[1]) <= {"-", ":"} and cells[1] != "suite":
            rows[(cells[1], cells[2])] = number
    return rows


def start(server):
    port = free_port()
    process = subprocess.Popen([server, "--port", str(port), "--workers", "1"], stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process, port
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    process.kill()
    sys.exit(f"conformance: {server} does not answer")


def replay(suites, corpus, port, out, *options):
    """One run of a corpus; {suite|case: result}."""
    words = [sys.executable, str(suites / "replay.py"), "--port", str(port), "--out", str(out), *options]
    done = subprocess.run([*words, str(corpus)], capture_output=True, text=True, check=False)
    print("  " + done.stdout.strip().replace("\n", "\n  "), flush=True)
    if not out.is_file():
        sys.exit(f"conformance: replay.py failed\n{done.stderr}")
    return json.loads(out.read_text()), done.stdout


def differing(said):
    """The cases that --compare found different, by suite|case as far as it is printed."""
    return set(re.findall(r"^DIFF (.*?) \| here ", said, re.M))


def check(suites, corpus, port, scratch, known):
    """Findings about one corpus, as lines."""
    whole_out, split_out = scratch / "whole.json", scratch / "split.json"
    for out in (whole_out, split_out):
        out.unlink(missing_ok=True)
    options = ["--jobs", "16"]
    if corpus.stem.startswith("fuzz"):
        options += ["--alive", "--idle", "0.25"]
    print(f"{corpus.stem}, whole and one octet at a time:")
    whole, said = replay(suites, corpus, port, whole_out, *options)
    options += ["--split", "1", "--compare", str(whole_out), "--fail-list"]
    split, said_split = replay(suites, corpus, port, split_out, *options)
    found = [f"the server died: {corpus.stem}" for text in (said, said_split) if "SERVER DEAD" in text]
    different = differing(said_split)
    # A client that goes on sending after it has said close may meet a reset, which can take the answer
    # away before it is read: that is a matter of luck. What differs each time is a matter of parsing.
    for _ in range(3):
        if different:
            different &= differing(replay(suites, corpus, port, split_out, *options)[1])
    found += [f"{case}: answered differently one octet at a time" for case in sorted(different)]
    for results, how in ((whole, "whole"), (split, "split")):
        for key, result in results.items():
            suite, case = key.split("|", 1)
            if not result["verdict"].startswith("FAIL"):
                continue
            if (suite, case) in known:
                known[(suite, case)] = True
            else:
                found.append(f"{suite}: {case}: {how}: answered {result['statuses'] or 'nothing'}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", type=pathlib.Path)
    parser.add_argument("--server", required=True, help="the echo server")
    args = parser.parse_args()
    corpora = sorted(set(args.suites.glob("*.jsonl")) - {args.suites / H2_CORPUS})
    if not (args.suites / "replay.py").is_file() or not corpora:
        sys.exit(f"conformance: no replay.py with *.jsonl in {args.suites}")
    known = dict.fromkeys(deviations(HERE / "deviations.md"), False)
    process, port = start(args.server)
    found = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for corpus in corpora:
                found += check(args.suites, corpus, port, pathlib.Path(scratch), known)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "no answer to SIGTERM"
    if code != 0:
        found.append(f"the server ended with {code}")
    found += [f"deviations.md: {s}: {c}: passes, remove the row" for (s, c), seen in known.items() if not seen]
    for line in found:
        print("FAILED", line)
    print(f"conformance: {len(corpora)} suites, {len(found) or 'no'} unexplained failures")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
