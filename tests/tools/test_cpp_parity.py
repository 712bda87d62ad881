# SPDX-License-Identifier: MIT
"""Each function of skua.h is used by the C++ wrapper, or named here with the reason why not."""

import re

from server import ROOT

# Those that are told the sizes of structs are for other languages.
FUNCTION = re.compile(r"^(?:SKUA_API|SKUA_SIZED|static inline)\s[^;({]*?\b(skua_\w+)(?<!_sized)(?<!skua_sizes_here)\(", re.M)

# Functions that C++ calls as they are: what they take and give are plain values, and there is nothing to be freed.
PLAIN = """
skua_version skua_sha256 skua_media_type skua_coding_is_built skua_compress_gains skua_encode skua_stats_bound_ns
skua_stats_quantile_ns skua_stats_write skua_respond_stats skua_watch_includes_writes skua_socket_open
skua_worker_now_ns skua_worker_unix_ns skua_memory_count skua_slice_starts skua_slice_is skua_slice_i64
""".split()

# Functions of a server, a site or a request that configure or tell something and need no more than raw() of that object.
BY_RAW = """
skua_listen_fd skua_listen_inherited skua_listen_over_tls skua_leave skua_open skua_fd skua_timeout_ns skua_turn
skua_server_address_is_secure skua_server_workers skua_server_backend skua_server_stats skua_topic_bridge skua_tls_reload
skua_site_withdraw skua_sites_replace
skua_request_path_is_plain skua_request_param_at skua_request_field_next
skua_request_query_at skua_request_is_conditional skua_request_cookie_at
skua_request_sent skua_request_trailer
skua_compress_is_off skua_form_param skua_form_at skua_respond_borrowed
""".split()

# Functions in whose place the wrapper has something of its own, with its name.
REPLACED = {
    "skua_run": "server::run",
    "skua_route_add": "routes::route, blocking",
    "skua_route_group": "routes::group",
    "skua_site_group": "routes::group",
    "skua_request_param_i64": "request::param",
    "skua_request_query_i64": "request::query",
    "skua_request_offload": "skua::blocking",
    "skua_respond_text": "request::text",
    "skua_respond_html": "request::html",
    "skua_respond_format": "request::text",
    "skua_respond_vformat": "request::text",
    "skua_server_on_free": "routes::route, which keeps what it is given",
    "skua_server_set_error": "skua::error",
    "skua_site_set_error": "skua::error",
    "skua_site_on_free": "routes::route, which keeps what it is given",
    "skua_site_server": "server, which a site is made of",
    "skua_slice_of": "skua::slice",
}

# Objects of C libraries' authors: of one worker each, with references that its functions count.
FOR_AUTHORS = """
skua_file_etag skua_prepared_new skua_prepared_ref skua_prepared_unref skua_respond_prepared skua_local_add skua_local_remove skua_local
skua_watch_open skua_watch_try skua_watch_close skua_watch_changes skua_request_connection skua_connection_peer
skua_connection_id skua_connection_worker skua_connection_set skua_connection_get skua_tls_identity_new
skua_tls_identity_ref skua_tls_identity_unref skua_tls_self_signed skua_tls_fingerprint skua_tls_free
""".split()

EXCUSED = {*PLAIN, *BY_RAW, *REPLACED, *FOR_AUTHORS}


def without_comments(path):
    return re.sub(r"//[^\n]*", "", path.read_text())


def functions():
    return set(FUNCTION.findall(without_comments(ROOT / "include/skua/skua.h")))


def used():
    wrapper = "".join(without_comments(path) for path in sorted((ROOT / "include/skua/cpp").glob("*.hpp")))
    return set(re.findall(r"\b(skua_\w+)\(", wrapper)) | set(re.findall(r"\b(skua_\w+),", wrapper))


def test_every_function_is_in_the_wrapper_or_excused():
    assert len(functions()) > 200
    assert functions() - used() - EXCUSED == set()


def test_no_excuse_is_for_nothing():
    assert EXCUSED - functions() == set(), "there is no such function"
    assert EXCUSED & used() == set(), "the wrapper has it"


def test_names_of_the_wrapper_are_there():
    """Each word that REPLACED names."""
    wrapper = "".join(without_comments(path) for path in sorted((ROOT / "include/skua/cpp").glob("*.hpp")))
    for name in REPLACED.values():
        word = re.split(r"[,\s]", name)[0].split("::")[-1]
        assert re.search(rf"\b{word}\b", wrapper), name
