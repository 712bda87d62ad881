# SPDX-License-Identifier: MIT
"""The map of folders: it is drawn, and a circle is found."""

import subprocess
import sys

from server import ROOT

MAP = ROOT / "tools/map.py"


def draw(root, out):
    return subprocess.run([sys.executable, MAP, "--root", root, "--out", out], capture_output=True, text=True, check=False)


def tree(folder, files):
    for name, includes in files.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{include}"\n' for include in includes))
    return folder


def test_the_project_has_no_circle_of_folders_and_is_drawn(tmp_path):
    drawn = draw(ROOT, tmp_path / "map.svg")
    assert drawn.returncode == 0, drawn.stdout
    svg = (tmp_path / "map.svg").read_text()
    assert all(f">{folder}/</text>" in svg for folder in ("base", "http", "io", "exchange", "h1", "server", "files"))


def test_a_circle_of_folders_is_an_error(tmp_path):
    root = tree(tmp_path, {"a/x.c": ["b/y.h"], "b/y.h": [], "b/z.c": ["a/w.h"], "a/w.h": []})
    drawn = draw(root, tmp_path / "map.svg")
    assert drawn.returncode == 1
    assert "a circle of folders: a, b" in drawn.stdout
    assert not (tmp_path / "map.svg").exists()


def test_a_small_circle_of_files_is_told_and_a_large_one_an_error(tmp_path):
    ring = {f"a/f{i}.h": [f"a/f{(i + 1) % 9}.h"] for i in range(9)}
    assert draw(tree(tmp_path / "large", ring), tmp_path / "map.svg").returncode == 1
    small = draw(tree(tmp_path / "small", {"a/x.h": ["a/y.h"], "a/y.h": ["a/x.h"]}), tmp_path / "map.svg")
    assert small.returncode == 0
    assert "2 files in a circle: a/x, a/y" in small.stdout
