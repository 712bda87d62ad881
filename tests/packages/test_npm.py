# SPDX-License-Identifier: MIT
"""The npm packages: npm installs the program for the processor, and it is run by its name."""

import json
import os
import signal
import subprocess

import pytest
from released import PROCESSORS, VERSION, needed, runner, said, serving, static_program

from release import npm  # found by released


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("npm")
    for processor in PROCESSORS:
        static_program(processor)
    return {p.name.removesuffix(f"-{VERSION}.tgz"): p for p in npm.write(folder, PROCESSORS)}


@pytest.fixture
def installed(made, tmp_path):
    """A project that has the program, and the package that is for this processor."""
    needed("npm")
    tool = tmp_path / "project"
    tool.mkdir()
    (tool / "package.json").write_text(json.dumps({"name": "project", "version": "1.0.0", "private": True}))
    env = {**os.environ, "npm_config_cache": str(tmp_path / "cache")}
    said(["npm", "install", "--offline", "--omit=optional", "--no-audit", "--no-fund", made["skua-server"], made["skua-server-linux-x64"]],
         cwd=tool, env=env)
    return tool


def test_npm_installs_it(installed, tmp_path, launch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/a.txt").write_text("from npm")
    server = launch(serving, [installed / "node_modules/.bin/skua", tmp_path / "site", "--listen", "127.0.0.1:PORT"])
    assert server.get("/a.txt").content == b"from npm"


def test_exit_status_and_signals_are_the_programs(installed):
    skua = installed / "node_modules/.bin/skua"
    assert said([skua, "--version"]).startswith(f"skua {VERSION}")
    assert subprocess.run([skua, "--nonsense"], capture_output=True, check=False).returncode == 2
    with subprocess.Popen([skua, installed, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert "serves" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert "stopped" in process.stderr.read()
        assert process.wait(30) == 0


def test_without_the_package_for_the_processor_it_says_so(installed):
    said(["rm", "-r", installed / "node_modules/skua-server-linux-x64"])
    done = subprocess.run([installed / "node_modules/.bin/skua"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "skua-server-linux-x64 is not installed" in done.stderr


def test_the_one_for_arm(made, tmp_path):
    said(["tar", "-xzf", made["skua-server-linux-arm64"], "-C", tmp_path])
    described = json.loads((tmp_path / "package/package.json").read_text())
    assert (described["os"], described["cpu"]) == (["linux"], ["arm64"])
    assert said([*runner("aarch64"), tmp_path / "package/bin/skua", "--version"]).startswith(f"skua {VERSION}")
    main = said(["tar", "-xzOf", made["skua-server"], "package/package.json"])
    assert set(json.loads(main)["optionalDependencies"]) == set(made) - {"skua-server"}
