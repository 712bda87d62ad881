# SPDX-License-Identifier: MIT
"""The ready middleware of middleware/: what clients and browsers get (tests/servers/guards.c)."""

import base64
import re

import pytest
from server import ROOT, eventually, numbered

HEADERS = sorted((ROOT / "middleware/skua/middleware").glob("*.h"))


@pytest.fixture(scope="module")
def guards():
    server = numbered("guards", "--workers", "2")
    yield server
    server.stop()


@pytest.fixture
def fresh():
    server = numbered("guards", "--workers", "2")
    yield server
    server.stop()


def preflight(server, path, origin, method="PUT", *lines):
    return server.get(path, f"Origin: {origin}", f"Access-Control-Request-Method: {method}", *lines, method="OPTIONS")


def basic(text):
    return "Authorization: Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.stem)
def test_each_is_short_and_rests_on_the_public_interface(header):
    text = header.read_text()
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    lines = len([line for line in code.splitlines() if line.strip()])
    assert lines <= (80 if "middleware(" in code else 110), "of code; what several share may have some more"
    for name in re.findall(r'#include ["<](.*?)[">]', text):
        assert name == "skua/skua.h" or name in {h.name for h in HEADERS} or not name.startswith("skua"), name


# ---- CORS ----


def test_preflights_of_a_list(guards):
    answer = preflight(guards, "/cors/x", "https://b.test:8443", "PUT", "Access-Control-Request-Headers: X-A, X-B")
    assert answer.status == 204
    assert answer.get("Access-Control-Allow-Origin") == "https://b.test:8443"
    assert answer.get("Access-Control-Allow-Credentials") == "true"
    assert answer.get("Access-Control-Allow-Methods") == "GET, PUT"
    assert answer.get("Access-Control-Allow-Headers") == "X-A, X-B"
    assert answer.get("Access-Control-Max-Age") == "600"
    assert "Origin" in answer.all("Vary")


@pytest.mark.parametrize("origin", ["https://a.test.evil", "https://a.tes", "http://a.test", "null", "https://b.test", "*"])
def test_other_origins_may_not_ask(guards, origin):
    answer = preflight(guards, "/cors/x", origin)
    assert answer.status == 403 and answer.get("Access-Control-Allow-Origin") is None
    answer = guards.get("/cors/x", f"Origin: {origin}")
    assert answer.status == 200 and answer.get("Access-Control-Allow-Origin") is None
    assert "Origin" in answer.all("Vary")


def test_requests_of_pages(guards):
    answer = guards.get("/cors/x", "Origin: https://a.test")
    assert answer.status == 200 and answer.get("Access-Control-Allow-Origin") == "https://a.test"
    assert answer.get("Access-Control-Expose-Headers") == "X-Total"
    assert guards.get("/cors/x").get("Access-Control-Allow-Origin") is None
    answer = guards.get("/open/x", "Origin: https://any.test")
    assert answer.get("Access-Control-Allow-Origin") == "*"
    assert answer.get("Access-Control-Allow-Credentials") is None  # never with "*"
    assert guards.get("/cors/x", "Origin: https://a.test", method="OPTIONS").status == 405  # no preflight


# ---- Fields ----


def test_fields_of_security(guards):
    answer = guards.get("/strict/x")
    assert answer.get("X-Content-Type-Options") == "nosniff"
    assert answer.get("Content-Security-Policy") == "default-src 'self'"
    assert answer.get("X-Frame-Options") is None  # "" leaves it out
    assert answer.get("Cross-Origin-Opener-Policy") == "same-origin"
    assert (answer.get("Strict-Transport-Security") is not None) == bool(guards.tls)
    answer = guards.get("/policy/x")
    assert answer.all("Content-Security-Policy") == ["default-src 'none'"]  # the handler's own counts


# ---- Authentication ----


@pytest.mark.parametrize("path", ["/basic/x", "/slow/x"])
def test_passwords(guards, path):
    answer = guards.get(path, basic("admin:se:cret"))
    assert (answer.status, answer.content) == (200, b"hello, admin")
    for line in ("X: y", basic("admin:secret"), basic("admin:se:cret2"), basic("admin"), basic(":"), "Authorization: Basic",
                 "Authorization: Basic !!!!", "Authorization: Bearer YWRtaW46c2U6Y3JldA==",
                 "Authorization: Basic YWRtaW46c2U6Y3JldA", "Authorization: Basic YWRtaW46c2U6Y3JldB==",
                 "Authorization: Basic ===="):
        answer = guards.get(path, line)
        assert answer.status == 401, line
        assert re.fullmatch(r'Basic realm="[a-z ]+", charset="UTF-8"', answer.get("WWW-Authenticate"))
    assert guards.get(path, "Authorization: bAsIc  " + base64.b64encode(b"admin:se:cret").decode()).status == 200


def test_tokens(guards):
    answer = guards.get("/bearer/x", "Authorization: Bearer abc.def-_~+/=")
    assert (answer.status, answer.content) == (200, b"hello, ")
    assert guards.get("/bearer/x").get("WWW-Authenticate") == 'Bearer realm="api"'
    answer = guards.get("/bearer/x", "Authorization: Bearer wrong")
    assert (answer.status, answer.get("WWW-Authenticate")) == (401, 'Bearer realm="api", error="invalid_token"')
    assert guards.get("/bearer/x", 'Authorization: Bearer a"b').status == 401


def test_a_client_that_leaves_while_its_password_is_checked(guards):
    for _ in range(20):
        with guards.connect() as connection:
            connection.send(b"GET /slow/x HTTP/1.1\r\nHost: a\r\n" + basic("admin:se:cret").encode() + b"\r\n\r\n")
            connection.reset()
    assert guards.get("/slow/x", basic("admin:se:cret")).status == 200


# ---- Limits ----


def test_requests_of_an_address(fresh):
    answers = [fresh.get("/address/x") for _ in range(6)]
    assert [a.status for a in answers] == [200] * 3 + [429] * 3
    assert 40 <= int(answers[-1].get("Retry-After")) <= 51
    assert fresh.get("/open/x").status == 200


def test_a_flood_of_keys_frees_no_blocked_one(fresh):
    ask = lambda connection, key: connection.get("/key/x", f"X-Key: {key}").status
    with fresh.connect() as connection:
        blocked = [f"bad-{i}" for i in range(20)]
        assert all([ask(connection, key) for _ in range(3)] == [200, 200, 429] for key in blocked)
        served = sum(ask(connection, f"flood-{i}") == 200 for i in range(6000))
        assert served > 4096  # the table has room for 4,096 at once
        assert all(ask(connection, key) == 429 for key in blocked)
        assert all(connection.get("/key/x").status == 200 for _ in range(5))  # without a key: no limit


def test_octets_and_requests_at_once(fresh):
    assert fresh.get("/octets/x").status == 200  # its octets are counted when it has ended
    assert eventually(lambda: fresh.get("/octets/x").status == 429)
    assert fresh.get("/octets/x").status == 429
    waiting = [asking(fresh) for _ in range(2)]
    assert [connection.head().status for connection in waiting] == [103, 103]
    with asking(fresh) as connection:
        assert connection.head().status == 429
    for connection in waiting:
        connection.reset()
    assert eventually(lambda: served(fresh))


def asking(server):
    connection = server.connect()
    connection.send(b"GET /running/x HTTP/1.1\r\nHost: a\r\n\r\n")
    return connection


def served(server):
    with asking(server) as connection:
        return connection.head().status == 103
