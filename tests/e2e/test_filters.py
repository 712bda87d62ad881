# SPDX-License-Identifier: MIT
"""Filters of content: the one of tests/servers/filters.c writes each octet twice, and "!" at the end."""

import os

import pytest
from server import eventually, numbered
from wire import request


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "short.txt").write_bytes(b"abc")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "long.bin").write_bytes(os.urandom(300_000))
    return folder


@pytest.fixture(scope="module")
def filters(folder):
    server = numbered("filters", "--workers", "1", env={"FILTERS_FILES": str(folder)})
    yield server
    server.stop()


def text(length):
    return bytes(ord("a") + (i + i // 26) % 26 for i in range(length))


def doubled(octets):
    return bytes(octet for octet in octets for _ in range(2)) + b"!"


def all_states_ended(server):
    return eventually(lambda: server.get("/states").content == b"0")


LENGTHS = [0, 1, 10, 5000, 32768, 32769, 200_000]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("lent", [0, 1])
def test_content_in_memory(filters, length, lent):
    response = filters.get(f"/double/text?len={length}&lent={lent}")
    assert response.content == doubled(text(length))
    assert response.get("x-filter") == f"200 {length} text/plain"
    assert response.get("etag") == 'W/"tag"' and response.get("accept-ranges") is None
    assert all_states_ended(filters)


def test_short_content_has_a_length(filters):
    response = filters.get("/double/text?len=10")
    assert response.get("content-length") == "21" and response.get("transfer-encoding") is None


@pytest.mark.parametrize("path", ["/double/text?when=head", "/plain/handler?", "/double/handler?when=handler"])
def test_filters_added_elsewhere(filters, path):
    assert filters.get(path + "&len=100").content == doubled(text(100))


def test_a_filter_that_wants_nothing_leaves_all_as_it_is(filters):
    response = filters.get("/double/text?none=1")
    assert response.content == text(10) and response.get("etag") == '"tag"'


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("more", ["", "&waits=1", "&known=1"])
def test_pulled_content_keeps_its_trailers(filters, length, more):
    stated = f"&length={length}" if more == "&known=1" else ""
    with filters.connect() as connection:
        connection.send(request(f"/double/pull?len={length}{more}{stated}"))
        response = connection.response()
        assert response.content == doubled(text(length))
        assert connection.get("/states").content == b"0"


def test_less_pulled_content_than_stated(filters):
    with filters.connect() as connection:
        connection.send(request("/double/pull?len=10&length=11"))
        with pytest.raises((EOFError, ConnectionError)):
            connection.response()
    assert all_states_ended(filters)


def test_written_content_is_flushed(filters):
    with filters.connect() as connection:
        connection.send(request("/double/stream"))
        connection.head()
        for piece in (b"a", b"bc", text(4000)):
            assert filters.get("/write?data=" + piece.decode()).content == b"ok"
            wanted, got = doubled(piece)[:-1], b""
            while len(got) < len(wanted):
                got += connection.one_chunk()
            assert got == wanted
        assert filters.get("/finish").content == b"ok"
    assert all_states_ended(filters)


def test_head_and_statuses_without_content(filters):
    response = filters.get("/double/text?len=10", method="HEAD")
    assert response.get("content-length") is None and response.get("etag") == 'W/"tag"'
    response = filters.get("/double/text?status=204&len=0")
    assert (response.status, response.content, response.get("etag")) == (204, b"", '"tag"')
    response = filters.get("/double/text?status=304&len=0")
    assert (response.status, response.get("etag"), response.get("x-filter")) == (304, 'W/"tag"', "304 0 text/plain")
    assert all_states_ended(filters)


@pytest.mark.parametrize("name", ["short.txt", "empty.txt", "long.bin"])
def test_files(filters, folder, name):
    for _ in range(2):  # from the disk, and from the cache
        response = filters.get("/double/files/" + name)
        assert response.content == doubled((folder / name).read_bytes())
        assert response.get("etag").startswith('W/"') and response.get("accept-ranges") is None
        assert len(response.all("content-type")) == 1 and len(response.all("etag")) == 1
    etag = response.get("etag")
    response = filters.get("/double/files/" + name, "If-None-Match: " + etag)
    assert (response.status, response.get("etag"), response.get("content-length")) == (304, etag, None)
    assert all_states_ended(filters)


# Content that is there at once passes the filter before the head is written; other content behind it.
@pytest.mark.parametrize("path", ["/double/text?fails=1", "/double/text?fails=1&len=32768", "/double/text?fails=1&status=404"])
def test_a_filter_that_fails_before_the_head(filters, path):
    response = filters.get(path)
    assert response.status == 500 and response.get("x-filter") is None
    assert filters.get("/double/text?len=3").status == 200
    assert all_states_ended(filters)


@pytest.mark.in_the_clear("it looks at how the connection ends")
@pytest.mark.of_http1("it looks at how the connection ends")
@pytest.mark.parametrize("path", ["/double/text?fails=1&len=32769", "/double/pull?fails=1", "/double/stream?fails=1", "/double/files/long.bin?fails=1"])
def test_a_filter_that_fails_behind_the_head(filters, path):
    with filters.connect() as connection:
        connection.send(request(path))
        head = connection.head()
        assert head.status == 200 and head.get("transfer-encoding") == "chunked"
        if "stream" in path:
            assert filters.get("/write?data=a").content != b"ok"
        assert connection.to_end() == b""  # no last chunk
    assert all_states_ended(filters)


def test_clients_that_leave(filters):
    for path in ("/double/stream", "/double/text?len=10000000", "/double/files/long.bin", "/double/pull?len=90000000"):
        with filters.connect() as connection:
            connection.send(request(path))
            connection.head()
    assert all_states_ended(filters)
