#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the source of this revision as one archive: what git knows, with the time of the commit.

    python3 tools/release/source.py OUT.tar.gz
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import ROOT, compressed, entry, tar, tracked, version  # noqa: E402


def members():
    for name in tracked():
        file = ROOT / name
        mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
        yield entry(f"skua-{version()}/{name}", mode=mode), file.read_bytes()


def archive():
    return compressed(tar(members()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[1]).write_bytes(archive())
