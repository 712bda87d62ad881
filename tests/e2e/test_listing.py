# SPDX-License-Identifier: MIT
"""The directory listing: safe against odd names, and each link leads to its file.

A name with a backslash cannot be asked for, so a listing need not have it.
"""

import html.parser
import os
import re
import urllib.parse

import pytest
from server import program
from wire import request

NAMES = [
    b"plain.txt", b"a&b<c>.txt", b"javascript:alert(1)", b"data:text,x", b"\"quote'.txt", "\u00fcn\u00ef.txt".encode(),
    b"bad\xff\xfeutf8.txt", "bidi\u202etxt.exe".encode(), b"new\nline", b" leading", b"trailing ", b"?q=#f", b"%41.txt",
    b"a+b", b"-->", b"<script>", b"back\\slash", b"tab\tname", b"\x1b[31mred", b"a;b", b"\x7fdel",
]


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.hrefs, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "a":
            self.hrefs.append(dict(attrs)["href"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("listed")
    for name in NAMES:
        (root / "odd").mkdir(exist_ok=True)
        with open(os.path.join(os.fsencode(root / "odd"), name), "wb") as file:
            file.write(b"content of " + name)
    (root / "odd" / ".hidden").write_text("no")
    (root / "odd" / "folder").mkdir()
    (root / "many").mkdir()
    for i in range(3000):
        (root / "many" / f"file-{i:04}").write_text("")
    return root


@pytest.fixture(scope="module")
def listed(folder):
    server = program(folder)
    yield server
    server.stop()


def page(listed, path):
    response = listed.get(path)
    assert response.status == 200
    assert response.get("content-type") == "text/html; charset=utf-8"
    assert "default-src 'none'" in response.get("content-security-policy")
    assert response.get("x-content-type-options") == "nosniff"
    assert response.get("cache-control") == "no-store"
    parser = Links()
    parser.feed(response.content.decode("utf-8"))  # it is valid UTF-8 whatever the names are
    return response.content, parser


def entries(links):
    """The links to entries: those that do not go up or sort."""
    return [h for h in links.hrefs if h.startswith("./") and not h.startswith("./?") and h != "./"]


def test_every_entry_is_linked_and_found(listed):
    content, links = page(listed, "/odd/")
    found = {urllib.parse.unquote_to_bytes(h[2:]) for h in entries(links)}
    assert found | {b"back\\slash"} == set(NAMES) | {b"folder/"}
    with listed.connect() as connection:
        for href in entries(links):
            name = urllib.parse.unquote_to_bytes(href[2:])
            response = connection.get("/odd/" + href[2:])
            if b"\\" in name:
                assert response.status in (400, 404)
            elif name == b"folder/":
                assert response.status == 200
            else:
                assert response.content == b"content of " + name


def test_nothing_is_injected(listed):
    content, links = page(listed, "/odd/")
    assert "script" not in links.tags and "c" not in links.tags
    assert all(h.startswith(("./", "../", "?")) for h in links.hrefs)
    for octets in (b"\x1b", b"\x7f", "\u202e".encode(), b"<c>", b"new\nline"):
        assert octets not in content


def test_dotfiles_are_not_listed(listed):
    assert b".hidden" not in page(listed, "/odd/")[0]


def test_many_entries(listed):
    content, links = page(listed, "/many/")
    names = [h[2:] for h in entries(links)]
    assert names == sorted(names) and names[0] == "file-0000"
    assert len(names) >= 1000


def test_root_is_listed_and_head_works(listed):
    assert {"./odd/", "./many/"} <= set(entries(page(listed, "/")[1]))
    response = listed.get("/", method="HEAD")
    assert response.status == 200 and response.content == b""


def test_redirect_comes_first(listed):
    response = listed.get("/odd")
    assert response.status in (301, 302, 307, 308) and response.get("location") == "/odd/"


def test_new_entry_shows(listed, folder):
    (folder / "odd" / "folder" / "later").write_text("x")
    assert "./later" in entries(page(listed, "/odd/folder/")[1])


# ---- Large listings ----

ENTRIES = 10_000  # as many as a page shows


@pytest.fixture(scope="module")
def large_folder(tmp_path_factory):
    """Names so long that the page is larger than what any socket takes at once."""
    root = tmp_path_factory.mktemp("large")
    for i in range(ENTRIES):
        (root / f"{'name-' * 40}{i:05}").touch()
    return root


@pytest.fixture(scope="module")
def large_listed(large_folder):
    server = program(large_folder, "--list")
    yield server
    server.stop()


def shown(response):
    """The numbers at the end of the names that a listing shows, in its order."""
    assert response.status == 200
    text = response.content.decode()
    assert text.endswith("</html>\n")
    return [int(n) for n in re.findall(r'href="./(?:name-){40}(\d+)"', text)]


def test_slow_readers_of_a_large_listing_deny_nobody(large_listed):
    """Each of them holds a piece of its page. More listings are begun than are kept meanwhile, and what they still have
    to read is right when they come to it."""
    slow = [large_listed.connect(receive_buffer=65536) for _ in range(12)]
    for connection in slow:
        connection.send(request("/"))
        assert connection.head().status == 200
    assert shown(large_listed.get("/?order=desc")) == list(reversed(range(ENTRIES)))
    slow[0].buffer = b"HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked\r\n\r\n" + slow[0].buffer
    assert shown(slow[0].response()) == list(range(ENTRIES))


def test_a_large_listing_in_http_1_0_and_to_head(large_listed):
    with large_listed.connect() as connection:
        connection.send(request("/?sort=time", version="1.0"))
        response = connection.response()
        assert response.framing == "close" and sorted(shown(response)) == list(range(ENTRIES))
    with large_listed.connect() as connection:
        assert connection.get("/", method="HEAD").status == 200
        assert connection.get("/missing").status == 404


def test_a_listing_that_is_cut_says_so(large_listed, large_folder):
    (large_folder / "zoo").touch()
    response = large_listed.get("/?sort=size")
    (large_folder / "zoo").unlink()
    numbers = shown(response)
    assert ENTRIES - 1 <= len(numbers) <= ENTRIES and numbers == sorted(numbers)
    assert b"only the first 10000 entries" in response.content
