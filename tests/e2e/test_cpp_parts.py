# SPDX-License-Identifier: MIT
"""Configuration, connections, certificates and more in C++ (tests/servers/cpp_parts.cpp)."""

import socket
import ssl

import pytest
from certificates import fingerprint, make
from h2_client import Client
from h2_socket import PREFACE, SETTINGS
from h2_socket import settings as settings_frame
from ports import free_port
from server import eventually, numbered
from wire import posted

pytestmark = pytest.mark.in_the_clear("the server has no option for it; the transport is below the wrapper")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name in ("a", "hidden", "odd"):
        (folder / f"{name}.txt").write_bytes(b"0123456789")
    (folder / "sub").mkdir()
    return folder


@pytest.fixture(scope="module")
def cpp(folder):
    server = numbered("cpp", env={"CPP_FILES": str(folder), "PARTS_LOG": "1"})
    yield server
    server.stop()


def text(server, path):
    return server.get(path).content.decode()


# ---- Configuration ----


def test_functions_of_workers_and_connections(cpp):
    """Each connection keeps an object of its own, until it is closed."""
    with cpp.connect() as one, cpp.connect() as other:
        assert [one.get("/parts/session").content for _ in range(3)] == [b"0 right", b"1 right", b"2 right"]
        assert other.get("/parts/session").content == b"0 right"
        here, _, begun = map(int, text(cpp, "/parts/sessions").split())
        assert here >= 3 and begun == 1
    assert eventually(lambda: text(cpp, "/parts/sessions").split()[0] == "1")  # the one that asks
    assert int(text(cpp, "/parts/sessions").split()[1]) >= 2


def test_workers_tell_when_they_end(launch):
    server = launch(numbered, "cpp", "--workers", "2")
    assert text(server, "/parts/session") == "0 right"
    server.signal()
    server.judge_end()
    assert {"worker 0 has ended", "worker 1 has ended"} <= set(server.error_text().splitlines())


@pytest.mark.parametrize("how", ["shut", "throws"])
def test_a_connection_that_is_refused(cpp, how):
    """Its object is destroyed, though no one is told that it is closed."""
    with cpp.connect() as one:
        assert one.get(f"/parts/door/{how}").content == b"so it is"
        assert cpp.connect().ended()
        assert eventually(lambda: one.get("/parts/sessions").content.split()[0] == b"1")
    assert how != "throws" or eventually(lambda: "on_connect: the door is stuck" in cpp.error_text())


def test_the_log_goes_to_a_function(cpp):
    cpp.get("/hello/you?hush=secret&a=b")
    assert eventually(lambda: "GET /hello/you?hush=REDACTED&a=b" in cpp.error_text())
    assert "by a function: " in cpp.error_text() and "secret" not in cpp.error_text()


def test_limits_of_http2(cpp):
    with Client(cpp, greet=False) as client:
        client.send(PREFACE, settings_frame())
        settings = client.until(lambda frame: frame.kind == SETTINGS and not frame.flags)
        pairs = [settings.payload[i : i + 6] for i in range(0, len(settings.payload), 6)]
        assert b"\0\3\0\0\0\x4d" in pairs  # SETTINGS_MAX_CONCURRENT_STREAMS, 77


def test_what_a_worker_tells(cpp):
    assert text(cpp, "/parts/time") == "right"
    assert text(cpp, "/parts/memory") == "3"


# ---- Routes and directories ----


def test_routes_with_a_time_of_their_own(cpp):
    assert cpp.get("/parts/late/x").status == 503


def test_routes_with_a_limit_and_a_name(cpp):
    with cpp.connect() as connection:
        connection.send(posted("/parts/little", b"0123456789"))
        assert connection.response().content == b"little"
        connection.send(posted("/parts/little", b"0123456789a"))
        assert connection.response().status == 413


def test_directories(cpp):
    for path, status, decided in (("a.txt", 200, "a.txt 10"), ("a", 200, "a.txt 10"), ("hidden.txt", 404, "hidden.txt 10"),
                                  ("odd.txt", 409, "odd.txt 10"), ("none", 404, None)):
        answer = cpp.get(f"/parts/files/{path}")
        assert (answer.status, answer.get("X-Decided")) == (status, decided)
    assert cpp.get("/parts/files/a.txt").get("Content-Type") == "text/x-mine"
    pages = [cpp.get(f"/parts/files/{path}").content for path in ("", "sub/")]
    assert b"hidden.txt" in pages[0] and [(b"of this" in page, b"of all" in page) for page in pages] == [(True, False), (False, False)]


def test_compression_from_a_length_on(cpp):
    for n, coding in ((1999, None), (2000, "gzip")):
        assert cpp.get(f"/parts/long/{n}", "Accept-Encoding: gzip").get("Content-Encoding") == coding


# ---- Prepared responses, objects of workers, watches ----


def test_responses_made_in_advance(cpp):
    for n in range(3):
        answer = cpp.get("/parts/hello")
        assert (answer.status, answer.get("X-Made"), answer.content) == (203, "in advance", b"prepared")
        assert answer.get("X-Asked") == str(n)
    made, released = map(int, text(cpp, "/parts/made").split())
    assert (made, released) == (1, 0)
    assert text(cpp, "/parts/lent") == "lent octets"
    assert eventually(lambda: text(cpp, "/parts/made") == "2 1")  # it was dropped with the object of the worker
    assert cpp.get("/parts/no-field").status == 500


def test_objects_of_several_workers(launch):
    """Each worker drops its own, also where many are made and let go meanwhile."""
    server = launch(numbered, "cpp", "--workers", "3")
    for _ in range(40):
        with server.connect() as one, server.connect() as other:
            assert one.get("/parts/lent").content == b"lent octets"
            assert other.get("/parts/hello").content == b"prepared"
    released = eventually(lambda: int(text(server, "/parts/made").split()[1]) == 40)
    assert released and int(text(server, "/parts/made").split()[0]) <= 43


def test_an_object_that_cannot_be_made_is_tried_again(cpp):
    assert cpp.get("/parts/unmade").status == 500
    assert eventually(lambda: "GET /parts/unmade: not at once" in cpp.error_text())
    assert [text(cpp, "/parts/unmade") for _ in range(2)] == ["7", "7"]


def test_a_prepared_file_and_its_tag(cpp):
    whole = cpp.get("/parts/file/a.txt")
    assert (whole.status, whole.content) == (200, b"0123456789")
    assert whole.get("ETag") == cpp.get("/parts/files/a.txt").get("ETag")
    assert cpp.get("/parts/file/a.txt", f"If-None-Match: {whole.get('ETag')}").status == 304
    assert cpp.get("/parts/file/none").status == 404


def test_watches(cpp, folder):
    def count():
        return int(text(cpp, "/parts/watched").split()[0])

    before = count()
    (folder / "new.txt").write_bytes(b"new")
    assert eventually(lambda: count() > before)
    assert text(cpp, "/parts/watched").endswith("and writes")
    assert text(cpp, "/parts/watched/none") == "there is none"
    assert text(cpp, "/parts/watched/.") == "watched"


# ---- Certificates ----


def shown(server, name):
    """The certificate that is shown to a client that asks for name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(server.address, timeout=20) as plain, context.wrap_socket(plain, server_hostname=name) as over:
        return fingerprint(ssl.DER_cert_to_PEM_cert(over.getpeercert(binary_form=True)))


@pytest.mark.of_tls
def test_certificates_are_chosen_and_replaced(launch, tmp_path):
    port, pair = free_port(), make(tmp_path, authority=True)
    server = launch(numbered, "cpp", "--tls-port", port, "--cert", pair.cert, "--key", pair.key)
    own = text(server, "/parts/fingerprint")

    def over_tls(name):
        server.address, plain = ("127.0.0.1", port), server.address
        try:
            return shown(server, name)
        finally:
            server.address = plain

    assert own.count(":") == 31 and own != pair.fingerprint
    assert over_tls("chosen.test") == pair.fingerprint
    wrong = text(server, "/parts/reload-wrong")
    assert "/nowhere.pem" in wrong
    assert over_tls("chosen.test") == pair.fingerprint  # all is as it was
    assert "certificate" in text(server, "/parts/identity-wrong")
    assert text(server, "/parts/reload") == "reloaded"
    assert over_tls("chosen.test") == over_tls("localhost") == own
    assert over_tls("other.test") == over_tls("throws.test") == own  # the default
    assert eventually(lambda: "tls.choose: no choice" in server.error_text())
