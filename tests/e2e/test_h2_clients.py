# SPDX-License-Identifier: MIT
"""Clients of HTTP/2 that others wrote, doing the usual; and h2spec, which is one that does the unusual."""

import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.parse
import xml.etree.ElementTree

import golang
import h2.config
import h2.connection
import h2.events
import httpx
import pytest
import tls
from ports import free_port
from server import BUILD, ROOT, Server, eventually, numbered, secure

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("its clients speak HTTP/2 by themselves")]

H2SPEC = shutil.which("h2spec", path=f"{ROOT / 'build/go'}{os.pathsep}{os.environ['PATH']}")
LARGE = os.urandom(2_000_000)


@pytest.fixture(scope="module", params=["h2c", "h2"])
def over(request):
    return numbered if request.param == "h2c" else secure


@pytest.fixture(scope="module")
def rules(over):
    server = over("rules")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def echo(over):
    server = over("echo")
    yield server
    server.stop()


def run(*words, data=None, env=None, within=60):
    done = subprocess.run([str(w) for w in words], input=data, capture_output=True, timeout=within, check=False,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout


# ---- curl ----


def curl(server, path, *words, data=None):
    how = ["--http2", "--cacert", tls.certificate().cert] if server.tls else ["--http2-prior-knowledge"]
    return run("curl", "-sS", "--max-time", "50", *how, *words, server.url + path, data=data)


def test_curl(rules, echo):
    assert curl(rules, "/pull/300000") == b"x" * 300_000
    assert curl(rules, "/", "-o", "/dev/null", "-w", "%{http_version} %{http_code}") == b"2 200"
    assert curl(rules, "/chunked/100", "-i").endswith(b"x" * 100 + b"x-sum: abc\r\n")
    assert curl(echo, "/", "--data-binary", "@-", data=LARGE) == LARGE
    assert curl(echo, "/", "-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked", "-T", "-", data=LARGE) == LARGE


def test_curl_in_parallel(rules):
    if not rules.tls:
        pytest.skip("curl 7.88 fails so in the clear, with nghttpd too")
    words = [w for i in range(50) for w in ("-o", "/dev/null", f"{rules.url}/pull/{i * 1000}")]
    said = curl(rules, "/pull/1", "--parallel", "--parallel-max", "50", "-o", "/dev/null", *words,
                "-w", "%{http_version} %{http_code} %{size_download} %{num_connects}\n").split(b"\n")
    transfers = [tuple(map(int, line.split())) for line in said if line]
    assert sorted(transfer[:3] for transfer in transfers) == sorted([(2, 200, 1), *((2, 200, i * 1000) for i in range(50))])
    assert sum(transfer[3] for transfer in transfers) == 1  # connection


# ---- nghttp2 ----


@pytest.mark.skipif(not shutil.which("nghttp"), reason="nghttp is not installed")
def test_nghttp(rules):
    said = run("nghttp", "--no-verify-peer", "-v", "-w", 14, rules.url + "/pull/100000", rules.url + "/chunked/50000").decode()
    assert said.count(":status: 200") == 2 and "x-sum: abc" in said
    assert "GOAWAY" not in said.replace("send GOAWAY", "") and "RST_STREAM" not in said


@pytest.mark.skipif(not shutil.which("h2load"), reason="h2load is not installed")
@pytest.mark.parametrize("path, count", [("/", 5000), ("/pull/20000", 500), ("/chunked/100000", 100)])
def test_h2load(rules, path, count):
    said = run("h2load", "-n", count, "-c", 10, "-m", 32, rules.url + path).decode()
    assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in said, said


# ---- Python ----


def test_httpx(rules, echo):
    def client_of(server):
        return httpx.Client(http2=True, http1=server.tls, base_url=server.url, timeout=30,
                            verify=tls.context() if server.tls else True)

    with client_of(rules) as client:
        assert client.get("/").http_version == "HTTP/2"
        with client.stream("GET", "/chunked/1000000") as response:
            assert sum(map(len, response.iter_bytes())) == 1_000_000
        pieces = (b"a" * 1000 for _ in range(500))
        assert client.post("/count", content=pieces).text == "500000\n"
    with client_of(echo) as client:
        assert client.post("/", content=LARGE).content == LARGE


def test_pythons_h2(rules):
    """The state machine by itself, which is strict about what a server sends."""
    with socket.create_connection(rules.address, timeout=20) as raw:
        if rules.tls:
            context = tls.context()
            context.set_alpn_protocols(["h2"])
            raw = context.wrap_socket(raw)
        connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        connection.initiate_connection()
        for i in range(20):
            connection.send_headers(1 + 2 * i, [(":method", "GET"), (":scheme", "http"), (":path", f"/chunked/{i * 9999}"),
                                                (":authority", "localhost")], end_stream=True)
        got, trailers, ended = {}, 0, 0
        while ended < 20:
            raw.sendall(connection.data_to_send())
            octets = raw.recv(65536)
            assert octets
            for event in connection.receive_data(octets):
                if isinstance(event, h2.events.DataReceived):
                    got[event.stream_id] = got.get(event.stream_id, 0) + len(event.data)
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                ended += isinstance(event, h2.events.StreamEnded)
                trailers += isinstance(event, h2.events.TrailersReceived)
                assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated))
        assert [got.get(1 + 2 * i, 0) for i in range(20)] == [i * 9999 for i in range(20)] and trailers == 20


# ---- Go ----

GO = r'''
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

var connections atomic.Int32

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect(holds bool, format string, words ...any) {
	if !holds {
		must(fmt.Errorf(format, words...))
	}
}

func newClient(cert string) *http.Client {
	pem, err := os.ReadFile(cert)
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http.Transport{
		Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: dial,
	}}
}

func together(count int, work func(i int)) {
	var group sync.WaitGroup
	for i := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			work(i)
		}()
	}
	group.Wait()
}

func main() {
	echo, rules, client := os.Args[1], os.Args[2], newClient(os.Args[3])
	upload := func(i int) {
		sent := bytes.Repeat([]byte{byte(i)}, i*10007)
		answer, err := client.Post(echo, "text/plain", bytes.NewReader(sent))
		must(err)
		got, err := io.ReadAll(answer.Body)
		must(err)
		expect(answer.Proto == "HTTP/2.0" && bytes.Equal(got, sent), "%s, %d octets of %d", answer.Proto, len(got), len(sent))
	}
	download := func(i int) {
		answer, err := client.Get(fmt.Sprintf("%s/chunked/%d", rules, i*10007))
		must(err)
		got, err := io.ReadAll(answer.Body)
		must(err)
		expect(len(got) == i*10007 && answer.Trailer.Get("X-Sum") == "abc", "%d octets, %v", len(got), answer.Trailer)
	}
	// each other one is given up while it is read
	cancel := func(i int) {
		ctx, cancel := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(ctx, "GET", rules+"/pull/100000000", nil)
		must(err)
		answer, err := client.Do(request)
		must(err)
		_, err = io.ReadFull(answer.Body, make([]byte, 100000))
		must(err)
		cancel()
		_, err = io.Copy(io.Discard, answer.Body)
		expect(err != nil, "it came whole")
		download(1)
	}
	upload(1)
	download(1)
	together(50, upload)
	together(50, download)
	for i := range 100 {
		cancel(i)
	}
	expect(connections.Load() == 2, "%d connections", connections.Load())
	fmt.Println("all")
}
'''


@pytest.fixture(scope="session")
def go(tmp_path_factory):
    folder = tmp_path_factory.mktemp("go")
    (folder / "client.go").write_text(GO)
    return golang.build(folder, "client.go", program=folder / "client")


@golang.needed
def test_go(echo, rules, go):
    assert run(go, echo.url, rules.url, tls.certificate().cert) == b"all\n"


# ---- Chromium ----

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
KINDS = {"css": '<link rel="stylesheet" href="{}">', "js": '<script src="{}"></script>', "svg": '<img src="{}">'}
OF_A_KIND = 20
GIVEN_UP = 150  # more than the budget of resets
LARGER = 10 << 20  # than a window of Chromium's

# The page asks for its findings, so that the log has them.
PAGE = """<!doctype html><title>A page of 60 resources</title>
<script>
const tell = said => fetch('/said?' + encodeURIComponent(JSON.stringify(said)))
addEventListener('load', async () => {
  try {
    const seen = performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
    for (let i = 0; i < %d; i++) {
      const stop = new AbortController()
      const answer = await fetch('large?' + i, { signal: stop.signal })
      await answer.body.getReader().read()
      stop.abort()
      if (i %% 3 === 0) await (await fetch('0.css?' + i)).text()
    }
    const last = await (await fetch('large')).arrayBuffer()
    tell({
      protocols: [...new Set(seen.map(entry => entry.nextHopProtocol))], count: seen.length, scripts: ran,
      statuses: [...new Set(seen.map(entry => entry.responseStatus))],
      octets: seen.reduce((sum, entry) => sum + entry.decodedBodySize, 0), last: last.byteLength,
    })
  } catch (fault) { tell({ fault: String(fault) }) }
})
let ran = 0
</script>
""" % GIVEN_UP


def fill(folder):
    """A page and what it needs. Returns: the octets of all."""
    page = PAGE
    for kind, element in KINDS.items():
        for i in range(OF_A_KIND):
            start = {"css": f".c{i} {{ color: red }}", "js": "ran++", "svg": '<svg xmlns="http://www.w3.org/2000/svg"/>'}[kind]
            (folder / f"{i}.{kind}").write_text(start + "\n" * 500 * i)
            page += element.format(f"{i}.{kind}") + "\n"
    (folder / "index.html").write_text(page)
    octets = sum(file.stat().st_size for file in folder.iterdir())
    with open(folder / "large", "wb") as large:
        large.truncate(LARGER)
    return octets


def said_by(server):
    """The page's findings, once they are in the log."""
    for line in server.out_text().splitlines():
        path, _, said = json.loads(line)["request"]["uri"].partition("?")
        if path == "/said":
            return json.loads(urllib.parse.unquote(said))
    return None


@pytest.mark.test_all
@pytest.mark.of_tls
@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
def test_chromium(launch, tmp_path):
    (site := tmp_path / "site").mkdir()
    octets, port = fill(site), free_port()
    server = launch(Server, [BUILD / "skua", site, "--listen", f"127.0.0.1:{port}", *tls.certificate().options, "--log", "json"],
                    ("127.0.0.1", port), tls=True)
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors", f"--user-data-dir={tmp_path / 'profile'}"]
    with subprocess.Popen([CHROMIUM, *words, f"https://localhost:{port}/"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as browser:
        try:
            said = eventually(lambda: said_by(server), within=60)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
    assert said == {"protocols": ["h2"], "count": 1 + len(KINDS) * OF_A_KIND, "scripts": OF_A_KIND, "statuses": [200],
                    "octets": octets, "last": LARGER}
    assert server.out_text().count('"end":"closed"') > 100  # were given up in time


# ---- h2spec ----

# Cases that do not hold, with the reason.
IN_THE_CLEAR = {"Sends invalid connection preface": "it is a request of HTTP/1, and is refused as one"}
ANSWERED = {"Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream":
            "GET is answered by 405 at once, and the stream is closed"}


def failures(report):
    """The names of the cases that failed, and how many there were."""
    cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    return {case.get("classname") for case in cases if case.find("failure") is not None}, len(cases)


@pytest.mark.skipif(not H2SPEC, reason="h2spec is not installed, which needs Go")
@pytest.mark.parametrize("name, path, known", [("echo", "/", {}), ("rules", "/collect", ANSWERED)])
def test_h2spec(over, launch, tmp_path, name, path, known):
    server = launch(over, name)
    how = ["-t", "-k"] if server.tls else []
    subprocess.run([H2SPEC, "--strict", "-h", "127.0.0.1", "-p", str(server.port), "-P", path, "-o", "5", *how,
                    "-j", tmp_path / "report.xml"], capture_output=True, timeout=240, check=False)
    failed, count = failures(tmp_path / "report.xml")
    assert count >= 146
    assert failed - set(known) - (set() if server.tls else set(IN_THE_CLEAR)) == set()
