# SPDX-License-Identifier: MIT
"""A supervisor that is killed at any step of a reload or an upgrade leaves nothing that hinders the next one: the service manager
starts it anew, and it serves."""

import concurrent.futures
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import pytest
import steps
from conf import SKUA, children, get, start, write_folder
from server import Server, check_sanitizers, eventually

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own"),
              pytest.mark.skipif(not steps.can_trace(), reason="the kernel lets nobody trace children")]

TEXT = "listen 127.0.0.1:PORT\nworkers 1\npid_file skua.pid\ngrace 1s\nkeep_alive_timeout 1s\nsite * {\n    root pub\n}\n"
PLACES_MAX = 100_000
AT_ONCE = 6  # walks, which wait more than they work


def prepare(folder):
    folder.mkdir(exist_ok=True)
    write_folder(folder)
    shutil.copy(SKUA, folder / "skua")
    return folder


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path)


def begin(folder, task):
    """Starts a supervisor and asks it for the task, by the signal. Returns the server, and its steps from there on."""
    server = start(folder, TEXT, program=folder / "skua")
    file = folder / "skua.conf"
    if task == "reload by another process":
        file.write_text(file.read_text().replace("workers 1", "workers 2"))
    walked = steps.Steps(server.pid)
    os.kill(server.pid, signal.SIGUSR2 if task == "upgrade" else signal.SIGHUP)
    return server, walked


def goes_on(server, walked):
    """Walks to the next place. Returns: False when the task is over, and the supervisor waits for what comes next."""
    waits = walked.next_place()
    assert waits is not None and walked.places < PLACES_MAX, server.error_text()
    text = server.error_text()
    return not (waits and ("read again" in text or "from now on" in text))


def count(folder, task):
    """At how many places the task can be broken off."""
    server, walked = begin(folder, task)
    while goes_on(server, walked):
        pass
    walked.leave()
    server.stop()
    return walked.places


def running(folder):
    """Processes of the program in the folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "exe") == str(folder / "skua") and "Z" not in (process / "stat").read_text().rsplit(")", 1)[1][:3]:
                found.append(int(process.name))
        except OSError:
            pass
    return found


def is_served(server):
    """Whether it answers. An idle connection has one second, which a test that is kept waiting misses."""
    try:
        return get(server, "a.test").status == 200
    except (ConnectionError, EOFError):
        return False


def kill_at(folder, task, place):
    """Returns: False when the task is over before."""
    server, walked = begin(folder, task)
    more = True
    while more and walked.places < place:
        more = goes_on(server, walked)
    walked.kill()
    server.judged = True
    server.process.returncode = -signal.SIGKILL
    assert eventually(lambda: not running(folder)), (place, server.error_text())
    check_sanitizers(server.error_text())
    again = Server([folder / "skua", "-c", folder / "skua.conf"], server.address)
    assert eventually(lambda: " serves " in again.error_text())
    assert eventually(lambda: is_served(again)), place
    assert (folder / "skua.pid").read_text() == f"{again.pid}\n"
    assert len(children(again.pid)) == 1
    ran = subprocess.run([folder / "skua", "stop", "-c", folder / "skua.conf"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (place, ran.stderr)
    again.judge_end()
    return more


TASKS = ["reload", "reload by another process", "upgrade"]


@pytest.mark.parametrize("task", TASKS[1:])
def test_killed_at_some_steps(folder, task):
    total = count(folder, task)
    assert total > 20
    for i in range(4):
        kill_at(folder, task, 1 + i * (total - 1) // 3)


@pytest.mark.test_all
@pytest.mark.parametrize("task", TASKS)
def test_killed_at_every_step(tmp_path, task):
    """At the beginning of each system call behind one that others can see, until the task is over before."""
    places, over = itertools.count(1), threading.Event()

    def go(folder):
        while not over.is_set():
            place = next(places)
            if not kill_at(folder, task, place):
                over.set()
        return place

    folders = [prepare(tmp_path / str(i)) for i in range(AT_ONCE)]  # all of them first, since a program that is being written cannot be started
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        walked = list(pool.map(go, folders))
    assert min(walked) > 20
