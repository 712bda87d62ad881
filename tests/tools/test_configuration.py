# SPDX-License-Identifier: MIT
"""docs/configuration.md has the table of directives that the program goes by."""

import re

from server import ROOT

PLACES = {"TABLE_FILE": "the file", "TABLE_SITE": "`site`", "TABLE_ROOTS": "`site`, `path`",
          "TABLE_SCOPES": "`defaults`, `site`, `path`", "TABLE_RULES": "`defaults`, `site`, `path`, `method`"}
TEXT = r'"((?:\\.|[^"\\])*)"'
ROW = re.compile(rf'\{{ {TEXT},\s*(\w+),\s*{TEXT},\s*{TEXT},\s*{TEXT}')


def table():
    text = (ROOT / "program/conf_table.c").read_text()
    body = text[text.index("table_kinds[] = {"):]
    for name, place, words, otherwise, example in ROW.findall(body[:body.index("\n};")]):
        words, otherwise, example = (t.replace('\\"', '"') for t in (words, otherwise, example))
        yield name, words, otherwise, PLACES[place], example


def test_the_page_has_the_table():
    page = (ROOT / "docs/configuration.md").read_text()
    rows = ["| `{}` | `{}` | {} | {} | `{}` |".format(n, w.replace("|", "\\|"), o, p, e) for n, w, o, p, e in table()]
    assert len(rows) > 30
    assert [row for row in rows if row not in page] == []
    assert page.count("\n| `") - page.split("## Directives")[0].count("\n| `") == len(rows)


def test_examples_begin_with_their_directive():
    assert [name for name, _, _, _, example in table() if example.split()[0] != name] == []
