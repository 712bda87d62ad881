#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the npm packages: skua-server, and one with the static program for each processor.

    python3 tools/release/npm.py FOLDER [x86_64] [aarch64]
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import PROCESSORS, ROOT, compressed, entry, tar, version  # noqa: E402
from release.static import OUT as STATIC, build  # noqa: E402


def platform_name(processor):
    return f"skua-server-linux-{PROCESSORS[processor]['npm']}"


def archive(folder, described, files):
    """name-version.tgz, as npm pack names it. files: path: (content, mode)."""
    described = {"version": version(), "license": "MIT", **described}
    files = {"package.json": ((json.dumps(described, indent=2) + "\n").encode(), 0o644),
             "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644), **files}
    members = [(entry(f"package/{name}", mode=mode), content) for name, (content, mode) in sorted(files.items())]
    made = pathlib.Path(folder) / f"{described['name']}-{version()}.tgz"
    made.write_bytes(compressed(tar(members)))
    return made


def write(folder, processors):
    yield archive(folder, {
        "name": "skua-server", "description": "The web server skua, as a program",
        "bin": {"skua": "bin/skua.js"}, "engines": {"node": ">=16"},
        "optionalDependencies": {platform_name(name): version() for name in PROCESSORS},
    }, {"bin/skua.js": ((ROOT / "packaging/npm/skua.js").read_bytes(), 0o755)})
    for name in processors:
        cpu = PROCESSORS[name]["npm"]
        yield archive(folder, {
            "name": platform_name(name), "description": f"The program skua for Linux on {cpu}", "os": ["linux"], "cpu": [cpu],
        }, {"bin/skua": ((STATIC / name / "skua").read_bytes(), 0o755)})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asked = sys.argv[2:] or ["x86_64"]
    for name in asked:
        build(name)
    for made in write(sys.argv[1], asked):
        print(made)
