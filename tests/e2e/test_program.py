# SPDX-License-Identifier: MIT
"""The command: start-up and its errors, addresses, stopping, and the logs."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import termios
import time

import pytest
import tls
from ports import free_port
from server import BACKEND, BUILD, Server, check_sanitizers, eventually, program
from wire import Connection, request

SKUA = BUILD / "skua"


def run(*words, **options):
    done = subprocess.run(
        [SKUA, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False, **options
    )
    check_sanitizers(done.stderr)
    return done


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "index.html").write_text("<p>here</p>")
    (tmp_path / "big").write_bytes(b"a" * 40_000_000)
    return tmp_path


# ---- Start ----


def test_version():
    done = run("--version")
    assert done.returncode == 0 and re.fullmatch(r"skua \d+\.\d+\.\d+\b.*\n", done.stdout)


def test_help():
    done = run("--help")
    assert done.returncode == 0
    for option in ("--listen", "--port", "--workers", "--log", "--quiet", "--no-list", "--host", "--version", "--help"):
        assert option in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    "words", [
        ["--nope"],
        ["--workers", "x"],
        ["--workers"],
        ["--log", "x"],
        ["a", "b"],
        ["--workers", "-1"],
        ["--listen"],
        ["--trusted", "127.0.0.1"],
        ["--forwarded", "forwarded"],
        ["--trusted", "127.0.0.1", "--forwarded", "x"],
        ["--trusted", "127.0.0.1/8", "--forwarded", "forwarded"],
    ],
)
def test_bad_words(words):
    done = run(*words)
    assert done.returncode in (1, 2) and done.stdout == "" and done.stderr.startswith("skua: ")


SUGGESTIONS = [
    ("--directory", "skua DIR"), ("--dir", "skua DIR"), ("-d", "skua DIR"), ("--root", "skua DIR"),
    ("--cors", "a directive of a configuration"), ("--lisen", "--listen?"), ("--bind", "--listen?"), ("-b", "--listen?"),
    ("--worker", "--workers?"), ("--threads", "--workers?"), ("--dotfile", "--dotfiles?"), ("--nolist", "--no-list?"),
    ("--ssl", "--tls?"), ("--certfile", "--cert?"), ("--prefix", "skua --help"), ("-z", "skua --help"),
]


@pytest.mark.parametrize("word, meant", SUGGESTIONS)
def test_a_wrong_option_suggests_the_right_one(word, meant):
    for words in [[word, "x"], [f"{word}=x"]][: word.count("-")]:
        done = run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"skua: there is no option {word}; ") and meant in done.stderr


@pytest.mark.parametrize("host, instead", [("foo:8080", "foo"), ("[::1]:80", "[::1]"), ("::1", "[::1]"), ("a b", "www."), ("", "www.")])
def test_what_is_no_host_name(host, instead):
    done = run("--host", host)
    assert done.returncode == 2 and instead in done.stderr
    assert ":8080" not in done.stderr.replace(f'"{host}"', "")


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_closed_streams_are_opened_on_dev_null(launch, folder, closed):
    """Else a listening socket would be standard output, and a client standard error."""
    port = free_port()
    site = launch(
        Server, [SKUA, folder, "--listen", f"127.0.0.1:{port}", "--workers", "1"], ("127.0.0.1", port),
        preexec=lambda: [os.close(fd) for fd in closed],
    )
    for fd in range(3):
        target = os.readlink(f"/proc/{site.pid}/fd/{fd}")
        assert (target == "/dev/null") == (fd in closed or fd == 0), target
    assert site.get("/").content == b"<p>here</p>"


def test_no_such_folder():
    done = run("/nowhere/at/all", "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and "/nowhere/at/all" in done.stderr


def test_not_a_folder(folder):
    done = run(folder / "index.html", "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and "index.html" in done.stderr


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:99999", "99999", "300.0.0.1:80", "foo:8080", "[::1", "unix:"])
def test_bad_addresses(folder, address):
    done = run(folder, "--listen", address)
    assert done.returncode in (1, 2) and address in done.stderr


def test_address_of_another_machine(folder):
    done = run(folder, "--listen", "192.0.2.1:8080")
    assert done.returncode == 1 and "192.0.2.1:8080" in done.stderr


def test_address_in_use(serve, folder):
    site = serve(folder)
    done = run(folder, "--listen", f"127.0.0.1:{site.port}")
    assert done.returncode == 1
    assert f"127.0.0.1:{site.port} is in use by another process" in done.stderr
    assert f"--listen 127.0.0.1:{site.port + 1}" in done.stderr
    assert site.get("/").status == 200


def test_address_in_use_by_one_that_does_not_share(folder):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run(folder, "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 1 and "in use" in done.stderr


def test_the_default_address_in_use(folder):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run(folder, "--port", port)
    assert done.returncode == 1 and f"in use by another process; try --port {port + 1}" in done.stderr


def test_start_line(serve, folder):
    site = serve(folder)
    assert eventually(lambda: ").\n" in site.error_text())  # the line is written in pieces
    text = site.out_text() + site.error_text()
    assert str(site.port) in text and any(name in text for name in ([BACKEND] if BACKEND else ["epoll", "kqueue", "uring"]))
    assert "\x1b" not in text, "no colours but on a terminal"


def test_quiet(serve, folder):
    site = serve(folder, "--quiet", "--log", "none")
    assert site.get("/").status == 200
    assert site.out_text() + site.error_text() == ""


def test_port_zero(launch, folder):
    site = launch(Server, [SKUA, folder, "--listen", "127.0.0.1:0"], ("127.0.0.1", 0), wait=False)
    found = eventually(lambda: re.search(r"127\.0\.0\.1:(\d+)\D", site.out_text() + site.error_text()))
    site.address = ("127.0.0.1", int(found.group(1)))
    assert site.get("/").status == 200


# ---- Addresses ----


def started(launch, folder, *words):
    """The first address that the start line of a program names, once it serves there."""
    site = launch(Server, [SKUA, folder, "--workers", "1", *words], None, wait=False)
    found = eventually(lambda: re.search(r"serves \S+ at http://(\[?[\w.:]+?\]?)(?::(\d+))?[, ]", site.error_text()))
    assert found, site.error_text()
    host = found.group(1).strip("[]")
    site.address = ("127.0.0.1" if host == "localhost" else host, int(found.group(2) or 80))
    return site


@pytest.mark.parametrize("words, host", [
    (["--port", "PORT"], "127.0.0.1"), (["-p", "PORT"], "127.0.0.1"), (["-pPORT"], "127.0.0.1"), (["--port=PORT"], "127.0.0.1"),
    (["--listen", "PORT"], "127.0.0.1"), (["--listen", "localhost", "-p", "PORT"], "127.0.0.1"),
    (["-p", "PORT", "--listen", "127.0.0.1"], "127.0.0.1"), (["--listen", "[::1]", "-p", "PORT"], "::1"),
    (["--listen", "::1", "-p", "PORT"], "::1"), (["--listen", "0.0.0.0", "-p", "PORT"], "127.0.0.1"),
    (["--listen", "*", "-p", "PORT"], "127.0.0.1"), (["--listen", "0"], "127.0.0.1"), (["-p0"], "127.0.0.1"),
], ids=" ".join)
def test_addresses_as_people_write_them(launch, folder, words, host):
    port = free_port()
    site = started(launch, folder, *(word.replace("PORT", str(port)) for word in words))
    assert site.address[0] == host and (site.port == port or "0" in words[-1])
    assert site.get("/").status == 200


@pytest.mark.parametrize("words", [["-p", "x"], ["-p", "65536"], ["-p"], ["-p", "80", "-l", "127.0.0.1:81"], ["-p", "80", "-l", "81"]])
def test_what_is_no_port(folder, words):
    done = run(folder, *words)
    assert done.returncode == 2 and "--port" in done.stderr


def test_the_start_line_names_what_other_machines_type(launch, folder):
    """The addresses of this machine, and none of them for one that only it can use."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        own = probe.getsockname()[0]
    for address in (f":{port}", f"0.0.0.0:{port}"):
        site = launch(Server, [SKUA, folder, "--listen", address], ("127.0.0.1", port))
        # the line may be read while it is still being written
        text = eventually(lambda: f"http://{own}:{port}" in site.error_text() and site.error_text())
        assert text and f"at http://localhost:{port}" in text
        assert f"other machines can reach port {port}" in text and "[::]" not in text
        site.stop()
    site = launch(Server, [SKUA, folder, "--listen", f"127.0.0.1:{port}"], ("127.0.0.1", port))
    assert own not in eventually(lambda: "serves" in site.error_text() and site.error_text())


def test_ipv6(launch, folder):
    port = free_port(socket.AF_INET6)
    site = launch(Server, [SKUA, folder, "--listen", f"[::1]:{port}"], ("::1", port))
    assert site.get("/", host=f"[::1]:{port}").status == 200


def test_every_address_is_dual_stack(launch, folder):
    port = free_port()
    site = launch(Server, [SKUA, folder, "--listen", f":{port}"], ("127.0.0.1", port))
    assert site.get("/").status == 200
    with Connection(("::1", port)) as connection:
        assert connection.get("/").status == 200


def test_two_addresses_and_workers(launch, folder):
    ports = free_port(), free_port()
    words = [SKUA, folder, "--workers", "3"]
    for port in ports:
        words += ["--listen", f"127.0.0.1:{port}"]
    site = launch(Server, words, ("127.0.0.1", ports[0]))
    for port in ports * 20:
        with Connection(("127.0.0.1", port)) as connection:
            assert connection.get("/").status == 200


def test_unix_socket(launch, folder, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("s") / "http")
    site = launch(Server, [SKUA, folder, "--listen", f"unix:{path}"], path)
    assert site.get("/").content == b"<p>here</p>"
    done = run(folder, "--listen", f"unix:{path}")
    assert done.returncode == 1 and "in use" in done.stderr
    assert site.get("/").status == 200
    site.stop()
    assert not os.path.exists(path)


def test_stale_unix_socket_is_replaced(launch, folder, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("s") / "http")
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(path)
    dead.close()
    assert launch(Server, [SKUA, folder, "--listen", f"unix:{path}"], path).get("/").status == 200


WHY_NOT_UNIX = [
    ("/nowhere/at/all", "/nowhere/at does not exist"), ("FOLDER/index.html/x", "index.html is not a directory"),
    ("FOLDER/index.html", "it is a file and no socket"), ("FOLDER", "it is a directory and no socket"),
    ("FOLDER/link", "it is a symbolic link and no socket"), ("/proc/x", "no socket can be made there"),
    ("a" * 120, "at most 107 octets"), ("", "names no socket"),
]


@pytest.mark.parametrize("path, why", WHY_NOT_UNIX, ids=[why for _, why in WHY_NOT_UNIX])
def test_why_not_on_a_unix_socket(folder, path, why):
    (folder / "link").symlink_to("nowhere")
    done = run(folder, "--listen", "unix:" + path.replace("FOLDER", str(folder)))
    assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1


def test_a_file_is_not_replaced_by_a_socket(folder):
    done = run(folder, "--listen", f"unix:{folder / 'index.html'}")
    assert done.returncode == 1
    assert (folder / "index.html").read_text() == "<p>here</p>"


# ---- Names: a web page must not read a developer's folder by DNS rebinding ----


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "LOCALHOST", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8080"])
def test_loopback_names(serve_folder, host):
    assert serve_folder.get("/", host=host).status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "xlocalhost"])
def test_other_names_are_misdirected(serve_folder, host):
    assert serve_folder.get("/", host=host).status == 421
    assert serve_folder.get(f"http://{host}/", host="localhost").status == 421


def test_a_refused_name_and_the_remedy_are_told(serve, folder):
    site = serve(folder)
    response = site.get("/", "Accept: text/html", host="app.example:8080")
    assert response.status == 421
    for text in (response.content.decode(), eventually(lambda: "app.example" in site.error_text()) and site.error_text()):
        assert "app.example" in text and "--host app.example" in text and "skua_config.hosts" in text
    response = site.get("/", host="a$(b)'c")  # what a shell would run is not put in its mouth
    assert "--host NAME" in response.content.decode()


def test_over_a_unix_socket_any_host_is_served(serve, folder, tmp_path):
    """A Unix socket beside 127.0.0.1 does not open it."""
    path = str(tmp_path / "s")
    site = serve(folder, "--listen", f"unix:{path}")
    for host in ("app.example", "localhost", ""):
        with Connection(path) as connection:
            assert connection.get("/", host=host).status == 200
        assert site.get("/", host=host).status == (200 if host == "localhost" else 421)


def test_no_name_is_misdirected(serve, folder):
    """Also when it is the first: nothing has been found acceptable yet."""
    site = serve(folder)
    assert site.get("/", host="").status == 421
    assert site.get("/", host="localhost").status == 200
    assert site.get("/", host="").status == 421


@pytest.fixture(scope="module")
def serve_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("names")
    (root / "index.html").write_text("x")
    server = program(root)
    yield server
    server.stop()


def test_added_name(serve, folder):
    site = serve(folder, "--host", "dev.example")
    assert site.get("/", host="dev.example").status == 200
    assert site.get("/", host="DEV.example:99").status == 200
    assert site.get("/", host="evil.example").status == 421


# ---- Stop ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_when_idle(serve, folder, number):
    site = serve(folder, "--grace", "600")
    site.get("/")
    site.signal(number)
    site.judge_end()


def test_stop_as_soon_as_it_listens(folder):
    """A signal between the start and the first line is not the end of a process that serves already."""
    for _ in range(10):
        site = program(folder, wait=False)
        assert eventually(site._answers, every=0.0)
        site.signal()
        site.judge_end()


def test_stop_finishes_what_runs(serve, folder):
    site = serve(folder, "--grace", "60")
    connection = site.connect(receive_buffer=1 << 20)
    connection.send(request("/big"))
    assert connection.head().status == 200
    site.signal()
    assert eventually(site.refuses)
    assert len(connection.exactly(40_000_000)) == 40_000_000
    connection.close()
    site.judge_end()


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def test_who_is_idle_is_not_waited_for(serve, folder):
    """Requests that were sent before the stop are answered; then the connections are closed, long before the grace is over."""
    site = serve(folder, "--grace", "600")
    asking, idle = site.connect(), site.connect()
    for connection in (asking, idle):
        assert not connection.get("/").closes
    site.signal(signal.SIGSTOP)
    assert eventually(lambda: is_stopped(site.pid))
    asking.send(request("/"))
    site.signal()
    site.signal(signal.SIGCONT)
    assert asking.response().content == b"<p>here</p>"  # it says close if the worker heard of the stop before
    assert asking.ended() and idle.ended()
    site.judge_end()


def test_second_signal_ends_at_once(serve, folder):
    site = serve(folder, "--grace", "600")
    connection = site.connect(receive_buffer=4096)
    connection.send(request("/big"))
    connection.head()
    site.signal()
    assert eventually(lambda: "finishing" in site.error_text())
    assert site.alive()
    site.signal()
    site.judged = True
    site.wait()
    check_sanitizers(site.error_text())


def test_sigusr1_does_nothing(serve, folder):
    site = serve(folder)
    site.signal(signal.SIGUSR1)
    assert site.get("/").status == 200


@pytest.fixture
def on_terminal(launch, folder):
    """Starts a program that leads a session with a controlling terminal; gives it and the terminal's other end."""
    ends = []

    def start(*before):
        controller, terminal = os.openpty()
        port = free_port()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            for action in before:
                action()

        site = launch(Server, [SKUA, folder, "--port", port, "--grace", "60"], ("127.0.0.1", port), preexec=take_terminal, fds=(terminal,))
        os.close(terminal)
        ends.append(controller)
        assert eventually(lambda: "serves" in site.error_text())
        return site, controller

    yield start
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def test_sighup_of_a_terminal_that_has_gone_is_a_graceful_stop(on_terminal):
    site, controller = on_terminal()
    with site.connect(receive_buffer=1 << 20) as connection:
        connection.send(request("/big"))
        assert connection.head().status == 200
        site.signal(signal.SIGHUP)
        assert not eventually(lambda: "finishing" in site.error_text(), within=0.3), "the terminal is there"
        os.close(controller)
        assert eventually(lambda: "finishing" in site.error_text())
        site.signal(signal.SIGHUP)  # the shell tells of it, too
        time.sleep(0.2)
        assert len(connection.exactly(40_000_000)) == 40_000_000
    assert "stopped" in site.judge_end()


def test_sighup_without_a_terminal_does_nothing(launch, folder):
    port = free_port()
    site = launch(Server, [SKUA, folder, "--port", port], ("127.0.0.1", port), preexec=os.setsid)
    assert eventually(lambda: "serves" in site.error_text())
    site.signal(signal.SIGHUP)
    time.sleep(0.2)
    assert site.get("/").status == 200


def test_sighup_that_is_ignored_stays_so(on_terminal):
    """As nohup starts a program."""
    site, controller = on_terminal(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(controller)
    time.sleep(0.3)
    assert site.get("/").status == 200


# ---- Logs ----


def log_of(site, count):
    """The lines of standard output that are log lines, once there are so many."""
    lines = lambda: [l for l in site.lines() if "GET" in l or "BREW" in l or "POST" in l]
    assert eventually(lambda: len(lines()) >= count), site.out_text()
    return lines()


def test_short_log(serve, folder):
    site = serve(folder, "--log", "short")
    site.get("/")
    site.get("/nothing?x=1")
    first, second = log_of(site, 2)
    assert " 200 GET / " in first and "127.0.0.1" in first and re.search(r" [\d.]+ m?s\b", first)
    assert " 404 GET /nothing" in second


def test_common_log(serve, folder):
    site = serve(folder, "--log", "common")
    site.get("/")
    line = log_of(site, 1)[0]
    pattern = r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET / HTTP/(.*)" 200 11'
    found = re.match(pattern, line)
    assert found and found.group(1) == ("2.0" if tls.HTTP2 else "1.1"), line


def test_json_log(serve, folder):
    site = serve(folder, "--log", "json")
    site.get("/?a=%22", 'Referer: "quoted\\"', "User-Agent: caf\xe9")
    line = json.loads(log_of(site, 1)[0])
    assert line["status"] == 200 and line["request"]["method"] == "GET"


def test_logs_escape(serve, folder):
    for form in ("short", "common", "json"):
        site = serve(folder, "--log", form)
        with site.connect() as connection:
            connection.send(b'GET /%1b%0aGET HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a"b\\c\x85\x9b31m\r\n\r\n')
            connection.response()
        line = log_of(site, 1)[0]
        assert all(c.isprintable() for c in line), line
        if form == "json":
            json.loads(line)


def test_logs_tell_targets_as_they_can_be_asked_for_again(serve, folder):
    for form in ("short", "common", "json"):
        site = serve(folder, "--log", form)
        with site.connect() as connection:
            connection.send(b"GET /a|b[1]?x=100%&y={%20}\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.response()
        assert "/a%7Cb%5B1%5D?x=100%25&y=%7B%20%7D%C3%A9" in log_of(site, 1)[0]


def test_log_none(serve, folder):
    site = serve(folder, "--log", "none")
    site.get("/")
    time.sleep(0.3)
    assert "GET" not in site.out_text()


def test_worker_does_not_wait_for_the_log(folder):
    """Standard output is a pipe that nobody reads."""
    port = free_port()
    read, write = os.pipe()
    process = subprocess.Popen(
        [SKUA, folder, "--listen", f"127.0.0.1:{port}", "--workers", "1", "--log", "json"],
        stdout=write, stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        assert eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        with Connection(("127.0.0.1", port)) as connection:
            for _ in range(3000):
                assert connection.get("/", "User-Agent: " + "a" * 500).status == 200
    finally:
        os.set_blocking(read, False)
        os.close(read)
        process.terminate()
        assert process.wait(20) == 0


def test_unreadable_file_is_logged(serve, folder):
    site = serve(folder)
    os.mkfifo(folder / "fifo")
    assert site.get("/fifo").status in (403, 404)
    assert eventually(lambda: "/fifo" in site.out_text() + site.error_text())


def test_the_address_as_a_qr_code(tmp_path):
    """Of an address that others reach, in a network of its own; and where there is none, it is said what to do."""
    port = free_port()
    near = Server([SKUA, "--port", str(port), "--qr", tmp_path], ("127.0.0.1", port))
    assert eventually(lambda: "--qr: no other machine reaches this address; --listen 0.0.0.0" in near.error_text())
    near.stop()
    script = f"ip addr add 192.0.2.7/32 dev lo && ip link set lo up && exec timeout -s INT 2 {SKUA} --listen 192.0.2.7:8080 --qr ."
    far = subprocess.run(["unshare", "-n", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    if "serves" not in far.stderr:
        pytest.skip("there are no networks to be made here")
    lines = [line for line in far.stderr.splitlines() if "\u2588\u2588" in line]
    assert len(lines) == 15 and {len(line) for line in lines} == {29} and lines[0] == 29 * "\u2588"
    assert lines[-1] + "\nhttp://192.0.2.7:8080\n" in far.stderr
