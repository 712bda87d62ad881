# SPDX-License-Identifier: MIT
"""The limits of HTTP/2, each at its edge: who goes over one is told so by the right code, others are served, memory stays, and
clients that mean no harm are not punished."""

import struct
import time

import pytest
from h2_client import Client, Reset
from h2_socket import (CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, GOAWAY, HEADERS,
                       INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE, PING, PREFACE, PRIORITY, PRIORITY_UPDATE, REFUSED_STREAM,
                       RST_STREAM, SETTINGS, WINDOW, WINDOW_UPDATE, frame, header_frames, settings, window_update)
from clock import against_the_clock
from server import eventually, numbered
from witness import RequestWitness

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("it speaks HTTP/2 by itself")]

RESETS = 100  # of the budget; ten times as many may be overdrawn
SMALL = 1000
REFILLED = 200  # small frames a second
PAID = 65536  # small frames at most that content pays for beforehand


@pytest.fixture
def server(launch_rules):
    return launch_rules(env={"ASAN_OPTIONS": "quarantine_size_mb=1"})


def flood(client, octets, times):
    """Sends them again and again, until the server does not take them any more."""
    for _ in range(times):
        try:
            client.send(octets)
        except OSError:
            return


def judged(client, code=ENHANCE_YOUR_CALM):
    """The attacker has been told by GOAWAY, and its connection has ended."""
    assert client.failed_with() == code


# ---- Resets ----


def pairs(client, count, path="/silent"):
    """A request and its reset, so often."""
    out = []
    for _ in range(count):
        stream = client.next()
        out += [header_frames(stream, client.block_of(path), END_STREAM), frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))]
    return b"".join(out)


def test_rapid_reset_at_its_edge(server):
    with RequestWitness(server), Client(server) as client:
        client.send(pairs(client, 11 * RESETS - 1))
        assert client.pings()
        client.send(pairs(client, 500))  # more than may have been refilled meanwhile
        judged(client)
    assert server.get("/").status == 200


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.test_all)])
@pytest.mark.parametrize("path", ["/silent", "/pull/1000000", "/"])
def test_rapid_reset(server, path, seconds):
    """At full speed, again from the beginning whenever it is over."""
    with RequestWitness(server):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with Client(server) as client:
                octets = pairs(client, 3000, path)
                try:
                    client.send(octets)
                except OSError:
                    continue
                if path == "/silent":
                    judged(client)


def test_requests_begin_later_when_the_budget_is_spent(server):
    with Client(server) as client:
        client.send(pairs(client, 10 * RESETS))
        assert client.pings()
        began = time.monotonic()
        assert client.get().content == b"ok\n"
        assert time.monotonic() - began > 0.05  # 100 ms, from when it came


def is_put_off(client):
    """Whether the response of a request is behind two round trips that follow it. By 100 ms, it is."""
    stream = client.open()
    assert client.pings() and client.pings()
    came = any(found.stream == stream for found in client.kept)
    assert client.response(stream).status == 200
    return not came


WAITS = pytest.mark.parametrize("pieces, ended_in_time", [
    ([b"abc"], True), ([b"abc", b"", b"de"], True), ([b""], True), ([b"a" * 60_000], True), ([b"abc"], False), ([], False),
], ids=["content", "pieces", "none", "a window's", "whose end comes late", "all of which comes late"])


def send_content(client, path, pieces, ends):
    stream = client.open(path, method="POST", ends=False)
    for piece in pieces:
        client.data(stream, piece)
    if ends:
        client.data(stream, ends=True)
    return stream


@WAITS
@pytest.mark.parametrize("path", ["/collect", "/count"])
def test_content_that_comes_before_its_request_begins(server, path, pieces, ended_in_time):
    with Client(server) as client:
        client.send(pairs(client, RESETS + 50))
        stream = send_content(client, path, pieces, ended_in_time)
        if not ended_in_time:
            time.sleep(0.3)  # until it has begun
            client.data(stream, b"late", ends=True)
            pieces = [*pieces, b"late"]
        content = b"".join(pieces)
        assert client.response(stream).content == (content if path == "/collect" else b"%d\n" % len(content))


def test_made_you_reset(server):
    """The server resets, the client provokes it: that counts as well."""
    with RequestWitness(server), Client(server) as client:
        out = []
        for _ in range(20 * RESETS):
            stream = client.next()
            out += [header_frames(stream, client.block_of("/silent"), END_STREAM), window_update(stream, 0)]
        flood(client, b"".join(out), 1)
        judged(client)


@against_the_clock
def test_slots_are_kept_until_handlers_have_ended(launch):
    """100 run on though their streams have been reset: as many more wait, and the next is refused. The handlers of those
    that have waited have as much time as any."""
    server = launch(numbered, "threads", "blocking_threads=100", "handler_timeout_ns=1000000000",
                    env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    with Client(server) as client:
        try:
            running = [client.open("/block/gate") for _ in range(100)]
            # one that has not begun gives its slot back
            assert eventually(lambda: server.get("/counts").content.startswith(b"begun=100 "))
            for stream in running:
                client.cancel(stream)
            waiting = [client.open("/later/200") for _ in range(100)]
            assert client.reset_code(client.open("/later/1")) == REFUSED_STREAM
            time.sleep(1.2)
            assert client.pings() and not any(found.stream in waiting for found in client.kept)
        finally:
            assert server.get("/gate").status == 200
        assert all(client.response(stream).status == 200 for stream in waiting)


def test_a_connection_that_has_failed_waits_for_no_handler(launch):
    server = launch(numbered, "threads")
    with Client(server) as client:
        client.open("/block/gate")
        assert eventually(lambda: server.get("/counts").content.startswith(b"begun=1 "))
        client.send(frame(PING, payload=b"short"))
        _, code, _ = client.goaway()
        ended = client.ended()
    assert server.get("/gate").status == 200
    assert ended and code == FRAME_SIZE_ERROR


def test_malformed_requests_count(server):
    with RequestWitness(server), Client(server) as client:
        block = client.encoder.encode([(":method", "GET")])
        client.send(b"".join(header_frames(client.next(), block, END_STREAM) for _ in range(20 * RESETS)))
        judged(client)


def test_refusals_count_once_settings_are_known(server):
    with RequestWitness(server), Client(server) as client:
        assert client.pings()
        for _ in range(100):
            client.open("/silent")
        client.send(b"".join(header_frames(client.next(), client.block_of("/silent"), END_STREAM) for _ in range(20 * RESETS)))
        judged(client)


# ---- Heads ----


def test_continuations_at_their_edge(server):
    for count, code in ((8, None), (9, ENHANCE_YOUR_CALM)):
        with RequestWitness(server), Client(server) as client:
            block = client.block_of("/")
            client.send(frame(HEADERS, END_STREAM, 1, block))
            client.send(frame(CONTINUATION, 0, 1) * (count - 1), frame(CONTINUATION, END_HEADERS, 1))
            if code:
                judged(client, code)
            else:
                client.last = 1
                assert client.response(1).status == 200 and client.get().status == 200


def test_a_flood_of_continuations(server):
    with RequestWitness(server), Client(server) as client:
        client.send(frame(HEADERS, END_STREAM, 1, client.block_of("/")))
        flood(client, frame(CONTINUATION, 0, 1, b"\x00\x01a\x04" + b"b" * 4) * 100, 1000)
        judged(client)


def test_continuations_of_much(server):
    with RequestWitness(server), Client(server) as client:
        client.send(frame(HEADERS, END_STREAM, 1, b"x" * 16384))
        flood(client, frame(CONTINUATION, 0, 1, b"x" * 16384), 20)
        judged(client)


def test_a_bomb_of_indexed_fields(server):
    """One large entry of the table, and a reference of one octet to it again and again."""
    with RequestWitness(server), Client(server) as client:
        client.get("/", ("x-bomb", "b" * 4000))
        most = client.settings[MAX_HEADER_LIST_SIZE]
        for _ in range(3):
            entry = client.encoder.encode([("x-bomb", "b" * 4000)])
            assert len(entry) == 1
            assert client.response(client.open(raw=client.fields("/") + [("x-bomb", "b" * 4000)] * 5)).status == 431
        block = client.block_of("/") + entry * (2 * most // 4000 + 2)
        client.send(header_frames(client.next(), block, END_STREAM))
        judged(client)


def test_bombs_for_streams_that_are_refused(server):
    with RequestWitness(server), Client(server) as client:
        client.get("/", ("x-bomb", "b" * 3000))
        for _ in range(100):
            client.open("/silent")
        entry = client.encoder.encode([("x-bomb", "b" * 3000)])
        assert len(entry) == 1
        client.send(header_frames(client.next(), client.block_of("/") + entry * 16000, END_STREAM))
        judged(client)


def test_changes_of_the_tables_size(server):
    """At most two stand at a block's beginning (RFC 7541 section 4.2), and nowhere else."""
    with Client(server) as client:
        client.send(header_frames(client.next(), b"\x20\x3f\xe1\x1f" + client.block_of("/"), END_STREAM))
        assert client.response(client.last).status == 200
        client.send(header_frames(client.next(), b"\x20" * 1000 + client.block_of("/"), END_STREAM))
        found = client.until(lambda f: f.kind in (GOAWAY, HEADERS))
        assert found.kind == GOAWAY


# ---- Floods of small frames ----


@pytest.mark.parametrize("entries, code", [(32, None), (33, ENHANCE_YOUR_CALM)])
def test_entries_of_settings(server, entries, code):
    with Client(server) as client:
        client.send(settings(*[(0x4000 + i, i) for i in range(entries)]))
        if code:
            judged(client, code)
        else:
            assert client.get().status == 200


SMALL_FRAMES = {
    "PING": frame(PING, 0, 0, b"12345678"),
    "SETTINGS": settings(),
    "WINDOW_UPDATE": window_update(0, 1),
    "WINDOW_UPDATE of a stream": window_update(1, 1),
    "PRIORITY_UPDATE": frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", 1) + b"u=1"),
    "PRIORITY_UPDATE of one to come": frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", 5) + b"u=1"),
    "PRIORITY": frame(PRIORITY, 0, 3, bytes(5)),
    "an unknown one": frame(0x42, 0, 0, b"x"),
}


@pytest.mark.parametrize("octets", SMALL_FRAMES.values(), ids=SMALL_FRAMES)
def test_small_frames_at_their_edge(server, octets):
    with Client(server) as client:
        client.open("/silent")
        client.send(octets * (SMALL - 50))
        assert client.pings()
    with RequestWitness(server), Client(server) as client:
        client.open("/silent")
        flood(client, octets * 500, 20)
        judged(client)


@pytest.mark.parametrize("name", ["PING", "WINDOW_UPDATE", "WINDOW_UPDATE of a stream"])
def test_content_that_was_sent_pays_for_small_frames(server, name):
    """Clients of gRPC send that many, for messages of a few octets."""
    with Client(server) as client:
        for _ in range(2):
            assert len(client.get("/pull/20000").content) == 20_000
            for _ in range(20):
                client.send(SMALL_FRAMES[name] * 475)  # of 500 that are paid for
                assert client.pings()
        flood(client, SMALL_FRAMES[name] * 500, 20)
        judged(client)


def test_content_does_not_pay_for_any_number_of_small_frames(server):
    with Client(server) as client:
        assert len(client.get("/pull/1000000").content) == 1_000_000
        flood(client, SMALL_FRAMES["WINDOW_UPDATE"] * 1000, PAID // 1000 + 20)
        judged(client)


def test_content_that_is_taken_an_octet_at_a_time(server):
    with Client(server, (INITIAL_WINDOW_SIZE, 0)) as client:
        stream, taken = client.open("/pull/100000"), 0
        client.of(stream, HEADERS)
        with pytest.raises((EOFError, ConnectionError)):
            for asked in range(25, 20 * SMALL, 25):
                client.send(window_update(stream, 1) * 25)
                while taken < asked:
                    taken += len(client.of(stream, DATA).payload)
        assert taken >= SMALL
        judged(client)


@pytest.mark.parametrize("octets", [SMALL_FRAMES["PING"], SMALL_FRAMES["SETTINGS"]], ids=["PING", "SETTINGS"])
def test_acknowledgements_that_nobody_reads(server, octets):
    with RequestWitness(server):
        clients = [Client(server, answers=False, receive_buffer=2048) for _ in range(5)]
        for client in clients:
            client.raw.settimeout(0.5)
            flood(client, octets * 1000, 200)
        for client in clients:
            client.close()


def test_empty_frames_at_their_edge(server):
    with Client(server) as client:
        stream = client.open("/count", method="POST", ends=False)
        for _ in range(3):
            client.send(frame(DATA, 0, stream) * 100, frame(DATA, 0, stream, b"a"))
        client.send(frame(DATA, 0, stream) * 100)
        client.data(stream, ends=True)
        assert client.response(stream).content == b"3\n"
    with RequestWitness(server), Client(server) as client:
        stream = client.open("/count", method="POST", ends=False)
        client.send(frame(DATA, 0, stream) * 101)
        judged(client)


def test_priorities_of_streams_to_come(server):
    def update(i):
        return frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", 2 * i + 1) + b"u=1")

    with Client(server) as client:
        client.send(*[update(i) for i in range(100)])
        assert client.get().status == 200
        client.send(update(100))  # one of them has come
        assert client.pings()
        client.send(update(101))
        judged(client)


# ---- Windows ----


def ends(server):
    return {k: int(v) for k, v in (w.split("=") for w in server.get("/ends").content.decode().split())}


def test_windows_that_stay_shut(launch_rules):
    """A hundred responses of a megabyte, of which nobody takes an octet: nothing piles up, each is reset."""
    server = launch_rules("stall_timeout_ns=500000000", env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    with RequestWitness(server), Client(server, (INITIAL_WINDOW_SIZE, 0)) as client:
        streams = [client.open("/pull/1000000") for _ in range(100)]
        for stream in streams:
            client.reset_code(stream)


def test_a_connections_window_that_stays_shut(launch_rules):
    server = launch_rules("stall_timeout_ns=500000000")
    with RequestWitness(server), Client(server, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        for _ in range(10):
            client.open("/pull/1000000")
        judged(client)


def test_a_large_window_over_a_shut_one_of_tcp(launch_rules):
    server = launch_rules("stall_timeout_ns=500000000", env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    with RequestWitness(server):
        client = Client(server, (INITIAL_WINDOW_SIZE, 0x7FFFFFFF), receive_buffer=4096)
        client.credit(0, 0x7FFFFFFF - WINDOW)
        for _ in range(50):
            client.open("/watched/10000000")
        assert eventually(lambda: sum(ends(server).values()) == 50)
        client.close()


def test_a_response_that_is_taken_by_single_octets(launch_rules):
    """Less than the minimum rate."""
    server = launch_rules("rate_window_ns=500000000", "rate_octets_min=1000")
    with Client(server, (INITIAL_WINDOW_SIZE, 1)) as client:
        stream = client.open("/pull/100000")
        with pytest.raises((Reset, EOFError, ConnectionError)):
            while True:
                found = client.of(stream)
                if found.kind == RST_STREAM:
                    raise Reset(found.number)
                if found.kind == DATA:
                    time.sleep(0.02)
                    client.credit(stream, 1)


@pytest.mark.parametrize("opened", [1, 100], ids=["octet by octet", "in small steps"])
def test_a_connections_window_that_is_opened_by_single_octets(launch_rules, opened):
    """Less than the minimum rate, though it is never shut for long."""
    server = launch_rules("rate_window_ns=500000000", "rate_octets_min=1000", "stall_timeout_ns=2000000000")
    with RequestWitness(server), Client(server, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        client.open("/pull/1000000")
        with pytest.raises((EOFError, ConnectionError)):
            for _ in range(60):
                client.credit(0, opened)
                client.pings()
                time.sleep(0.3)
        assert client.failed_with() == ENHANCE_YOUR_CALM


# ---- Clients that mean no harm ----


@against_the_clock
def test_who_opens_the_connections_window_at_a_good_rate_is_served(launch_rules):
    """Five times the minimum rate, for several windows of it."""
    server = launch_rules("rate_window_ns=500000000", "rate_octets_min=1000", "stall_timeout_ns=2000000000")
    with Client(server, (INITIAL_WINDOW_SIZE, 1 << 20)) as client:
        stream = client.open(f"/pull/{WINDOW + 20 * 500}")
        for _ in range(20):
            time.sleep(0.1)
            client.credit(0, 500)
        assert len(client.response(stream).content) == WINDOW + 20 * 500


def test_who_cancels_often_is_not_punished(server):
    """As somebody does who types in a search field: one of two is cancelled."""
    with Client(server) as client:
        for _ in range(600):
            client.cancel(client.open("/silent"))
            assert client.get().status == 200
        assert not is_put_off(client)


def test_who_reloads_quickly_is_not_punished(server):
    """Five times a page of 60 resources whose last third is cancelled."""
    with Client(server) as client:
        client.credit(0, 1 << 24)
        for _ in range(5):
            streams = [client.open("/pull/1000") for _ in range(60)]
            for stream in streams[:40]:
                assert len(client.response(stream).content) == 1000
            for stream in streams[40:]:
                client.cancel(stream)
        assert client.pings()
        assert client.get().status == 200


def test_a_burst_before_the_settings_are_known(server):
    """It cannot know how many streams there may be: some are refused, and that is all."""
    with Client(server, greet=False, answers=False) as client:
        blocks = [header_frames(client.next(), client.block_of("/silent"), END_STREAM) for _ in range(12 * RESETS)]
        client.send(PREFACE, settings(), *blocks)
        refused = [client.of(1 + 2 * i, RST_STREAM).number for i in range(100, 12 * RESETS)]
        assert set(refused) == {REFUSED_STREAM}
        client.send(frame(SETTINGS, 1))
        client.cancel(1)
        assert client.get().status == 200


def test_a_burst_whose_responses_have_large_heads(server):
    """Each takes half a block of the queue, which has fewer: the last ones wait for room."""
    with Client(server) as client:
        client.credit(0, 1 << 24)
        client.send(*[header_frames(client.next(), client.block_of("/large/4000"), END_STREAM) for _ in range(100)])
        for i in range(100):
            response = client.response(1 + 2 * i)
            assert response.status == 200 and len(response.fields["x-added"]) == 4000


def test_early_responses_cost_nothing(server):
    with Client(server) as client:
        client.credit(0, 1 << 24)
        for _ in range(3 * RESETS):
            stream = client.open("/ignore", method="POST", ends=False)
            while not client.of(stream, HEADERS, DATA).ends:
                pass
            client.cancel(stream, 0)
        assert not is_put_off(client)


@against_the_clock
def test_a_slow_handler_does_not_make_its_client_guilty(launch_rules):
    """An upload waits for the handler longer than a client may stall."""
    server = launch_rules("stall_timeout_ns=400000000")
    with Client(server) as client:
        window = client.settings[INITIAL_WINDOW_SIZE]
        stream = client.open("/hold", method="POST", ends=False)
        client.data(stream, b"x" * window)
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert client.get("/held").content == b"%d\n" % window
            time.sleep(0.05)
        assert client.get("/release").status == 200
        client.of(stream, WINDOW_UPDATE)
        client.data(stream, b"yy", ends=True)
        assert client.response(stream).content == b"%d\n" % (window + 2)


def test_five_hundred_requests_in_turn_and_the_budget_is_whole(server):
    with Client(server) as client:
        for _ in range(500):
            assert client.get().status == 200
        client.send(pairs(client, RESETS - 10))
        assert not is_put_off(client)
