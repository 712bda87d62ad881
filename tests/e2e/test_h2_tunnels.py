# SPDX-License-Identifier: MIT
"""Tunnels over HTTP/2 by extended CONNECT, RFC 8441: they reach the route of the GET."""

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes
from server import numbered

pytestmark = pytest.mark.in_the_clear("prior knowledge")


@pytest.fixture(scope="module")
def streams():
    server = numbered("streams")
    yield server
    server.stop()


class Client:
    def __init__(self, server):
        self.connection = server.connect()
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8", validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.send()
        self.events = []

    def send(self):
        self.connection.send(self.h2.data_to_send())

    def until(self, kind, stream=None):
        """The next event of that kind."""
        while True:
            for event in self.events:
                if isinstance(event, kind) and stream in (None, getattr(event, "stream_id", None)):
                    self.events.remove(event)
                    return event
            octets = self.connection.socket.recv(65536)
            assert octets, "the connection ended"
            self.events += self.h2.receive_data(octets)
            self.send()

    def connect(self, protocol="echo", path="/tunnel"):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"), (":path", path),
                                      (":authority", "localhost")])
        self.send()
        return stream

    def say(self, stream, octets, end=False):
        self.h2.send_data(stream, octets, end_stream=end)
        self.send()

    def content(self, stream, n):
        got = b""
        while len(got) < n:
            event = self.until(DataReceived, stream)
            got += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            self.send()
        return got


@pytest.fixture
def client(streams):
    made = Client(streams)
    yield made
    made.connection.close()


def fields(event):
    return dict(event.headers)


def test_it_is_announced(client):
    changed = client.until(RemoteSettingsChanged).changed_settings
    assert changed[SettingCodes.ENABLE_CONNECT_PROTOCOL].new_value == 1


def test_there_and_back(client):
    stream = client.connect()
    answer = fields(client.until(ResponseReceived, stream))
    assert answer[":status"] == "200" and answer["x-tunnel"] == "yes"
    assert not {"upgrade", "connection", "content-length"} & answer.keys()
    client.say(stream, b"ping")
    assert client.content(stream, 4) == b"ping"
    client.say(stream, b"and out", end=True)
    assert client.content(stream, 7) == b"and out"
    client.until(StreamEnded, stream)


def test_octets_right_behind_the_head(client):
    stream = client.h2.get_next_available_stream_id()
    client.h2.send_headers(stream, [(":method", "CONNECT"), (":protocol", "echo"), (":scheme", "http"), (":path", "/tunnel"),
                                    (":authority", "localhost")])
    client.h2.send_data(stream, b"early", end_stream=True)
    client.send()
    client.until(ResponseReceived, stream)
    assert client.content(stream, 5) == b"early"
    client.until(StreamEnded, stream)


def test_much_through_several_at_a_time(client):
    tunnels = [client.connect() for _ in range(5)]
    for stream in tunnels:
        client.until(ResponseReceived, stream)
    for round_ in range(40):
        for stream in tunnels:
            client.say(stream, bytes([round_]) * 10_000)
            assert client.content(stream, 10_000) == bytes([round_]) * 10_000
    for stream in tunnels:
        client.say(stream, b"", end=True)
        client.until(StreamEnded, stream)


def test_another_protocol_is_answered_and_others_go_on(client):
    stream = client.connect(protocol="websocket")
    assert fields(client.until(ResponseReceived, stream))[":status"] == "426"
    other = client.connect()
    assert fields(client.until(ResponseReceived, other))[":status"] == "200"


def test_a_route_that_opens_none_answers_as_to_a_get(client):
    stream = client.connect(path="/nowhere")
    assert fields(client.until(ResponseReceived, stream))[":status"] == "404"


def test_a_reset_ends_it_and_no_other(client):
    stream, other = client.connect(), client.connect()
    client.until(ResponseReceived, stream)
    client.until(ResponseReceived, other)
    client.h2.reset_stream(stream)
    client.send()
    client.say(other, b"still here")
    assert client.content(other, 10) == b"still here"


def test_it_is_unknown_where_it_is_not_announced(launch_rules):
    client = Client(launch_rules())
    stream = client.connect()
    assert client.until(StreamReset, stream).error_code == 1
    client.connection.close()
