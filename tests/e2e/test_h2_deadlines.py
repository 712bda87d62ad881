# SPDX-License-Identifier: MIT
"""HTTP/2 and time: clients that are silent, idle or slow, and what they are told."""

import time

import pytest
from clock import against_the_clock
from h2_client import Client
from h2_socket import ACK, CANCEL, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, INITIAL_WINDOW_SIZE, NO_ERROR, PING, RST_STREAM, SETTINGS, frame

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("it speaks HTTP/2 by itself")]


@against_the_clock
def test_the_server_asks_whether_a_quiet_client_is_there(launch_rules):
    rules = launch_rules("stall_timeout_ns=600000000")
    with Client(rules) as client:
        stream = client.open("/watched-silent")
        for _ in range(4):
            assert len(client.until(lambda f: f.kind == PING).payload) == 8
        client.cancel(stream)
        assert client.get().status == 200
    with Client(rules, answers=False) as client:
        client.send(frame(SETTINGS, ACK))
        client.open("/watched-silent")
        assert client.ended()


@against_the_clock
def test_an_idle_connection_is_told_before_it_is_closed(launch_rules):
    rules = launch_rules("keep_alive_timeout_ns=300000000")
    with Client(rules) as client:
        client.get()
        client.get()
        last, code, _ = client.goaway()
        assert (last, code) == (3, NO_ERROR)
        assert client.ended()


@against_the_clock
def test_a_ping_does_not_renew_idle_time(launch_rules):
    rules = launch_rules("keep_alive_timeout_ns=600000000")
    with Client(rules) as client:
        client.get()
        began = time.monotonic()
        with pytest.raises((EOFError, ConnectionError)):
            while time.monotonic() - began < 15:
                client.pings()
                time.sleep(0.05)


@against_the_clock
def test_settings_that_are_not_acknowledged(launch_rules):
    rules = launch_rules("head_timeout_ns=300000000")
    with Client(rules, answers=False) as client:
        assert client.failed_with() == 4  # SETTINGS_TIMEOUT


@against_the_clock
def test_a_header_block_that_does_not_end(launch_rules):
    rules = launch_rules("head_timeout_ns=300000000")
    with Client(rules) as client:
        client.pings()
        client.send(frame(HEADERS, END_STREAM, 1, b"\x82"))
        assert client.ended()


@against_the_clock
def test_content_that_does_not_come(launch_rules):
    rules = launch_rules("stall_timeout_ns=300000000")
    with Client(rules) as client:
        stalled = client.open("/collect", ("content-length", "5"), method="POST", ends=False)
        client.data(stalled, b"ab")
        assert client.response(stalled).status == 408
        assert client.get().status == 200


@against_the_clock
def test_a_shut_window_stalls_its_stream_alone(launch_rules):
    rules = launch_rules("stall_timeout_ns=300000000")
    with Client(rules, (INITIAL_WINDOW_SIZE, 0)) as client:
        stalled = client.open("/pull/10")
        assert client.of(stalled, RST_STREAM).number in (CANCEL, ENHANCE_YOUR_CALM)
        assert client.get("/status/204").status == 204
