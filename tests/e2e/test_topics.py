# SPDX-License-Identifier: MIT
"""Topics: WebSockets and event streams that join them, and those who publish."""

import struct
import subprocess
import time

import pytest
from events import Event, EventReader
from server import BUILD, eventually, numbered
from websocket import BINARY, CLOSE, TEXT, Socket, close, frame
from wire import posted, request

OK = b"no error"
of_http1 = pytest.mark.of_http1("WebSockets of this client are opened by Upgrade")


@pytest.fixture(scope="module")
def server():
    server = numbered("topics")
    yield server
    server.stop()


class Stream:
    """An event stream that has joined a room."""

    def __init__(self, server, room, **options):
        self.connection = server.connect(**options)
        self.connection.send(request(f"/events/{room}"))
        assert self.connection.head().status == 200
        self.reader, self.events = EventReader(), []
        assert self.next().data == "welcome"

    def next(self):
        """The next event; None: the stream has ended."""
        while not self.events:
            size = int(self.connection.line(), 16)
            if size == 0:
                assert self.connection.line() == b""
                return None
            self.events += self.reader.feed(self.connection.exactly(size))
            assert self.connection.exactly(2) == b"\r\n"
        return self.events.pop(0)


def member(server, room, path="live", **options):
    socket = Socket(server, f"/{path}/{room}", **options)
    assert socket.message() == "welcome"
    return socket


def publish(server, room, content, query=""):
    with server.connect() as connection:
        connection.send(posted(f"/publish/{room}{query}", content))
        return connection.response().content


def flood(server, room, threads=1, count=1, octets=0):
    with server.connect() as connection:
        connection.send(posted(f"/flood/{room}?threads={threads}&count={count}&octets={octets}"))
        assert connection.response().content == b"done"


# ---- Who gets what ----


def test_event_streams(server):
    readers = [Stream(server, "news") for _ in range(6)]
    other = Stream(server, "sport")
    assert publish(server, "news", b"one\ntwo", "?event=tick&id=7") == OK
    assert publish(server, "news", b"last") == OK
    publish(server, "sport", b"goal")
    for reader in readers:
        assert [reader.next(), reader.next()] == [Event("one\ntwo", "tick", "7"), Event("last", id="7")]
    assert other.next() == Event("goal")


@of_http1
def test_sockets(server):
    """All but the one whom it comes from, in its kind; event streams get texts alone."""
    ann, ben, eve = (member(server, "kitchen") for _ in range(3))
    stream = Stream(server, "kitchen")
    ann.send(frame(TEXT, "hello")).send(frame(BINARY, b"\xff\0")).send(frame(TEXT, "again"))
    for socket in (ben, eve):
        assert [socket.message() for _ in range(3)] == ["hello", b"\xff\0", "again"]
    assert [stream.next().data for _ in range(2)] == ["hello", "again"]
    ben.send(frame(TEXT, "reply"))
    assert ann.message() == eve.message() == "reply"


@of_http1
def test_joining_and_leaving(server):
    socket = member(server, "home")
    for command, topic, answer in (("join  ", "a", "no error"), ("join  ", "a", "no error"), ("join  ", "", "not of the documented form"),
                                   ("join  ", "x" * 255, "no error"), ("join  ", "x" * 256, "not of the documented form"), ("leave ", "b", "there is none")):
        socket.send(frame(TEXT, command + topic))
        assert answer in socket.message()
    publish(server, "a", b"1")
    assert socket.message() == "1"
    socket.send(frame(TEXT, "leave a"))
    assert socket.message() == "no error"
    publish(server, "a", b"2")
    publish(server, "home", b"3")
    assert socket.message() == "3"


@of_http1
def test_topics_of_a_reader(server):
    socket = member(server, "collector")
    socket.send(frame(TEXT, "many"))
    assert "a limit" in socket.message()  # the 1,024th of them; the room was the first
    publish(server, "many%201022", b"in the last one")
    assert socket.message() == "in the last one"
    socket.send(frame(TEXT, "leave many 0")).send(frame(TEXT, "join  one more"))
    assert [socket.message(), socket.message()] == ["no error", "no error"]
    socket.connection.reset()
    assert publish(server, "many%201022", b"nobody is there") == OK


@of_http1
def test_a_member_who_leaves(server):
    ann, ben = member(server, "porch"), member(server, "porch")
    ann.send(frame(TEXT, "bye"))
    assert ann.closed() == (1000, "")
    assert ben.message() == "bye"
    ann.send(close(1000))
    assert ann.ended()
    assert publish(server, "porch", b"still there") == OK
    assert ben.message() == "still there"


@pytest.mark.parametrize("content,query", [
    (b"\xff", ""), (b"x", "?event=a%0Ab"), (b"x", "?id=a%00"), (b"x", "?binary=1&event=e"), (b"x", "?binary=1&id=1"),
    (b"x" * (16 << 20), ""),
])
def test_wrong_publications(server, content, query):
    assert b"not of the documented form" in publish(server, "news", content, query)


def test_a_topic_that_nobody_reads(server):
    assert publish(server, "nowhere", b"x") == OK


# ---- Many, and slow ones ----


@of_http1
def test_the_order_of_each_publisher(server):
    """More readers than are served in a turn of a worker; what is long is lent to all of them."""
    sockets = [member(server, "busy") for _ in range(20)]
    streams = [Stream(server, "busy") for _ in range(20)]
    flood(server, "busy", threads=4, count=30, octets=9000)
    for take in [socket.message for socket in sockets] + [lambda s=stream: s.next().data for stream in streams]:
        came = [tuple(map(int, take().split()[:2])) for _ in range(120)]
        for thread in range(4):
            assert [n for number, n in came if number == thread] == list(range(30))


def test_readers_of_many_turns(server):
    readers = [Stream(server, "crowd") for _ in range(700)]
    flood(server, "crowd", threads=2, count=5)
    for reader in readers:
        came = [tuple(map(int, reader.next().data.split()[:2])) for _ in range(10)]
        assert sorted(came) == [(thread, n) for thread in range(2) for n in range(5)]
        assert all([n for number, n in came if number == thread] == list(range(5)) for thread in range(2))
        reader.connection.close()


def numbers_of(socket):
    """The numbers of the messages up to the close, and its payload."""
    numbers = []
    while True:
        opcode, payload = socket.frame()
        if opcode == CLOSE:
            return numbers, payload
        numbers.append(int(payload.split()[1]))


@of_http1
@pytest.mark.parametrize("path", ["live", "close"])
def test_a_slow_socket_is_told(server, path):
    """It gets what was queued for it, in order, and the close; those beside it get everything."""
    slow, fast = member(server, f"slow-{path}", path, receive_buffer=4096), Stream(server, f"slow-{path}")
    for n in range(20):
        flood(server, f"slow-{path}", count=50, octets=10000)
        for i in range(50):
            assert fast.next().data.split()[1] == str(i)
    time.sleep(0.7)  # longer than close_timeout_ns
    numbers, payload = numbers_of(slow)
    assert payload == struct.pack(">H", 1008) + b"too slow"
    assert numbers == [i % 50 for i in range(len(numbers))] and len(numbers) < 1000


@of_http1
def test_messages_for_a_slow_socket_are_dropped():
    """By one worker, so that what has come to one reader has been handed to the other."""
    server = numbered("topics", "--workers", "1")
    slow, fast = member(server, "drop", "drop", receive_buffer=4096), Stream(server, "drop")
    for n in range(20):
        flood(server, "drop", count=50, octets=10000)
        for i in range(50):
            assert fast.next().data.split()[1] == str(i)
    slow.send(close(1000))
    numbers, payload = numbers_of(slow)
    assert payload == struct.pack(">H", 1000) and len(numbers) < 1000
    slow.leave()
    line = eventually(lambda: next((text for text in server.out_text().splitlines() if " /drop/drop " in text), None))
    assert int(line.split("dropped ")[1].split(")")[0]) == 1000 - len(numbers)
    server.stop()


@of_http1
def test_a_slow_event_stream_is_ended(server):
    """Its client comes again, and says what it has had."""
    slow, fast = Stream(server, "queue", receive_buffer=4096), member(server, "queue")
    for n in range(20):
        flood(server, "queue", count=50, octets=10000)
        for i in range(50):
            assert fast.message().split()[1] == str(i)
    came = []
    while event := slow.next():
        came.append(int(event.data.split()[1]))
    assert came == [i % 50 for i in range(len(came))] and len(came) < 1000


@of_http1
def test_readers_that_vanish(server):
    """While much is on its way to them."""
    for _ in range(5):
        sockets = [member(server, "ghosts", receive_buffer=4096) for _ in range(30)]
        streams = [Stream(server, "ghosts") for _ in range(10)]
        with server.connect() as connection:
            connection.send(posted("/flood/ghosts?threads=2&count=40&octets=10000"))
            for reader in sockets + streams:
                reader.connection.reset()
            assert connection.response().content == b"done"
    assert publish(server, "ghosts", b"x") == OK


@pytest.mark.in_the_clear("its client speaks in the clear")
@pytest.mark.parametrize("sockets,rounds", [(1000, 10), *(pytest.param(10000, n, marks=pytest.mark.test_all) for n in (100, 600))])
def test_a_crowd(sockets, rounds):
    """A publication every 100 ms; the client, a process of its own, reads all the time. Nothing is lost."""
    server = numbered("topics")
    run = subprocess.run([BUILD / "crowd", str(server.port), str(sockets), str(rounds)], capture_output=True, text=True)
    print(run.stdout, run.stderr)
    assert run.returncode == 0 and f"messages {sockets * rounds}, sockets that got all {sockets}," in run.stdout, run.stdout + run.stderr
    server.stop()


@of_http1
def test_a_stop_while_much_is_published():
    server = numbered("topics")
    readers = [member(server, "last") for _ in range(10)] + [Stream(server, "last") for _ in range(10)]
    connection = server.connect()
    connection.send(posted("/flood/last?threads=4&count=2000&octets=1000"))
    assert readers[0].message()
    server.signal()
    for reader in readers:
        reader.connection.reset()
    server.judge_end()


@of_http1
def test_a_burst_that_grows_as_events_ends_no_stream(server):
    """Each line of a text becomes one of the event, so that a text of newlines is seven times as long there."""
    stream, publisher = Stream(server, "lines"), member(server, "lines")
    publisher.connection.send(frame(TEXT, "\n" * 4096) * 64)
    for _ in range(64):
        event = stream.next()
        assert event and event.data == "\n" * 4096
