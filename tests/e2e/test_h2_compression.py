# SPDX-License-Identifier: MIT
"""HPACK over a connection: both tables, their changes of size, and what comes again."""

import email.utils
import random
import time

import pytest
from clock import against_the_clock
from h2_client import Client
from h2_socket import COMPRESSION_ERROR, END_HEADERS, END_STREAM, HEADER_TABLE_SIZE, HEADERS, frame, settings
from server import eventually, program

pytestmark = [pytest.mark.in_the_clear("it says for itself how servers are spoken to"),
              pytest.mark.of_http1("it speaks HTTP/2 by itself")]


@pytest.fixture
def client(rules):
    with Client(rules) as made:
        yield made


def test_the_table_may_be_resized(rules):
    with Client(rules, (HEADER_TABLE_SIZE, 0)) as client:
        for _ in range(3):
            assert client.get("/chunked/10").content == b"x" * 10
        client.decoder.max_allowed_table_size = 100
        client.send(settings((HEADER_TABLE_SIZE, 100)))
        for _ in range(3):
            assert client.get("/chunked/10").content == b"x" * 10


def test_our_own_table_may_be_resized(client):
    for size in (0, 4096, 100, 4096):
        client.encoder.header_table_size = size
        for _ in range(2):
            assert client.get("/cookie/b", ("cookie", "b=3"), ("x-a", "1" * 30)).content == b"3"


@pytest.mark.parametrize("sizes", [[4096], [4096, 0, 60, 4096, 200]])
def test_answers_that_begin_alike(client, sizes):
    """Status, date and content type are those of each answer, whichever came before it on the connection."""
    asked = [("/cookie/b", "b" * n, 200, b"b" * n, "text/plain") for n in (1, 9, 10, 11, 99, 100, 101, 9)]
    asked += [("/status/404", "x", 404, b"content\n", "text/plain"), ("/cookie/b", "", 200, b"", "text/plain"),
              ("/large/100", "x", 200, None, None), ("/status/299", "x", 299, b"content\n", "text/plain")]
    shuffled = random.Random(7)
    for size in sizes:
        client.decoder.max_allowed_table_size = 4096
        client.send(settings((HEADER_TABLE_SIZE, size)))
        for _ in range(4):
            batch, began = shuffled.sample(asked, len(asked)), time.time()
            streams = [client.next() for _ in batch]
            client.send(*(frame(HEADERS, END_HEADERS | END_STREAM, stream, client.block_of(path, ("cookie", f"b={value}")))
                          for stream, (path, value, *_) in zip(streams, batch)))
            for stream, (_, _, status, content, media) in zip(streams, batch):
                answer = client.response(stream)
                assert (answer.status, answer.fields.get("content-type")) == (status, media)
                assert answer.fields["content-length"] == str(len(answer.content))
                assert content is None or answer.content == content
                said = email.utils.parsedate_to_datetime(answer.fields["date"]).timestamp()
                assert began - 3 < said < time.time() + 3


@pytest.mark.parametrize("sizes", [[4096], [4096, 0, 60, 4096, 200]])
def test_files_that_come_again(tmp_path, sizes):
    """Each has its own fields, whichever came before it on the connection, and those of now when it has changed."""
    for i in range(9):
        (tmp_path / f"{i}.{'css' if i % 2 else 'txt'}").write_text(str(i) * (i + 1))
    names = sorted(path.name for path in tmp_path.iterdir())
    server, shuffled, first = program(tmp_path), random.Random(7), {}
    try:
        with Client(server) as client:
            for size in sizes:
                client.decoder.max_allowed_table_size = 4096
                client.send(settings((HEADER_TABLE_SIZE, size)))
                for _ in range(4):
                    batch = [name for _ in range(3) for name in shuffled.sample(names, len(names))]
                    batch += names[:1] * 9  # in a row: its block is kept by then
                    began, streams = time.time(), [client.open(f"/{name}") for name in batch]
                    for name, stream in zip(batch, streams):
                        answer = client.response(stream)
                        assert answer.content == (tmp_path / name).read_bytes()
                        assert answer.fields.pop("content-length") == str(len(answer.content))
                        said = email.utils.parsedate_to_datetime(answer.fields.pop("date")).timestamp()
                        assert began - 3 < said < time.time() + 3
                        assert answer.fields["content-type"].startswith("text/css" if name.endswith("css") else "text/plain")
                        answer.fields.pop("etag")  # weak until the file is two seconds old
                        assert first.setdefault(name, answer.fields) == answer.fields
            (tmp_path / names[0]).write_text("changed")
            assert eventually(lambda: client.get(f"/{names[0]}").content == b"changed")
            tag = client.get(f"/{names[0]}").fields["etag"]
            for name in names[:1] * 3:
                answer = client.get(f"/{name}", ("if-none-match", tag))
                assert answer.status == 304 and "content-length" not in answer.fields
                assert client.get(f"/{name}").fields["content-length"] == "7"
    finally:
        server.stop()


@against_the_clock
def test_a_session_that_rests_gives_its_table_back(rules):
    """The client is told with the next response: to nothing, and to what is allowed again."""
    client = Client(rules)

    def block():
        stream = client.open("/status/404")
        return client.until(lambda f: f.kind == HEADERS and f.stream == stream).payload

    def is_told():
        time.sleep(2.2)
        return block().startswith(b"\x20\x3f\xe1\x1f")

    blocks = [block() for _ in range(6)]
    assert not any(b.startswith(b"\x20") for b in blocks)
    assert eventually(is_told, within=30)
    client.close()


def test_a_change_of_our_table_is_told_before_what_comes_again(client):
    streams = [client.next() for _ in range(7)]
    asked = [frame(HEADERS, END_HEADERS | END_STREAM, stream, client.block_of("/status/404")) for stream in streams]
    client.send(*asked[:5], settings((HEADER_TABLE_SIZE, 100)), *asked[5:])
    blocks = [client.until(lambda f, n=stream: f.kind == HEADERS and f.stream == n).payload for stream in streams]
    assert blocks[3] == blocks[4] and len(blocks[4]) < 10  # all in a table, and the date too
    assert blocks[5][:2] == b"\x3f\x45" and blocks[6][:1] != b"\x3f"  # the size is 100 now


def test_a_table_larger_than_allowed(client):
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x3f\xe2\x1f\x82\x86\x84"))  # 4097
    assert client.failed_with() == COMPRESSION_ERROR
