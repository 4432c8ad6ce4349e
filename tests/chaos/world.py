"""What a scheduler of faults needs of a deployment."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

Stretch = tuple[int, int]
Fault = Callable[[random.Random, Stretch], str]


class World(Protocol):
    """One deployment that is told the feed a stretch (start, end) at a time."""

    def faults(self) -> Mapping[str, Fault]:
        """By name: publish a stretch, let a fault happen meanwhile, and say which."""

    def check(self) -> list[str]:
        """Wait until all is admitted; what is wrong then, in words."""

    def close(self) -> None:
        """End every process that is left."""
