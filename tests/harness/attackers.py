# SPDX-License-Identifier: MIT
"""Clients that mean harm, and one that does not. Each kind runs in a process of its own, with threads for its
connections, until its time is over; what it has found wrong fails the test that waits for it.

They talk to tests/servers/storm.c. Everything is drawn from a seed: what is sent is the same again, when it
arrives is not.
"""

import multiprocessing
import random
import threading
import time

from counting import many_descriptors
from server import SLOW
from wire import Connection, chunk, posted, request

FORK = multiprocessing.get_context("fork")


class Attack:
    """A kind of client in a process of its own. kind(address, rnd, until) returns what is to be told."""

    def __init__(self, kind, address, seed, seconds):
        self.name = f"{kind.__name__}, seed {seed}"
        self.pipe, other = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=self._run, args=(kind, address, seed, seconds, other), daemon=True)
        self.process.start()
        other.close()

    @staticmethod
    def _run(kind, address, seed, seconds, pipe):
        many_descriptors()
        try:
            pipe.send((None, kind(address, random.Random(seed), time.monotonic() + seconds)))
        except BaseException as fault:  # told to whoever waits
            pipe.send((f"{type(fault).__name__}: {fault}", None))

    def result(self, within):
        """Returns the findings of that kind; fails if it has found something wrong, or does not come to an end."""
        try:
            fault, told = self.pipe.recv() if self.pipe.poll(within) else ("it does not end", None)
        except EOFError:
            fault, told = "it is gone", None
        self.process.kill()
        self.process.join()
        assert fault is None, f"{self.name}: {fault}"
        return told


def crowd(count, act, address, rnd, until):
    """count threads that do act(address, rnd) again and again, once at least. Returns how often in all."""
    done, faults = [0] * count, []

    def run(number, own):
        try:
            while (time.monotonic() < until or not done[number]) and not faults:
                act(address, own)
                done[number] += 1
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(i, random.Random(rnd.random()))) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return sum(done)


# ---- Requests ----

READING = ["/hello", "/pull/1/{}", "/stream/2/{}", "/lent/3/{}", "/ticket", "/later/4/100", "/kept/", "/files/small.txt", "/files/large.bin", "/file",
           "/events", "/events/ticking/3", "/offloaded"]
WRITING = ["/echo", "/spool", "/count", "/count/slowly", "/sum", "/duplex", "/blocking"]
ENDLESS = ["/events/ticking/1000000", "/tunnel", "/pull/open/1/9000"]
FORM = b'--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\n%s\r\n--b--\r\n'


def some_octets(rnd):
    return rnd.randbytes(rnd.choice([0, 1, 100, 3000, rnd.randrange(100_000)]))


def some_chunks(rnd, octets):
    out = b""
    while octets:
        n = rnd.randrange(1, len(octets) + 1)
        out += chunk(octets[:n], rnd.choice([b"", b"", b";a=b", b';c="d e"']))
        octets = octets[n:]
    return out + b"0\r\n" + rnd.choice([b"", b"X-Sum: 1\r\n"]) + b"\r\n"


def some_upload(rnd):
    if rnd.random() < 0.1:
        return posted("/form", FORM % some_octets(rnd), "Content-Type: multipart/form-data; boundary=b")
    path, octets = rnd.choice(WRITING), some_octets(rnd)
    if rnd.random() < 0.5:
        return posted(path, octets)
    return request(path, "Transfer-Encoding: chunked", method="POST", content=some_chunks(rnd, octets))


def some_request(rnd):
    """A request that is answered 200, or 503 by a server that has too much to do."""
    if rnd.random() < 0.4:
        return some_upload(rnd)
    fields = [f"X-{i}: {'v' * rnd.randrange(60)}" for i in range(rnd.randrange(8))]
    return request(rnd.choice(READING).format(rnd.randrange(200_000)), *fields)


def some_strange(rnd):
    """One without an end, or whose content nobody reads: what follows may not be answered."""
    if rnd.random() < 0.3:
        return request("/hello", "Transfer-Encoding: chunked", method="POST", content=some_chunks(rnd, some_octets(rnd)))
    return request(rnd.choice(ENDLESS), "Upgrade: echo", "Connection: upgrade")


def broken(rnd, octets):
    """The octets with something wrong with them, or perhaps not."""
    at = rnd.randrange(len(octets) + 1)
    to = min(len(octets), at + rnd.randrange(1, 200))
    return rnd.choice([
        octets[:at],
        octets[:at] + octets[to:],
        octets[:to] + octets[at:],
        octets[:at] + rnd.randbytes(rnd.randrange(1, 20)) + octets[at:],
        octets[:at] + b"\r\n" * rnd.randrange(1, 5) + octets[at:],
        octets[:at] + b"a" * 20_000 + octets[at:],
        octets.replace(b"Content-Length: ", b"Content-Length: 9", 1),
        octets.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1),
        octets.replace(b" HTTP/1.1", b" HTTP/1.0", 1),
        rnd.randbytes(rnd.randrange(1, 1000)),
    ])


# ---- Chaos ----

def send_in_pieces(connection, rnd, octets):
    """At once, or split anywhere, with rests."""
    size = rnd.choice([len(octets), 1 + len(octets) // 3, 4096, 700, 1 + len(octets) // 50])
    for i in range(0, len(octets), max(size, 1)):
        connection.send(octets[i : i + size])
        if rnd.random() < 0.1:
            time.sleep(rnd.random() * 0.01)


def orderly(address, rnd):
    """A pipeline of good requests, each of which is answered, in order."""
    batch = [some_request(rnd) for _ in range(rnd.randrange(1, 8))]
    with Connection(address) as connection:
        sender = threading.Thread(target=try_to_send, args=(connection, rnd, b"".join(batch)))
        sender.start()
        began, answers = time.monotonic(), []
        try:
            for _ in batch:
                response = connection.response()
                answers.append(response.status)
                assert response.status in (200, 408, 503)
                if response.closes:
                    return  # a head that came too slowly
        except (AssertionError, EOFError, OSError, TypeError) as fault:
            lines = [octets.split(b"\r\n\r\n")[0][:200] + b" + %d" % len(octets) for octets in batch]
            raise AssertionError(f"{fault!r} after {time.monotonic() - began:.2f} s and {answers} to {lines}") from None
        finally:
            sender.join()


def try_to_send(connection, rnd, octets):
    try:
        send_in_pieces(connection, rnd, octets)
    except OSError:
        pass


def disorderly(address, rnd):
    """Anything, ended anyhow."""
    octets = b"".join(rnd.choice([some_request, some_strange])(rnd) for _ in range(rnd.randrange(1, 8)))
    if rnd.random() < 0.6:
        octets = broken(rnd, octets)
    with Connection(address, receive_buffer=rnd.choice([None, 2048])) as connection:
        connection.socket.settimeout(rnd.random() * 0.3 + 0.01)
        try:
            send_in_pieces(connection, rnd, octets)
            if rnd.random() < 0.3:
                connection.half_close()
            for _ in range(rnd.choice([0, 1, 1000])):
                if not connection.socket.recv(65536):
                    break
        except OSError:
            pass
        if rnd.random() < 0.4:
            connection.reset()


def chaos(address, rnd, until):
    return crowd(24, lambda a, r: (orderly if r.random() < 0.3 else disorderly)(a, r), address, rnd, until)


# ---- Uploads ----

def upload(address, rnd):
    """Kept connection, several contents, each counted by a handler that computes."""
    with Connection(address) as connection:
        for _ in range(4):
            octets = b"u" * rnd.randrange(100_000, 400_000)
            connection.send(posted("/count", octets))
            response = connection.response()
            assert (response.status, response.content) == (200, b"%d octets" % len(octets)), response.content


def uploads(address, rnd, until):
    return crowd(40, upload, address, rnd, until)


# ---- Floods ----

FLOODS = [
    b"",
    b"GET / HT",
    request("/events/ticking/1000000"),
    request("/never"),
    request("/stream/1/4000000"),
    request("/pull/1/4000000") * 20,
    request("/hello", "X: " + "x" * 15_000) * 20,
    posted("/echo", b"c" * 900_000)[:-1],
    posted("/count/slowly", b"c" * 900_000)[:-1],
]


def flood_of(address, start, count):
    """count connections that begin something and go no further, nor read."""
    connections = []
    for _ in range(count):
        connection = Connection(address, receive_buffer=2048)
        connections.append(connection)
        connection.socket.setblocking(False)
        try:
            connection.socket.send(start)
        except OSError:
            pass
    return connections


def flood(address, rnd):
    """Waits a little, then all leave, in either way."""
    connections = flood_of(address, rnd.choice(FLOODS), rnd.randrange(20, 120))
    time.sleep(rnd.random() * 0.3)
    for connection in connections:
        if rnd.random() < 0.5:
            connection.reset()
        connection.close()


def floods(address, rnd, until):
    return crowd(3, flood, address, rnd, until)


# ---- Honesty ----

def honest(address, rnd, until):
    """One request after the other, each of which has to be answered. Returns how many, and the longest wait."""
    count, longest = 0, 0.0
    connection = None
    while time.monotonic() < until or not count:
        began = time.monotonic()
        connection = connection or Connection(address)
        response = connection.get(rnd.choice(["/hello", "/files/small.txt", "/ticket"]))
        assert response.status == 200, response.status
        count, longest = count + 1, max(longest, time.monotonic() - began)
        if count % 10 == 0:
            connection.close()
            connection = None
        time.sleep(0.002)
    assert longest < SLOW, f"somebody had to wait for {longest:.1f} s"
    return count, longest
