#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the bill of materials of the static program in SPDX 2.3: what it is made of, with versions, licences and checksums.

    python3 tools/release/sbom.py OUT.json
"""

import hashlib
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import ROOT, epoch, version  # noqa: E402
from release.static import crate, fetch  # noqa: E402

# Of each crate: the library in it, its licence, and where in its source its version stands, in parts; as a group of parts they are hexadecimal.
LIBRARIES = {
    "openssl-src": ("openssl", "Apache-2.0", "openssl/VERSION.dat", r"^(?:MAJOR|MINOR|PATCH)=(\d+)$"),
    "libz-sys": ("zlib", "Zlib", "src/zlib/zlib.h", r'^#define ZLIB_VERSION "([\d.]+)"'),
    "zstd-sys": ("zstd", "BSD-3-Clause", "zstd/lib/zstd.h", r"^#define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE) +(\d+)"),
    "brotlic-sys": ("brotli", "MIT", "brotli/c/common/version.h", r"^#define BROTLI_VERSION 0x([\da-f]+)([\da-f]{3})([\da-f]{3})$"),
}


def crates():
    text = (ROOT / "packaging/static/Cargo.lock").read_text()
    for name, release, checksum in re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]+)"', text):
        if name in LIBRARIES:
            yield name, release, checksum


def package(name, release, licence, **more):
    return {"name": name, "SPDXID": f"SPDXRef-{name}", "versionInfo": release, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def packages():
    yield package("skua", version(), "MIT", primaryPackagePurpose="APPLICATION")
    for held, release, checksum in crates():
        name, licence, file, parts = LIBRARIES[held]
        found = re.findall(parts, (crate(held) / file).read_text(), re.MULTILINE)
        numbers = [str(int(part, 16)) for part in found[0]] if isinstance(found[0], tuple) else found
        yield package(name, ".".join(numbers), licence, checksums=[{"algorithm": "SHA256", "checksumValue": checksum}],
                      sourceInfo=f"the sources in the crate {held} {release}, whose checksum this is")
    zig = re.search(r"^ziglang==(\S+)$", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE).group(1)
    yield package("musl", f"of-zig-{zig}", "MIT", sourceInfo=f"the C library that comes with ziglang {zig}")


def document():
    fetch()
    made = list(packages())
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-skua"}]
    relations += [{"spdxElementId": "SPDXRef-skua", "relationshipType": "STATIC_LINK", "relatedSpdxElement": p["SPDXID"]} for p in made[1:]]
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"skua-{version()}",
        "documentNamespace": f"urn:skua:{version()}:{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch())), "creators": ["Tool: skua-release"]},
        "packages": made, "relationships": relations,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[1]).write_text(json.dumps(document(), indent=2) + "\n")
