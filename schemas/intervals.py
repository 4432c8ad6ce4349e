"""Half-open intervals of instants (µs): `start <= t < end`; an end of None is open (SPEC §1)."""

from __future__ import annotations

from collections.abc import Iterable

Bound = int | None


def holds(start: int, end: Bound, t: int) -> bool:
    """Whether `[start, end)` contains `t`."""
    return start <= t and (end is None or t < end)


def earlier(a: Bound, b: Bound) -> Bound:
    """The earlier of two ends; None is later than every instant."""
    if a is None:
        return b
    return a if b is None else min(a, b)


def overlap(start: int, end: Bound, other_start: int, other_end: Bound) -> bool:
    """Whether two half-open intervals share an instant."""
    return (other_end is None or start < other_end) and (end is None or other_start < end)


def breakpoints(intervals: Iterable[tuple[int, Bound]]) -> list[int]:
    """Sorted instants at which the set of holding intervals can change.

    Between two neighbours (and from the last one on) it is constant, so evaluating at each
    breakpoint evaluates at every instant at which anything holds.
    """
    points: set[int] = set()
    for start, end in intervals:
        points.add(start)
        if end is not None:
            points.add(end)
    return sorted(points)
