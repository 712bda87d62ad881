# SPDX-License-Identifier: MIT
"""skua -c FILE: preload, which tells browsers by 103 (Early Hints) what a page will need."""

import re
import subprocess

import pytest
from conf import basic, get, of, start, write_folder

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"  # secret
NAVIGATION = "Sec-Fetch-Mode: navigate"
STYLE, FONT, SCRIPT = ("</style.css>; rel=preload; as=style", "</font.woff2>; rel=preload; as=font; crossorigin",
                       "</app.js>; rel=preload; as=script")
SITES = """
listen 127.0.0.1:PORT
site * {
    root pub
    redirect /moved /closed/
    preload /style.css style
    preload /font.woff2 font
    path /inner/ {
        root pub
        preload /app.js script
    }
    path /none/ {
        root pub
        preload off
    }
    path /closed/ {
        root pub
        basic_auth Staff users
    }
    path /shut/ {
        deny all
    }
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("served"))
    (folder / "users").write_text(ANNA)
    server = start(folder, SITES)
    yield server
    server.stop()


def heads(server, path, *lines, version="--http2-prior-knowledge"):
    """The heads that curl is sent for a request: the status of each, and its fields of Link."""
    words = [word for line in lines for word in ("-H", line)]
    url = f"http://127.0.0.1:{server.port}{path}"
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-D", "-", version, *words, url], capture_output=True, text=True, timeout=20, check=True)
    return [(int(head.split()[1]), re.findall(r"(?mi)^link: (.*?)\s*$", head)) for head in re.split(r"(?m)^(?=HTTP/)", done.stdout) if head]


@of("preload")
def test_hints(site):
    assert heads(site, "/", NAVIGATION) == [(103, [STYLE, FONT]), (200, [STYLE, FONT])]
    assert heads(site, "/inner/", NAVIGATION) == [(103, [STYLE, FONT, SCRIPT]), (200, [STYLE, FONT, SCRIPT])]
    assert heads(site, "/none/", NAVIGATION) == [(200, [])]


def test_only_navigations_by_http2_are_told_before(site):
    assert heads(site, "/") == [(200, [STYLE, FONT])]
    assert heads(site, "/", "Sec-Fetch-Mode: cors") == [(200, [STYLE, FONT])]
    assert heads(site, "/", NAVIGATION, "Sec-Fetch-Dest: document", version="--http1.1") == [(200, [STYLE, FONT])]
    assert get(site, "a", "/", NAVIGATION).all("link") == [STYLE, FONT]
    assert heads(site, "/text.txt") == [(200, [])]


def test_who_may_not_see_a_page_learns_nothing(site):
    assert heads(site, "/closed/", NAVIGATION) == [(401, [])]
    assert heads(site, "/shut/", NAVIGATION) == [(403, [])]
    assert heads(site, "/moved", NAVIGATION) == [(302, [])]
    assert heads(site, "/closed/", NAVIGATION, basic("anna", "secret")) == [(103, [STYLE, FONT]), (200, [STYLE, FONT])]
