# SPDX-License-Identifier: MIT
"""The directory listing: safe against odd names, and each link leads to its file.

A name with a backslash cannot be asked for, so a listing need not have it.
"""

import html.parser
import json
import os
import re
import urllib.parse

import browser
import pytest
from server import eventually, program
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
    assert links.tags.count("script") == 1 and "c" not in links.tags  # its own
    assert all(h.startswith(("./", "../", "?")) for h in links.hrefs)
    for octets in (b"\x1b", b"\x7f", "\u202e".encode(), b"<c>", b"new\nline"):
        assert octets not in content


def as_json(listed, path, accept="application/json"):
    response = listed.get(path, f"Accept: {accept}")
    assert response.status == 200 and response.get("content-type") == "application/json"
    assert "Accept" in response.all("vary") and response.get("cache-control") == "no-store"
    return json.loads(response.content)


def test_json_leads_to_every_file(listed):
    told = as_json(listed, "/odd/")
    assert told["path"] == "/odd/" and told["cut"] is False
    with listed.connect() as connection:
        for entry in told["entries"]:
            assert set(entry) >= {"name", "type", "modified"} and entry["modified"].endswith("Z")
            if entry["type"] == "folder":
                assert entry["url"] == "./folder/" and "size" not in entry
            elif "url" in entry:
                content = connection.get("/odd/" + entry["url"][2:]).content
                assert content == b"content of " + urllib.parse.unquote_to_bytes(entry["url"][2:]) and len(content) == entry["size"]
    assert len(told["entries"]) == len(NAMES) + 1
    assert len(as_json(listed, "/many/")["entries"]) == 3000  # more than one piece
    assert [e["name"] for e in as_json(listed, "/many/?search=-29&order=desc")["entries"]][:2] == ["file-2999", "file-2998"]


@pytest.mark.parametrize("accept, is_json", [
    ("application/json", True), ("application/json, text/plain, */*", True), ("text/html, application/json", False),
    ("text/html;q=0.5, Application/JSON ; q=0.6", True), ("application/json;q=0", False), ("*/*", False), ("application/*", False),
    ("application/json;q=2", False), ("application/json5", False), ("application/json;charset=utf-8;q=0.1", True),
    ("text/html,application/xhtml+xml,*/*;q=0.8", False),
])
def test_accept_chooses(listed, accept, is_json):
    response = listed.get("/odd/folder/", f"Accept: {accept}")
    assert (response.get("content-type") == "application/json") == is_json
    assert "Accept" in response.all("vary")


def test_search_without_script(listed, folder):
    """Names that have it, whatever the case; the links keep it."""
    content, links = page(listed, "/odd/?search=TXT&sort=size")
    found = {urllib.parse.unquote_to_bytes(h[2:]) for h in entries(links)}
    assert found == {name for name in NAMES if b"txt" in name.lower()}
    assert "./?search=TXT" in links.hrefs
    longest = 255 * "x"
    (folder / "odd" / "folder" / longest).touch()
    assert entries(page(listed, "/odd/folder/?search=" + longest)[1]) == ["./" + longest]
    assert entries(page(listed, "/odd/folder/?search=" + longest + "y")[1]) == ["./" + longest]  # it is cut
    assert entries(page(listed, "/odd/folder/?search=" + longest[1:] + "y")[1]) == []
    assert entries(page(listed, "/many/?search=file-29")[1])[0] == "./file-2900"
    assert b"<b>" not in page(listed, "/odd/?search=%22%3E%3Cb%3E")[0]


@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("width", [pytest.param(1200, marks=pytest.mark.test_all), 390])
def test_chromium(listed, folder, tmp_path, width):
    """Times are the reader's, typing hides what does not fit, nothing is wider than the screen, and nothing is complained of."""
    os.utime(folder / "odd" / "plain.txt", (784111777, 784111777))
    with browser.page(tmp_path) as shown:
        shown.call("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
        shown.size(width, 800)
        shown.open(listed.url + "/odd/")
        assert eventually(lambda: shown.ask("document.readyState") == "complete", within=60)
        assert shown.ask("[...document.querySelectorAll('time')].some(t => t.textContent == '1994-11-06 17:49')")
        shown.ask("{const s = document.querySelector('[type=search]'); s.value = 'PLAIN'; s.dispatchEvent(new Event('input'));}")
        left = "[...document.querySelectorAll('tbody tr')].filter(r => r.offsetHeight > 0).map(r => r.cells[0].textContent)"
        assert shown.ask(left) == ["..", "plain.txt"]
        assert shown.ask("document.documentElement.scrollWidth") <= width
        assert shown.complaints == []


def test_dotfiles_are_not_listed(listed):
    content, links = page(listed, "/odd/")
    assert b">.hidden" not in content and "./.hidden" not in links.hrefs


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
