# SPDX-License-Identifier: MIT
"""Topics over several machines: servers that share a real store, which goes away and comes back with and without its data."""

import itertools
import signal
import threading
import time

import haproxy
import pytest
from events import Event, EventReader
from ports import free_port
from server import eventually, numbered
from store import FalseStore, Store
from websocket import BINARY, TEXT, Socket, frame
from wire import posted, request

pytestmark = pytest.mark.in_the_clear("what is tested is between servers and a store")
OK = b"no error"
AWAY, BACK, MISSING = "is away", "the store is back", "are missing"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.fixture
def store(folder):
    store = Store(folder)
    yield store
    store.end()


@pytest.fixture
def machines(launch, store):
    """machines(3, NAME=value) starts so many servers, which are connected to the store."""

    def start(count, **environment):
        words = {"STORE": store.url, **{k: str(v) for k, v in environment.items()}}
        found = []
        for number in range(count):
            found.append(launch(numbered, "topics", env=words))
            known = number * (number + 1) // 2  # those who were there have told how far they are
            assert eventually(lambda: kinds(store).count("h") > number and kinds(store).count("c") >= known)
        return found

    return start


def kinds(store):
    """Kinds of the entries in the stream, among other words."""
    return store.ask("XRANGE", "skua:topics", "-", "+").split("\n")


class Stream:
    """An event stream that has joined a room."""

    def __init__(self, server, room="news"):
        self.connection = server.connect()
        self.connection.send(request(f"/events/{room}"))
        assert self.connection.head().status == 200
        self.reader, self.events = EventReader(), []
        assert self.next().data == "welcome"

    def next(self):
        while not self.events:
            size = int(self.connection.line(), 16)
            assert size, "the stream has ended"
            self.events += self.reader.feed(self.connection.exactly(size))
            assert self.connection.exactly(2) == b"\r\n"
        return self.events.pop(0)

    def message(self):
        return self.next().data


def member(server, room="news"):
    socket = Socket(server, f"/live/{room}")
    assert socket.message() == "welcome"
    return socket


def publish(server, content, room="news", query=""):
    with server.connect() as connection:
        connection.send(posted(f"/publish/{room}{query}", content if isinstance(content, bytes) else content.encode()))
        return connection.response().content


def publish_all(server, texts):
    with server.connect() as connection:
        for text in texts:
            connection.send(posted("/publish/news", text.encode()))
            assert connection.response().content == OK


def messages(reader, count):
    return [reader.message() for _ in range(count)]


def of(name, count, first=0):
    return [f"{name} {i}" for i in range(first, first + count)]


def counted(server, name):
    for line in server.get("/stats").content.decode().splitlines():
        if line.startswith(f"skua_topics_{name}_total "):
            return int(line.split()[1])
    raise AssertionError(f"no {name}")


def said(server, words):
    return server.error_text().count(words)


def all_away(store, servers):
    store.kill()
    assert eventually(lambda: all(said(server, AWAY) for server in servers))


# ---- While the store is there ----


def each_once_in_order(servers, readers, count):
    """All servers publish at once. Each reader gets everything once, and that of each publisher in its order."""
    threads = [threading.Thread(target=publish_all, args=(server, of(f"m{i}", count))) for i, server in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for reader in readers:
        got = messages(reader, count * len(servers))
        for i in range(len(servers)):
            assert [text for text in got if text.startswith(f"m{i} ")] == of(f"m{i}", count)
    publish(servers[0], "last")
    assert [reader.message() for reader in readers] == ["last"] * len(readers)  # nothing came twice


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_three_machines(machines):
    servers = machines(3)
    readers = [make(server) for server in servers for make in (member, Stream)]
    each_once_in_order(servers, readers, 100)
    assert all(said(server, "skua: topics:") == 0 for server in servers)
    assert eventually(lambda: counted(servers[0], "carried") == 101)
    assert eventually(lambda: counted(servers[1], "received") == 201)


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_everything_of_a_publication_is_kept(machines):
    here, there = machines(2, MESSAGE=1000)
    socket, stream = member(there), Stream(there)
    other = Stream(there, "sport")
    assert publish(here, b"one\ntwo", query="?event=tick&id=7") == OK
    assert publish(here, b"", query="?id=") == OK
    assert publish(here, b"\0\xff\r\n" * 250, query="?binary=1") == OK
    assert publish(here, b"x" * 1000) == OK
    assert b"form" in publish(here, b"x" * 1001)
    assert publish(here, "größer") == OK
    assert publish(here, "goal", "sport") == OK
    assert [socket.message() for _ in range(5)] == ["one\ntwo", "", b"\0\xff\r\n" * 250, "x" * 1000, "größer"]
    assert stream.next() == Event("one\ntwo", "tick", "7")
    assert messages(stream, 3) == ["", "x" * 1000, "größer"]
    assert other.message() == "goal"


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_the_sender_is_left_out_on_its_own_machine_alone(machines):
    here, there = machines(2)
    sender, beside, far = member(here), member(here), member(there)
    sender.send(frame(TEXT, "hello")).send(frame(BINARY, b"\1\2"))
    for reader in (beside, far):
        assert messages(reader, 2) == ["hello", b"\1\2"]
    publish(there, "reply")
    assert sender.message() == "reply"


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_names_of_any_octets(machines):
    """They are carried octet for octet, or refused."""
    servers = machines(3)
    names = [bytes(range(255)), b"\0", b"\0\0", b"\r\n$1\r\n*", b"\xff" * 255, b" ", b"'\"\\"]
    readers = [member(server, "other") for server in servers]
    for reader in readers:
        for name in names:
            reader.send(frame(BINARY, b"join  " + name))
        reader.send(frame(BINARY, b"join  ")).send(frame(BINARY, b"join  " + b"x" * 256))
        assert messages(reader, len(names)) == ["no error"] * len(names)
        assert messages(reader, 2) == ["not of the documented form"] * 2
    wanted = sorted(f"{at} {number}" for at in range(3) for number in range(len(names)))
    for at, server in enumerate(servers):
        for number, name in enumerate(names):
            with server.connect() as connection:
                connection.send(posted("/named", bytes([len(name)]) + name + f"{at} {number}".encode()))
                assert connection.response().content == OK
    for reader in readers:
        assert sorted(messages(reader, len(wanted))) == wanted
    publish(servers[0], "last", "other")
    assert [reader.message() for reader in readers] == ["last"] * 3


def test_a_database_and_a_password(launch, folder):
    store = Store(folder, "--requirepass", "p@ss:w/rd")
    try:
        wrong = launch(numbered, "topics", env={"STORE": f"redis://:wrong@127.0.0.1:{store.port}"})
        url = f"redis://:p%40ss%3aw%2Frd@localhost:{store.port}/3"
        here, there = (launch(numbered, "topics", env={"STORE": url, "STREAM": "mine"}) for _ in range(2))
        ask = ("--no-auth-warning", "-a", "p@ss:w/rd", "-n", "3", "XRANGE", "mine", "-", "+")
        assert eventually(lambda: store.ask(*ask).split("\n").count("h") >= 2)
        reader = Stream(there)
        publish(here, "secret")
        assert reader.message() == "secret"
        assert eventually(lambda: said(wrong, "WRONGPASS"))
        assert "p@ss" not in here.error_text() + wrong.error_text()
        assert said(wrong, AWAY) == 1
    finally:
        store.end()


def test_a_unix_socket(launch, folder):
    path = f"/tmp/skua-{free_port()}.sock"
    store = Store(folder, "--unixsocket", path)
    try:
        here, there = (launch(numbered, "topics", env={"STORE": f"unix://{path}?db=1"}) for _ in range(2))
        assert eventually(lambda: int(store.ask("-n", "1", "XLEN", "skua:topics")) >= 2)
        reader = Stream(there)
        publish(here, "near")
        assert reader.message() == "near"
    finally:
        store.end()


# ---- Others write there, too ----


def test_entries_that_are_none(machines, store):
    here, there = machines(2)
    reader = Stream(there)
    instance = "0123456789abcdef" * 2
    good = ["i", instance, "n", "1", "k", "t", "t", "news", "m", "stranger"]
    bad = [["x", "y"], ["i", "short", *good[2:]], good[:8] + ["t", "again"], ["i", instance, "n", "-1", *good[4:]],
           good[:4] + ["k", "z"] + good[6:], good[:4] + ["k", "b", "t", "news", "m", "1", "e", "event"],
           good[:3] + ["2", "k", "t", "t", "x" * 256, "m", "1"], ["i", instance, "n", "99999999999999999999", *good[4:]],
           ["a", "b"] * 17]
    for words in bad:
        store.ask("XADD", "skua:topics", "*", *words)
    store.ask("XADD", "skua:topics", "*", *good[:2], "n", "9", *good[4:])
    assert reader.message() in ("stranger", "gap")
    publish(here, "end")
    while reader.message() != "end":
        pass
    assert counted(there, "ignored") == len(bad)
    assert eventually(lambda: said(there, "none of a bridge's")) == 1


def test_the_clock_of_the_store_was_set_back(machines, store):
    """Entries from before a machine's start are not read, though their ids are later than the store's time. Those behind are."""
    (here,) = machines(1)
    late = int(time.time() * 1000) + 3600000
    old = ["i", "0123456789abcdef" * 2, "k", "t", "t", "news", "m", "old"]
    for number in range(3):
        store.ask("XADD", "skua:topics", f"{late}-{number}", *old, "n", number + 1)
    publish(here, "older")
    assert eventually(lambda: counted(here, "received") == 3 and counted(here, "carried") == 1)
    there = machines(1)[0]
    assert eventually(lambda: kinds(store).count("h") == 2)
    reader = Stream(there)
    for server in (here, there):
        publish(server, "new")
    assert messages(reader, 2) == ["new"] * 2
    assert eventually(lambda: counted(there, "received")) == 1  # it is counted once the readers have it
    assert said(there, MISSING) == 0


def test_a_key_that_is_no_stream(machines, store):
    here, there = machines(2)
    reader = Stream(there)
    store.ask("SET", "skua:topics", "taken")
    publish(here, "kept")
    assert eventually(lambda: said(here, "WRONGTYPE"))
    store.ask("DEL", "skua:topics")
    assert eventually(lambda: said(here, BACK))
    while reader.message() != "kept":
        pass


# ---- What replies is no store ----

ENTRIES = b"*1\r\n*2\r\n$11\r\nskua:topics\r\n*1\r\n*2\r\n"  # one, whose id and words follow


@pytest.mark.parametrize("replies,reason", [
    ({"XREAD": b"*-1\r\n"}, None),
    ({"XREAD": b"*1\r\n*2\r\n$1\r\ns\r\n*0\r\n"}, None),
    ({"XREAD": b"+OK\r\n" * 1000}, "it does not reply as a store does"),
    ({"XREAD": b"*0\r\n"}, "it does not reply as a store does"),
    ({"XREAD": ENTRIES + b":7\r\n*0\r\n"}, "it does not reply as a store does"),
    ({"XREAD": ENTRIES + b"$60\r\n" + b"1" * 60 + b"\r\n*0\r\n"}, "it does not reply as a store does"),
    ({"XREAD": ENTRIES + b"$3\r\n1-1\r\n*0\r\n"}, "it does not reply as a store does"),
    ({"XREAD": b"*2147483647\r\n"}, "its reply has too many elements"),
    ({"XREAD": b"*1048577\r\n"}, "its reply has too many elements"),
    ({"XREAD": b"*1048576\r\n" * 6 + b"*1048577\r\n"}, "its reply has too many elements"),
    ({"XREAD": b"!"}, "Protocol error"),
    ({"TIME": b"+OK\r\n"}, "it does not tell the time"),
    ({"TIME": b"*2\r\n$1\r\n0\r\n$20\r\n-9223372036854775808\r\n", "XADD": b"$21\r\n9223372036854775807-0\r\n", "XREAD": b"*-1\r\n"}, None),
    ({"PING": b"-no\r\n"}, "(no)"),
    ({"XREAD": b"", "XADD": b"$3\r\n1-1\r\n+OK\r\n"}, "it replies though nothing was asked"),
], ids=lambda value: None if value is None or isinstance(value, str) else repr(value)[:40])
def test_what_replies_is_no_store(launch, replies, reason):
    """It costs the server next to nothing, and what is published here reaches the readers here."""
    store = FalseStore(**replies)
    here = launch(numbered, "topics", env={"STORE": store.url})
    reader = Stream(here)
    assert eventually(lambda: said(here, reason) if reason else store.asked.count("XREAD") > 1)
    before, began = len(store.asked), time.monotonic()
    time.sleep(0.5)
    assert len(store.asked) - before < 200 * (time.monotonic() - began)
    for number in range(3):
        assert publish(here, f"still {number}") == OK
        while (got := reader.message()) != f"still {number}":
            assert got == "gap"
    store.end()


class Entries:
    """Replies to XREAD: as many entries as are asked for, behind the one that was read last, and empty ones behind them. Before
    there is a reader there are none, as nobody would hear of them."""

    def __init__(self, *entries):
        self.entries, self.counts, self.has_reader = entries, [], threading.Event()

    def __call__(self, words):
        if not self.has_reader.wait(0.05):
            return b"*-1\r\n"
        count, after = int(words[2]), words[-1].split(b"-")[0]
        first = int(after) if len(after) < 10 else 0  # at first it is the time
        self.counts.append(count)
        found = [(number + 1, fields) for number, fields in enumerate(self.entries)][first : first + count]
        if not found:
            time.sleep(0.05)
            return b"*-1\r\n"
        reply = b"*1\r\n*2\r\n$11\r\nskua:topics\r\n*%d\r\n" % len(found)
        for number, fields in found:
            reply += b"*2\r\n$%d\r\n%d-0\r\n" % (len(b"%d-0" % number), number) + fields
        return reply


def entry(number, message):
    words = [b"i", b"0123456789abcdef" * 2, b"n", b"%d" % number, b"k", b"t", b"t", b"news", b"m", message]
    return b"*10\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def test_an_entry_of_another_program_that_is_long(launch):
    """It is not read to its end: those before it are read first, it is passed over, and those behind it follow."""
    huge = b"*2\r\n$1\r\nx\r\n$536870912\r\n" + bytes(34 << 20)  # and no more: whoever waits for it waits for long
    entries = Entries(entry(1, b"one"), entry(2, b"two"), huge, entry(3, b"three"))
    store = FalseStore(XREAD=entries)
    here = launch(numbered, "topics", env={"STORE": store.url})
    reader = Stream(here)
    entries.has_reader.set()
    assert messages(reader, 3) == ["one", "two", "three"]
    assert counted(here, "ignored") == 1
    assert entries.counts[:2] == [16, 2]
    store.end()


@pytest.mark.parametrize("before", [0, 18])
def test_a_store_that_gives_the_same_long_entry_each_time(launch, before):
    """It does not do what it is asked for: the entry is passed over once at most, and no more entries are asked for than usual."""
    empty = b"*2\r\n$3\r\n1-1\r\n*0\r\n"
    entries = b"*%d\r\n" % (before + 1) + empty * before + b"*2\r\n$3\r\n1-1\r\n*1\r\n$536870912\r\n"
    reply, counts = b"*1\r\n*2\r\n$1\r\ns\r\n" + entries + bytes(34 << 20), []
    store = FalseStore(XREAD=lambda words: counts.append(int(words[2])) or reply)
    here = launch(numbered, "topics", env={"STORE": store.url})
    assert eventually(lambda: len(counts) >= 4)
    assert max(counts) == 16
    assert counted(here, "ignored") <= 1
    store.end()


def test_an_entry_of_very_many_fields(launch):
    """They are empty, and each takes memory all the same."""
    entries = Entries(entry(1, b"one"), b"*1000000\r\n" + b"$0\r\n\r\n" * 1000000, entry(2, b"two"))
    store = FalseStore(XREAD=entries)
    here = launch(numbered, "topics", env={"STORE": store.url})
    reader = Stream(here)
    entries.has_reader.set()
    assert messages(reader, 2) == ["one", "two"]
    assert counted(here, "ignored") == 1
    assert entries.counts[:2] == [16, 1]
    store.end()


def test_many_long_entries_at_once(launch):
    """Their machine lets longer messages pass than this one, which asks for fewer then, and for as many as before behind them."""
    entries = Entries(*(entry(number, b"x" * 4000000) for number in range(1, 21)), entry(21, b"end"))
    store = FalseStore(XREAD=entries)
    here = launch(numbered, "topics", env={"STORE": store.url, "MESSAGE": "4000"})
    reader = Stream(here)
    entries.has_reader.set()
    assert messages(reader, 21) == ["gap"] * 20 + ["end"]
    assert entries.counts[0] == 256 and min(entries.counts) == 8
    assert eventually(lambda: entries.counts[-1] == 256)
    store.end()


def refuses_publications(words):
    """A store that is nearly full takes a greeting, and has to receive a publication before it refuses it."""
    if b"m" not in words:
        return b"$3\r\n1-1\r\n"
    time.sleep(0.1)
    return b"-OOM command not allowed\r\n"


class Transactions:
    """Adds entries as a store does, one by one or all of a transaction, and refuses a message if is_refused says so. The first
    message is not replied to until all have been published, so that those behind it are many at once."""

    def __init__(self, is_refused, error=b"OOM command not allowed"):
        self.all_are_published = threading.Event()
        self.is_refused, self.error, self.numbers, self.transactions = is_refused, error, [], 0
        self.here = threading.local()  # of a connection
        self.replies = {"XADD": self.add, "MULTI": self.begin, "EXEC": self.run, "XREAD": b"*-1\r\n"}

    def add(self, words):
        fields, queued = dict(zip(words[6::2], words[7::2])), getattr(self.here, "queued", None)
        if b"m" in fields:
            self.all_are_published.wait(20)
        if b"m" in fields and self.is_refused(fields[b"m"]):
            self.here.aborted = True
            return b"-%s\r\n" % self.error
        (self.numbers if queued is None else queued).extend([int(fields[b"n"])] if b"m" in fields else [])
        return b"$3\r\n1-1\r\n" if queued is None else b"+QUEUED\r\n"

    def begin(self, words):
        self.here.queued, self.here.aborted = [], False
        return b"+OK\r\n"

    def run(self, words):
        queued, self.here.queued = self.here.queued, None
        if self.here.aborted:
            return b"-EXECABORT Transaction discarded because of previous errors.\r\n"
        self.numbers += queued
        self.transactions += 1
        return b"*%d\r\n" % len(queued) + b"$3\r\n1-1\r\n" * len(queued)


def test_a_store_that_refuses_one_of_many(launch):
    """It is full for a moment. Those behind the one that was refused do not overtake it, as others would not take it any more."""
    refused = []
    adding = Transactions(lambda message: message == b"m 7" and len(refused) < 2 and not refused.append(message))
    store = FalseStore(**adding.replies)
    here = launch(numbered, "topics", env={"STORE": store.url})
    assert eventually(lambda: "XREAD" in store.asked)
    publish_all(here, of("m", 40))
    adding.all_are_published.set()
    assert eventually(lambda: counted(here, "carried") == 40)
    assert adding.numbers == list(range(1, 41)) and adding.transactions
    assert len(refused) == 2
    store.end()


def test_a_store_that_never_takes_one_of_many(launch):
    """It is found without a connection for each of those before it, and those behind it are carried."""
    adding = Transactions(lambda message: message == b"m 30", b"ERR not this one")
    store = FalseStore(**adding.replies)
    here = launch(numbered, "topics", env={"STORE": store.url})
    assert eventually(lambda: "XREAD" in store.asked)
    publish_all(here, of("m", 40))
    adding.all_are_published.set()
    assert eventually(lambda: counted(here, "carried") == 39)
    assert counted(here, "dropped") == 1
    assert adding.numbers == [number for number in range(1, 41) if number != 31] and adding.transactions
    assert len(store.greeted) <= 2 * 6, "two connections each time"
    store.end()


@pytest.mark.parametrize("replies", [{"XADD": refuses_publications}, {"XREAD": b"-NOPERM no permissions\r\n"}], ids=["XADD", "XREAD"])
def test_a_store_that_takes_greetings_alone(launch, replies):
    """It is asked less and less often, though it is there each time, and the log does not say that it is back where it is not."""
    came = itertools.count(1)
    entry = lambda: ENTRIES + b"$9\r\n%07d-1\r\n*0\r\n" % next(came)
    store = FalseStore(**{"XREAD": lambda words: entry(), **replies})
    here = launch(numbered, "topics", env={"STORE": store.url})
    reader = Stream(here)
    publish(here, "refused")
    while (got := reader.message()) != "refused":
        assert got == "gap"
    lost = lambda: [at for at, more in zip(store.greeted, store.greeted[1:]) if more - at >= 0.7]
    assert eventually(lost)
    log = here.error_text()
    assert log.count(AWAY) - log.count(BACK) in (0, 1)
    if "XADD" not in replies:
        assert said(here, AWAY) == 1
    store.end()


@pytest.mark.test_all
def test_a_store_behind_a_slow_network(launch):
    """A greeting and a publication take longer than a store may be silent, and come to their end."""

    def slowly(words):
        yield b"+"
        for _ in range(7):
            time.sleep(1)
            yield b"x" * 70000
        yield b"\r\n"

    store = FalseStore(PING=slowly, XREAD=b"*-1\r\n", pace=100000)
    here = launch(numbered, "topics", env={"STORE": store.url})
    assert eventually(lambda: "XREAD" in store.asked, 40)
    assert publish(here, b"x" * 700000) == OK
    assert eventually(lambda: counted(here, "carried") == 1, 20)
    assert said(here, AWAY) == 0
    store.end()


@pytest.mark.test_all
def test_a_store_of_two_octets_a_second(launch):
    def slowly(words):
        for octet in b"+PONG\r\n" * 10:
            time.sleep(0.5)
            yield bytes([octet])

    store = FalseStore(PING=slowly)
    here = launch(numbered, "topics", env={"STORE": store.url})
    reader = Stream(here)
    assert eventually(lambda: said(here, "is away"), 20)
    publish(here, "near")
    assert reader.message() == "near"
    store.end()


@pytest.mark.parametrize("octets", [1500000, 7900000])
def test_a_publication_that_the_store_never_takes(launch, folder, octets):
    """Its limit is lower than the bridge's: those behind it are carried, and others are told of the gap. The longer one is
    refused while it is being written."""
    store = Store(folder, "--proto-max-bulk-len", "1mb")
    try:
        here, there = (launch(numbered, "topics", env={"STORE": store.url, "MESSAGE": "8000000"}) for _ in range(2))
        assert eventually(lambda: kinds(store).count("h") == 2)
        far = Stream(there)
        for content in (b"before", b"x" * octets, b"after"):
            assert publish(here, content) == OK
        assert [far.next() for _ in range(3)] == [Event("before", "message"), Event("gap", "gap"), Event("after", "message")]
        assert eventually(lambda: said(here, f"refuses a publication of {octets} octets")) == 1
        assert counted(here, "dropped") == 1
    finally:
        store.end()


# ---- The store goes away ----


def test_the_store_is_away_and_comes_back_with_its_data(machines, store):
    servers = machines(2)
    here, there = servers
    near, far = Stream(here), Stream(there)
    publish_all(here, of("before", 3))
    assert messages(far, 3) == messages(near, 3) == of("before", 3)
    all_away(store, servers)
    publish_all(here, of("during", 20))
    assert messages(near, 20) == of("during", 20)
    store.start()
    assert messages(far, 20) == of("during", 20)
    publish(here, "after")
    assert far.message() == near.message() == "after"
    for server in servers:
        assert eventually(lambda: said(server, BACK) == 1)
        assert said(server, AWAY) == 1 and said(server, MISSING) == 0


def test_the_store_comes_back_without_its_data(machines, store):
    servers = machines(2)
    here, there = servers
    near, far = Stream(here), Stream(there)
    publish_all(here, of("before", 3))
    assert messages(far, 3) == messages(near, 3) == of("before", 3)
    all_away(store, servers)
    publish_all(here, of("during", 5))
    store.start(with_data=False)
    got = [far.next() for _ in range(6)]
    assert [e for e in got if e.name == "gap"] == [Event("gap", "gap")]
    assert [e.data for e in got if e.name != "gap"] == of("during", 5)
    assert eventually(lambda: there.out_text().count("gap\n") == 1)
    assert eventually(lambda: counted(there, "gaps") == 1 and said(there, MISSING) == 1)
    publish(here, "after")
    assert far.message() == "after"


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_a_bridge_in_cpp(launch, store):
    here, there = (launch(numbered, "cpp", env={"PARTS_STORE": store.url}) for _ in range(2))
    near, far = Socket(here, "/room/hall"), Socket(there, "/room/hall")
    assert near.message() == far.message() == "joined"
    assert eventually(lambda: store.ask("XRANGE", "cpp:topics", "-", "+").split("\n").count("h") == 2)
    near.send(frame(TEXT, "over there"))
    assert far.message() == "over there"
    all_away(store, [here, there])
    store.start(with_data=False)
    for server in (here, there):
        assert eventually(lambda server=server: int(server.get("/parts/gaps").content) > 0)


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_more_waits_than_may(machines, store):
    """Those that are dropped are told as a gap to readers of other machines, once each, and the rest follows."""
    servers = machines(2, WAITING=3000, GAP='{"gap":true}')
    here, there = servers
    far, socket, near = Stream(there), member(there), Stream(here)
    socket.send(frame(TEXT, "join  second")).send(frame(TEXT, "join  third"))
    assert messages(socket, 2) == ["no error"] * 2
    all_away(store, servers)
    publish_all(here, of("x" * 200, 50))
    assert messages(near, 50) == of("x" * 200, 50)
    store.start()
    assert far.next() == Event('{"gap":true}', "gap")
    got = [far.message()]
    while got[-1] != "x" * 200 + " 49":
        got.append(far.message())
    assert 3 <= len(got) < 15
    assert got == of("x" * 200, len(got), 50 - len(got))
    assert socket.message() == '{"gap":true}'
    assert messages(socket, len(got)) == got
    assert counted(here, "dropped") == 50 - len(got)
    assert said(here, MISSING) == 0


def test_a_gap_is_told_though_nothing_follows(machines, store):
    """All that waited was dropped: the greeting tells how far the numbers have come."""
    servers = machines(2, WAITING=10)
    here, there = servers
    far = Stream(there)
    all_away(store, servers)
    publish(here, "too much")
    store.start()
    assert far.next() == Event("gap", "gap")
    assert eventually(lambda: counted(there, "gaps") == 1)  # it is counted once all readers have been told


def test_beyond_the_retained_length(machines, store):
    """A machine that stands still comes back when the stream has been cut behind it."""
    here, there = machines(2, RETAINED=100)
    far = Stream(there)
    publish(here, "first")
    assert far.message() == "first"
    there.signal(signal.SIGSTOP)
    try:
        publish_all(here, of("many", 1000))
        assert eventually(lambda: counted(here, "carried") == 1001)
    finally:
        there.signal(signal.SIGCONT)
    got = []
    while not got or got[-1].data != "many 999":
        got.append(far.next())
    assert [e for e in got if e.name == "gap"] == [Event("gap", "gap")]
    numbers = [int(e.data.split()[1]) for e in got if e.name != "gap"]
    assert numbers == sorted(set(numbers)) and 100 <= len(numbers) < 1000


@pytest.mark.test_all
@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_one_of_three_is_behind_the_retained_length(machines):
    """Its readers alone are told, event streams and sockets, each once, and go on with the rest."""
    servers = machines(3, GAP="gap", RETAINED=1000)
    late, others = servers[2], servers[:2]
    readers = {server: [member(server), Stream(server)] for server in servers}
    late.signal(signal.SIGSTOP)
    try:
        for first in range(0, 3000, 500):
            publish_all(others[0], of("many", 500, first))
            for reader in (reader for server in others for reader in readers[server]):
                assert messages(reader, 500) == of("many", 500, first)
    finally:
        late.signal(signal.SIGCONT)
    for reader in readers[late]:
        got = [reader.message()]
        while got[-1] != "many 2999":
            got.append(reader.message())
        assert got.count("gap") == 1
        numbers = [int(text.split()[1]) for text in got if text != "gap"]
        assert numbers == sorted(set(numbers)) and 1000 <= len(numbers) < 3000


def test_cut_while_away(machines, store):
    """The entry that was read last is not there any more."""
    servers = machines(2)
    far = Stream(servers[1])
    publish(servers[0], "first")
    assert far.message() == "first"
    all_away(store, servers)
    port, store.port = store.port, free_port()
    store.start()
    store.ask("XTRIM", "skua:topics", "MAXLEN", "0")
    store.kill()
    store.port = port
    store.start()
    assert far.next() == Event("gap", "gap")


def test_machines_that_start_before_the_store(launch, store):
    """Publications from before the store has ever been there come to those who had started by then."""
    store.kill()
    here, there = (launch(numbered, "topics", env={"STORE": store.url}) for _ in range(2))
    far = Stream(there)
    assert eventually(lambda: said(here, AWAY) and said(there, AWAY))
    publish_all(here, of("early", 10))
    store.start()
    assert messages(far, 10) == of("early", 10)
    assert said(there, MISSING) == 0


# ---- The server stops ----


@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_the_last_words_of_a_server_that_stops(machines, store):
    """They are carried, where the store takes them within the time for a farewell, which it may be held up for."""
    def are_carried():
        here, there = machines(2)
        far, socket = Stream(there), member(here)
        socket.send(frame(TEXT, "bye"))
        assert far.message() == "bye"
        publish_all(here, of("last", 30))
        here.stop()
        carried = sum(line.startswith("last ") for line in kinds(store))
        assert messages(far, carried) == of("last", carried)
        store.ask("DEL", "skua:topics")
        return carried == 30

    assert eventually(are_carried)


def test_stop_while_the_store_hangs(machines, store):
    (here,) = machines(1)
    store.pause()
    publish_all(here, of("stuck", 200))
    here.stop()
    store.go_on()


def test_stop_while_the_store_is_away(machines, store):
    (here,) = machines(1)
    store.kill()
    publish_all(here, of("stuck", 200))
    here.stop()


@pytest.mark.test_all
def test_a_store_that_does_not_reply(machines, store):
    servers = machines(2)
    here, there = servers
    far = Stream(there)
    store.pause()
    publish_all(here, of("stuck", 10))
    assert eventually(lambda: said(here, "it does not reply"), 60)
    store.go_on()
    assert messages(far, 10) == of("stuck", 10)  # those of the first connection, or of the second, but once
    publish(here, "after")
    assert far.message() == "after"


# ---- Behind a balancer ----

@pytest.mark.test_all
@pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")
def test_three_replicas_behind_haproxy(machines, launch, store, tmp_path):
    servers = machines(3, GAP="gap")
    lines = "\n".join(f"    server s{i} 127.0.0.1:{server.port}" for i, server in enumerate(servers))
    front = haproxy.start(tmp_path, "    balance roundrobin\n" + lines)
    try:
        readers = [make(front) for _ in range(6) for make in (member, Stream)]
        each_once_in_order(servers, readers, 300)
        all_away(store, servers)
        publish_all(servers[0], of("during", 50))
        store.start()
        for reader in readers:
            assert messages(reader, 50) == of("during", 50)
        assert eventually(lambda: all(said(server, BACK) == 1 for server in servers))
        assert all(said(server, MISSING) == 0 for server in servers)
        store.kill()
        assert eventually(lambda: all(said(server, AWAY) == 2 for server in servers))
        publish_all(servers[1], of("lost data", 50))
        store.start(with_data=False)
        for reader in readers:
            got = messages(reader, 51)  # those of the publisher's machine are told behind what they had already
            assert got.count("gap") == 1
            assert [text for text in got if text != "gap"] == of("lost data", 50)
        assert eventually(lambda: all(said(server, MISSING) == 1 for server in servers))
    finally:
        for reader in readers:
            reader.connection.close()
        haproxy.stop(front)
