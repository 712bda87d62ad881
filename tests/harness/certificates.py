# SPDX-License-Identifier: MIT
"""Certificates for tests, made by the command openssl, and clients that trust them."""

import dataclasses
import datetime
import hashlib
import os
import pathlib
import socket
import ssl
import subprocess

from wire import TIMEOUT, Connection

KINDS = {
    "EC": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "RSA": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}
CONFIG = """
[ca]
default_ca = this
[this]
new_certs_dir = {folder}
database = {folder}/database
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[extensions]
basicConstraints = critical,CA:{authority}
{names}
"""


@dataclasses.dataclass
class Pair:
    """Files of a certificate and its key."""

    cert: pathlib.Path
    key: pathlib.Path

    @property
    def options(self):
        return ["--cert", self.cert, "--key", self.key]

    @property
    def fingerprint(self):
        return fingerprint(self.cert.read_text())


def openssl(*words, **options):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True, **options).stdout


def fingerprint(pem):
    """Of the first certificate, as browsers show it."""
    pem = pem[pem.index("-----BEGIN CERTIFICATE"):]
    pem = pem[: pem.index("-----END CERTIFICATE-----") + 25]
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
    return ":".join(digest[i : i + 2] for i in range(0, 64, 2))


def make(folder, name="a", *, names="DNS:localhost,IP:127.0.0.1", kind="EC", days=(-1, 30), issuer=None, authority=False):
    """A pair in folder. days: from now, when it begins and when it ends. issuer: another pair; None: itself."""
    folder = pathlib.Path(folder)
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    openssl("genpkey", *KINDS[kind], "-out", pair.key)
    os.chmod(pair.key, 0o600)
    config, request = folder / f"{name}.cnf", folder / f"{name}.csr"
    (folder / "database").write_text("")
    alternates = f"subjectAltName = {names}" if names else ""
    config.write_text(CONFIG.format(folder=folder, authority="TRUE" if authority else "FALSE", names=alternates))
    openssl("req", "-new", "-key", pair.key, "-subj", f"/CN={name}", "-config", config, "-out", request)
    now = datetime.datetime.now(datetime.timezone.utc)
    start, end = ((now + datetime.timedelta(days=n)).strftime("%Y%m%d%H%M%SZ") for n in days)
    signer = ["-cert", issuer.cert, "-keyfile", issuer.key] if issuer else ["-selfsign", "-keyfile", pair.key]
    openssl("ca", "-batch", "-notext", "-config", config, "-in", request, "-out", pair.cert, *signer,
            "-startdate", start, "-enddate", end)
    return pair


def trusting(*files):
    """A client's context that trusts the certificates in these files and no others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for file in files:
        context.load_verify_locations(cafile=file)
    return context


class SecureConnection(Connection):
    """One connection with TLS, as its context asks for it."""

    def __init__(self, address, context, name="localhost"):
        super().__init__(address)
        try:
            self.raw = self.socket = context.wrap_socket(self.socket, server_hostname=name)
        except (OSError, ssl.SSLError):
            self.socket.close()
            raise

    @property
    def shown(self):
        """The fingerprint of the certificate that the server has shown."""
        return fingerprint(ssl.DER_cert_to_PEM_cert(self.socket.getpeercert(True)))


def shown_at(address, name="localhost", **options):
    """The fingerprint of the certificate that is shown for a name, trusted or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for option, value in options.items():
        setattr(context, option, value)
    with socket.create_connection(address, TIMEOUT) as plain, context.wrap_socket(plain, server_hostname=name) as secure:
        return fingerprint(ssl.DER_cert_to_PEM_cert(secure.getpeercert(True)))
