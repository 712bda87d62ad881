# SPDX-License-Identifier: MIT
"""docs/configuration.md has the table of directives that the program goes by, and what can be set has a directive."""

import re
import sys

from server import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from release.tables import options  # noqa: E402

PLACES = {"TABLE_FILE": "the file", "TABLE_SITE": "`site`", "TABLE_ROOTS": "`site`, `path`",
          "TABLE_SCOPES": "`defaults`, `site`, `path`", "TABLE_RULES": "`defaults`, `site`, `path`, `method`"}
TEXT = r'"((?:\\.|[^"\\])*)"'
ROW = re.compile(rf'\{{ {TEXT},\s*(\w+),\s*{TEXT},\s*{TEXT},\s*{TEXT}')


def table():
    text = (ROOT / "program/conf/table.c").read_text()
    body = text[text.index("table_kinds[] = {"):]
    for name, place, words, otherwise, example in ROW.findall(body[:body.index("\n};")]):
        words, otherwise, example = (t.replace('\\"', '"') for t in (words, otherwise, example))
        yield name, words, otherwise, PLACES[place], example


def test_the_page_has_the_table():
    page = (ROOT / "docs/configuration.md").read_text()
    rows = ["| `{}` | `{}` | {} | {} | `{}` |".format(n, w.replace("|", "\\|"), o, p, e) for n, w, o, p, e in table()]
    assert len(rows) > 30
    assert [row for row in rows if row not in page] == []
    assert page.count("\n| `") - page.split("## Directives")[0].count("\n| `") == len(rows)


def test_examples_begin_with_their_directive():
    assert [name for name, _, _, _, example in table() if example.split()[0] != name] == []


# ---- What has a directive -----------------------------------------------------------------------

# Options of the command line, and the directives in which the same is said.
OPTIONS = {
    "listen": ["listen"], "port": ["listen"], "tls": ["listen"], "tls-listen": ["listen"], "cert": ["certificate"], "key": ["certificate"],
    "ticket-keys": ["ticket_keys"], "redirect-http": ["canonical"], "hsts": ["hsts"], "workers": ["workers"], "backend": ["backend"],
    "accept": ["accept"], "host": ["site"], "trusted": ["trusted_proxies"], "forwarded": ["trusted_proxies"], "no-list": ["listing"],
    "index": ["index"], "spa": ["spa"], "dotfiles": ["dotfiles"], "archive": ["archive"], "links": ["links"], "cache-control": ["cache"], "log": ["access_log"],
    "grace": ["grace"],
}
ABOUT_THE_COMMAND = {"config", "qr", "quiet", "self-test", "version", "help"}

# Members of skua_tls_desc and skua_tls_certificate.
OF_TLS = {
    "listen": ["listen"], "certificates": ["certificate"], "certificate_count": ["certificate"], "oldest_version": ["tls_oldest"],
    "groups": ["tls_groups"], "clients": ["client_certificates"], "ticket_file": ["ticket_keys"], "no_tickets": ["session_tickets"],
    "handshake_timeout_ns": ["handshake_timeout"], "file": ["certificate"], "key_file": ["certificate"], "names": ["site"],
    "is_default": ["site"],
}

# Members without a directive, by the reason why.
WITHOUT = {
    "only the handlers of a program can reach it": {
        "params_max", "content_octets_max", "content_window_octets", "parts_max", "part_head_octets_max", "part_files_max", "blocking_threads",
        "blocking_queue_max", "handler_timeout_ns", "unanswered_log_ns", "stream_idle_timeout_ns", "choose", "choose_user", "pem", "key_pem"},
    "only an attack comes near it": {
        "trailer_octets_max", "chunk_ext_octets_max", "linger_octets_max", "linger_timeout_ns", "resets_max", "resets_per_second",
        "continuations_max", "settings_max", "replies_max", "empty_frames_max", "small_frames_max", "small_frames_per_second", "held_octets_max"},
    "memory_max and the limit of descriptors bound what it bounds": {
        "out_octets_max", "send_turn_octets_max", "log_buffer_max", "files_reserve", "disk_threads", "backlog", "cache_octets_max",
        "cache_entries_max", "small_octets_max", "listings_octets_max"},
    "it is at its most already": {"ranges_max"},
    "it is for finding faults in a library": {"records", "keylog_file"},
}
REASONS = {name for names in WITHOUT.values() for name in names}


def names():
    return {name for name, *_ in table()}


def members(struct):
    text = re.sub(r"//[^\n]*", "", (ROOT / "include/skua/skua.h").read_text())
    body = text[text.index(f"typedef struct {struct} {{"):text.index(f"}} {struct};")]
    return {found[0] or found[1] for found in re.findall(r"(\w+);|\(\*(\w+)\)\(", body)}


def limits():
    """Members of skua_config, skua_http2_desc and skua_directory_config that docs/limits.md has in a table."""
    of_others = (ROOT / "docs/limits.md").read_text().split("## WebSocket")
    page = of_others[0] + of_others[1][of_others[1].index("## Memory"):]
    known = members("skua_config") | members("skua_http2_desc") | members("skua_directory_config") | members("skua_tls_desc")
    return {name for row in re.findall(r"^\| (`\w+`)", page, re.M) for name in re.findall(r"`(\w+)`", row)} & known


def members_of_directives():
    text = (ROOT / "program/conf/table.c").read_text()
    return {name.split(".")[-1] for name in re.findall(r"TABLE_MEMBER\(([\w.]+),", text)}


def test_every_option_has_a_directive():
    known = {option.name for option in options()}
    assert known == set(OPTIONS) | ABOUT_THE_COMMAND
    assert {name for found in OPTIONS.values() for name in found} <= names()


def test_every_option_of_tls_has_a_directive():
    found = members("skua_tls_desc") | members("skua_tls_certificate")
    assert len(found) > 15
    assert found == set(OF_TLS) | (found & REASONS)
    assert {name for found in OF_TLS.values() for name in found} <= names()


def test_every_limit_has_a_directive():
    found = limits()
    assert len(found) > 40
    assert found - members_of_directives() == found & REASONS
    every = members("skua_config") | members("skua_http2_desc") | members("skua_directory_config") | members("skua_tls_desc")
    assert REASONS <= every | members("skua_tls_certificate")
