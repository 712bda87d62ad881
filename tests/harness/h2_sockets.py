# SPDX-License-Identifier: MIT
"""A client of WebSockets over HTTP/2, by h2 and wsproto: each socket is a stream."""

import select
import tls
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset
from wsproto.connection import Connection, ConnectionType


class Http2:
    """Sockets as streams of one connection to a server, or of one that is there already."""

    def __init__(self, server, connection=None):
        options = {"http2": False}
        if server.tls:
            trust = tls.context()
            trust.set_alpn_protocols(["h2"])
            options["tls"] = {"tls": trust}
        self.connection = connection or server.connect(**options)
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8", validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.flush()
        self.scheme = "https" if server.tls or connection else "http"
        self.streams = {}
        self.acknowledges = True  # gives windows back as content comes

    def flush(self):
        self.connection.send(self.h2.data_to_send())

    def is_readable(self, seconds):
        pending = getattr(self.connection.socket, "pending", lambda: 0)()
        return bool(pending or select.select([self.connection.socket], [], [], seconds)[0])

    def read(self):
        octets = self.connection.socket.recv(65536)
        assert octets, "the connection ended"
        for event in self.h2.receive_data(octets):
            stream = self.streams.get(getattr(event, "stream_id", None))
            if isinstance(event, DataReceived) and self.acknowledges:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if stream:
                stream.told(event)
        self.flush()

    def open(self, path, *fields, version="13", protocol="websocket"):
        number = self.h2.get_next_available_stream_id()
        head = [(":method", "CONNECT"), (":protocol", protocol), (":scheme", self.scheme), (":path", path), (":authority", "localhost")]
        head += [("sec-websocket-version", version)] if version else []
        self.h2.send_headers(number, head + list(fields), end_stream=False)
        self.flush()
        self.streams[number] = Stream(self, number)
        return self.streams[number]


class Stream:
    def __init__(self, http2, number):
        self.http2, self.number = http2, number
        self.head, self.ended, self.reset = None, False, None
        self.ws = Connection(ConnectionType.CLIENT)
        self.events = []
        self.octets = 0

    def told(self, event):
        if isinstance(event, ResponseReceived):
            self.head = dict(event.headers)
        elif isinstance(event, DataReceived) and event.data and self.head[":status"] == "200":
            self.octets += len(event.data)
            self.ws.receive_data(event.data)
            self.events += self.ws.events()
        elif isinstance(event, StreamEnded):
            self.ended = True
        elif isinstance(event, StreamReset):
            self.reset = event.error_code

    def until(self, condition):
        while not (value := condition()):
            self.http2.read()
        return value

    def response(self):
        return self.until(lambda: self.head)

    def send(self, event):
        data = self.ws.send(event)
        while data:
            room = self.until(lambda: min(self.http2.h2.local_flow_control_window(self.number), 16384))
            self.http2.h2.send_data(self.number, data[:room])
            data = data[room:]
            self.http2.flush()

    def event(self, kind):
        """The next event, which is of that kind; the pieces of a message are one."""
        event = self.until(lambda: self.events and self.events.pop(0))
        assert isinstance(event, kind), event
        while not getattr(event, "message_finished", True):
            more = self.until(lambda: self.events and self.events.pop(0))
            event = kind(data=event.data + more.data, message_finished=more.message_finished)
        return event
