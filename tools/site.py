#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a static site of the documents: tools/site.py FOLDER

Each page of Markdown becomes one of HTML. Files that pages link to, such as examples, become pages that show them, and folders
lists of what is in them. Needs markdown-it-py; make site has it."""

import html
import pathlib
import re
import shutil
import sys
import urllib.parse

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parent.parent
STYLE = ROOT / "tools/site.css"
SOURCES = {".c", ".h", ".hpp", ".cpp", ".py", ".conf", ".service", ".socket", ".txt", ".toml", ".yaml", ".lock", ""}
MENU = [("Book", "docs/book/README.md"), ("Cookbook", "docs/cookbook.md"), ("Interface", "docs/api.md"),
        ("Operating", "docs/operating.md"), ("Configuration", "docs/configuration.md")]


def slug(text):
    """The anchor of a heading, as GitHub makes it, so that links hold in both places."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Site:
    def __init__(self, out):
        self.out = out
        self.waiting = [pathlib.Path("README.md"), *sorted(p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md"))]
        self.done = set()

    def make(self):
        self.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(STYLE, self.out / "site.css")
        while self.waiting:
            page = self.waiting.pop(0)
            if page not in self.done:
                self.done.add(page)
                self.write(page)

    def address(self, page):
        """Where a file or folder of the tree is in the site."""
        if page == pathlib.Path("README.md"):
            return "index.html"
        if page.suffix == ".md":
            return str(page.with_suffix(".html"))
        if (ROOT / page).is_dir():
            return f"{page}/index.html"
        return f"{page}.html" if page.suffix in SOURCES else str(page)

    def write(self, page):
        target = self.out / self.address(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            target.write_text(self.frame(page, self.rendered(page)))
        elif (ROOT / page).is_dir():
            target.write_text(self.frame(page, self.listed(page)))
        elif page.suffix in SOURCES:
            text = html.escape((ROOT / page).read_text())
            target.write_text(self.frame(page, f"<h1>{html.escape(str(page))}</h1>\n<pre><code>{text}</code></pre>\n"))
        else:
            shutil.copy(ROOT / page, target)

    def listed(self, folder):
        names = sorted(p.name for p in (ROOT / folder).iterdir() if not p.name.startswith((".", "_")))
        items = "".join(f'<li><a href="{self.link(folder / "index", folder / name)}">{html.escape(name)}</a></li>\n' for name in names)
        return f"<h1>{html.escape(str(folder))}</h1>\n<ul>\n{items}</ul>\n"

    def link(self, page, target):
        """A link from a page to a file of the tree, which is made, too."""
        self.waiting.append(target)
        here = pathlib.PurePosixPath(self.address(page)).parent
        return "../" * len(here.parts) + self.address(target)

    def resolved(self, page, address):
        """A link of a page as it is in the site."""
        parts = urllib.parse.urlsplit(address)
        if parts.scheme or not parts.path:
            return address
        target = (ROOT / page.parent / parts.path).resolve().relative_to(ROOT)
        assert (ROOT / target).exists(), f"{page} links to {address}, which is not there"
        return self.link(page, target) + (f"#{parts.fragment}" if parts.fragment else "")

    def rendered(self, page):
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = markdown.parse((ROOT / page).read_text())
        anchors = {}
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                anchor = slug("".join(t.content for t in tokens[i + 1].children))
                anchors[anchor] = anchors.get(anchor, -1) + 1
                token.attrSet("id", anchor + (f"-{anchors[anchor]}" if anchors[anchor] else ""))
            if token.type == "fence":
                token.info = token.info.split(" ")[0]
            for child in token.children or []:
                for name in ("href", "src"):
                    if child.attrGet(name):
                        child.attrSet(name, self.resolved(page, child.attrGet(name)))
        text = markdown.renderer.render(tokens, markdown.options, {})
        return text.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")

    def frame(self, page, body):
        title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
        title = re.sub(r"<.*?>", "", title.group(1)) if title else str(page)
        top = "../" * (len(pathlib.PurePosixPath(self.address(page)).parts) - 1)
        menu = " ".join(f'<a href="{self.link(page, pathlib.Path(target))}">{name}</a>' for name, target in MENU)
        return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                f'<link rel="icon" href="data:,">\n<link rel="stylesheet" href="{top}site.css">\n</head>\n<body>\n'
                f'<nav><a href="{top}index.html">Skua</a> {menu}</nav>\n<main>\n{body}</main>\n</body>\n</html>\n')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tools/site.py FOLDER")
    Site(pathlib.Path(sys.argv[1]).resolve()).make()
