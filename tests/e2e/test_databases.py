# SPDX-License-Identifier: MIT
"""examples/postgres.c and redis.c with a real PostgreSQL and a real Redis, both started here on loopback."""

import concurrent.futures
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pytest
from ports import free_port
from server import BUILD, Server, eventually
from wire import posted, request

pytestmark = pytest.mark.in_the_clear("each example is started as its reader would")

# Debian keeps the programs of each version apart, and off the path.
POSTGRES = next((pathlib.Path(p).parent for p in [*glob.glob("/usr/lib/postgresql/*/bin/postgres"),
                                                  *filter(None, [shutil.which("postgres")])]), None)
REDIS = shutil.which("redis-server")


def as_somebody():
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    user = pwd.getpwnam("nobody")

    def become():
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)

    return become


class Database:
    """A process that is started again on the same port."""

    def __init__(self, words, port, folder):
        self.words, self.port, self.folder = [str(w) for w in words], port, folder
        self.start()

    def start(self):
        self.log = open(f"{self.folder}/log", "ab")  # noqa: SIM115
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        cwd=self.folder, preexec_fn=as_somebody())

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # what PostgreSQL calls fast
        self.process.wait(30)
        self.log.close()


@pytest.fixture(scope="module")
def folder():
    """Short, as it holds a Unix socket, and not below pytest's, which is its user's alone."""
    with tempfile.TemporaryDirectory(prefix="skua-") as path:
        os.chmod(path, 0o777)
        yield path


@pytest.fixture(scope="module")
def postgres(folder):
    assert POSTGRES, "PostgreSQL is not installed: tools/setup test"
    port, data = free_port(), f"{folder}/data"
    subprocess.run([POSTGRES / "initdb", "-D", data, "-U", "skua", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8"],
                   check=True, stdout=subprocess.DEVNULL, cwd=folder, preexec_fn=as_somebody())
    words = [POSTGRES / "postgres", "-D", data, "-p", port, "-k", folder, "-F",
             "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=8MB", "-c", "max_connections=20"]
    database = Database(words, port, folder)
    yield database
    database.end()


@pytest.fixture(scope="module")
def redis(folder):
    assert REDIS, "Redis is not installed: tools/setup test"
    port = free_port()
    database = Database([REDIS, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder], port, folder)
    yield database
    database.end()


@pytest.fixture
def example():
    started = []

    def start(name, word):
        port = free_port()
        server = Server([BUILD / f"example_{name}", f"127.0.0.1:{port}", word], ("127.0.0.1", port))
        started.append(server)
        return server

    yield start
    for server in started:
        server.signal(signal.SIGTERM)
        code = server.process.wait(30)
        server.judged = True
        assert code in (0, -signal.SIGTERM), server.error_text()
        assert "Sanitizer" not in server.error_text(), server.error_text()


def notes(example, postgres):
    """The example, which needs a database that takes connections."""
    words = f"host=127.0.0.1 port={postgres.port} user=skua dbname=postgres"
    ready = [POSTGRES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(postgres.port)]
    assert eventually(lambda: subprocess.run(ready, check=False).returncode == 0)
    return example("postgres_c", words)


def add(server, content):
    with server.connect() as connection:
        return connection.send(posted("/notes", content)).response()


def hit(server, page):
    with server.connect() as connection:
        return connection.send(request(f"/hits/{page}", method="POST")).response()


def many(call, count):
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        return list(threads.map(call, range(count)))


def test_postgres(example, postgres):
    server = notes(example, postgres)
    made = add(server, "a nöte".encode())
    assert made.status == 200
    number = int(made.content)
    assert server.get(f"/notes/{number}").content == "a nöte".encode()
    assert server.get("/notes/1000000").status == 404
    assert server.get("/notes/1'%20OR%201=1").status == 404
    assert add(server, b"").status == 200
    numbers = many(lambda n: int(add(server, b"%d" % n).content), 64)  # more than there are connections
    assert len(set(numbers)) == 64
    assert many(lambda n: server.get(f"/notes/{numbers[n]}").content, 64) == [b"%d" % n for n in range(64)]


def test_redis(example, redis):
    server = example("redis_c", redis.port)
    assert eventually(lambda: server.get("/hits/none").status == 200)
    assert server.get("/hits/none").content == b"0\n"
    assert sorted(many(lambda _: int(hit(server, "page").content), 64)) == list(range(1, 65))
    assert server.get("/hits/page").content == b"64\n"


@pytest.mark.test_all
def test_a_postgres_that_goes_away_and_comes_back(example, postgres):
    server = notes(example, postgres)
    number = int(add(server, b"kept").content)
    postgres.end()
    assert eventually(lambda: server.get(f"/notes/{number}").status == 503)
    postgres.start()
    assert eventually(lambda: server.get(f"/notes/{number}").content == b"kept")


@pytest.mark.test_all
def test_a_client_that_leaves_meanwhile(example, postgres):
    server = notes(example, postgres)
    for n in range(50):
        connection = server.connect()
        connection.send(posted("/notes", b"%d" % n)).reset()
    assert add(server, b"last").status == 200


@pytest.mark.test_all
def test_a_redis_that_goes_away_and_comes_back(example, redis):
    server = example("redis_c", redis.port)
    assert eventually(lambda: hit(server, "again").status == 200)
    redis.end()
    assert eventually(lambda: hit(server, "again").status == 503)
    redis.start()
    assert eventually(lambda: hit(server, "again").status == 200)


@pytest.mark.test_all
def test_a_redis_that_hangs(example, redis):
    """Those who wait are answered 503 after five seconds."""
    server = example("redis_c", redis.port)
    assert eventually(lambda: hit(server, "hung").status == 200)
    redis.process.send_signal(signal.SIGSTOP)
    try:
        assert hit(server, "hung").status == 503
    finally:
        redis.process.send_signal(signal.SIGCONT)
    assert eventually(lambda: hit(server, "hung").status == 200)
