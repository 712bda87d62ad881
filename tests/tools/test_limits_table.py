# SPDX-License-Identifier: MIT
"""docs/limits.md and the configuration say the same: every limit is a member, every member is in a table, and the
defaults are equal."""

import re

import pytest
from server import ROOT

HEADER = (ROOT / "include/skua/skua.h").read_text()


def rows(text):
    """The rows of the tables of limits, whose first column is headed "member"."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        if head[0] == "member":
            yield from lines


ROWS = list(rows((ROOT / "docs/limits.md").read_text()))
LIMIT = re.compile(r"(_max|_min|_ns|_octets|backlog|blocking_threads|disk_threads)$")
UNITS = {"s": 10**9, "MiB": 1 << 20}

# Limits that only the program can make something reach by its own calls, in its own answers, or that a
# protocol has fixed; and how long a peer is given time, in octets and in looks.
FIXED = {
    "media types of a directory", "addresses of a server", "workers of a server", "time for those who connect to an address that goes",
    "files that a directory tries in place of one that is not there",
    "fields of a part", "memory of spooled content", "middleware", "error functions", "answers queued", "tickets of living requests", "timers",
    "octets that a blocking handler has written and its worker not taken", "sentence of `skua_refuse`", "entries of a listing", "text that a listing is searched for",
    "names in each list of the page on the status listener", "certificates whose expiry is in the figures",
    "files that are being uploaded", "archives that are being sent", "passwords and tokens that are being checked", "files and folders of an archive", "names of the files of an archive",
    "folders in each other in an archive", "a client that takes an archive slowly while others are refused one",
    "files kept in memory while they are asked for often",
    "fields of an interim response", "content that a filter takes in one go",
    "content that is filtered before its head leaves", "memory of a response that is compressed", "polls", "calls of polls",
    "name and value of a cookie set", "path or domain of a cookie set", "credit of a slow reader",
    "the end of a response", "looks for input", "slots of streams that were reset", "list of fields", "HPACK's tables",
    "priorities of streams to come", "small frames that content pays for",
    "buffers of long messages that a worker keeps for the next ones",
    "pongs of a slow reader", "parked sockets that are woken in a turn to be sent something", "octets of a compressed message on the wire", "payload of a control frame", "rate of a message that has begun", "octets that a worker inflates in a turn",
    "messages of other threads that have not found room",
    "sockets that blocking functions serve", "messages that wait for a blocking function", "messages that wait for a coroutine of C++",
    "publications on their way to the workers", "topics of a reader", "name of a topic", "messages that a worker hands out in a turn",
    "publications under way to the store", "machines whose numbers are remembered", "fields of an entry", "parts of `url`",
    "`stream`", "`gap_text`", "octets that `receive` was given and has not given back",
    "file that is compressed once", "files whose entity tags are being made of their content", "waits for an entity tag",
    "entity tags made of the content of large files", "files that are being compressed", "attempts to reach the store", "refusals of one publication by the store", "elements of an array in a reply of the store",
    "octets of a reply of the store", "replies of the store", "farewell of a server that stops",
    "networks in `trusted`", "entries of proxies' fields that are looked at", "name of a client that a proxy hides",
    "line of PROXY protocol version 1", "rest of a header of PROXY protocol version 2",
    "X-Request-Id that is taken for a request's name",
}

# Those of TLS: the header that has each, and its name there.
OF_TLS = {
    "TLS ClientHello, the second one too": ("tls_hello", "TLS_HELLO_OCTETS_MAX"),
    "steps of handshakes": ("tls_worker", "TLS_STEPS_PER_TURN_MAX"),
    "handshake that is not complete, counted as": ("tls", "TLS_HANDSHAKE_OCTETS"),
    "records of OpenSSL's, counted as": ("tls", "TLS_OPENSSL_OCTETS"),
    "plain octets on the wire at once": ("tls", "TLS_FLIGHT_OCTETS"),
    "certificates of a client": ("tls_acceptor", "TLS_CLIENT_CHAIN_OCTETS_MAX"),
    "subject of a client's certificate": ("tls_facts", "TLS_SUBJECT_OCTETS_MAX"),
    "file of certificates, a key or ticket keys": ("tls_load", "TLS_FILE_OCTETS_MAX"),
    "keys in `ticket_file`": ("tls_tickets", "TLS_TICKET_KEYS_MAX"),
    "pairs of ready TLS contexts": ("tls_contexts", "TLS_PAIRS_MAX"),
    "TLS record that has come in part": ("tls_protection", "TLS_SEALED_OCTETS_MAX"),
    "TLS records without data": ("tls_reader", "TLS_RECORDS_WITHOUT_DATA_MAX"),
    "TLS records with one key": ("tls_contexts", "TLS_RECORDS_PER_KEY"),
}


def members(struct):
    """The names of a struct's members, each with its comment: behind it, or else on the lines above it."""
    body = re.search(rf"typedef struct {struct} {{(.*?)^}} {struct};", HEADER, re.S | re.M).group(1)
    found, above = {}, ""
    for line in body.splitlines():
        member = re.match(r"^    [a-z_0-9 ]+[ *](\w+);(?:[ ]*// ?(.*))?$", line)
        if member:
            found[member.group(1)] = member.group(2) or above
        comment = re.match(r"^    // ?(.*)$", line)
        above = f"{above} {comment.group(1)}".strip() if comment else ""
    return found


MEMBERS = {**members("skua_config"), **members("skua_directory_config"), **members("skua_tls_desc"),
           **members("skua_http2_desc"), **members("skua_websocket_desc"),
           **members("skua_topic_bridge_desc")}


def number(text):
    """The first number of a text in the table or a comment: octets, a count, or nanoseconds."""
    found = re.search(r"(\d[\d,]*)(?: (s|MiB)\b)?", text)
    return found and int(found.group(1).replace(",", "")) * UNITS.get(found.group(2), 1)


def test_the_tables_were_read():
    assert len(ROWS) > 25
    assert len(MEMBERS) > 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_limit_is_a_member_or_known_to_be_fixed(row):
    name = row[0]
    if name.endswith(", fixed"):
        assert name.removesuffix(", fixed") in FIXED | OF_TLS.keys()
    else:
        assert name.strip("`") in MEMBERS


def constant(header, name):
    """The value of an enumerator in a header of src/net, which may name others there."""
    found = re.search(rf"\b{name} = ([\w <+*]+)", (ROOT / f"src/net/{header}.h").read_text())
    return eval(re.sub(r"[A-Z]\w+", lambda other: str(constant(header, other.group())), found.group(1)))


@pytest.mark.parametrize("name", OF_TLS)
def test_every_limit_of_tls_is_the_number_in_the_source(name):
    row = next(row for row in ROWS if row[0] == f"{name}, fixed")
    header = constant("tls_protection", "TLS_HEADER_OCTETS") if name == "TLS record that has come in part" else 0
    assert number(row[1]) == constant(*OF_TLS[name]) + header


@pytest.mark.parametrize("name", sorted(name for name in MEMBERS if LIMIT.search(name)))
def test_every_member_that_limits_is_in_a_table_with_its_default(name):
    if name == "rate_window_ns":  # in the row of rate_octets_min
        return
    row = next((row for row in ROWS if row[0] == f"`{name}`"), None)
    assert row, f"{name} is not in docs/limits.md"
    default = re.search(r"[Dd]efault:? ([^;\[]*)", MEMBERS[name])
    assert default, f"{name} has no default in skua.h"
    if "a quarter of the machine" in default.group(1):
        assert row[1].startswith("a quarter of the machine's memory")
    elif "never" in default.group(1):
        assert row[1] == "none"
    else:
        assert number(default.group(1)) == number(row[1])
