# SPDX-License-Identifier: MIT
"""skua compress FOLDER: which files it writes beside others, and that it touches nothing else."""

import gzip
import os
import subprocess
import time

import brotli
import pytest
import zstandard
from conf import SKUA, get, start
from server import check_sanitizers

pytestmark = [pytest.mark.in_the_clear("nothing but the program"), pytest.mark.of_http1("nothing but the program")]

TEXT = b"".join(b"line %d of a text that gets shorter\n" % i for i in range(2000))
DECODE = {".br": brotli.decompress, ".gz": gzip.decompress,
          ".zst": lambda octets: zstandard.ZstdDecompressor(max_window_size=8 << 20).decompress(octets, 1 << 24)}


def compress(*words):
    done = subprocess.run([SKUA, "compress", *words], capture_output=True, text=True, timeout=100, check=False)
    check_sanitizers(done.stderr)
    return done.returncode, done.stdout, done.stderr


def old(file, content, mode=0o644):
    file.write_bytes(content)
    file.chmod(mode)
    os.utime(file, ns=(10 ** 18 + 7, 10 ** 18 + 7))


def names(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir())


@pytest.fixture
def folder(tmp_path):
    pub = tmp_path / "pub"
    (pub / "sub").mkdir(parents=True)
    (pub / ".hidden").mkdir()
    (tmp_path / "outside").mkdir()
    old(pub / "a.txt", TEXT, 0o640)
    old(pub / "sub" / "a b.css", TEXT)
    old(pub / ".hidden" / "a.txt", TEXT)
    old(pub / "short.html", b"short")
    old(pub / "picture.png", TEXT)
    old(pub / "noise.txt", os.urandom(20_000))
    old(tmp_path / "outside" / "a.txt", TEXT)
    (pub / "out").symlink_to("../outside")
    (pub / "link.txt").symlink_to("../outside/a.txt")
    os.mkfifo(pub / "pipe.txt")
    return pub


def test_files_are_written_once(folder):
    before = names(folder.parent)
    code, said, errors = compress(folder)
    assert (code, errors) == (0, "")
    assert said.splitlines()[-1] == "6 compressed files written, 0 were there, 3 would not gain, 0 failed"
    assert f"a.txt  {len(TEXT)} -> br " in said
    made = {f"pub/{name}{suffix}" for name in ("a.txt", "sub/a b.css") for suffix in DECODE}
    assert set(names(folder.parent)) - set(before) == made
    for name in made:
        file = folder.parent / name
        assert DECODE[file.suffix](file.read_bytes()) == TEXT and file.stat().st_mtime_ns == 10 ** 18 + 7
        assert file.stat().st_mode & 0o777 == file.with_suffix("").stat().st_mode & 0o777
    assert compress(folder)[1] == "0 compressed files written, 6 were there, 3 would not gain, 0 failed\n"
    (folder / "a.txt").write_bytes(TEXT + b"more\n")
    os.utime(folder / "a.txt", ns=(10 ** 18, 10 ** 18))  # older, as a file from an archive may be
    assert "3 compressed files written, 3 were there" in compress(folder)[1]
    assert gzip.decompress((folder / "a.txt.gz").read_bytes()) == TEXT + b"more\n"


def test_a_link_in_the_place_of_a_result(folder):
    """It is replaced, and what it leads to is left alone."""
    (folder / "a.txt.br").symlink_to("../outside/a.txt")
    assert compress(folder)[0] == 0
    assert (folder.parent / "outside" / "a.txt").read_bytes() == TEXT
    assert not (folder / "a.txt.br").is_symlink() and brotli.decompress((folder / "a.txt.br").read_bytes()) == TEXT


def test_they_are_served(folder):
    compress(folder)
    time.sleep(0.01)
    server = start(folder.parent, "listen 127.0.0.1:PORT\nworkers 1\nsite * {\n root pub\n}\n")
    for coding, suffix in (("br", ".br"), ("zstd", ".zst"), ("gzip", ".gz")):
        response = get(server, "a", "/a.txt", "Accept-Encoding: " + coding)
        assert response.get("content-encoding") == coding and not response.get("etag").startswith("W/")
        assert response.content == (folder / ("a.txt" + suffix)).read_bytes()
    server.stop()


def test_what_cannot_be_done(folder):
    assert compress(folder / "none")[::2] == (1, f"skua: the folder {folder}/none cannot be read: there is no such folder\n")
    assert compress(folder / "a.txt")[0] == 1
    assert compress()[0] == 2
    (folder / "short.txt").write_bytes(TEXT)
    (folder / "short.txt.br").mkdir()
    code, said, errors = compress(folder)
    assert code == 1 and "1 failed" in said and errors.startswith("skua: short.txt cannot be compressed: a folder has its name")
    assert not [name for name in names(folder) if name.startswith(".short")]
