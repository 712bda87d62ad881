# SPDX-License-Identifier: MIT
"""The table at the top of skua.h, of which function may be called where: it is complete, and agrees with what each function says
and with what the tables of misuses try."""

import importlib.util
import re

from server import ROOT

HEADER = (ROOT / "include/skua/skua.h").read_text()
ROWS = {"signals": "In a signal handler, and on any thread", "any": "On any thread", "outside": "On any thread but workers",
        "pool": "On the request's worker, and in its blocking handler", "worker": "On a worker alone",
        "socket": "In the blocking function of a socket",
        "start": "Before the start, or on the thread that starts the server"}


def api():
    spec = importlib.util.spec_from_file_location("api", ROOT / "tools/api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table():
    """{row: names}, as they stand in the header."""
    text = HEADER[HEADER.index("// Where functions may be called"):]
    lines = [line.removeprefix("//").strip() for line in text[:text.index("\n#ifndef")].splitlines()]
    found, row = {}, None
    for line in lines[1:]:
        row = next((key for key, title in ROWS.items() if line == title + ":"), row)
        if row and "skua_" in line:
            found.setdefault(row, []).extend(re.findall(r"skua_\w+", line))
    return found


def functions():
    """{name: what its comment says of threads, or None} of every public function."""
    found = {}
    for block in api().public(HEADER):
        code = re.sub(r"\{.*?\}", "", re.sub(r"//.*", "", "\n".join(block.code)), flags=re.S)
        if not any(word in code for word in ("SKUA_API", "SKUA_SIZED", "static inline")):
            continue
        said = re.search(r"Thread: (.*?)(?:\.(?: |$)|  )", " ".join(block.comment) + " ")
        for name in re.findall(r"\b(skua_\w+)\s*\(", code):
            if not name.endswith("_sized") and name != "skua_sizes_here":
                found[name] = said.group(1) if said else None
    return found


def test_each_function_is_in_one_row():
    listed = [name for names in table().values() for name in names]
    assert sorted(listed) == sorted(set(listed))
    assert set(functions()) - set(listed) == set(), "in no row"
    assert set(listed) - set(functions()) == set(), "no public function"


def test_rows_agree_with_what_functions_say():
    rows = {name: row for row, names in table().items() for name in names}
    wanted = {"any, and signal handlers": "signals", "any": "any", "worker, pool": "pool", "owning worker": "worker",
              "the request's worker": "worker", "the socket's worker": "worker"}
    wrong = [f"{name}: {said}, and stands in {rows[name]}" for name, said in functions().items()
             if said in wanted and rows[name] != wanted[said]]
    assert wrong == []


def test_rows_agree_with_the_misuses():
    """READS and RESPONDS are tried in a blocking handler and may be called there; ACTS, ANSWERS and CONNECTS stop there."""
    rows = {name: row for row, names in table().items() for name in names}
    tried = "".join(file.read_text() for file in (ROOT / "tests/misuses").glob("*.h"))
    wrong = [f"{name} is in {rows[name]}" for macros, row in (("READS|RESPONDS", "pool"), ("ACTS|ANSWERS|CONNECTS", "worker"))
             for name in re.findall(rf"^(?:{macros})\((skua_\w+)", tried, re.M) if name in rows and rows[name] != row]
    assert wrong == []
