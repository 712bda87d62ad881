# SPDX-License-Identifier: MIT
"""TLS as Go speaks it, whose crypto/tls is nobody else's: versions, ALPN, sessions that are taken up, clients with
certificates. Records are the library's and OpenSSL's."""

import json
import shutil
import subprocess

import pytest
from certificates import make
from server import secure
from tls import certificate

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"), pytest.mark.of_tls,
              pytest.mark.skipif(not shutil.which("go"), reason="there is no Go")]

# Asks for the URL twice, on two connections, and prints what it was told of each, or the error.
CLIENT = r"""
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

func must(err error) {
	if err != nil {
		json.NewEncoder(os.Stdout).Encode(map[string]any{"error": err.Error()})
		os.Exit(0)
	}
}

func main() {
	url, protocol, trusted := os.Args[1], os.Args[3], x509.NewCertPool()
	version := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[os.Args[2]]
	pem, err := os.ReadFile(os.Args[4])
	must(err)
	trusted.AppendCertsFromPEM(pem)
	config := &tls.Config{
		RootCAs: trusted, ServerName: "localhost", MinVersion: version, MaxVersion: version,
		NextProtos: []string{protocol}, ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
	if len(os.Args) > 5 {
		own, err := tls.LoadX509KeyPair(os.Args[5], os.Args[6])
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: protocol == "h2"}
	client := &http.Client{Transport: transport}
	for range 2 {
		answer, err := client.Get(url)
		must(err)
		content, err := io.ReadAll(answer.Body)
		must(err)
		must(json.NewEncoder(os.Stdout).Encode(map[string]any{
			"protocol": answer.TLS.NegotiatedProtocol, "http": answer.Proto, "resumed": answer.TLS.DidResume,
			"octets": len(content), "content": string(content[:min(len(content), 500)]),
		}))
		transport.CloseIdleConnections()
	}
}
"""


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """go(server, path, version, protocol, *pair) returns what the client has printed."""
    folder = tmp_path_factory.mktemp("go")
    (folder / "client.go").write_text(CLIENT)
    subprocess.run(["go", "build", "-o", folder / "client", folder / "client.go"], check=True, capture_output=True, timeout=300)

    def ask(server, path, version, protocol, *pair):
        url = f"https://127.0.0.1:{server.port}{path}"
        done = subprocess.run([folder / "client", url, version, protocol, certificate().cert, *pair], capture_output=True,
                              text=True, timeout=60, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


@pytest.fixture(scope="module", params=["tls", "tls-openssl"])
def served(request):
    server = secure("secure", "--workers", "2", transport=request.param)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make(tmp_path_factory.mktemp("authority"), "authority", names=None, authority=True)


@pytest.fixture(scope="module", params=["tls", "tls-openssl"])
def asking(request, authority):
    server = secure("secure", "--workers", "2", "--clients", authority.cert, transport=request.param)
    yield server
    server.stop()


def facts(answer):
    return dict(line.partition(" ")[::2] for line in answer["content"].splitlines())


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_session_is_taken_up(served, go, version, protocol):
    answers = go(served, "/tls", version, protocol)
    assert [answer["resumed"] for answer in answers] == [False, True]
    for answer in answers:
        told = facts(answer)
        assert answer["protocol"] == told["protocol"] == protocol
        assert answer["http"] == ("HTTP/2.0" if protocol == "h2" else "HTTP/1.1")
        assert (told["version"], told["name"]) == (f"TLSv{version}", "localhost")
        assert told["resumed"] == str(int(answer["resumed"])) and told["client"] == ""


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_protocol_that_is_not_spoken(served, go, version):
    assert "no application protocol" in go(served, "/tls", version, "h3")[0]["error"]


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_much_content(served, go, version, protocol):
    assert [answer["octets"] for answer in go(served, "/large", version, protocol)] == [1 << 20, 1 << 20]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_client_with_a_certificate(asking, go, authority, tmp_path, version):
    """A session that is taken up tells of the same client."""
    own = make(tmp_path, "client", names=None, issuer=authority)
    answers = go(asking, "/tls", version, "http/1.1", own.cert, own.key)
    assert [answer["resumed"] for answer in answers] == [False, True]
    assert [facts(answer)["client"] for answer in answers] == ["CN=client", "CN=client"]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_clients_that_are_refused(asking, go, tmp_path, version):
    """One without a certificate, and one whose certificate nobody has signed that counts."""
    stranger = make(tmp_path, "stranger", names=None)
    assert "error" in go(asking, "/tls", version, "http/1.1")[0]
    assert "error" in go(asking, "/tls", version, "http/1.1", stranger.cert, stranger.key)[0]
