"""One measured row: its value, its share of the floor, its goal, and whether the goal is met.

A goal holds for the size that its row names: a row measured at a smaller one keeps the goal in
sight and says neither yes nor no (`met` is None). A ratio is floor time over product time, so 1.0
would be straight-line code without rules.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Result(NamedTuple):
    """One row of the table and of `results.json`."""

    name: str
    value: float
    unit: str
    floor_ratio: float | None
    goal: str | None
    met: bool | None


def shown(name: str, value: float, unit: str) -> Result:
    """A row without a goal."""
    return Result(name, value, unit, None, None, None)


def at_least(name: str, value: float, unit: str, bound: float, *, judged: bool = True) -> Result:
    """A row whose value should reach a bound."""
    met = value >= bound if judged else None
    return Result(name, value, unit, None, f"≥ {bound:,.10g} {unit}", met)


def at_most(name: str, value: float, unit: str, bound: float, *, judged: bool = True) -> Result:
    """A row whose value should stay within a bound."""
    met = value <= bound if judged else None
    return Result(name, value, unit, None, f"≤ {bound:,.10g} {unit}", met)


def of_floor(
    name: str, seconds: float, floor: float, count: int, bound: float | None
) -> Iterator[Result]:
    """Floor and product in µs an event; the ratio should reach the bound, if there is one."""
    ratio = floor / seconds
    yield shown(f"floor: {name}", floor / count * 1e6, "µs/event")
    goal = None if bound is None else f"≥ {bound:g} of its floor"
    met = None if bound is None else ratio >= bound
    yield Result(name, seconds / count * 1e6, "µs/event", ratio, goal, met)


def percentile(seconds: Sequence[float], percent: int) -> float:
    """Milliseconds at a percentile of seconds; two values at least."""
    return statistics.quantiles(seconds, n=100)[percent - 1] * 1e3
