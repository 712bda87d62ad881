# SPDX-License-Identifier: MIT
"""The sandbox of the server process: what it may not, tried from inside, and that everything is served in it."""

import errno
import os
import pathlib
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

import pytest
from certificates import make
from conf import SKUA, get, of, process_of, start, write_folder
from ports import free_port
from server import eventually, program
from wire import request

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it configures addresses of its own")]

TEXT = "listen 127.0.0.1:PORT\nworkers 2\nsite * {\n    root pub\n}\n"
TLS = "listen 127.0.0.1:PORT\nlisten 127.0.0.1:TLS_PORT tls\nsite * {\n    certificate keys/one.pem keys/one.key\n    root pub\n}\n"

LANDLOCK = errno.EACCES
FILTER = errno.EPERM

REFUSED = {
    "read_above": LANDLOCK, "read_passwd": LANDLOCK, "list_root": LANDLOCK, "write_inside": LANDLOCK, "make_inside": LANDLOCK,
    "write_null": LANDLOCK, "unlink": FILTER, "mkdir": FILTER, "chmod": FILTER, "exec": FILTER, "fork": FILTER, "kill_parent": FILTER,
    "ptrace_parent": FILTER, "setuid": FILTER, "chroot": FILTER, "unshare": FILTER, "bpf": FILTER, "clone3": errno.ENOSYS,
    "executable": FILTER, "socket_inet": FILTER, "socket_unix": FILTER, "socket_packet": FILTER, "connect": FILTER, "bind": FILTER,
}


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    built = tmp_path_factory.mktemp("probe") / "probe.so"
    source = pathlib.Path(__file__).with_name("sandbox_probe.c")
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


def probed(launch, folder, probe, text, **env):
    """A server with the probe in it, and the outcome of what that tried: names and numbers of errors."""
    report = folder / "report"
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    server = launch(start, folder, text, env={
        **os.environ, "LD_PRELOAD": str(probe), "SANDBOX_PROBE": str(report), "SANDBOX_ROOT": str(folder / "pub"), **env,
        "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0"})
    assert eventually(lambda: report.exists() and "done" in report.read_text())
    outcome = {name: int(number) for name, number in (line.split() for line in report.read_text().splitlines())}
    assert outcome.pop("done") == 0 and outcome.pop("read_inside") == 0
    return server, outcome


def status_of(pid, name):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":")[1].split() for line in lines if line.startswith(f"{name}:"))


@of("sandbox")
def test_it_refuses(folder, launch, probe):
    """Opening outside the roots, writing, exec, connect, ptrace and their like, tried in the server process itself."""
    server, outcome = probed(launch, folder, probe, TEXT)
    assert outcome == REFUSED  # under a sanitizer the filter lets it trace and send signals, which Landlock refuses
    assert get(server, "a.test").content == b"<p>here</p>"
    assert "sandbox" not in server.error_text()  # nothing is missing


def test_beside_the_folder_of_uploads(folder, launch, probe):
    """Files come and go there, and nowhere else beneath the root."""
    (folder / "pub/in").mkdir()
    (folder / "pub/in/beside").symlink_to("..")
    text = TEXT.replace("root pub\n", "root pub\n    path /in/ {\n        upload 1KiB overwrite delete anyone\n    }\n")
    _, outcome = probed(launch, folder, probe, text, SANDBOX_UPLOADS="1")
    allowed = {"make_upload": 0, "remove_upload": 0}
    refused = {name: LANDLOCK for name in ("make_beside", "make_by_dots", "make_by_link", "write_beside", "nameless_beside",
                                           "write_inside", "make_inside", "remove_beside")}
    assert {name: outcome[name] for name in (allowed | refused)} == allowed | refused
    assert all(outcome[name] in (LANDLOCK, errno.EXDEV) for name in ("move_out", "move_in", "link_out", "link_in")), outcome
    assert {name for name in REFUSED if outcome[name] == 0} == set()
    assert sorted(os.listdir(folder / "pub/in")) == ["beside"] and (folder / "pub/index.html").exists()


def test_it_has_no_capabilities(folder, launch):
    server = launch(start, folder, TEXT)
    for sets in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status_of(process_of(server), sets)[0], 16) == 0, sets
    assert status_of(process_of(server), "NoNewPrivs") == ["1"] and status_of(process_of(server), "Seccomp") == ["2"]


def test_it_can_be_off(folder, launch):
    """Then a process may what its user may."""
    server = launch(start, folder, "sandbox off\n" + TEXT)
    assert status_of(process_of(server), "Seccomp") == ["0"] and status_of(process_of(server), "NoNewPrivs") == ["0"]
    assert get(server, "a.test").status == 200


def test_a_kernel_that_lacks_it(folder, launch, probe):
    """One line says what is not in force, and the rest goes on."""
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    server = launch(start, folder, TEXT, env={**os.environ, "LD_PRELOAD": str(probe), "SANDBOX_LACKS": "1",
                                              "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0"})
    said = [line for line in server.error_text().splitlines() if "sandbox" in line]
    assert said == ["skua: warning: these parts of the sandbox are not in force, because the kernel lacks or forbids them: Landlock and seccomp"]
    assert get(server, "a.test").status == 200
    assert status_of(process_of(server), "Seccomp") == ["0"] and int(status_of(process_of(server), "CapEff")[0], 16) == 0


def test_a_folder_needs_no_sandbox(folder):
    """skua DIR stays one process, which is in none."""
    server = program(folder / "pub")
    try:
        assert pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text() == ""
        assert status_of(server.pid, "Seccomp") == ["0"]
        assert server.get("/").status == 200
    finally:
        server.stop()


@of("sandbox_paths")
def test_paths(folder, launch):
    """A file outside of the roots that a link leads to is beyond the sandbox, unless the configuration names it."""
    text = TEXT.replace("root pub", "root pub\n    links all")
    server = launch(start, folder, text)
    assert get(server, "a.test", "/out").status in (403, 404)
    file = folder / "skua.conf"
    file.write_text("sandbox_paths outside.txt\n" + file.read_text())
    server.signal(signal.SIGHUP)
    assert eventually(lambda: "another server process serves it" in server.error_text())
    assert get(server, "a.test", "/out").content == b"outside"


def test_a_reload_beyond_it(folder, launch):
    """A root that the running process may not read takes another process, and the log says so."""
    server = launch(start, folder, TEXT)
    before = process_of(server)
    file = folder / "skua.conf"
    file.write_text(file.read_text().replace("root pub", "root other"))
    server.signal(signal.SIGHUP)
    assert eventually(lambda: "may not do what the configuration asks for" in server.error_text())
    assert eventually(lambda: "another server process serves it" in server.error_text())
    assert f"{folder}/other cannot be read" in server.error_text()
    assert get(server, "a.test", "/a.txt").content == b"other"
    assert process_of(server) != before


@pytest.mark.parametrize("backend", ["epoll", "uring"])
def test_everything_is_served(folder, launch, backend):
    """TLS, compression on the blocking pool, listings, ranges, the log through its file and SIGUSR1, a reload in the process."""
    keys = folder / "keys"
    keys.mkdir()
    make(keys, "one", names="DNS:one.test")
    server = launch(start, folder, f"backend {backend}\nworkers 2\naccess_log access.log\ndefaults {{\n    listing on\n    compress\n}}\n" + TLS)
    before = process_of(server)
    assert get(server, "one.test", "/text.txt", "Accept-Encoding: gzip").status == 200
    assert get(server, "one.test", "/empty/").status == 200
    assert get(server, "one.test", "/big", "Range: bytes=0-999999").status == 206
    assert serial_over_tls(server, keys / "one.pem")
    (folder / "access.log").rename(folder / "former.log")
    server.signal(signal.SIGUSR1)
    assert eventually(lambda: (folder / "access.log").exists() and get(server, "one.test").status == 200 and (folder / "access.log").read_text())
    first = serial_over_tls(server, keys / "one.pem")
    make(keys, "one", names="DNS:one.test")
    server.signal(signal.SIGHUP)
    assert eventually(lambda: serial_over_tls(server, keys / "one.pem") not in (None, first))
    assert process_of(server) == before


def serial_over_tls(server, authority):
    """The certificate's serial number, when a request is answered over TLS, and None when it is not the one in the file."""
    context = ssl.create_default_context(cafile=str(authority))
    try:
        with socket.create_connection(server.secure, 10) as plain, context.wrap_socket(plain, server_hostname="one.test") as secure:
            secure.sendall(request("/", "Connection: close", host="one.test"))
            assert secure.recv(65536).startswith(b"HTTP/1.1 200")
            return secure.getpeercert()["serialNumber"]
    except ssl.SSLError:
        return None


@of("user")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user(launch):
    """A key that only root may read is read before. When it is renewed, another process takes over."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="skua-"))
    try:
        folder.chmod(0o755)
        write_folder(folder)
        keys = folder / "keys"
        keys.mkdir(mode=0o700)
        make(keys, "one", names="DNS:one.test")
        options = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        server = launch(start, folder, "user nobody\n" + TLS, env=options)
        before = process_of(server)
        nobody = pwd.getpwnam("nobody")
        assert status_of(before, "Uid") == [str(nobody.pw_uid)] * 4 and status_of(before, "Gid") == [str(nobody.pw_gid)] * 4
        assert status_of(before, "Groups") == []
        first = serial_over_tls(server, keys / "one.pem")
        assert first
        make(keys, "one", names="DNS:one.test")
        assert eventually(lambda: serial_over_tls(server, keys / "one.pem") not in (None, first))
        assert process_of(server) != before
    finally:
        shutil.rmtree(folder)


def test_a_user_that_there_is_not(folder):
    file = folder / "skua.conf"
    file.write_text("user nobody-at-all\n" + TEXT.replace("PORT", str(free_port())))
    checked = subprocess.run([SKUA, "check", "-c", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 1 and "this machine has no user nobody-at-all" in checked.stderr
