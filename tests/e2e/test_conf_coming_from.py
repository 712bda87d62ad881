# SPDX-License-Identifier: MIT
"""docs/coming-from.md: its configurations are right, and so are the directives that its tables name."""

import re
import subprocess

import pytest
from certificates import make
from conf import SKUA, table
from server import ROOT

pytestmark = [pytest.mark.in_the_clear("nothing listens"), pytest.mark.of_http1("nothing listens"), pytest.mark.of_tls]

TEXT = (ROOT / "docs/coming-from.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", TEXT, re.M | re.S)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_configurations_are_right(tmp_path, number):
    pair = make(tmp_path, "own", names="DNS:example.org")
    (tmp_path / "srv/assets").mkdir(parents=True)
    (tmp_path / "staff").write_text("anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n")
    text = BLOCKS[number]
    for name, here in (("/etc/skua/example.org.pem", pair.cert), ("/etc/skua/example.org.key", pair.key), ("/srv/example", tmp_path / "srv"),
                       ("/etc/skua/staff.htpasswd", tmp_path / "staff"), ("/var/log/skua/", f"{tmp_path}/")):
        text = text.replace(name, str(here))
    (tmp_path / "skua.conf").write_text(text)
    checked = subprocess.run([SKUA, "check", "-c", tmp_path / "skua.conf"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0 and "no faults" in checked.stdout, checked.stderr


def test_tables_name_directives():
    """Each word at the beginning of what stands in the column of Skua is a directive, or a command of the program."""
    assert len(BLOCKS) == 2
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    known = set(table()) | {"skua", "site", "path"}
    named = [words.split()[0] for row in rows for words in re.findall(r"`([^`]+)`", row.split(" | ")[1])]
    assert len(named) > 35
    assert not [name for name in named if name not in known and name != "alias"]
