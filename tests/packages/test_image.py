# SPDX-License-Identifier: MIT
"""The container image: read by skopeo, unpacked by umoci, and run as a container runs it, where no io_uring may be."""

import json
import os
import signal
import subprocess

import pytest
from released import PROCESSORS, VERSION, needed, said, static_program
from server import ROOT, eventually

from release import oci  # found by released
from release.common import PROCESSORS as NAMES

USER = 65532


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    made = tmp_path_factory.mktemp("image") / "skua.tar"
    for processor in PROCESSORS:
        static_program(processor)
    oci.write(made, PROCESSORS)
    return made


@pytest.mark.parametrize("processor", PROCESSORS)
def test_skopeo_reads_it(archive, processor):
    name = NAMES[processor]["oci"]
    shown = json.loads(said([needed("skopeo"), "--override-arch", name, "inspect", "--config", f"oci-archive:{archive}"]))
    assert shown["architecture"] == name
    config = shown["config"]
    assert config["User"] == f"{USER}:{USER}" and config["ExposedPorts"] == {"8080/tcp": {}}
    assert config["Entrypoint"] == ["/usr/bin/skua"]
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    """The files of the image as a runtime gets them."""
    folder = tmp_path_factory.mktemp("unpacked")
    said([needed("skopeo"), "copy", f"oci-archive:{archive}", f"oci:{folder}/layout:it"])
    said([needed("umoci"), "unpack", "--rootless", "--image", f"{folder}/layout:it", f"{folder}/bundle"])
    return folder / "bundle"


def test_it_is_made_from_nothing(unpacked):
    files = sorted(str(p.relative_to(unpacked / "rootfs")) for p in (unpacked / "rootfs").rglob("*") if p.is_file())
    assert files == ["etc/group", "etc/passwd", "etc/skua/skua.conf", "srv/www/index.html", "usr/bin/skua", "usr/share/doc/skua/LICENSE"]
    assert json.loads((unpacked / "config.json").read_text())["process"]["args"] == ["/usr/bin/skua", "-c", "/etc/skua/skua.conf"]


# A container: a root that cannot be written, a network of its own, another user, no rights, and io_uring refused, as runtimes do.
CONTAINED = """
import ctypes, errno, os, sys
sys.path.insert(0, sys.argv[1])
from seccomp import URING_SETUP, forbid
root, words = sys.argv[2], sys.argv[3:]
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWNET, BIND, REMOUNT, READ_ONLY, PRIVATE = 0x20000, 0x40000000, 0x1000, 0x20, 1, 0x44000
def do(result):
    if result: sys.exit(f"cannot contain: {os.strerror(ctypes.get_errno())}")
do(libc.unshare(NEWNS | NEWNET))
do(libc.mount(b"none", b"/", None, PRIVATE, None))
do(libc.mount(root.encode(), root.encode(), None, BIND, None))
do(libc.mount(b"none", root.encode(), None, BIND | REMOUNT | READ_ONLY, None))
do(os.system("ip link set lo up"))
os.chroot(root); os.chdir("/")
os.setgroups([]); os.setgid(65532); os.setuid(65532)
forbid(URING_SETUP, errno.EPERM)()
os.execve(words[0], words, {})
"""


@pytest.fixture
def contained(unpacked):
    """Starts a command of the image in a container: contained(words) is its process."""
    started = []

    def start(words):
        process = subprocess.Popen(["python3", "-c", CONTAINED, ROOT / "tests/harness", unpacked / "rootfs", *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def inside(process, words):
    """A command in the network of a container, or None while it fails."""
    done = subprocess.run(["nsenter", "-t", str(process.pid), "-n", *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a container by hand")
def test_it_runs_in_a_container(unpacked, contained):
    process = contained(["/usr/bin/skua", "-c", "/etc/skua/skua.conf"])
    try:
        page = eventually(lambda: process.poll() is not None or inside(process, ["curl", "-sf", "http://127.0.0.1:8080/"]))
        if process.poll() is not None:
            error = process.communicate()[1]
            pytest.skip(error) if "cannot contain" in error else pytest.fail(error)
        assert "It works" in page
        # the health command, which the image's HEALTHCHECK runs, as the program's own user would
        health = [unpacked / "rootfs/usr/bin/skua", "health", "127.0.0.1:9100"]
        assert inside(process, [str(w) for w in health]) is not None
        assert inside(process, ["curl", "-sf", "http://127.0.0.1:9100/ready"]) is not None
        status = (f"/proc/{process.pid}/status")
        with open(status) as said_by_kernel:
            assert f"Uid:\t{USER}\t{USER}" in said_by_kernel.read()
    finally:
        process.send_signal(signal.SIGTERM)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 0, error
    assert '"status":200' in out
    # one line about the kernel's way that is forbidden, and the server goes on by the other one
    assert error.count("uring cannot be used (io_uring_setup: ") == 1 and "epoll is used" in error, error
    assert "AddressSanitizer" not in error
