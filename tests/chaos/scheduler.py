"""Draws faults in an order that the seed alone decides, and has the end compared with the model."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tests.chaos.world import World

MOST = 10  # events published while one fault happens
CHECK_EACH = 12  # faults between two comparisons


class Outcome(NamedTuple):
    """What is wrong (nothing, one hopes), how many faults there were of each name, and events."""

    wrong: list[str]
    faults: Counter[str]
    published: int


def run(
    world: World,
    seed: int,
    events: int,
    *,
    seconds: float,
    most_faults: int | None,
    say: Callable[[str], None],
) -> Outcome:
    """Publish the feed's `events` in stretches, a fault each, until it ends or time is up.

    The first faults come in a shuffled round, so that a short run meets every kind.
    """
    rng = random.Random(seed)
    began = time.monotonic()
    names = sorted(world.faults())
    rng.shuffle(names)
    met: Counter[str] = Counter()
    at = 0
    wrong: list[str] = []

    def tell(words: str) -> None:
        say(f"{time.monotonic() - began:6.1f} s  {at:5} events  {words}")

    while at < events and time.monotonic() - began < seconds and not wrong:
        if most_faults is not None and met.total() == most_faults:
            break
        number = met.total()
        name = names[number] if number < len(names) else rng.choice(names)
        own = random.Random(rng.getrandbits(64))  # however many numbers a fault draws
        end = min(at + rng.randint(1, MOST), events)
        met[name] += 1
        try:
            words = world.faults()[name](own, (at, end))
        except AssertionError as error:
            words, wrong = "not survived", [f"{name}: {error}"]
        at = end
        tell(f"fault {number + 1}: {name} ({words})")
        if met.total() % CHECK_EACH == 0 and not wrong:
            wrong = _checked(world)
            tell(_verdict(wrong))
    wrong = wrong or _checked(world)
    tell(_verdict(wrong))
    return Outcome(wrong, met, at)


def _checked(world: World) -> list[str]:
    try:
        return world.check()
    except AssertionError as error:
        return [f"the check: {error}"]


def _verdict(wrong: list[str]) -> str:
    return "as the model says" if not wrong else f"WRONG: {len(wrong)} differences"
