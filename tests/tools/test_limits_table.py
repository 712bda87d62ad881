# SPDX-License-Identifier: MIT
"""docs/limits.md and the configuration say the same: every limit is a member, every member is in a table, and the
defaults are equal."""

import re

import pytest
from server import ROOT

HEADER = (ROOT / "include/skua/skua.h").read_text()


def rows(text):
    """The rows of the tables of limits, whose first column is headed "member"."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        if head[0] == "member":
            yield from lines


ROWS = list(rows((ROOT / "docs/limits.md").read_text()))
LIMIT = re.compile(r"(_max|_min|_ns|_octets|backlog|blocking_threads|disk_threads)$")
UNITS = {"s": 10**9, "MiB": 1 << 20}

# Limits that only the program can make something reach by its own calls, in its own answers, or that a
# protocol has fixed; and how long a peer is given time, in octets and in looks.
FIXED = {
    "fields of a part", "memory of spooled content", "middleware", "answers queued", "tickets of living requests", "timers",
    "fields of a reply", "sentence of `skua_refuse`", "entries of a listing", "fields of an interim response",
    "name and value of a cookie set", "path or domain of a cookie set", "credit of a slow reader",
    "the end of a response", "looks for input", "pairs of ready TLS contexts", "TLS record that has come in part",
    "TLS records without data", "TLS records with one key", "certificates of a client", "subject of a client's certificate",
}


def members(struct):
    """The names of a struct's members, each with its comment: behind it, or else on the lines above it."""
    body = re.search(rf"typedef struct {struct} {{(.*?)^}} {struct};", HEADER, re.S | re.M).group(1)
    found, above = {}, ""
    for line in body.splitlines():
        member = re.match(r"^    [a-z_0-9 ]+[ *](\w+);(?:[ ]*// ?(.*))?$", line)
        if member:
            found[member.group(1)] = member.group(2) or above
        comment = re.match(r"^    // ?(.*)$", line)
        above = f"{above} {comment.group(1)}".strip() if comment else ""
    return found


MEMBERS = {**members("skua_config"), **members("skua_directory_config"), **members("skua_tls_desc")}


def number(text):
    """The first number of a text in the table or a comment: octets, a count, or nanoseconds."""
    found = re.search(r"(\d[\d,]*)(?: (s|MiB)\b)?", text)
    return found and int(found.group(1).replace(",", "")) * UNITS.get(found.group(2), 1)


def test_the_tables_were_read():
    assert len(ROWS) > 25
    assert len(MEMBERS) > 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_limit_is_a_member_or_known_to_be_fixed(row):
    name = row[0].strip("`")
    if name.endswith(", fixed"):
        assert name.removesuffix(", fixed") in FIXED
    else:
        assert name in MEMBERS


@pytest.mark.parametrize("name", sorted(name for name in MEMBERS if LIMIT.search(name)))
def test_every_member_that_limits_is_in_a_table_with_its_default(name):
    if name == "rate_window_ns":  # in the row of rate_octets_min
        return
    row = next((row for row in ROWS if row[0] == f"`{name}`"), None)
    assert row, f"{name} is not in docs/limits.md"
    default = re.search(r"[Dd]efault:? ([^;\[]*)", MEMBERS[name])
    assert default, f"{name} has no default in skua.h"
    if "a quarter of the machine" in default.group(1):
        assert row[1].startswith("a quarter of the machine's memory")
    elif "never" in default.group(1):
        assert row[1] == "none"
    else:
        assert number(default.group(1)) == number(row[1])
