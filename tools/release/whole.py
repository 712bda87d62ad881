#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a release: build/release-VERSION, with the source, the header, programs, packages, an image, a bill of materials and
the checksums of them all. The same revision makes the same octets, wherever it is.

    python3 tools/release/whole.py [x86_64] [aarch64]
"""

import hashlib
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release import completions, deb, kubernetes, man, npm, oci, sbom, source, static, wheels  # noqa: E402
from release.common import BUILD, PROCESSORS, ROOT, compressed, entry, run, tar, version  # noqa: E402


def program(processor):
    """The program with its manual pages and completions, to be unpacked below /usr/local."""
    with tempfile.TemporaryDirectory() as at:
        shares = pathlib.Path(at)
        man.write(shares / "share/man")
        completions.write(shares / "completions")
        files = {"bin/skua": ((static.OUT / processor / "skua").read_bytes(), 0o755),
                 "share/doc/skua/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644)}
        for page in ("man1/skua.1", "man5/skua.conf.5"):
            files[f"share/man/{page}"] = ((shares / "share/man" / page).read_bytes(), 0o644)
        for name, to in (("skua.bash", "bash-completion/completions/skua"), ("_skua", "zsh/site-functions/_skua"),
                         ("skua.fish", "fish/vendor_completions.d/skua.fish")):
            files[f"share/{to}"] = ((shares / "completions" / name).read_bytes(), 0o644)
    return compressed(tar((entry(name, mode=mode), content) for name, (content, mode) in sorted(files.items())))


def checksums(folder):
    files = sorted(p for p in folder.iterdir() if p.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files)


def write(folder, processors):
    named = f"skua-{version()}"
    (folder / f"{named}.tar.gz").write_bytes(source.archive())
    run([sys.executable, "tools/dist.py", "--out", folder / f"{named}.h"], cwd=ROOT)
    for processor in processors:
        static.build(processor)
        (folder / f"{named}-linux-{processor}.tar.gz").write_bytes(program(processor))
        wheels.write(folder, processor)
    list(npm.write(folder, processors))
    oci.write(folder / f"{named}-image.tar", processors)
    kubernetes.write(folder)
    list(deb.write(folder))
    (folder / f"{named}.spdx.json").write_text(json.dumps(sbom.document(), indent=2) + "\n")
    (folder / "SHA256SUMS").write_text(checksums(folder))


if __name__ == "__main__":
    asked = sys.argv[1:] or list(PROCESSORS)
    to = BUILD / f"release-{version()}"
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    write(to, asked)
    print((to / "SHA256SUMS").read_text(), end="")
    print(f"{to.relative_to(ROOT)}: {len(list(to.iterdir()))} files")
