# SPDX-License-Identifier: MIT
"""skua passwd FILE NAME: the file for basic_auth that it writes, and what it refuses."""

import os
import pty
import re
import select
import signal
import subprocess

import pytest
from clock import patiently
from conf import SKUA, basic, get, process_of, start, write_folder
from server import SLOW, check_sanitizers
from wire import request

pytestmark = [pytest.mark.in_the_clear("nothing but the program"), pytest.mark.of_http1("nothing but the program")]

LINE = re.compile(r"\$2b\$10\$[./A-Za-z0-9]{53}")


def passwd(folder, *words, said="secret\n"):
    done = subprocess.run([SKUA, "passwd", *words], cwd=folder, input=said, capture_output=True, text=True, timeout=20, check=False)
    check_sanitizers(done.stderr)
    return done.returncode, done.stdout, done.stderr


def test_users(tmp_path):
    users = tmp_path / "users"
    assert passwd(tmp_path, "users", "anna") == (0, "", "")
    assert users.stat().st_mode & 0o777 == 0o640
    os.chmod(users, 0o600)
    users.write_text("# staff\n" + users.read_text() + "annabel:x")
    assert passwd(tmp_path, "users", "bert", said="geheim") == (0, "", "")
    before = users.read_text()
    assert passwd(tmp_path, "users", "anna", said="new\nrest") == (0, "", "")
    lines = users.read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == ["# staff", "annabel", "bert", "anna"]
    assert all(LINE.fullmatch(line.split(":")[1]) for line in lines[2:]) and lines[3] not in before
    assert users.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["users"]


def test_they_are_let_in(tmp_path, launch):
    write_folder(tmp_path)
    (tmp_path / "link").symlink_to("users")
    for name, password in (("anna", "a b:\u00e9"), ("bert", "x" * 72)):
        assert passwd(tmp_path, "link", name, said=password + "\n")[0] == 0
    server = launch(start, tmp_path, "listen 127.0.0.1:PORT\nsite * {\n root pub\n basic_auth a link\n}\n")
    assert get(server, "a", "/", basic("anna", "a b:\u00e9")).status == 200
    assert get(server, "a", "/", basic("bert", "x" * 72)).status == 200
    assert get(server, "a", "/", basic("bert", "x" * 71)).status == 401


def test_a_link_stays(tmp_path):
    (tmp_path / "users").write_text("")
    (tmp_path / "link").symlink_to("users")
    assert passwd(tmp_path, "link", "anna")[0] == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "users").read_text().startswith("anna:")


@pytest.mark.parametrize(
    "words,said,status,sentence", [
        (["users"], "a", 2, "passwd needs a file and a name: skua passwd FILE NAME; ./passwd is the directory"),
        (["users", "a", "b"], "a", 2, "passwd needs a file and a name: skua passwd FILE NAME; ./passwd is the directory"),
        (["users", "a:b"], "a", 1, '"a:b" cannot be the name of a user; a name has no colon, no control characters, and no # at its beginning'),
        (["users", "#a"], "a", 1, '"#a" cannot be the name of a user; a name has no colon, no control characters, and no # at its beginning'),
        (["users", ""], "a", 1, '"" cannot be the name of a user; a name has no colon, no control characters, and no # at its beginning'),
        (["users", "a"], "", 1, "a password cannot be empty"),
        (["users", "a"], "x" * 73, 1, "a password has at most 72 octets, as bcrypt looks at no more"),
        (["users", "a"], "a\tb\n", 1, "a password has no control characters; nothing has changed"),
        (["none/users", "a"], "a", 1, "none/users cannot be written"),
    ],
)
def test_faults(tmp_path, words, said, status, sentence):
    assert passwd(tmp_path, *words, said=said) == (status, "", f"skua: {sentence}\n")
    assert os.listdir(tmp_path) == []


def read_until(terminal, text):
    """Reads from a terminal up to a text. Returns all that it has shown."""
    shown = b""
    while text not in shown:
        assert select.select([terminal], [], [], SLOW)[0], shown
        shown += os.read(terminal, 1000)
    return shown


@pytest.mark.parametrize("again,status,end", [(b"secret", 0, b"\n"), (b"other", 1, b"nothing has changed"), (b"\x03", 1, b"nothing has changed")])
def test_on_a_terminal(tmp_path, again, status, end):
    terminal, side = pty.openpty()
    process = subprocess.Popen([SKUA, "passwd", "users", "anna"], cwd=tmp_path, stdin=side, stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    shown = read_until(terminal, b"Password of anna: ")
    os.write(terminal, b"secret\n")
    shown += read_until(terminal, b"The same again: ")
    os.write(terminal, again + b"\n")
    shown += read_until(terminal, end)
    assert process.wait(20) == status
    os.close(terminal)
    assert b"secret" not in shown and b"other" not in shown
    assert (tmp_path / "users").exists() == (status == 0)


def test_a_flood_of_passwords_keeps_nobody_waiting(tmp_path, launch):
    """From many addresses at once. Folders are listed by the threads that check passwords: they have some left for that. Those who
    name themselves rightly wait their turn; when too many do, they are told to come again."""
    write_folder(tmp_path)
    assert passwd(tmp_path, "users", "anna")[0] == 0
    # tried again: a machine that is busy may check many of them before the last one has been heard, or one has left
    patiently(lambda _: flood(launch(start, tmp_path, "listen 127.0.0.1:PORT\nworkers 1\ntrusted_proxies x-forwarded 127.0.0.1\n"
                                     "site * {\n root pub\n listing on\n path /staff/ {\n  basic_auth a users\n }\n}\n")), 0)


def flood(server):
    clients = [server.connect() for _ in range(100)]
    os.kill(process_of(server), signal.SIGSTOP)
    for i, client in enumerate(clients):
        client.send(request("/staff/", f"X-Forwarded-For: 192.0.2.{i}", basic("anna", "secret" if i == 50 else f"{i}"), host="a"))
    os.kill(process_of(server), signal.SIGCONT)
    assert get(server, "a", "/empty/").status == 200
    assert "192.0.2.40" not in server.error_text()  # a later one is still to be checked
    for client in clients[20:40]:
        client.close()
    clients[50].socket.settimeout(3 * SLOW)  # fifty passwords come before its own
    assert clients[50].response().status == 404
    late = [client.response() for client in clients[75:]]
    assert [(one.status, one.get("retry-after")) for one in late] == [(503, "1")] * 25
    assert [client.response().status for client in clients[:20] + clients[41:50] + clients[51:70]] == [401] * 48
    assert get(server, "a", "/staff/", basic("anna", "secret")).status == 404
    assert not any(f"192.0.2.{i}\n" in server.error_text() for i in range(25, 40))
