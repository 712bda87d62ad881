# SPDX-License-Identifier: MIT
"""HPACK against Python's hpack: random fields, both ways, over tables that change."""

import random

import hpack
import hpack_pipe
import pytest
from server import BUILD

pytestmark = pytest.mark.in_the_clear("nothing goes over the network")

PIPE = BUILD / "hpack_pipe"
NAMES = [b":method", b":path", b":status", b"cookie", b"content-type", b"etag", b"vary", b"x-a", b"x-b", b"set-cookie", b"age"]
VALUES = [b"", b"GET", b"/", b"200", b"text/html; charset=utf-8", b"no-cache", b"gzip, deflate", b"42"]
ROUNDS = 300


def random_fields(rng):
    def text():
        return bytes(rng.randrange(256) for _ in range(rng.randrange(40)))

    return [(rng.choice(NAMES) if rng.random() < 0.9 else f"x-{rng.randrange(100)}".encode() * rng.randrange(1, 9),
             rng.choice(VALUES) if rng.random() < 0.7 else text()) for _ in range(rng.randrange(20))]


@pytest.mark.parametrize("seed", range(4))
def test_it_reads_what_python_writes(seed):
    rng = random.Random(seed)
    encoder, commands, sent = hpack.Encoder(), ["decoder 4096"], []
    for _ in range(ROUNDS):
        if rng.random() < 0.1:
            encoder.header_table_size = rng.choice([0, 50, 300, 4096])
        fields = random_fields(rng)
        block = encoder.encode([hpack.NeverIndexedHeaderTuple(*f) if rng.random() < 0.1 else f for f in fields],
                               huffman=rng.random() < 0.5)
        commands.append(hpack_pipe.decode(block))
        sent.append(fields)
    assert hpack_pipe.answers(PIPE, commands) == sent


@pytest.mark.parametrize("seed", range(4))
def test_python_reads_what_it_writes(seed):
    rng = random.Random(seed)
    commands, sent = ["encoder 4096"], []
    for _ in range(ROUNDS):
        limit = None
        if rng.random() < 0.1:
            limit = rng.choice([0, 50, 300, 4096])
            commands.append(f"resize {limit}")
        if rng.random() < 0.05:
            commands.append("drop")
        fields = random_fields(rng)
        commands.append(hpack_pipe.encode(fields))
        sent.append((limit, fields))
    decoder = hpack.Decoder(max_header_list_size=1 << 20)
    for block, (limit, fields) in zip(hpack_pipe.answers(PIPE, commands), sent):
        if limit is not None:
            decoder.max_allowed_table_size = limit
        assert decoder.decode(block, raw=True) == fields
