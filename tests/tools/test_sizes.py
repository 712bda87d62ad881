# SPDX-License-Identifier: MIT
"""Each struct of skua.h has a place in skua_sizes, and whoever takes or fills one is told its size."""

import re

from server import ROOT

HEADER = re.sub(r"//[^\n]*", "", (ROOT / "include/skua/skua.h").read_text())
VALUES = {"skua_slice", "skua_field", "skua_timer", "skua_poll", "skua_ticket", "skua_socket", "skua_etag_hash"}
OTHERWISE = {"skua_asset", "skua_sizes"}  # which say their sizes themselves: skua_assets.asset_octets, skua_sizes.sizes
STRUCTS = [s for s in re.findall(r"^typedef struct (skua_\w+) \{", HEADER, re.M) if s not in VALUES | OTHERWISE]


def table(text):
    """The structs that skua_sizes has members for, and those whose sizes skua_sizes_here puts there."""
    members = re.search(r"typedef struct skua_sizes \{(.*?)\}", text, re.S).group(1)
    values = re.search(r"static const skua_sizes sizes = \{(.*?)\};", text, re.S).group(1)
    return ["skua_" + m for m in re.findall(r"uint32_t (\w+);", members)], re.findall(r"sizeof\((\w+)\)", values)


def told(text):
    """The callbacks that are told of a struct."""
    callbacks = re.findall(r"^typedef [^;{}(]*?\b(skua_\w+_fn)\(([^;]*)\);", text, re.M)
    return {name for name, parameters in callbacks if mentions(parameters)}


def mentions(text, names=frozenset(STRUCTS)):
    return any(re.search(rf"\b{name} \*", text) for name in names)


def untold(text):
    """Exported functions that take a struct, or a callback that is told of one, and not its size."""
    callbacks = told(text)
    for name, parameters in re.findall(r"^SKUA_API[^;(]*?\b(skua_\w+)\(([^;]*)\);", text, re.M):
        takes = mentions(parameters) or mentions(parameters, callbacks)
        if takes and not (name.endswith("_sized") and parameters.endswith("const skua_sizes *sizes")):
            yield name


def test_each_struct_has_a_size():
    members, values = table(HEADER)
    assert members == values
    assert members[0] == "skua_sizes" and sorted(members[1:]) == sorted(STRUCTS) and len(STRUCTS) > 25


def test_each_function_is_told_sizes():
    assert {"skua_part_fn", "skua_form_fn", "skua_root_entry_fn"} <= told(HEADER)
    assert list(untold(HEADER)) == []


def test_a_function_that_is_not_told_is_found():
    for declaration in ("SKUA_API void skua_take(const skua_event *event);", "SKUA_API int skua_read(skua_part_fn *fn, void *user);"):
        assert len(list(untold(HEADER + declaration))) == 1
    assert list(untold(HEADER + "SKUA_API void skua_stop(skua_server *server);")) == []
