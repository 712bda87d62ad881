# SPDX-License-Identifier: MIT
"""The program under a service manager: what it is told, and the unit that is shipped."""

import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess

import machine
import pytest
from certificates import make
from conf import SKUA, get, start, write_folder
from ports import free_port
from server import ROOT, Server, eventually

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = "listen 127.0.0.1:PORT\nworkers 2\nsite * {\n    root pub\n}\n"


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    name = str(tmp_path / "notify") if request.param == "path" else f"\0skua-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(20)
        yield manager, {**os.environ, "NOTIFY_SOCKET": name.replace("\0", "@")}


def test_a_manager_is_told(folder, launch, manager):
    heard, env = manager
    server = launch(start, folder, TEXT, env=env)
    assert heard.recv(1000) == b"READY=1"
    assert get(server, "a.test").status == 200
    server.signal(signal.SIGHUP)
    words = dict(line.split("=") for line in heard.recv(1000).decode().splitlines())
    assert words["RELOADING"] == "1" and int(words["MONOTONIC_USEC"]) > 0
    assert heard.recv(1000) == b"READY=1"
    server.signal()
    assert heard.recv(1000) == b"STOPPING=1"
    server.judge_end()


def test_a_watchdog_hears_of_workers(folder, launch, manager):
    heard, env = manager
    server = launch(start, folder, TEXT, env={**env, "WATCHDOG_USEC": "30000000"})
    assert heard.recv(1000) == b"READY=1"
    assert [heard.recv(1000) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    server.stop()


def test_a_folder_has_a_watchdog_too(folder, serve, manager):
    heard, env = manager
    serve(folder / "pub", env={**env, "WATCHDOG_USEC": "30000000"})
    assert [heard.recv(1000) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]


def test_the_watchdog_of_another_process_is_left_alone(folder, launch, manager):
    heard, env = manager
    launch(start, folder, TEXT, env={**env, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"})
    assert heard.recv(1000) == b"READY=1"
    heard.settimeout(5)
    with pytest.raises(TimeoutError):
        heard.recv(1000)


@pytest.mark.parametrize("address", ["", "relative", "@", "/" + "a" * 200, "/nobody/listens"])
def test_addresses_that_are_none_are_passed_over(folder, launch, address):
    server = launch(start, folder, TEXT, env={**os.environ, "NOTIFY_SOCKET": address})
    assert get(server, "a.test").status == 200


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not there")
def test_the_unit_exposes_little(tmp_path):
    unit = ROOT / "packaging/systemd/skua.service"
    judged = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=18", unit], capture_output=True, text=True)
    if "unrecognized option" in judged.stderr:
        pytest.skip("this systemd-analyze judges no files")
    assert judged.returncode == 0, judged.stdout[-300:] + judged.stderr


def calls_of(name, seen=None):
    """The system calls of a set of systemd's, with those of sets inside it."""
    seen = set() if seen is None else seen
    if name in seen:
        return set()
    seen.add(name)
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    words = [line.split()[0] for line in listed.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*([calls_of(word, seen) if word.startswith("@") else {word} for word in words] or [set()]))


@pytest.mark.skipif(not shutil.which("systemd-analyze") or not shutil.which("strace"), reason="systemd-analyze or strace is not there")
@pytest.mark.skipif(not (ROOT / "build/release/skua").exists(), reason="build/release is not there: make build")
@pytest.mark.parametrize("backend", ["epoll", "uring"])
def test_the_unit_allows_what_is_called(folder, tmp_path, backend):
    lines = (ROOT / "packaging/systemd/skua.service").read_text().splitlines()
    allowed, refused, again = [line.split("=", 1)[1].split() for line in lines if line.startswith("SystemCallFilter=")]
    assert refused[0].startswith("~")
    allowed = calls_of("@default").union(*[calls_of(word) if word.startswith("@") else {word} for word in allowed])
    refused = set().union(*[calls_of(word.lstrip("~")) for word in refused])
    port, trace = free_port(), tmp_path / "trace"
    (folder / "skua.conf").write_text(f"listen 127.0.0.1:{port}\nbackend {backend}\naccess_log access.log\n{TEXT.split(chr(10), 1)[1]}")
    # built as it is installed, since sanitizers make calls of their own
    words = ["strace", "-f", "-qq", "-c", "-S", "name", "-o", trace, ROOT / "build/release/skua", "-c", folder / "skua.conf"]
    server = Server(words, ("127.0.0.1", port))
    for path in ("/", "/text.txt", "/big", "/missing", "/empty/"):
        get(server, "a.test", path)
    children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    (folder / "pub" / "text.txt").write_text("changed")
    get(server, "a.test", "/text.txt")
    os.kill(int(children[0]), signal.SIGHUP)
    assert eventually(lambda: "read again" in server.error_text())
    os.kill(int(children[0]), signal.SIGUSR2)
    assert eventually(lambda: "from now on" in server.error_text())
    os.kill(int(children[0]), signal.SIGTERM)
    server.judge_end()
    called = {line.split()[-1] for line in trace.read_text().splitlines()[2:] if line.strip() and not line.startswith(("-", "100.00"))} - {"total", "execve"}
    assert len(called) > 20
    assert called <= (allowed - refused) | set(again), sorted(called - (allowed - refused))


def test_an_upgrade_keeps_the_main_process(folder, launch, manager):
    """The manager hears of it from the process that it started, as of a reload."""
    heard, env = manager
    heard.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    server = launch(start, folder, TEXT, env=env)

    def told():
        text, control, _, _ = heard.recvmsg(1000, 100)
        assert struct.unpack("3i", control[0][2])[0] == server.pid
        return text.split(b"\n")[0]

    assert told() == b"READY=1"
    server.signal(signal.SIGUSR2)
    assert [told(), told()] == [b"RELOADING=1", b"READY=1"]
    assert "from now on" in server.error_text()
    assert get(server, "a.test").status == 200
    server.signal()
    assert told() == b"STOPPING=1"
    server.judge_end()


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="systemd-socket-activate is not there")
def test_sockets_that_the_manager_opens(folder):
    """As skua.socket has it: clients wait in their queues, through an upgrade, too."""
    assert "listen fd:3, and listen fd:4 tls" in (ROOT / "packaging/systemd/skua.socket").read_text()
    port = free_port()
    (folder / "skua.conf").write_text(TEXT.replace("127.0.0.1:PORT", "fd:3"))
    words = ["systemd-socket-activate", "-l", f"127.0.0.1:{port}", SKUA, "-c", folder / "skua.conf"]
    server = Server(words, ("127.0.0.1", port))
    assert get(server, "a.test").status == 200  # this starts it
    assert eventually(lambda: " serves " in server.error_text())
    server.signal(signal.SIGUSR2)
    with server.connect() as during:
        assert during.get("/", host="a.test").status == 200
    assert eventually(lambda: "from now on" in server.error_text())
    assert get(server, "a.test").status == 200
    server.stop()


# ---- systemd as process 1 of a copy of this system ----

SITE = "access_log /var/log/skua/access.log\nsite * {\n    root /srv/www\n}\n"


@pytest.fixture(scope="module")
def booted(tmp_path_factory):
    """With the program as it is installed, the units and the rotation of the log."""
    program, keys = ROOT / "build/release/skua", tmp_path_factory.mktemp("keys")
    if not program.exists():
        pytest.skip("build/release is not there: make build")
    pair = make(keys, "one", names="DNS:one.test")
    put = {"/usr/bin/skua": program, "/etc/skua/skua.conf": f"listen :80\n{SITE}", "/srv/www/index.html": "here",
           "/etc/skua/one.pem": pair.cert, "/etc/skua/one.key": pair.key}
    put |= {f"/etc/systemd/system/{name}": ROOT / "packaging/systemd" / name for name in ("skua.service", "skua.socket")}
    put |= {"/etc/rotation": ROOT / "packaging/logrotate/skua"}
    with machine.Machine(tmp_path_factory.mktemp("machine"), put) as running:
        running.run("useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin skua; chmod 600 /etc/skua/one.key; chmod -R go+rX /srv /etc/skua/skua.conf")
        yield running


@pytest.fixture
def service(booted):
    """The unit, running."""
    booted.run(f"printf %s '{f'listen :80{chr(10)}{SITE}'}' >/etc/skua/skua.conf; systemctl restart skua")
    return booted


def shown(running, name):
    return running.run(f"systemctl show -p {name} --value skua")


def served(running, address="http://127.0.0.1/"):
    return running.run(f"curl -sfk {address}")


@pytest.mark.test_all
def test_the_unit_starts_when_it_serves(service):
    """systemctl returns when the program says that it is ready. It is the user's, in the whole sandbox, and exposes little."""
    assert served(service) == "here"
    assert service.run("ps -o user= -p $(systemctl show -p MainPID --value skua)") == "skua"
    assert "not in force" not in service.journal()
    judged = service.run("systemd-analyze security --no-pager skua")
    assert float(re.search(r"Overall exposure level for skua.service: ([\d.]+)", judged).group(1)) <= 1.8


@pytest.mark.test_all
def test_the_unit_is_reloaded(service):
    before = shown(service, "MainPID")
    service.run("mkdir -p /srv/www/new && echo two >/srv/www/new/index.html; sed -i 's|root /srv/www|root /srv/www/new|' /etc/skua/skua.conf; systemctl reload skua")
    assert eventually(lambda: served(service) == "two")
    service.run("echo nonsense >>/etc/skua/skua.conf")
    assert service.ask("systemctl reload skua")[0] == 1  # without a signal to the server
    assert "nonsense" in service.journal() and "the configuration stays as it is" not in service.journal()
    assert served(service) == "two" and shown(service, "MainPID") == before


@pytest.mark.test_all
def test_the_unit_is_upgraded(service):
    """By root's command, which waits, and by the signal: the main process stays, and is the program that was installed."""
    before = shown(service, "MainPID")
    for how in ("skua upgrade -c /etc/skua/skua.conf", "systemctl kill --kill-whom=main --signal=USR2 skua"):
        said = service.journal().count("from now on")
        service.run(f"cp /usr/bin/skua /usr/bin/new; mv /usr/bin/new /usr/bin/skua; {how}")
        assert eventually(lambda said=said: service.journal().count("from now on") > said)
        assert shown(service, "MainPID") == before and served(service) == "here"
        assert service.run(f"stat -L -c %i /proc/{before}/exe") == service.run("stat -c %i /usr/bin/skua")
        assert eventually(lambda: shown(service, "ActiveState") == "active")


@pytest.mark.test_all
def test_the_unit_comes_back(service):
    """A server process is replaced by the supervisor; a supervisor by systemd, which sees one that hangs, too."""
    before = shown(service, "MainPID")
    service.run(f"kill -9 $(cat /proc/{before}/task/{before}/children)")
    assert eventually(lambda: service.ask("curl -sf http://127.0.0.1/")[0] == 0)
    assert shown(service, "MainPID") == before and shown(service, "NRestarts") == "0"
    service.run(f"kill -9 {before}")
    assert eventually(lambda: shown(service, "NRestarts") == "1" and service.ask("curl -sf http://127.0.0.1/")[0] == 0)
    service.run("mkdir -p /run/systemd/system/skua.service.d; printf '[Service]\\nWatchdogSec=2\\n' >/run/systemd/system/skua.service.d/watchdog.conf")
    service.run("systemctl daemon-reload; systemctl restart skua")
    before = shown(service, "MainPID")
    service.run(f"kill -STOP $(cat /proc/{before}/task/{before}/children)")
    assert eventually(lambda: "Watchdog timeout" in service.journal())
    assert eventually(lambda: shown(service, "MainPID") not in ("0", before) and service.ask("curl -sf http://127.0.0.1/")[0] == 0)
    service.run("rm -r /run/systemd/system/skua.service.d; systemctl daemon-reload")


def configure(service, listens, key):
    """Stops the service, and gives it another configuration, with a key."""
    text = listens + SITE.replace("}", f"certificate /etc/skua/one.pem {key}\n}}")
    service.run(f"systemctl stop skua\ncat >/etc/skua/skua.conf <<'END'\n{text}END\n")


@pytest.mark.test_all
def test_systemd_opens_the_sockets(service):
    """Nobody is refused while the service is not there."""
    configure(service, "listen fd:3\nlisten fd:4 tls\n", "/etc/skua/one.key")
    service.run("chown skua /etc/skua/one.key; systemctl start skua.socket")
    assert service.ask("systemctl is-active skua")[1].strip() == "inactive"
    assert served(service) == "here" and served(service, "https://127.0.0.1/") == "here"
    before = shown(service, "MainPID")
    for _ in range(3):
        service.run("systemctl --no-block restart skua; curl -sf http://127.0.0.1/; curl -sfk https://127.0.0.1/")
        assert eventually(lambda: shown(service, "ActiveState") == "active")
    assert shown(service, "MainPID") != before
    service.run("systemctl stop skua.socket skua")


@pytest.mark.test_all
def test_a_key_that_only_root_reads(service):
    """systemd hands it to the service alone."""
    configure(service, "listen :443 tls\n", "${CREDENTIALS_DIRECTORY}/one.key")
    service.run("chown root /etc/skua/one.key; chmod 600 /etc/skua/one.key")
    if service.ask("systemd-run --wait -p User=skua -p LoadCredential=a:/etc/skua/one.key sh -c 'cat $CREDENTIALS_DIRECTORY/a'")[0]:
        pytest.skip("systemd cannot hand credentials to a user here: it needs access lists in file systems in memory")
    service.run("mkdir -p /run/systemd/system/skua.service.d\n"
                "printf '[Service]\\nLoadCredential=one.key:/etc/skua/one.key\\n' >/run/systemd/system/skua.service.d/key.conf\n"
                "systemctl daemon-reload; systemctl start skua")
    assert served(service, "https://127.0.0.1/") == "here"
    service.run("rm -r /run/systemd/system/skua.service.d; systemctl daemon-reload")


@pytest.mark.test_all
def test_the_log_is_rotated(service):
    if service.ask("command -v logrotate")[0]:
        pytest.skip("logrotate is not there")
    served(service)
    service.run("logrotate -f /etc/rotation")
    served(service)
    assert eventually(lambda: service.ask("test -s /var/log/skua/access.log && test -s /var/log/skua/access.log.1")[0] == 0)


@pytest.mark.test_all
def test_the_unit_is_stopped(service):
    service.run("systemctl stop skua")
    assert shown(service, "Result") == "success" and shown(service, "ActiveState") == "inactive"
    assert "stopped" in service.journal()
    assert service.ask("curl -sf http://127.0.0.1/")[0] == 7
