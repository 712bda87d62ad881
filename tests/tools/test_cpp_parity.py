# SPDX-License-Identifier: MIT
"""Each function of skua.h is used by the C++ wrapper, or named here with the reason why not."""

import re

import pytest
from server import ROOT

# Those that are told the sizes of structs are for other languages.
FUNCTION = re.compile(r"^(?:SKUA_API|SKUA_SIZED|static inline)\s[^;({]*?\b(skua_\w+)(?<!_sized)(?<!skua_sizes_here)\(", re.M)

# Functions in whose place the wrapper has something of its own, with its name first, and the reason.
EXCUSED = {
    "skua_route_blocking": "routes::blocking, by skua_route_add, which takes its other members too",
    "skua_route_group": "routes::group, since lambdas are added one by one",
    "skua_site_group": "routes::group, the same",
    "skua_request_param_i64": "request::param, for any type of number; it throws in place of returning false",
    "skua_request_query_i64": "request::query, the same",
    "skua_on_end": "request::on_end, of any number of functions, by skua_request_follow",
    "skua_respond_text": "request::text, of any number of pieces, none of which ends with NUL",
    "skua_respond_html": "request::html, the same",
    "skua_respond_format": "request::format, which has its arguments as a va_list already",
    "skua_server_set_error": "error has its sentence with it",
    "skua_site_set_error": "error has its sentence with it",
    "skua_slice_of": "slice of a std::string_view",
    "skua_slice_starts": "view, a std::string_view, has starts_with",
    "skua_slice_is": "view, a std::string_view, is compared",
    "skua_slice_i64": "parse",
}


def without_comments(path):
    return re.sub(r"//[^\n]*", "", path.read_text())


def functions():
    return set(FUNCTION.findall(without_comments(ROOT / "include/skua/skua.h")))


def used():
    wrapper = "".join(without_comments(path) for path in sorted((ROOT / "include/skua/cpp").glob("*.hpp")))
    return set(re.findall(r"\b(skua_\w+)\(", wrapper)) | set(re.findall(r"\b(skua_\w+),", wrapper))


def test_every_function_is_in_the_wrapper_or_excused():
    assert len(functions()) > 200
    assert functions() - used() - set(EXCUSED) == set()


def test_no_excuse_is_for_nothing():
    assert set(EXCUSED) - functions() == set(), "there is no such function"
    assert set(EXCUSED) & used() == set(), "the wrapper has it"


def test_names_of_the_wrapper_are_there():
    for why in EXCUSED.values():
        word = re.split(r"[,\s]", why)[0].split("::")[-1]
        assert re.search(rf"\b{word}\b", wrapper_text()), why


def test_excuses_are_few():
    assert len(EXCUSED) < 16


# ---- Members ----

# The structs of skua.h that programs fill, and those of the wrapper in their place. Members of C that have another name there,
# or none: "" with the reason.
CAPTURED = "a lambda captures what it needs"
COUNTED = "a vector or span knows its length"
STRUCTS = {
    "skua_config": ("config", {"log_user": CAPTURED, "hook_user": CAPTURED}),
    "skua_http2_desc": ("http2", {}),
    "skua_tls_desc": ("tls", {"certificate_count": COUNTED, "choose_user": CAPTURED}),
    "skua_tls_clients": ("tls_clients", {}),
    "skua_tls_certificate": ("tls_certificate", {}),
    "skua_listener_desc": ("listener", {}),
    "skua_route_desc": ("route_options", {
        "pattern": "routes::route takes it", "handler": "routes::route takes it", "blocking": "routes::blocking takes it",
        "user": CAPTURED, "directory": "server::directory takes it", "directory_config": "server::directory takes it"}),
    "skua_cookie": ("cookie", {}),
    "skua_event": ("event", {}),
    "skua_serve_desc": ("serve_options", {}),
    "skua_directory_config": ("directory_config", {"types_count": COUNTED, "tries_count": COUNTED, "decide_user": CAPTURED, "list_markup_user": CAPTURED}),
    "skua_assets_config": ("assets_config", {}),
    "skua_compression": ("compression", {}),
    "skua_websocket_desc": ("websocket_options", {
        **{name: "websocket has it" for name in ("open", "message", "drain", "close", "closing", "origin", "receive", "blocking")},
        "user": CAPTURED}),
    "skua_publication": ("publication", {}),
    "skua_topic_bridge_desc": ("topic_bridge", {"user": CAPTURED}),
    "skua_test_response": ("test_response", {"received": "content and fields are copies"}),
    "skua_tls_info": ("tls_info", {}),
    "skua_prepared_desc": ("prepared_response", {
        "fields_count": COUNTED, "release": "prepared takes it", "release_user": "prepared takes it"}),
}

READ = {"skua_tls_info", "skua_test_response"}  # which the wrapper fills

# Structs without one in the wrapper, and the reason why.
FUNCTIONS_TAKE_THEM = "functions of the wrapper take what is in it as arguments"
GIVEN = "the library fills it, and programs read it as it is"
NO_STRUCT = {
    "skua_slice": "std::string_view", "skua_field": GIVEN, "skua_stats": GIVEN, "skua_file_info": GIVEN, "skua_part": GIVEN,
    "skua_form_part": GIVEN, "skua_upload": GIVEN, "skua_message": "socket_message",
    "skua_middleware": "routes::before, on_head and on_end", "skua_group": "routes::group", "skua_site_desc": FUNCTIONS_TAKE_THEM,
    "skua_local_desc": "local, and functions of its T", "skua_filter": "filter_content",
    "skua_allocator": "all of its members are to be given", "skua_media": "all of its members are to be given",
    "skua_asset": "a tool writes it", "skua_assets": "a tool writes it", "skua_sizes": "for other languages",
    "skua_timer": "timer", "skua_poll": "poll", "skua_ticket": "ticket", "skua_socket": "socket", "skua_etag_hash": "etag_hash",
}

# Members that detail::hooks sets.
BY_HOOKS = {
    "skua_config": {"log_write", "log_user", "on_worker_start", "on_worker_end", "on_connect", "on_close", "hook_user"},
    "skua_tls_desc": {"choose", "choose_user"},
}

UNIT = re.compile(r"_(?:ns|ms|s)$")


def declared(content):
    """The names of the members in the content of a struct, of either language. Functions among them are left out."""
    for _ in range(4):  # as deep as braces are
        content = re.sub(r"\([^(){};]*\)[^(){};=]*\{[^{}]*\}", "();", content)  # a function with its body
        content = re.sub(r"\{[^{};]*\}", "", content)  # a default
    content = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"\1", content)  # a pointer to a function
    content = re.sub(r"\([^()]*\)", "()", content)
    content = re.sub(r"<[^;]*>", "", content)
    names = []
    for member in content.split(";"):
        for one in re.sub(r"=[^,]*", "", member).split(","):
            names += re.findall(r"(\w+)(?:\[\w+\])?\s*$", one.strip())
    return names


def structs(text, head):
    return {found[1]: declared(found[2]) for found in re.finditer(head + r"\s*\{\n(.*?)^\}", text, re.M | re.S)}


def c_structs():
    return structs(without_comments(ROOT / "include/skua/skua.h"), r"^typedef struct (\w+)")


def wrapper_text():
    return "".join(without_comments(path) for path in sorted((ROOT / "include/skua/cpp").glob("*.hpp")))


def test_each_struct_is_known():
    """One that is new in skua.h is in one of the tables."""
    assert set(c_structs()) == set(STRUCTS) | set(NO_STRUCT)


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_each_member_is_in_the_wrapper(name):
    ours, other_names = STRUCTS[name]
    members, there = c_structs()[name], structs(wrapper_text(), r"^struct (\w+)")[ours]
    assert len(members) > 1
    assert set(other_names) - set(members) == set(), "there is no such member"
    assert {UNIT.sub("", member) for member in members if member not in other_names} == set(there) - {"time"}


def test_members_are_only_added_at_the_end():
    """A designated initialiser names members in their order: one that moved would break programs. The lines of
    cpp_members.txt grow at their ends, and the list of structs anywhere."""
    lines = (ROOT / "tests/tools/cpp_members.txt").read_text().splitlines()
    there = structs(wrapper_text(), r"^struct (\w+)")
    filled_by_programs = {ours for name, (ours, _) in STRUCTS.items() if name not in READ}
    assert {line.split()[0] for line in lines} == filled_by_programs
    for line in lines:
        name, *members = line.split()
        assert members == [member for member in there[name] if member != "time"], f"append what is new to the line of {name}"


def filled(name):
    """The members that the wrapper sets where it makes such a struct of C; None where it makes none."""
    members = None
    for found in re.finditer(rf"^( *)(?:\w+ )?{name} (\w+)(?:\{{\}}| = of\.how);\n((?:\1.*\n|\n)*)", wrapper_text(), re.M):
        members = (members or set()) | set(re.findall(rf"\b{found[2]}\.(\w+) = ", found[3]))
    return members


@pytest.mark.parametrize("name", sorted(set(STRUCTS) - READ))
def test_each_member_is_handed_over(name):
    by_others = {member for member, why in STRUCTS[name][1].items() if why not in (CAPTURED, COUNTED)}
    assert set(c_structs()[name]) - by_others - filled(name) == BY_HOOKS.get(name, set())
