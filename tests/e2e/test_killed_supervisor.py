# SPDX-License-Identifier: MIT
"""A supervisor that is killed at any step of a reload or an upgrade leaves nothing that hinders the next one: the service manager
starts it anew, and it serves."""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest
import steps
from conf import SKUA, children, get, start, write_folder
from server import Server, check_sanitizers, eventually

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own"),
              pytest.mark.skipif(not steps.can_trace(), reason="the kernel lets nobody trace children")]

TEXT = "listen 127.0.0.1:PORT\nworkers 1\npid_file skua.pid\ngrace 1s\nkeep_alive_timeout 1s\nsite * {\n    root pub\n}\n"
CALLS_MAX = 100_000


@pytest.fixture
def folder(tmp_path):
    write_folder(tmp_path)
    shutil.copy(SKUA, tmp_path / "skua")
    return tmp_path


def begin(folder, task):
    """Starts a supervisor and asks it for the task, by the signal. Returns the server, and its steps from there on."""
    server = start(folder, TEXT, program=folder / "skua")
    file = folder / "skua.conf"
    if task == "reload by another process":
        file.write_text(file.read_text().replace("workers 1", "workers 2"))
    walked = steps.Steps(server.pid)
    os.kill(server.pid, signal.SIGUSR2 if task == "upgrade" else signal.SIGHUP)
    return server, walked


def is_done(server):
    return "read again" in server.error_text() or "from now on" in server.error_text()


def count(folder, task):
    """How many steps the task takes."""
    server, walked = begin(folder, task)
    while not is_done(server):
        assert walked.next() and walked.calls < CALLS_MAX, server.error_text()
    walked.leave()
    server.stop()
    return walked.calls


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


def kill_at(folder, task, step):
    server, walked = begin(folder, task)
    while walked.calls < step and walked.next():
        pass
    walked.kill()
    server.judged = True
    server.process.returncode = -signal.SIGKILL
    assert eventually(lambda: not running(folder)), (step, server.error_text())
    check_sanitizers(server.error_text())
    again = Server([folder / "skua", "-c", folder / "skua.conf"], server.address)
    assert eventually(lambda: " serves " in again.error_text())
    assert get(again, "a.test").status == 200, step
    assert (folder / "skua.pid").read_text() == f"{again.pid}\n"
    assert len(children(again.pid)) == 1
    ran = subprocess.run([folder / "skua", "stop", "-c", folder / "skua.conf"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (step, ran.stderr)
    again.judge_end()


TASKS = ["reload", "reload by another process", "upgrade"]


def walk(folder, task, places):
    total = count(folder, task)
    assert total > 20
    for i in range(places):
        kill_at(folder, task, 1 + i * (total - 1) // (places - 1))


@pytest.mark.parametrize("task", TASKS[1:])
def test_killed_at_some_steps(folder, task):
    walk(folder, task, 4)


@pytest.mark.test_all
@pytest.mark.parametrize("task", TASKS)
def test_killed_at_many_steps(folder, task):
    walk(folder, task, 100)
