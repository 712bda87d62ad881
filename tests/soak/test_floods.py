# SPDX-License-Identifier: MIT
"""The memory that remains when a flood is over: as much after the second as after the first, and in a long run
hardly more than before any."""

import os

import pytest
from attackers import FLOODS, flood_of
from counting import Counted, make_shim
from server import RELEASE, eventually

SECONDS = float(os.environ.get("SKUA_SOAK_SECONDS", "0"))
FLOOD_CONNECTIONS = 100
LEFT_OCTETS_MAX = 256 << 10  # that one flood may leave more than another: other pieces came
RETURNED_OCTETS_MAX = 4 << 20
RETURNS_WITHIN = 180  # seconds; memory is kept for as long as the last minute needed it


@pytest.fixture(params=["epoll", "uring"])
def counted(request, tmp_path):
    if not (RELEASE / "storm").exists():
        pytest.skip("build/release has no storm")
    shim = make_shim(tmp_path)
    one = Counted(shim, tmp_path, "storm", "--port", "{port}", "--workers", "1", "--backend", request.param)
    yield one
    one.server.stop()


def living(counted):
    return [int(n) for n in counted.server.get("/living").content.split()]


def flood_and_leave(counted):
    """Every kind of flood after the other; each has arrived before it goes."""
    for start in FLOODS:
        connections = flood_of(counted.server.address, start, FLOOD_CONNECTIONS)
        assert eventually(lambda: living(counted)[0] > FLOOD_CONNECTIONS * 0.9)
        for connection in connections:
            connection.close()
        assert eventually(lambda: living(counted) == [1, 1]), living(counted)


def test_memory_after_floods(counted):
    assert living(counted) == [1, 1]
    fresh = counted.octets()
    left = []
    for _ in range(2):
        flood_and_leave(counted)
        left.append(counted.octets() - fresh)
    print(f"octets left after floods: {left}")
    assert left[1] <= left[0] * 1.25 + LEFT_OCTETS_MAX
    if SECONDS >= 60:
        assert eventually(lambda: counted.octets() - fresh < RETURNED_OCTETS_MAX, RETURNS_WITHIN, 1.0), counted.octets() - fresh
