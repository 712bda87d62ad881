# SPDX-License-Identifier: MIT
"""The wheels: pip installs them, and the program runs."""

import subprocess
import sys
import venv

import pytest
from released import PROCESSORS, VERSION, runner, said, serving, static_program

from release import wheels  # found by released


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    for processor in PROCESSORS:
        static_program(processor)
    return {processor: wheels.write(folder, processor) for processor in PROCESSORS}


def test_pip_installs_it(made, tmp_path, launch):
    venv.create(tmp_path / "venv", with_pip=True)
    said([tmp_path / "venv/bin/pip", "install", "--no-index", "--disable-pip-version-check", made["x86_64"]])
    assert "skua-server" in said([tmp_path / "venv/bin/pip", "list", "--disable-pip-version-check"])
    (tmp_path / "site").mkdir()
    (tmp_path / "site/a.txt").write_text("from a wheel")
    server = launch(serving, [tmp_path / "venv/bin/skua", tmp_path / "site", "--listen", "127.0.0.1:PORT"])
    assert server.get("/a.txt").content == b"from a wheel"
    said([tmp_path / "venv/bin/pip", "uninstall", "-y", "--disable-pip-version-check", "skua-server"])
    assert not (tmp_path / "venv/bin/skua").exists()


@pytest.mark.parametrize("kind", ["manylinux2014", "musllinux_1_1"])
def test_pip_takes_the_one_for_a_processor(made, tmp_path, kind):
    """As pip would on an arm64 machine, by what it is told of the platform; its program runs by an emulator here."""
    said([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--target", tmp_path,
          "--platform", f"{kind}_aarch64", "--only-binary", ":all:", "--find-links", made["aarch64"].parent, "skua-server"])
    assert said([*runner("aarch64"), tmp_path / "bin/skua", "--version"]).startswith(f"skua {VERSION}")


def test_pip_refuses_another_processor(made, tmp_path):
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--target", str(tmp_path),
                           str(made["aarch64"])], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "not a supported wheel" in done.stderr
