# SPDX-License-Identifier: MIT
"""HTTP/2 for clients of the tests: a socket that takes the octets of requests of HTTP/1 and gives those of its responses,
while on the wire there are frames. So the same cases are tried over both."""

import collections
import http
import re
import socket
import struct
import threading
import time

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
PRIORITY_UPDATE = 16
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 1, 1, 4, 8, 32
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
ENABLE_CONNECT_PROTOCOL, NO_RFC7540_PRIORITIES = 8, 9
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY, HTTP_1_1_REQUIRED) = range(14)

WINDOW = 65535  # of a stream and of the connection, when nothing else is said; RFC 9113 section 6.9.2
PAYLOAD = 16384
CONNECTION_WINDOW = 16 << 20  # so that streams whose turn has not come do not hold up the one that is read
CONNECTION_FIELDS = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
HEAD = re.compile(rb"([^ \r\n]+) ([^ \r\n]+) HTTP/1\.([01])\Z")


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", name, value) for name, value in pairs))


def window_update(stream, octets):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", octets))


def take_frame(buffer):
    """The first frame of a bytearray, taken out: (type, flags, stream, payload). None: it is not whole."""
    if len(buffer) < 9:
        return None
    length = int.from_bytes(buffer[:3], "big")
    if len(buffer) < 9 + length:
        return None
    kind, flags, stream = struct.unpack_from(">BBI", buffer, 3)
    payload = bytes(buffer[9 : 9 + length])
    del buffer[: 9 + length]
    return kind, flags, stream & 0x7FFFFFFF, payload


def header_frames(stream, block, flags):
    """A header block in as many frames as it needs."""
    parts = [block[i : i + PAYLOAD] for i in range(0, len(block), PAYLOAD)] or [b""]
    kinds = [HEADERS] + [CONTINUATION] * (len(parts) - 1)
    out = [frame(kind, (flags if kind == HEADERS else 0) | (END_HEADERS if i + 1 == len(parts) else 0), stream, part)
           for i, (kind, part) in enumerate(zip(kinds, parts))]
    return b"".join(out)


class Stream:
    """A request and its response."""

    def __init__(self, number, method, closes, window, send_window):
        self.number, self.method, self.closes = number, method, closes
        self.window, self.send_window = window, send_window
        self.owed = 0  # octets that have been read, and that the server has no credit for yet
        self.events = collections.deque()  # of the response, that are not octets of HTTP/1 yet
        self.chunked = False
        self.left = None  # of Content-Length
        self.begun = False  # its final head has come
        self.sent = False  # all of the request
        self.ended = False  # END_STREAM has come, or RST_STREAM


class H2Socket:
    """A socket, as far as the tests use one, over one that is connected. The window of a stream is opened again by what has
    been asked for of its response, so that whoever reads slowly shuts it."""

    def __init__(self, raw, window=None):
        self.raw = raw
        self.window = min(window or WINDOW, WINDOW)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.state = threading.Condition(threading.RLock())
        self.reading = False  # a thread reads the wire
        self.sending = threading.Lock()  # the order of octets on the wire
        self.outbox = bytearray()  # frames that are to leave
        self.inbox = bytearray()  # of the wire, not a whole frame yet
        self.plain = bytearray()  # of HTTP/1, that nobody has asked for yet
        self.requests = bytearray()  # of HTTP/1, that are not frames yet
        self.step = self._head  # what the next octets of them are
        self.sent_stream = None  # whose content is sent
        self.content_left = 0
        self.streams = {}  # by number, that are not over
        self.order = collections.deque()  # of the responses
        self.next_number = 1
        self.connection_window = WINDOW
        self.initial_window = WINDOW
        self.streams_max = 100
        self.payload_max = PAYLOAD
        self.connection_owed = 0
        self.block = None  # (stream, flags, octets) of a header block in part
        self.goaway = None  # (last stream, code)
        self.finishes = False  # the client has asked for the end behind the last response
        self.over = False  # nothing more is to come
        self.fault = None  # by which the wire ended
        self.settled = False
        self._put(PREFACE + settings((ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, self.window))
                  + window_update(0, CONNECTION_WINDOW - WINDOW))
        self._flush()
        while not self.settled:
            self._pump()
            if self.over:
                raise self.fault or ConnectionResetError("closed before its SETTINGS")

    # ---- The wire ----

    def _put(self, octets):
        with self.state:
            self.outbox += octets

    def _flush(self):
        """Sends what is to leave. Who is sending on another thread sends it too."""
        while self.outbox and self.sending.acquire(blocking=False):
            try:
                with self.state:
                    octets = bytes(self.outbox[: 1 << 16])
                n = self.raw.send(octets)
                with self.state:
                    del self.outbox[:n]
            finally:
                self.sending.release()

    def _try_to_flush(self):
        """Sends frames that need not arrive."""
        try:
            self._flush()
        except OSError:
            pass

    def _pump(self):
        """Reads the wire once, or waits until another thread has."""
        with self.state:
            if self.reading:
                if not self.state.wait(self.raw.gettimeout()):
                    raise TimeoutError("timed out")
                return
            self.reading = True
        octets, fault = b"", None
        try:
            octets = self.raw.recv(1 << 16)
        except (TimeoutError, BlockingIOError):
            raise
        except OSError as failed:
            fault = failed
        finally:
            with self.state:
                self.reading = False
                self.state.notify_all()
        with self.state:
            self._take(octets, fault)
        self._try_to_flush()

    def _take(self, octets, fault):
        if not octets:
            self.over, self.fault = True, fault
        self.inbox += octets
        while found := take_frame(self.inbox):
            self._on_frame(*found)
        self.state.notify_all()

    # ---- Frames that come ----

    def _on_frame(self, kind, flags, number, payload):
        assert self.settled or (kind == SETTINGS and not flags & ACK), "the first frame is SETTINGS"
        assert len(payload) <= PAYLOAD
        assert (self.block is None) == (kind != CONTINUATION)
        stream = self.streams.get(number)
        if kind == DATA:
            self._on_data(stream, flags, payload)
        elif kind in (HEADERS, CONTINUATION):
            self._on_block(number, flags, payload)
        elif kind == RST_STREAM:
            self._on_reset(stream, *struct.unpack(">I", payload))
        elif kind == SETTINGS and not flags & ACK:
            self._on_settings(payload)
        elif kind == PING and not flags & ACK:
            assert len(payload) == 8
            self._put(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self._on_goaway(*struct.unpack(">II", payload[:8]))
        elif kind == WINDOW_UPDATE:
            self._on_credit(number, *struct.unpack(">I", payload))
        else:
            assert kind in (SETTINGS, PING), f"a server sends no frame of type {kind}"
        self._send_more()

    def _on_settings(self, payload):
        self.settled = True
        for name, value in struct.iter_unpack(">HI", payload):
            if name == INITIAL_WINDOW_SIZE:
                for stream in self.streams.values():
                    stream.send_window += value - self.initial_window
                self.initial_window = value
            elif name == MAX_CONCURRENT_STREAMS:
                self.streams_max = value
            elif name == HEADER_TABLE_SIZE:
                self.encoder.header_table_size = value
        self._put(frame(SETTINGS, ACK))

    def _on_credit(self, number, octets):
        assert octets > 0
        if number == 0:
            self.connection_window += octets
            assert self.connection_window <= 0x7FFFFFFF
        elif number in self.streams:
            self.streams[number].send_window += octets
            assert self.streams[number].send_window <= 0x7FFFFFFF

    def _on_data(self, stream, flags, payload):
        assert not flags & PADDED, "a server has no use for padding"
        if not stream:
            self.connection_owed += len(payload)
            return
        assert stream.begun and not stream.ended, "DATA before the head, or behind the end"
        stream.window -= len(payload)
        assert stream.window >= 0, "more content than the window"
        if payload:
            stream.events.append(bytearray(payload))
        if flags & END_STREAM:
            self._on_end(stream)

    def _on_block(self, number, flags, payload):
        assert not flags & (PADDED | WITH_PRIORITY)
        self.block = (number, flags, payload) if self.block is None else (
            self.block[0], self.block[1] | (flags & END_HEADERS), self.block[2] + payload)
        number, flags, block = self.block
        if not flags & END_HEADERS:
            return
        self.block = None
        fields = self.decoder.decode(block, raw=True)
        if number in self.streams:
            self._on_fields(self.streams[number], [(n.decode("latin-1"), v.decode("latin-1")) for n, v in fields],
                            flags & END_STREAM)

    def _on_fields(self, stream, fields, ends):
        assert not stream.ended
        names = [name for name, _ in fields]
        assert all(name == name.lower() and name not in CONNECTION_FIELDS for name in names), names
        if stream.begun:
            assert ends and not any(name.startswith(":") for name in names), "trailers end the stream"
        else:
            assert names[0] == ":status" and not any(name.startswith(":") for name in names[1:])
            stream.begun = not fields[0][1].startswith("1")
            assert stream.begun or not ends
        stream.events.append(fields)
        if ends:
            self._on_end(stream)

    def _on_end(self, stream):
        assert stream.begun
        stream.ended = True
        stream.events.append("end")
        self._retire(stream)

    def _on_reset(self, stream, code):
        if not stream:
            return
        if not stream.sent and code == NO_ERROR:  # as HTTP/1 says it by closing
            stream.closes = self.finishes = True
        stream.sent = True  # nobody wants the rest
        if not stream.ended:
            stream.ended = True
            stream.events.append("break")
        elif code != NO_ERROR and stream in self.order:
            stream.events.append("break")
        self._retire(stream)

    def _retire(self, stream):
        """It is over for the protocol, when both halves are."""
        if stream.ended and stream.sent:
            self.streams.pop(stream.number, None)

    def _on_goaway(self, last, code):
        assert self.goaway is None or last <= self.goaway[0]
        self.goaway = (last, code)
        for number in [n for n in self.streams if n > last]:
            stream = self.streams.pop(number)
            stream.sent = stream.ended = True
            self.order.remove(stream)

    # ---- Requests ----

    def _send_more(self):
        """Turns as much into frames as windows and the number of streams allow."""
        while self.requests and self.step():
            pass

    def _forget_requests(self):
        self.requests.clear()
        return False

    def _head(self):
        while self.requests.startswith(b"\r\n"):
            del self.requests[:2]
        end = self.requests.find(b"\r\n\r\n")
        if self.goaway or self.finishes:
            return self._forget_requests()
        if end < 0 or len(self.streams) >= self.streams_max:
            return False
        lines = bytes(self.requests[:end]).split(b"\r\n")
        del self.requests[: end + 4]
        match = HEAD.match(lines[0])
        assert match, f"HTTP/2 has no words for {lines[0][:80]!r}: the test is of_http1"
        self._begin(*match.groups(), [self._field(line) for line in lines[1:]])
        return True

    @staticmethod
    def _field(line):
        name, colon, value = line.partition(b":")
        assert colon and name, f"HTTP/2 has no words for {line[:80]!r}: the test is of_http1"
        return name.lower(), value.strip(b" \t")

    def _begin(self, method, target, minor, fields):
        said = {n: v.lower() for n, v in fields}
        options = [word.strip() for word in said.get(b"connection", b"").split(b",")]
        self.finishes = b"close" in options or (minor == b"0" and b"keep-alive" not in options)
        chunked = said.get(b"transfer-encoding") == b"chunked"
        assert chunked or b"transfer-encoding" not in said
        length = 0 if chunked else int(said.get(b"content-length", b"0"))
        stream = Stream(self.next_number, method, self.finishes, self.window, self.initial_window)
        self.next_number += 2
        self.streams[stream.number] = stream
        self.order.append(stream)
        passed = [(n, v) for n, v in fields if n.decode("latin-1") not in CONNECTION_FIELDS | {"host"}]
        fields = [*self._pseudo(method, target, dict(fields).get(b"host")), *passed]
        block = self.encoder.encode(fields, huffman=sum(len(v) for _, v in passed) < PAYLOAD)
        whole = not chunked and not length
        self._put(header_frames(stream.number, block, END_STREAM if whole else 0))
        self.sent_stream, self.content_left = stream, length
        if whole:
            self._request_sent()
        else:
            self.step = self._chunk if chunked else self._content

    def _pseudo(self, method, target, host):
        scheme = b"https" if hasattr(self.raw, "raw") else b"http"
        absolute = re.match(rb"(https?)://([^/?]*)(.*)\Z", target, re.S)
        if absolute:
            scheme, host, target = absolute.groups()
            target = target if target.startswith(b"/") else b"/" + target
        fields = [(b":method", method), (b":scheme", scheme), (b":path", target)]
        return fields + ([(b":authority", host)] if host is not None else [])

    def _request_sent(self):
        self.sent_stream.sent = True
        self._retire(self.sent_stream)
        self.step = self._head

    def _data(self, wanted, ends=False):
        """Sends octets of content, or drops them when nobody wants them. Returns how many."""
        stream = self.sent_stream
        n = min(wanted, len(self.requests))
        if stream.sent:
            del self.requests[:n]
            return n
        n = max(0, min(n, stream.send_window, self.connection_window, self.payload_max))
        if n:
            self._put(frame(DATA, END_STREAM if ends and n == wanted else 0, stream.number, bytes(self.requests[:n])))
            del self.requests[:n]
            stream.send_window -= n
            self.connection_window -= n
        return n

    def _content(self):
        n = self._data(self.content_left, ends=True)
        self.content_left -= n
        if self.content_left == 0:
            self._request_sent()
        return n > 0

    def _line(self):
        end = self.requests.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self.requests[:end])
        del self.requests[: end + 2]
        return line

    def _chunk(self):
        line = self._line()
        if line is None:
            return False
        self.content_left = int(line.partition(b";")[0].strip(b" \t"), 16)
        self.trailers = []
        self.step = self._chunk_content if self.content_left else self._trailer
        return True

    def _chunk_content(self):
        if self.content_left == 0:
            if len(self.requests) < 2:
                return False
            assert self.requests[:2] == b"\r\n"
            del self.requests[:2]
            self.step = self._chunk
            return True
        n = self._data(self.content_left)
        self.content_left -= n
        return n > 0

    def _trailer(self):
        line = self._line()
        if line is None:
            return False
        if line:
            self.trailers.append(self._field(line))
            return True
        stream = self.sent_stream
        if not stream.sent and self.trailers:
            self._put(header_frames(stream.number, self.encoder.encode(self.trailers), END_STREAM))
        elif not stream.sent:
            self._put(frame(DATA, END_STREAM, stream.number))
        self._request_sent()
        return True

    def _is_held_up(self):
        """Whether content waits for a window."""
        return bool(self.requests) and self.step in (self._content, self._chunk_content) and self.content_left > 0

    def sendall(self, octets):
        with self.state:
            if self.over:
                raise self.fault or BrokenPipeError("the connection has ended")
            self.requests += octets
            self._send_more()
        self._flush()
        while self._is_held_up():
            if self.over:
                raise self.fault or BrokenPipeError("the connection has ended")
            self._pump()
            self._flush()

    def send(self, octets):
        """Takes octets when those before have left, so that shut windows are noticed."""
        self._flush()
        while self._is_held_up():
            self._pump()
        with self.state:
            if self.over:
                raise self.fault or BrokenPipeError("the connection has ended")
            self.requests += octets[: 1 << 16]
            self._send_more()
        try:
            self._flush()
        except (BlockingIOError, TimeoutError):
            pass  # what is left leaves before the next
        return min(len(octets), 1 << 16)

    # ---- Responses ----

    def _translate(self, n):
        """Gives octets of HTTP/1 until there are n, as far as frames have come. Returns whether that was the end."""
        while len(self.plain) < n and self.order and self.order[0].events:
            stream, event = self.order[0], self.order[0].events[0]
            if isinstance(event, bytearray):
                self._translate_content(stream, event, n - len(self.plain))
                continue
            stream.events.popleft()
            if event == "break":
                self.order.clear()
                self.over = True
            elif event == "end":
                self._translate_end(stream, [])
            elif stream.left is not None or stream.chunked:
                stream.events.popleft()  # the end
                self._translate_end(stream, event)
            else:
                self._translate_head(stream, event)
        idle = not self.order
        return idle and (self.over or (self.finishes and self.next_number > 1))

    def _translate_head(self, stream, fields):
        status = int(fields[0][1])
        try:
            phrase = http.HTTPStatus(status).phrase
        except ValueError:
            phrase = ""
        lines = [f"HTTP/1.1 {status} {phrase}"] + [f"{n.title()}: {v}" for n, v in fields[1:]]
        if status >= 200:
            length = dict(fields).get("content-length")
            nothing = stream.method == b"HEAD" or status in (204, 304)
            if nothing:
                stream.left = 0
            elif length is not None:
                stream.left = int(length)
            else:
                stream.chunked = True
                lines.append("Transfer-Encoding: chunked")
            if stream.closes or (self.goaway and stream is self.order[-1]):
                lines.append("Connection: close")
        self.plain += "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def _translate_content(self, stream, octets, wanted):
        taken = bytes(octets[:wanted])
        del octets[:wanted]
        if not octets:
            stream.events.popleft()
        if stream.chunked:
            self.plain += b"%x\r\n%s\r\n" % (len(taken), taken)
        else:
            stream.left -= len(taken)
            assert stream.left >= 0, "more content than its length"
            self.plain += taken
        self._credit(stream, len(taken))

    def _credit(self, stream, octets):
        stream.owed += octets
        self.connection_owed += octets
        if not stream.ended and stream.owed >= (self.window + 1) // 2:
            self._put(window_update(stream.number, stream.owed))
            stream.window += stream.owed
            stream.owed = 0
        if self.connection_owed >= CONNECTION_WINDOW // 2:
            self._put(window_update(0, self.connection_owed))
            self.connection_owed = 0

    def _translate_end(self, stream, trailers):
        if stream.chunked:
            lines = "".join(f"{n.title()}: {v}\r\n" for n, v in trailers)
            self.plain += b"0\r\n" + lines.encode("latin-1") + b"\r\n"
        else:
            assert stream.left == 0, "less content than its length"
        self.order.popleft()
        if not self.order and self.finishes:
            self._leave()

    def _leave(self):
        """The client closes behind the response, as it said."""
        try:
            self._flush()
            self.raw.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def recv(self, n):
        """A PING that is answered in between gives no more time."""
        patience = self.raw.gettimeout()
        end = None if patience is None else time.monotonic() + patience
        while True:
            with self.state:
                ended = self._translate(n)
            self._try_to_flush()
            if self.plain or ended:
                break
            if self.over:
                if self.fault:
                    raise self.fault
                break
            if end and time.monotonic() > end:
                raise TimeoutError("timed out")
            self._pump()
        with self.state:
            taken = bytes(self.plain[:n])
            del self.plain[:n]
        return taken

    def recv_into(self, room):
        octets = self.recv(len(room))
        room[: len(octets)] = octets
        return len(octets)

    # ---- The end ----

    def shutdown(self, how):
        """The client makes no more requests, which is not leaving: TCP goes on for both. Whoever has begun one breaks it off."""
        assert how == socket.SHUT_WR
        if self.requests or self.step != self._head:
            self._flush()
            self.raw.shutdown(how)
        else:
            self.finishes = True
            self._put(frame(GOAWAY, payload=struct.pack(">II", 0, NO_ERROR)))
            self._flush()

    def close(self):
        self.raw.close()

    # ---- What is the wire's own ----

    def settimeout(self, seconds):
        self.raw.settimeout(seconds)

    def gettimeout(self):
        return self.raw.gettimeout()

    def setblocking(self, blocks):
        self.raw.setblocking(blocks)

    def setsockopt(self, *words):
        self.raw.setsockopt(*words)

    def getsockname(self):
        return self.raw.getsockname()

    def fileno(self):
        return self.raw.fileno()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
