#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a container image from nothing but the static program: an archive in the layout of OCI, for one or two processors.

    python3 tools/release/oci.py OUT.tar [x86_64] [aarch64]

`skopeo copy oci-archive:OUT.tar docker-daemon:skua:0.2.0` loads it into Docker, `podman load -i OUT.tar` into Podman. The program runs
as user 65532, needs no writable file, and listens on port 8080.
"""

import hashlib
import json
import pathlib
import sys
import tarfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import PROCESSORS, ROOT, compressed, entry, epoch, tar, version  # noqa: E402
from release.static import OUT as STATIC, build  # noqa: E402

USER = 65532
TYPE = "application/vnd.oci.image"


def folder(name):
    return entry(name, mode=0o755, kind=tarfile.DIRTYPE), b""


def layer(program):
    own = ROOT / "packaging/oci"
    files = {
        "etc/group": f"root:x:0:\nskua:x:{USER}:\n".encode(),
        "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nskua:x:{USER}:{USER}:skua:/:/sbin/nologin\n".encode(),
        "etc/skua/skua.conf": (own / "skua.conf").read_bytes(),
        "srv/www/index.html": (own / "index.html").read_bytes(),
        "usr/bin/skua": program,
        "usr/share/doc/skua/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    folders = sorted({str(parent) for name in files for parent in pathlib.PurePath(name).parents if str(parent) != "."})
    members = [folder(name) for name in folders]
    members += [(entry(name, mode=0o755 if name == "usr/bin/skua" else 0o644), files[name]) for name in sorted(files)]
    return tar(members)


class Image:
    """The blobs of an image, by their digests."""

    def __init__(self):
        self.blobs = {}

    def add(self, kind, content, **more):
        if not isinstance(content, bytes):
            content = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": f"{TYPE}.{kind}", "digest": f"sha256:{digest}", "size": len(content), **more}

    def add_processor(self, processor, program):
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
        octets = layer(program)
        config = self.add("config.v1+json", {
            "architecture": PROCESSORS[processor]["oci"], "os": "linux", "created": made,
            "config": {
                "User": f"{USER}:{USER}", "ExposedPorts": {"8080/tcp": {}}, "Entrypoint": ["/usr/bin/skua"],
                "Cmd": ["-c", "/etc/skua/skua.conf"], "WorkingDir": "/srv/www", "StopSignal": "SIGTERM",
                "Labels": {"org.opencontainers.image.title": "skua", "org.opencontainers.image.version": version(),
                           "org.opencontainers.image.licenses": "MIT"},
                "Healthcheck": {"Test": ["CMD", "/usr/bin/skua", "health", "-c", "/etc/skua/skua.conf"], "Interval": 10_000_000_000},
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(octets).hexdigest()}"]},
            "history": [{"created": made, "created_by": "skua", "comment": "the static program and its configuration"}],
        })
        layers = [self.add("layer.v1.tar+gzip", compressed(octets))]
        manifest = {"schemaVersion": 2, "mediaType": f"{TYPE}.manifest.v1+json", "config": config, "layers": layers}
        return self.add("manifest.v1+json", manifest, platform={"architecture": PROCESSORS[processor]["oci"], "os": "linux"})


def write(to, processors):
    image = Image()
    manifests = [image.add_processor(name, (STATIC / name / "skua").read_bytes()) for name in processors]
    named = {"annotations": {"org.opencontainers.image.ref.name": version()}}
    if len(manifests) > 1:
        many = image.add("index.v1+json", {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json", "manifests": manifests})
        manifests = [many]
    index = {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json", "manifests": [{**manifests[0], **named}]}
    members = [(entry("oci-layout"), b'{"imageLayoutVersion":"1.0.0"}'), (entry("index.json"), json.dumps(index, sort_keys=True).encode()),
               folder("blobs"), folder("blobs/sha256")]
    members += [(entry(f"blobs/sha256/{digest}"), content) for digest, content in sorted(image.blobs.items())]
    pathlib.Path(to).write_bytes(tar(members))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    asked = sys.argv[2:] or ["x86_64"]
    for name in asked:
        build(name)
    write(sys.argv[1], asked)
