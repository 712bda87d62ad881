#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/api.md from include/skua/skua.h, and names every public symbol that has no comment.

    tools/api.py            writes it
    tools/api.py --check    says what is undocumented or out of date; exit status 1 if anything is

The header is read as blocks: comment lines, then declarations up to an empty line. Comments above belong to all
the declarations of their block.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/skua/skua.h"
PAGE = ROOT / "docs/api.md"
SECTION = re.compile(r"// ---- (.+?) -+$")
CODE_LINE = re.compile(r"^ {4,}\S")


class Block:
    def __init__(self, section, comment, code, line):
        self.section, self.comment, self.code, self.line = section, comment, code, line

    @property
    def names(self):
        """The public names declared here, in order."""
        code = re.sub(r"//.*", "", "\n".join(self.code))
        code = re.sub(r"\{.*?\}", lambda m: "{" + " " * (len(m.group()) - 2) + "}", code, flags=re.S)
        found = re.findall(r"\b(skua_\w+)\s*\(", re.sub(r"__attribute__.*", "", code)) if re.search(r"SKUA_(API|SIZED)", code) else []
        found += re.findall(r"\btypedef\b[^;]*?\b(skua_\w+)\s*(?:\([^;]*\))?\s*;", code, re.S)
        found += re.findall(r"^#\s*define\s+(SKUA_\w+)", code, re.M)
        return list(dict.fromkeys(found))


def blocks(text):
    section, comment, code, start = None, [], [], 0
    for number, line in enumerate(text.splitlines(), 1):
        heading = SECTION.match(line)
        if heading:
            section = heading.group(1)
            comment = []
        elif not line.strip() and not inside(code):
            if code:
                yield Block(section, comment, code, start)
            comment, code = [], []
        elif line.startswith("//") and not code:
            comment.append(line[2:].removeprefix(" "))
        else:
            start = start if code else number
            code.append(line)
    if code:
        yield Block(section, comment, code, start)


def inside(code):
    """Whether a brace is still open."""
    return sum(line.count("{") - line.count("}") for line in code) > 0


def public(text):
    """The part that users see: from the first section on, without the guards around it."""
    body = text[text.index("\n// ---- ") : text.rindex("#ifdef __cplusplus")]
    return [block for block in blocks(body) if block.names]


def prose(comment):
    lines, code = [], False
    for line in comment:
        if bool(CODE_LINE.match(line)) != code and line.strip():
            code = not code
            lines.append("```c" if code else "```")
        lines.append(line[4:] if code else line)
    return "\n".join(lines + (["```"] if code else []))


def page(text):
    out = ["# Interface", "", "Made from [skua.h](../include/skua/skua.h) by `tools/api.py`.", ""]
    section = None
    for block in public(text):
        if block.section != section:
            section = block.section
            out += [f"## {section}", ""]
        out += [f"### {', '.join(f'`{name}`' for name in block.names)}", ""]
        if block.comment:
            out += [prose(block.comment), ""]
        out += ["```c", *block.code, "```", ""]
    return "\n".join(out).rstrip() + "\n"


def undocumented(text):
    for block in public(text):
        macros = all(name.isupper() for name in block.names)
        if not block.comment and not macros:
            yield block


def main(words):
    text = HEADER.read_text()
    findings = [f"{HEADER.name}: {', '.join(b.names)} has no comment" for b in undocumented(text)]
    if words == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page(text):
            findings.append("docs/api.md is out of date: run tools/api.py")
    else:
        PAGE.write_text(page(text))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
