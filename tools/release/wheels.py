#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes wheels with the static program in them, of the distribution skua-server: pip puts `skua` on the path.

    python3 tools/release/wheels.py FOLDER [x86_64] [aarch64]
"""

import base64
import hashlib
import pathlib
import sys
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import PROCESSORS, ROOT, epoch, version  # noqa: E402
from release.static import OUT as STATIC, build  # noqa: E402

# A static program needs no C library, so both of Linux's kinds of wheels are right.
TAGS = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
METADATA = """Metadata-Version: 2.1
Name: skua-server
Version: {version}
Summary: The web server skua, as a program: serves a folder, or sites by a configuration
License: MIT
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Internet :: WWW/HTTP :: HTTP Servers
Description-Content-Type: text/markdown

The program `skua`, statically linked, with nothing of Python in it.

    skua ./public
    skua -c skua.conf
"""


def files(processor):
    info = f"skua_server-{version()}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in TAGS.format(PROCESSORS[processor]["wheel"]).split("."))
    yield f"skua_server-{version()}.data/scripts/skua", (STATIC / processor / "skua").read_bytes(), 0o755
    yield f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644
    yield f"{info}/METADATA", METADATA.format(version=version()).encode(), 0o644
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: skua\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644


def write(folder, processor):
    tag = TAGS.format(PROCESSORS[processor]["wheel"])
    made = pathlib.Path(folder) / f"skua_server-{version()}-py3-none-{tag}.whl"
    day = time.gmtime(max(epoch(), 315532800))[:6]  # zip begins in 1980
    record = []
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, content, mode):
            info = zipfile.ZipInfo(name, day)
            info.external_attr, info.compress_type, info.create_system = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED, 3
            wheel.writestr(info, content)

        for name, content, mode in files(processor):
            add(name, content, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            record.append(f"{name},sha256={digest},{len(content)}\n")
        name = f"skua_server-{version()}.dist-info/RECORD"
        add(name, "".join([*record, f"{name},,\n"]).encode(), 0o644)
    return made


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or ["x86_64"]:
        build(name)
        print(write(sys.argv[1], name))
