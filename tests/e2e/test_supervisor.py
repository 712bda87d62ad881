# SPDX-License-Identifier: MIT
"""skua -c FILE is two processes: what becomes of the one when something happens to the other."""

import contextlib
import errno
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

import h2_client
import pytest
from conf import SKUA, children, crash, ended, get, of, process_of, replaced, start, write_folder
from ports import free_port
from seccomp import CLONE, CLONE3, CLONE_THREAD, PIPE2, forbid
from server import Server, check_sanitizers, eventually
from wire import Connection, request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = "listen 127.0.0.1:PORT\nworkers 2\nsite * {\n    root pub\n}\n"


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


@pytest.fixture
def server(folder, launch):
    return launch(start, folder, TEXT)


def answer(server):
    """The response of the next server process. It is waited for, and never refused; but a ring of the kernel's may accept for a
    moment when its process has ended already."""
    def ask():
        try:
            return get(server, "a.test")
        except (ConnectionResetError, EOFError):
            return None
    return eventually(ask)


def test_a_server_that_crashes_is_replaced(server):
    before = crash(server)
    # the socket is still open, so that this waits and is not refused
    assert answer(server).content == b"<p>here</p>"
    assert process_of(server) != before
    assert f"skua: the server process {before} ended by signal 9 (Killed); another is started in 0.1 s" in server.error_text()


def test_no_listener_is_lost(server):
    """While a server process is killed again and again, no connection is refused."""
    over, refused, answered = threading.Event(), [], [0]

    def ask():
        while not over.is_set():
            try:
                with socket.create_connection(server.address, 10):
                    answered[0] += 1
            except OSError as failure:
                refused.append(failure)

    asker = threading.Thread(target=ask)
    asker.start()
    for _ in range(3):
        assert replaced(server, crash(server))
        assert answer(server).status == 200
    over.set()
    asker.join()
    assert not refused and answered[0] > 0
    said = [line.rsplit(" in ", 1)[1] for line in server.error_text().splitlines() if "another is started" in line]
    assert said == ["0.1 s", "0.2 s", "0.4 s"]


def texts(supervisor):
    """The number of configurations that a supervisor holds."""
    def is_text(link):
        try:
            return os.readlink(link).startswith("/memfd:skua")
        except FileNotFoundError:  # it has just been closed
            return False
    return sum(map(is_text, pathlib.Path(f"/proc/{supervisor}/fd").iterdir()))


def sleeps(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def taken_over(server):
    return server.error_text().count("another server process serves it")


def stop_the_next(server, file, text):
    """Reloads to that configuration by another server process, which is stopped before it is ready. Returns: the number of the one
    that serves, and its own. Tries again when it was ready before this test came to stop it."""
    for _ in range(20):
        before, times = process_of(server), taken_over(server)
        file.write_text(f"keep_alive_timeout {30 + times}s\n{text}")  # another one each time
        server.signal(signal.SIGHUP)
        coming = eventually(lambda: [one for one in children(server.pid) if one != before], every=0)[-1]
        os.kill(coming, signal.SIGSTOP)
        if not eventually(lambda: taken_over(server) > times, within=0.5):
            return before, coming
        os.kill(coming, signal.SIGCONT)
        assert eventually(lambda: children(server.pid) == [coming])
    raise AssertionError("each was ready before it could be stopped")


def test_servers_that_crash_in_the_middle_of_reloads(server, folder):
    """One while it is asked to take a configuration, and the next while the one that is to take its place is starting."""
    before, held = process_of(server), texts(server.pid)
    os.kill(before, signal.SIGSTOP)
    server.signal(signal.SIGHUP)
    # it has read one more, has sent it, and waits for the answer
    assert eventually(lambda: texts(server.pid) > held and sleeps(server.pid))
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: f"the server process {before} ended by signal 9 (Killed) and did not take the configuration" in server.error_text())
    assert replaced(server, before) and answer(server).status == 200
    text = (folder / "skua.conf").read_text()
    for _ in range(2):
        before, coming = stop_the_next(server, folder / "skua.conf", text)
        times = taken_over(server)
        os.kill(before, signal.SIGKILL)
        assert eventually(lambda before=before: f"the server process {before} ended by signal 9" in server.error_text())
        assert answer(server).status == 200  # by another one, which has been started in its place
        os.kill(coming, signal.SIGCONT)
        assert eventually(lambda coming=coming: children(server.pid) == [coming])
        assert answer(server).status == 200
        assert eventually(lambda times=times: taken_over(server) == times + 1)


def test_it_comes_back_with_what_was_read(server, folder):
    """Whatever has become of the file meanwhile."""
    (folder / "skua.conf").write_text("nonsense\n")
    crash(server)
    assert answer(server).content == b"<p>here</p>"
    assert "nonsense" not in server.error_text()


@of("start_timeout")
def test_a_server_that_is_never_ready(folder, launch):
    server = launch(start, folder, TEXT)
    file = folder / "skua.conf"
    # a process that is stopped before it begins is what hangs
    before, _ = stop_the_next(server, file, file.read_text() + "start_timeout 1s\n")
    assert eventually(lambda: "was not ready in time" in server.error_text())
    assert eventually(lambda: "the one before goes on" in server.error_text())
    assert process_of(server) == before
    assert get(server, "a.test").status == 200


def test_a_supervisor_that_is_killed(folder):
    """The server ends, when those who are being served have been, so that whoever started it finds the address free."""
    server = start(folder, TEXT)
    pid = process_of(server)
    with Connection(server.address, receive_buffer=4096) as slow:
        slow.send(request("/big", host="a.test"))
        slow.exactly(1000)
        server.process.kill()
        server.process.wait()
        assert eventually(lambda: "the supervisor is gone" in server.error_text())
        size, taken = 40_000_000, 1000
        while taken < size:
            taken += len(slow.exactly(min(65536, size - taken)))
    assert eventually(lambda: ended(pid))
    check_sanitizers(server.error_text())
    again = Server([SKUA, "-c", folder / "skua.conf"], server.address)
    assert get(again, "a.test").status == 200
    again.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_of_a_terminal_go_to_both(folder, number):
    """A shell sends them to the whole group; the server leaves what they mean to the supervisor."""
    server = start(folder, TEXT, preexec=os.setpgrp)
    pid = process_of(server)
    with Connection(server.address, receive_buffer=4096) as slow:
        slow.send(request("/big", host="a.test"))
        slow.exactly(1000)
        os.killpg(server.pid, number)
        assert eventually(lambda: "finishing what runs" in server.error_text())
        slow.exactly(10_000_000)
        assert not ended(pid)
        os.killpg(server.pid, number)
    assert "stopped" in server.judge_end()
    assert ended(pid)


def test_a_server_gets_nothing_that_is_the_supervisors(folder, launch):
    """Neither its variables nor its descriptors."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(folder / "notify"))
        server = launch(start, folder, TEXT, env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "30000000"})
        environment = pathlib.Path(f"/proc/{process_of(server)}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environment and b"WATCHDOG" not in environment
        for fd in os.listdir(f"/proc/{process_of(server)}/fd"):
            with contextlib.suppress(FileNotFoundError):  # it has just been closed
                assert "signalfd" not in os.readlink(f"/proc/{process_of(server)}/fd/{fd}")


def test_a_configuration_from_a_pipe(folder):
    """It can be read once, and is kept."""
    port = free_port()
    text = TEXT.replace("PORT", str(port)).replace("pub", str(folder / "pub"))
    process = subprocess.Popen([SKUA, "-c", "/dev/stdin"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    try:
        assert " serves " in process.stderr.readline()
        with Connection(("127.0.0.1", port)) as connection:
            assert connection.get("/", host="a.test").status == 200
    finally:
        process.terminate()
        said = process.stderr.read()
    assert process.wait() == 0, said
    check_sanitizers(said)


def test_a_server_process_that_could_not_hear_does_not_serve(folder, launch):
    """Clients who wait may take all descriptors as soon as it serves: it has those that it needs before."""
    server = launch(start, folder, TEXT, wait=False, preexec=forbid(PIPE2, errno.EMFILE))
    assert "skua: out of file descriptors\n" in server.judge_end(1)


@pytest.mark.parametrize("words", [["pub", "--listen", "127.0.0.1:0"], ["-c", "skua.conf"]])
def test_a_process_that_can_have_no_thread_says_so(folder, words):
    (folder / "skua.conf").write_text(TEXT.replace("PORT", str(free_port())))
    no_thread, no_other_way = forbid(CLONE, errno.EAGAIN, flags=(0, CLONE_THREAD)), forbid(CLONE3, errno.ENOSYS)
    ran = subprocess.run([SKUA, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=20, stdin=subprocess.DEVNULL,
                         preexec_fn=lambda: (no_other_way(), no_thread()))
    check_sanitizers(ran.stderr)
    assert (ran.returncode, ran.stderr) == (1, "skua: cannot start the log\n")


def test_the_log_is_opened_again_when_clients_have_all_descriptors(folder, launch):
    few = 120
    server = launch(start, folder, "access_log now.log short\n" + TEXT, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
    held = [server.connect() for _ in range(2 * few)]
    assert eventually(lambda: len(os.listdir(f"/proc/{process_of(server)}/fd")) >= few)
    for name in ("one", "two"):
        (folder / "now.log").rename(folder / name)
        server.signal(signal.SIGUSR1)
        assert eventually((folder / "now.log").exists)
        at = eventually(lambda: os.readlink(f"/proc/{process_of(server)}/fd/1"))
        assert eventually(lambda: os.readlink(f"/proc/{process_of(server)}/fd/1") == str(folder / "now.log")), at
    assert held and "former file" not in server.error_text()


@pytest.mark.test_all  # it waits for ten seconds
def test_a_pipe_that_nobody_writes_to_holds_the_supervisor_for_a_moment(server, folder):
    (folder / "skua.conf").unlink()
    os.mkfifo(folder / "skua.conf")
    silent = os.open(folder / "skua.conf", os.O_RDWR)
    server.signal(signal.SIGHUP)
    assert eventually(lambda: "skua.conf\": nobody has written all of it into this pipe within 10 s" in server.error_text())
    crash(server)
    assert answer(server).status == 200
    os.close(silent)


# ---- Commands ----


def command(word, file):
    """Runs skua reload, upgrade or stop, which wait for the outcome. Returns the exit status, and what it said."""
    ran = subprocess.run([SKUA, word, "-c", file], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stderr


def test_reload_waits_for_its_outcome(server, folder):
    file = folder / "skua.conf"
    text = file.read_text()
    file.write_text(text + "site b.test {\n    root pub\n}\n")
    assert command("reload", file) == (0, "skua: the configuration has been read again, and has 2 sites\n")
    file.write_text(text + "nonsense\n")
    status, said = command("reload", file)
    assert status == 1 and "skua.conf:" in said and "nonsense" in said
    file.write_text(text + "keep_alive_timeout 31s\n")
    assert command("reload", file) == (0, "skua: another server process serves 1 site\n")
    assert get(server, "a.test").status == 200


def test_stop_waits_for_the_end(folder):
    server = start(folder, TEXT)
    file = folder / "skua.conf"
    assert command("stop", file) == (0, "skua: stopped\n")
    server.judge_end()
    status, said = command("stop", file)
    assert status == 1 and said == f"skua: no server runs with {file}\n"
    status, said = command("reload", folder / "missing.conf")
    assert status == 1 and "there is no file" in said


@of("pid_file")
def test_a_file_with_the_number_of_the_process(folder):
    """It leads commands to a server whose configuration has another path by now."""
    server = start(folder, TEXT + "pid_file one.pid\n")
    file, other, number = folder / "skua.conf", folder / "other.conf", folder / "one.pid"
    assert number.read_text() == f"{server.pid}\n"
    file.rename(other)
    assert command("reload", other)[0] == 1  # what was started has no file any more
    other.rename(file)
    other.write_text("pid_file one.pid\nnonsense {\n")  # only this is read in it
    assert command("reload", other)[0] == 0
    number.write_text("1\n")
    assert command("reload", other) == (1, f"skua: no server runs with {other}\n")
    for nonsense in ("", "x\n", "-5\n", "12x\n", "99999999999999999999\n"):
        number.write_text(nonsense)
        assert command("reload", other)[0] == 1
    file.write_text(file.read_text().replace("one.pid", "two.pid"))
    assert command("reload", file)[0] == 0
    assert (folder / "two.pid").read_text() == f"{server.pid}\n"
    assert number.exists()  # another process has written there meanwhile
    (folder / "two.pid").write_text(f"{server.pid}\n")
    other.write_text("pid_file two.pid\n")
    assert command("stop", other) == (0, "skua: stopped\n")
    server.judge_end()
    assert not (folder / "two.pid").exists()


def test_a_file_for_the_number_that_cannot_be_written(folder):
    with pytest.raises(AssertionError, match="the pid_file .*/missing/skua.pid cannot be written"):
        start(folder, TEXT + "pid_file missing/skua.pid\n")


def test_clients_that_say_nothing_or_nonsense(server, folder):
    """Those who connect and wait, more than there is room for, hold a command up only until they leave."""
    file = folder / "skua.conf"
    value = 0xcbf29ce484222325
    for octet in bytes(file.resolve()):
        value = (value ^ octet) * 0x100000001b3 % 2**64
    silent = []
    for _ in range(16):
        silent.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        silent[-1].connect(f"\0skua-{value:016x}")
    silent[0].send(b"nonsense")
    assert silent[0].recv(100) == b""  # turned away
    assert command("reload", file)[0] == 0
    for one in silent:
        one.close()
    assert get(server, "a.test").status == 200


# ---- A stop with a delay ----

DELAYED = "status 127.0.0.1:TLS_PORT\n" + TEXT


def ready(server):
    with Connection(server.secure) as connection:
        return connection.get("/ready", host="probe").status


@of("drain_delay")
def test_a_stop_turns_ready_first(folder):
    """Then new clients are served on, until the delay is over. Each response says that its connection closes; idle connections
    stay until theirs."""
    server = start(folder, DELAYED + "drain_delay 1h\n")
    with server.connect(http2=False) as idle, h2_client.Client(server) as multiplexed:
        assert idle.get("/", host="a.test").get("connection") is None
        assert multiplexed.get("/").status == 200
        server.signal(signal.SIGTERM)
        assert eventually(lambda: ready(server) == 503)
        for connection in (server.connect(http2=False), idle):
            answer = connection.get("/", host="a.test")
            assert answer.status == 200 and answer.get("connection") == "close"
            assert connection.ended()
        assert multiplexed.goaway()[1] == 0
        server.signal(signal.SIGTERM)  # a second one ends the delay
    assert "stopped" in server.judge_end()


def test_a_delay_ends(folder):
    server = start(folder, DELAYED + "drain_delay 2s\n")
    begun = time.monotonic()
    server.signal(signal.SIGTERM)
    said = server.judge_end()
    assert "serving on for 2 s, as drain_delay says" in said and "stopped" in said
    assert time.monotonic() - begun >= 2
