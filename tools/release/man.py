#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages skua(1) and skua.conf(5).

    python3 tools/release/man.py FOLDER      FOLDER/man1/skua.1 and FOLDER/man5/skua.conf.5

skua.conf(5) is docs/configuration.md; skua(1) is the tables of options and commands, and the README's part about the command.
"""

import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import ROOT, epoch, version  # noqa: E402
from release.tables import commands, options  # noqa: E402


def escape(text):
    """Text for roff: a backslash and a minus are themselves, and nothing is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def inline(text):
    """Emphasis, code and links of Markdown. A link's address is left out where it is a page of the project's."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    pieces = re.split(r"(`+[^`]+`+|\*\*[^*]+\*\*)", text)
    bold = [i % 2 == 1 for i in range(len(pieces))]
    return "".join(rf"\fB{escape(p.strip('`*'))}\fR" if b else escape(p) for p, b in zip(pieces, bold)).strip()


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(lines):
    """A row is its first cell, and what the others say under it, each behind the head of its column."""
    heads = cells(lines[0])
    for line in lines[2:]:
        row = cells(line)
        yield f".TP\n{inline(row[0])}"
        said = [f"{inline(head)}: {inline(cell)}" if head else inline(cell) for head, cell in zip(heads[1:], row[1:]) if cell]
        yield "\n.br\n".join(said) or "\\&"
    yield ".PP"


def code(lines):
    yield ".PP\n.RS 4\n.nf"
    yield from (escape(line) for line in lines)
    yield ".fi\n.RE\n.PP"


def items(lines):
    text = " ".join(line.strip() for line in lines)
    for item in re.split(r"(?:^|\s)(?:-|\d+\.) (?=\S)", text):
        if item:
            yield f".IP \\(bu 2\n{inline(item)}"
    yield ".PP"


def blocks(text):
    """A page of Markdown as (kind, lines)."""
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.strip():
            continue
        if line.startswith("```"):
            held = []
            while lines and not lines[0].startswith("```"):
                held.append(lines.pop(0))
            lines = lines[1:]
            yield "code", held
        elif line.startswith("    "):
            held = [line[4:]]
            while lines and (lines[0].startswith("    ") or not lines[0].strip()):
                held.append(lines.pop(0)[4:])
            yield "code", held
        elif line.startswith("#"):
            yield ("section" if line.startswith("## ") else "title" if line.startswith("# ") else "part"), [line.lstrip("# ")]
        else:
            kind = "table" if line.startswith("|") else "items" if re.match(r"(-|\d+\.) ", line) else "text"
            held = [line]
            while lines and lines[0].strip() and not lines[0].startswith(("```", "#")):
                held.append(lines.pop(0))
            yield kind, held


def spaced(lines):
    """Without the paragraphs that begin behind a heading, or where nothing comes of them."""
    held = "\n".join(lines).split("\n")
    for i, line in enumerate(held):
        before, after = held[i - 1] if i else "", held[i + 1] if i + 1 < len(held) else ".SH"
        if line != ".PP" or not (before.startswith((".SH", ".SS")) or after.startswith((".SH", ".SS", ".PP", ".IP", ".TP"))):
            yield line


def roff(text):
    for kind, lines in blocks(text):
        if kind == "section":
            yield f'.SH "{escape(lines[0].replace(chr(96), "")).upper()}"'
        elif kind == "part":
            yield f'.SS "{escape(lines[0].replace(chr(96), ""))}"'
        elif kind == "text":
            said = inline(" ".join(lines))
            yield f".PP\n{said}" if said else ".PP"
        elif kind != "title":
            yield from {"table": table, "code": code, "items": items}[kind](lines)


def page(name, section, what, body):
    day = time.strftime("%Y-%m-%d", time.gmtime(epoch()))
    body = "\n".join(spaced([body]))
    return f'.\\" SPDX-License-Identifier: MIT\n.TH {name.upper()} {section} {day} "Skua {version()}"\n.SH NAME\n{name} \\- {what}\n{body}\n'


def conf_page():
    text = (ROOT / "docs/configuration.md").read_text()
    body = '.SH DESCRIPTION\n' + "\n".join(roff(text)) + "\n.SH SEE ALSO\n.BR skua (1)"
    return page("skua.conf", 5, "sites, folders and limits of the web server skua", body)


def option_entry(option):
    letter = rf"\fB\-{option.letter}\fR, " if option.letter else ""
    argument = rf" \fI{escape(option.argument)}\fR" if option.argument else ""
    return rf".TP{chr(10)}{letter}\fB\-\-{escape(option.name)}\fR{argument}{chr(10)}{escape(option.help)}"


def command_page():
    readme = (ROOT / "README.md").read_text()
    said = readme[readme.index("## As a command") + len("## As a command"):readme.index("## What it does")]
    said = said[:said.index("A [configuration file]")] + said[said.index("If all addresses are loopback"):]
    lines = [".SH SYNOPSIS", ".B skua", r"[\fIOPTION\fR]... [\fIDIR\fR]", ".br", ".B skua", r"\fB\-c\fR \fIFILE\fR"]
    for command in commands():
        lines += [".br", f".B skua {command.name}", rf"\fI{escape(command.words)}\fR"]
    lines += [".SH DESCRIPTION", *roff(said), ".SH COMMANDS"]
    for command in commands():
        lines.append(rf".TP{chr(10)}\fB{command.name}\fR {escape(command.words)}{chr(10)}{escape(command.help)}")
    lines += [".SH OPTIONS", *map(option_entry, options())]
    lines += [".SH EXIT STATUS", "0: it was stopped, or what was asked is done. 1: it could not start or go on, or what was asked failed. "
              "2: the words were not understood.", ".SH SEE ALSO", ".BR skua.conf (5)"]
    return page("skua", 1, "a web server for folders and sites", "\n".join(lines))


def write(folder):
    for path, text in {"man1/skua.1": command_page(), "man5/skua.conf.5": conf_page()}.items():
        to = pathlib.Path(folder) / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write(sys.argv[1])
