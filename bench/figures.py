# SPDX-License-Identifier: MIT
"""Statistics of interleaved rounds.

The rounds of two servers are paired: round by round one figure is divided by the other, so that a slow
moment of the machine, which hits both, cancels out. The interval is that of the median by order
statistics (the sign test's): it assumes nothing about the distribution. Over nine rounds it reaches from
the second smallest to the second largest ratio and covers 96.1 %.
"""

import math
import statistics

ROUNDS_MIN = 6  # below that no pair of order statistics covers 95 %


def median(values):
    return statistics.median(values) if values else None


def order_rank(n, level=0.95):
    """The largest k for which the k-th smallest and k-th largest of n values enclose the median at level."""
    tail = 0.0
    rank = 0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 1 - level:
            break
        rank = k + 1
    return rank


def interval(values):
    """The 95 % interval of the median, or None when there are too few values for one."""
    rank = order_rank(len(values))
    if rank == 0:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def paired(ours, theirs):
    """Ratios of the rounds that both have. Rounds that failed are None."""
    return [a / b for a, b in zip(ours, theirs) if a and b]


def compare(ours, theirs):
    """The median ratio and its interval, or None without a common round."""
    ratios = paired(ours, theirs)
    if not ratios:
        return None
    bounds = interval(ratios)
    low, high = bounds if bounds else (min(ratios), max(ratios))
    return {"ratio": median(ratios), "low": low, "high": high, "rounds": len(ratios), "is_interval": bounds is not None}


def judge(comparison, target):
    """A target is met when the lower end of the interval is at or under it."""
    if comparison is None:
        return "not measured"
    if not comparison["is_interval"]:
        return f"{'under' if comparison['ratio'] <= target else 'over'}, of too few rounds to say"
    if comparison["low"] > target:
        return "missed"
    return "met, whole interval" if comparison["high"] <= target else "met"
