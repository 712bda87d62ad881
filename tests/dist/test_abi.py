# SPDX-License-Identifier: MIT
"""The binary interface stays what the baseline of 0.2 says: abidiff compares, and structs may get members at their ends.

The interface is that of a library of empty functions with the declarations of skua.h, in which what programs cannot see is
not defined. SKUA_ABI_BASELINE=write renews the baseline, for a version that may change what was before.
"""

import os
import re
import subprocess

import pytest
from compiling import run
from server import ROOT

BASELINE = ROOT / "tests/dist/skua-0.2.abi"
SUPPRESSIONS = ROOT / "tests/dist/abi.suppr"
HEADER = (ROOT / "include/skua/skua.h").read_text()


def library(folder, header):
    """A shared library with debugging information, whose functions do nothing."""
    folder.mkdir()
    (folder / "skua.h").write_text(header)
    code = re.sub(r"//[^\n]*|\s*SKUA_PRINTF\(\d, \d\)", "", header)
    functions = re.findall(r"^(SKUA_API\s[^;{}#]*?\b(skua_\w+)\([^;{}#]*\));", code, re.M)
    assert len(functions) > 150
    bodies = "".join(f"{head}\n{{\n    for (;;) {{\n    }}\n}}\n" for head, _ in functions)
    (folder / "empty.c").write_text('#include "skua.h"\n' + bodies)
    run(["cc", "-std=c17", "-g", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", "empty.c", "-o", "libskua.so"], cwd=folder)
    return folder / "libskua.so"


def difference(before, after):
    """The words of abidiff about two interfaces; empty: nothing that matters.

    The suppression for members at the end also hides structs in which no member comes, but one gets another type. So
    what is hidden must say nothing of members that change or go.
    """

    def said(*options):
        done = subprocess.run(["abidiff", "--no-added-syms", *options, before, after], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode else ""

    everything = said()
    return said("--suppressions", SUPPRESSIONS) or (everything if re.search(r"data member (change|deletion)", everything) else "")


def write(folder, header, out):
    run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--out-file", out, library(folder, header)])
    return out


@pytest.mark.test_all
def test_the_interface_is_that_of_the_baseline(tmp_path):
    if os.environ.get("SKUA_ABI_BASELINE") == "write":
        write(tmp_path / "now", HEADER, BASELINE)
    assert difference(BASELINE, library(tmp_path / "again", HEADER)) == ""


def appended(name):
    return lambda text: text.replace(f"\n}} {name};", f"\n    uint64_t later;\n}} {name};")


def changed(before, after):
    return lambda text: text.replace(before, after, 1)


@pytest.mark.test_all
@pytest.mark.parametrize("change", [appended("skua_config"), appended("skua_event"), appended("skua_stats"), appended("skua_sizes"),
                                    lambda text: text.replace("// ---- Sizes", "SKUA_API void skua_more(skua_server *server);\n\n// ---- Sizes")])
def test_members_at_the_end_and_functions_pass(tmp_path, change):
    later = change(HEADER)
    assert later != HEADER
    assert difference(write(tmp_path / "now", HEADER, tmp_path / "now.abi"), library(tmp_path / "later", later)) == ""


@pytest.mark.test_all
@pytest.mark.parametrize("change", [
    changed("    unsigned workers;\n", "    uint64_t workers;\n"),  # a member with another type
    changed("    const char *hosts;\n", "    const char *before;\n    const char *hosts;\n"),  # one in the middle
    changed("    uint64_t handshakes_resumed;", "    uint32_t handshakes_resumed;"),
    changed("    const char *listen;\n", ""),
    changed("SKUA_API void skua_wake(skua_request *request);", ""),
    changed("skua_socket_close(skua_socket socket, unsigned code,", "skua_socket_close(skua_socket socket, uint64_t code,"),
])
def test_other_changes_fail(tmp_path, change):
    later = change(HEADER)
    if later == HEADER:
        pytest.fail("the header has changed: this test has to name something else in it")
    assert difference(write(tmp_path / "now", HEADER, tmp_path / "now.abi"), library(tmp_path / "later", later)) != ""
