# SPDX-License-Identifier: MIT
"""skua -c FILE: another configuration by SIGHUP. What changes, what stays, and what those notice who are being served."""

import os
import pathlib
import re
import signal
import socket
import ssl
import threading

import pytest
from certificates import make
from conf import basic, children, get, of, process_of, start, write_folder
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families
from server import SLOW, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

# anna: secret; bert: geheim. At the least cost.
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"
BERT = "bert:$2y$04$bbbbbbbbbbbbbbbbbbbbbOjBtehXAzPOjwxjK/HO1KpwUeovTTaRW\n"

# All of the folder, so that another root there needs no other process.
BEGINNING = "listen 127.0.0.1:PORT\nworkers 2\nsandbox_paths .\n"
PUB = "site a.test {\n    root pub\n}\n"
OTHER = "site a.test {\n    root other\n}\n"


@pytest.fixture
def folder(tmp_path):
    folder = write_folder(tmp_path)
    (folder / "other" / "index.html").write_text("<p>there</p>")
    return folder


class Reloads:
    """A server whose configuration is written anew. Ports are those of its start."""

    def __init__(self, server, folder):
        self.server, self.file, self.count = server, folder / "skua.conf", 0
        self.ports = {"TLS_PORT": str(server.secure[1]), "PORT": str(server.port)}

    def write(self, text):
        for word, port in self.ports.items():
            text = text.replace(word, port)
        backend = re.match(r"backend \w+\n", self.file.read_text())
        self.file.write_text((backend.group() if backend else "") + text)

    def said(self):
        return len(re.findall(r"the configuration (?:has been read again|stays as it is)", self.server.error_text()))

    def reload(self, text=None):
        """Returns what the server has said to it."""
        if text is not None:
            self.write(text)
        said, before = self.said(), len(self.server.error_text())
        self.server.signal(signal.SIGHUP)
        assert eventually(lambda: self.said() > said), self.server.error_text()
        return self.server.error_text()[before:]


@pytest.fixture
def reloads(folder, launch):
    def begin(text):
        return Reloads(launch(start, folder, text), folder)

    return begin


def test_sites_change_and_connections_stay(reloads):
    it = reloads(BEGINNING + PUB + "site gone.test {\n root pub\n}\n")
    kept = it.server.connect()
    assert kept.get("/", host="a.test").content == b"<p>here</p>"
    assert kept.get("/", host="gone.test").status == 200
    said = it.reload(BEGINNING + OTHER + "site new.test {\n root pub\n cache 1h\n}\n")
    assert "read again, and has 2 sites" in said
    assert kept.get("/", host="a.test").content == b"<p>there</p>"
    assert kept.get("/", host="gone.test").status == 421
    assert kept.get("/", host="new.test").get("cache-control") == "max-age=3600"


FAULTS = [("site b.test {\n    rot pub\n}\n", r"skua\.conf:\d+:5: there is no directive \"rot\"; did you mean root\?"),
          ("site b.test {\n    root missing\n}\n", r"skua\.conf:\d+:\d+: .*missing"),
          ("site b.test {\n", r"skua\.conf:\d+:\d+: "),
          ("site b.test {\n    root pub\n    basic_auth Staff nobody.users\n}\n", r"skua\.conf:\d+:\d+: the users of "),
          ("site a.test {\n    root pub\n}\n", r"skua\.conf:\d+:\d+: a\.test")]


@pytest.mark.parametrize("added, sentence", FAULTS, ids=[f"fault{i}" for i in range(len(FAULTS))])
def test_a_file_with_faults_changes_nothing(reloads, added, sentence):
    it = reloads(BEGINNING + PUB)
    said = it.reload(BEGINNING + OTHER + added)
    assert re.search(sentence, said), said
    assert "skua: the configuration stays as it is, since the file has 1 fault\n" in said
    assert get(it.server, "a.test").content == b"<p>here</p>"
    assert get(it.server, "b.test").status == 421
    it.reload(BEGINNING + OTHER)
    assert get(it.server, "a.test").content == b"<p>there</p>"


def test_a_file_that_is_gone_changes_nothing(reloads):
    it = reloads(BEGINNING + PUB)
    text = it.file.read_text()
    it.file.unlink()
    assert "skua.conf" in it.reload()
    assert get(it.server, "a.test").content == b"<p>here</p>"
    it.file.write_text(text)
    assert "has 1 site" in it.reload()


def test_a_download_goes_on_in_the_site_that_it_began_in(reloads, folder):
    it = reloads(BEGINNING + PUB)
    slow = Connection(it.server.address, receive_buffer=4096)
    slow.send(request("/big", host="a.test"))
    slow.exactly(1000)
    for i in range(3):
        it.reload(BEGINNING + f"site b.test {{\n root {'pub' if i % 2 else 'other'}\n}}\n")
    assert get(it.server, "a.test").status == 421
    (folder / "pub" / "big").unlink()
    size, taken = 40_000_000, 1000
    while taken < size:
        taken += len(slow.exactly(min(65536, size - taken)))
    slow.close()


def refuses(address):
    try:
        socket.create_connection(address, 10).close()
        return False
    except ConnectionRefusedError:
        return True


def test_what_belongs_to_the_server_takes_another_process(reloads):
    it = reloads(BEGINNING + "keep_alive_timeout 30s\n" + PUB)
    first, port = process_of(it.server), free_port()
    text = BEGINNING + f"listen 127.0.0.1:{port}\nkeep_alive_timeout 31s\n" + OTHER
    said = it.reload(text)
    assert re.search(r"skua\.conf:\d+:1: a change of keep_alive_timeout takes another server process", said)
    assert "read again, and has 1 site; another server process serves it" in said
    assert get(it.server, "a.test").content == b"<p>there</p>"
    with Connection(("127.0.0.1", port)) as new:
        assert new.get("/", host="a.test").content == b"<p>there</p>"
    assert eventually(lambda: first not in children(it.server.pid))
    said = it.reload(BEGINNING + "keep_alive_timeout 30s\n" + PUB)
    assert "another server process" in said
    assert eventually(lambda: refuses(("127.0.0.1", port)))
    second = process_of(it.server)
    assert "another server process" not in it.reload(BEGINNING + "keep_alive_timeout 30s\n" + OTHER)
    assert process_of(it.server) == second


class Connectors:
    """Clients of an address that goes, each with a connection per request, until they are refused."""

    def __init__(self, address, count=3):
        self.address, self.answered, self.faults = address, 0, []
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        while True:
            try:
                connection = Connection(self.address)
            except ConnectionRefusedError:
                return
            try:
                with connection:
                    assert connection.get("/", host="a.test").status == 200
                self.answered += 1
            except Exception as fault:  # pylint: disable=broad-except
                self.faults.append(fault)
                return

    def end(self):
        for thread in self.threads:
            thread.join()
        assert not self.faults and self.answered > 0, self.faults


@of("listen", "workers")
@pytest.mark.parametrize("other_process", [False, True])
def test_listeners_and_workers_change(reloads, folder, other_process):
    """In the same process, unless something else takes another one. Nobody who has connected to an address that goes is lost."""
    it = reloads(BEGINNING + PUB)
    first, port = process_of(it.server), free_port()
    kept = Connection(it.server.address)
    assert kept.get("/", host="a.test").status == 200
    more = f"listen 127.0.0.1:{port}\nlisten unix:{folder}/s\n"
    assert "has 1 site" in it.reload(BEGINNING.replace("workers 2", "workers 4") + more + PUB)
    assert process_of(it.server) == first
    assert get(it.server, "a.test").content == b"<p>here</p>"
    clients = Connectors(("127.0.0.1", port))
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    assert eventually(lambda: clients.answered > 10)
    it.reload(BEGINNING.replace("workers 2", "workers 1") + ("keep_alive_timeout 31s\n" if other_process else "") + PUB)
    assert (process_of(it.server) != first) == other_process
    for quiet in silent:
        quiet.sendall(request("/", host="a.test"))
        with quiet:
            assert quiet.recv(4096).startswith(b"HTTP/1.1 200")
    clients.end()
    assert eventually(lambda: not (folder / "s").exists())
    assert kept.get("/", host="a.test").status == 200
    kept.close()
    assert it.reload(BEGINNING + f"listen 127.0.0.1:{port}\n" + PUB)
    with Connection(("127.0.0.1", port)) as new:
        assert new.get("/", host="a.test").status == 200


LIMITED = BEGINNING + "site a.test {\n    root pub\n    limit_requests 1/h burst 2\n    cache %s\n}\n"


def test_a_reload_forgives_nobody(reloads):
    it = reloads(LIMITED % "1h")
    assert [get(it.server, "a.test").status for _ in range(3)] == [200, 200, 429]
    it.reload(LIMITED % "2h")
    assert get(it.server, "a.test").status == 429
    it.reload((LIMITED % "2h").replace("burst 2", "burst 3"))  # another limit
    assert get(it.server, "a.test").status == 200


def test_passwords_of_another_file(reloads, folder):
    (folder / "first.users").write_text(ANNA)
    (folder / "second.users").write_text(BERT)
    text = BEGINNING + "site a.test {\n    root pub\n    basic_auth Staff %s.users\n}\n"
    it = reloads(text % "first")
    assert get(it.server, "a.test", "/", basic("anna", "secret")).status == 200
    it.reload(text % "second")
    assert get(it.server, "a.test", "/", basic("anna", "secret")).status == 401
    assert get(it.server, "a.test", "/", basic("bert", "geheim")).status == 200


def test_clients_that_ask_meanwhile(reloads, folder):
    """Kept connections, new ones, passwords that are being computed, clients that leave: nobody is refused."""
    (folder / "staff.users").write_text(ANNA)
    for name in ("pub", "other"):
        (folder / name / "staff.html").write_text("<p>staff</p>")
    text = BEGINNING + "site a.test {\n    root %s\n    limit_requests 1000000/s\n    path = /staff.html {\n        basic_auth Staff staff.users\n    }\n}\n"
    it = reloads(text % "pub")
    over, wrong, asked = threading.Event(), [], [0, 0, 0]

    def keep_asking(number):
        try:
            with Connection(it.server.address) as kept:
                while not over.is_set():
                    status = kept.get("/", host="a.test").status
                    asked[number] += 1
                    if status != 200:
                        wrong.append(status)
        except OSError as failure:
            wrong.append(failure)

    def ask_anew():
        try:
            while not over.is_set():
                response = get(it.server, "a.test", "/staff.html", basic("anna", "secret"))
                asked[2] += 1
                if response.status != 200:
                    wrong.append(response.status)
        except OSError as failure:
            wrong.append(failure)

    def leave():
        while not over.is_set():
            with socket.create_connection(it.server.address) as left:
                left.sendall(request("/staff.html", basic("anna", "wrong"), host="a.test"))

    askers = [threading.Thread(target=keep_asking, args=(i,)) for i in range(2)]
    askers += [threading.Thread(target=ask_anew), threading.Thread(target=leave)]
    for asker in askers:
        asker.start()
    for i in range(20):
        it.reload(text % ("other" if i % 2 else "pub"))
    over.set()
    for asker in askers:
        asker.join()
    # those who leave have failed often enough for the address to be refused for a while
    assert not [one for one in wrong if one != 429], wrong[:5]
    assert min(asked) > 0


def test_nothing_is_left_behind(reloads):
    it = reloads(BEGINNING + PUB)
    pid = process_of(it.server)
    count = lambda: len(os.listdir(f"/proc/{pid}/fd")) + len(os.listdir(f"/proc/{it.server.pid}/fd"))
    get(it.server, "a.test")
    for i in range(3):
        it.reload(BEGINNING + (OTHER if i % 2 else PUB))
        get(it.server, "a.test")
    before = count()
    for i in range(20):
        it.reload(BEGINNING + (OTHER if i % 2 else PUB))
        get(it.server, "a.test")
    assert eventually(lambda: count() <= before), count()


def test_figures_of_reloads(reloads):
    port = free_port()
    beginning = BEGINNING + f"status 127.0.0.1:{port}\n"

    def figures():
        with Connection(("127.0.0.1", port)) as probe:
            text = probe.get("/metrics").content.decode()
        return {sample.name + str(sample.labels.get("outcome", "")): sample.value
                for family in text_string_to_metric_families(text) for sample in family.samples
                if sample.name.startswith("skua_config_")}

    it = reloads(beginning + PUB)
    first = figures()
    assert first["skua_config_last_reload_successful"] == 1 and first["skua_config_reloads_totalaccepted"] == 0
    it.reload(beginning + OTHER)
    it.reload(beginning + "nonsense\n")
    assert eventually(lambda: (last := figures())["skua_config_last_reload_successful"] == 0 and last["skua_config_reloads_totalrefused"])
    last = figures()
    assert last["skua_config_reloads_totalaccepted"] == last["skua_config_reloads_totalrefused"] == 1
    assert last["skua_config_last_reload_success_timestamp_seconds"] >= first["skua_config_last_reload_success_timestamp_seconds"] > 0
    with Connection(("127.0.0.1", port)) as page:
        page.send(request("/live"))
        page.head()
        assert eventually(lambda: b'"fault":"' in page.one_chunk())


# ---- TLS ----

SECURE = BEGINNING + "listen 127.0.0.1:TLS_PORT tls\n%s\nsite one.test {\n    certificate one.pem one.key\n    root pub\n}\n"
SECOND = "site two.test {\n    certificate two.pem two.key\n    root other\n}\n"


def shaken(server, trusted, name, newest=None):
    made = ssl.create_default_context(cafile=trusted.cert)
    if newest:
        made.maximum_version = newest
    return made.wrap_socket(socket.create_connection(server.secure, SLOW), server_hostname=name)


def test_certificates_of_sites_that_come(reloads, folder):
    pairs = {name: make(folder, name, names=f"DNS:{name}.test") for name in ("one", "two")}
    it = reloads(SECURE % "")
    with pytest.raises(ssl.SSLError):
        shaken(it.server, pairs["two"], "two.test")
    with shaken(it.server, pairs["one"], "one.test") as kept:
        it.reload(SECURE % "" + SECOND)
        shaken(it.server, pairs["two"], "two.test").close()
        kept.sendall(request("/", host="one.test"))
        assert kept.recv(64).startswith(b"HTTP/1.1 200")
    shaken(it.server, pairs["one"], "one.test", ssl.TLSVersion.TLSv1_2).close()
    assert "takes effect" not in it.reload(SECURE % "tls_oldest 1.3" + SECOND)
    with pytest.raises(ssl.SSLError):
        shaken(it.server, pairs["one"], "one.test", ssl.TLSVersion.TLSv1_2)
    # files that change are those of the configuration in use
    good = pathlib.Path(pairs["two"].cert).read_bytes()
    pathlib.Path(pairs["two"].cert).write_bytes(b"nonsense")
    assert "stays as it is" in it.reload(SECURE % "" + SECOND)
    pathlib.Path(pairs["two"].cert).write_bytes(good)
    shaken(it.server, pairs["two"], "two.test").close()


def test_tls_comes_and_goes(reloads, folder):
    pairs = {name: make(folder, name, names=f"DNS:{name}.test") for name in ("one", "two")}
    it = reloads(SECURE % "")
    assert "a change of listen takes another server process" in it.reload(BEGINNING + PUB)
    assert eventually(lambda: refuses(it.server.secure))
    assert get(it.server, "a.test").status == 200
    it.reload(SECURE % "" + SECOND)
    shaken(it.server, pairs["two"], "two.test").close()
