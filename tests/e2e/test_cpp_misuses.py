# SPDX-License-Identifier: MIT
"""skua.hpp misused (tests/misuses/wrapper.cpp): the process stops with a sentence, or an exception is answered 500."""

import signal
import subprocess

import pytest
from server import BUILD

pytestmark = pytest.mark.in_the_clear("nothing of it is sent")

PROGRAM = BUILD / "misuses"

IN_CALLBACK = ("called in a handler or callback of the server; call skua_stop there, and this where "
               "skua_start was called")
OTHER_THREAD = "called on another thread than the request's worker; use skua_resume"
GONE = ("the request is gone; keep it by skua_request_hold, or find it again by skua_ticket_take and "
        "skua_resume")

STOPS = {
    "null_handler": "skua_route: handler must not be NULL",
    "empty_handler": "skua_route: handler must not be NULL",
    "empty_blocking_handler": "skua_route: handler must not be NULL",
    "empty_middleware": "skua_use: middleware must not be NULL",
    "empty_post": "skua_post: fn must not be NULL",
    "empty_timer": "skua_timer_start: fn must not be NULL",
    "empty_poll": "skua_poll_start: fn must not be NULL",
    "empty_resumption": "skua_resume: fn must not be NULL",
    "empty_collector": "skua_content_collect: fn must not be NULL",
    "empty_work": "skua_offload: work must not be NULL",
    "server_destroyed_in_a_handler": f"skua_server_free: {IN_CALLBACK}",
    "server_waited_for_in_a_handler": f"skua_wait: {IN_CALLBACK}",
    "server_that_was_moved": "skua_listen: server must not be NULL; look at what skua_server_new has returned",
    "request_on_another_thread": f"skua_request_get: {OTHER_THREAD}",
    "request_that_is_gone": f"skua_request_path: {GONE}",
    "coroutine_on_another_thread": f"skua_request_get: {OTHER_THREAD}",
    "prepared_dropped_on_another_thread": "skua_prepared_unref: the prepared response is another worker's; make one on each, as by skua_local",
    "local_on_another_thread": "skua_local: called on another thread than the worker's; use skua_post",
    "timer_on_another_thread": "skua_timer_stop: called on another thread than the worker's; use skua_post",
}

TWICE = "a skua::task was awaited twice, or after it was moved"
ANSWERED_500 = {"task_awaited_twice": TWICE, "task_that_was_moved": TWICE,
                "local_of_another_server": "a skua::local was moved, or is of another server"}

# Objects of a server may be destroyed before it and after it.
FINE = {"local_captured_by_a_handler", "local_destroyed_before_its_server", "local_destroyed_after_its_server",
        "watch_captured_by_a_handler", "watch_used_after_its_server", "server_that_is_assigned"}


def commit(*names):
    return subprocess.run([PROGRAM, *names], capture_output=True, text=True, timeout=60, check=False)


def test_all_are_known():
    assert set(commit().stdout.split()) == set(STOPS) | set(ANSWERED_500) | FINE | {"a_panic_of_its_own"}


@pytest.mark.parametrize("name", sorted(STOPS))
def test_stops(name):
    done = commit(name)
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, f"skua: {STOPS[name]}\n")


def test_a_panic_of_its_own():
    done = commit("a_panic_of_its_own")
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, "told: skua_route: handler must not be NULL\n")


@pytest.mark.parametrize("name", sorted(ANSWERED_500))
def test_is_answered(name):
    done = commit(name)
    assert (done.returncode, done.stderr) == (0, f"skua: GET /: {ANSWERED_500[name]}\n")
    assert done.stdout.startswith("HTTP/1.1 500 ")


@pytest.mark.parametrize("name", sorted(FINE))
def test_lifetimes(name):
    done = commit(name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
