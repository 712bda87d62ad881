# SPDX-License-Identifier: MIT
"""skua -c FILE: what breaks around a server that serves, and comes back: disks, logs, roots and keys. Each fault is made for
real; it is said in a sentence that docs/operating.md explains, clients get what the table says, and nobody starts the server
anew when it is gone."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess

import pytest
from certificates import make
from conf import SKUA, ended, get, logs_to, of, process_of, start, whole_lines
from prometheus_client.parser import text_string_to_metric_families
from server import ROOT, eventually
from wire import Connection

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

PAGE = (ROOT / "docs/operating.md").read_text()
PLAIN = "listen 127.0.0.1:PORT\nstatus 127.0.0.1:TLS_PORT\naccess_log logs/access.log json\nsite * {\n    root www\n}\n"
SECURE = "listen 127.0.0.1:PORT\nlisten 127.0.0.1:TLS_PORT tls\nsite a.test {\n    certificate a.pem a.key\n    root www\n}\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("logs", "www"):
        (tmp_path / name).mkdir()
    (tmp_path / "www" / "index.html").write_text("first")
    return tmp_path


@pytest.fixture
def serving(folder, launch):
    server = launch(start, folder, PLAIN)
    server.folder = folder
    return server


def says(server, sentence, count=1):
    """The server says it, so often and no more, and the manual knows it."""
    assert eventually(lambda: server.error_text().count(sentence) >= count), server.error_text()
    assert server.error_text().count(sentence) == count, server.error_text()


def is_explained(sentence):
    return re.sub(r"`", "", sentence) in PAGE.replace("`", "")


def content(server, path="/"):
    return get(server, "a", path).content


def lines_in(*files):
    return [json.loads(line) for file in files if file.exists() for line in whole_lines(file)]


def lost_lines(server):
    with Connection(server.secure) as connection:
        text = connection.get("/metrics").content.decode()
    return next(sample.value for family in text_string_to_metric_families(text) for sample in family.samples
                if sample.name == "skua_log_lines_lost_total")


def said_lost(server):
    return sum(map(int, re.findall(r"(\d+) lines? (?:was|were) lost", server.error_text())))


# ---- The log ----


@contextlib.contextmanager
def small_disk(folder):
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 4096)


def test_a_disk_that_is_full_and_has_room_again(folder, launch):
    """Lines wait for room as long as there is memory for them. Those that do not fit are counted, in the figures and in a
    sentence: together with those that were written they are as many as the requests."""
    with small_disk(folder / "logs") as disk:
        server = launch(start, folder, PLAIN)
        assert content(server) == b"first"
        fill(disk)
        with server.connect() as client:
            for _ in range(2600):
                assert client.get("/?" + "x" * 7900).status == 200
        says(server, "the access log cannot be written: the disk is full; its lines are kept until it can")
        (disk / "filler").unlink()
        assert subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        assert eventually(lambda: "the log can be written again" in server.error_text())
        assert content(server) == b"first"
        assert eventually(lambda: len(lines_in(disk / "access.log")) + said_lost(server) == 2602)
        assert 0 < said_lost(server) == lost_lines(server)
        server.stop()


def test_a_short_want_of_room_loses_nothing(folder, launch):
    with small_disk(folder / "logs") as disk:
        server = launch(start, folder, PLAIN)
        fill(disk)
        assert [content(server) for _ in range(100)] == [b"first"] * 100
        says(server, "the access log cannot be written: the disk is full; its lines are kept until it can")
        (disk / "filler").unlink()
        assert eventually(lambda: len(lines_in(disk / "access.log")) == 100)
        says(server, "the log can be written again\n")
        assert lost_lines(server) == 0 and "lost" not in server.error_text()
        server.stop()


def rotated(server, log):
    log.rename(log.parent / "old.log")
    server.signal(signal.SIGUSR1)
    logs_to(server, log)


def upgraded(server, log):
    former = process_of(server)
    server.signal(signal.SIGUSR2)
    assert eventually(lambda: "serves 1 site from now on" in server.error_text()) and eventually(lambda: ended(former))


@pytest.mark.parametrize("change", [rotated, upgraded])
def test_a_change_while_the_disk_is_full_joins_no_lines(folder, launch, change):
    """The file ends within a line then. Its rest does not follow there, and no other line does: it alone is lost, and said."""
    with small_disk(folder / "logs") as disk:
        server, log = launch(start, folder, PLAIN), disk / "access.log"
        fill(disk)
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - 4096)
        assert [content(server) for _ in range(100)] == [b"first"] * 100
        assert eventually(lambda: log.read_text() and not log.read_text().endswith("\n"))
        change(server, log)
        (disk / "filler").unlink()
        assert content(server) == b"first"
        logs = [file for file in (disk / "old.log", log) if file.exists()]
        whole = lambda: [line for file in logs for line in file.read_text().splitlines() if line.endswith("}")]
        assert eventually(lambda: len(whole()) + said_lost(server) == 101), server.error_text()
        assert [json.loads(line)["status"] for line in whole()] == [200] * len(whole()) and said_lost(server) >= 1
        server.stop()


def test_a_device_that_is_always_full(folder, launch):
    (folder / "logs" / "access.log").symlink_to("/dev/full")
    server = launch(start, folder, PLAIN)
    assert [content(server) for _ in range(10)] == [b"first"] * 10
    says(server, "the access log cannot be written: the disk is full\n")
    log = folder / "logs" / "access.log"
    log.unlink()
    server.signal(signal.SIGUSR1)
    logs_to(server, log)
    assert content(server) == b"first"
    assert eventually(lambda: lines_in(log)), "it is another file, without a start"
    assert eventually(lambda: len(lines_in(log)) + said_lost(server) == 11)
    assert 0 < said_lost(server) == lost_lines(server)


def missing(logs):
    logs.rmdir()


def a_folder(logs):
    (logs / "access.log").mkdir()


def of_a_file(logs):
    logs.rmdir()
    logs.write_text("")


@of("access_log")
@pytest.mark.parametrize("spoil, why", [(missing, "its folder is missing"), (a_folder, "it is a folder"),
                                        (of_a_file, "its folder is missing")])
def test_a_log_that_cannot_be_written_at_the_start(folder, spoil, why):
    spoil(folder / "logs")
    (folder / "skua.conf").write_text(PLAIN.replace("TLS_PORT", "0").replace("PORT", "0"))
    for words in (["check", "-c"], ["-c"]):
        done = subprocess.run([SKUA, *words, "skua.conf"], cwd=folder, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 1 and f"skua.conf:3:12: the log logs/access.log cannot be written: {why}" in done.stderr + done.stdout


@pytest.mark.parametrize("spoil, repair", [
    (lambda logs: logs.rename(logs.parent / "aside"), lambda logs: (logs.parent / "aside").rename(logs)),
    (lambda logs: ((logs / "access.log").rename(logs / "old"), (logs / "access.log").mkdir()), lambda logs: (logs / "access.log").rmdir()),
], ids=["no folder", "a folder in its place"])
def test_a_log_that_cannot_be_opened_again(serving, spoil, repair):
    """Lines go on into the former file, until a signal finds the new one: none is lost."""
    logs = serving.folder / "logs"
    assert content(serving) == b"first"
    assert eventually(lambda: lines_in(logs / "access.log"))
    spoil(logs)
    serving.signal(signal.SIGUSR1)
    says(serving, "the log cannot be opened again, and stays in its former file")
    assert [content(serving) for _ in range(20)] == [b"first"] * 20
    files = [serving.folder / "aside" / "access.log", logs / "old"]
    assert eventually(lambda: len(lines_in(*files)) == 21)
    repair(logs)
    serving.signal(signal.SIGUSR1)
    assert eventually(lambda: content(serving) == b"first" and (logs / "access.log").exists())
    last = lambda: get(serving, "a", "/last").status == 404
    assert eventually(lambda: last() and any(line["request"]["uri"] == "/last" for line in lines_in(logs / "access.log")))
    says(serving, "the log cannot be opened again, and stays in its former file")


def test_a_pipe_without_a_reader(folder, launch):
    """It is refused at once, at the start and when the log is opened again: nobody may ever come to read it."""
    pipe = folder / "logs" / "access.log"
    os.mkfifo(pipe)
    (folder / "skua.conf").write_text(PLAIN.replace("status 127.0.0.1:TLS_PORT\n", "").replace("PORT", "0"))
    done = subprocess.run([SKUA, "-c", "skua.conf"], cwd=folder, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "the log logs/access.log cannot be written" in done.stderr
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    server = launch(start, folder, PLAIN)
    assert content(server) == b"first"
    assert eventually(lambda: select.select([reader], [], [], 0)[0] and b'"uri":"/"' in os.read(reader, 65536))
    os.close(reader)
    server.signal(signal.SIGUSR1)
    says(server, "the log cannot be opened again, and stays in its former file")
    assert content(server) == b"first"
    server.stop()


# ---- Roots ----

GONE = "the root {} is gone: it is served as far as it is still open"
ANOTHER = "the root {} is another folder: the configuration is read again"
BACK = "the root {} is there again"


def test_a_root_that_is_moved_away_and_back(serving):
    www = serving.folder / "www"
    (www / "unread.txt").write_text("unread")
    www.rename(serving.folder / "aside")
    says(serving, GONE.format(www))
    assert content(serving) == b"first" and content(serving, "/unread.txt") == b"unread", "it is still open"
    (serving.folder / "aside").rename(www)
    says(serving, BACK.format(www))
    assert content(serving) == b"first" and "read again" not in serving.error_text()


def test_a_root_that_is_removed_and_made_again(serving):
    www = serving.folder / "www"
    assert content(serving) == b"first"
    shutil.rmtree(www)
    says(serving, GONE.format(www))
    assert eventually(lambda: get(serving, "a").status == 404), "also what was in memory"
    for text in (b"second", b"third"):
        www.mkdir()
        (www / "index.html").write_bytes(text)
        assert eventually(lambda: content(serving) == text), serving.error_text()
        shutil.rmtree(www)
        assert eventually(lambda: get(serving, "a").status == 404)
    says(serving, ANOTHER.format(www), 2)


def test_a_root_that_another_folder_takes_the_place_of(serving):
    """By a rename, as sites are brought out: no request fails meanwhile."""
    www, statuses = serving.folder / "www", set()
    (serving.folder / "next").mkdir()
    (serving.folder / "next" / "index.html").write_text("next")
    www.rename(serving.folder / "before")
    (serving.folder / "next").rename(www)
    answers = lambda: (answer := get(serving, "a"), statuses.add(answer.status)) and answer.content
    assert eventually(lambda: answers() == b"next")
    assert statuses == {200}
    assert eventually(lambda: ANOTHER.format(www) in serving.error_text())


def test_a_root_that_is_a_link_to_another_folder(folder, launch):
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(name)
    (folder / "current").symlink_to("one")
    server = launch(start, folder, PLAIN.replace("root www", "root current"))
    assert content(server) == b"one"
    (folder / "coming").symlink_to("two")
    (folder / "coming").rename(folder / "current")
    assert eventually(lambda: content(server) == b"two")
    says(server, ANOTHER.format(folder / "current"))


def test_a_configuration_that_is_wrong_when_a_root_is_another_folder(serving):
    """The root waits for whoever repairs the file, and the file's fault is said once."""
    www, file = serving.folder / "www", serving.folder / "skua.conf"
    right = file.read_text()
    file.write_text(right + "nonsense\n")
    www.rename(serving.folder / "before")
    www.mkdir()
    (www / "index.html").write_text("second")
    says(serving, "the configuration stays as it is, since the file has 1 fault")
    assert content(serving) == b"first"
    file.write_text(right)
    subprocess.run([SKUA, "reload", "-c", file], check=True, timeout=60)
    assert eventually(lambda: content(serving) == b"second")
    says(serving, "the configuration stays as it is, since the file has 1 fault")


# ---- Keys ----


def no_key(key):
    key.unlink()


def garbage(key):
    key.write_text("garbage")


def nothing(key):
    key.write_text("")


def another(key):
    make(key.parent, "other", names="DNS:a.test")
    shutil.copy(key.parent / "other.key", key)


def folder_for_a_key(key):
    key.unlink()
    key.mkdir()


KEYS = [
    (no_key, "cannot read the key {}: there is no such file"),
    (garbage, "the key {} has no private key in PEM"),
    (nothing, "the key {} has no private key in PEM"),
    (folder_for_a_key, "the key {} is not a file"),
    (another, "the key {} does not belong to the certificate"),
]


@pytest.fixture
def keyed(folder):
    make(folder, "a", names="DNS:a.test")
    return folder


@of("certificate")
@pytest.mark.parametrize("spoil, sentence", KEYS)
def test_a_key_that_cannot_be_used_at_the_start(keyed, spoil, sentence):
    key = keyed / "a.key"
    spoil(key)
    (keyed / "skua.conf").write_text(SECURE.replace("TLS_PORT", "0").replace("PORT", "0"))
    for words in (["check", "-c"], ["-c"]):
        done = subprocess.run([SKUA, *words, keyed / "skua.conf"], capture_output=True, text=True, timeout=20, check=False)
        said = done.stderr + done.stdout
        assert done.returncode == 1 and re.search(r"skua.conf:4:\d+: .*" + re.escape(sentence.format(key)), said), said


def secured(server, trusted):
    """The serial number of the certificate that a new client gets, and the page."""
    context = ssl.create_default_context(cafile=trusted)
    with contextlib.closing(socket.create_connection(server.secure)) as raw, \
            context.wrap_socket(raw, server_hostname="a.test") as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        text = b"".join(iter(lambda: client.recv(4096), b""))
        return client.getpeercert()["serialNumber"], text.endswith(b"first")


@pytest.mark.test_all
@pytest.mark.of_tls
def test_keys_that_cannot_be_used_while_it_serves(keyed, launch):
    """At the look every two seconds and at a reload: the former certificate goes on, and the next right one is taken."""
    server = launch(start, keyed, SECURE)
    key, cert, first = keyed / "a.key", keyed / "a.pem", keyed / "first.pem"
    kept = keyed / "kept.key"
    shutil.copy(cert, first)
    shutil.copy(key, kept)
    serial = secured(server, first)
    assert serial[1]
    for spoil, sentence in KEYS:
        said = lambda before=len(server.error_text()): server.error_text()[before:]
        spoil(key)
        assert eventually(lambda: sentence.format(key) in said()), said()
        server.signal(signal.SIGHUP)
        assert eventually(lambda: "the configuration stays as it is, since the file has 1 fault" in said()), said()
        assert secured(server, first) == serial
        if key.is_dir():
            key.rmdir()
        shutil.copy(kept, key)
    make(keyed, "a", names="DNS:a.test")
    assert eventually(lambda: _is_new(server, cert, serial)), server.error_text()


def _is_new(server, cert, serial):
    try:
        return secured(server, cert)[0] != serial[0]
    except ssl.SSLError:
        return False


# ---- The manual ----


@pytest.mark.parametrize("sentence", [
    "the access log cannot be written: WHY; its lines are kept until it can", "the log can be written again: N lines were lost",
    "the log cannot be opened again, and stays in its former file", "FILE:LINE:COLUMN: the log FILE cannot be written: WHY",
    GONE.format("FOLDER"), ANOTHER.format("FOLDER"), BACK.format("FOLDER"),
    "the certificates stay as they are: WHY", "cannot read the key FILE: WHY", "the key FILE has no private key in PEM",
    "the key FILE is not a file", "the configuration stays as it is, since the file has N faults",
])
def test_the_manual_explains_it(sentence):
    assert is_explained(sentence)
