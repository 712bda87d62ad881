# SPDX-License-Identifier: MIT
"""rewrite and try: which file answers a request, and that no lock is walked around by them."""

import pytest
from conf import basic, get, of, start, write_folder
from server import ROOT

pytestmark = [pytest.mark.in_the_clear("nothing but the program"), pytest.mark.of_http1("nothing but the program")]

TEXT = """
listen 127.0.0.1:PORT
trusted_proxies x-forwarded 127.0.0.1
site a.test {
    root pub
    rewrite "/posts/{name}" "/blog/{name}.html"
    rewrite "/v1/{rest...}" "/{rest}"
    rewrite /about /blog/about.html
    rewrite /home /
    rewrite "/members/{rest...}" "/staff/{rest}"
    rewrite "/staff/door/{rest...}" "/staff/{rest}"
    rewrite "/api/{rest...}" "/api/v2/{rest}"
    rewrite "/other/{rest...}" "/apart/{rest}"
    rewrite /aside /apart
    redirect "/v1/gone" /elsewhere
    path /staff/ {
        basic_auth Staff staff.users
        method GET {
            deny 192.0.2.0/24
        }
    }
    path /apart/ {
        root other
        cache 1h
    }
    path /posts/ {
        cache 1d
    }
}
site tries.test {
    root app
    try "{path}.html" "{path}/start.html" "/parts/{path}.htm" /app.html
    path /inner/ {
        root app
        try off
    }
    path /listed/ {
        root app
        listing on
    }
}
"""
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("rewritten"))
    (folder / "staff.users").write_text(ANNA)
    for name in ("pub/blog/one.html", "pub/blog/about.html", "pub/staff/secret.txt", "pub/api/v2/a.json", "pub/api/v2/v2/a.json",
                 "app/app.html", "app/a.html", "app/b/start.html", "app/c/index.html", "app/parts/d/e.htm", "app/f.txt", "app/empty/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    server = start(folder, TEXT)
    yield server
    server.stop()


def content(server, path, *lines, host="a.test", **options):
    response = get(server, host, path, *lines, **options)
    return response.content.decode() if response.status == 200 else response.status


@of("rewrite")
def test_files_of_another_path(server):
    assert content(server, "/posts/one") == content(server, "/posts/one?a=b") == "pub/blog/one.html"
    assert content(server, "/about") == "pub/blog/about.html"
    assert content(server, "/v1/posts/one") == 404  # is rewritten once: there is no file posts/one
    assert content(server, "/v1/blog/one.html") == "pub/blog/one.html"
    assert content(server, "/home") == content(server, "/v1/") == "<p>here</p>"
    assert content(server, "/api/a.json") == "pub/api/v2/a.json"  # no circle, though the other path has the pattern, too
    assert content(server, "/api/v2/a.json") == "pub/api/v2/v2/a.json"
    assert content(server, "/posts/none") == 404 and content(server, "/posts/one/more") == 404
    assert content(server, "/posts/one", method="POST") == 405
    assert get(server, "a.test", "/posts/one", method="HEAD").get("content-length") == "17"
    assert get(server, "a.test", "/v1/gone?x").get("location") == "/elsewhere?x"
    moved = get(server, "a.test", "/v1/blog?a=b")
    assert (moved.status, moved.get("location")) == (301, "/v1/blog/?a=b")


def test_what_the_request_keeps(server):
    tag = get(server, "a.test", "/posts/one").get("etag")
    assert get(server, "a.test", "/posts/one", f"If-None-Match: {tag}").status == 304
    assert get(server, "a.test", "/posts/one").get("cache-control") == "max-age=86400"  # of the path that was asked for
    assert content(server, "/other/a.txt") == "other" and get(server, "a.test", "/other/a.txt").get("cache-control") is None
    part = get(server, "a.test", "/other/a.txt", "Range: bytes=1-2")
    assert (part.status, part.content) == (206, b"th")
    assert content(server, "/aside") == 404  # a folder without an index


@pytest.mark.parametrize("path", ["/v1/staff/secret.txt", "/v1/%73taff/secret.txt", "/v1//staff//secret.txt", "/members/secret.txt",
                                  "/v1/blog/../staff/secret.txt", "/v1/./staff/secret.txt", "/v1/staff", "/members/"])
def test_a_lock_of_the_other_path_holds(server, path):
    assert content(server, path) == 403
    assert content(server, path, basic("anna", "secret")) == 403


@pytest.mark.parametrize("path", ["/v1/blog%2f..%2fstaff/secret.txt", "/v1/..%2f..%2foutside.txt", "/posts/..%2f..%2foutside", "/v1/.hidden",
                                  "/v1/%2e%2e/%2e%2e/outside.txt", "/v1/blog%5c..%5cstaff", "/v1/out"])
def test_no_path_leads_out(server, path):
    assert content(server, path) in (400, 403, 404)


def test_a_lock_that_is_opened(server):
    assert content(server, "/staff/door/secret.txt") == 401
    assert content(server, "/staff/door/secret.txt", basic("anna", "secret")) == "pub/staff/secret.txt"
    assert content(server, "/staff/door/secret.txt", basic("anna", "secret"), "X-Forwarded-For: 192.0.2.1") == 403
    assert content(server, "/members/x", "X-Forwarded-For: 192.0.2.1") == 403


@of("try")
def test_tries(server):
    def tried(path, *lines):
        return content(server, path, *lines, host="tries.test")

    for _ in range(2):  # opened, and then ready
        assert [tried(path) for path in ("/a", "/b", "/b/", "/d/e", "/f.txt", "/none", "/none.txt", "/none/", "/a.html")] == [
            "app/a.html", 301, "app/b/start.html", "app/parts/d/e.htm", "app/f.txt", "app/app.html", "app/app.html", "app/app.html",
            "app/a.html"]
    assert get(server, "tries.test", "/c").get("location") == "/c/" and tried("/c/") == "app/c/index.html"
    assert tried("/") == "app/app.html"
    assert tried("/.hidden") == 404 and tried("/x/.git/config") == 404
    assert tried("/none", "Range: bytes=0-1") == 206
    assert [tried("/inner/" + path) for path in ("a", "f.txt", "none")] == [404, "app/f.txt", 404]
    assert "<" in tried("/listed/empty/") and tried("/listed/a") == "app/a.html"


CHOSEN = """
listen 127.0.0.1:PORT
workers 1
trusted_proxies x-forwarded 127.0.0.0/8
site * {
    root pub
    clean_urls
    try "/tried/{path}.txt"
    path = /secret.html {
        basic_auth Staff users
    }
    path = /doors/index.html {
        deny 192.0.2.0/24
    }
    path /tried/inner/ {
        basic_auth Staff users
    }
    path /staff/ {
        basic_auth Staff users
    }
    path = /staff/ {
        basic_auth off
    }
    path = /staff/rules.html {
        allow 127.0.0.0/8
    }
}
"""


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    (folder / "users").write_text(ANNA)
    for name in ("secret.html", "secret.html.gz", "doors/index.html", "tried/inner/x.txt", "tried/a.txt", "tried/a.txt.gz", "staff/index.html",
                 "staff/rules.html", "open.html"):
        (folder / "pub" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pub" / name).write_text(name)
    server = start(folder, CHOSEN)
    yield server
    server.stop()


@pytest.mark.parametrize("path, direct", [("/secret", "/secret.html"), ("/secret.html.gz", "/secret.html"), ("/inner/x", "/tried/inner/x.txt")])
def test_no_other_name_of_a_file_opens_its_lock(chosen, path, direct):
    """Clean addresses, siblings, tries: the file has rules of its own, whatever name leads to it."""
    for _ in range(2):
        assert content(chosen, direct) == 401
        assert content(chosen, direct, basic("anna", "secret")) == direct[1:]
        assert content(chosen, path) == content(chosen, path, basic("anna", "secret")) == 403
        assert content(chosen, path, method="HEAD") == content(chosen, path, "Range: bytes=0-2") == 403
        assert content(chosen, path, "Accept-Encoding: gzip") == content(chosen, path, 'If-None-Match: *') == 403


def test_no_other_name_of_a_file_leads_around_its_networks(chosen):
    away = "X-Forwarded-For: 192.0.2.1"
    assert content(chosen, "/doors/") == content(chosen, "/doors/index") == content(chosen, "/doors/index.html") == "doors/index.html"
    assert [content(chosen, path, away) for path in ("/doors/index.html", "/doors/index", "/doors/")] == [403, 403, 403]
    named = basic("anna", "secret")
    assert content(chosen, "/staff/rules", named) == "staff/rules.html" and content(chosen, "/staff/rules", named, away) == 403


def test_what_was_opened_stays_open(chosen):
    """A path that has no password by its own words has none for the file that it is answered by, either."""
    assert content(chosen, "/staff/") == "staff/index.html" and content(chosen, "/staff/index.html") == 401
    assert content(chosen, "/open") == "open.html" and content(chosen, "/a") == content(chosen, "/tried/a.txt.gz")[:-3] == "tried/a.txt"


LIMITED = """
listen 127.0.0.1:PORT
site tries.test {
    root app
    clean_urls on
    try /app.html
    path = /f.html {
        limit_requests 1/h burst 1
        header X-Own yes
    }
    path = /index.html {
        limit_requests 1/h burst 1
        header X-Own yes
    }
    path = /app.html {
        limit_requests 1/h burst 1
        header X-Own yes
    }
}
site spa.test {
    root app
    spa
    path = /index.html {
        limit_requests 1/h burst 1
        header X-Own yes
    }
}
"""


@pytest.mark.parametrize("way, host, name, file", [
    ("`clean_urls`: `/home`", "tries.test", "/f", "/f.html"), ("`index`: `/`", "tries.test", "/", "/index.html"),
    ("`try`: `/any.thing`", "tries.test", "/any.thing", "/app.html"), ("`spa`: `/any`", "spa.test", "/any", "/index.html"),
])
def test_limits_and_fields_are_those_of_the_requested_path(launch, tmp_path, way, host, name, file):
    """Those of the file's own path hold for who asks for that, as the table of the manual says; of locks see the test above."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (ROOT / "docs/configuration.md").read_text().splitlines()]
    assert [way, "of both", "of the requested path"] in rows
    (tmp_path / "app").mkdir()
    for page in ("f.html", "index.html", "app.html"):
        (tmp_path / "app" / page).write_text(page)
    server = launch(start, tmp_path, LIMITED)
    assert [(r.status, r.get("x-own")) for r in (get(server, host, file), get(server, host, file))] == [(200, "yes"), (429, "yes")]
    for _ in range(3):
        response = get(server, host, name)
        assert (response.status, response.get("x-own"), response.content) == (200, None, file[1:].encode())
