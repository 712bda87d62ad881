#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scans skua over TLS by testssl.sh and sslyze, with a certificate of a CA of its own.

testssl.sh may find nothing at LOW or above but what a CA that nobody knows brings; sslyze, told of the CA, must
find Mozilla's intermediate configuration. Prints a line for each, and exits with 1 if there is a finding.
"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKUA = ROOT / "build/release/skua"
sys.path.insert(0, str(ROOT / "tests/harness"))
from ports import free_port  # noqa: E402

# A CA of a test is in no store, and has no place for lists of what it revokes.
OF_A_TEST = {"cert_chain_of_trust", "cert_revocation", "cert_crlDistributionPoints", "cert_ocspURL"}

EXTENSIONS = "subjectAltName=DNS:localhost,IP:127.0.0.1\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n"


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_certificate(folder):
    """ca.pem, and cert.pem with key.pem."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(folder, "req", "-x509", *curve, "-days", "90", "-subj", "/CN=Skua test CA", "-keyout", "ca.key", "-out", "ca.pem",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl(folder, "req", *curve, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request.pem")
    (folder / "extensions").write_text(EXTENSIONS)
    openssl(folder, "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "89",
            "-extfile", "extensions", "-out", "cert.pem")


def start(folder):
    port = free_port()
    site = folder / "site"  # a listing, whose fields are skua's own; those of a site's files are the site's
    site.mkdir()
    (site / "file.txt").write_text("hello\n")
    server = subprocess.Popen([SKUA, site, "--tls-listen", f"127.0.0.1:{port}", "--cert", folder / "cert.pem", "--key",
                               folder / "key.pem", "--hsts", "--log", "none", "--quiet"])
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, port
        except OSError:
            time.sleep(0.05)
    server.kill()
    sys.exit("scan: skua does not listen")


def testssl(folder, port):
    """Its findings, as texts."""
    tool = shutil.which("testssl") or shutil.which("testssl.sh")
    if not tool:
        sys.exit("scan: testssl.sh is not installed")
    out = folder / "testssl.json"
    subprocess.run([tool, "--quiet", "--color", "0", "--warnings", "off", "--severity", "LOW", "--nodns", "none", "--jsonfile", out,
                    f"https://127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    found = [f for f in json.loads(out.read_text()) if f["severity"] in {"LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL"}]
    return [f"{f['severity']} {f['id']}: {f['finding']}" for f in found if f["id"] not in OF_A_TEST]


def sslyze(folder, port):
    done = subprocess.run([sys.executable, "-m", "sslyze", "--mozilla_config", "intermediate", "--certinfo_ca_file",
                           folder / "ca.pem", f"localhost:{port}"], capture_output=True, text=True, check=False)
    text = done.stdout[done.stdout.find("COMPLIANCE"):]
    if done.returncode == 0 and "OK - Compliant" in text:
        return []
    return re.findall(r"^\s+\* (.*)$", text, re.MULTILINE) or [f"exit status {done.returncode}: {done.stdout[-400:]}{done.stderr[-400:]}"]


def main():
    findings = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_certificate(folder)
        server, port = start(folder)
        try:
            for tool in (testssl, sslyze):
                found = tool(folder, port)
                findings += len(found)
                print(f"{tool.__name__}: " + ("; ".join(found) if found else "nothing found"))
        finally:
            server.terminate()
            server.wait()
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
