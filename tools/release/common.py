# SPDX-License-Identifier: MIT
"""Common parts of the release tools: places, the version, the date, and archives with the same octets each time."""

import gzip
import io
import os
import pathlib
import re
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"

# Names of processors: ours, of zig and musl, of Debian, of OCI and Go, of wheels, of npm.
PROCESSORS = {
    "x86_64": {"debian": "amd64", "oci": "amd64", "wheel": "x86_64", "npm": "x64", "openssl": "linux-x86_64"},
    "aarch64": {"debian": "arm64", "oci": "arm64", "wheel": "aarch64", "npm": "arm64", "openssl": "linux-aarch64"},
}


def version():
    """The project's version, as CMake has it."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"^project\(skua VERSION ([\d.]+)", text, re.MULTILINE).group(1)


def epoch():
    """The time that everything in a release has: that of the commit, or SOURCE_DATE_EPOCH."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    shown = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(shown.stdout) if shown.returncode == 0 and shown.stdout.strip() else 0


def run(words, **options):
    """Runs a command, and says its output when it fails."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(w) for w in words)}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def entry(name, size=0, mode=0o644, kind=tarfile.REGTYPE, link=""):
    """A member of an archive: root's, and as old as the release."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.type, info.linkname, info.mtime = size, mode, kind, link, epoch()
    info.uname = info.gname = "root"
    return info


def tar(members):
    """The octets of an archive. members: (TarInfo, content), in order."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return held.getvalue()


def compressed(octets):
    """gzip without a name or a time of its own."""
    return gzip.compress(octets, 9, mtime=0)


def tracked():
    """The files of the project, in order: those that git knows, or all of an unpacked release."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted(name for name in listed.stdout.split("\0") if name)
    skipped = {"build", "dist", ".git"}
    found = (p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file())
    return sorted(str(p) for p in found if p.parts[0] not in skipped and "__pycache__" not in p.parts)
