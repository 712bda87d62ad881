# SPDX-License-Identifier: MIT
"""docs/operating.md: its configuration is right, and it explains whatever a running server may say."""

import re
import subprocess

import pytest
from certificates import make
from conf import SKUA
from server import ROOT

PAGE = (ROOT / "docs/operating.md").read_text()
# The files of the program that speak while it runs: to whoever reads the log, not to somebody who typed a command.
SPEAKING = ["super/super.c", "super/task.c", "super/upgrade.c", "conf/pid_file.c", "super/served.c", "sandbox/sandbox.c", "conf/reload.c",
            "conf/guard.c", "conf/syslog.c", "common/watch.c"]
SENTENCE = re.compile(r'\b(?:say|say_error|say_warning|reload_log)\(\s*(?:first \? text : )?((?:"(?:[^"\\]|\\.)*"\s*)+)')


def sentences():
    for name in SPEAKING:
        for call in SENTENCE.finditer((ROOT / "program" / name).read_text()):
            yield name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call.group(1)))


@pytest.mark.parametrize("name, sentence", sorted(set(sentences())))
def test_each_line_is_explained(name, sentence):
    """The words between what differs stand in a table."""
    fixed = [part.strip(" ,.;:()") for part in re.split(r"%(?:\.\*|\.\d+)?l?[a-z]", sentence)]
    words = [part for part in fixed if len(part) > 5]
    assert all(part in PAGE for part in words), f"docs/operating.md does not explain what {name} says: {sentence}"


def test_there_are_lines():
    assert len(set(sentences())) > 20


def test_the_first_file(tmp_path):
    text = "\n".join(line[4:] for line in PAGE.splitlines() if line.startswith("    ") or not line)
    file = re.search(r"^listen :80\n.*?^site files.*?^}$", text, re.M | re.S).group(0)
    make(tmp_path, "example.org", names="DNS:example.org,DNS:www.example.org")
    (tmp_path / "example.org.pem").chmod(0o600)
    for folder in ("example", "files"):
        (tmp_path / folder).mkdir()
    file = file.replace("/etc/skua", str(tmp_path)).replace("/srv", str(tmp_path)).replace("/var/log/skua", str(tmp_path))
    file = file.replace(":80\n", "127.0.0.1:18080\n").replace(":443 ", "127.0.0.1:18443 ").replace("user skua", "user nobody")
    (tmp_path / "skua.conf").write_text(file)
    done = subprocess.run([SKUA, "check", "-c", tmp_path / "skua.conf"], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
