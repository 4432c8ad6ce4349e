"""The work for an event and for a question stays what was agreed to, counted and never timed."""

from __future__ import annotations

import warnings

from benchmarks.counts import BOUND, baseline, compare, measure

AGREED = {"recall": {"store gets": 10.0, "Python calls": 1000.0}}


def test_nothing_takes_more_than_was_agreed_to() -> None:
    worse, better = compare(measure(), baseline())
    remedy = "if this is meant: python -m benchmarks.counts --update"
    assert not worse, "\n".join([*worse, remedy])
    if better:
        warnings.warn("\n".join(["less work than agreed:", *better, remedy]), stacklevel=1)


def test_what_grows_beyond_the_bound_is_worse_and_named() -> None:
    grown = 1000.0 * (1 + BOUND) + 1
    (line,), better = compare({"recall": {"store gets": 10.0, "Python calls": grown}}, AGREED)
    assert line == f"recall: Python calls: 1000.0 agreed, {grown} measured"
    assert better == []


def test_what_shrinks_beyond_the_bound_is_told_as_better() -> None:
    shrunk = 1000.0 * (1 - BOUND) - 1
    worse, (line,) = compare({"recall": {"store gets": 10.0, "Python calls": shrunk}}, AGREED)
    assert worse == []
    assert line == f"recall: Python calls: 1000.0 agreed, {shrunk} measured"


def test_what_stays_within_the_bound_is_as_agreed() -> None:
    now = {"recall": {"store gets": 10.4, "Python calls": 960.0}}
    assert compare(now, AGREED) == ([], [])


def test_a_figure_that_nobody_agreed_to_or_nobody_measures_is_worse() -> None:
    worse, _ = compare({"recall": {"store gets": 10.0}, "release": {"store gets": 1.0}}, AGREED)
    assert worse == [
        "recall: Python calls: 1000.0 agreed, None measured",
        "release: store gets: None agreed, 1.0 measured",
    ]
