# SPDX-License-Identifier: MIT
"""bearer_auth and skua token: who is let in by a token, what is counted, and the files that are written."""

import hashlib
import itertools
import re
import subprocess

import pytest
from clock import patiently
from conf import SKUA, basic, get, of, start, write_folder
from server import check_sanitizers, eventually

pytestmark = [pytest.mark.in_the_clear("nothing but the program"), pytest.mark.of_http1("nothing but the program")]

TEXT = """
listen 127.0.0.1:PORT
trusted_proxies x-forwarded 127.0.0.1
site api.test {
    root pub
    bearer_auth API api.tokens
    path /open/ {
        bearer_auth off
    }
    path /people/ {
        root pub
        bearer_auth off
        basic_auth Staff staff.users
        method PUT {
            basic_auth off
            bearer_auth API api.tokens
        }
    }
    path /both/ {
        bearer_auth Inner inner.tokens
    }
}
"""
ANNA = "anna:$2b$04$aaaaaaaaaaaaaaaaaaaaaOGY9KrC7e/pHj3EXQPxs8hKEBbvQhsvG\n"


def token(folder, *words, status=0):
    """The output of the command: (standard output, standard error)."""
    done = subprocess.run([SKUA, "token", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=False)
    check_sanitizers(done.stderr)
    assert done.returncode == status
    return done.stdout, done.stderr


def line(name, text):
    return f"{name}:{hashlib.sha256(text.encode()).hexdigest()}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("tokens"))
    (folder / "api.tokens").write_text("# of machines\n\n" + line("ci", "first") + line("cron", "second~+/=") + line("both", "third"))
    (folder / "inner.tokens").write_text(line("both", "third"))
    (folder / "staff.users").write_text(ANNA)
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = start(folder, TEXT)
    yield server
    server.stop()


def status(server, path, *lines, client=1, **options):
    return get(server, "api.test", path, f"X-Forwarded-For: 198.51.100.{client}", *lines, **options).status


def bearer(text):
    return f"Authorization: Bearer {text}"


@of("bearer_auth")
def test_tokens(server):
    asked = get(server, "api.test", "/text.txt")
    assert (asked.status, asked.get("www-authenticate"), asked.get("cache-control")) == (401, 'Bearer realm="API"', "no-store")
    wrong = get(server, "api.test", "/text.txt", bearer("wrong"))
    assert (wrong.status, wrong.get("www-authenticate")) == (401, 'Bearer realm="API", error="invalid_token"')
    for _ in range(3):  # checked, and then known
        assert [status(server, "/text.txt", bearer(text)) for text in ("first", "second~+/=")] == [200, 200]
        assert status(server, "/text.txt", "authorization: bearer   first", method="HEAD") == 200
    for text in ("firs", "first1", "FIRST", "first second", "", hashlib.sha256(b"first").hexdigest(), "first\u00e9"):
        assert status(server, "/text.txt", bearer(text), client=2) == 401
    assert status(server, "/text.txt", basic("anna", "secret")) == 401
    assert status(server, "/none", bearer("first")) == 404 and status(server, "/none") == 401
    assert status(server, "/open/text.txt") == 404
    # tokens of outer and inner blocks add up
    assert [status(server, "/both/", bearer(text), client=3) for text in ("third", "first")] == [404, 401]


def test_people_and_machines(server):
    assert status(server, "/people/text.txt", basic("anna", "secret"), client=4) == 200
    assert status(server, "/people/text.txt", bearer("first"), client=4) == 401
    assert status(server, "/people/text.txt", bearer("first"), method="PUT", client=4) == 405
    assert status(server, "/people/text.txt", basic("anna", "secret"), method="PUT", client=4) == 401


def test_wrong_tokens_are_counted(server):
    clients = iter(range(10, 250))

    def guess(_):  # one more is allowed in six seconds
        client = next(clients)
        assert [status(server, "/text.txt", bearer(f"x{i}"), client=client) for i in range(12)] == [401] * 10 + [429] * 2
        return client

    guesser = patiently(guess, 3)
    assert status(server, "/text.txt", bearer("wrong"), client=6) == 401
    assert [status(server, "/text.txt", bearer("first"), client=7) for _ in range(20)] == [200] * 20
    assert [status(server, "/text.txt", client=8) for _ in range(20)] == [401] * 20  # nothing was tried
    told = lambda client: server.error_text().count(f"wrong token from 198.51.100.{client}\n")
    assert eventually(lambda: told(6) == 1 and told(guesser) >= 10) and told(guesser) == 10


def test_tokens_are_made_and_taken_back(tmp_path, launch):
    write_folder(tmp_path)
    made, said = token(tmp_path, "api.tokens", "ci")
    assert re.fullmatch(r"skua_[A-Za-z0-9_-]{40}\n", made) and said == ""
    file = tmp_path / "api.tokens"
    assert file.read_text() == line("ci", made.strip()) and file.stat().st_mode & 0o777 == 0o640
    other, _ = token(tmp_path, "api.tokens", "cron")
    assert file.read_text() == line("ci", made.strip()) + line("cron", other.strip()) and made != other
    text = "listen 127.0.0.1:PORT\ntrusted_proxies x-forwarded 127.0.0.1\nsite * {\n root pub\n bearer_auth API api.tokens\n}\n"
    server = launch(start, tmp_path, text)
    clients = itertools.count()

    def let_in(text):  # another client each time, as wrong ones are counted
        client = f"X-Forwarded-For: 2001:db8:0:{next(clients):x}::1"
        return get(server, "a", "/text.txt", client, bearer(text.strip())).status == 200

    assert let_in(made) and let_in(other)
    again, _ = token(tmp_path, "api.tokens", "ci")
    assert eventually(lambda: let_in(again)) and not let_in(made) and let_in(other)
    file.write_text("ci:0\n")
    assert eventually(lambda: not let_in("wrong") and "stay as they were" in server.error_text())
    assert let_in(again)


@pytest.mark.parametrize(
    "words,code,sentence", [
        (["api.tokens"], 2, "token needs a file and a name: skua token FILE NAME; ./token is the directory"),
        (["none/api.tokens", "ci"], 1, "none/api.tokens cannot be written"),
        (["api.tokens", "a:b"], 1, "\"a:b\" cannot be the name of a user; a name has no colon, no control characters, and no # at its beginning"),
    ],
)
def test_faults_of_the_command(tmp_path, words, code, sentence):
    assert token(tmp_path, *words, status=code) == ("", f"skua: {sentence}\n")
    assert list(tmp_path.iterdir()) == []
