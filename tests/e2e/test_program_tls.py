# SPDX-License-Identifier: MIT
"""The command over HTTPS: its own certificate, those that are given, the redirect, and reading them again."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import threading

import pytest
from certificates import SecureConnection, fingerprint, make, openssl, shown_at, trusting
from ports import free_port
from server import BUILD, Server, check_sanitizers, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it is about the options of TLS itself"), pytest.mark.of_tls]

SKUA = BUILD / "skua"
NAMES = "localhost 127.0.0.1 ::1"
DAY = 86400


@pytest.fixture
def folder(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>here</p>")
    return site


@pytest.fixture
def home(tmp_path):
    """A home folder of this test's own; its certificate is in home / ".config/skua"."""
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Pairs that the tests only read."""
    return {
        name: make(tmp_path_factory.mktemp(name), name, **options)
        for name, options in {
            "ec": {}, "rsa": {"kind": "RSA"}, "old": {"days": (-30, -1)}, "early": {"days": (1, 30)},
            "other": {"names": "DNS:other.example,DNS:*.wild.example"}, "ca": {"names": None, "authority": True},
        }.items()
    }


def environment(home):
    """Only what is said of where a user's folders are."""
    return {"HOME": str(home) if home else "", "XDG_CONFIG_HOME": ""}


def run(home, *words, env=None):
    done = subprocess.run(
        [SKUA, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False,
        env={**os.environ, **environment(home), **(env or {})},
    )
    check_sanitizers(done.stderr)
    return done


@pytest.fixture
def secure(launch, folder, home):
    """secure(*words) starts the program on one address, over HTTPS."""

    def start(*words, env=None, **options):
        port = free_port()
        words = [SKUA, folder, "--listen", f"127.0.0.1:{port}", "--workers", "2", *words]
        return launch(Server, words, ("127.0.0.1", port), env={**environment(home), **(env or {})}, **options)

    return start


def own(home):
    return home / ".config/skua/certificate.pem"


def ask(site, *trusted, path="/", name="localhost", lines=(), method="GET"):
    with SecureConnection(site.address, trusting(*trusted), name) as connection:
        return connection.get(path, *lines, method=method, host=name)


def says(site, text):
    return eventually(lambda: text in site.error_text()) or pytest.fail(f"{text!r} is not in {site.error_text()}")


# ---- A certificate of its own ----


def test_tls_makes_a_certificate_and_serves_by_it(secure, home):
    site = secure("--tls")
    says(site, f"at https://127.0.0.1:{site.port} with")
    says(site, f"SHA-256 {fingerprint(own(home).read_text())}; browsers warn until they are told to trust {own(home)}")
    assert "http://" not in site.error_text()
    for host in ("localhost", "127.0.0.1"):
        got = subprocess.run(["curl", "-sS", "--cacert", own(home), f"https://{host}:{site.port}/"], capture_output=True, text=True,
                             check=False)
        assert got.stdout == "<p>here</p>", got.stderr
    assert shown_at(site.address) == fingerprint(own(home).read_text())


def test_the_certificate_is_for_this_machine_and_every_host(secure, home):
    secure("--tls", "--host", "app.example", "--host", "*", "--host", "[::2]", "--host", "10.0.0.1")
    text = openssl("x509", "-in", own(home), "-noout", "-text")
    assert ("DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:app.example, IP Address:0:0:0:0:0:0:0:2, "
            "IP Address:10.0.0.1\n") in text
    assert "id-ecPublicKey" in text and "P-256" in text and "CA:FALSE" in text
    openssl("x509", "-in", own(home), "-noout", "-checkend", 364 * DAY - 2 * 3600)
    with pytest.raises(subprocess.CalledProcessError):
        openssl("x509", "-in", own(home), "-noout", "-checkend", 366 * DAY)


def test_what_is_kept_is_the_users_alone(secure, home):
    umask = os.umask(0)
    try:
        secure("--tls")
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [home / ".config", *(home / ".config").rglob("*")]}
    assert modes == {".config": 0o700, "skua": 0o700, "certificate.pem": 0o600, "key.pem": 0o600}


def kept(secure, home, *words):
    """The fingerprint of what the program uses, once it has been started and stopped."""
    site = secure("--tls", *words)
    shown = shown_at(site.address)
    site.stop()
    if own(home).is_file():
        assert shown == fingerprint(own(home).read_text())
    return shown


def test_the_certificate_is_kept(secure, home):
    first = kept(secure, home)
    assert kept(secure, home) == first
    assert kept(secure, home, "--host", "app.example") != first


def put(home, pair, title=f"Made by skua for {NAMES}\n"):
    """Puts a pair where the program keeps its own."""
    for file, text in (("certificate.pem", title + pair.cert.read_text()), ("key.pem", pair.key.read_text())):
        path = own(home).with_name(file)
        path.write_text(text)
        path.chmod(0o600)


@pytest.mark.parametrize("days, stays", [(29, False), (31, True), (400, False)])
def test_the_certificate_is_renewed_before_it_expires(secure, home, tmp_path, days, stays):
    kept(secure, home)
    pair = make(tmp_path, days=(-1, days))
    put(home, pair)
    assert (kept(secure, home) == pair.fingerprint) == stays


def spoil_key(home):
    own(home).with_name("key.pem").write_text("no key")


def spoil_certificate(home):
    own(home).write_text(own(home).read_text()[:200])


def open_key(home):
    own(home).with_name("key.pem").chmod(0o640)


def take_key_away(home):
    own(home).with_name("key.pem").unlink()


def make_certificate_long(home):
    own(home).write_text(own(home).read_text() + "x" * 100_000)


@pytest.mark.parametrize("spoil", [spoil_key, spoil_certificate, open_key, take_key_away, make_certificate_long])
def test_a_certificate_that_cannot_be_used_is_replaced(secure, home, spoil):
    first = kept(secure, home)
    spoil(home)
    second = kept(secure, home)
    assert second != first and kept(secure, home) == second
    assert stat.S_IMODE(own(home).with_name("key.pem").stat().st_mode) == 0o600
    assert sorted(os.listdir(own(home).parent)) == ["certificate.pem", "key.pem"]


def test_a_certificate_with_another_key_is_replaced(secure, home, tmp_path):
    kept(secure, home)
    pair = make(tmp_path)
    own(home).write_text(f"Made by skua for {NAMES}\n" + pair.cert.read_text())
    assert kept(secure, home) != pair.fingerprint


def test_a_file_that_was_left_half_written_is_in_nobodys_way(secure, home):
    first = kept(secure, home)
    own(home).with_name(".key.pem.new").write_text("half")
    spoil_key(home)
    assert kept(secure, home) != first
    assert sorted(os.listdir(own(home).parent)) == ["certificate.pem", "key.pem"]


def test_the_folder_is_that_of_xdg(secure, home, tmp_path):
    config = tmp_path / "config"
    site = secure("--tls", env={"XDG_CONFIG_HOME": str(config)})
    says(site, str(config / "skua/certificate.pem"))
    assert not (home / ".config").exists()
    site = secure("--tls", env={"XDG_CONFIG_HOME": "relative"})
    says(site, str(own(home)))


@pytest.mark.parametrize("home_is", ["", "relative"])
def test_without_a_home_the_certificate_is_in_memory(secure, home_is):
    site = secure("--tls", env={"HOME": home_is})
    says(site, f"SHA-256 {shown_at(site.address)}; the next start makes another")
    again = secure("--tls", env={"HOME": home_is})
    assert shown_at(again.address) != shown_at(site.address)


def test_a_certificate_that_cannot_be_kept_is_in_memory(secure, home):
    (home / ".config").write_text("a file")
    site = secure("--tls")
    says(site, f"the certificate is not kept in {home}/.config/skua: there is no such folder")
    says(site, f"SHA-256 {shown_at(site.address)}; the next start makes another")


def test_programs_that_start_at_once_share_one_certificate(secure, home):
    sites = [secure("--tls", wait=False) for _ in range(6)]
    for site in sites:
        assert eventually(lambda site=site: "stop" in site.error_text() or "SHA-256" in site.error_text())
    assert len({shown_at(site.address) for site in sites}) == 1


def test_quiet_says_nothing_of_it(secure, home):
    site = secure("--tls", "--quiet")
    assert ask(site, own(home)).status == 200
    assert site.out_text() + site.error_text() == ""


# ---- Certificates that are given ----


def test_a_certificate_that_is_given(secure, home, made):
    site = secure(*made["ec"].options)
    assert ask(site, made["ec"].cert).content == b"<p>here</p>"
    assert "SHA-256" not in site.error_text() and not (home / ".config").exists()


def test_a_key_before_its_certificate_and_one_in_the_same_file(secure, made, tmp_path):
    pair, both = made["ec"], tmp_path / "both.pem"
    site = secure("--key", pair.key, "--cert", pair.cert)
    assert shown_at(site.address) == pair.fingerprint
    both.write_text(pair.cert.read_text() + pair.key.read_text())
    both.chmod(0o600)
    site = secure("--cert", both)
    assert shown_at(site.address) == pair.fingerprint


def test_ecdsa_and_rsa_for_one_name_and_another_name(secure, made):
    site = secure(*made["ec"].options, *made["rsa"].options, *made["other"].options)

    def only(kind):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"ECDHE-{kind}-AES128-GCM-SHA256")
        context.check_hostname = False
        context.load_verify_locations(cafile=made[{"ECDSA": "ec", "RSA": "rsa"}[kind]].cert)
        with SecureConnection(site.address, context) as connection:
            return connection.shown

    assert only("ECDSA") == made["ec"].fingerprint
    assert only("RSA") == made["rsa"].fingerprint
    assert shown_at(site.address, "other.example") == shown_at(site.address, "a.wild.example") == made["other"].fingerprint
    assert shown_at(site.address, "nobody.example") == made["ec"].fingerprint


def test_a_key_that_others_can_read_is_a_warning(secure, made, tmp_path):
    key = tmp_path / "open.key"
    shutil.copy(made["ec"].key, key)
    key.chmod(0o644)
    site = secure("--cert", made["ec"].cert, "--key", key)
    says(site, f"the key {key} can be read by every user of this machine; chmod 600 it")
    assert ask(site, made["ec"].cert).status == 200


def wrong_order(made, tmp_path):
    leaf = make(tmp_path, "leaf", issuer=made["ca"])
    leaf.cert.write_text(made["ca"].cert.read_text() + leaf.cert.read_text())
    return leaf.options


WRONG = [
    (lambda made, _: ["--cert", made["ec"].cert, "--key", made["rsa"].key], "does not belong to the certificate"),
    (lambda made, _: made["old"].options, "old.pem expired on "),
    (lambda made, _: made["early"].options, "early.pem is not valid before "),
    (wrong_order, "are in the wrong order"),
    (lambda made, _: ["--cert", made["ec"].key], "has no certificate in PEM"),
    (lambda made, _: ["--cert", made["ec"].cert, "--key", made["ec"].cert], "has no private key in PEM"),
    (lambda made, _: ["--cert", made["ec"].cert], "has no private key in PEM; say where it is by --key FILE"),
    (lambda _, tmp: ["--cert", tmp / "none.pem"], "none.pem: there is no such file"),
    (lambda made, tmp: ["--cert", made["ec"].cert, "--key", tmp], "is not a file"),
    (lambda made, _: made["ec"].options * 2, "belongs to two certificates with ECDSA keys"),
]


@pytest.mark.parametrize("words, sentence", WRONG, ids=[sentence for _, sentence in WRONG])
def test_wrong_certificates_are_said_in_a_sentence(folder, home, made, tmp_path, words, sentence):
    done = run(home, folder, "--port", "0", *words(made, tmp_path))
    assert done.returncode == 1 and done.stdout == ""
    assert sentence in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("skua: ")


# ---- Options ----

WRONG_WORDS = [
    (["--redirect-http"], "--redirect-http needs HTTPS; add --tls, or --cert FILE --key FILE"),
    (["--hsts"], "--hsts needs HTTPS; add --tls"),
    (["--ticket-keys", "x"], "--ticket-keys needs HTTPS; add --tls"),
    (["--key", "x"], "--key x has no --cert"),
    (["--tls", "--key", "x"], "--key x has no --cert"),
    (["--cert", "x", "--key", "y", "--key", "z"], "--key z has no --cert"),
    (["--tls", "--key", "y", "--key", "z"], "--key z has no --cert"),
    (["--cert"], "--cert needs a value: --cert FILE"),
    (["--tls=x"], "--tls takes no value"),
    (["--cert", "x"] * 17, "--cert can be given 16 times"),
    (["--tls-listen", "0"] * 9, "--tls-listen can be given 8 times"),
    (["--port", "1", "--tls-listen", "127.0.0.1:2"], "--port 1 is for an address without a port"),
]


@pytest.mark.parametrize("words, sentence", WRONG_WORDS, ids=[sentence for _, sentence in WRONG_WORDS])
def test_wrong_words(folder, home, words, sentence):
    done = run(home, folder, *words)
    assert done.returncode == 2 and done.stderr.startswith(f"skua: {sentence}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, sentence", [
    (["--tls", "--host", "..x"], "--host ..x is not a name that a certificate can have"),
    (["--tls", "--listen", "fd:9999"], "descriptor 9999 is not a listening stream socket"),
    (["--tls", "--listen", "fd:x"], '"fd:x" is not an address to listen on'),
    (["--tls", "--listen", "nonsense"], '"nonsense" is not an address to listen on'),
])
def test_what_cannot_start(folder, home, words, sentence):
    done = run(home, folder, *words)
    assert done.returncode in (1, 2) and done.stderr.startswith(f"skua: {sentence}") and done.stderr.count("\n") == 1


def test_an_address_in_use(secure, folder, home):
    site = secure("--tls")
    for words, instead in ((["--tls", "--listen"], "--listen"), (["--tls-listen"], "--tls-listen")):
        done = run(home, folder, *words, f"127.0.0.1:{site.port}")
        assert done.returncode == 1 and f"in use by another process; try {instead} 127.0.0.1:{site.port + 1}" in done.stderr
    done = run(home, folder, "--tls", "--port", site.port)
    assert done.returncode == 1 and f"in use by another process; try --port {site.port + 1}" in done.stderr


def test_https_beside_http(secure, home):
    port = free_port()
    site = secure("--tls-listen", port)
    says(site, f"https://127.0.0.1:{port} and http://127.0.0.1:{site.port} ")
    assert site.get("/").status == 200
    site.address = ("127.0.0.1", port)
    assert ask(site, own(home)).status == 200


def test_https_alone_by_its_own_option(launch, folder, home):
    port = free_port()
    site = launch(Server, [SKUA, folder, "--tls-listen", "localhost", "-p", port], ("127.0.0.1", port), env=environment(home))
    assert ask(site, own(home)).status == 200
    says(site, f"https://127.0.0.1:{port} with")
    assert "http://" not in site.error_text()


def test_over_a_unix_socket(launch, folder, home, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("s") / "https")
    site = launch(Server, [SKUA, folder, "--tls", "--listen", f"unix:{path}"], path, env=environment(home))
    assert ask(site, own(home)).status == 200


def test_http_on_the_port_of_https_is_told_so(secure):
    site = secure("--tls")
    response = site.get("/")
    assert response.status == 400 and response.closes
    assert b"https://" in response.content


# ---- The log ----


def logged(site):
    return json.loads(eventually(site.lines)[0])


def test_the_log_in_json_tells_how_a_request_came(secure, made):
    site = secure(*made["ec"].options, "--log", "json")
    with SecureConnection(site.address, trusting(made["ec"].cert)) as connection:
        assert connection.get("/").status == 200
        version, cipher = connection.socket.version(), connection.socket.cipher()[0]
    line = logged(site)
    assert line["status"] == 200
    assert line["request"]["tls"] == {"version": version, "cipher_suite": cipher, "server_name": "localhost"}


def test_the_log_tells_of_old_versions_and_of_no_server_name(secure, made):
    site = secure(*made["ec"].options, "--log", "json")
    context = trusting(made["ec"].cert)
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with SecureConnection(site.address, context, None) as connection:
        assert connection.get("/").status == 200
    line = logged(site)
    assert line["request"]["tls"]["version"] == "TLSv1.2" and line["request"]["tls"]["cipher_suite"].startswith("TLS_ECDHE_ECDSA_WITH_") and "server_name" not in line["request"]["tls"]


def test_the_log_tells_nothing_of_tls_for_what_came_in_the_clear(secure, home):
    site = secure("--tls-listen", "0", "--log", "json")
    assert site.get("/").status == 200
    assert "tls" not in logged(site)["request"]


# ---- The redirect, and HSTS ----


@pytest.fixture
def redirecting(secure, made):
    site = secure("--tls-listen", "0", "--redirect-http", "--hsts", "--host", "*", *made["ec"].options)
    found = eventually(lambda: re.search(r"https://127\.0\.0\.1:(\d+) and", site.error_text()))
    return site, int(found.group(1))


@pytest.mark.parametrize("host, target, location", [
    ("localhost", "/", "https://localhost:PORT/"), ("localhost:80", "/a/b?c=d&e", "https://localhost:PORT/a/b?c=d&e"),
    ("app.example", "/%41/../x", "https://app.example:PORT/%41/../x"), ("[::1]", "/", "https://[::1]:PORT/"),
    ("[::1]:8080", "/a", "https://[::1]:PORT/a"), ("x", "http://app.example:81/y?z", "https://app.example:PORT/y?z"),
    ("x", "http://app.example?z", "https://app.example:PORT/?z"), ("localhost", "//evil.example/x", "https://localhost:PORT//evil.example/x"),
    ("localhost", "/|", "https://localhost:PORT/%7C"),
])
def test_http_is_sent_on_to_https(redirecting, host, target, location):
    site, port = redirecting
    for method in ("GET", "HEAD", "DELETE"):
        response = site.get(target, host=host, method=method)
        assert response.status == 308 and response.get("location") == location.replace("PORT", str(port))
        assert not response.get("strict-transport-security")


def test_a_redirect_of_a_request_with_content(redirecting):
    site, port = redirecting
    with site.connect() as connection:
        connection.send(request("/form", "Content-Length: 5", method="POST") + b"a=b&c")
        response = connection.response("POST")
    assert response.status == 308 and response.get("location") == f"https://localhost:{port}/form"


def test_what_cannot_be_redirected(redirecting):
    site, _ = redirecting
    with site.connect() as connection:
        connection.send(b"GET / HTTP/1.0\r\n\r\n")
        assert connection.response("GET").status == 400
    assert site.get("/" + "a" * 8185, host="b" * 250).status == 414
    assert site.get("/", host="b" * 300).status == 400


def test_hsts_is_said_over_tls_in_every_response(redirecting, made):
    site, port = redirecting
    site.address = ("127.0.0.1", port)
    for path, status in (("/", 200), ("/none", 404)):
        response = ask(site, made["ec"].cert, path=path)
        assert response.status == status and response.get("strict-transport-security") == "max-age=31536000"


def test_hsts_is_not_said_unless_it_is_asked_for(secure, made):
    assert not ask(secure(*made["ec"].options), made["ec"].cert).get("strict-transport-security")


def test_the_redirect_is_at_port_80_beside_https(launch, folder, made):
    """On an address of loopback that nothing else uses."""
    try:
        socket.create_server(("127.83.75.85", 80)).close()
    except PermissionError:
        pytest.skip("port 80 is for the superuser")
    words = [SKUA, folder, "--listen", "127.83.75.85:443", "--redirect-http", *made["ec"].options]
    site = launch(Server, words, ("127.83.75.85", 443))
    says(site, "at https://127.83.75.85 and http://127.83.75.85 (which sends there) with")
    with Connection(("127.83.75.85", 80)) as connection:
        assert connection.get("/a").get("location") == "https://localhost/a"


def test_the_usual_ports_of_every_address(folder, home, made):
    """Where nothing is said: in a network of its own, in which both are free."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespaces here")
    words = [SKUA, folder, "--redirect-http", *made["ec"].options]
    process = subprocess.Popen(["unshare", "-rn", *map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    with process:
        said = [process.stderr.readline() for _ in range(3)]
        process.terminate()
    assert any("at https://localhost and http://localhost (which sends there) with" in line for line in said), said


# ---- Reading certificates again ----


def replace(pair, at):
    """Puts a pair in the place of another, each file at once."""
    for new, old in ((pair.cert, at.cert), (pair.key, at.key)):
        fresh = old.with_suffix(".fresh")
        shutil.copy(new, fresh)
        os.replace(fresh, old)


@pytest.fixture
def pair(tmp_path):
    folder = tmp_path / "live"
    folder.mkdir()
    return make(folder)


def test_sighup_reads_certificates_again(secure, made, pair):
    site = secure(*pair.options)
    assert says(site, "serves")
    replace(made["other"], pair)
    site.signal(signal.SIGHUP)
    says(site, "the certificates have been read again and are in use from now on")
    assert eventually(lambda: shown_at(site.address) == made["other"].fingerprint)


def test_a_change_of_the_files_has_them_read_again(secure, made, pair):
    site = secure(*pair.options)
    replace(made["other"], pair)
    assert eventually(lambda: shown_at(site.address) == made["other"].fingerprint)
    says(site, "the certificates have been read again")


def test_a_change_behind_a_link_to_a_folder(secure, made, tmp_path):
    """As certbot and Kubernetes lay certificates: the link is what changes."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first, second = make(tmp_path / "first"), make(tmp_path / "second")
    live = tmp_path / "live"
    live.symlink_to("first")
    site = secure("--cert", live / "a.pem", "--key", live / "a.key")
    assert shown_at(site.address) == first.fingerprint
    (tmp_path / "fresh").symlink_to("second")
    os.replace(tmp_path / "fresh", live)
    assert eventually(lambda: shown_at(site.address) == second.fingerprint)


@pytest.mark.parametrize("by_signal", [True, False])
def test_a_new_pair_that_does_not_match_is_refused_and_the_old_one_stays(secure, made, pair, by_signal):
    site = secure(*pair.options)
    before = pair.fingerprint
    assert says(site, "serves")
    os.replace(shutil.copy(made["other"].cert, pair.cert.with_suffix(".fresh")), pair.cert)
    if by_signal:
        site.signal(signal.SIGHUP)
    says(site, f"the certificates stay as they are: the key {pair.key} does not belong to the certificate {pair.cert}")
    assert shown_at(site.address) == before
    os.replace(shutil.copy(made["other"].key, pair.key.with_suffix(".fresh")), pair.key)
    assert eventually(lambda: shown_at(site.address) == made["other"].fingerprint)


def test_an_own_certificate_is_renewed_by_sighup(secure, home, tmp_path):
    site = secure("--tls")
    assert says(site, "SHA-256")
    before, expiring = shown_at(site.address), make(tmp_path, days=(-1, 20))
    put(home, expiring)
    site.signal(signal.SIGHUP)
    says(site, "the certificate is in use from now on: SHA-256")
    is_renewed = lambda shown: shown not in (before, expiring.fingerprint) and shown == fingerprint(own(home).read_text())
    assert eventually(lambda: is_renewed(shown_at(site.address)))


def test_an_own_certificate_is_renewed_while_it_is_served(secure, home, tmp_path):
    kept(secure, home)
    expiring = make(tmp_path, days=(-1, 30 + 6 / DAY))  # it may be kept for six seconds
    put(home, expiring)
    site = secure("--tls")
    assert eventually(lambda: shown_at(site.address) == fingerprint(own(home).read_text()) != expiring.fingerprint)


def test_reloads_while_the_server_ends(secure, made):
    for number in (signal.SIGTERM, signal.SIGINT):
        site = secure(*made["ec"].options)
        assert says(site, "serves")
        for _ in range(50):
            site.signal(signal.SIGHUP)
        site.signal(number)
        site.judge_end()


def test_certificates_change_under_load_and_no_request_fails(secure, made, pair):
    site = secure(*pair.options, "--log", "none")
    trusted = trusting(pair.cert, made["other"].cert, made["ec"].cert)
    trusted.check_hostname = False
    ended, failures, answered = threading.Event(), [], [0, 0, 0]

    def load(number, keeps):
        connection = None
        while not ended.is_set():
            try:
                connection = connection or SecureConnection(site.address, trusted)
                if connection.get("/").status != 200:
                    failures.append("status")
                answered[number] += 1
            except (OSError, EOFError, AssertionError) as error:
                failures.append(repr(error))
                return
            if not keeps:
                connection.close()
                connection = None
        if connection:
            connection.close()

    threads = [threading.Thread(target=load, args=load_of) for load_of in enumerate((True, False, False))]
    for thread in threads:
        thread.start()
    for number, next_pair in enumerate([made["other"], made["ec"]] * 3, 1):
        replace(next_pair, pair)
        site.signal(signal.SIGHUP)
        if not eventually(lambda: site.error_text().count("read again") >= number):
            failures.append(f"reload {number}")
    assert eventually(lambda: failures or min(answered) > 0)
    ended.set()
    for thread in threads:
        thread.join()
    assert not failures
