# SPDX-License-Identifier: MIT
"""TLS as real clients speak it: curl, openssl s_client, Python's ssl. Records are the library's and OpenSSL's."""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
from functools import partial

import pytest
import tls
from certificates import make
from clock import against_the_clock
from h2_socket import PREFACE, SETTINGS, frame
from ports import free_port
from server import BUILD, Server, eventually, secure
from tls import certificate, context
from wire import Connection, chunk, request

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"), pytest.mark.of_tls]

RECORDS = ["tls", "tls-openssl"]
STEPS = 4  # of handshakes that a worker takes in a turn: docs/limits.md
HALF_HANDSHAKE = 45_056  # octets of memory_max that one counts as: docs/limits.md
MEMORY_MAX = 16 << 20
LARGE = 1 << 20


@pytest.fixture(scope="module", params=RECORDS)
def served(request):
    server = secure("secure", "--workers", "1", transport=request.param)
    yield server
    server.stop()


@pytest.fixture
def launch_secure(launch):
    return lambda *words, name="secure", **options: launch(partial(secure, name), *words, **options)


def noted(server):
    """The lines that the server "uploads" has noted since it was last asked."""
    lines = []
    eventually(lambda: lines.extend(server.get("/told").content.decode().split("\n")[:-1]) or lines)
    return lines


def facts(content):
    return dict(line.partition(" ")[::2] for line in content.decode().splitlines())


def facts_of(connection):
    return facts(connection.get("/tls").content)


def connect(server, **options):
    return server.connect(tls=options)


def curl(server, path, *words):
    done = subprocess.run(["curl", "-sS", "--max-time", "50", "--cacert", certificate().cert, *words, server.url + path],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def s_client(server, *words, send=request("/tls", "Connection: close"), quiet=True):
    """Returns all that openssl s_client prints. send: octets, or a list of them and of words that are waited for between."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", certificate().cert,
         *(["-quiet", "-verify_quiet"] if quiet else []), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = b""
    with client:
        for part in send if isinstance(send, list) else [send]:
            if isinstance(part, str):
                said += said_until(client.stdout, part.encode())
                continue
            with contextlib.suppress(BrokenPipeError):
                client.stdin.write(part)
                client.stdin.flush()
        if not quiet:  # it ends with its input
            close(client.stdin)
        said += client.stdout.read()
        close(client.stdin)
    return said


def said_until(pipe, words):
    """Everything that a program says up to these words, or to its end."""
    said = b""
    while words not in said and (octets := os.read(pipe.fileno(), 1 << 16)):
        said += octets
    return said


def close(pipe):
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


# ---- Clients ----


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_curl(served, version):
    asked = [f"--tlsv{version}", "--tls-max", version]
    found = facts(curl(served, "/tls", *asked))
    assert (found["scheme"], found["secure"], found["version"]) == ("https", "1", f"TLSv{version}")
    assert found["protocol"] == "h2"
    assert curl(served, "/large", *asked) == bytes(LARGE)
    assert facts(curl(served, "/tls", "--http1.1", *asked))["protocol"] == "http/1.1"
    assert curl(served, "/large", "--http1.1", *asked) == bytes(LARGE)


def test_curl_of_http_1_0(served):
    assert facts(curl(served, "/tls", "-0"))["protocol"] == "http/1.0"


@pytest.mark.parametrize("cipher", ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
def test_every_suite(served, cipher):
    assert f"cipher {cipher}".encode() in s_client(served, "-tls1_3", "-ciphersuites", cipher)
    assert s_client(served, "-tls1_3", "-ciphersuites", cipher, send=request("/large", "Connection: close")).endswith(bytes(LARGE))


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("octets", ["512", "1024", "4096"])
def test_a_client_with_short_records(served, version, octets):
    """Its OpenSSL refuses longer ones."""
    said = s_client(served, version, "-maxfraglen", octets, send=request("/large", "Connection: close"))
    assert said.endswith(bytes(LARGE)) and b"alert" not in said


def test_protocols_that_are_not_spoken(served):
    assert b"no application protocol" in s_client(served, "-alpn", "h3,h2c")
    assert b"protocol http/1.1" in s_client(served, "-alpn", "h3,http/1.1")
    assert b"protocol \n" in s_client(served)


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused(served, version):
    assert b"alert protocol version" in s_client(served, version, "-cipher", "DEFAULT@SECLEVEL=0")


def test_renegotiation_is_refused(served):
    said = s_client(served, "-tls1_2", send=["Verify return code", b"R\n", "no renegotiation"], quiet=False)
    assert b"RENEGOTIATING" in said and b"no renegotiation" in said
    assert served.get("/tls").status == 200


def test_no_ticket_allows_early_data(served):
    said = s_client(served, "-tls1_3", send=["Verify return code", request("/tls"), "scheme https"], quiet=False)
    assert said.count(b"Max Early Data: 0") == 1  # and so one ticket


@pytest.mark.parametrize("ask", [b"k\n", b"K\n"])
def test_a_client_changes_its_keys(served, ask):
    """K asks for the server's update too."""
    turn = [ask, "KEYUPDATE", request("/tls"), "scheme https"]
    said = s_client(served, "-tls1_3", quiet=False, send=["Verify return code", *turn, *turn])
    assert said.count(b"KEYUPDATE") == 2
    assert said.count(b"scheme https") == 2


@pytest.mark.parametrize("ticket", [False, True])
def test_a_client_that_is_asked_for_another_share(served, tmp_path, ticket):
    """HelloRetryRequest: it begins with a group that the server does not know. Its second hello has its ticket too."""
    words, session = ["-tls1_3", "-groups", "P-521:P-384", "-msg"], tmp_path / "session"
    if ticket:
        assert b"resumed 0" in s_client(served, *words, "-sess_out", session)
        words += ["-sess_in", session]
    said = s_client(served, *words)
    assert said.count(b", ClientHello") == 2
    assert b"scheme https" in said and b"resumed %d" % ticket in said
    said = s_client(served, *words[:3], send=request("/large", "Connection: close"))
    assert said.endswith(bytes(LARGE))


# ---- Sessions ----


def test_a_session_is_taken_up_by_another_worker(launch_secure):
    server = launch_secure("--workers", "2")
    found = set()
    with connect(server) as first:
        assert facts_of(first)["resumed"] == "0"
        session = first.socket.ssl.session
    for turn in range(400):
        with connect(server, session=session) as again:
            told = facts_of(again)
            found.add((told["worker"], told["resumed"]))
            session = again.socket.ssl.session
        if turn >= 40 and len(found) >= 2:
            break
    assert found == {("0", "1"), ("1", "1")}


def test_a_session_is_taken_up_by_another_process(launch_secure, tmp_path):
    keys, session = tmp_path / "tickets", tmp_path / "session"
    keys.write_bytes(os.urandom(80))
    keys.chmod(0o600)
    one, two = (launch_secure("--tickets", keys, "--workers", "1") for _ in range(2))
    stranger = launch_secure("--workers", "1")
    assert b"resumed 0" in s_client(one, "-sess_out", session)
    assert b"resumed 1" in s_client(two, "-sess_in", session)
    assert b"resumed 0" in s_client(stranger, "-sess_in", session)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_of_each_version(served, version):
    client = context(version=version)
    with connect(served, tls=client) as first:
        assert facts_of(first)["resumed"] == "0"
        session = first.socket.ssl.session
    with connect(served, tls=client, session=session) as again:
        assert facts_of(again)["resumed"] == "1"


# ---- Names ----


def test_http_in_the_clear_is_told_so(served):
    with Connection(served.address) as plain:
        response = plain.get("/tls")
        assert response.status == 400
        assert b"https://" in response.content
        assert plain.ended()


def test_many_at_once_in_the_clear_are_told_so(served):
    """More than there are steps of handshakes in a turn: the octets of most have been kept when they are looked at."""
    served.signal(signal.SIGSTOP)
    clients = [Connection(served.address).send(request("/tls")) for _ in range(40)]
    served.signal(signal.SIGCONT)
    for plain in clients:
        with plain:
            response = plain.response()
            assert response.status == 400 and b"https://" in response.content and plain.ended()


@pytest.mark.parametrize("first, rest", [
    (b"P", b"OST /tls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
    (b"PR", b"OPFIND /tls HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (b"PRI", PREFACE[3:] + frame(SETTINGS)),
])
def test_what_may_be_a_preface_in_the_clear_is_not_served(served, first, rest):
    """In the clear the first letters of HTTP/2's preface are kept until more has come. Where TLS is spoken they are refused,
    as nobody is to get by without a certificate."""
    with Connection(served.address) as plain:
        plain.send(first)
        response = plain.response()
        assert response.status == 400 and b"https://" in response.content
        with contextlib.suppress(OSError):
            plain.send(rest)
        assert plain.ended()


def test_a_name_that_the_certificate_has_not(served):
    """421 only where a name was sent, Host is another, and the certificate does not cover that."""
    for name, host, status in [
        ("localhost", "localhost", 200), ("localhost", "a.many.test", 200), ("a.many.test", "b.many.test", 200),
        ("localhost", "other.test", 421), ("a.many.test", "a.b.many.test", 421), ("localhost", "localhost:1", 200),
        ("localhost", "localhosts", 421), ("localhost", "localhost.test:1", 421), ("localhost", "LOCALHOST:1", 200),
        (None, "other.test", 200), ("other.test", "other.test", 200),
    ]:
        with connect(served, server_name=name) as client:
            assert client.get("/tls", host=host).status == status, (name, host)


def test_what_is_misdirected_does_not_end_the_connection(served):
    with connect(served, server_name="localhost") as client:
        assert client.get("/tls", host="other.test").status == 421
        assert client.get("/tls", host="localhost").status == 200


# ---- Handshakes that do not go well ----


def client_hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = tls.usual_context().wrap_bio(incoming, outgoing, server_hostname="other.test")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def alert_of(plain):
    """The alert that comes in the clear, and nothing behind it."""
    head = plain.exactly(7)
    assert head[0] == 21 and head[3:5] == b"\0\2" and head[5] == 2, head
    assert plain.ended()
    return head[6]


def test_a_hello_that_is_too_long_is_refused_from_its_header(served):
    with Connection(served.address) as client:
        client.send(b"\x16\x03\x01\x00\x04\x01" + (16385).to_bytes(3, "big"))
        assert alert_of(client) in (47, 50)  # illegal_parameter, decode_error


@pytest.mark.parametrize("octets", [
    b"\x16\x03\x01\xff\xff" + b"\x01" * 100, b"\x17\x03\x03\x00\x05hello", b"\x15\x03\x01\x00\x02\x02\x28", b"\x16\x03\x01\x00\x00",
    b"\x14\x03\x03\x00\x01\x01" * 40, b"\x80\x2e\x01\x03\x01" + bytes(41), b"\0" * 600, b"\x16\x03\x01\x00\x05\x14\0\0\x01\0",
])
def test_what_is_no_hello(served, octets):
    with Connection(served.address) as client, connect(served) as other:
        with contextlib.suppress(ConnectionError):
            client.send(octets).half_close()
            client.to_end()
        assert facts_of(other)["scheme"] == "https"


def test_a_hello_in_every_piece(served):
    """An octet at a time, and cut in two anywhere."""
    hello = client_hello()
    with Connection(served.address) as client:
        client.send_split(hello)
        assert client.exactly(1) == b"\x16"
    for at in range(1, len(hello), 29):
        with Connection(served.address) as client:
            client.send(hello[:at])
            client.send(hello[at:])
            assert client.exactly(1) == b"\x16"


@against_the_clock
def test_a_handshake_has_its_time(launch_secure):
    server = launch_secure("--handshake-ms", "300", "--workers", "1")
    with connect(server) as other, Connection(server.address) as begun, Connection(server.address) as half:
        begun.send(client_hello()[:20])
        half.send(client_hello())
        assert half.exactly(1) == b"\x16"
        assert begun.ended()
        with contextlib.suppress(ConnectionError):
            half.to_end()
        assert facts_of(other)["scheme"] == "https"


def is_stopped(pid):
    """Whether all its threads are."""
    return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))


@against_the_clock
def test_a_burst_of_handshakes_beside_an_open_connection(launch_secure):
    """So many steps are taken in a turn, and then who is open has its turn. The server tells how many it had taken. They come
    before they have rested for a second, from which on many are woken in several turns."""
    server = launch_secure("--workers", "1")
    hello = client_hello()
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(connect(server))
        burst = [stack.enter_context(Connection(server.address)) for _ in range(200)]
        assert other.get("/hellos").content == b"0"  # all have been accepted
        time.sleep(0.2)
        server.signal(signal.SIGSTOP)
        assert eventually(lambda: is_stopped(server.pid))
        for client in burst:
            client.send(hello)
        other.send(request("/hellos"))
        server.signal(signal.SIGCONT)
        assert 0 <= int(other.response().content) <= STEPS
        for client in burst:
            assert client.exactly(1) == b"\x16"
        assert other.get("/hellos").content == b"200"


def gone(client):
    """Whether the server has closed it. What it has sent is read, and forgotten."""
    try:
        client.socket.setblocking(False)
        while client.socket.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_flood_of_half_handshakes(launch_secure):
    """Each counts as what OpenSSL takes for it: they are ended as memory fills up, and who is being served is served."""
    server = launch_secure("--workers", "1", "--memory-max", str(MEMORY_MAX), "--handshake-ms", "120000")
    hello = client_hello()
    with connect(server) as warm:
        facts_of(warm)
    with contextlib.ExitStack() as stack:
        download = stack.enter_context(server.connect(receive_buffer=4096))
        download.send(request("/large"))
        assert download.head().status == 200
        flood = [stack.enter_context(Connection(server.address)) for _ in range(1000)]
        for client in flood:
            with contextlib.suppress(ConnectionError):
                client.send(hello)
        assert eventually(lambda: sum(not gone(client) for client in flood) <= MEMORY_MAX // HALF_HANDSHAKE)
        assert any(not gone(client) for client in flood)
        assert download.exactly(LARGE) == bytes(LARGE)
    assert eventually(lambda: served_at_all(server))


def served_at_all(server):
    with contextlib.suppress(EOFError, OSError):
        return server.get("/tls").status == 200


# ---- Faults of an open connection, which are its own ----


def told(client):
    """The alert that the server has sent, as OpenSSL names it."""
    with pytest.raises(ConnectionAbortedError) as fault:
        client.to_end()
    return str(fault.value)


AWS_LC_ALLOWS = (b"\x17\x03\x03\x41\x01", b"\x14\x03\x03\x00\x01")


def has_aws_lc():
    return re.search(r"^OPENSSL_ROOT_DIR:.*aws-lc", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE) is not None


@pytest.mark.parametrize(("octets", "alert"), [
    (b"\x17\x03\x03\x00\x20" + b"x" * 32, "bad record mac"),
    (b"\x17\x03\x03\x41\x01", "record overflow"),
    (b"\x17\x03\x03\x00\x00", "unexpected message|decode error|bad record mac"),
    (b"\x17\x03\x03\x00\x10" + b"x" * 16, "bad record mac|unexpected message|decode error"),
    (b"\x14\x03\x03\x00\x01\x01", "unexpected message"),
    (b"\x15\x03\x03\x00\x02\x01\x00", "unexpected message|bad record mac"),
    (b"\x16\x03\x03\x00\x04\x00\x00\x00\x00", "unexpected message|bad record mac"),
    (b"GET / HTTP/1.1\r\n", "wrong version number|unexpected message|record overflow|protocol version|decode error"),
])
def test_records_that_are_none(served, octets, alert):
    if octets[:5] in AWS_LC_ALLOWS and has_aws_lc() and "openssl" in served.words:
        pytest.skip("AWS-LC's own records are longer, and a ChangeCipherSpec is opened as one of them")
    with connect(served) as client, connect(served) as other:
        assert facts_of(client)["version"] == "TLSv1.3"
        client.raw.sendall(octets)
        said = told(client)
        assert any(name in said for name in alert.split("|")), said
        assert facts_of(other)["scheme"] == "https"


@pytest.mark.parametrize("before", ["at rest", "in a request", "in an answer"])
def test_a_record_that_was_changed(served, before):
    with connect(served) as client, connect(served) as other:
        facts_of(client)
        if before == "in a request":
            client.send(request("/tls")[:10])
        if before == "in an answer":
            client.send(request("/large"))
        client.socket.ssl.write(request("/tls"))
        record = bytearray(client.socket.outgoing.read())
        record[-1] ^= 1
        client.raw.sendall(record)
        assert "bad record mac" in told(client)
        assert other.get("/large").content == bytes(LARGE)


def test_a_record_that_was_sent_twice(served):
    with connect(served) as client:
        client.socket.ssl.write(request("/tls"))
        record = client.socket.outgoing.read()
        client.raw.sendall(record)
        assert client.response().status == 200
        client.raw.sendall(record)
        assert "bad record mac" in told(client)


def test_requests_in_every_piece_of_a_record(served):
    with connect(served) as client:
        for at in range(1, 64):
            client.socket.ssl.write(request("/tls"))
            record = client.socket.outgoing.read()
            client.raw.sendall(record[:at])
            time.sleep(0.002)
            client.raw.sendall(record[at:])
            assert client.response().status == 200
        client.socket.ssl.write(request("/tls"))
        for octet in client.socket.outgoing.read():
            client.raw.sendall(bytes([octet]))
        assert client.response().status == 200


def test_a_request_in_the_segment_of_finished(served):
    client = Connection(served.address)
    with client:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        spoken = tls.usual_context().wrap_bio(incoming, outgoing)
        done = False
        while not done:
            with contextlib.suppress(ssl.SSLWantReadError):
                spoken.do_handshake()
                done = True
            if not done:
                client.send(outgoing.read())
                incoming.write(client.raw.recv(1 << 16))
        for _ in range(3):
            spoken.write(request("/tls"))
        client.send(outgoing.read())
        got = b""
        while got.count(b"scheme https") < 3:
            incoming.write(client.raw.recv(1 << 16))
            with contextlib.suppress(ssl.SSLWantReadError):
                while octets := spoken.read(1 << 16):
                    got += octets


# ---- Clients that leave ----


def client_of(spoken):
    """How to connect so that this is spoken."""
    made = context(version=ssl.TLSVersion.TLSv1_2 if spoken == "TLS 1.2" else ssl.TLSVersion.TLSv1_3)
    made.set_alpn_protocols(["h2" if spoken == "HTTP/2" else "http/1.1"])
    return {"tls": {"tls": made, "server_name": "localhost"}, "http2": spoken == "HTTP/2"}


def leave(client, how):
    """Sends no more of the session and of the wire, of the wire alone, or breaks it."""
    if how == "reset":
        client.reset()
        return
    spoken = client.socket if isinstance(client.socket, tls.TlsSocket) else client.socket.raw
    if how == "close_notify":
        spoken.shutdown(socket.SHUT_WR)
    client.raw.shutdown(socket.SHUT_WR)


def head_behind_path(framing):
    return request("", framing, "Content-Type: multipart/form-data; boundary=xYz", method="POST").partition(b" ")[2]


LENGTH, CHUNKED = head_behind_path("Content-Length: 1000"), head_behind_path("Transfer-Encoding: chunked")
CUT_OFF = {
    "before the content": LENGTH,
    "in the content": LENGTH + b"x" * 500,
    "before the last octet": LENGTH + b"x" * 999,
    "in a chunk's size": CHUNKED + b"5",
    "in a chunk": CHUNKED + chunk(b"hello") + b"5\r\nhel",
    "behind a chunk": CHUNKED + chunk(b"hello"),
    "in the last chunk": CHUNKED + chunk(b"hello") + b"0\r\n",
    "in the trailers": CHUNKED + chunk(b"hello") + b"0\r\nX: y\r\n",
}
READ_BY = {"/limit?n=2000": "lost", "/guarded/collect?n=2000": "closed", "/spool?memory=2000&max=2000": "closed",
           "/spool?memory=0&max=2000": "closed", "/parts": "failed"}


@pytest.fixture(scope="module", params=RECORDS)
def uploads(request):
    server = secure("uploads", "--workers", "1", transport=request.param)
    yield server
    server.stop()


@pytest.mark.parametrize("how", ["close_notify", "FIN"])
@pytest.mark.parametrize("spoken", ["TLS 1.2", "TLS 1.3", "HTTP/2"])
@pytest.mark.parametrize("at", CUT_OFF)
def test_an_upload_that_is_cut_off(uploads, spoken, at, how):
    """Its reader is told that it is lost, and nobody is answered."""
    for path, said in READ_BY.items():
        with uploads.connect(**client_of(spoken)) as client:
            client.send(b"POST " + path.encode() + CUT_OFF[at])
            leave(client, how)
            assert noted(uploads) == [said], path
            with contextlib.suppress(ConnectionError):
                assert b"200" not in client.to_end()


@pytest.mark.parametrize("how", ["close_notify", "FIN", "reset"])
@pytest.mark.parametrize("spoken", ["TLS 1.2", "TLS 1.3", "HTTP/2"])
def test_a_request_that_outlives_its_connection(served, spoken, how):
    """While on_end runs it is told how it came; a request that is held after that is like one in the clear."""
    with connect(served, server_name="localhost") as other, served.connect(**client_of(spoken)) as client:
        client.send(request("/hold"))
        assert eventually(lambda: other.get("/held").content)
        leave(client, how)
        assert eventually(lambda: other.get("/held").content.count(b"\n") == 3)
        came, ended, later = other.get("/held").content.decode().splitlines()
        version = "TLSv1.2" if spoken == "TLS 1.2" else "TLSv1.3"
        assert re.fullmatch(rf"handler https 1 1 {version} \S+ localhost", came)
        assert ended == came.replace("handler", "end")
        assert later == "held http 0 0 none none "


def test_an_answer_ends_with_close_notify(served):
    with connect(served) as client:
        client.send(request("/tls", "Connection: close"))
        assert client.response().status == 200
        assert client.to_end() == b""  # else it is an error


def test_close_notify_is_answered(served):
    with connect(served) as client:
        facts_of(client)
        client.half_close()
        assert client.to_end() == b""


# ---- Other certificates ----


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    return [make(folder, f"pair{i}", kind=kind) for i, kind in enumerate(["EC", "RSA", "EC"])]


def reload_of(cert, key):
    return f"/reload?cert={cert}&key={key}"


def test_certificates_change_under_load(launch_secure, pairs):
    server = launch_secure("--workers", "2")
    both = context()
    for pair in pairs:
        both.load_verify_locations(pair.cert)
    stop, failed, shown = threading.Event(), [], set()

    def load():
        try:
            while not stop.is_set():
                with connect(server, tls=both) as client:
                    shown.add(client.socket.ssl.getpeercert(True))
                    for _ in range(3):
                        assert client.get("/tls").status == 200
        except Exception as fault:
            failed.append(fault)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    with connect(server) as held:
        for i in range(1000):
            pair = pairs[i % len(pairs)]
            assert held.get(reload_of(pair.cert, pair.key)).status == 200
            time.sleep(0.02)
            if i >= 29 and len(shown) >= 2 or failed:
                break
        stop.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(shown) >= 2
        last = ssl.PEM_cert_to_DER_cert(pair.cert.read_text())
        with connect(server, tls=both) as client:
            assert client.socket.ssl.getpeercert(True) == last
        assert held.get("/tls").status == 200  # by the first certificate, still


def test_a_pair_that_does_not_match_is_refused(served, pairs):
    response = served.get(reload_of(pairs[0].cert, pairs[2].key))
    assert response.status == 400
    assert response.content
    assert served.get(reload_of("/none", "/none")).status == 400
    assert served.get("/tls").status == 200


# ---- Certificates of sites ----


def shown(server, name, pairs, **options):
    """The number of the pair whose certificate a client is shown that asks for a name; None: it is the server's."""
    trust = context()
    for pair in pairs:
        trust.load_verify_locations(pair.cert)
    with connect(server, tls=trust, server_name=name, **options) as client:
        der = client.socket.ssl.getpeercert(True)
    return next((i for i, pair in enumerate(pairs) if ssl.PEM_cert_to_DER_cert(pair.cert.read_text()) == der), None)


def sites_of(hosts="", pair=None, more=""):
    return f"/sites?hosts={hosts}&more={more}" + (f"&cert={pair.cert}&key={pair.key}" if pair else "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sites_bring_their_certificates(launch_secure, pairs, workers):
    server = launch_secure("--workers", workers)
    with connect(server) as admin:
        put = lambda *words, **more: admin.get(sites_of(*words, **more))
        everywhere = lambda name, number: eventually(lambda: {shown(server, name, pairs) for _ in range(6)} == {number})
        assert shown(server, "a.test", pairs) is None
        assert put("a.test%20*.wild.test", pairs[0], more="plain.test").status == 200
        assert everywhere("a.test", 0) and everywhere("b.wild.test", 0) and everywhere("A.Test", 0)
        for name in ("plain.test", "other.test", "x.b.wild.test", "localhost"):
            assert shown(server, name, pairs) is None, name
        trust = context()
        trust.load_verify_locations(pairs[0].cert)
        with connect(server, tls=trust, server_name="a.test") as old:
            before = old.socket.ssl.getpeercert(True)
            assert old.get("/site?say=1", host="a.test").content == b"1"
            assert put("a.test", pairs[1]).status == 200
            assert everywhere("a.test", 1) and everywhere("b.wild.test", None)
            assert old.get("/site?say=2", host="a.test").content == b"2"  # it keeps what it was shown
            assert old.socket.ssl.getpeercert(True) == before
            assert old.get("/site?say=3", host="plain.test").status == 421  # which the certificate is not for
        assert put("a.test", pairs[0]).status == 200 and everywhere("a.test", 0)
        assert put(more="a.test").status == 200  # the same host, without a certificate
        assert everywhere("a.test", None)
        assert put("*", pairs[2]).status == 200  # every host that no other site names
        assert everywhere("any.test", 2) and everywhere("localhost", 2)
        assert put().status == 200
        assert everywhere("any.test", None) and everywhere("a.test", None)
        refused = put("a.test", dataclasses.replace(pairs[0], key=pairs[1].key))
        assert refused.status == 400 and refused.content and shown(server, "a.test", pairs) is None


def test_all_certificates_may_be_of_sites(pairs):
    """A server without any of its own: clients that ask for other names are refused."""
    clear, port = free_port(), free_port()
    server = Server([BUILD / "secure", "--port", clear, "--tls-port", port, "--workers", "1"], ("127.0.0.1", clear))

    def asks(name):
        trust = context(pairs[0].cert)
        try:
            with Connection(("127.0.0.1", port), tls={"tls": trust, "server_name": name}) as client:
                return client.get("/site?say=1", host=name).content
        except ssl.SSLError as fault:
            return fault.reason

    # AWS-LC lets nobody choose the alert of the function that chooses the certificate
    refused = "SSLV3_ALERT_HANDSHAKE_FAILURE" if has_aws_lc() else "TLSV1_UNRECOGNIZED_NAME"
    assert asks("a.test") == refused
    assert server.get(sites_of("a.test", pairs[0])).status == 200
    assert (asks("a.test"), asks("b.test")) == (b"1", refused)
    assert server.get(sites_of()).status == 200
    assert asks("a.test") == refused
    server.stop()


def test_a_session_of_a_site_is_not_taken_up_by_another_certificate(launch_secure, pairs):
    server = launch_secure("--workers", "1")
    trust = context()
    for pair in pairs:
        trust.load_verify_locations(pair.cert)

    def visit(session=None):
        with connect(server, tls=trust, server_name="a.test", session=session) as client:
            assert client.get("/site?say=1", host="a.test").content == b"1"
            return client.socket.ssl.session, client.socket.ssl.session_reused

    assert server.get(sites_of("a.test", pairs[0])).status == 200
    session, _ = visit()
    assert visit(session)[1]
    assert server.get(sites_of("a.test", pairs[1])).status == 200
    assert not visit(session)[1]


def test_sites_with_certificates_change_under_load(launch_secure, pairs):
    """A request for a site never meets another one's certificate, nor a site without the certificate that came with it."""
    server = launch_secure("--workers", "2")
    assert server.get(sites_of("a.test", pairs[0])).status == 200
    trust, stop, failed, seen = context(), threading.Event(), [], set()
    for pair in pairs:
        trust.load_verify_locations(pair.cert)
    ours = {ssl.PEM_cert_to_DER_cert(pair.cert.read_text()) for pair in pairs}

    def load():
        try:
            while not stop.is_set():
                with connect(server, tls=trust, server_name="a.test") as client:
                    seen.add(client.socket.ssl.getpeercert(True))
                    assert client.get("/site?say=1", host="a.test").status == 200
        except Exception as fault:
            failed.append(fault)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(3000):
        assert server.get(sites_of("a.test", pairs[i % len(pairs)])).status == 200
        if i >= 29 and len(seen) >= 2 or failed:
            break
    stop.set()
    for thread in threads:
        thread.join()
    assert failed == [] and seen <= ours and len(seen) >= 2


def test_tickets_outlive_other_certificates_of_one_kind(launch_secure, pairs):
    """The keys of tickets stay; whether a session may be taken up is the certificate's matter."""
    server = launch_secure("--workers", "1")
    both = context()
    both.load_verify_locations(pairs[0].cert)
    with connect(server, tls=both) as client:
        assert client.get(reload_of(pairs[0].cert, pairs[0].key)).status == 200
        session = client.socket.ssl.session
    with connect(server, tls=both, session=session) as client:
        assert client.get("/tls").status == 200
    assert eventually(server.alive)
