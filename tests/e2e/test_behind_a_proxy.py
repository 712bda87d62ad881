# SPDX-License-Identifier: MIT
"""The program behind a real nginx and a real HAProxy, both started here on loopback: whom its log names."""

import json
import shutil

import pytest
from ports import free_port
from server import Server, eventually, program

pytestmark = [
    pytest.mark.in_the_clear("the proxies speak HTTP/1.1 to it"),
    pytest.mark.test_all,
]

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{to};
            proxy_bind 127.0.0.9;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""

HAPROXY = """
defaults
    mode http
    timeout connect 10s
    timeout client 10s
    timeout server 10s
frontend front
    bind 127.0.0.1:{port}
    http-request add-header Forwarded "for=%[src];proto=https"
    default_backend back
backend back
    source 127.0.0.9
    server skua 127.0.0.1:{to}
"""


@pytest.fixture
def site(launch, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<p>here</p>")

    def start(*words):
        return launch(program, tmp_path / "site", "--log", "json", "--trusted", "127.0.0.9", *words)

    return start


@pytest.fixture
def proxy(tmp_path):
    started = []

    def start(name, options, text, to):
        if not (found := shutil.which(name) or shutil.which(name, path="/usr/sbin")):
            pytest.skip(f"there is no {name} here")
        port = free_port()
        config = tmp_path / f"{name}.conf"
        config.write_text(text.format(folder=tmp_path, port=port, to=to))
        started.append(Server([found, *options, config], ("127.0.0.1", port)))
        return started[-1]

    yield start
    for front in started:
        front.process.terminate()
        front.process.wait()


def peers(site, count):
    lines = lambda: [json.loads(line)["request"]["client_ip"] for line in site.out_text().splitlines()]
    assert eventually(lambda: len(lines()) >= count), site.error_text()
    return lines()


# The proxies connect from 127.0.0.9, and their clients from 127.0.0.1, which is not trusted.
def test_nginx(site, proxy):
    served = site("--forwarded", "x-forwarded")
    front = proxy("nginx", ["-c"], NGINX, served.port)
    assert front.get("/").content == b"<p>here</p>"
    assert front.get("/", "X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.2").status == 200
    assert served.get("/", "X-Forwarded-For: 192.0.2.1").status == 200
    assert peers(served, 3) == ["127.0.0.1"] * 3


def test_haproxy(site, proxy):
    served = site("--forwarded", "forwarded")
    front = proxy("haproxy", ["-f"], HAPROXY, served.port)
    assert front.get("/").content == b"<p>here</p>"
    assert front.get("/", "X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.2").status == 200
    assert peers(served, 2) == ["127.0.0.1"] * 2


# In the mode of TCP, so that nothing but the header tells of the client.
HAPROXY_TCP = """
defaults
    mode tcp
    timeout connect 10s
    timeout client 10s
    timeout server 10s
listen front
    bind 127.0.0.1:{{port}}
    source 127.0.0.9
    server skua 127.0.0.1:{{to}} {how}
"""


@pytest.mark.parametrize("how", ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options unique-id,crc32c"])
def test_haproxy_by_the_proxy_protocol(site, proxy, how):
    served = site("--forwarded", "proxy")
    front = proxy("haproxy", ["-f"], HAPROXY_TCP.format(how=how), served.port)
    assert front.get("/", "X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.2").content == b"<p>here</p>"
    assert peers(served, 1) == ["127.0.0.1"]
    assert served.turns_away()
