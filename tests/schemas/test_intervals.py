"""Half-open intervals: neighbours meet without overlap, breakpoints miss nothing (SPEC §1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.intervals import Bound, breakpoints, earlier, holds, overlap

small = st.integers(0, 12)
bounds = st.none() | small
intervals = st.tuples(small, bounds)
INSTANTS = range(-1, 15)


@given(intervals, small)
def test_the_start_belongs_and_the_end_does_not(interval: tuple[int, Bound], t: int) -> None:
    start, end = interval
    assert holds(start, end, t) == (t in range(start, 99 if end is None else end))


def test_neighbours_share_no_instant() -> None:
    assert not overlap(1, 5, 5, None)
    assert overlap(1, 6, 5, None)
    assert holds(5, None, 5)
    assert not holds(1, 5, 5)


@given(intervals, intervals)
def test_overlap_is_a_shared_instant(a: tuple[int, Bound], b: tuple[int, Bound]) -> None:
    if any(end is not None and end <= start for start, end in (a, b)):
        return  # empty intervals are never admitted
    assert overlap(*a, *b) == any(holds(*a, t) and holds(*b, t) for t in INSTANTS)


@given(bounds, bounds)
def test_an_open_end_is_later_than_all(a: Bound, b: Bound) -> None:
    infinite = 99
    chosen = earlier(a, b)
    assert (infinite if chosen is None else chosen) == min(
        infinite if a is None else a, infinite if b is None else b
    )


@given(st.lists(intervals, max_size=6))
def test_between_breakpoints_nothing_changes(given_intervals: list[tuple[int, Bound]]) -> None:
    points = breakpoints(given_intervals)
    assert points == sorted(set(points))

    def holding(t: int) -> list[bool]:
        return [holds(start, end, t) for start, end in given_intervals]

    for t in INSTANTS:
        before = [point for point in points if point <= t]
        if before:
            assert holding(t) == holding(before[-1])
        else:
            assert not any(holding(t))
