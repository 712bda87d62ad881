# SPDX-License-Identifier: MIT
"""The tables of the program, read from its source: options, commands, directives."""

import re
from collections import namedtuple

from release.common import ROOT

TEXT = r'"((?:\\.|[^"\\])*)"'
Option = namedtuple("Option", "name letter argument help")
Command = namedtuple("Command", "name words help")


def _joined(text):
    """C's adjacent string literals as one, and its line ends as blanks."""
    return re.sub(r'"\s*\n\s*"', "", text)


def _table(file, start):
    text = (ROOT / "program" / file).read_text()
    body = text[text.index(start):]
    return _joined(body[:body.index("\n};")])


def _plain(text):
    return text.replace('\\"', '"').replace("\\\\", "\\")


def options():
    """The options that --help shows, in its order."""
    row = re.compile(rf"\{{ {TEXT}, ('(.)'|0), ({TEXT}|NULL), \w+,\s*({TEXT}|NULL) \}}")
    for found in row.finditer(_table("common/options.c", "options_table[] = {")):
        name, letter, argument, text = found.group(1), found.group(3), found.group(5), found.group(7)
        if text:
            yield Option(name, letter, argument and _plain(argument), _plain(text))


def commands():
    row = re.compile(rf"\{{ {TEXT},\s*{TEXT},\s*{TEXT},\s*{TEXT},")
    for found in row.finditer(_table("command/command.c", "commands[] = {")):
        yield Command(found.group(1), found.group(2), _plain(found.group(4)))


def directives():
    """Their names, for completion and for tests."""
    row = re.compile(rf"\{{ {TEXT},\s*TABLE_\w+")
    return [found.group(1) for found in row.finditer(_table("conf/table.c", "table_kinds[] = {"))]
