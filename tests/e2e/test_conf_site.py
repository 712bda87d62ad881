# SPDX-License-Identifier: MIT
"""A whole site, as a configuration serves it: Chromium shows it without a complaint, wget mirrors it, and downloads resume."""

import io
import json
import os
import shutil
import struct
import subprocess
import wave
import zlib

import browser
import pytest
from conf import start, whole_lines
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from server import eventually

pytestmark = [pytest.mark.in_the_clear("a configuration of its own"), pytest.mark.of_http1("a configuration of its own")]

TEXT = """
listen 127.0.0.1:PORT
access_log access.log json
site * {
    root site
    security_headers
    clean_urls
    preload /style.css style
    path /assets/ {
        root site/assets
        cache immutable
    }
}
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Home</title><link rel="icon" href="/assets/dot.png">
<link rel="stylesheet" href="/style.css"><script src="/assets/app.js" defer></script>
<h1>Home</h1><img src="/assets/dot.png" alt="dot" width="8" height="8"><video src="/assets/film.wav" preload="metadata"></video>
<p id="said">not yet</p><a href="/about">About</a> <a href="/data/">Data</a>"""
STYLE = """@font-face { font-family: Own; src: url(/assets/own.ttf) } h1 { font: 40px Own; color: rgb(1, 2, 3) }
body { background: url(/assets/dot.png) }"""
SCRIPT = """document.querySelector('#said').textContent = 'by script';
fetch('/data/numbers.json').then(r => r.json()).then(found => { window.numbers = found.length; });"""
SECONDS = 200  # of a film, which has sound alone: seeking in it is what it is in any other


def png():
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + b"\xff\0\0" * 8 for _ in range(8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def film():
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(44100)
        sound.writeframes(bytes(44100 * 4 * SECONDS))
    return out.getvalue()


def font():
    """Every letter of "Home" is a square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 700), (900, 700), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *"Home"]
    builder = FontBuilder(1000)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): letter for letter in "Home"})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Own", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    out = io.BytesIO()
    builder.save(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name, content in {"index.html": PAGE, "style.css": STYLE, "assets/app.js": SCRIPT, "about.html": "<title>About</title><link rel=icon href=/assets/dot.png><a href='/'>home</a>",
                          "data/index.html": "<title>Data</title><a href='numbers.json'>numbers</a>",
                          "data/numbers.json": json.dumps(list(range(1000))), "assets/dot.png": png(), "assets/film.wav": film(),
                          "assets/own.ttf": font(), "404.html": "nothing here"}.items():
        (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(folder / "site" / name, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = start(folder, TEXT)
    yield server
    server.stop()


def logged(folder):
    """{path: [status]} of the access log."""
    found = {}
    for line in whole_lines(folder / "access.log"):
        told = json.loads(line)
        if "status" in told:
            found.setdefault(told["request"]["uri"], []).append(told["status"])
    return found


@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
def test_chromium_shows_it(server, folder, tmp_path):
    with browser.page(tmp_path) as page:
        page.open(server.url + "/")
        assert eventually(lambda: page.ask("window.numbers") == 1000, within=60)
        assert page.ask("document.querySelector('#said').textContent") == "by script"
        assert page.ask("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
        assert eventually(lambda: page.ask("document.querySelector('img').naturalWidth") == 8)
        assert eventually(lambda: page.ask("document.fonts.check('40px Own') && [...document.fonts][0].status == 'loaded'"), within=60)
        assert eventually(lambda: page.ask("document.querySelector('video').readyState") >= 1, within=60)
        assert page.ask("Math.round(document.querySelector('video').duration)") == SECONDS
        page.ask(f"document.querySelector('video').currentTime = {SECONDS - 20}; 0")
        assert eventually(lambda: page.ask("document.querySelector('video').seeking") is False, within=60)
        assert page.ask("Math.round(document.querySelector('video').currentTime)") == SECONDS - 20
        assert eventually(lambda: page.ask("document.querySelector('video').readyState") >= 2, within=60)
        page.open(server.url + "/about")
        assert eventually(lambda: page.ask("document.title") == "About", within=60)
        assert page.complaints == []
    assert eventually(lambda: logged(folder).get("/assets/film.wav", []).count(206) >= 1), logged(folder)
    shown = {"/", "/style.css", "/assets/app.js", "/assets/dot.png", "/assets/own.ttf", "/data/numbers.json", "/about"}
    assert eventually(lambda: shown <= set(logged(folder))), logged(folder)
    assert {path for path, statuses in logged(folder).items() if not set(statuses) <= {200, 206, 304}} == set()


def run(*words, cwd):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not shutil.which("wget"), reason="wget is not installed")
def test_wget_mirrors_it(server, folder, tmp_path):
    words = ["wget", "--mirror", "--page-requisites", "--no-host-directories", "--no-verbose", server.url + "/"]
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    site = folder / "site"
    for name in ("index.html", "style.css", "assets/app.js", "assets/dot.png", "data/index.html", "data/numbers.json"):
        assert (tmp_path / name).read_bytes() == (site / name).read_bytes(), name
    assert (tmp_path / "about").read_bytes() == (site / "about.html").read_bytes()
    # a second time: what is there already is not loaded again, and what has changed is
    assert (tmp_path / "style.css").stat().st_mtime == 1_700_000_000
    again = run(*words, cwd=tmp_path)
    assert again.returncode == 0 and "style.css" not in again.stderr, again.stderr
    numbers = site / "data" / "numbers.json"
    numbers.write_text("[1]")
    again = run("wget", "--timestamping", server.url + "/data/numbers.json", cwd=tmp_path / "data")
    assert again.returncode == 0 and (tmp_path / "data" / "numbers.json").read_text() == "[1]", again.stderr
    numbers.write_text(json.dumps(list(range(1000))))


@pytest.mark.parametrize("words", [["wget", "--continue", "--no-verbose", "-O", "film.wav"], ["curl", "-sS", "-C", "-", "-o", "film.wav"]],
                         ids=["wget", "curl"])
def test_downloads_resume(server, folder, tmp_path, words):
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    whole = (folder / "site" / "assets" / "film.wav").read_bytes()
    (tmp_path / "film.wav").write_bytes(whole[:1_000_000])
    done = run(*words, server.url + "/assets/film.wav", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "film.wav").read_bytes() == whole
    assert eventually(lambda: 206 in logged(folder).get("/assets/film.wav", []))
