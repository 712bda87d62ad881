# SPDX-License-Identifier: MIT
"""skua -c FILE: what each directive does. Every directive of the program's table has a test here or in test_conf_tls.py."""

import contextlib
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess

import browser
import pytest
from clock import patiently
from prometheus_client.parser import text_string_to_metric_families
from conf import SKUA, basic, covered, get, logs_to, of, start, table, whole_lines, write_folder
from server import Server, eventually
from wire import Connection, posted, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("served"))


SITES = """
listen 127.0.0.1:PORT
listen unix:%s/socket
sandbox_paths .
access_log access.log json
workers 3
accept reuseport
http2_streams_max 7
trusted_proxies x-forwarded 127.0.0.0/8
defaults {
    index home.html
    cache no-cache
    limit_requests 1000000/s
}
include included/*.conf
site root.test {
    root pub
    index index.html
    path /other/ {
        root other
    }
}
site *.wild.test {
    root pub
}
site exact.wild.test {
    root other
}
site options.test {
    root pub
    listing on
    dotfiles on
    links none
    path /all/ {
        root pub
        links all
        listing off
    }
}
site fields.test {
    root pub
    compress
    security_headers
    cache immutable
    path /raw/ {
        root pub
        compress off
        security_headers off
        cache off
    }
    path /raw/hour/ {
        root pub
        cache 1h
        compress on
    }
}
site moves.test {
    root pub
    redirect /old /new
    redirect "/blog/{rest...}" "https://blog.test/x/{rest}" 301
    redirect "/a/{x}/{y}" "/b?y={y}&x={x}" 307
    redirect "/text/{x...}" "/{x}"
}
site canonical.test www.canonical.test {
    canonical http://canonical.test
    root pub
}
site limited.test {
    root pub
    limit_requests 1/h burst 3
    path /tight/ {
        root pub
        limit_requests 1/h
    }
}
site guarded.test {
    root pub
    basic_auth "Staff only" staff.users
    redirect /moved /elsewhere
    path /open/ {
        root pub
        basic_auth off
    }
    path /inner/ {
        root pub
        basic_auth Inner inner.users
    }
    path = /text.txt {
        cache 1h
    }
    path = /open/home.html {
        basic_auth Inner inner.users
    }
}
site shared.test {
    root pub
    basic_auth "Staff only" staff.users
    cors https://app.test https://other.test:8443
    path /all/ {
        root pub
        basic_auth off
        cors *
    }
    path /none/ {
        root pub
        basic_auth off
        cors off
    }
}
site doors.test {
    root pub
    deny 192.0.2.0/28 2001:db8::/33
    path /local/ {
        root pub
        allow 10.0.0.0/8 ::1 198.51.100.7 unix
        cache immutable
    }
    path /shut/ {
        deny all
        compress
    }
    path = /local/text.txt {
        limit_requests 1/h
    }
}
site methods.test {
    root pub
    method PUT DELETE {
        allow 10.0.0.0/8
    }
    method GET {
        basic_auth off
    }
    basic_auth "Staff only" staff.users
    path /inner/ {
        method PUT POST {
            basic_auth Inner inner.users
            limit_requests 1/h burst 3
        }
        method DELETE {
            deny 10.0.0.9
        }
        method TRACE {
            basic_auth off
        }
    }
    path /free/ {
        basic_auth off
        method PATCH {
            basic_auth Inner inner.users
        }
    }
}
"""

# anna: secret; bert: geheim. At the least cost, and the forms that htpasswd and others write.
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"
BERT = "bert:$2y$04$bbbbbbbbbbbbbbbbbbbbbOjBtehXAzPOjwxjK/HO1KpwUeovTTaRW\n"


@pytest.fixture(scope="module")
def sites(folder):
    (folder / "staff.users").write_text("# those of the staff\n\n" + ANNA + BERT)
    (folder / "inner.users").write_text(BERT)
    (folder / "included").mkdir()
    (folder / "included" / "site.conf").write_text("site included.test {\n root ../pub\n}\n")
    server = start(folder, SITES % folder)
    yield server
    server.stop()


@of("site", "listen", "root", "path")
def test_sites(sites, folder):
    assert get(sites, "root.test").content == b"<p>here</p>"
    assert get(sites, "ROOT.test:80").status == 200
    assert get(sites, "root.test", "/none").status == 404
    assert get(sites, "root.test", "/other/a.txt").content == b"other"
    assert get(sites, "root.test", "/other").get("location") == "/other/"
    assert get(sites, "x.wild.test", "/text.txt").status == 200
    assert get(sites, "exact.wild.test", "/a.txt").status == 200
    assert get(sites, "exact.wild.test", "/text.txt").status == 404
    for nobody in ("localhost", "127.0.0.1", "a.test", "wild.test"):
        assert get(sites, nobody).status == 421
    with Connection(str(folder / "socket")) as connection:
        assert connection.get("/", host="root.test").status == 200
        assert connection.get("/", host="nobody.test").status == 421


def test_included(sites):
    assert get(sites, "included.test").content == b"<p>home</p>"


@of("defaults", "index")
def test_defaults(sites):
    assert get(sites, "x.wild.test").content == b"<p>home</p>"  # of the defaults
    assert get(sites, "root.test").content == b"<p>here</p>"  # its own
    assert get(sites, "root.test").get("cache-control") == "no-cache"


@of("listing", "dotfiles", "links")
def test_how_roots_are_served(sites):
    assert get(sites, "options.test", "/empty/").status == 200
    assert get(sites, "options.test", "/all/empty/").status == 404
    assert get(sites, "root.test", "/empty/").status == 404
    assert get(sites, "options.test", "/.hidden").content == b"hidden"
    assert get(sites, "root.test", "/.hidden").status == 404
    assert get(sites, "root.test", "/link").status == 200
    assert get(sites, "root.test", "/out").status in (403, 404)
    assert get(sites, "options.test", "/link").status in (403, 404)
    assert get(sites, "options.test", "/all/out").content == b"outside"


@of("compress", "security_headers", "cache")
def test_fields(sites):
    coded = get(sites, "fields.test", "/text.txt", "Accept-Encoding: gzip")
    assert coded.get("content-encoding") == "gzip" and coded.get("x-frame-options") == "DENY"
    assert coded.get("cache-control") == "public, max-age=31536000, immutable"
    assert get(sites, "fields.test", "/none").get("cache-control") is None
    raw = get(sites, "fields.test", "/raw/text.txt", "Accept-Encoding: gzip")
    assert raw.get("content-encoding") is None and raw.get("cache-control") is None and raw.get("x-frame-options") is None
    hour = get(sites, "fields.test", "/raw/hour/text.txt", "Accept-Encoding: gzip")
    assert hour.get("content-encoding") == "gzip" and hour.get("cache-control") == "max-age=3600"
    assert hour.get("x-frame-options") is None  # of the path around it
    assert get(sites, "fields.test", "/rawhide").get("x-frame-options") == "DENY"  # is not below /raw/
    assert get(sites, "root.test", "/text.txt", "Accept-Encoding: gzip").get("content-encoding") == "gzip"


MOVES = [
    ("/old", 302, "/new"),
    ("/old?a=b", 302, "/new?a=b"),
    ("/blog/2026/05", 301, "https://blog.test/x/2026/05"),
    ("/blog/a%20b/%3f?q=%20", 301, "https://blog.test/x/a%20b/%3F?q=%20"),
    ("/blog//evil.test", 301, "https://blog.test/x/evil.test"),
    ("/a/1/%26z", 307, "/b?y=%26z&x=1"),
    ("/a/1/2?q", 307, "/b?y=2&x=1&q"),
    ("/text/a/b", 302, "/a/b"),
]


@of("redirect")
@pytest.mark.parametrize("path,status,location", MOVES)
def test_redirects(sites, path, status, location):
    response = get(sites, "moves.test", path)
    assert (response.status, response.get("location")) == (status, location)


def test_a_location_that_is_too_long(sites):
    assert get(sites, "moves.test", "/blog/" + "%7f" * 2600).status == 301
    assert get(sites, "moves.test", "/blog/" + "\xc3\xa9" * 2000).status == 414
    assert get(sites, "moves.test", "/old").status == 302


@of("canonical")
def test_canonical(sites):
    assert get(sites, "canonical.test", "/text.txt").status == 200
    assert get(sites, "Canonical.test:80", "/text.txt").status == 200
    moved = get(sites, "www.canonical.test", "/text.txt?a=%20b", method="POST")
    assert (moved.status, moved.get("location")) == (308, "http://canonical.test/text.txt?a=%20b")
    with sites.connect() as connection:
        connection.send(request("http://www.canonical.test?x", host="www.canonical.test"))
        assert connection.response().get("location") == "http://canonical.test/?x"


@of("limit_requests")
def test_limits_add_up(sites):
    peer = "X-Forwarded-For: 192.0.2.%d"
    assert [get(sites, "limited.test", "/", peer % 1).status for _ in range(5)] == [200, 200, 200, 429, 429]
    assert int(get(sites, "limited.test", "/", peer % 1).get("retry-after")) >= 1
    assert [get(sites, "limited.test", "/tight/", peer % 2).status for _ in range(2)] == [200, 429]
    assert [get(sites, "limited.test", "/", peer % 2).status for _ in range(2)] == [200, 429]  # the third is counted
    assert get(sites, "root.test", "/", peer % 1).status == 200


@of("access_log", "trusted_proxies")
def test_log(sites, folder):
    log, old = folder / "access.log", folder / "access.old"

    def has(file, path):
        return file.exists() and any(json.loads(line)["request"]["uri"] == path for line in whole_lines(file) if "request" in line)

    get(sites, "root.test", "/before", "X-Forwarded-For: 192.0.2.9")
    assert eventually(lambda: has(log, "/before"))
    assert '"client_ip":"192.0.2.9"' in log.read_text()
    log.rename(old)
    get(sites, "root.test", "/between")
    assert eventually(lambda: has(old, "/between"))
    sites.signal(signal.SIGUSR1)
    logs_to(sites, log)  # what is asked for before may still be in the old one
    get(sites, "root.test", "/behind")
    assert eventually(lambda: has(log, "/behind"))
    assert not has(old, "/behind") and sites.out_text() == ""


@of("allow", "deny")
def test_doors(sites, folder):
    def status(path, client):
        return get(sites, "doors.test", path, f'X-Forwarded-For: {client}').status

    assert [status("/", f"192.0.2.{n}") for n in (0, 15, 16)] == [403, 403, 200]
    assert [status("/", client) for client in ("2001:db8::1", "2001:db8:7fff::", "2001:db8:8000::", "::ffff:192.0.2.1")] == [403, 403, 200, 403]
    local = [("10.255.0.1", 200), ("11.0.0.1", 403), ("198.51.100.7", 200), ("198.51.100.6", 403), ("::1", 200), ("::2", 403),
             ("192.0.2.1", 403), ("_hidden", 403), ("unknown", 403)]
    assert [status("/local/", client) for client, _ in local] == [found for _, found in local]
    assert [status(path, "10.0.0.1") for path in ("/shut/", "/shut", "/shut/x", "/shutter")] == [403, 403, 403, 404]
    refused = get(sites, "doors.test", "/local/none", "X-Forwarded-For: 11.0.0.1")
    assert refused.status == 403 and refused.get("cache-control") is None
    with Connection(str(folder / "socket")) as connection:
        assert connection.get("/local/", host="doors.test").status == 200


# Ways to write a path that is below /local/, or seems to be elsewhere.
SLY = ["/%6cocal/text.txt", "//local//text.txt", "/x/../local/text.txt", "/x/%2e%2e/local/text.txt", "/local%2ftext.txt", "/./local/./text.txt",
       "/local/../local/text.txt", "/x%2f..%2flocal/text.txt", "/local/%2e/text.txt", "/local/;/../text.txt"]


@pytest.mark.parametrize("path", SLY)
def test_a_door_cannot_be_walked_around(sites, path):
    for client, allowed in (("11.0.0.1", False), ("10.0.0.3", True)):
        response = get(sites, "doors.test", path, f"X-Forwarded-For: {client}")
        assert response.status in (400, 403, 404) or (allowed and response.status in (200, 429))
    with sites.connect() as connection:
        connection.send(request("http://doors.test" + path, "X-Forwarded-For: 11.0.0.1", host="root.test"))
        assert connection.response().status in (400, 403, 404)


@pytest.mark.parametrize("path", ["/open/../text.txt", "/open/%2e%2e/text.txt", "/open%2f..%2ftext.txt", "/open//../text.txt", "/moved/../text.txt",
                                  "/openly/../text.txt", "//text.txt"])
def test_a_password_cannot_be_walked_around(sites, path):
    assert get(sites, "guarded.test", path).status in (400, 401, 404)


@of("method")
def test_methods(sites):
    def status(method, path, client, *lines):
        return get(sites, "methods.test", path, f"X-Forwarded-For: {client}", *lines, method=method).status

    anna, bert, inside, outside = basic("anna", "secret"), basic("bert", "geheim"), "10.0.0.1", "11.0.0.1"
    # a password is for all methods but GET, which has HEAD with it
    assert [status(method, "/text.txt", outside) for method in ("GET", "HEAD", "POST")] == [200, 200, 401]
    assert status("POST", "/text.txt", outside, anna) == 405
    # networks are for PUT and DELETE alone, and come before passwords
    assert [status(method, "/text.txt", outside, anna) for method in ("PUT", "DELETE")] == [403, 403]
    assert [status(method, "/text.txt", inside) for method in ("PUT", "DELETE")] == [401, 401]
    assert [status(method, "/text.txt", inside, anna) for method in ("PUT", "DELETE")] == [405, 405]
    # an inner block's rules are added to those of the outer ones
    assert status("PUT", "/inner/a", outside, bert) == 403
    assert [status("PUT", "/inner/a", "10.0.0.2", who) for who in (anna, bert, bert, bert)] == [401, 405, 405, 429]
    assert [status("POST", "/inner/a", "10.0.0.3", who) for who in (anna, bert, bert, bert)] == [401, 405, 405, 429]
    assert [status("POST", "/text.txt", "10.0.0.3", bert) for _ in range(5)] == [405] * 5
    assert [status("DELETE", "/inner/a", client, bert) for client in ("10.0.0.8", "10.0.0.9")] == [405, 403]
    assert [status("PUT", "/inner/a", client, bert) for client in ("10.0.0.9", inside)] == [405, 405]
    # and off takes passwords away for the methods of its block, or for all
    assert [status(method, "/inner/a", outside) for method in ("TRACE", "OPTIONS", "GET")] == [405, 401, 404]
    assert [status(method, "/free/a", outside) for method in ("POST", "PATCH", "GET")] == [405, 401, 404]
    assert status("PATCH", "/free/a", outside, bert) == 405
    assert status("put", "/text.txt", outside, anna) in (405, 501)  # methods are case-sensitive


@of("cors")
def test_cors(sites):
    def ask(path, origin, *lines, **options):
        response = get(sites, "shared.test", path, f"Origin: {origin}", *lines, **options)
        return response.status, response.get("access-control-allow-origin")

    wanted = "Access-Control-Request-Method: GET"
    assert ask("/", "https://app.test", wanted, method="OPTIONS") == (204, "https://app.test")  # without a password
    assert ask("/", "https://evil.test", wanted, method="OPTIONS") == (403, None)
    assert ask("/text.txt", "https://other.test:8443", basic("anna", "secret")) == (200, "https://other.test:8443")
    assert ask("/text.txt", "https://other.test", basic("anna", "secret")) == (200, None)
    assert ask("/text.txt", "https://app.test") == (401, "https://app.test")
    assert ask("/all/text.txt", "https://any.test") == (200, "*")
    assert ask("/none/text.txt", "https://app.test") == (200, None)
    assert "Origin" in get(sites, "shared.test", "/text.txt", basic("anna", "secret")).all("vary")


def test_exact_paths(sites):
    peer = "X-Forwarded-For: 10.0.0.2"
    assert [get(sites, "doors.test", "/local/text.txt", peer).status for _ in range(2)] == [200, 429]
    assert get(sites, "doors.test", "/local/home.html", peer).status == 200
    assert get(sites, "doors.test", "/local/text.txt/", peer).status == 404
    assert get(sites, "guarded.test", "/text.txt", basic("anna", "secret")).get("cache-control") == "max-age=3600"
    assert get(sites, "guarded.test", "/home.html", basic("anna", "secret")).get("cache-control") == "no-cache"
    assert get(sites, "guarded.test", "/open/home.html").status == 401
    assert get(sites, "guarded.test", "/open/home.html", basic("bert", "geheim")).status == 200


@of("basic_auth")
def test_passwords(sites):
    def status(path, *lines, client=1, **options):
        return get(sites, "guarded.test", path, f"X-Forwarded-For: 198.51.100.{client}", *lines, **options).status

    asked = get(sites, "guarded.test", "/text.txt")
    assert asked.status == 401 and asked.get("www-authenticate") == 'Basic realm="Staff only", charset="UTF-8"'
    assert asked.get("cache-control") == "no-store"
    for path in ("/", "/text.txt", "/none", "/openly"):
        assert status(path) == 401
    assert status("/text.txt", "Authorization: Basic !") == 401
    for _ in range(3):  # checked, and then known
        assert status("/text.txt", basic("anna", "secret")) == 200
        assert status("/text.txt", basic("bert", "geheim"), method="HEAD") == 200
    for name, password in (("anna", "geheim"), ("anna", ""), ("anna", "secret "), ("nobody", "secret"), ("", "")):
        assert status("/text.txt", basic(name, password)) == 401
    assert status("/open/text.txt") == 200 and status("/open") in (301, 302, 307, 308)
    assert status("/moved") == 302  # redirects come before passwords
    assert status("/inner/text.txt", basic("bert", "geheim")) == 200  # is in both
    inner = get(sites, "guarded.test", "/inner/text.txt", basic("anna", "secret"))
    assert inner.status == 401 and "Inner" in inner.get("www-authenticate")


def test_wrong_passwords_are_counted(sites):
    def status(*lines, client):
        return get(sites, "guarded.test", "/text.txt", f"X-Forwarded-For: 198.51.100.{client}", *lines).status

    clients = iter(range(10, 250))

    def guess(_):  # one more is allowed in six seconds
        client = next(clients)
        found = [status(basic("anna", str(i)), client=client) for i in range(12)]
        assert found == [401] * 10 + [429] * 2
        return client

    guesser = patiently(guess, 3)
    assert status(basic("anna", "secret"), client=guesser) in (200, 429)  # known ones need no hash
    assert status(basic("anna", "wrong"), client=3) == 401
    assert [status(basic("bert", "geheim"), client=4) for _ in range(20)] == [200] * 20  # right ones do not count
    told = lambda client: sites.error_text().count(f"wrong name or password from 198.51.100.{client}\n")
    assert eventually(lambda: told(3) == 1 and told(guesser) >= 10) and told(guesser) == 10


def test_users_are_read_again(folder, launch):
    users = folder / "changing.users"
    users.write_text(ANNA)
    server = launch(start, folder, 'listen 127.0.0.1:PORT\nsite * {\n basic_auth a changing.users\n root pub\n}\n', "users.conf")

    def status(name, password):
        return get(server, "a", "/text.txt", basic(name, password)).status

    assert status("anna", "secret") == 200
    users.write_text(BERT)
    assert eventually(lambda: status("anna", "secret") == 401)
    assert eventually(lambda: status("bert", "geheim") == 200)
    users.write_text("bert:plain\n")
    assert eventually(lambda: "stay as they were" in status_and_text(server))
    assert status("bert", "geheim") == 200


def status_and_text(server):
    """The errors that the server has told, after a request with a password that makes it look at the file."""
    get(server, "a", "/text.txt", basic("bert", "geheim"))
    return server.error_text()


def listeners(port):
    """Sockets that listen on a port of this machine."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(f"0100007F:{port:04X} 00000000:0000 0A" in line for line in lines)


def first_settings(address):
    """The first SETTINGS frame of HTTP/2 that the server sends; {} when it speaks HTTP/1."""
    with socket.create_connection(address, 10) as plain:
        plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        head = b""
        while len(head) < 9:
            head += plain.recv(9 - len(head)) or b"?" * 9
        if head[3] != 4:
            return {}
        octets, length = b"", int.from_bytes(head[:3], "big")
        while len(octets) < length:
            octets += plain.recv(length - len(octets))
        return dict(struct.unpack(">HI", octets[i:i + 6]) for i in range(0, length, 6))


@of("workers", "accept", "http2_streams_max")
def test_workers(sites):
    assert eventually(lambda: "with 3 workers" in sites.error_text())
    assert listeners(sites.port) == 1  # the supervisor's
    assert first_settings(sites.address)[3] == 7


LIMITS = """
listen 127.0.0.1:PORT
access_log stdout common
backend epoll
workers 1
accept handoff
grace 7s
h2c off
head_max 1KiB
target_max 100
fields_max 5
discard_max 10
strict_target on
keep_alive_field on
site * {
    root pub
}
"""


@pytest.fixture(scope="module")
def limits(folder):
    server = start(folder, LIMITS, "limits.conf")
    yield server
    server.stop()


@of("backend")
def test_backend(limits):
    assert eventually(lambda: "with 1 worker (epoll)" in limits.error_text())


@of("head_max", "target_max", "fields_max", "strict_target", "keep_alive_field", "discard_max", "h2c")
def test_limits_of_requests(limits):
    assert get(limits, "a").get("connection") == "keep-alive"
    assert get(limits, "a", "/", "A: " + "b" * 1100).status == 431
    assert get(limits, "a", "/" + "b" * 100).status == 414
    assert get(limits, "a", "/" + "b" * 99).status == 404
    assert get(limits, "a", "/", *["A: b"] * 4).status == 200
    assert get(limits, "a", "/", *["A: b"] * 5).status == 431
    assert get(limits, "a", "/|").status == 400
    for octets, closes in ((10, False), (11, True)):
        with limits.connect() as connection:
            connection.send(posted("/none", b"", host="a").replace(b"Length: 0", b"Length: %d" % octets))
            assert connection.response("POST").closes == closes
    assert first_settings(limits.address) == {}


DEADLINES = """
listen 127.0.0.1:PORT
head_timeout 3s
keep_alive_timeout 3s
stall_timeout 3s
site * {
    root pub
}
"""


@of("head_timeout", "keep_alive_timeout", "stall_timeout")
def test_deadlines(folder, launch):
    server = launch(start, folder, DEADLINES, "deadlines.conf")
    with server.connect(receive_buffer=4096) as deaf, server.connect() as late, server.connect() as idle:
        deaf.send(request("/big", host="a"))
        late.send(b"GET / HTTP/1.1\r\n")
        assert idle.get("/", host="a").status == 200
        assert late.response().status == 408
        assert idle.ended()
        assert eventually(lambda: " /big " in server.out_text())  # it has ended, and nothing was read
        with contextlib.suppress(ConnectionError):
            assert len(deaf.to_end()) < 40_000_000


@of("connections_max")
def test_connections(folder, launch):
    server = launch(start, folder, "connections_max 3" + LIMITS, "connections.conf")
    three = [server.connect() for _ in range(3)]
    for connection in three:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n")  # none of them is idle
    with server.connect() as fourth:
        assert fourth.ended()
    three[0].close()
    assert eventually(lambda: server_has_room(server))


def server_has_room(server):
    try:
        return get(server, "a").status == 200
    except (OSError, EOFError):
        return False


@of("grace")
def test_grace(folder, launch):
    server = launch(start, folder, LIMITS.replace("grace 7s", "grace 200ms"), "grace.conf")
    with server.connect(receive_buffer=4096) as deaf:
        deaf.send(request("/big", host="a"))
        assert deaf.head().status == 200
        server.signal()
        assert "for 0.2 s at most" in server.judge_end(within=9)  # by default it is ten


@of("rate_min", "rate_window")
def test_rates(folder, launch):
    server = launch(start, folder, "listen 127.0.0.1:PORT\nrate_min 1GiB\nrate_window 300ms\nsite * {\n root pub\n}\n", "rates.conf")
    with server.connect(receive_buffer=4096) as slow:
        slow.send(request("/big", host="a"))
        octets = 0
        with contextlib.suppress(ConnectionError):
            while taken := slow.socket.recv(4096):
                octets += len(taken)
                if eventually(lambda: " /big " in server.out_text(), within=0.05):
                    break
        assert octets < 40_000_000


@of("memory_max")
def test_memory(folder, launch):
    server = launch(start, folder, "listen 127.0.0.1:PORT\nmemory_max 1MiB\nhead_timeout 1h\nworkers 1\nsite * {\n root pub\n}\n", "memory.conf")
    held = [server.connect() for _ in range(100)]
    for connection in held:
        with contextlib.suppress(ConnectionError):
            connection.send(b"GET / HTTP/1.1\r\nA: " + b"b" * 15000)
    assert eventually(lambda: any(has_been_answered(connection) for connection in held))


def has_been_answered(connection):
    """Whether something has come, or the connection was ended."""
    connection.socket.settimeout(0.001)
    try:
        connection.socket.recv(1)
        return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True


# ---- Errors at the start ----


def test_an_address_in_use(folder, launch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (folder / "busy.conf").write_text(f"\nlisten 127.0.0.1:{port}\nsite * {{\n root pub\n}}\n")
        server = Server([SKUA, "-c", folder / "busy.conf"], ("127.0.0.1", port), wait=False)
        text = server.judge_end(1)
    assert text.endswith(f"busy.conf:2:8: 127.0.0.1:{port} is in use by another process\n")


def test_a_full_disk(folder, launch):
    """Lines that cannot be written are lost and counted, and requests go on."""
    (folder / "full.log").symlink_to("/dev/full")
    server = launch(start, folder, "listen 127.0.0.1:PORT\naccess_log full.log\nsite * {\n root pub\n}\n", "full.conf")
    assert [get(server, "a").status for _ in range(3)] == [200] * 3


# ---- The table ----


def test_every_directive_has_a_test():
    assert len(table()) > 30
    assert set(table()) - covered() == set(), "directives without an end-to-end test"
    assert covered() - set(table()) == set()


STATUS = """
listen 127.0.0.1:PORT
status 127.0.0.1:TLS_PORT
site a {
    root pub
}
"""


def beside(server, path, host="probe"):
    with Connection(server.secure) as connection:
        return connection.get(path, host=host)


@of("status")
def test_status(folder, launch):
    server = launch(start, folder, STATUS, "status.conf")
    assert eventually(lambda: f"http://127.0.0.1:{server.secure[1]}" in server.error_text())
    for host in ("localhost", "10.1.2.3:9100", "any.example"):
        assert beside(server, "/health", host).content == b"ok\n"
    assert beside(server, "/ready").content == b"ready\n"
    for status, path in ((200, "/text.txt"), (404, "/none")):
        assert get(server, "a", path).status == status
    assert get(server, "elsewhere", "/").status == 421
    assert eventually(lambda: (s := samples(server)) and s["4xx"] == 2 and s["2xx"] == 1), samples(server)
    assert beside(server, "/metrics").get("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    for host in ("localhost", "LOCALHOST:1", "10.1.2.3", "10.1.2.3:9100", "[::1]", "[2001:db8::1]:9100"):
        assert beside(server, "/", host).get("content-type") == "text/html; charset=utf-8"
    for host in ("any.example", "any.example:9100", "localhost.any.example", "127.0.0.1.any.example", "127.1", "1" * 70, ""):
        assert beside(server, "/", host).status == beside(server, "/live", host).status == 421  # by DNS rebinding
    assert beside(server, "/none").status == 404 and get(server, "a", "/metrics").status == 404
    with Connection(server.secure) as connection:
        connection.send(posted("/health", b""))
        assert connection.response("POST").status == 405


@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("width", [390, 1200])
def test_the_status_page(folder, launch, tmp_path, width):
    """It loads nothing from elsewhere, goes on by itself, fits, and finds nothing to complain of."""
    server = launch(start, folder, STATUS, "page.conf")
    with browser.page(tmp_path) as page:
        page.size(width, 900)
        page.open(f"http://127.0.0.1:{server.secure[1]}/")
        assert eventually(lambda: "version" in (page.ask("document.getElementById('state')?.textContent") or ""), within=60)
        assert get(server, "a", "/none").status == 404
        shown = "[...document.querySelectorAll('#responses dd')].map(e => e.textContent).join(' ')"
        assert eventually(lambda: page.ask(shown) == "0 0 0 0 1 0", within=60)
        assert eventually(lambda: page.ask("document.querySelector('#rps small + b + small').textContent").startswith("peak "))
        assert eventually(lambda: page.ask("document.getElementById('missed').textContent") == "a/none1")
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert page.ask("performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin))")
        assert page.complaints == []


def live(server):
    """The first event of the page."""
    with Connection(server.secure) as connection:
        connection.send(request("/live", host="127.0.0.1"))
        connection.head()
        octets = b""
        while not (found := re.search(rb"data: (.*)\n", octets)):
            octets += connection.exactly(int(connection.line(), 16))
            connection.exactly(2)
        return json.loads(found[1])


def test_what_the_status_page_lists(folder, launch):
    """Paths without their queries, by what they cost; a hostile name is a text of JSON, and no markup."""
    text = STATUS.replace("root pub", "root pub\n    limit_requests 1/h burst 3")
    server = launch(start, folder, "workers 2\n" + text, "tops.conf")
    for path in ("/text.txt?token=secret", "/text.txt", "/%3Cscript%3E%22%5C%ff%01", "/none"):
        get(server, "a", path)
    missed, limited = ['a/<script>"\\%FF%01', 1], ["127.0.0.1", 1]
    told = eventually(lambda: (tops := (s := live(server))["tops"]) and len(tops["asked"]) == 3 and ["a/text.txt", 2] in tops["asked"]
                      and missed in tops["missed"] and limited in tops["limited"] and s)
    assert told, live(server)
    assert told["tops"]["asked"][0] == ["a/text.txt", 2]
    assert told["tops"]["missed"] == [missed] and told["tops"]["limited"] == [limited]
    assert told["tops"]["big"][0] == ["a/text.txt", len((folder / "pub" / "text.txt").read_bytes())]
    assert {name for name, ns in told["tops"]["slow"]} == {name for name, count in told["tops"]["asked"]}
    assert told["certificates"] == []
    assert eventually(lambda: "\nskua_requests_limited_total 1\n" in beside(server, "/metrics").content.decode())


def samples(server):
    """How many responses of each class there were."""
    families = text_string_to_metric_families(beside(server, "/metrics").content.decode())
    found = {s.labels["status"]: s.value for f in families for s in f.samples if s.name.endswith("duration_seconds_count")}
    assert set(found) == {"none", "1xx", "2xx", "3xx", "4xx", "5xx"}
    return found


def test_status_says_no_while_it_stops(folder, launch):
    server = launch(start, folder, STATUS, "stopping.conf")
    with server.connect(receive_buffer=4096) as slow:
        slow.send(request("/big", host="a"))
        slow.exactly(1000)
        server.signal(signal.SIGTERM)
        assert eventually(lambda: beside(server, "/ready").status == 503)
        assert beside(server, "/ready").content == b"stopping\n" and beside(server, "/health").status == 200
        assert not slow.ended(0.1)
    server.judge_end()


def test_status_answers_when_the_server_is_full(folder, launch):
    server = launch(start, folder, "workers 1\nconnections_max 1\n" + STATUS, "full.conf")
    with server.connect() as only:
        only.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        assert eventually(lambda: not server_has_room(server))
        assert beside(server, "/ready").status == 200


def test_a_status_address_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = folder / "taken.conf"
        file.write_text(f"listen 127.0.0.1:0\nstatus 127.0.0.1:{port}\nsite a {{\n root pub\n}}\n")
        run = subprocess.run([SKUA, "-c", file], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and f"taken.conf:2:8: 127.0.0.1:{port}" in run.stderr
