# SPDX-License-Identifier: MIT
"""Every attacker at once, on every backend, under the sanitizers.

The server survives, and says nothing to a sanitizer; an honest client beside them is served; nothing is left of
those that have gone; and it ends when it is told to, in the midst of it all. Short in make test; make soak
MINUTES=n sets SKUA_SOAK_SECONDS, the length of each storm.
"""

import os
import random
import time

import pytest
from attackers import Attack, chaos, floods, honest, uploads
from counting import many_descriptors
from server import ROOT, SLOW, eventually, numbered

SECONDS = float(os.environ.get("SKUA_SOAK_SECONDS", "2"))
SEED = int(os.environ.get("SKUA_SOAK_SEED", random.randrange(1 << 30)))
STORMS = [("asan", "epoll"), ("asan", "uring"), ("kqueue", "kqueue"), ("tsan", "epoll"), ("tsan", "uring")]


@pytest.fixture
def site(tmp_path):
    (tmp_path / "small.txt").write_bytes(b"small\n" * 100)
    (tmp_path / "large.bin").write_bytes(b"large" * 100_000)
    return tmp_path


@pytest.fixture(params=STORMS, ids="-".join)
def storm(request, launch, site):
    build, backend = request.param
    if not (ROOT / "build" / build / "storm").exists():
        pytest.skip(f"build/{build} has no storm")
    server = launch(numbered, "storm", "--workers", "2", "--backend", backend, "--grace-ms", "1000",
                    build=ROOT / "build" / build, cwd=site, preexec=many_descriptors)
    assert eventually(server.out_text)
    if f"backend: {backend}" not in server.out_text():
        pytest.skip(f"{backend} is not to be had here")
    return server


def living(server):
    """How many connections and requests there are, the one that asks included."""
    return server.get("/living").content.decode()


def rage(server, kinds, seconds):
    return [Attack(kind, server.address, SEED, seconds) for kind in kinds]


def test_storm(storm, record_property):
    kinds = [honest, chaos, uploads, floods]
    told = [attack.result(SECONDS + 3 * SLOW) for attack in rage(storm, kinds, SECONDS)]
    count, longest = told[0]
    record_property("storm", dict(zip((kind.__name__ for kind in kinds), told)))
    print(f"seed {SEED}: {count} honest requests, {longest * 1000:.0f} ms at most; {told[1:]} of {kinds[1:]}")
    assert count > 0 and all(told)
    assert eventually(lambda: living(storm) == "1 1"), f"what is left: {living(storm)}"
    attacks = rage(storm, [chaos, floods], 0.5)
    time.sleep(0.3)
    storm.signal()
    storm.judge_end()
    for attack in attacks:
        attack.process.kill()
        attack.process.join()
