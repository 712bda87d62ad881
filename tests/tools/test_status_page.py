# SPDX-License-Identifier: MIT
"""The page of the status listener is the one that is made from its sources."""

import runpy

from server import ROOT


def test_it_is_made_from_its_sources():
    made = runpy.run_path(str(ROOT / "tools/status_page.py"))
    assert (ROOT / "program/status/page.c").read_text() == made["written"]()
    assert (ROOT / "program/upload/page.c").read_text() == made["written_uploads"]()
