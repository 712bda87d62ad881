# SPDX-License-Identifier: MIT
"""skua explain URL -c FILE: which parts of a configuration a request meets, and its response, which is the server's."""

import re
import subprocess

import pytest
from certificates import make
from conf import SKUA, write_folder
from server import check_sanitizers

pytestmark = pytest.mark.of_http1("nothing listens")

TEXT = """listen 127.0.0.1:0
defaults {
    limit_requests 50/s burst 100
}
site example.test *.example.test {
    root pub
    security_headers
    hsts 1d
    redirect "/blog/{x...}" "https://blog.test/{x}"
    path /other/ {
        root other
        limit_requests 10/min
        deny 10.0.0.0/8
    }
    path = /other/a.txt {
        cache 1h
    }
    path /local/ {
        allow 10.0.0.0/8
    }
    method PUT DELETE {
        basic_auth Staff users
        limit_requests 1/s
        deny 10.0.0.0/8
    }
}
site canonical.test www.canonical.test {
    canonical https://canonical.test
    root pub
}
site * {
    root pub
    basic_auth Staff users
}
"""
USERS = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("explained"))
    (folder / "users").write_text(USERS)
    (folder / "f.conf").write_text(TEXT)
    return folder


def explain(folder, *words):
    done = subprocess.run([SKUA, "explain", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=False,
                          stdin=subprocess.DEVNULL)
    check_sanitizers(done.stderr)
    return done


def parts(folder, *url):
    """[(label, the rest)] of the parts, and [line] of the response. url: with a method before it, or without."""
    done = explain(folder, *url, "-c", "f.conf")
    assert done.returncode == 0 and done.stderr == ""
    before, response = done.stdout.split("response   ")
    return [tuple(line.split(maxsplit=1)) for line in before.splitlines()], [owed(line)[0] for line in response.splitlines()]


def owed(line):
    """A line of the response, and the place of the directive that gave it, or None."""
    found = re.fullmatch(r"(.*?) +(\S+\.conf:\d+)", line.strip())
    return found.groups() if found else (line.strip(), None)


def squeezed(found):
    return [(label, " ".join(rest.split())) for label, rest in found]


SITE = ("site", "example.test *.example.test f.conf:5")
LIMIT = ("limit", "50 requests per second, 100 at once f.conf:3")


def test_parts(folder):
    found, response = parts(folder, "http://Example.test/other/a.txt?x#y")
    assert squeezed(found) == [
        SITE, LIMIT, ("path", "/other/ f.conf:10"), ("limit", "0.166667 requests per second, 1 at once f.conf:12"),
        ("path", "= /other/a.txt f.conf:15"), ("deny", "1 network f.conf:13"), ("root", "other, in it a.txt f.conf:11"),
    ]
    assert response[0] == "HTTP/1.1 200 OK" and "Cache-Control: max-age=3600" in response
    assert not [line for line in response if line.startswith(("Date", "Last-Modified", "Connection", "Strict-Transport"))]


@pytest.mark.parametrize(
    "url,first,status,field", [
        ("https://a.example.test/text.txt", SITE, "200 OK", "Strict-Transport-Security: max-age=86400"),
        ("https://a.example.test/blog/b%20c?d", SITE, "302 Found", "Location: https://blog.test/b%20c?d"),
        ("a.example.test", SITE, "200 OK", "X-Frame-Options: DENY"),
        ("a.example.test/local", SITE, "403 Forbidden", "X-Frame-Options: DENY"),
        ("a.example.test/none", SITE, "404 Not Found", "Vary: Accept"),
        ("http://canonical.test/x", ("site", "canonical.test www.canonical.test f.conf:27"), "308 Permanent Redirect",
         "Location: https://canonical.test/x"),
        ("https://canonical.test/text.txt", ("site", "canonical.test www.canonical.test f.conf:27"), "200 OK", "Content-Encoding: br"),
        ("b.a.example.test", ("site", "* f.conf:31"), "401 Unauthorized", 'WWW-Authenticate: Basic realm="Staff", charset="UTF-8"'),
        ("[::1]:8080/", ("site", "* f.conf:31"), "401 Unauthorized", "Cache-Control: no-store"),
    ],
)
def test_responses(folder, url, first, status, field):
    found, response = parts(folder, url)
    assert squeezed(found)[0] == first
    assert response[0] == f"HTTP/1.1 {status}" and field in response


@pytest.mark.parametrize("path", ["/other//b", "/%6fther/b", "//other/b"])
def test_paths_are_decoded(folder, path):
    assert ("path", "/other/ f.conf:10") in squeezed(parts(folder, "http://example.test" + path)[0])


def test_methods(folder):
    found, response = parts(folder, "PUT", "http://a.example.test/")
    assert squeezed(found) == [SITE, ("limit", "1 requests per second, 1 at once f.conf:23"), LIMIT, ("deny", "1 network f.conf:24"),
                               ("password", '"Staff", of users f.conf:22'), ("root", "pub, in it . f.conf:6")]
    assert response[0] == "HTTP/1.1 401 Unauthorized"
    found, response = parts(folder, "POST", "http://a.example.test/")
    assert squeezed(found) == [SITE, LIMIT, ("root", "pub, in it . f.conf:6")]
    assert response[0] == "HTTP/1.1 405 Method Not Allowed"


def test_no_site(folder):
    (folder / "one.conf").write_text("listen :0\nsite a {\n root pub\n}\n")
    done = explain(folder, "http://b/", "-c", "one.conf")
    assert done.returncode == 0
    assert done.stdout.startswith("site       none has the host b\nresponse   HTTP/1.1 421 Misdirected Request\n")


@pytest.mark.parametrize(
    "words,status,sentence", [
        (["ftp://a/", "-c", "f.conf"], 1, 'skua: "ftp://a/" is not a URL; write https://example.org/path, without /../\n'),
        (["http://a/../b", "-c", "f.conf"], 1, 'skua: "http://a/../b" is not a URL; write https://example.org/path, without /../\n'),
        (["http:///x", "-c", "f.conf"], 1, 'skua: "http:///x" is not a URL; write https://example.org/path, without /../\n'),
        (["http://a b/", "-c", "f.conf"], 1, 'skua: "http://a b/" is not a URL; write https://example.org/path, without /../\n'),
        (["http://a/", "-c", "none"], 1, 'none:1:1: "none": there is no such file\n'),
        (["put", "http://a/", "-c", "f.conf"], 1, 'skua: "put" is not a method; methods have capital letters only, such as PUT\n'),
        (["-c", "f.conf"], 2, "skua: explain needs a URL and a file: skua explain [METHOD] URL -c FILE; ./explain is the directory\n"),
        (["http://a/"], 2, "skua: explain needs a URL and a file: skua explain [METHOD] URL -c FILE; ./explain is the directory\n"),
    ],
)
def test_faults(folder, words, status, sentence):
    done = explain(folder, *words)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", sentence)


def test_sites_of_tls(folder):
    """The request is played in the clear, and counts as one that came as its URL says."""
    make(folder, "one", names="DNS:secure.test")
    (folder / "tls.conf").write_text("listen 127.0.0.1:0\nlisten 127.0.0.1:0 tls\nsite secure.test {\n certificate one.pem one.key\n"
                                     " canonical https://secure.test\n root pub\n hsts 1d\n}\n")
    for url, answer in (("https://secure.test/text.txt", "HTTP/1.1 200 OK"), ("http://secure.test/", "HTTP/1.1 308 Permanent Redirect")):
        done = explain(folder, url, "-c", "tls.conf")
        assert done.returncode == 0 and f"response   {answer}\n" in done.stdout, done.stdout
        assert ("Strict-Transport-Security: max-age=86400" in done.stdout) == url.startswith("https")


REASONS = """listen 127.0.0.1:0
defaults {
    security_headers
    header X-Served-By all
    error_page 404 500 gone.html
}
site reasons.test {
    root pub
    canonical https://reasons.test
    maintenance closed
    redirect "/blog/{x...}" "https://blog.test/{x}"
    redirect "/blog/{x}/old" "https://old.test/{x}"
    rewrite "/posts/{x}" "/text.txt"
    hsts 1d
    cache 1h
    header X-Served-By this
    type .txt "text/plain; charset=ascii"
    spa
    path /a/ {
        cache off
        security_headers off
        header X-Served-By off
        error_page 404 here.html
        root other
        spa off
    }
}
"""
FRAMES, SERVED = "X-Frame-Options: DENY", "X-Served-By: this"
GIVEN = {  # by the target: lines of the response, and the lines of the file that gave them
    "/text.txt": {"HTTP/1.1 200 OK": None, "Content-Type: text/plain; charset=ascii": 17, FRAMES: 3, SERVED: 16, "Cache-Control: max-age=3600": 15, "Content-Security-Policy: default-src 'self'": 3,
                  "Strict-Transport-Security: max-age=86400": 14},
    "/blog/b/c": {"HTTP/1.1 302 Found": None, "Location: https://blog.test/b/c": 11, FRAMES: 3, SERVED: 16},
    "/blog/b/old": {"Location: https://old.test/b": 12},
    "/none.css": {"HTTP/1.1 404 Not Found": 5, FRAMES: 3, SERVED: 16},
    "/a/none": {"HTTP/1.1 404 Not Found": 23, "Strict-Transport-Security: max-age=86400": 14},
}


@pytest.mark.parametrize("target", GIVEN)
def test_each_line_of_a_response_has_its_reason(folder, target):
    for name in ("gone.html", "here.html"):
        (folder / name).write_text("<p>none\n")
    (folder / "reasons.conf").write_text(REASONS)
    done = explain(folder, "https://reasons.test" + target, "-c", "reasons.conf")
    assert done.returncode == 0, done.stderr
    found = dict(owed(line) for line in done.stdout.split("response   ")[1].splitlines())
    expected = {line: number and f"reasons.conf:{number}" for line, number in GIVEN[target].items()}
    assert {line: found.get(line, "none") for line in expected} == expected
    off = [line for line in found if line.startswith(("X-Frame-Options", "X-Served-By", "Cache-Control: max-age"))]
    assert not off if target.startswith("/a/") else off


def test_how_a_file_is_chosen_has_its_reason(folder):
    (folder / "reasons.conf").write_text(REASONS)
    for name in ("gone.html", "here.html"):
        (folder / name).write_text("<p>none\n")
    lines = explain(folder, "https://reasons.test/posts/1", "-c", "reasons.conf").stdout.splitlines()
    chosen = [" ".join(line.split()) for line in lines if line.startswith(("rewrite", "files"))]
    assert chosen == ["rewrite /posts/{x} to /text.txt reasons.conf:13", "files spa reasons.conf:18"]
    lines = explain(folder, "https://reasons.test/a/x", "-c", "reasons.conf").stdout.splitlines()
    assert not [line for line in lines if line.startswith(("rewrite", "files"))]


def test_who_keeps_a_file_that_another_path_leads_to(folder):
    (folder / "kept.conf").write_text("listen 127.0.0.1:0\nsite kept.test {\n root pub\n clean_urls\n path = /home.html {\n"
                                      "  basic_auth Staff users\n }\n}\n")
    lines = [" ".join(line.split()) for line in explain(folder, "http://kept.test/home", "-c", "kept.conf").stdout.splitlines()]
    assert "kept the file has the rules of /home.html, which are not open here kept.conf:5" in lines
    assert "response HTTP/1.1 403 Forbidden" in lines
    assert "\nkept " not in explain(folder, "http://kept.test/text.txt", "-c", "kept.conf").stdout


def test_a_closed_site_and_another_host_have_their_reasons(folder):
    (folder / "reasons.conf").write_text(REASONS)
    for name in ("gone.html", "here.html"):
        (folder / name).write_text("<p>none\n")
    done = explain(folder, "http://reasons.test/text.txt", "-c", "reasons.conf")
    lines = [owed(line) for line in done.stdout.splitlines()]
    assert ("Location: https://reasons.test/text.txt", "reasons.conf:9") in lines
    (folder / "closed").touch()
    done = explain(folder, "https://reasons.test/text.txt", "-c", "reasons.conf")
    (folder / "closed").unlink()
    assert ("HTTP/1.1 503 Service Unavailable", "reasons.conf:10") in [owed(line.removeprefix("response")) for line in done.stdout.splitlines()]
