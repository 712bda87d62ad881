# SPDX-License-Identifier: MIT
"""Real sites, byte for byte: Debian documentation packages that tools/setup unpacked in build/site."""

import concurrent.futures
import html
import os
import pathlib
import re
import urllib.parse

import httpx
import pytest
from server import ROOT, SLOW, program

SITES = [("cmake-doc", "usr/share/doc/cmake-data/html", 3000), ("apache2-doc", "usr/share/doc/apache2-doc/manual", 2000)]


LINK = re.compile(r"""<[^>]*?\s(?:href|src)\s*=\s*["']([^"'#?]+)""")


@pytest.fixture(scope="module", params=[pytest.param(SITES[0], marks=pytest.mark.test_all), SITES[1]], ids=[s[0] for s in SITES])
def site(request):
    package, folder, least = request.param
    root = ROOT / "build/site" / package / folder
    if not root.is_dir():
        pytest.skip(f"build/site has no {package}: tools/setup fetches it with apt")
    server = program(root, "--log", "none")
    server.root, server.least = root, least
    yield server
    server.stop()


def files_of(root):
    """Every path beneath root with its file, or None where a link leads out or nowhere."""
    real = root.resolve()
    for folder, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            target = path.resolve()
            inside = target.is_relative_to(real) and target.is_file()
            if path.is_symlink() and os.readlink(path).startswith("/"):
                inside = False
            yield "/" + urllib.parse.quote(str(path.relative_to(root))), target if inside else None


def test_every_file(site):
    expected = dict(files_of(site.root))
    assert len(expected) > site.least

    def fetch(part):
        wrong = []
        with httpx.Client(base_url=site.url, timeout=SLOW) as client:
            for path, file in part:
                response = client.get(path)
                if file is None:
                    same = response.status_code in (403, 404)
                elif "/." in path:
                    same = response.status_code == 404
                else:
                    same = response.status_code == 200 and response.content == file.read_bytes()
                if not same:
                    wrong.append((path, response.status_code))
        return wrong

    items = list(expected.items())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [w for part in pool.map(fetch, [items[i::4] for i in range(4)]) for w in part]
    assert not wrong


def test_follow_every_link(site):
    """A crawler's way: from the first page through every link, over one connection."""
    seen, waiting = {"/"}, ["/"]
    pages = 0
    with httpx.Client(base_url=site.url, follow_redirects=True, timeout=SLOW) as client:
        while waiting:
            path = waiting.pop()
            response = client.get(path)
            local = site.root / urllib.parse.unquote(path.lstrip("/"))
            if response.status_code != 200:
                inside = local.resolve().is_relative_to(site.root.resolve())
                assert not (local.is_file() and inside), (path, response.status_code)
                continue
            pages += 1
            if not response.headers["content-type"].startswith("text/html"):
                continue
            page = str(response.url)
            for link in set(LINK.findall(response.text)):
                parts = urllib.parse.urlsplit(urllib.parse.urljoin(page, html.unescape(link)))
                if parts.netloc == f"127.0.0.1:{site.port}" and parts.path not in seen:
                    seen.add(parts.path)
                    waiting.append(parts.path)
    assert pages > 1000, pages
