# SPDX-License-Identifier: MIT
"""make release, twice, in two folders: all of it is there, and both have the same octets."""

import json
import os
import shutil

import pytest
from released import ABI, VERSION, said
from server import ROOT


def release(folder):
    """The folder that make release leaves in a clone, with nothing that was built before."""
    said(["git", "clone", "-q", ROOT, folder])
    (folder / "build").mkdir()
    for name in (".tools-release", "venv"):
        made = ROOT / "build" / name
        if made.is_dir():
            (folder / "build" / name).symlink_to(made)
        else:
            shutil.copy2(made, folder / "build" / name)
    os.utime(folder / "build/.tools-release")
    said(["make", "release"], cwd=folder)
    return folder / f"build/release-{VERSION}"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    if said(["git", "-C", ROOT, "status", "--porcelain"]):
        pytest.skip("a release is of a commit, and this tree has changes")
    return [release(tmp_path_factory.mktemp(name) / name) for name in ("here", "in-another-folder")]


def test_both_are_the_same_octets(both):
    sums = [(folder / "SHA256SUMS").read_text() for folder in both]
    assert sums[0] == sums[1]
    for folder in both:
        said(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=folder)


def test_all_of_it_is_there(both):
    files = sorted(p.name for p in both[0].iterdir())
    assert files == sorted([
        "SHA256SUMS", f"skua-{VERSION}.tar.gz", f"skua-{VERSION}.h", f"skua-{VERSION}.hpp", f"skua-{VERSION}.spdx.json",
        f"skua-{VERSION}.yaml", f"skua-chart-{VERSION}.tgz", f"skua-{VERSION}-image.tar",
        *(f"skua-{VERSION}-linux-{p}.tar.gz" for p in ("x86_64", "aarch64")),
        *(f"skua_server-{VERSION}-py3-none-manylinux_2_17_{p}.manylinux2014_{p}.musllinux_1_1_{p}.whl" for p in ("x86_64", "aarch64")),
        *(f"skua-server{p}-{VERSION}.tgz" for p in ("", "-linux-x64", "-linux-arm64")),
        *(f"{p}_{VERSION}-1_amd64.deb" for p in ("skua", f"libskua{ABI}", "libskua-dev")),
    ])


def test_nothing_holds_the_folder_it_was_made_in(both):
    for file in both[0].iterdir():
        assert str(both[0].parent.parent).encode() not in file.read_bytes(), file.name


def test_the_bill_of_materials_names_every_library(both):
    document = json.loads((both[0] / f"skua-{VERSION}.spdx.json").read_text())
    named = {p["name"]: p["versionInfo"] for p in document["packages"]}
    assert set(named) == {"skua", "openssl", "zlib", "zstd", "brotli", "musl"}
    said_by_it = (both[0].parent / "static/x86_64/skua").read_bytes()
    assert named["skua"] == VERSION
    assert f"OpenSSL {named['openssl']}".encode() in said_by_it
    assert all(p["licenseConcluded"] and p["SPDXID"].startswith("SPDXRef-") for p in document["packages"])
    linked = {r["relatedSpdxElement"] for r in document["relationships"] if r["relationshipType"] == "STATIC_LINK"}
    assert linked == {f"SPDXRef-{name}" for name in named if name != "skua"}


def test_the_source_is_the_whole_project(both, tmp_path):
    said(["tar", "-xzf", both[0] / f"skua-{VERSION}.tar.gz", "-C", tmp_path])
    unpacked = {str(p.relative_to(tmp_path / f"skua-{VERSION}")) for p in tmp_path.rglob("*") if p.is_file()}
    assert unpacked == set(said(["git", "-C", ROOT, "ls-files"]).splitlines())
