# SPDX-License-Identifier: MIT
"""The ready middleware of middleware/: what clients and browsers get (tests/servers/guards.c)."""

import base64
import hashlib
import hmac
import re
import socket
import time

import pytest
from compiling import C_WARNINGS, CXX_WARNINGS, run
from server import ROOT, SLOW, eventually, numbered

KEY, PREVIOUS = "k" * 40, "p" * 70  # longer than a block, so that it is hashed first
HEADERS = sorted((ROOT / "middleware/skua/middleware").glob("*.h"))


@pytest.fixture(scope="module")
def guards():
    server = numbered("guards", "--workers", "2", env={"GUARDS_KEY": KEY, "GUARDS_PREVIOUS": PREVIOUS})
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
    assert lines <= (79 if "middleware(" in code else 110), "of code; what several share may have some more"
    for name in re.findall(r'#include ["<](.*?)[">]', text):
        assert name == "skua/skua.h" or name in {h.name for h in HEADERS} or not name.startswith("skua"), name


@pytest.mark.parametrize("words", [["cc", "-xc", "-std=gnu17", *C_WARNINGS, "-Wno-missing-prototypes"],
                                   ["c++", "-xc++", "-std=c++20", *CXX_WARNINGS, "-Wconversion", "-Wsign-conversion", "-Wshadow"]],
                         ids=["c", "c++"])
def test_all_compile_without_a_warning(words):
    text = "".join(f"#include <skua/middleware/{header.name}>\n" for header in HEADERS)
    run([*words, "-fsyntax-only", "-I", ROOT / "include", "-I", ROOT / "middleware", "-"], input=text)


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


# ---- Timeouts and names of requests ----


def test_a_handler_that_takes_too_long(guards):
    assert guards.get("/timed/x").status == 503


@pytest.mark.parametrize("path,field", [("/id/x", "X-Request-Id"), ("/trace/x", "X-Trace")])
def test_each_request_has_a_name(guards, path, field):
    names = set()
    for _ in range(3):
        answer = guards.get(path)
        names.add(answer.get(field))
        assert answer.content.decode() == answer.get(field)
        assert re.fullmatch("[0-9a-f]{32}", answer.get(field))
    assert len(names) == 3
    missing = guards.get("/id/x", method="DELETE")  # an error of the server's own
    assert missing.status == 405 and re.fullmatch("[0-9a-f]{32}", missing.get("X-Request-Id"))


# ---- Connections at once ----


def from_address(server, source):
    return socket.create_connection(server.address, timeout=SLOW, source_address=(source, 0))


def is_served(peer):
    try:
        peer.sendall(b"GET /open/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return peer.recv(12) == b"HTTP/1.1 200"
    except ConnectionError:
        return False


@pytest.mark.in_the_clear("connections are opened here")
def test_connections_of_an_address():
    server = numbered("guards", "--workers", "2", env={"GUARDS_CONNECTIONS": "3"})
    try:
        kept = [from_address(server, "127.0.0.2") for _ in range(3)]
        assert all(is_served(peer) for peer in kept)
        for _ in range(20):
            with from_address(server, "127.0.0.2") as more:
                assert not is_served(more)
        with from_address(server, "127.0.0.3") as other:
            assert is_served(other)
        kept.pop().close()

        def opens():
            peer = from_address(server, "127.0.0.2")
            served = is_served(peer)
            if served:
                kept.append(peer)
            else:
                peer.close()
            return served

        assert eventually(opens)
        for _ in range(30):  # each gives its place back, also one that says nothing
            with from_address(server, "127.0.0.4"):
                pass
        assert eventually(lambda: is_served(from_address(server, "127.0.0.4")))
        for peer in kept:
            peer.close()
    finally:
        server.stop()


# ---- Signed cookies ----


def plain(octets):
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def signed(name, content, expires, key=KEY):
    """As signature.h makes it, but by Python."""
    text = f"{plain(content)}.{int(expires)}"
    return f"{text}.{plain(hmac.new(key.encode(), f'{name}={text}'.encode(), hashlib.sha256).digest())}"


def cookie_of(answer, name):
    for line in answer.all("Set-Cookie"):
        found = re.match(rf"{name}=([^;]*)", line)
        if found:
            return found.group(1)
    return None


@pytest.mark.parametrize("value", ["a", "two words; and more, \"quoted\"", "\u00fc", "x" * 2048])
def test_a_signed_cookie_comes_back(guards, value):
    from urllib.parse import quote

    answer = guards.get("/cookie?set=" + quote(value))
    cookie = cookie_of(answer, "cart")
    seconds = int(cookie.split(".")[1])
    assert abs(seconds - time.time() - 500) < 60
    assert cookie == signed("cart", value.encode(), seconds)  # as others sign it
    assert "Max-Age=500" in answer.get("Set-Cookie")
    assert guards.get("/cookie", f"Cookie: cart={cookie}").content.decode() == value


def test_signed_cookies_that_are_none(guards):
    later, past = time.time() + 100, time.time() - 1
    good = signed("cart", b"mine", later)
    ask = lambda cookie, name="cart": guards.get("/cookie", f"Cookie: {name}={cookie}").content
    assert ask(good) == b"mine"
    assert ask(signed("cart", b"mine", later, PREVIOUS)) == b"mine"
    assert ask(signed("cart", b"", later)) == b""
    for i in range(len(good)):
        assert ask(good[:i] + ("A" if good[i] != "A" else "B") + good[i + 1:]) == b"none", i
        assert ask(good[:i]) == b"none", i
    for bad in (signed("cart", b"mine", past), signed("other", b"mine", later), signed("cart", b"mine", later, "x" * 40), good + "A",
                signed("cart", b"mine", later, ""), ".", "..", "...", "a.1.", f".{int(later)}.", good.replace(".", "..", 1), "A" * 4000):
        assert ask(bad) == b"none", bad
    never = f"{plain(b'mine')}."
    assert ask(never + "." + plain(hmac.new(KEY.encode(), f"cart={never}".encode(), hashlib.sha256).digest())) == b"none"


def test_what_cannot_be_signed(guards):
    assert guards.get("/cookie?set=" + "x" * 2049).status == 409
    answer = guards.get("/short-key?set=x")  # of 31 octets
    assert answer.status == 409 and answer.get("Set-Cookie") is None
    assert guards.get("/short-key", f"Cookie: cart={signed('cart', b'x', time.time() + 9, '0123456789012345678901234567890')}").content == b"none"


# ---- Sessions ----


@pytest.mark.parametrize("path", ["/session", "/session/blocking"])
def test_sessions_are_kept_by_clients(guards, path):
    assert guards.get(path).get("Set-Cookie") is None  # nothing is said to who has none
    first = guards.get(path + "?a=one&b=two&a=three")
    assert first.content == b"three|two" and first.get("Cache-Control") == "no-store"
    line = first.get("Set-Cookie")
    assert "HttpOnly" in line and "SameSite=Lax" in line and "Path=/" in line and "Max-Age=1000" in line
    assert ("Secure" in line) == bool(guards.tls)
    cookie = f"Cookie: session={cookie_of(first, 'session')}"
    later = guards.get(path, cookie)
    assert later.content == b"three|two" and later.get("Set-Cookie") is None
    fewer = guards.get(path + "?a=remove", cookie)
    assert guards.get(path, f"Cookie: session={cookie_of(fewer, 'session')}").content == b"|two"
    gone = guards.get(path + "?end", cookie)
    assert cookie_of(gone, "session") == "" and gone.content == b"|"
    assert guards.get(path, cookie.replace("session=", "session=A")).content == b"|"


def test_sessions_are_renewed(guards):
    ask = lambda cookie: guards.get("/session", f"Cookie: session={cookie}")
    pair, now = b"a\0one\0", time.time()
    assert ask(signed("session", pair, now + 800)).get("Set-Cookie") is None
    old = ask(signed("session", pair, now + 300))  # more than half of it has passed
    assert old.content == b"one|" and abs(int(cookie_of(old, "session").split(".")[1]) - now - 1000) < 60
    rotated = ask(signed("session", pair, now + 800, PREVIOUS))
    seconds = cookie_of(rotated, "session").split(".")[1]
    assert cookie_of(rotated, "session") == signed("session", pair, seconds)
    assert ask(signed("session", pair, now - 1)).content == b"|"
    for broken in (b"a", b"a\0one", b"a\0", b"", b"a\0one\0b\0"):  # signed, but for something else
        assert ask(signed("session", broken, now + 800)).content == b"|", broken


def test_a_session_has_room_for_so_much(guards):
    assert guards.get("/session?a=" + "x" * 2045).status == 200  # and "a", and two NULs
    assert guards.get("/session?a=" + "x" * 2046).status == 409
    assert guards.get("/session?=x").status == 409
