# SPDX-License-Identifier: MIT
"""skua reload, upgrade and stop by root for servers of other users: whom root believes, and what those who want to be believed
cannot have."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import pytest
from conf import SKUA, get, start, write_folder
from server import eventually

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own"),
              pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")]

TEXT = "listen 127.0.0.1:PORT\nworkers 1\nsite * {\n    root pub\n}\n"
SERVES, OTHER = 65534, 1  # the user of the server, and one who is neither that nor root
UNKNOWN = f"skua: the user {SERVES} runs what answers for FILE, and neither that file, nor a pid_file that it names, nor /run/skua belongs to that user\n"

# The program as that user, with a /run of its own: "/run/skua" and "/run/site" have the owner and the mode of the words.
AS_USER = f"""#!/bin/sh
exec unshare -m sh -ec '
mount -t tmpfs -o mode=755 none /run
install -d -o OWNER -m MODE /run/skua
install -d -o {SERVES} -m 755 /run/site
exec setpriv --reuid={SERVES} --regid={SERVES} --clear-groups "$0" "$@"' PROGRAM "$@"
"""


@pytest.fixture
def folder():
    """One that everybody may read, unlike those of pytest."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="skua-"))
    folder.chmod(0o755)
    write_folder(folder)
    shutil.copy(SKUA, folder / "skua")
    yield folder
    shutil.rmtree(folder)


def start_as_user(folder, text, runtime=0, mode=755, owner=0):
    """A server of another user. runtime, mode: of its /run/skua. owner: of the configuration."""
    script = folder / "as_user"
    script.write_text(AS_USER.replace("OWNER", str(runtime)).replace("MODE", str(mode)).replace("PROGRAM", str(folder / "skua")))
    script.chmod(0o755)
    file = folder / "skua.conf"
    file.touch()
    os.chown(file, owner, owner)
    server = start(folder, text, program=script)
    assert os.stat(f"/proc/{server.pid}").st_uid == SERVES
    return server


def command(server, word, file, user=0):
    """As a command of that user, who sees the same /run. Returns the exit status, and what it said."""
    ran = subprocess.run(["nsenter", "-m", "-t", str(server.pid), "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                          file.parent / "skua", word, "-c", file], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stderr.replace(str(file), "FILE")


def all_commands(server, file):
    assert command(server, "reload", file) == (0, "skua: the configuration has been read again, and has 1 site\n")
    status, said = command(server, "upgrade", file)
    assert status == 0 and said.endswith(" serves 1 site\n")
    assert command(server, "stop", file) == (0, "skua: stopped\n")
    server.judge_end()


def test_a_file_of_that_user(folder):
    server = start_as_user(folder, TEXT, owner=SERVES)
    assert command(server, "stop", folder / "skua.conf", OTHER) == (1, "skua: another user runs what answers for FILE\n")
    all_commands(server, folder / "skua.conf")


def test_the_folder_of_the_unit(folder):
    """systemd makes /run/skua for the user of the unit, and nobody but root could have."""
    all_commands(start_as_user(folder, TEXT, runtime=SERVES), folder / "skua.conf")


@pytest.mark.parametrize("runtime, mode", [(0, 755), (OTHER, 755), (SERVES, 775), (SERVES, 777)])
def test_a_folder_that_says_nothing(folder, launch, runtime, mode):
    server = launch(start_as_user, folder, TEXT, runtime=runtime, mode=mode)
    assert command(server, "stop", folder / "skua.conf") == (1, UNKNOWN)
    assert get(server, "a.test").status == 200


def folder_of_runs(server):
    """/run/site as the server sees it."""
    return pathlib.Path("/proc", str(server.pid), "root", "run", "site")


def test_a_pid_file(folder):
    """It is believed when nobody but root and its owner can have put it there, and its owner runs the process of its number."""
    file = folder / "skua.conf"
    server = start_as_user(folder, TEXT + "pid_file /run/site/skua.pid\n")
    there = folder_of_runs(server)
    number = there / "skua.pid"

    def refused():
        return command(server, "reload", file) == (1, UNKNOWN)

    assert command(server, "reload", file)[0] == 0
    there.chmod(0o777)
    assert refused()  # anybody could have renamed another one to its place
    there.chmod(0o755)
    os.chown(number, OTHER, OTHER)
    assert refused()
    os.chown(number, SERVES, SERVES)
    number.write_text("1\n")
    assert refused()
    number.write_text(f"{server.pid}\n")
    number.chmod(0o666)
    assert refused()
    number.chmod(0o644)
    number.rename(there / "elsewhere")
    number.symlink_to("elsewhere")
    all_commands(server, file)


SQUATTER = """
import os, socket, sys
os.setgid(1)
os.setuid(1)
there = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
there.bind("\\0" + sys.argv[1])
there.listen()
print(flush=True)
while True:
    try:
        one = there.accept()[0]
        one.send(b"done as you said")
        one.close()
    except OSError:
        pass
"""


def name_of(file):
    value = 0xcbf29ce484222325
    for octet in bytes(file.resolve()):
        value = (value ^ octet) * 0x100000001b3 % 2**64
    return f"skua-{value:016x}"


def test_somebody_else_answers(folder):
    """One who takes the name of root's file is not heard; a pid_file leads past him to the server."""
    file = folder / "skua.conf"
    file.touch()
    with subprocess.Popen([sys.executable, "-c", SQUATTER, name_of(file)], stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout.readline()
        try:
            server = start_as_user(folder, TEXT + "pid_file /run/site/skua.pid\n", runtime=SERVES)
            assert eventually(lambda: "commands cannot reach this server: another one runs with" in server.error_text())
            assert command(server, "reload", file)[0] == 0
            (folder_of_runs(server) / "skua.pid").write_text("0\n")
            status, said = command(server, "reload", file)
            assert status == 1 and f"the user {OTHER} runs what answers for FILE" in said
        finally:
            squatter.kill()
    server.stop()


def test_the_number_in_a_file_of_somebody_else(folder, launch):
    """Who writes a configuration cannot lead root by its pid_file to a server that is not his."""
    roots = launch(start, folder, TEXT + "pid_file roots.pid\n", "roots.conf")
    served = launch(start_as_user, folder, TEXT + "pid_file /run/site/skua.pid\n", runtime=SERVES)
    trap = folder / "trap.conf"
    for number in (folder / "roots.pid", "/run/site/skua.pid"):
        trap.write_text(f"pid_file {number}\n")
        os.chown(trap, OTHER, OTHER)
        status, said = command(served, "stop", trap)
        assert status == 1 and "runs what answers for FILE" in said
        os.chown(trap, 0, 0)
        assert command(served, "reload", trap)[0] == 0
    assert get(roots, "a.test").status == 200 and get(served, "a.test").status == 200


def test_a_pid_file_that_is_none(folder):
    """A pipe or a device would notice that it is opened, and is not."""
    file = folder / "skua.conf"
    file.write_text("pid_file pipe\n")
    os.mkfifo(folder / "pipe")
    opened = []
    writer = threading.Thread(target=lambda: opened.append(os.open(folder / "pipe", os.O_WRONLY)))
    writer.start()
    ran = subprocess.run([SKUA, "stop", "-c", file], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 1 and "no server runs with" in ran.stderr
    assert not opened
    reader = os.open(folder / "pipe", os.O_RDONLY)
    writer.join()
    os.close(reader)
    os.close(opened[0])
