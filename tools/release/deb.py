#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the Debian packages of this machine's processor: skua, libskua0.2 (the number is of the ABI), libskua-dev.

    python3 tools/release/deb.py FOLDER

They are built by dpkg-buildpackage in build/deb, from the source archive and packaging/debian.
"""

import email.utils
import os
import pathlib
import shutil
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release import source  # noqa: E402
from release.common import BUILD, ROOT, epoch, run, version  # noqa: E402

WORK = BUILD / "deb"


def put(text, to):
    """A file of packaging/debian with the version, the ABI's number and the day in it."""
    abi = ".".join(version().split(".")[:2])
    for word, value in {"@ABI@": abi, "@VERSION@": version(), "@DATE@": email.utils.formatdate(epoch())}.items():
        text = text.replace(word, value)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text)


def unpack():
    """The source as dpkg-buildpackage wants it."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    original = WORK / f"skua_{version()}.orig.tar.gz"
    original.write_bytes(source.archive())
    with tarfile.open(original) as archive:
        archive.extractall(WORK)
    folder = WORK / f"skua-{version()}"
    own = ROOT / "packaging/debian"
    for file in sorted(p for p in own.rglob("*") if p.is_file()):
        name = str(file.relative_to(own)).replace("@ABI@", ".".join(version().split(".")[:2])).removesuffix(".in")
        to = folder / "debian" / name
        put(file.read_text(), to)
        shutil.copymode(file, to)
    return folder


def write(folder):
    """Returns the packages' paths, without those of debugging symbols."""
    at = unpack()
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "LC_ALL": "C", "TZ": "UTC"}
    run(["dpkg-buildpackage", "-us", "-uc", "-b", "--build=binary"], cwd=at, env=env)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for made in sorted(WORK.glob("*.deb")):
        if "-dbgsym_" not in made.name:
            shutil.copy(made, folder / made.name)
            yield folder / made.name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for made in write(sys.argv[1]):
        print(made)
