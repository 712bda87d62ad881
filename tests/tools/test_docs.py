# SPDX-License-Identifier: MIT
"""The pages name what there is: links, headings, files, and every member of the tables that they go through."""

import re

import pytest
from server import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "bench/README.md"])
NOTES = ROOT / "CHANGELOG.md"  # it names what has gone, too
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A file's path in the source, from the root or from src/, as the pages write it. None that has a pattern in it.
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:[ch]|hpp|py|json|md))`")
# Files that a newcomer is told to write.
TO_BE_WRITTEN = {"src/io/poll.c"}
TABLES = [
    ("adding-a-protocol.md", "src/exchange/session.h", "struct protocol_table"),
    ("adding-a-protocol.md", "src/exchange/carrier.h", "typedef struct carrier_table"),
    ("adding-a-backend.md", "src/io/readiness.h", "typedef struct readiness_poller"),
    ("adding-a-backend.md", "src/io/io.h", "typedef struct io_backend"),
]

MADE = {"dist/skua.h"}  # by make dist


def anchors(page):
    """The names by which a page's headings are linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    for link in LINK.findall(page.read_text()):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", [page for page in PAGES if page != NOTES], ids=lambda page: page.name)
def test_files(page):
    for name in set(FILE.findall(page.read_text())) - TO_BE_WRITTEN - MADE:
        places = (ROOT / name, ROOT / "src" / name, ROOT / "include" / name, ROOT / "compat" / name, ROOT / "middleware" / name, page.parent / name)
        assert any(place.exists() for place in places), f"{page.name} names {name}"


@pytest.mark.parametrize("page, header, struct", TABLES)
def test_tables(page, header, struct):
    body = re.search(rf"^{struct} {{(.*?)^}}", (ROOT / header).read_text(), re.DOTALL | re.MULTILINE).group(1)
    members = re.findall(r"\(\*(\w+)\)\(", body)
    text = (ROOT / "docs" / page).read_text()
    assert len(members) > 5
    assert [name for name in members if f"`{name}`" not in text] == []
