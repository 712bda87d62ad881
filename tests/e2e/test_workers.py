# SPDX-License-Identifier: MIT
"""Several workers at once: what they share, under load. `make test` runs this with the thread sanitizer too."""

import re
import signal
import threading
import time

import pytest
from ports import free_port
from server import BUILD, Server, check_sanitizers, eventually, numbered, program
from wire import request


@pytest.fixture(params=["reuseport", "handoff"])
def site(request, launch, tmp_path):
    """A folder with a listing, served by four workers that log every request."""
    (tmp_path / "index.html").write_text("0")
    (tmp_path / "big").write_bytes(b"b" * 300_000)
    (tmp_path / "listed").mkdir()
    for i in range(50):
        (tmp_path / "listed" / f"{i}.txt").write_text(str(i))
    server = launch(program, tmp_path, "--workers", "4", "--log", "json", "--accept", request.param)
    server.folder = tmp_path
    return server


def at_once(*actions, seconds=2.0, least=0):
    """Runs each action again and again in a thread of its own, for so long and until each has run so often; returns how often,
    and what was raised."""
    end, raised, counts = time.monotonic() + seconds, [], [0] * len(actions)

    def again(i, action):
        try:
            while not raised and (time.monotonic() < end or min(counts) < least):
                action()
                counts[i] += 1
        except Exception as error:  # the thread's, for the test to judge
            raised.append(error)

    threads = [threading.Thread(target=again, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(t.is_alive() for t in threads)
    return counts, raised


def test_files_that_change_under_load(site):
    """Watches and caches: whoever asks after a change gets the change, from whichever worker, but for the turn that
    a worker may be in: how long one takes is the machine's affair."""
    written = 0

    def shown(number):
        return eventually(lambda: int(site.get("/").content or number) >= number)

    def change():
        nonlocal written
        (site.folder / "index.html").write_text(str(written + 1))
        written += 1
        time.sleep(0.05)
        assert shown(written)

    def read():
        assert shown(written)

    def read_big():
        assert len(site.get("/big").content) == 300_000

    _, raised = at_once(change, read, read, read_big, least=4)
    assert not raised, raised


def test_listings_under_load(site):
    def read():
        page = site.get("/listed/").content
        assert page.count(b".txt</bdi>") >= 50

    def leave():
        with site.connect() as connection:
            connection.send(request("/listed/"))
            connection.reset()
        read()  # or the helpers' queue fills, and others get 503

    def come_and_go():
        name = site.folder / "listed" / "new.txt"
        name.write_text("x")
        name.unlink()

    _, raised = at_once(read, read, read, leave, come_and_go, least=4)
    assert not raised, raised


def test_every_request_is_logged_once(site):
    counts, raised = at_once(*[lambda: site.get("/")] * 4, seconds=1.0)
    assert not raised, raised
    site.signal()
    site.wait()
    lines = site.out_text().splitlines()
    assert sum('"uri":"/"' in line and '"status":200' in line for line in lines) == sum(counts)
    site.judge_end()


@pytest.mark.parametrize("signals", [1, 2])
def test_stop_under_load(site, signals):
    """Clients are served whole or not at all, and the end comes, by a drain or by force."""

    def stop():
        time.sleep(0.5)
        for _ in range(signals):
            site.signal()
            time.sleep(0.05)
        time.sleep(5)

    def read():
        try:
            assert site.get("/listed/").status == 200
        except (OSError, EOFError):
            time.sleep(0.05)

    _, raised = at_once(stop, read, read, read, seconds=1.0)
    assert not raised, raised
    site.judged = True
    ends = (0,) if signals == 1 else (0, -signal.SIGTERM)  # the second may come when the first is through
    assert site.wait(20) in ends, site.error_text()
    check_sanitizers(site.error_text())


def test_echo_over_many_workers(launch):
    echo = launch(numbered, "echo", "--workers", "4")
    content = bytes(range(256)) * 200

    def send():
        with echo.connect() as connection:
            for _ in range(5):
                connection.send(request("/", f"Content-Length: {len(content)}", method="POST", content=content))
                assert connection.response().content == content

    _, raised = at_once(*[send] * 4, least=2)
    assert not raised, raised


def test_one_that_fails_takes_the_program_down(tmp_path):
    """Its wait for events is refused by the kernel: the process says so and ends, for somebody to start it anew."""
    (tmp_path / "a").write_text("x")
    port = free_port()
    wait = "inject=epoll_wait,epoll_pwait,io_uring_enter:error=EBADF:when=20+"
    site = Server(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", wait, BUILD / "skua", tmp_path, "--listen", f"127.0.0.1:{port}",
         "--workers", "3", "--accept", "handoff", "--log", "none"],
        ("127.0.0.1", port), env={"ASAN_OPTIONS": "detect_leaks=0"},  # which a traced process cannot look for
    )
    idle = site.connect()
    assert idle.get("/a").content == b"x"
    with pytest.raises((OSError, EOFError)):
        for _ in range(1000):
            assert site.get("/a").content == b"x"
    said = site.judge_end(1)
    assert idle.ended()
    assert re.search(r"^skua: worker \d cannot go on: (epoll|uring) has failed$", said, re.M), said
    assert "stopped" not in said
