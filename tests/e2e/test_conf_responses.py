# SPDX-License-Identifier: MIT
"""skua -c FILE: fields of responses, pages for errors, closing a site, limits of one client, and what the log has."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest
from conf import SKUA, basic, get, logs_to, of, process_of, start, whole_lines, write_folder
from server import ROOT, SLOW, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

SITES = """
listen 127.0.0.1:PORT
access_log log/access.log combined
trusted_proxies x-forwarded 127.0.0.0/8
log_masks session
defaults {
    header X-Served-By skua
}
site fields.test {
    root pub
    security_headers
    header X-Robots-Tag "noindex, nofollow"
    header Content-Security-Policy "default-src 'none'"
    path /other/ {
        root other
        header x-served-by off
        header X-Robots-Tag all
    }
}
site pages.test {
    root pub
    error_page 403 404 pages/sorry.html
    error_page 503 pages/later.txt
    redirect /old /new
    path /api/ {
        deny all
        error_page 403 pages/no.json
    }
}
site closing.test {
    root pub
    maintenance closed
    error_page 503 pages/later.txt
}
site quiet.test {
    root pub
    log off
    path /errors/ {
        root other
        log errors
    }
    path /loud/ {
        root other
        log on
    }
}
site few.test {
    root pub
    limit_connections 2
}
site narrow.test {
    root pub
    limit_bandwidth 100KiB/s
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("served"))
    (folder / "pages").mkdir()
    (folder / "log").mkdir()
    (folder / "pages/sorry.html").write_text("<p>sorry</p>")
    (folder / "pages/later.txt").write_text("later")
    (folder / "pages/no.json").write_text('{"error":"no"}')
    return folder


@pytest.fixture(scope="module")
def sites(folder):
    server = start(folder, SITES)
    yield server
    server.stop()


@of("header")
def test_fields(sites):
    outer = get(sites, "fields.test")
    assert outer.get("x-served-by") == "skua" and outer.get("x-robots-tag") == "noindex, nofollow"
    assert outer.get("content-security-policy") == "default-src 'none'"  # and not that of security_headers
    inner = get(sites, "fields.test", "/other/a.txt")
    assert inner.get("x-served-by") is None and inner.get("x-robots-tag") == "all"
    assert get(sites, "fields.test", "/missing").get("x-served-by") == "skua"


@of("error_page")
def test_pages_for_errors(sites):
    missing = get(sites, "pages.test", "/missing")
    assert (missing.status, missing.content, missing.get("content-type")) == (404, b"<p>sorry</p>", "text/html; charset=utf-8")
    assert get(sites, "pages.test", "/missing", method="HEAD").get("content-length") == "12"
    refused = get(sites, "pages.test", "/api/x")
    assert (refused.status, refused.content, refused.get("content-type")) == (403, b'{"error":"no"}', "application/json")
    wrong = get(sites, "pages.test", "/", method="POST")
    assert wrong.status == 405 and wrong.get("allow") and b"sorry" not in wrong.content


@of("maintenance")
def test_a_site_is_closed_by_a_file(sites, folder):
    status = lambda: get(sites, "closing.test").status
    assert status() == 200
    (folder / "closed").touch()
    assert eventually(lambda: status() == 503)
    closed = get(sites, "closing.test", "/text.txt")
    assert closed.content == b"later" and closed.get("retry-after") == "60"
    assert get(sites, "pages.test").status == 200
    (folder / "closed").unlink()
    assert eventually(lambda: status() == 200)
    assert eventually(lambda: "site closing.test is open again: " in sites.error_text())
    assert "site closing.test is closed: " in sites.error_text()


@of("limit_connections")
def test_requests_under_way(sites):
    # the file is more than the kernel takes for a client that reads nothing
    readers = [Connection(sites.address, receive_buffer=4096) for _ in range(2)]
    for reader in readers:
        reader.send(request("/big", host="few.test"))
        assert reader.head().status == 200
    assert get(sites, "few.test").status == 429
    assert get(sites, "few.test", "/", "X-Forwarded-For: 192.0.2.1").status == 200
    readers[0].close()
    assert eventually(lambda: get(sites, "few.test").status == 200)
    readers[1].close()


CROWDED = """
listen 127.0.0.1:PORT
workers 2
client_connections_max 3
%s
site * {
    root pub
}
"""


def from_address(server, address, before=b""):
    """A connection from an address of this machine, or one that a proxy names before all else."""
    connection = socket.create_connection(server.address, source_address=(address, 0), timeout=SLOW)
    connection.sendall(before)
    return connection


def answered(connection):
    """The status of a request on it; None: it has been closed."""
    try:
        connection.sendall(request("/text.txt", method="HEAD"))
        return int(connection.recv(1000).split()[1])
    except (ConnectionError, IndexError):
        return None


def crowd(server, address, before=b"", count=3):
    """As many as there may be, idle, over both workers; the next ones are closed."""
    idle = [from_address(server, address, before) for _ in range(count)]
    assert [answered(one) for one in idle] == count * [200]
    for _ in range(4):
        with from_address(server, address, before) as more:
            assert answered(more) is None
    return idle


@of("client_connections_max")
def test_connections_of_a_client(folder, launch):
    server = launch(start, folder, CROWDED % "trusted_proxies x-forwarded 127.0.0.9", "crowded.conf", wait=False)
    assert eventually(lambda: " serves " in server.error_text())
    idle = crowd(server, "127.0.0.2")
    others = crowd(server, "127.0.0.3")
    idle.pop().close()
    assert eventually(lambda: answered(from_address(server, "127.0.0.2")) == 200)
    proxies = [from_address(server, "127.0.0.9") for _ in range(20)]
    assert [answered(one) for one in proxies] == 20 * [200]
    for one in idle + others + proxies:
        one.close()
    assert eventually(lambda: [answered(from_address(server, "127.0.0.2")) for _ in range(3)] == 3 * [200])


def test_a_reload_changes_how_many_connections_a_client_may_have(folder, launch):
    """Up, down, off and on again; who has more than there may be now keeps them, and gets no other one."""
    server = launch(start, folder, CROWDED % "", "bounded.conf", wait=False)
    assert eventually(lambda: " serves " in server.error_text())
    file, text = folder / "bounded.conf", (folder / "bounded.conf").read_text()

    def bound(most):
        line = f"client_connections_max {most}\n" if most else ""
        file.write_text(text.replace("client_connections_max 3\n", line))
        done = subprocess.run([SKUA, "reload", "-c", file], capture_output=True, text=True, timeout=60, check=True)
        assert "next start" not in server.error_text() + done.stderr

    idle = crowd(server, "127.0.0.4")
    bound(5)
    idle += crowd(server, "127.0.0.4", count=2)
    bound(1)
    assert [answered(one) for one in idle] == 5 * [200]
    crowd(server, "127.0.0.4", count=0)
    crowd(server, "127.0.0.5", count=1).pop().close()
    bound(0)
    idle += [from_address(server, "127.0.0.4") for _ in range(10)]
    assert [answered(one) for one in idle] == 15 * [200]
    bound(6)
    idle += crowd(server, "127.0.0.4", count=1)  # five have been counted
    for one in idle:
        one.close()
    assert eventually(lambda: [answered(from_address(server, "127.0.0.4")) for _ in range(6)] == 6 * [200])


def test_connections_of_a_client_that_a_proxy_names(folder, launch):
    """IPv6 by its network of 64 bits; a proxy that names nobody speaks for itself."""
    server = launch(start, folder, CROWDED % "trusted_proxies proxy 127.0.0.0/8", "named.conf", wait=False)
    assert eventually(lambda: " serves " in server.error_text())
    line = lambda family, client: f"PROXY {family} {client} {client} 1 80\r\n".encode()
    kept = crowd(server, "127.0.0.1", line("TCP4", "192.0.2.1"))
    kept += crowd(server, "127.0.0.1", line("TCP6", "2001:db8::1"))
    with from_address(server, "127.0.0.1", line("TCP6", "2001:db8::ffff:2")) as same:
        assert answered(same) is None
    kept += crowd(server, "127.0.0.1", line("TCP6", "2001:db8:0:1::1"))
    unknown = [from_address(server, "127.0.0.1", b"PROXY UNKNOWN\r\n") for _ in range(8)]
    assert [answered(one) for one in unknown] == 8 * [200]
    [one.close() for one in kept + unknown]


FLOODED = """
listen 127.0.0.1:PORT
workers 2
trusted_proxies %s
site * {
    root pub
    limit_requests 3/h burst 3
}
"""
FLOOD = 4 * 512 * 8  # four times as many keys as the table has places


def statuses(server, asked, before=b"", address="127.0.0.9"):
    """Of one request for each item of asked, lines of it, on one connection."""
    with from_address(server, address, before) as connection:
        stream = connection.makefile("rb")
        found = []
        for at in range(0, len(asked), 100):
            piece = asked[at:at + 100]
            connection.sendall(b"".join(request("/", *lines, method="HEAD") for lines in piece))
            for _ in piece:
                found.append(int(stream.readline().split()[1]))
                while stream.readline() != b"\r\n":
                    pass
        return found


def from_forwarded(server, clients):
    return statuses(server, [[f"X-Forwarded-For: {client}"] for client in clients])


def from_themselves(server, clients):
    return [statuses(server, [[]], address=client)[0] for client in clients]


def from_proxies(server, clients):
    family = lambda client: "TCP6" if ":" in client else "TCP4"
    return [statuses(server, [[]], f"PROXY {family(client)} {client} {client} 1 80\r\n".encode())[0] for client in clients]


IP4 = lambda i: f"127.{1 + (i >> 16)}.{i >> 8 & 255}.{1 + i % 250}"
IP6 = lambda i: f"2001:db8:{i >> 8:x}:{i & 255:x}::1"


@of("limit_requests")
@pytest.mark.parametrize("trusted, ask, key, blocked, same, count", [
    ("x-forwarded 127.0.0.9", from_forwarded, IP6, "2001:db8:ffff::1", "2001:db8:ffff:0:1::2", FLOOD),
    ("x-forwarded 127.0.0.9", from_forwarded, lambda i: IP4(i).replace("127", "10", 1), "192.0.2.1", "192.0.2.1", FLOOD),
    ("x-forwarded 127.0.0.9", from_themselves, IP4, "127.200.0.1", "127.200.0.1", 3000),
    ("proxy 127.0.0.0/8", from_proxies, IP6, "2001:db8:ffff::1", "2001:db8:ffff::ffff", 3000),
])
def test_a_flood_of_clients_frees_nobody(folder, launch, trusted, ask, key, blocked, same, count):
    """Who is blocked stays so, while more clients than the table has places for ask once each; it does not grow, and who comes then is served."""
    server = launch(start, folder, FLOODED % trusted, "flooded.conf", wait=False)
    assert eventually(lambda: " serves " in server.error_text())
    assert ask(server, 4 * [blocked]) == [200, 200, 200, 429]
    process = process_of(server)
    resident = lambda: int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process}/status").read_text()).group(1))
    served = ask(server, [key(i) for i in range(500)])
    before = resident()
    for first in range(500, count, 500):
        served += ask(server, [key(i) for i in range(first, first + 500)])
        assert ask(server, [blocked, same]) == [429, 429], first
    assert served.count(200) == len(served)
    assert resident() - before < 4096  # KiB
    assert ask(server, [key(count + 1000)]) == [200]


@of("limit_bandwidth")
def test_octets_per_second(sites):
    client = "X-Forwarded-For: 192.0.2.7"
    assert get(sites, "narrow.test", "/big", client, method="HEAD").status == 200
    with sites.connect() as connection:
        assert len(connection.get("/big", client, host="narrow.test").content) == 40_000_000
    owed = get(sites, "narrow.test", "/", client)
    assert owed.status == 429 and int(owed.get("retry-after")) > 60
    assert get(sites, "narrow.test", "/", "X-Forwarded-For: 192.0.2.8").status == 200


# ---- The log ----

COMBINED = re.compile(r'(\S+) - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "(\S+) (\S+) HTTP/1\.1" (\d{3}) (\d+|-) "(.*?)" "(.*?)"$')


def lines(folder, name="log/access.log"):
    return whole_lines(folder / name)


@of("log")
def test_some_are_not_logged(sites, folder):
    for path in ("/?quiet", "/errors/a.txt", "/errors/nothing", "/loud/a.txt", "/nothing"):
        get(sites, "quiet.test", path)
    get(sites, "pages.test", "/?behind")
    found = lambda: {match.group(3) for match in map(COMBINED.match, lines(folder)) if match}
    assert eventually(lambda: {"/?behind", "/errors/nothing", "/loud/a.txt"} <= found())
    assert not {"/?quiet", "/errors/a.txt", "/nothing"} & found()


NAMED = """
listen 127.0.0.1:PORT
trusted_proxies x-forwarded 127.0.0.9
access_log log/named.log json
site * {
    root pub
    request_id
    redirect /old /new
    header X-Other 1
    path /shut/ {
        deny all
    }
    path /plain/ {
        request_id off
    }
}
"""


@of("request_id")
def test_requests_have_an_id(folder, launch):
    """In the response and in the log, whatever the status; that of a proxy that is trusted, and of nobody else."""
    server = launch(start, folder, NAMED, "named-requests.conf")
    ids = {}
    for path, status in (("/text.txt", 200), ("/none", 404), ("/old", 302), ("/shut/a", 403), ("/big", 200)):
        response = server.get(path, "X-Request-Id: mine", "traceparent: 00-" + 32 * "a" + "-" + 16 * "b" + "-01", method="HEAD")
        assert response.status == status and re.fullmatch("[0-9a-f]{32}", response.get("x-request-id")), path
        ids[path] = response.get("x-request-id")
    assert len(set(ids.values())) == len(ids) and 32 * "a" not in ids.values()
    assert server.get("/plain/none").get("x-request-id") is None
    with from_address(server, "127.0.0.9") as proxy:
        proxy.sendall(request("/text.txt?proxied", "X-Request-Id: proxy-1"))
        assert b"X-Request-Id: proxy-1\r\n" in proxy.recv(20_000)
    logged = lambda: {line["request"]["uri"]: line.get("request_id") for line in map(json.loads, lines(folder, "log/named.log"))}
    assert eventually(lambda: logged() == ids | {"/plain/none": None, "/text.txt?proxied": "proxy-1"}), logged()
    told = subprocess.run([SKUA, "explain", "http://a/text.txt", "-c", folder / "named-requests.conf"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"X-Request-Id.*named-requests\.conf:7\n", told), told


@of("log_masks")
def test_values_are_masked(sites, folder):
    get(sites, "pages.test", "/?session=geheim&token=shown&masked", "Referer: http://a/?session=geheim", "User-Agent: a \"b\"")
    assert eventually(lambda: any("masked" in line for line in lines(folder)))
    line = next(line for line in lines(folder) if "masked" in line)
    match = COMBINED.match(line)
    assert match.group(3) == "/?session=REDACTED&token=shown&masked" and match.group(6) == "http://a/?session=REDACTED"
    assert match.group(7) == 'a \\"b\\"' and "geheim" not in "\n".join(lines(folder))


@of("access_log")
def test_the_log_of_the_system(folder, launch):
    path = str(folder / "syslog")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(path)
        system.settimeout(SLOW)
        server = launch(start, folder, f"listen 127.0.0.1:PORT\naccess_log syslog:{path} json\nsite * {{\n root pub\n}}\n", "syslog.conf")
        get(server, "a.test", "/text.txt?token=geheim")
        line = system.recv(65536).decode()
        while "text.txt" not in line:
            line = system.recv(65536).decode()
        match = re.fullmatch(r"<30>\w{3} [ \d]\d \d\d:\d\d:\d\d skua\[(\d+)\]: (\{.*\})", line)
        assert match and int(match.group(1)) == process_of(server)
        assert json.loads(match.group(2))["request"]["uri"] == "/text.txt?token=REDACTED"
    os.unlink(path)  # nobody takes it now; the server goes on, and says so
    get(server, "a.test", "/text.txt")
    assert eventually(lambda: "the system's log cannot be reached at " in server.error_text())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(path)
        assert eventually(lambda: get(server, "a.test").status == 200 and " of the log were lost" in server.error_text(), every=0.3)


READERS = {"combined": "COMBINED", "json": "CADDY"}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.skipif(not shutil.which("goaccess"), reason="goaccess is not there")
def test_goaccess_reads_it(folder, launch, name):
    server = launch(start, folder, f"listen 127.0.0.1:PORT\naccess_log log/{name}.log {name}\nsite * {{\n root pub\n}}\n", f"{name}.conf")
    paths = ["/", "/text.txt", "/missing", "/?a=b c".replace(" ", "%20")]
    for path in paths:
        get(server, "a.test", path, "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Referer: http://b.test/")
    assert eventually(lambda: len(lines(folder, f"log/{name}.log")) >= len(paths))
    report = folder / f"{name}.report.json"
    subprocess.run(["goaccess", folder / f"log/{name}.log", f"--log-format={READERS[name]}", "-o", report, "--no-global-config"],
                   check=True, capture_output=True, timeout=60)
    found = json.loads(report.read_text())["general"]
    assert found["total_requests"] == len(paths) and found["failed_requests"] == 0 and found["valid_requests"] == len(paths)


# ---- What is shipped for those who operate it ----

LINES = """2026-11-24 02:00:00 skua: wrong name or password from 192.0.2.1
Nov 24 02:00:00 host skua[12]: skua: wrong name or password from 192.0.2.2
{"level":"info","ts":1795485600.123456,"logger":"skua","msg":"wrong name or password from 2001:db8::1"}
skua: wrong name or password from 192.0.2.66 and more
12:04:09 401 GET /?skua:%20wrong%20name%20or%20password%20from%20192.0.2.67 - 0.2 ms 127.0.0.1
"""


FAIL2BAN = ROOT / "build/site/fail2ban"
LOGROTATE = shutil.which("logrotate", path=os.environ["PATH"] + ":/usr/sbin")


@pytest.mark.skipif(not FAIL2BAN.is_dir(), reason="fail2ban is not there")
def test_fail2ban_finds_those_who_guess(folder, launch):
    (folder / "staff.users").write_text("anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n")
    (folder / "api.tokens").write_text("ci:" + "0" * 64 + "\n")
    guarded = ("listen 127.0.0.1:PORT\ntrusted_proxies x-forwarded 127.0.0.1\nsite * {\n root pub\n basic_auth Staff staff.users\n}\n"
               "site api.test {\n root pub\n bearer_auth API api.tokens\n}\n")
    server = launch(start, folder, guarded, "guarded.conf")
    assert get(server, "a.test", "/", basic("anna", "wrong"), "X-Forwarded-For: 192.0.2.9").status == 401
    assert eventually(lambda: "from 192.0.2.9\n" in server.error_text())
    assert get(server, "api.test", "/", "Authorization: Bearer wrong", "X-Forwarded-For: 192.0.2.10").status == 401
    assert eventually(lambda: "from 192.0.2.10\n" in server.error_text())
    (folder / "errors.log").write_text(LINES + server.error_text())
    words = ["/usr/bin/python3", FAIL2BAN / "usr/bin/fail2ban-regex", "--config", FAIL2BAN / "etc/fail2ban", folder / "errors.log", ROOT / "packaging/fail2ban/skua.conf", "--print-all-matched"]
    python = {**os.environ, "PYTHONPATH": FAIL2BAN / "usr/lib/python3/dist-packages"}
    found = subprocess.run(words, env=python, capture_output=True, text=True, timeout=60).stdout
    matched = found[found.index("Matched line"):found.index("Missed line")]
    assert re.findall(r"from ([\w.:]+?)\W*$", matched, re.M)[:5] == ["192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.9", "192.0.2.10"]
    assert "192.0.2.6" not in matched


@pytest.mark.skipif(not LOGROTATE, reason="logrotate is not there")
def test_logrotate_loses_no_line(folder, launch):
    logs = folder / "rotated"
    logs.mkdir(mode=0o755)
    server = launch(start, folder, "listen 127.0.0.1:PORT\naccess_log rotated/access.log json\nsite * {\n root pub\n}\n", "rotated.conf")
    rules = (ROOT / "packaging/logrotate/skua").read_text()
    rules = rules.replace("/var/log/skua", str(logs)).replace(
        "systemctl kill --signal=USR1 --kill-whom=main skua.service", f"kill -USR1 {server.pid}")
    assert str(server.pid) in rules and str(logs) in rules
    (folder / "rules").write_text(rules)
    os.chmod(folder / "rules", 0o644)
    found = lambda: {json.loads(line)["request"]["uri"] for file in logs.iterdir() for line in whole_lines(file) if "uri" in line}
    for i in range(30):
        get(server, "a.test", f"/?{i}")
        if i == 10:
            assert eventually(lambda: len(found()) == 11)  # an empty file would stay
            subprocess.run([LOGROTATE, "--force", "--state", folder / "rotation", folder / "rules"], check=True, timeout=60)
        if i == 20:
            logs_to(server, logs / "access.log")
    assert eventually(lambda: len(found()) == 30), sorted(found())
    assert (logs / "access.log").read_text() and (logs / "access.log.1").read_text()
