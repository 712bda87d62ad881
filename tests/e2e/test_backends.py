# SPDX-License-Identifier: MIT
"""Which backend serves, and what is said when it is not the one that was asked for."""

import errno
import platform
import subprocess

import pytest
from seccomp import URING_ENTER, URING_REGISTER, URING_SETUP, forbid
from server import BUILD, eventually

CALLS = {"io_uring_setup": URING_SETUP, "io_uring_enter": URING_ENTER, "io_uring_register": URING_REGISTER}
WORDS = {errno.EPERM: "permission denied", errno.ENOSYS: "not supported here", errno.ENOMEM: "out of memory"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    return tmp_path


def lines_of(site):
    """The text of standard error so far, once the start line is there."""
    assert eventually(lambda: " serves " in site.error_text() and site.error_text().endswith("\n"))
    return site.error_text().splitlines()


def offered(serve, folder):
    return "(uring)" in "".join(lines_of(serve(folder, "--backend", "uring")))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64", "riscv64"), reason="the numbers are not known")
@pytest.mark.parametrize("error", WORDS, ids=errno.errorcode.get)
@pytest.mark.parametrize("call", CALLS)
def test_refused(serve, folder, call, error):
    """Epoll serves, and one line of the log says why."""
    if call != "io_uring_setup" and not offered(serve, folder):
        pytest.skip("io_uring is not to be had here")
    site = serve(folder, "--backend", "uring", preexec=forbid(CALLS[call], error))
    assert site.get("/a.txt").content == b"x"
    expected = f"skua: uring cannot be used ({call}: {WORDS[error]}); epoll is used"
    assert eventually(lambda: expected in site.error_text()), site.error_text()
    lines = lines_of(site)
    assert "(epoll)" in "".join(lines)
    assert sum("cannot be used" in line for line in lines) == 1
    assert len(lines) == 2, lines


def test_refused_is_no_news_to_who_did_not_ask(serve, folder):
    site = serve(folder, "--backend", "auto", preexec=forbid(URING_SETUP, errno.EPERM))
    assert site.get("/a.txt").content == b"x"
    lines = lines_of(site)
    assert len(lines) == 1 and "(epoll)" in lines[0]


@pytest.mark.parametrize("name", ["epoll", "uring"])
def test_by_name(serve, folder, name):
    if name == "uring" and not offered(serve, folder):
        pytest.skip("io_uring is not to be had here")
    site = serve(folder, "--backend", name)
    assert f"({name})" in "".join(lines_of(site))
    assert site.get("/a.txt").content == b"x"


def test_unknown(folder):
    done = subprocess.run([BUILD / "skua", folder, "--listen", "127.0.0.1:0", "--backend", "iouring"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert 'there is no backend "iouring" here' in done.stderr
