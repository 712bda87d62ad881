# SPDX-License-Identifier: MIT
"""Tests that have to keep a time which a server gives: they are tried again where the machine held them up.

A server that gives a client a second is right to end it when the client comes late. Only such failures are forgiven:
on a machine that runs the test in time, each failure counts.
"""

import contextlib
import functools
import threading
import time

import pytest

LATE = 0.03  # seconds; a thread that wakes so much later than it asked to has been held up


class Beats:
    """The longest pause between two calls of it. A pause behind rest() does not count."""

    def __init__(self):
        self.last, self.longest = time.monotonic(), 0

    def __call__(self):
        now = time.monotonic()
        self.longest = max(self.longest, now - (self.last or now))
        self.last = now

    def rest(self):
        self()
        self.last = None


def patiently(attempt, most):
    """attempt(beat), and again if it fails though it has paused for more than most seconds between two calls of beat:
    who stands still so long misses a deadline of the server, which is right then."""
    for left in range(20, -1, -1):
        beat = Beats()
        try:
            return attempt(beat)
        except (AssertionError, EOFError, OSError):
            beat()
            if beat.longest < most or not left:
                raise


@contextlib.contextmanager
def watched(every=0.005):
    """Gives a function that tells by how many seconds at most this process has been held up since."""
    beat, over = Beats(), threading.Event()

    def look():
        while not over.wait(every):
            beat()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield lambda: max(beat.longest, time.monotonic() - beat.last) - every
    finally:
        over.set()
        watcher.join()


def against_the_clock(test, times=5):
    """A test whose client has to keep a short time. It is tried again where it fails and the machine has held it up."""

    @functools.wraps(test)
    def run(*words, **fixtures):
        for left in range(times - 1, -1, -1):
            with watched() as held_up:
                try:
                    return test(*words, **fixtures)
                except (Exception, pytest.fail.Exception) as fault:
                    if held_up() < LATE or not left:
                        raise
                    print(f"{test.__name__} is tried again, as it was held up for {held_up():.3f} s: {fault!r}")

    return run
