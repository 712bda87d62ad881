# SPDX-License-Identifier: MIT
"""Keys of session tickets that programs share by a file, and that are replaced."""

import os
import signal
import ssl
import subprocess

import pytest
from ports import free_port
from server import BUILD, Server, check_sanitizers, eventually
from tls import certificate, context

pytestmark = [pytest.mark.in_the_clear("it says for itself how the program is spoken to"), pytest.mark.of_tls]

OLD, NEW = os.urandom(80), os.urandom(80)


@pytest.fixture
def secure(launch, tmp_path):
    """secure(*words) starts the program over HTTPS."""

    def start(*words):
        port = free_port()
        return launch(Server, [BUILD / "skua", tmp_path, "--listen", f"127.0.0.1:{port}", *certificate().options, *words],
                      ("127.0.0.1", port), tls=True)

    return start


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def visit(request):
    """visit(site, session) makes a request, and gives its session and whether the other was taken up."""
    client = context(version=request.param)

    def make(site, session=None):
        with site.connect(tls={"tls": client, "session": session}) as connection:
            assert connection.get("/").status == 200
            return connection.socket.ssl.session, connection.socket.ssl.session_reused

    return make


class Keys:
    """A file of ticket keys, which is replaced at once."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "tickets"

    def put(self, *keys):
        fresh = self.folder / "tickets.fresh"
        fresh.write_bytes(b"".join(keys))
        fresh.chmod(0o600)
        os.replace(fresh, self.path)
        return self


@pytest.fixture
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys"))


def says(site, text, times=1):
    return eventually(lambda: site.error_text().count(text) >= times) or pytest.fail(f"{text!r} is not in {site.error_text()}")


def test_two_programs_with_one_file(secure, visit, keys):
    keys.put(OLD)
    one, two = (secure("--ticket-keys", keys.path) for _ in range(2))
    stranger = secure()
    session, is_taken_up = visit(one)
    assert not is_taken_up
    assert visit(two, session)[1] and not visit(stranger, session)[1]


def test_keys_are_replaced_in_three_steps(secure, visit, keys):
    """As docs/tls.md has it."""
    site = secure("--ticket-keys", keys.put(OLD).path)
    says(site, "serves")
    old, _ = visit(site)

    def read(*which):  # it may have been seen, too, that the file has changed
        times = site.error_text().count("have been read again")
        keys.put(*which)
        site.signal(signal.SIGHUP)
        says(site, "have been read again", times + 1)

    read(OLD, NEW)
    assert visit(site, old)[1]
    read(NEW, OLD)
    assert visit(site, old)[1]
    new, _ = visit(site)
    read(NEW)
    assert visit(site, new)[1] and not visit(site, old)[1]


def test_a_change_of_the_file_has_it_read_again(secure, keys):
    site = secure("--ticket-keys", keys.put(OLD).path)
    says(site, "serves")
    keys.put(NEW, OLD)
    says(site, "have been read again")


def test_wrong_keys_leave_the_old_ones(secure, visit, keys):
    site = secure("--ticket-keys", keys.put(OLD).path)
    session, _ = visit(site)
    keys.put(NEW[:79])
    site.signal(signal.SIGHUP)
    says(site, f"the certificates stay as they are: the ticket keys {keys.path} have 79 octets; a key has 80")
    assert visit(site, session)[1]


@pytest.mark.parametrize("keys_of, sentence", [
    (lambda keys: keys.put(b"").path, "have 0 octets; a key has 80, and there are 1 to 16 of them"),
    (lambda keys: keys.put(OLD * 17).path, "have 1360 octets; a key has 80, and there are 1 to 16 of them"),
    (lambda keys: keys.path, "there is no such file"),
    (lambda keys: keys.folder, "is not a file"),
])
def test_keys_that_cannot_be_used(tmp_path, keys, keys_of, sentence):
    words = [BUILD / "skua", tmp_path, "--port", "0", *certificate().options, "--ticket-keys", keys_of(keys)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    check_sanitizers(done.stderr)
    assert done.returncode == 1 and sentence in done.stderr and done.stderr.count("\n") == 1


def test_keys_that_others_can_read_are_a_warning(secure, keys):
    keys.put(OLD).path.chmod(0o644)
    says(secure("--ticket-keys", keys.path), f"the ticket keys {keys.path} can be read by every user of this machine")
