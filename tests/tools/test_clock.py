# SPDX-License-Identifier: MIT
"""Which failures are forgiven to tests that have to be in time."""

import contextlib
import time

import clock
import pytest


def failing(monkeypatch, late, failures):
    """How often a test that fails so many times is run, where it is held up for so long each time; and whether it passes at last."""
    monkeypatch.setattr(clock, "watched", lambda: contextlib.nullcontext(lambda: late))
    runs = []

    @clock.against_the_clock
    def test():
        runs.append(len(runs))
        assert len(runs) > failures

    try:
        test()
    except AssertionError:
        return len(runs), False
    return len(runs), True


@pytest.mark.parametrize("late, failures, found", [
    (0.0, 0, (1, True)), (0.0, 1, (1, False)), (clock.LATE * 0.9, 1, (1, False)),
    (clock.LATE, 1, (2, True)), (1.0, 4, (5, True)), (1.0, 5, (5, False)),
])
def test_only_who_was_held_up_is_tried_again(monkeypatch, late, failures, found):
    assert failing(monkeypatch, late, failures) == found


def test_a_process_that_is_held_up_is_told_so():
    with clock.watched() as held_up:
        sum(range(30_000_000))  # some tenths of a second, in which the interpreter lets no other thread run
        assert held_up() >= clock.LATE


def test_patience_has_an_end():
    runs = []

    def attempt(beat):
        runs.append(beat)
        time.sleep(0.002)
        raise EOFError

    with pytest.raises(EOFError):
        clock.patiently(attempt, 0.001)
    assert len(runs) == 21
    with pytest.raises(EOFError):
        clock.patiently(attempt, 60)
    assert len(runs) == 22
