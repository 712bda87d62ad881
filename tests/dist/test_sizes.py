# SPDX-License-Identifier: MIT
"""A program that was compiled with an older header runs with a newer shared library, and behaves as it did."""

import re
import shutil

import pytest
from compiling import C_WARNINGS, make_header, refused, run
from server import ROOT

# Parts of others, of which those grow.
NOT_BY_THEMSELVES = {"skua_form_part", "skua_sizes"}
MAP = ["-Wl,--version-script", ROOT / "cmake/skua.map"]


def later(text):
    """The header of a later library: each struct that has a size gets a member at its end."""
    table = re.search(r"typedef struct skua_sizes \{(.*?)\n\} skua_sizes;", text, re.S).group(1)
    names = {"skua_" + name for name in re.findall(r"uint32_t (\w+);", table)} - NOT_BY_THEMSELVES
    for name in names:
        text, count = re.subn(rf"\n\}} {name};", f"\n    uint64_t later;\n}} {name};", text)
        assert count == 1, name
    return text, names


def library(folder, root):
    """A shared library of the sources below root, in a folder of its own."""
    folder.mkdir()
    make_header(folder / "skua.h", root=root)
    (folder / "impl.c").write_text('#define SKUA_IMPLEMENTATION\n#include "skua.h"\n')
    words = ["cc", "-std=c17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", *MAP, "impl.c", "-lpthread", "-o", "libskua.so"]
    run(words, cwd=folder)
    return folder


def program(folder, source, include, against):
    run(["cc", "-std=c17", *C_WARNINGS, "-I", include, source, "-L", against, "-lskua", "-o", folder])
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The library as it is in now/, and a later one in later/, with its header in tree/."""
    place = tmp_path_factory.mktemp("sizes")
    for name in ("include", "src", "LICENSE"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place / "tree" / name)
    header = place / "tree/include/skua/skua.h"
    text, _ = later(header.read_text())
    header.write_text(text)
    library(place / "now", ROOT)
    library(place / "later", place / "tree")
    (place / "files").mkdir()
    (place / "files/page.md").write_text("# Page\n")
    return place


def says(place, name, with_library):
    return run([place / name, place / "files"], env={"LD_LIBRARY_PATH": str(place / with_library)})


@pytest.mark.test_all
def test_a_program_of_an_older_header(place):
    program(place / "older", ROOT / "tests/dist/older.c", ROOT / "include", place / "now")
    before = says(place, "older", "now")
    for wanted in ("worker 0 began, said so", "first", "second", "X-Passed: yes", "Set-Cookie: c=1; Path=/; HttpOnly", "a=12;b=345;",
                   "Content-Type: text/x-first", "the site's", "event: n", "SMALL", "HTTP/1.1 414", "201, 4 octets", "page.md: 7 octets",
                   "9 responses of 200, written behind: 0"):
        assert wanted in before, wanted
    assert says(place, "older", "later") == before


@pytest.mark.test_all
def test_a_program_of_a_newer_header(place):
    """It runs as long as it does not ask for what the older library does not have, and is stopped when it does."""
    newer = (ROOT / "tests/dist/older.c").read_text()
    newer = newer[: newer.index("    skua_root *root;")] + "    (void)list, (void)read_form;\n    skua_server_free(server);\n    return 0;\n}\n"
    newer = newer.replace('"POST /form", read_form', '"POST /form", respond')
    (place / "newer.c").write_text(newer)
    program(place / "newer", place / "newer.c", place / "tree/include", place / "later")
    assert says(place, "newer", "now") == says(place, "newer", "later")
    (place / "asks.c").write_text(newer.replace(".stats = true", ".stats = true, .later = 1"))
    program(place / "asks", place / "asks.c", place / "tree/include", place / "later")
    said = refused([place / "asks", place / "files"], env={"LD_LIBRARY_PATH": str(place / "now")})
    assert said == ("skua: skua_server_new: the program was compiled with a newer skua.h, whose members this library does not know: "
                    "it needs a newer library\n")


def test_the_later_header_has_more():
    text = (ROOT / "include/skua/skua.h").read_text()
    changed, names = later(text)
    assert len(names) > 25 and changed.count("uint64_t later;") == len(names)
