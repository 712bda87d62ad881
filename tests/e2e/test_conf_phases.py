# SPDX-License-Identifier: MIT
"""The tables of docs/configuration.md about phases, and about how rules of several blocks go together, row by row.

A site has all phases from one row on, in the file in the opposite order, so that the answer tells which one comes first."""

import re

import pytest
from conf import basic, get, start, write_folder
from server import ROOT

pytestmark = [pytest.mark.in_the_clear("nothing but the program"), pytest.mark.of_http1("nothing but the program")]

PAGE = (ROOT / "docs/configuration.md").read_text()
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"
BERT = "bert:$2y$04$bbbbbbbbbbbbbbbbbbbbbOjBtehXAzPOjwxjK/HO1KpwUeovTTaRW\n"


def rows(head):
    """The rows of the table with that head: [names in the first or second cell]."""
    table = PAGE[PAGE.index(head):].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table]


PHASES = rows("| phase | directives |")
COMBINED = rows("| rule | an inner one |")

# The directive of each phase, and its answer to a preflight for /old; {} is the site's number.
TOLD = {
    "host": ("", 421),
    "networks": ("deny 127.0.0.1", 403),
    "maintenance": ("maintenance closed", 503),
    "limits": ("limit_requests 1/h", 429),
    "preflights": ("cors https://a.test", 204),
    "canonical host": ("canonical http://canonical.test", 308),
    "redirects": ("redirect /old /new", 302),
    "authentication": ("basic_auth Staff staff.users", 401),
    "rewrites": ("rewrite /old /text.txt", 200),
    "files": ("root pub", 404),
}


def site(number):
    """All phases from that one on, the last one first. A redirect and a rewrite of one path are a fault: see check."""
    told = [TOLD[name][0] for name, *_ in PHASES[number:]]
    if any(line.startswith("redirect") for line in told):
        told = [line for line in told if not line.startswith("rewrite")]
    hosts = f"p{number}.test" + (f" canonical{number}.test" if number else "")
    lines = "\n".join(line.replace("canonical.test", f"canonical{number}.test") for line in reversed(told) if line)
    return f"site {hosts} {{\n{lines}\n}}\n"


SCOPES = """
defaults {
    header X-Where defaults
    limit_requests 1000/s
}
site replaced.test {
    root pub
    compress off
    security_headers
    cache 1h
    cors https://a.test
    header X-Where site
    hsts 1d
    error_page 404 site.html
    log off
    path /in/ {
        root pub
        compress
        security_headers off
        cache off
        cors off
        header X-Where path
        error_page 404 path.html
    }
}
site added.test {
    root pub
    deny 192.0.2.1
    path /in/ {
        root pub
        deny 192.0.2.2
        limit_requests 1/h burst 2
        preload /in.css style
    }
    preload /out.css style
}
site locked.test {
    root pub
    basic_auth Staff staff.users
    path /in/ {
        root other
        basic_auth Inner inner.users
    }
    path /open/ {
        root pub
        basic_auth off
    }
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("phases"))
    (folder / "staff.users").write_text(ANNA + BERT)
    (folder / "inner.users").write_text(BERT)
    (folder / "closed").write_text("")
    for name in ("site", "path"):
        (folder / f"{name}.html").write_text(name)
    server = start(folder, "listen 127.0.0.1:PORT\ntrusted_proxies x-forwarded 127.0.0.1\n" + SCOPES +
                   "".join(site(number) for number in range(1, len(PHASES))))
    yield server
    server.stop()


def test_the_page_has_the_phases():
    assert [name for name, *_ in PHASES] == list(TOLD)
    for name, directives, _ in PHASES:
        told = TOLD[name][0].split()
        assert not told or f"`{told[0]}`" in directives, name


@pytest.mark.parametrize("number", range(len(PHASES)), ids=[name for name, *_ in PHASES])
def test_each_phase_comes_before_those_below_it(server, number):
    name, _, answer = PHASES[number]
    if name == "limits":
        get(server, f"p{number}.test", "/old")  # is within it
    lines = ("Origin: https://a.test", "Access-Control-Request-Method: GET") if name == "preflights" else ()
    response = get(server, f"p{number}.test", "/old", *lines, method="OPTIONS" if lines else "GET")
    assert response.status == TOLD[name][1]
    said = [int(found) for found in re.findall(r"\d{3}", answer)] or [200]
    assert min(said) <= response.status <= max(said)


# ---- Several blocks ----


def asked(server, host, path, client="198.51.100.1", *lines):
    return get(server, host, path, f"X-Forwarded-For: {client}", *lines)


def replaced(server):
    outer, inner = (asked(server, "replaced.test", path, "198.51.100.1", "Accept-Encoding: gzip", "Origin: https://a.test")
                    for path in ("/text.txt", "/in/text.txt"))
    told = [[r.get(name) for name in ("content-encoding", "x-frame-options", "cache-control", "access-control-allow-origin", "x-where")]
            for r in (outer, inner)]
    assert told == [[None, "DENY", "max-age=3600", "https://a.test", "site"], ["gzip", None, None, None, "path"]]
    assert [asked(server, "replaced.test", path).content for path in ("/none", "/in/none")] == [b"site", b"path"]
    assert asked(server, "added.test", "/text.txt").get("x-where") == "defaults"


def limits(server):
    assert [asked(server, "added.test", "/in/text.txt", "198.51.100.2").status for _ in range(3)] == [200, 200, 429]
    assert asked(server, "added.test", "/text.txt", "198.51.100.2").status == 200


def networks(server):
    assert [[asked(server, "added.test", path, client).status for path in ("/text.txt", "/in/home.html")]
            for client in ("192.0.2.1", "192.0.2.2", "192.0.2.3")] == [[403, 403], [200, 403], [200, 200]]


def locks(server):
    anna, bert = basic("anna", "secret"), basic("bert", "geheim")
    found = [[asked(server, "locked.test", path, "198.51.100.3", *lines).status for lines in ((), (anna,), (bert,))]
             for path in ("/text.txt", "/in/a.txt", "/open/text.txt")]
    assert found == [[401, 200, 200], [401, 401, 200], [200, 200, 200]]


def preloads(server):
    outer, inner = (asked(server, "added.test", path, client).all("link") for path, client in (("/", "198.51.100.4"), ("/in/", "198.51.100.5")))
    assert "/out.css" in str(outer) and "/in.css" not in str(outer)
    assert "/out.css" in str(inner) and "/in.css" in str(inner)


def roots(server):
    assert asked(server, "locked.test", "/in/a.txt", "198.51.100.6", basic("bert", "geheim")).content == b"other"


TRIED = {"compress": replaced, "limit_requests": limits, "allow": networks, "basic_auth": locks, "preload": preloads, "root": roots}


@pytest.mark.parametrize("rule", [row[0] for row in COMBINED])
def test_rules_of_several_blocks(server, rule):
    TRIED[re.findall(r"`(\w+)`", rule)[0]](server)
