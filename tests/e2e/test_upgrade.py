# SPDX-License-Identifier: MIT
"""skua upgrade and SIGUSR2: another program goes on in the process of the one before, and nobody notices."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import h2_client
import pytest
from conf import SKUA, children, ended, get, logs_to, process_of, start, write_folder
from server import Server, check_sanitizers, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = "listen 127.0.0.1:PORT\nworkers 2\nsite * {\n    root pub\n}\n"
LEAVING_MAX = 16  # SUPER_LEAVING_MAX
NEXT = (b"0.2.0\0", b"0.2.9\0")  # of the version's number


@pytest.fixture
def folder(tmp_path):
    write_folder(tmp_path)
    shutil.copy(SKUA, tmp_path / "skua")
    return tmp_path


@pytest.fixture
def server(folder, launch):
    return launch(start, folder, TEXT, program=folder / "skua")


def install(folder, octets, mode=0o755):
    """Puts another file in the place of the program, as package managers do."""
    (folder / "new").write_bytes(octets)
    (folder / "new").chmod(mode)
    (folder / "new").rename(folder / "skua")


def patched(*pairs):
    """The program with other words in it, of the same length."""
    octets = SKUA.read_bytes()
    for before, behind in pairs:
        assert before in octets and len(before) == len(behind)
        octets = octets.replace(before, behind)
    return octets


def script(text):
    """A program that is handed the state, and does something else with it before Skua goes on, or never does."""
    return f"#!{sys.executable}\nimport os, signal, sys, time\nskua = {str(SKUA)!r}\nis_trial = 'SKUA_TRIAL' in os.environ\n{text}\nos.execv(skua, sys.argv)\n".encode()


def command(word, file):
    """Runs a command that waits for its outcome. Returns the exit status, and what it said."""
    ran = subprocess.run([SKUA, word, "-c", file], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stderr


def upgrade(folder):
    return command("upgrade", folder / "skua.conf")


def program_of(pid):
    return pathlib.Path(f"/proc/{pid}/exe").resolve().name, os.stat(f"/proc/{pid}/exe").st_ino


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def take(slow):
    """Reads what is missing of /big behind its first 1000 octets."""
    left = 40_000_000 - 1000
    while left > 0:
        left -= len(slow.exactly(min(65536, left)))


def sequence(server, *lines):
    """The number of the next event of the page."""
    with Connection(server.secure) as live:
        live.send(request("/live", *lines, host="127.0.0.1"))
        assert live.head().status == 200
        while not (found := re.search(rb"(?m)^id: (\d+)$", live.one_chunk())):
            pass
        return int(found.group(1))


def test_the_program_that_is_installed_goes_on(server, folder):
    before, open_before = process_of(server), descriptors(server.pid)
    install(folder, patched(NEXT))
    assert upgrade(folder) == (0, "skua: skua 0.2.9 serves 1 site\n")
    assert eventually(lambda: before not in children(server.pid))
    now = process_of(server)
    assert program_of(server.pid) == program_of(now) == ("skua", (folder / "skua").stat().st_ino)
    assert get(server, "a.test").content == b"<p>here</p>"
    for _ in range(2):  # the one that is there once more, by the signal
        said = server.error_text().count("from now on")
        server.signal(signal.SIGUSR2)
        assert eventually(lambda said=said: server.error_text().count("from now on") > said)
    assert process_of(server) != now and get(server, "a.test").status == 200
    assert eventually(lambda: len(children(server.pid)) == 1)
    assert eventually(lambda: descriptors(server.pid) <= open_before + 1)  # the second copy of a configuration's files
    assert command("reload", folder / "skua.conf")[0] == 0
    assert command("stop", folder / "skua.conf") == (0, "skua: stopped\n")
    server.judge_end()


def test_who_is_served_meanwhile(folder, launch):
    """Idle connections stay until their next response, which says that they close; streams end whole, or run to their end."""
    server = launch(start, folder, TEXT + "status 127.0.0.1:TLS_PORT\n", program=folder / "skua")
    with server.connect(http2=False) as idle, h2_client.Client(server) as multiplexed, server.connect(http2=False) as slow, \
            Connection(server.secure) as live:
        assert idle.get("/", host="a.test").get("connection") is None
        assert multiplexed.get("/").status == 200
        slow.send(request("/big", host="a.test"))
        slow.exactly(1000)
        live.send(request("/live", host="127.0.0.1"))
        assert live.head().status == 200
        assert upgrade(folder)[0] == 0
        live.chunked()  # to its last chunk
        seen = sequence(server)
        assert upgrade(folder)[0] == 0
        assert sequence(server, f"Last-Event-ID: {seen}") > seen
        answer = idle.get("/", host="a.test")
        assert answer.status == 200 and answer.get("connection") == "close" and idle.ended()
        assert multiplexed.goaway()[1] == 0
        take(slow)
    assert eventually(lambda: len(children(server.pid)) == 1)


def test_lines_of_the_state_that_are_unknown(server, folder):
    """Another version may hand over more."""
    install(folder, script("os.pwrite(int(os.environ['SKUA_STATE']), b'weather fine\\n', os.fstat(int(os.environ['SKUA_STATE'])).st_size)"))
    assert upgrade(folder)[0] == 0
    assert get(server, "a.test").status == 200


# ---- Upgrades that come to nothing ----

REFUSED = [
    ("another program", pathlib.Path("/bin/true").read_bytes, 0o755, "ended with 0, and did not say that it can go on from skua"),
    ("no program", lambda: b"\x7fELF" + bytes(100), 0o755, "cannot be executed: it is no program of this machine"),
    ("not executable", SKUA.read_bytes, 0o644, "cannot be executed: it may not be"),
    ("crashes", lambda: script("os.kill(os.getpid(), signal.SIGSEGV)"), 0o755, "ended by signal 11 (Segmentation fault)"),
    ("hangs", lambda: script("time.sleep(1000)"), 0o755, "ended by signal 9 (Killed)"),
    ("another format", lambda: script("os.pwrite(int(os.environ['SKUA_STATE']), b'skua-state 9', 0)"), 0o755,
     "cannot read what a supervisor of another version hands over: skua-state 9"),
    ("a descriptor that is none", lambda: script("os.pwrite(int(os.environ['SKUA_STATE']), b'socket 999 x\\n', os.fstat(int(os.environ['SKUA_STATE'])).st_size)"),
     0o755, "cannot take over what it was handed: socket 999 x"),
    ("never ready", lambda: patched((b"start %d %u %u %s\0", b"wrong %d %u %u %s\0")), 0o755,
     "ended by signal 9 (Killed) before it was ready; the one before goes on"),
]


@pytest.mark.parametrize("make, mode, sentence", [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_the_one_before_goes_on(folder, launch, make, mode, sentence):
    server = launch(start, folder, TEXT + "start_timeout 1min\n", program=folder / "skua")
    file = folder / "skua.conf"
    if "by signal 9" in sentence:  # the others end by themselves, and may take their time
        file.write_text(file.read_text().replace("start_timeout 1min", "start_timeout 5s"))
        assert command("reload", file)[0] == 0
    before, running = process_of(server), program_of(server.pid)[1]
    install(folder, make(), mode)
    status, said = upgrade(folder)
    assert status == 1 and sentence in said
    assert sentence in server.error_text()
    assert children(server.pid) == [before] and program_of(server.pid)[1] == running
    assert get(server, "a.test").status == 200
    os.kill(before, signal.SIGKILL)  # the program before starts servers, too
    assert eventually(lambda: (now := children(server.pid)) and now[-1] != before)
    install(folder, SKUA.read_bytes())
    assert eventually(lambda: upgrade(folder)[0] == 0)


def test_a_file_with_faults(server, folder):
    file = folder / "skua.conf"
    text = file.read_text()
    file.write_text(text + "nonsense\n")
    before = process_of(server)
    status, said = upgrade(folder)
    assert status == 1 and "skua.conf:" in said and "nonsense" in said
    assert children(server.pid) == [before]
    file.write_text(text)
    assert upgrade(folder)[0] == 0


def test_a_file_with_faults_behind_the_trial(server, folder):
    """The new program finds them when it has taken over; the one before comes back."""
    before, running = process_of(server), program_of(server.pid)[1]
    install(folder, script(f"if not is_trial: open({str(folder / 'skua.conf')!r}, 'a').write('nonsense\\n')"))
    status, said = upgrade(folder)
    assert status == 1 and "nonsense" in said
    assert children(server.pid) == [before] and program_of(server.pid)[1] == running
    assert get(server, "a.test").status == 200


def test_a_supervisor_that_fails_behind_its_execution(folder):
    """Its server serves those whom it has to the end; whoever started it starts it anew, and finds its addresses free."""
    server = start(folder, TEXT + "grace 60s\n", program=folder / "skua")
    pid = process_of(server)
    install(folder, script("if not is_trial: sys.exit(3)"))
    with Connection(server.address, receive_buffer=4096) as slow:
        slow.send(request("/big", host="a.test"))
        slow.exactly(1000)
        server.signal(signal.SIGUSR2)
        assert server.wait() == 3
        assert eventually(lambda: "the supervisor is gone" in server.error_text())
        take(slow)
    assert eventually(lambda: ended(pid))
    server.judge_end(3)
    again = Server([SKUA, "-c", folder / "skua.conf"], server.address)
    assert get(again, "a.test").status == 200
    again.stop()


# ---- What changes with it ----


def test_another_configuration(folder, launch):
    """Addresses come and go, the log and the pid_file become others."""
    server = launch(start, folder, TEXT + "access_log one.log\npid_file one.pid\n", program=folder / "skua")
    file = folder / "skua.conf"
    assert get(server, "a.test", "/?before").status == 200
    other = f"127.0.0.1:{server.secure[1]}"
    text = file.read_text().replace("one.", "two.")
    file.write_text(f"{text}listen {other}\n")
    assert upgrade(folder)[0] == 0
    assert eventually(lambda: "/?before" in (folder / "one.log").read_text())
    with Connection(server.secure) as new:
        assert new.get("/?behind", host="a.test").status == 200
    assert eventually(lambda: "/?behind" in (folder / "two.log").read_text())
    assert (folder / "two.pid").read_text() == f"{server.pid}\n" and not (folder / "one.pid").exists()
    (folder / "two.log").rename(folder / "three.log")
    server.signal(signal.SIGUSR1)
    logs_to(server, folder / "two.log")
    assert get(server, "a.test", "/?again").status == 200
    assert eventually(lambda: "/?again" in (folder / "two.log").read_text())
    file.write_text(text)
    assert upgrade(folder)[0] == 0
    with pytest.raises(ConnectionRefusedError):
        assert eventually(lambda: Connection(server.secure).close())


def test_a_stop_meanwhile(folder):
    """It ends the trial, and there is no upgrade."""
    server = start(folder, TEXT, program=folder / "skua")
    install(folder, script("time.sleep(1000)"))
    with subprocess.Popen([SKUA, "upgrade", "-c", folder / "skua.conf"], stderr=subprocess.PIPE, text=True) as waits:
        assert eventually(lambda: len(children(server.pid)) == 2)
        server.signal(signal.SIGTERM)
        server.judge_end()
        assert waits.wait() == 1, waits.stderr.read()


def test_a_server_that_has_crashed_is_upgraded(server, folder):
    """An upgrade may be what helps."""
    for _ in range(4):
        pid = process_of(server)
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda pid=pid: pid not in children(server.pid) and (children(server.pid) or "in 0.8 s" in server.error_text()))
    install(folder, patched(NEXT))
    assert upgrade(folder) == (0, "skua: skua 0.2.9 serves 1 site\n")
    time.sleep(1)  # what was planned is not done
    assert eventually(lambda: len(children(server.pid)) == 1)
    assert get(server, "a.test").status == 200


def test_a_variable_of_somebody_else(folder):
    """SKUA_STATE of another origin means nothing."""
    file = folder / "other.txt"
    file.write_text("other")
    with open(file) as other:
        ran = subprocess.run([SKUA, "--version"], env={**os.environ, "SKUA_STATE": str(other.fileno()), "SKUA_TRIAL": "7"},
                             pass_fds=[other.fileno()], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and ran.stdout.startswith("skua ")
    check_sanitizers(ran.stderr)


@pytest.mark.test_all
def test_more_than_may_leave_at_once(folder):
    """Each server process has a client that does nothing. The oldest is given its grace, and is cut off if there is no place before."""
    server = start(folder, TEXT + "grace 2s\n", program=folder / "skua")
    idle = []
    for _ in range(LEAVING_MAX + 4):
        idle.append(server.connect(http2=False))
        assert idle[-1].get("/", host="a.test").status == 200
        assert upgrade(folder)[0] == 0
        assert len(children(server.pid)) <= LEAVING_MAX + 2  # one that is cut off may be waited for
    assert eventually(lambda: len(children(server.pid)) <= LEAVING_MAX)
    assert idle[0].ended() and idle[1].ended()
    answer = idle[-1].get("/", host="a.test")
    assert answer.status == 200 and answer.get("connection") == "close"
    for connection in idle:
        connection.close()
    assert eventually(lambda: len(children(server.pid)) == 1)
    assert eventually(lambda: descriptors(server.pid) < 30)
    server.stop()
