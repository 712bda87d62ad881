#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manifest and the Helm chart with this version in them.

    python3 tools/release/kubernetes.py FOLDER      FOLDER/skua-VERSION.yaml, and FOLDER/skua-chart-VERSION.tgz, which helm installs
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import ROOT, compressed, entry, tar, version  # noqa: E402


def put(file):
    return file.read_text().replace("@VERSION@", version()).encode()


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest, chart = folder / f"skua-{version()}.yaml", folder / f"skua-chart-{version()}.tgz"
    manifest.write_bytes(put(ROOT / "packaging/kubernetes/skua.yaml"))
    at = ROOT / "packaging/helm"
    members = [(entry(str(p.relative_to(at))), put(p)) for p in sorted(at.rglob("*")) if p.is_file()]
    chart.write_bytes(compressed(tar(members)))
    return [manifest, chart]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for made in write(sys.argv[1]):
        print(made)
