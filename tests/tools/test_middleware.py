# SPDX-License-Identifier: MIT
"""Ready middleware is short: each is something that a program could have written, and is read as an example."""

import re

import pytest
from server import ROOT

FOLDER = ROOT / "middleware/skua/middleware"
LINES_MAX = 79
# Headers that make middleware, not those that several of them share.
MIDDLEWARE = sorted(path.name for path in FOLDER.glob("*.h") if re.search(r"^static inline skua_middleware", path.read_text(), re.M))


def test_all_are_found():
    assert {"cors.h", "authentication.h", "limit.h", "session.h", "security.h", "timeout.h", "request_id.h"} <= set(MIDDLEWARE)


@pytest.mark.parametrize("name", MIDDLEWARE)
def test_middleware_is_under_eighty_lines(name):
    """Of code: what is empty or a comment is not counted."""
    lines = (FOLDER / name).read_text().splitlines()
    assert sum(1 for line in lines if not re.match(r"\s*(//|$)", line)) <= LINES_MAX


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.h")))
def test_middleware_stands_on_the_public_interface(name):
    included = re.findall(r'#include ([<"])([^>"]+)', (FOLDER / name).read_text())
    assert [path for mark, path in included if mark == '"' and not (FOLDER / path).is_file()] == []
    assert {path for mark, path in included if mark == "<" and path.startswith("skua")} <= {"skua/skua.h"}
