# SPDX-License-Identifier: MIT
"""Statistics, as Prometheus reads them: counts of connections, and of requests where they are asked for."""

import contextlib

import pytest
import tls
from prometheus_client.parser import text_string_to_metric_families
from server import eventually
from wire import request

MS = 1_000_000


def stats(rules):
    """Each sample by its name and labels."""
    response = rules.get("/stats")
    assert response.status == 200 and response.get("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    assert response.get("cache-control") == "no-store"
    samples = {}
    for family in text_string_to_metric_families(response.content.decode()):
        assert family.name.startswith("skua_") and family.documentation
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            assert key not in samples, "a sample twice"
            samples[key] = sample.value
    return samples


def count(samples, status):
    return samples["skua_http_server_request_duration_seconds_count", ("status", status)]


def states(samples):
    return {dict(labels)["state"]: value for (name, *labels), value in samples.items() if name == "skua_connections"}


def open_ones(samples):
    return samples["skua_connections_open",]


def counted(rules, condition):
    """The samples, when condition(samples) is true: a request counts when its response has left."""
    found = eventually(lambda: (s := stats(rules)) and condition(s) and s)
    assert found, stats(rules)
    return found


def test_connections_are_counted_without_being_asked_for(launch_rules):
    rules = launch_rules()
    with rules.connect(), rules.connect():
        found = counted(rules, lambda s: open_ones(s) == 3)
    assert found["skua_connections_accepted_total",] >= 3 and found["skua_connections_refused_total",] == 0
    assert found["skua_memory_max_bytes",] > found["skua_memory_bytes",] >= 0
    assert not any(name.startswith("skua_request") or name == "skua_connections" for name, *_ in found)
    counted(rules, lambda s: open_ones(s) == 1)


@pytest.mark.in_the_clear("one that is refused has no handshake")
def test_refused_connections(launch_rules):
    rules = launch_rules("connections_max=1", "stats=1")
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(rules.connect(http2=False)) for _ in range(16)]
        assert eventually(lambda: sum(c.ended(0.01) for c in connections) == 15)
    found = counted(rules, lambda s: open_ones(s) == 1)
    assert found["skua_connections_refused_total",] >= 15


def test_requests_by_class_and_duration(launch_rules):
    rules = launch_rules("stats=1")
    for path, status in (("/", 200), ("/", 200), ("/none", 404), ("/error/500", 500), ("/status/304", 304)):
        assert rules.get(path).status == status
    found = counted(rules, lambda s: [count(s, status) for status in ("3xx", "4xx", "5xx")] == [1, 1, 1] and count(s, "2xx") >= 2)
    assert count(found, "none") == count(found, "1xx") == 0
    for status in ("2xx", "4xx"):
        buckets = [value for (name, *labels), value in found.items()
                   if name.endswith("_bucket") and ("status", status) in labels]
        assert buckets == sorted(buckets) and buckets[-1] == count(found, status)
        assert 0 < found["skua_http_server_request_duration_seconds_sum", ("status", status)] < 1000


def test_a_slow_response_is_counted_as_slow(launch_rules):
    rules = launch_rules("stats=1")
    assert rules.get("/nap").status == 200
    found = counted(rules, lambda s: count(s, "2xx") >= 1)
    assert found["skua_http_server_request_duration_seconds_sum", ("status", "2xx")] > 0.005


def test_content_both_ways(launch_rules):
    rules = launch_rules("stats=1")
    before = stats(rules)
    assert rules.get("/pull/100000").content
    with rules.connect() as connection:
        connection.send(request("/count", "Content-Length: 70000", method="POST", content=b"x" * 70000))
        assert connection.response("POST").status == 200
    after = counted(rules, lambda s: count(s, "2xx") >= 3)
    assert after["skua_content_received_bytes_total",] - before["skua_content_received_bytes_total",] == 70000
    assert after["skua_content_sent_bytes_total",] - before["skua_content_sent_bytes_total",] > 100000


def refusals(samples, limit):
    return samples["skua_requests_refused_total", ("limit", limit)]


def test_limits(launch_rules):
    rules = launch_rules("stats=1", f"handler_timeout_ns={200 * MS}", "content_octets_max=1000")
    assert rules.get("/" + "a" * 9000).status in (414, 431)
    with rules.connect() as connection:
        connection.send(request("/collect", "Content-Length: 5000", method="POST", content=b"x" * 5000))
        assert connection.response("POST").status == 413
    assert rules.get("/silent").status == 503
    found = counted(rules, lambda s: refusals(s, "load") == 1)
    assert (refusals(found, "head"), refusals(found, "content"), refusals(found, "time")) == (1, 1, 0)


@pytest.mark.of_http1("its client sends a head in part; there a head is a frame")
def test_a_head_that_never_comes_whole(launch_rules):
    rules = launch_rules("stats=1", f"head_timeout_ns={200 * MS}")
    with rules.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHo")
        assert connection.response().status == 408
    found = counted(rules, lambda s: refusals(s, "time") == 1)
    assert count(found, "4xx") == 1
    assert found["skua_http_server_request_duration_seconds_sum", ("status", "4xx")] == 0, "it has not begun"


@pytest.mark.of_http1("its client says another Host, which in HTTP/2 is the authority")
def test_a_head_that_cannot_be_read(launch_rules):
    rules = launch_rules("stats=1")
    assert rules.get("/", "Host: another").status == 400
    found = counted(rules, lambda s: count(s, "4xx") == 1)
    assert 0 <= found["skua_http_server_request_duration_seconds_sum", ("status", "4xx")] < 10


def test_responses_that_are_not_sent_whole(launch_rules):
    rules = launch_rules("stats=1")
    with rules.connect() as connection:
        connection.send(request("/pull/100000000"))
        connection.exactly(1000)
    found = counted(rules, lambda s: s["skua_responses_cut_total", ("cause", "client")] == 1)
    assert found["skua_content_sent_bytes_total",] < 100000000


def test_handshakes(launch_rules):
    rules = launch_rules("stats=1")
    secured = 1 if tls.SECURED else 0
    before = stats(rules)["skua_tls_handshakes_total",]
    with rules.connect() as connection:
        connection.get("/")
        found = stats(rules)
    assert found["skua_tls_handshakes_total",] == before + 2 * secured
    assert found["skua_tls_handshakes_resumed_total",] <= found["skua_tls_handshakes_total",]


@pytest.mark.of_http1("its client sends a head in part; there a head is a frame")
def test_states_of_connections(launch_rules):
    rules = launch_rules("stats=1")
    with rules.connect() as idle, rules.connect() as receiving, rules.connect() as handling, rules.connect() as sending, \
            rules.connect() as streaming:
        idle.get("/")
        receiving.send(b"GET / HTTP/1.1\r\nHo")
        handling.send(request("/silent"))
        sending.send(request("/pull/100000000"))
        streaming.send(request("/feed"))
        # The connection that asks idles, as far as its own state goes: its answer is not under way yet.
        expected = {"handshake": 0, "idle": 2, "receiving": 1, "handling": 1, "sending": 1, "streaming": 1, "closing": 0}
        found = counted(rules, lambda s: states(s) == expected)
        assert open_ones(found) == 6
    counted(rules, lambda s: open_ones(s) == 1)
