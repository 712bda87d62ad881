# SPDX-License-Identifier: MIT
"""Windows and priorities of HTTP/2: RFC 9113 section 5.2, and RFC 9218."""

import socket
import struct
import threading
import time

import pytest
from h2_client import Client
from h2_socket import (CANCEL, DATA, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
                       MAX_CONCURRENT_STREAMS, PAYLOAD, PRIORITY_UPDATE, PROTOCOL_ERROR, RST_STREAM, WINDOW,
                       WINDOW_UPDATE, frame, settings)
from clock import against_the_clock
from server import eventually

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("it speaks HTTP/2 by itself")]

MOST = 0x7FFFFFFF
HELD_OCTETS_MAX = 1 << 20  # of a connection, by default
WIDE = 16 << 20  # a client's windows that are never shut


@pytest.fixture
def client(rules):
    with Client(rules) as made:
        yield made


# ---- Flow control, towards the client ----


def content_of(client, stream):
    """Octets of content that have come until a PING's answer."""
    client.pings()
    found = [f for f in client.kept if f.stream == stream and f.kind == DATA]
    return sum(len(f.payload) for f in found)


def test_a_window_of_one_octet(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1)) as client:
        stream = client.open("/pull/5")
        for n in range(1, 6):
            assert eventually(lambda: content_of(client, stream) == n)
            assert client.silent(0.02)
            client.credit(stream, 1)
        assert client.response(stream, credits=False).content == b"xxxxx"


def test_a_window_of_nothing_lets_the_head_through(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 0)) as client:
        empty, full = client.open("/status/204"), client.open("/pull/10")
        assert client.response(empty).status == 204
        assert client.of(full, HEADERS).fields[0] == (":status", "200")
        assert client.silent(0.05)
        client.credit(full, 10)
        assert client.of(full, DATA).payload == b"x" * 10


# Over /chunked/ the length is not known before the source says that it has no more.
@pytest.mark.parametrize("path", ["/pull/0", "/chunked/0", "/pull/10", "/chunked/10", "/pull/20000", "/chunked/20000"])
def test_an_end_needs_no_window(rules, path):
    """RFC 9113 section 6.9.1. The client has all it may have, and opens no window for more."""
    octets = int(path.rpartition("/")[2])
    with Client(rules, (INITIAL_WINDOW_SIZE, octets)) as client:
        assert len(client.response(client.open(path), credits=False).content) == octets


@pytest.mark.parametrize("path", [f"/pull/{WINDOW}", f"/chunked/{WINDOW}"])
def test_an_end_needs_no_window_of_the_connection(rules, path):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        assert len(client.response(client.open(path), credits=False).content) == WINDOW


def test_trailers_need_no_window(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 10)) as client:
        found = client.response(client.open("/chunked/10", ("te", "trailers")), credits=False)
        assert len(found.content) == 10 and "x-sum" in found.trailers


def test_the_connections_window(client):
    streams = [client.open("/pull/50000") for _ in range(3)]
    assert eventually(lambda: sum(content_of(client, s) for s in streams) == WINDOW)
    client.credit(0, 1)
    assert eventually(lambda: sum(content_of(client, s) for s in streams) == WINDOW + 1)
    client.credit(0, 150_000)
    assert [len(client.response(s).content) for s in streams] == [50_000] * 3


@pytest.mark.parametrize("path", ["/pull/70000", "/watched/70000"])
def test_a_client_that_leaves_before_a_shut_window(launch_rules, path):
    """Nobody opens it behind FIN: the stream ends, and does not wait until it has stalled."""
    rules = launch_rules(f"stall_timeout_ns={10**12}")
    with Client(rules) as client:
        client.pings()
        stream = client.open(path)
        client.socket.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            client.until(lambda _: False)
        assert sum(len(f.payload) for f in client.kept if f.stream == stream and f.kind == DATA) == WINDOW


@pytest.mark.parametrize("path", [None, "/status/204", "/pull/10"], ids=["pings", "requests", "more-that-waits"])
def test_a_shut_connection_whose_client_goes_on_talking(launch_rules, path):
    """That the client is heard opens no window: its streams do not wait for ever."""
    rules = launch_rules(f"stall_timeout_ns={600 * 10**6}")
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        client.open("/pull/1000000")
        with pytest.raises((EOFError, ConnectionError)):
            for _ in range(100):
                client.pings()
                if path:
                    client.open(path)
                time.sleep(0.1)
        assert client.failed_with() == ENHANCE_YOUR_CALM


@against_the_clock
def test_a_client_that_opens_the_connections_window_slowly(launch_rules):
    """It takes its time, longer in all than a window may stay shut."""
    stall = 1.2
    rules = launch_rules(f"stall_timeout_ns={int(stall * 1e9)}")
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        stream = client.open(f"/pull/{WINDOW + 100_000}")
        for n in range(1, 21):
            time.sleep(stall / 8)
            client.credit(0, 5000)
            assert eventually(lambda: content_of(client, stream) == WINDOW + n * 5000)
        assert len(client.response(stream).content) == WINDOW + 100_000


@against_the_clock
def test_a_connection_that_was_shut_with_nothing_to_send(launch_rules):
    """Who has taken all there was need not open its window until there is more."""
    stall = 0.8
    rules = launch_rules(f"stall_timeout_ns={int(stall * 1e9)}")
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        echoed = client.open("/collect", method="POST", ends=False)
        for at in range(0, WINDOW, PAYLOAD):
            client.data(echoed, bytes(min(PAYLOAD, WINDOW - at)), ends=at + PAYLOAD >= WINDOW)
        assert client.response(echoed, credits=False).content == bytes(WINDOW)
        for _ in range(15):
            time.sleep(stall / 8)
            assert client.get("/status/204").status == 204
        stream = client.open("/pull/10")
        assert client.of(stream, HEADERS).fields[0] == (":status", "200")
        client.credit(0, 1 << 20)
        assert client.of(stream, DATA).payload == b"x" * 10


def test_a_window_that_settings_make_negative(client):
    stream = client.open("/pull/70000")
    client.credit(0, 1 << 20)
    assert eventually(lambda: content_of(client, stream) == WINDOW)
    client.send(settings((INITIAL_WINDOW_SIZE, 100)))  # now it is 100 - 65535
    client.credit(stream, WINDOW - 100)
    assert content_of(client, stream) == WINDOW and client.silent(0.05)
    client.credit(stream, 7)
    assert eventually(lambda: content_of(client, stream) == WINDOW + 7)
    client.send(settings((INITIAL_WINDOW_SIZE, 1000)))
    assert eventually(lambda: content_of(client, stream) == WINDOW + 907)
    client.credit(stream, 10_000)
    assert len(client.response(stream).content) == 70_000


def test_windows_that_overflow(rules):
    with Client(rules) as client:
        stream = client.open("/silent")
        client.credit(stream, MOST - WINDOW)
        assert client.pings()
        client.credit(stream, 1)
        assert client.reset_code(stream) == FLOW_CONTROL_ERROR
        client.credit(0, MOST - WINDOW)
        assert client.get().status == 200
        client.credit(0, 1 + 3)
        assert client.failed_with() == FLOW_CONTROL_ERROR
    with Client(rules) as client:
        stream = client.open("/silent")
        client.credit(stream, MOST - WINDOW)
        client.send(settings((INITIAL_WINDOW_SIZE, WINDOW + 1)))
        assert client.failed_with() == FLOW_CONTROL_ERROR


def test_a_window_update_of_nothing_resets_the_stream(client):
    stream = client.open("/silent")
    client.credit(stream, 0)
    assert client.reset_code(stream) == PROTOCOL_ERROR
    assert client.get().status == 200


# ---- Flow control, towards the server ----


def test_the_streams_window_at_its_edge(rules):
    with Client(rules) as client:
        window = client.settings[INITIAL_WINDOW_SIZE]
        stream = client.open("/hold", method="POST", ends=False)
        left = window
        while left:
            n = min(left, PAYLOAD)
            client.data(stream, b"x" * n)
            left -= n
        assert client.pings()
        assert not [f for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == stream]  # nothing has been consumed
        client.data(stream, b"y")
        assert client.reset_code(stream) == FLOW_CONTROL_ERROR
        assert client.get().status == 200


def test_a_slow_stream_blocks_only_itself(client):
    window = client.settings[INITIAL_WINDOW_SIZE]
    slow = client.open("/hold", method="POST", ends=False)
    for i in range(0, window, PAYLOAD):
        client.data(slow, b"x" * min(PAYLOAD, window - i))
    for _ in range(10):
        content = b"z" * 60_000
        stream = client.open("/collect", method="POST", ends=False)
        for i in range(0, len(content), PAYLOAD):
            client.data(stream, content[i : i + PAYLOAD])
        client.data(stream, ends=True)
        assert client.response(stream).content == content
    assert client.get("/held").content == b"%d\n" % window
    assert client.get("/release").status == 200
    assert client.of(slow, WINDOW_UPDATE).number > 0
    client.data(slow, ends=True)
    assert client.response(slow).content == b"%d\n" % window


def test_the_connections_window_is_bounded(rules):
    """Content that nobody takes is held within the streams' windows, and 1 MiB for all of them."""
    with Client(rules) as client:
        granted = WINDOW + sum(f.number for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == 0)
        assert granted <= 1 << 20
        assert client.pings()
        granted = WINDOW + sum(f.number for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == 0)
        assert WINDOW < granted <= 1 << 20


def test_content_of_ended_streams_is_credited(client):
    """Four times the connection's window, to streams that are over."""
    credit = WINDOW
    for _ in range(64):
        stream = client.open("/ignore", method="POST", ends=False)
        for _ in range(4):
            while credit < PAYLOAD:
                credit += client.until(lambda f: f.kind == WINDOW_UPDATE and f.stream == 0).number
            client.data(stream, b"x" * PAYLOAD)
            credit -= PAYLOAD
        client.cancel(stream)
        client.kept = [f for f in client.kept if f.kind in (WINDOW_UPDATE, GOAWAY)]
    assert client.get().status == 200


# ---- Priorities, RFC 9218 ----


def order_of(client, streams):
    """The streams in the order in which their responses end. The window of the connection is opened to all."""
    left, order = set(streams), []
    client.credit(0, 8 << 20)
    while left:
        found = client.until(lambda f: f.ends and f.stream in left)
        left.remove(found.stream)
        order.append(found.stream)
    return order


def shut(client):
    """Uses the connection's window up, so that what is opened now is chosen from when it opens."""
    stream = client.open(f"/pull/{WINDOW}")
    got = 0
    while got < WINDOW:
        got += len(client.of(stream, DATA).payload)


def test_urgency_first(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        shut(client)
        streams = {u: client.open("/pull/200000", ("priority", f"u={u}")) for u in (7, 3, 0, 5)}
        client.pings()
        order = order_of(client, streams.values())
        assert order[0] == streams[0] and order[-1] == streams[7]


def test_those_that_are_not_incremental_go_by_number(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        shut(client)
        streams = [client.open("/pull/100000", ("priority", "u=2")) for _ in range(5)]
        client.pings()
        assert order_of(client, streams) == streams


def shares(client, streams, octets):
    """How much of each comes within the next octets."""
    got = dict.fromkeys(streams, 0)
    client.credit(0, octets)
    while sum(got.values()) < octets:
        found = client.until(lambda f: f.kind == DATA and f.stream in got)
        got[found.stream] += len(found.payload)
    return list(got.values())


@pytest.mark.parametrize("fields", [[("priority", "u=2, i")], []], ids=["incremental", "unsaid"])
def test_incremental_ones_share(rules, fields):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        shut(client)
        streams = [client.open("/pull/500000", *fields) for _ in range(4)]
        client.pings()
        got = shares(client, streams, 400_000)
        assert min(got) > 50_000, got


def test_low_urgencies_do_not_starve(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 24)) as client:
        shut(client)
        low = client.open("/pull/1000000", ("priority", "u=7"))
        high = client.open("/pull/10000000", ("priority", "u=0"))
        client.pings()
        got = shares(client, [low, high], 4_000_000)
        assert 0 < got[0] < got[1] / 2, got


def test_one_with_nothing_ready_is_skipped(rules):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        client.open("/silent", ("priority", "u=0"))
        client.credit(0, 1 << 20)
        assert len(client.get("/pull/300000", ("priority", "u=7")).content) == 300_000


@pytest.mark.parametrize("early", [True, False])
def test_priority_update(rules, early):
    with Client(rules, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        shut(client)
        number = client.last + 2 + 3 * 2

        def update():
            client.send(frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", number) + b"u=0"))

        if early:
            update()
        streams = [client.open("/pull/150000", ("priority", "u=3")) for _ in range(4)]
        if not early:
            update()
        client.pings()
        assert streams[3] == number
        assert order_of(client, streams)[0] == number


# ---- Much ----


def test_an_upload_with_a_slow_handler_and_a_download_beside_it(client):
    """The upload stays within its window; the other stream does not wait for it."""
    window = client.settings[INITIAL_WINDOW_SIZE]
    slow = client.open("/hold", method="POST", ends=False)
    sent = 0
    while sent < window:
        n = min(PAYLOAD, window - sent)
        client.data(slow, b"x" * n)
        sent += n
    client.send(settings((INITIAL_WINDOW_SIZE, 1 << 20)))
    client.credit(0, 1 << 24)
    assert len(client.response(client.open("/pull/5000000")).content) == 5_000_000
    assert not [f for f in client.kept if f.kind == WINDOW_UPDATE and f.stream == slow]
    client.cancel(slow)
    assert client.get().status == 200


def test_many_streams_of_content_both_ways(rules):
    """Each with its own content, from four threads' connections."""
    faults = []

    def work(seed):
        try:
            with Client(rules) as client:
                client.credit(0, 1 << 24)
                for _ in range(5):
                    contents = {client.open("/collect", method="POST", ends=False): bytes([seed + i]) * (1000 * i + 1)
                                for i in range(20)}
                    for stream, content in contents.items():
                        client.data(stream, content, ends=True)
                    for stream, content in contents.items():
                        assert client.response(stream).content == content
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(i * 20,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


# ---- Streams that were reset while somebody holds their requests ----


def test_content_of_a_stream_that_was_reset_is_not_kept(rules):
    """So much would shut the connection's window."""
    with Client(rules) as client:
        window = client.settings[INITIAL_WINDOW_SIZE]
        for _ in range(2 * HELD_OCTETS_MAX // window):
            stream = client.open("/keep", method="POST", ends=False)
            client.data(stream, b"x" * window)
            client.cancel(stream)
            assert client.pings()
        assert client.get("/collect", method="POST", content=b"z" * window).content == b"z" * window
        assert client.get("/keep/drop").status == 200
        assert client.get().status == 200


def test_a_response_that_was_reset_is_not_kept(client):
    client.credit(0, 1 << 20)
    for _ in range(3):
        stream = client.open("/keep")
        client.of(stream, HEADERS)
        assert int(client.get("/keep/lent").content) == 1
        client.cancel(stream)
        assert int(client.get("/keep/lent").content) == 0
    assert client.get("/keep/drop").status == 200
    assert client.get().status == 200


# ---- Much at once ----


def test_an_upload_beside_a_download(client):
    """Each goes on while the other does: neither ends before the other has moved several windows."""
    size, several = 4 << 20, 1 << 18
    download, upload = client.open(f"/pull/{size}"), client.open("/count", method="POST", ends=False)
    windows = {0: WINDOW, upload: client.settings[INITIAL_WINDOW_SIZE]}
    sent = received = 0
    while sent < size or received < size:
        n = min(windows[0], windows[upload], size - sent, PAYLOAD)
        if n:
            client.data(upload, bytes(n), ends=sent + n == size)
            windows[0] -= n
            windows[upload] -= n
            sent += n
        else:
            found = client.read()
            if found.kind == WINDOW_UPDATE:
                windows[found.stream] += found.number
            elif found.kind == DATA and found.stream == download:
                received += len(found.payload)
                client.credit(0, len(found.payload))
                client.credit(download, len(found.payload))
            if found.stream == upload and found.kind in (HEADERS, DATA):
                client.kept.append(found)
                break
        assert received > several or sent < size
        assert sent > several or received < size
    while received < size:
        found = client.of(download, DATA)
        received += len(found.payload)
        client.credit(0, len(found.payload))
        if not found.ends:
            client.credit(download, len(found.payload))
    assert received == size
    assert client.response(upload).content == b"%d\n" % size


class Sipped:
    """An upload that its handler takes so slowly that its window is always shut, and a download beside it, on one connection."""

    def __init__(self, client, size, a_millisecond):
        self.client, self.size, self.sent, self.received, self.credited, self.owed = client, size, 0, 0, 0, 0
        self.window = client.settings[INITIAL_WINDOW_SIZE]
        self.connection = WINDOW
        self.download = client.open(f"/pull/{1 << 40}")
        self.upload = client.open(f"/sip/{a_millisecond}", method="POST", ends=False)
        client.credit(0, WIDE)
        for found in client.kept:
            self.take(found)
        client.kept.clear()

    def take(self, found):
        """Counts what a frame says about both."""
        if found.kind == WINDOW_UPDATE and found.stream == self.upload:
            self.credited += found.number
        elif found.kind == WINDOW_UPDATE and found.stream == 0:
            self.connection += found.number
        elif found.kind == DATA and found.stream == self.download:
            self.received += len(found.payload)
            self.owed += len(found.payload)
            if self.owed >= WIDE // 4:
                self.client.credit(0, self.owed)
                self.client.credit(self.download, self.owed)
                self.owed = 0
        elif found.kind != WINDOW_UPDATE and found.stream == self.upload:
            self.client.kept.append(found)

    def push(self):
        """Sends as much as the windows let through."""
        while n := min(self.window + self.credited - self.sent, self.connection, self.size - self.sent, PAYLOAD):
            self.client.data(self.upload, bytes(n), ends=self.sent + n == self.size)
            self.sent += n
            self.connection -= n

    def taken(self):
        """How much the handler has taken, as it says on a third stream."""
        stream = self.client.open("/sipped")
        while not ((found := self.client._read()).stream == stream and found.kind == DATA):
            self.take(found)
        return int(found.payload)


@pytest.mark.parametrize("size, a_millisecond", [(1_000_000, 1024), pytest.param(2 << 30, 49152, marks=pytest.mark.test_all)])
def test_a_long_upload_with_a_slow_handler_beside_a_download(launch_rules, size, a_millisecond):
    """The server lets no more come than its handler has taken and one window; the download does not wait for it."""
    rules = launch_rules(env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    with Client(rules, (INITIAL_WINDOW_SIZE, WIDE)) as client:
        both = Sipped(client, size, a_millisecond)
        before, next_look = None, 0
        while both.sent < size:
            both.push()
            both.take(client._read())
            if both.sent >= next_look:
                credited = both.credited
                assert credited <= both.taken()
                before = before or rules.rss_octets()
                next_look += size // 20
        assert rules.rss_octets() - before < 8 << 20
        assert both.received > 2 * size
        client.cancel(both.download)
        assert client.response(both.upload).content == b"sipped\n"
        assert client.get("/sipped").content == b"%d\n" % size


@pytest.mark.parametrize("connections", [1, 5])
def test_500_event_streams(launch_rules, connections):
    """Each event comes on each stream, once."""
    events, each = 4, 500 // connections
    rules = launch_rules(f"http2.streams_max={each}")
    clients = [Client(rules) for _ in range(connections)]
    try:
        assert {client.settings[MAX_CONCURRENT_STREAMS] for client in clients} == {each}
        streams = [[client.open("/feed") for _ in range(each)] for client in clients]
        for client, numbers in zip(clients, streams):
            for number in numbers:
                assert client.of(number, HEADERS).fields[0] == (":status", "200")
        with Client(rules) as sender:
            assert [sender.get("/feed/send").content for _ in range(events)] == [b"500\n"] * events
        for client, numbers in zip(clients, streams):
            for number in numbers:
                text = b""
                while len(text) < events * len(b"data: news\n\n"):
                    text += client.of(number, DATA).payload
                assert text == b"data: news\n\n" * events
            assert client.pings() and not [f for f in client.kept if f.kind == DATA]
    finally:
        for client in clients:
            client.close()


@pytest.mark.parametrize("first", ["stream", "connection"])
@pytest.mark.parametrize("credit", [1, 2])
def test_windows_that_are_shut_by_turns(launch_rules, first, credit):
    """Neither window stays shut for long, and hardly anything moves: this is slower than the minimum rate."""
    stall = 1.0
    rules = launch_rules(f"stall_timeout_ns={int(stall * 1e9)}", "rate_window_ns=1000000000", "rate_octets_min=500")
    with Client(rules) as client:
        stream = client.open("/pull/1000000")
        assert eventually(lambda: content_of(client, stream) == WINDOW)
        turns = [stream, 0] if first == "stream" else [0, stream]

        def goes_on(turn):
            try:
                client.credit(turns[turn % 2], credit)
                content_of(client, stream)
            except (EOFError, ConnectionError):
                return False
            time.sleep(0.7 * stall)
            return not any(f.stream == stream and f.kind == RST_STREAM for f in client.kept)

        assert not all(goes_on(turn) for turn in range(16))


def test_windows_that_are_shut_one_stream_after_another(launch_rules):
    """The connection moves often, and each stream hardly: each is judged by its own rate."""
    rules = launch_rules("stall_timeout_ns=2000000000", "rate_window_ns=1000000000", "rate_octets_min=500")
    with Client(rules, (INITIAL_WINDOW_SIZE, 1)) as client:
        client.credit(0, WIDE)
        streams = [client.open("/pull/1000000") for _ in range(8)]
        resets = {}

        def turn():
            """Credits one octet to each that lives, one after the other."""
            for stream in set(streams) - set(resets):
                client.credit(stream, 1)
                time.sleep(0.02)
            client.pings()
            resets.update((f.stream, f.number) for f in client.kept if f.kind == RST_STREAM)
            return set(resets) == set(streams)

        assert eventually(turn)
        assert set(resets.values()) == {CANCEL}
        assert client.get("/").status == 200
