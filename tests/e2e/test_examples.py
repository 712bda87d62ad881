# SPDX-License-Identifier: MIT
"""The examples, each used as its first lines say."""

import json
import os
import signal
import subprocess
import threading
import time

import browser
import pytest
import store
import websocket as ws
from certificates import SecureConnection, make, shown_at, trusting
from ports import free_port
from server import BUILD, ROOT, Server, eventually
from wire import posted, request

pytestmark = pytest.mark.in_the_clear("each example is started as its reader would")

EXAMPLES = sorted(p for p in (ROOT / "examples").iterdir() if p.suffix in (".c", ".cpp"))
# The first reads and writes the messages by itself, the others drive a library through its states.
LINES = {"books.c": 150, "chat.c": 120, "dashboard.c": 110, "grpc.c": 210, "postgres.c": 280, "redis.c": 210}


@pytest.fixture
def example():
    started = []

    def start(name, *words, port=None, **options):
        port = port or free_port()
        address = options.pop("word", f"127.0.0.1:{port}")
        server = Server([BUILD / f"example_{name}", address, *words], ("127.0.0.1", port), **options)
        started.append(server)
        return server

    yield start
    for server in started:
        if not server.judged:
            end(server)


def end(server):
    """They handle no signals, most of them: ended by one is well ended."""
    server.signal(signal.SIGTERM)
    code = server.process.wait(30)
    server.judged = True
    assert code in (0, -signal.SIGTERM), server.error_text()
    assert "Sanitizer" not in server.error_text(), server.error_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_each_is_short(path):
    assert len(path.read_text().splitlines()) <= LINES.get(path.name, 80)
    assert (BUILD / f"example_{path.name.replace('.', '_')}").exists()


@pytest.mark.parametrize("name", ["hello_c", "hello_cpp"])
def test_hello(example, name):
    server = example(name)
    assert server.get("/hello/you").content == b"Hello, you!\n"
    assert server.get("/").status == 404


@pytest.mark.of_tls
def test_tls(example, tmp_path):
    pair = make(tmp_path)
    server = example("tls_c", pair.cert, pair.key)
    with SecureConnection(server.address, trusting(pair.cert)) as connection:
        assert connection.get("/").content.decode() == f"TLSv1.3, {connection.socket.cipher()[0]}, for localhost\n"
    assert shown_at(server.address) == pair.fingerprint
    assert shown_at(example("tls_c").address) != pair.fingerprint


class Chatter:
    """Somebody in a room, by the page's rules: the lists of several machines are one."""

    def __init__(self, server, room, name):
        self.socket, self.lists = ws.Socket(server, f"/chat/{room}?name={name}"), {}

    def says(self, text):
        self.socket.send(ws.frame(ws.TEXT, text))

    def message(self):
        """The next that somebody says."""
        while (message := self.socket.message())[0] == "*":
            self.hear(message)
        return message

    def hear(self, message):
        if message[0] == "*":
            machine, *names = message[1:].split()
            self.lists[machine] = set(names)

    def sees(self, *names):
        """Waits until these are in the room, and no others."""
        end = time.monotonic() + 20
        while set().union(*self.lists.values()) != set(names):
            assert time.monotonic() < end, self.lists
            self.hear(self.socket.message())


def test_chat(example):
    server = example("chat_c")
    assert b"new WebSocket" in server.get("/").content
    ann, ben, carl = Chatter(server, "kitchen", "ann"), Chatter(server, "kitchen", "ben"), Chatter(server, "attic", "carl")
    for each in (ann, ben):
        each.sees("ann", "ben")
    carl.sees("carl")
    ann.says("hello, κόσμε")
    assert ann.message() == ben.message() == " ann: hello, κόσμε"
    ben.socket.leave()
    ann.sees("ann")
    carl.says("only here")
    assert carl.message() == " carl: only here"
    nameless = Chatter(server, "kitchen", "x" * 5000)
    ann.sees("ann", "somebody")
    nameless.says("y" * 2000)
    assert ann.message() == " somebody: " + "y" * 2000


@pytest.mark.test_all
def test_chat_on_three_machines(example, tmp_path):
    """A real store between them; each message comes to everybody once, and who is on which machine is seen on all."""
    if not store.PROGRAM:
        pytest.skip("there is no redis-server here")
    between = store.Store(tmp_path)
    try:
        machines = [example("chat_c", between.url, name) for name in "abc"]
        assert eventually(lambda: int(between.ask("XLEN", "skua:topics")) >= 3)
        chatters = [Chatter(machine, "kitchen", f"{who}{i}") for i, machine in enumerate(machines) for who in ("ann", "ben")]
        everybody = [f"{who}{i}" for i in range(3) for who in ("ann", "ben")]
        for each in chatters:
            each.sees(*everybody)
        for i, each in enumerate(chatters):
            each.says(f"from {i}")
        for each in chatters:
            said = [each.message() for _ in everybody]
            assert sorted(said) == sorted(f" {name}: from {i}" for i, name in enumerate(everybody))
        for i in range(20):
            chatters[0].says(str(i))
        for each in chatters:
            assert [each.message() for _ in range(20)] == [f" ann0: {i}" for i in range(20)]
        chatters.pop(0).socket.leave()
        for each in chatters:
            each.sees(*everybody[1:])
    finally:
        between.end()


def feed(server, name, value):
    with server.connect() as connection:
        connection.send(posted(f"/figures/{name}", value))
        return connection.response().status


def test_dashboard(example):
    """Each viewer gets what is fed, and what the server tells about itself."""
    server = example("dashboard_c")
    viewers = [server.connect() for _ in range(3)]
    for viewer in viewers:
        viewer.send(request("/live"))
        assert viewer.head().get("content-type") == "text/event-stream"
    assert [feed(server, "orders", b"17"), feed(server, "orders", b"x"), feed(server, "x" * 61, b"1")] == [200, 400, 400]
    for viewer in viewers:
        heard, wanted, end = "", ("event: figure\ndata: 17 orders\n\n", " connections\n", "p99"), time.monotonic() + 20
        while not all(words in heard for words in wanted):
            assert time.monotonic() < end, heard
            heard += viewer.one_chunk().decode()
        viewer.close()


@pytest.mark.test_all
@pytest.mark.skipif(not browser.CHROMIUM, reason="chromium is not installed")
def test_dashboard_in_chromium(example, tmp_path):
    server = example("dashboard_c")
    with browser.page(tmp_path) as page:
        page.size(390, 900)
        page.open(server.url)
        assert eventually(lambda: "connections" in (page.ask("document.body?.innerText") or ""))
        for value in (3, 9, 17):
            assert feed(server, "%3Cb%3Eorders", str(value).encode()) == 200
        tile = "[...document.querySelectorAll('section')].find(e => e.innerText.startsWith('<b>orders'))"
        assert eventually(lambda: page.ask(f"{tile}?.querySelector('b').textContent") == "17")
        assert page.ask(f"{tile}.querySelectorAll('rect').length") == 3
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        (tmp_path / "dashboard.png").write_bytes(page.screenshot())
        assert not [one for one in page.complaints if "favicon" not in str(one)]


def test_hello_cpp_sum(example):
    server = example("hello_cpp")
    assert server.get("/sum/2/-5").content == b"-3"
    assert server.get("/sum/2/x").status == 400


def test_rest(example):
    server = example("rest_c")
    with server.connect() as connection:
        connection.send(posted("/tasks", b'{"title": "write"}'))
        made = connection.response()
        assert made.status == 201 and json.loads(made.content) == {"id": "1", "title": "write"}
        connection.send(posted("/tasks", b"{"))
        assert connection.response().status == 400
        assert json.loads(connection.get("/tasks").content) == {"1": "write"}
        assert json.loads(connection.get("/tasks/1").content) == {"title": "write"}
        assert connection.get("/tasks/1", method="DELETE").status == 204
        assert connection.get("/tasks/1").status == 404
        assert connection.get("/tasks/1", method="PUT").get("allow") == "DELETE, GET, HEAD"


def test_upload_with_progress(example):
    server = example("upload_c")
    connection = server.connect()
    connection.send(b"PUT /upload/3 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + b"\x01" * 150_000)
    assert eventually(lambda: server.get("/progress/3").content == b"150000 octets so far\n")
    connection.send(b"\x01" * 50_000)
    answer = connection.response()
    assert (answer.status, answer.content) == (201, b"200000 is the sum\n")
    assert server.get("/progress/x").status == 404


def test_generate(example):
    server = example("generate_c")
    lines = server.get("/squares/100000.csv").content.decode().splitlines()
    assert lines == [f"{n},{n * n}" for n in range(1, 100_001)]
    assert server.get("/squares/x").status == 404


def test_events(example):
    server = example("events_c")
    assert b"EventSource" in server.get("/").content
    connection = server.connect()
    connection.send(request("/ticks"))
    assert connection.head().get("content-type") == "text/event-stream"
    seen = bytes(connection.buffer)
    while seen.count(b"\n\n") < 2:
        seen += connection.socket.recv(4096)
    assert b"event: tick\ndata: 1\n\n" in seen or b"data: 1\n" in seen
    connection.reset()
    assert server.get("/").status == 200


def test_thread(example):
    server = example("thread_c")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.get("/measure").content)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 and all(text.endswith(b" C\n") for text in answers)
    gone = server.connect()
    gone.send(request("/measure"))
    gone.reset()
    assert server.get("/measure").status == 200


def test_sqlite(example, tmp_path):
    server = example("sqlite_c", tmp_path / "notes.db")
    with server.connect() as connection:
        connection.send(posted("/notes", "a nöte".encode()))
        assert connection.response().content == b"1\n"
        assert connection.get("/notes/1").content == "a nöte".encode()
        assert connection.get("/notes/2").status == 404
        assert connection.get("/notes/1'%20OR%201=1").status == 404


TOKEN = "Authorization: Bearer open-sesame"


def test_books(example, tmp_path):
    server = example("books_c", tmp_path / "books.db")
    refused = server.get("/books")
    assert refused.status == 401 and refused.get("www-authenticate").startswith("Bearer")
    assert json.loads(refused.content) == {"error": ""}
    with server.connect() as connection:
        for number, title in enumerate(["Emma", "Dubliners", 'a "quote"'], 1):
            connection.send(posted("/books", json.dumps({"title": title}).encode(), TOKEN))
            made = connection.response()
            assert made.status == 201 and json.loads(made.content) == {"id": number, "title": title}
        for wrong in (b"{", b"{}", b'{"title":null}', b""):
            connection.send(posted("/books", wrong, TOKEN))
            response = connection.response()
            assert response.status == 422 and json.loads(response.content) == {"error": "A book has a title."}
        page = connection.get("/books?limit=2", TOKEN)
        assert json.loads(page.content) == {"books": [{"id": 1, "title": "Emma"}, {"id": 2, "title": "Dubliners"}], "next": 2}
        rest = connection.get("/books?limit=2&after=2", TOKEN)
        assert json.loads(rest.content) == {"books": [{"id": 3, "title": 'a "quote"'}], "next": 3}
        assert connection.get("/books?limit=2", TOKEN, f"If-None-Match: {page.get('etag')}").status == 304
        assert connection.get("/books?limit=101", TOKEN).status == 400
        assert connection.get("/books/x", TOKEN).status == 400
        assert connection.get("/books/1", TOKEN, method="DELETE").status == 202
        gone = connection.get("/books/1", TOKEN)
        assert gone.status == 404 and json.loads(gone.content) == {"error": "There is no such book."}
        assert connection.get("/books/2", TOKEN, method="PATCH").get("allow") == "DELETE, GET, HEAD"
    connection = server.connect()
    connection.send(posted("/books", b" " * 5000, TOKEN))
    assert connection.response().status == 413


def test_fanout(example):
    """Three sources at once, of which one is slow: the response is there before its 30 s are over, for which nobody waits here."""
    server = example("fanout_cpp")
    assert json.loads(server.get("/offers/tea").content) == {"shop": 340, "market": 312, "auction": None}
    assert json.loads(server.get("/offers/coffee").content) == {"shop": 610, "market": 595, "auction": 580}
    failed = server.get("/offers/air")
    assert failed.status == 404 and b"no shop sells air" in failed.content


def test_single_page(example, tmp_path):
    (tmp_path / "index.html").write_text("<script src=/app.js></script>")
    (tmp_path / "app.js").write_text("fetch('/api/me')")
    server = example("spa_cpp", tmp_path)
    with server.connect() as connection:
        for path in ("/", "/settings/profile"):
            assert connection.get(path).content == b"<script src=/app.js></script>"
        assert connection.get("/app.js").content == b"fetch('/api/me')"
        assert connection.get("/missing.js").status == 404
        assert json.loads(connection.get("/api/nothing").content) == {"error": 404}
        assert json.loads(connection.get("/api/me").content) == {"error": 401}
        connection.send(posted("/api/login", b"name=Ada", "Content-Type: application/x-www-form-urlencoded"))
        response = connection.response()
        assert response.status == 204
        cookie = response.get("set-cookie")
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
        assert json.loads(connection.get("/api/me", "Cookie: " + cookie.split(";")[0]).content) == {"name": "Ada"}
        assert json.loads(connection.get("/api/me", "Cookie: session=0").content) == {"error": 401}


def test_foreign_loop():
    port = free_port()
    process = subprocess.Popen([BUILD / "example_foreign_loop_c", f"127.0.0.1:{port}"], stdin=subprocess.PIPE)
    try:
        get = lambda: subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], capture_output=True).stdout
        assert eventually(lambda: get() == b"nothing yet\n")
        process.stdin.write(b"typed\n")
        process.stdin.flush()
        assert eventually(lambda: get() == b"typed\n")
        process.stdin.close()
        assert process.wait(30) == 0
    finally:
        process.kill()


def test_middleware(example):
    server = example("middleware_c")
    home = server.get("/")
    assert home.content == b"home\n" and home.get("server-timing").startswith("total;dur=")
    assert server.get("/none").get("server-timing")
    refused = server.get("/admin/")
    assert refused.status == 401 and refused.get("www-authenticate") == 'Basic realm="admin"'
    assert server.get("/admin/", "Authorization: Basic YWRtaW46c2VjcmV0").content == b"admin\n"
    assert server.get("/admin/", "Authorization: Basic YWRtaW46c2VjcmV1").status == 401


def test_restart(example):
    port = free_port()
    server = example("restart_c", port=port, word=str(port))
    first = int(server.get("/").content)
    assert first == server.pid
    errors, stop = [], threading.Event()
    idle = server.connect(http2=False)
    assert idle.get("/").get("connection") is None

    def load():
        while not stop.is_set():
            try:
                if server.get("/").status != 200:
                    errors.append("status")
            except (OSError, EOFError) as e:
                errors.append(e)

    loader = threading.Thread(target=load)
    loader.start()
    server.signal(signal.SIGHUP)
    second = eventually(lambda: (pid := int(server.get("/").content)) != first and pid)
    stop.set()
    loader.join()
    try:
        answer = idle.get("/")  # of a connection that was idle meanwhile
        assert int(answer.content) == first and answer.get("connection") == "close"
        assert server.process.wait(30) == 0 and not errors
        assert int(server.get("/").content) == second
    finally:
        os.kill(second, signal.SIGTERM)


def test_relay(example):
    source = example("generate_c")
    port = free_port()
    relay = example("relay_cpp", f"127.0.0.1:{port}", word=f"127.0.0.1:{source.port}", port=port)
    assert relay.get("/squares/200000.csv").content == source.get("/squares/200000.csv").content
    assert relay.get("/none").status == 404
    end(source)
    assert relay.get("/squares/1.csv").status == 502
