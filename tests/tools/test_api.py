# SPDX-License-Identifier: MIT
"""docs/api.md is the header's, and no public symbol is without a comment."""

import importlib.util
import re
import subprocess
import sys

from server import ROOT

TOOL = ROOT / "tools/api.py"


def load():
    spec = importlib.util.spec_from_file_location("api", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_header_and_page_agree():
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_exported_function_is_on_the_page():
    page = (ROOT / "docs/api.md").read_text()

    header = (ROOT / "include/skua/skua.h").read_text()
    names = set(re.findall(r"^SKUA_(?:API|SIZED) [^;(]*?\b(skua_\w+)\(", header, re.M))
    assert len(names) > 100
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_an_undocumented_symbol_is_found():
    api = load()
    text = """
// ---- Things ----

// Does it.
SKUA_API int skua_good(int n);

SKUA_API int skua_bad(int n);

typedef struct skua_worse {
    int a;

    int b;
} skua_worse;

#ifdef __cplusplus
"""
    assert [block.names for block in api.undocumented(text)] == [["skua_bad"], ["skua_worse"]]
    assert "### `skua_good`" in api.page(text) and "Does it." in api.page(text)
