# SPDX-License-Identifier: MIT
"""make site: the documents as a static site, served by Skua. Each link leads somewhere, in curl's eyes and in a browser's."""

import html.parser
import subprocess
import sys
import urllib.parse

import browser
import pytest
from server import ROOT, eventually, program

pytestmark = [pytest.mark.in_the_clear("one site is enough"), pytest.mark.of_http1("one site is enough")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    subprocess.run([sys.executable, ROOT / "tools/site.py", folder], check=True, timeout=60)
    server = program(folder)
    yield server
    server.stop()


class Read(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]
        if attrs.get("id"):
            self.anchors.add(attrs["id"])


def test_each_link_leads_somewhere(site):
    pages, waiting, asked_for = {}, ["/index.html"], []
    with site.connect() as connection:
        while waiting:
            path = waiting.pop()
            if path in pages:
                continue
            response = connection.get(path)
            assert response.status == 200, path
            is_page = response.get("content-type").startswith("text/html")
            pages[path] = Read(response.content.decode()) if is_page else None
            for link in pages[path].links if is_page else []:
                parts = urllib.parse.urlsplit(urllib.parse.urljoin(path, link))
                if not parts.scheme:
                    waiting.append(parts.path)
                    asked_for.append((path, parts.path, parts.fragment))
    assert len(pages) > 50
    missing = [f"{page}: {path}#{anchor}" for page, path, anchor in asked_for
               if anchor and pages[path] and anchor not in pages[path].anchors]
    assert missing == []


@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(site, tmp_path, width):
    """Nothing is complained of, and nothing is wider than the window."""
    with browser.page(tmp_path) as page:
        page.size(width, 800)
        for path in ("index.html", "docs/book/README.html", "docs/book/01-hello.html", "docs/cookbook.html", "docs/configuration.html",
                     "docs/operating.html", "docs/api.html", "docs/measurements.html", "examples/chat.c.html"):
            page.open(f"{site.url}/{path}")
            assert eventually(lambda: page.ask("document.readyState") == "complete" and page.ask("location.pathname") == f"/{path}")
            assert page.ask("document.documentElement.scrollWidth <= innerWidth"), path
            assert page.ask("getComputedStyle(document.querySelector('nav')).display") == "flex", path
    assert page.complaints == []
