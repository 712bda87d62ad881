# SPDX-License-Identifier: MIT
"""Each function of skua.h, and each pointer that it takes, has a row in tests/misuses, or a reason why not."""

import re

import pytest
from server import ROOT

# Functions that cannot be misused: no pointers, and called on any thread at any time.
HARMLESS = {"skua_status_text", "skua_version", "skua_watch_includes_writes", "skua_stats_bound_ns"}

# Pointers that may be NULL, as skua.h says; * is every function's.
MAY_BE_NULL = {
    "*": {"user", "type", "drained"},
    "skua_server_new": {"config"},
    "skua_server_free": {"server"},
    "skua_site_free": {"site"},
    "skua_listen_inherited": {"count"},
    "skua_listener_add": {"index"},
    "skua_route_directory": {"config"},
    "skua_site_directory": {"config"},
    "skua_serve_file": {"desc"},
    "skua_route_assets": {"config"},
    "skua_site_assets": {"config"},
    "skua_use_compression": {"compression"},
    "skua_root_close": {"root"},
    "skua_timer_start": {"timer"},
    "skua_poll_start": {"poll"},
    "skua_on_end": {"fn"},
    "skua_respond_borrowed": {"release"},
    "skua_request_set": {"object"},
    "skua_connection_set": {"object"},
    "skua_socket_set": {"object"},
    "skua_socket_open": {"why"},
    "skua_tls_identity_new": {"why"},
    "skua_tls_reload": {"why"},
    "skua_tls_identity_unref": {"identity"},
    "skua_tls_fingerprint": {"not_after_unix_s"},
    "skua_test": {"content"},
}

# Rows of their own that stand for several: see request.h of the tables.
GROUPS = {
    "READS": {"request"},
    "ACTS": {"request"},
    "ANSWERS": {"request"},
    "RESPONDS": {"request"},
    "CONNECTS": {"connection"},
    "NO_REQUEST": {"request"},
    "NO_SERVER": {"server"},
}

# A function that is told the sizes of structs is the one before it, as other languages call it.
FUNCTION = re.compile(r"^SKUA_(?:API|SIZED)\s[^;(]*?\b(skua_\w+)(?<!_sized)\((.*?)\);", re.M | re.S)
SIZED = re.compile(r"^SKUA_API\s[^;(]*?\b(skua_\w+_sized)\(", re.M)
ROW = re.compile(r"^(STOPS|GIVES|READS|ACTS|ANSWERS|RESPONDS|CONNECTS)\(\s*(skua_\w+)(.*?)(?=^(?:STOPS|GIVES|READS|ACTS|ANSWERS|RESPONDS|CONNECTS|#|//)|\Z)",
                 re.M | re.S)


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def parameters(text):
    """The parameters of a declaration that are pointers or slices, and which they are: {name: is a slice}."""
    found = {}
    depth, parts = 0, [""]
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    for part in parts:
        function = re.search(r"\(\*(\w+)\)", part)
        pointer = re.search(r"\*\s*(\w+)$", part.strip())
        octets = re.search(r"^skua_slice (\w+)$", part.strip())
        name = function or pointer or octets
        if name:
            found[name.group(1)] = octets is not None
    return found


def functions():
    header = without_comments((ROOT / "include/skua/skua.h").read_text())
    return {name: parameters(" ".join(text.split())) for name, text in FUNCTION.findall(header)}


def rows():
    """(kind, function, text) of each row."""
    for table in sorted((ROOT / "tests/misuses").glob("*.h")):
        if table.name != "scene.h":
            yield from ROW.findall(re.sub(r"#define(?:[^\n]*\\\n)*[^\n]*\n", "", table.read_text()))


def refused_without():
    """For each function the arguments without which some row shows that it stops."""
    found = {}
    for kind, function, text in rows():
        names = found.setdefault(function, set())
        names |= GROUPS.get(kind, set())
        names |= set(re.findall(r"\bNO(?:_OCTETS)?\((\w+)\)", text))
        for group in ("NO_REQUEST", "NO_SERVER"):
            if re.search(rf"\b{group}\b", text):
                names |= GROUPS[group]
    return found


def test_the_header_is_read():
    known = functions()
    assert len(known) > 130
    assert known["skua_respond"] == {"request": False, "type": False, "content": True}
    assert known["skua_offload"] == {"worker": False, "work": False, "done": False, "user": False}


def test_every_function_has_a_row():
    with_rows = {function for _, function, _ in rows()}
    assert set(functions()) - with_rows - HARMLESS == set()


def test_every_function_that_is_told_sizes_has_a_row_without_them():
    header = without_comments((ROOT / "include/skua/skua.h").read_text())
    told = {name.removesuffix("_sized") for name in SIZED.findall(header)}
    assert told == set(re.findall(r"^SKUA_SIZED\s[^;(]*?\b(skua_\w+)\(", header, re.M)) and len(told) > 30
    refused = {function for _, function, text in rows() if "NO_SIZES" in text and f"{function}_sized(" in text}
    assert told - refused == set()


def test_no_row_is_about_a_function_that_is_not_there():
    types = set(re.findall(r"\b(skua_\w+_fn)\b", (ROOT / "include/skua/skua.h").read_text()))
    assert {function for _, function, _ in rows()} - set(functions()) - types == set()
    assert HARMLESS <= set(functions())


@pytest.mark.parametrize("function", sorted(set(functions()) - HARMLESS))
def test_every_pointer_has_a_row(function):
    refused = refused_without().get(function, set())
    wanted = {
        name
        for name, is_slice in functions()[function].items()
        if name not in MAY_BE_NULL["*"] and name not in MAY_BE_NULL.get(function, set())
        # a slice that is freed, or only compared, is not looked into
        and not (is_slice and function == "skua_test_free")
    }
    assert wanted - refused == set(), "neither a row in tests/misuses nor in MAY_BE_NULL"
