# SPDX-License-Identifier: MIT
"""The manual pages and the completions, as their readers read them."""

import pathlib
import pty
import re
import os
import select
import time

import pytest
from released import needed, said
from server import BUILD, ROOT

from release import completions, man  # found by released
from release.tables import commands, directives, options


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    man.write(folder)
    return folder


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completions")
    completions.write(folder)
    return folder


@pytest.mark.parametrize("page", ["man1/skua.1", "man5/skua.conf.5"])
def test_mandoc_finds_nothing(pages, page):
    found = said([needed("mandoc"), "-T", "lint", "-W", "warning", pages / page])
    assert found == ""


def text_of(page):
    """The page as a reader has it, without what makes bold."""
    return re.sub(r".\x08", "", said([needed("mandoc"), "-T", "ascii", "-O", "width=200", page]))


def test_every_option_and_command_is_in_the_manual(pages):
    shown = text_of(pages / "man1/skua.1")
    help_text = said([BUILD / "skua", "--help"])
    listed = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", help_text, re.M))
    assert listed == {option.name for option in options()} and len(listed) > 20
    for name in listed:
        assert f"--{name}" in shown, name
    named = re.findall(r"^  ([a-z]+) ", help_text[help_text.index("Commands:"):], re.M)
    assert named == [command.name for command in commands()] and "check" in named
    for name in named:
        assert re.search(rf"skua {name}\b", shown), name


def test_every_directive_is_in_the_manual(pages):
    shown = text_of(pages / "man5/skua.conf.5")
    assert len(directives()) > 30
    for name in directives():
        assert re.search(rf"\b{name}\b", shown), name


def bash(shells, line):
    """The words to which bash would complete a line."""
    script = f"""source {shells}/skua.bash
COMP_WORDS=({line}); [ "${{COMP_WORDS[-1]}}" = '""' ] && COMP_WORDS[-1]=
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _skua; printf '%s\\n' "${{COMPREPLY[@]}}\""""
    return said([needed("bash"), "-c", script]).split()


def test_bash(shells):
    assert bash(shells, "skua --tls-l") == ["--tls-listen"]
    assert bash(shells, "skua che") == ["check"]
    assert bash(shells, "skua --backend u") == ["uring"]
    assert "health" not in bash(shells, "skua check hea")


def test_fish(shells):
    def complete(line):
        asked = f"source {shells}/skua.fish; complete -C '{line}'"
        return [found.split("\t")[0] for found in said([needed("fish"), "-c", asked]).splitlines()]

    assert complete("skua --tls-l") == ["--tls-listen"]
    assert "check" in complete("skua che")
    assert complete("skua --backend u") == ["uring"]


def zsh(shells, line):
    """The line that an interactive zsh has after a tabulator behind a line."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PS1="> ", HOME=str(shells), LC_ALL="C")
        os.execv(needed("zsh"), ["zsh", "-f", "-i"])
    shown = b""

    def until(word):
        nonlocal shown
        end = time.monotonic() + 30
        while word not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096)
        assert word in shown, shown

    try:
        os.write(terminal, f"fpath=({shells} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n".encode())
        until(b"ready\r\n")
        shown = b""
        os.write(terminal, f"{line}\t".encode())
        time.sleep(0.5)
        os.write(terminal, b"\x01echo shown: \x05\necho do''ne\n")
        until(b"done\r\n")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return re.findall(rb"\nshown: ([^\r\n]*)", shown)[-1].decode().split()


def test_zsh(shells):
    assert zsh(shells, "skua --tls-l") == ["skua", "--tls-listen"]
    assert zsh(shells, "skua che") == ["skua", "check"]
    assert zsh(shells, "skua --backend u") == ["skua", "--backend", "uring"]


def test_both_are_installed(tmp_path):
    said(["make", "install", "PREFIX=/usr", f"DESTDIR={tmp_path}"], cwd=ROOT)
    installed = {str(p.relative_to(tmp_path / "usr/share")) for p in tmp_path.rglob("share/**/*") if p.is_file()}
    assert {"man/man1/skua.1", "man/man5/skua.conf.5", "bash-completion/completions/skua", "zsh/site-functions/_skua",
            "fish/vendor_completions.d/skua.fish"} <= installed
    assert pathlib.Path(tmp_path / "usr/share/man/man1/skua.1").read_text().startswith(".\\\" SPDX")
